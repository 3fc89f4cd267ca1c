"""From source to chunks, top to bottom: every stage is called once, here."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from omnichunk.errors import LoadError
from omnichunk.finalize.boundaries import Boundaries
from omnichunk.finalize.chunks import Finisher, counted
from omnichunk.finalize.context import Contexts
from omnichunk.finalize.gauge import gauge_for
from omnichunk.finalize.overlap import Overlap
from omnichunk.finalize.packing import Packer
from omnichunk.finalize.render import Fitter, Headers
from omnichunk.finalize.semantic import shifts
from omnichunk.model.chunk import Chunk
from omnichunk.model.document import LoadedDocument, Source, SourceDescriptor, described, refuse_surrogates, told
from omnichunk.model.options import ChunkOptions
from omnichunk.sizing import Sizer
from omnichunk.source.positions import PositionIndex
from omnichunk.structure.build import SpanTree, build

if TYPE_CHECKING:
    from omnichunk.registry import PluginRegistry


class Vectors(Protocol):
    """Texts to an array of rows of unit length, asking ``options.semantic_embed_fn`` for those nobody knows."""

    def __call__(self, texts: Sequence[str], options: ChunkOptions) -> Any: ...


def read(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a regular file; LoadError says why they cannot be had. A pipe or a device might never end."""
    name = os.fsdecode(path)
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISREG(mode):
            with open(name, "rb") as file:
                return file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LoadError(f"{name}: cannot be read: {reason}.") from error
    remedy = "To chunk a folder use chunk_directory()." if stat.S_ISDIR(mode) else "Read it, and use chunk_bytes()."
    raise LoadError(f"{name}: is not a regular file. {remedy}")


def load(
    name: str,
    data: bytes | str,
    options: ChunkOptions,
    registry: PluginRegistry,
    encoding: str | None = None,
) -> LoadedDocument:
    """Let the registry's loader for ``name`` read ``data``, and check what it returns.

    ``encoding``: what the caller named, or ``None`` to find out. Raises LoadError, or UnsupportedFormatError.
    """
    if isinstance(data, str):
        refuse_surrogates(data, name)
    source = Source(name, data, encoding, options.language, options.loader_options)
    return registry.load(source, options.loader)


def describe_source(name: str, loaded: LoadedDocument, options: ChunkOptions) -> SourceDescriptor:
    """The descriptor every chunk of ``loaded`` carries."""
    metadata = dict(loaded.metadata)
    if loaded.warnings:
        metadata["warnings"] = told(loaded.warnings)
    return described(
        loaded.text,
        source_id=options.source_id or name,
        encoding=loaded.encoding,
        normalization=loaded.normalization,
        format_name=loaded.format_name,
        metadata=metadata,
    )


def stream(
    name: str,
    loaded: LoadedDocument,
    source: SourceDescriptor,
    options: ChunkOptions,
    registry: PluginRegistry,
    sizer: Sizer,
    fingerprint: str,
    vectors: Vectors | None = None,
) -> Iterator[Chunk]:
    """The chunks of a checked document in order, made as they are asked for; any parents they have are made at once.

    ``vectors``: what answers for the embedding function, needed if ``options.semantic``.
    """
    stages = _Stages(build(loaded, registry, name), source, sizer, vectors)
    parents: list[Sequence[Chunk]] = []
    for level in outer(options):
        parents.append(tuple(stages.chunks(level, parents, "")))
    return stages.chunks(options, parents, fingerprint, stages.contexts.release)


def levels(
    name: str,
    loaded: LoadedDocument,
    source: SourceDescriptor,
    options: Sequence[tuple[ChunkOptions, str]],
    registry: PluginRegistry,
    sizer: Sizer,
    vectors: Vectors | None = None,
) -> list[list[Chunk]]:
    """What ``stream`` gives for each of ``options``, at one go.

    ``options``: with their fingerprints: those of ``outer``, then those of the finest level.
    """
    stages = _Stages(build(loaded, registry, name), source, sizer, vectors)
    made: list[list[Chunk]] = []
    for level, fingerprint in options:
        made.append(counted(stages.chunks(level, made, fingerprint)))
    stages.contexts.release()
    return made


def outer(options: ChunkOptions) -> list[ChunkOptions]:
    """The options of the parents that ``options`` ask for, largest first: as chunks of their own they would be the same.

    Parents are cut by structure alone; topics part what lies in them.
    """
    sizes = options.parent_sizes
    return [
        replace(options, max_chunk_size=size, parent_sizes=sizes[:i], semantic=False) for i, size in enumerate(sizes)
    ]


class _Stages:
    """The stages of one document behind its structure, for chunks of one or several sizes."""

    def __init__(self, tree: SpanTree, source: SourceDescriptor, sizer: Sizer, vectors: Vectors | None) -> None:
        self.tree = tree
        self._source = source
        self._sizer = sizer
        self._gauge = gauge_for(tree.text, sizer)
        self.contexts = Contexts(tree, PositionIndex(tree.text))
        self._vectors = vectors

    def chunks(
        self,
        options: ChunkOptions,
        parents: Sequence[Sequence[Chunk]],
        fingerprint: str,
        done: Callable[[], None] = lambda: None,
    ) -> Iterator[Chunk]:
        """The chunks under ``options``, inside ``parents``, as they are asked for."""
        tree, gauge, contexts = self.tree, self._gauge, self.contexts
        forced = self._edges(parents[-1]) if parents else set()
        worth: Mapping[int, float] = {}
        if options.semantic and self._vectors is not None:
            worth = shifts(tree, options, partial(self._vectors, options=options))
        headers = Headers(tree, self._sizer, options)
        render = tree.registry.renderer(options.renderer).render if options.renderer else None
        fitter = Fitter(tree, gauge, options, headers, contexts.of, render)
        boundaries = Boundaries(tree, gauge, options, headers, sorted(forced.union(worth)), forced)
        finisher = Finisher(tree.text, self._source, contexts, self._sizer, options, fingerprint, parents)
        payloads = Packer(boundaries, gauge, headers, fitter, options, worth).payloads()
        if options.overlap_size:
            blanks = options.coverage_policy == "lossless"
            payloads = Overlap(tree.text, gauge, fitter, options.overlap_size, blanks=blanks).extended(payloads)
        return finisher.chunks(payloads, done)

    def _edges(self, parents: Sequence[Chunk]) -> set[int]:
        """Where chunks start and end, in code points; white space between two may belong to none."""
        char = PositionIndex(self.tree.text).char
        return {char(byte) for parent in parents for byte in parent.byte_range}
