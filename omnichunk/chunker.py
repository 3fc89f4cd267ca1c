"""Chunker: one configuration, and the ways to run it over texts, files and folders."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator
from copy import copy
from time import perf_counter
from typing import Any

from omnichunk import pipeline
from omnichunk.errors import ChunkingError, OptionError, UnsupportedFormatError
from omnichunk.finalize.chunks import counted, skipped_ranges
from omnichunk.model.chunk import Chunk, ChunkResult, FileResult
from omnichunk.model.document import LoadedDocument, Source, checked
from omnichunk.model.options import ChunkOptions, build
from omnichunk.model.options import fingerprint as options_fingerprint
from omnichunk.registry import PluginRegistry, default_registry
from omnichunk.sizing import Sizer, make_sizer
from omnichunk.source.decode import looks_binary
from omnichunk.walk import EVERYTHING, Entry, walk

_CONTAINERS = (".ipynb", ".tex", ".rst", ".pdf", ".docx")
_DIRECTORY = ("glob", "exclude", "concurrency", "encoding", "include_hidden", "max_bytes")
_SNIFFED = 8192
"""Bytes of a file of a folder that are looked at before the rest is read."""


class Chunker:
    """Splits sources into chunks under one frozen configuration.

    ``Chunker(max_chunk_size=400)`` checks its options at once; see ``ChunkOptions`` for all of them. ``registry``: the
    plugins to use, else a snapshot of those registered for the process. Every method takes further options for that
    call alone, checked the same way. A chunker holds no state between calls and may be used from several threads.
    """

    def __init__(self, registry: PluginRegistry | None = None, **options: Any) -> None:
        if registry is not None and not isinstance(registry, PluginRegistry):
            raise TypeError(f"Chunker(): registry must be a PluginRegistry, not {type(registry).__name__}.")
        self.registry = registry if registry is not None else default_registry().snapshot()
        self.options = build("Chunker()", None, options, self.registry.loader_options())
        self._sizer = self._make_sizer(self.options)

    def chunk(self, filepath: str | os.PathLike[str], content: str, **options: Any) -> list[Chunk]:
        """The chunks of a text; ``filepath`` labels it and tells its format."""
        return counted(self._text("chunk()", filepath, content, options))

    def stream(self, filepath: str | os.PathLike[str], content: str, **options: Any) -> Iterator[Chunk]:
        """The chunks of a text as they are made, with ``total_chunks`` -1; otherwise equal to ``chunk``."""
        return self._text("stream()", filepath, content, options)

    def chunk_with_manifest(self, filepath: str | os.PathLike[str], content: str, **options: Any) -> ChunkResult:
        """The chunks of a text with proof of completeness.

        Takes canonical text: raises OptionError for the name of a container (``.pdf``) or an extracted format
        (``.tex``).
        """
        where = "chunk_with_manifest()"
        name = _label(where, filepath)
        if name.lower().endswith(_CONTAINERS):
            raise OptionError(
                f"{name}: chunk_with_manifest() takes canonical text, and this name is that of a container. "
                "Use chunk_file(), or pass the extracted text under another name."
            )
        checked_options = self._options(where, options)
        loaded = pipeline.load(name, _text(where, content), checked_options, self.registry)
        source = pipeline.describe_source(name, loaded, checked_options)
        chunks = counted(self._run(name, loaded, checked_options))
        gaps = skipped_ranges(chunks, len(loaded.text.encode("utf-8")))
        diagnostics = chunks[0].context.parse_errors if chunks else loaded.warnings
        return ChunkResult(source, tuple(chunks), gaps, tuple(diagnostics))

    def chunk_file(self, path: str | os.PathLike[str], encoding: str | None = None, **options: Any) -> list[Chunk]:
        """The chunks of a file. ``encoding``: of text formats, found out if not named."""
        return counted(self._file("chunk_file()", path, encoding, options))

    def stream_file(self, path: str | os.PathLike[str], encoding: str | None = None, **options: Any) -> Iterator[Chunk]:
        """The chunks of a file as they are made, with ``total_chunks`` -1; the file itself is read at once."""
        return self._file("stream_file()", path, encoding, options)

    def chunk_loaded(self, filepath: str | os.PathLike[str], loaded: LoadedDocument, **options: Any) -> list[Chunk]:
        """The chunks of a document that a loader, or the caller, has made."""
        name = _label("chunk_loaded()", filepath)
        checked_options = self._options("chunk_loaded()", options)
        return counted(self._run(name, checked(loaded, name), checked_options))

    def chunk_bytes(
        self,
        name: str | os.PathLike[str],
        data: bytes | bytearray | memoryview,
        encoding: str | None = None,
        **options: Any,
    ) -> list[Chunk]:
        """The chunks of what a file called ``name`` would hold; equal to ``chunk_file`` of that file."""
        label = _label("chunk_bytes()", name)
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"chunk_bytes(): data must be bytes, not {type(data).__name__}; use chunk() for a str.")
        _check_encoding("chunk_bytes()", encoding)
        checked_options = self._options("chunk_bytes()", options)
        loaded = pipeline.load(label, bytes(data), checked_options, self.registry, encoding)
        return counted(self._run(label, loaded, checked_options))

    def chunk_directory(
        self,
        path: str | os.PathLike[str],
        glob: str | Iterable[str] = EVERYTHING,
        exclude: str | Iterable[str] | None = None,
        concurrency: int = 1,
        encoding: str | None = None,
        include_hidden: bool = False,
        **options: Any,
    ) -> list[FileResult]:
        """A result for every file of a folder that was asked for, in the order of ``walk``; see ``iter_directory``."""
        return list(self.iter_directory(path, glob, exclude, concurrency, encoding, include_hidden, **options))

    def iter_directory(
        self,
        path: str | os.PathLike[str],
        glob: str | Iterable[str] = EVERYTHING,
        exclude: str | Iterable[str] | None = None,
        concurrency: int = 1,
        encoding: str | None = None,
        include_hidden: bool = False,
        *,
        max_bytes: int | None = None,
        report_ignored: bool = False,
        **options: Any,
    ) -> Iterator[FileResult]:
        """The results of ``chunk_directory``, each made when it is asked for.

        ``glob``, ``exclude``, ``include_hidden``, ``max_bytes``: which files, see ``walk``. A ChunkingError makes its
        file ``failed`` and the run goes on; a format nobody reads and a binary file are ``skipped``. What the caller's
        rules or ignore files leave out is reported, as skipped, only with ``report_ignored``. Raises LoadError when
        ``path`` is no folder, OptionError for what would be wrong for every file; exceptions of the caller's own
        callables propagate.
        """
        where = "chunk_directory()"
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise OptionError(f"{where}: concurrency={concurrency!r}; a whole number of at least 1 is needed.")
        if concurrency > 1:
            raise OptionError(
                f"{where}: concurrency={concurrency}; this version runs one file after the other. Leave it at 1."
            )
        _check_encoding(where, encoding)
        worker = copy(self)
        worker.options = self._options(where, options)
        if worker.options is not self.options:
            worker._sizer = worker._make_sizer(worker.options)
        if worker.options.source_id is not None:
            raise OptionError(f"{where}: source_id names a single source; files of a folder are named by their paths.")
        entries = walk(path, glob, exclude, include_hidden, max_bytes)
        return (worker._result(e, encoding) for e in entries if report_ignored or e.verdict != "ignored")

    def _result(self, entry: Entry, encoding: str | None) -> FileResult:
        name = entry.path
        if entry.verdict == "failed":
            return FileResult(name, error=f"{name}: {entry.reason}.", outcome="failed")
        if entry.verdict != "found":
            return FileResult(name, error=entry.reason, outcome="skipped", size=entry.size)
        started = perf_counter()
        chunks: list[Chunk] = []
        notes: tuple[str, ...] = ()
        error, outcome = None, "ok"
        try:
            if encoding is None and self._is_binary(name):
                error, outcome = "binary", "skipped"
            else:
                loaded = pipeline.load(name, pipeline.read(name), self.options, self.registry, encoding)
                chunks = counted(self._run(name, loaded, self.options))
                notes = chunks[0].context.parse_errors if chunks else tuple(loaded.warnings)
        except OptionError:
            raise
        except UnsupportedFormatError:
            error, outcome = "format not supported", "skipped"
        except ChunkingError as raised:
            error, outcome = str(raised), "failed"
        return FileResult(name, tuple(chunks), error, outcome, notes, perf_counter() - started, entry.size)

    def _is_binary(self, path: str) -> bool:
        """Whether a file that no loader of a container would be given looks like none of text."""
        try:
            with open(path, "rb") as file:
                head = file.read(_SNIFFED)
        except OSError:
            return False  # reading it as a whole says what is wrong
        return bool(looks_binary(head)) and not self.registry.loader_for(Source(path, head), self.options.loader).binary

    def _options(self, where: str, given: dict[str, Any]) -> ChunkOptions:
        return build(where, self.options, given, self.registry.loader_options()) if given else self.options

    def _make_sizer(self, options: ChunkOptions) -> Sizer:
        return make_sizer(options, self.registry.tokenizers())

    def _text(
        self, where: str, filepath: str | os.PathLike[str], content: str, given: dict[str, Any]
    ) -> Iterator[Chunk]:
        name = _label(where, filepath)
        text = _text(where, content)
        options = self._options(where, given)
        return self._run(name, pipeline.load(name, text, options, self.registry), options)

    def _file(
        self, where: str, path: str | os.PathLike[str], encoding: str | None, given: dict[str, Any]
    ) -> Iterator[Chunk]:
        _check_encoding(where, encoding)
        options = self._options(where, given)
        name = os.fsdecode(path)
        return self._run(name, pipeline.load(name, pipeline.read(path), options, self.registry, encoding), options)

    def _run(self, name: str, loaded: LoadedDocument, options: ChunkOptions) -> Iterator[Chunk]:
        same = options is self.options
        sizer = self._sizer if same else self._make_sizer(options)
        source = pipeline.describe_source(name, loaded, options)
        fingerprint = f"{options_fingerprint(options)}:{self.registry.fingerprint}"
        return pipeline.stream(name, loaded, source, options, self.registry, sizer, fingerprint)


def _label(where: str, filepath: str | os.PathLike[str]) -> str:
    """What a source is called, as a ``str``; a path object is taken for its text."""
    label = os.fspath(filepath) if isinstance(filepath, os.PathLike) else filepath
    if not isinstance(label, str):
        raise TypeError(f'{where}: the name of a source must be a str or a path, such as "a.py", not {label!r:.40}.')
    return label


def _text(where: str, content: str) -> str:
    if not isinstance(content, str):
        raise TypeError(f"{where}: content must be a str, not {type(content).__name__}; use chunk_bytes() for bytes.")
    return content


def _check_encoding(where: str, encoding: str | None) -> None:
    """Raise OptionError for what is no name, or that of a codec without text; unknown names are left to the decoder."""
    if encoding is None:
        return
    if not isinstance(encoding, str):
        raise OptionError(f'{where}: encoding={encoding!r}; a name such as "utf-8", or None, is needed.')
    try:
        codecs.lookup(encoding)
    except (LookupError, ValueError):
        return
    try:
        "".encode(encoding)
    except LookupError:
        raise OptionError(
            f'{where}: encoding={encoding!r} is a codec, but none that decodes text. Name one such as "cp1252".'
        ) from None
    except ValueError:
        return


def chunk(filepath: str | os.PathLike[str], content: str, **options: Any) -> list[Chunk]:
    """``Chunker(**options).chunk(filepath, content)``."""
    return Chunker(**options).chunk(filepath, content)


def chunk_file(path: str | os.PathLike[str], encoding: str | None = None, **options: Any) -> list[Chunk]:
    """``Chunker(**options).chunk_file(path, encoding)``."""
    return Chunker(**options).chunk_file(path, encoding)


def chunk_directory(path: str | os.PathLike[str], **options: Any) -> list[FileResult]:
    """``Chunker(**options).chunk_directory(path)``; ``glob``, ``exclude`` and what else it takes go to the method."""
    where = {name: options.pop(name) for name in _DIRECTORY if name in options}
    return Chunker(**options).chunk_directory(path, **where)


def chunk_loaded_document(
    filepath: str | os.PathLike[str], loaded: LoadedDocument, options: ChunkOptions | None = None, **more: Any
) -> list[Chunk]:
    """The chunks of an explicitly loaded document, under the same budget checks as any source."""
    chunker = Chunker()
    if options is not None:
        if not isinstance(options, ChunkOptions):
            raise OptionError(
                f"chunk_loaded_document(): options is {type(options).__name__}; a ChunkOptions is needed. "
                "Give single options by name."
            )
        chunker.options = options
        chunker._sizer = chunker._make_sizer(options)
    return chunker.chunk_loaded(filepath, loaded, **more)
