"""From source to chunks, top to bottom: every stage is called once, here."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from omnichunk.errors import LoadError
from omnichunk.finalize.boundaries import Boundaries
from omnichunk.finalize.chunks import Finisher
from omnichunk.finalize.context import Contexts
from omnichunk.finalize.gauge import gauge_for
from omnichunk.finalize.overlap import Overlap
from omnichunk.finalize.packing import Packer
from omnichunk.finalize.render import Fitter, Headers
from omnichunk.model.chunk import Chunk
from omnichunk.model.document import LoadedDocument, Source, SourceDescriptor, described, refuse_surrogates
from omnichunk.model.options import ChunkOptions
from omnichunk.sizing import Sizer
from omnichunk.source.positions import PositionIndex
from omnichunk.structure.build import build

if TYPE_CHECKING:
    from omnichunk.registry import PluginRegistry


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
        metadata["warnings"] = list(loaded.warnings)
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
) -> Iterator[Chunk]:
    """The chunks of a checked document in order, made as they are asked for."""
    tree = build(loaded, registry, name)
    gauge = gauge_for(tree.text, sizer)
    headers = Headers(tree, sizer, options)
    contexts = Contexts(tree, PositionIndex(tree.text))
    render = registry.renderer(options.renderer).render if options.renderer else None
    fitter = Fitter(tree, gauge, options, headers, contexts.of, render)
    boundaries = Boundaries(tree, gauge, options, headers)
    finisher = Finisher(tree.text, source, contexts, sizer, options, fingerprint)
    payloads = Packer(boundaries, gauge, headers, fitter, options).payloads()
    if options.overlap_size:
        payloads = Overlap(tree.text, gauge, fitter, options.overlap_size).extended(payloads)
    return finisher.chunks(payloads, tree.seal)
