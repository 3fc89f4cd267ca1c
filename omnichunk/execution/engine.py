"""One configuration ready to run: from a source to its chunks, and from a job to what became of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from time import perf_counter
from typing import Any

from omnichunk import pipeline
from omnichunk.embedding.cache import VectorCache
from omnichunk.errors import ChunkingError, OptionError, UnsupportedFormatError
from omnichunk.finalize.chunks import counted
from omnichunk.model.chunk import Chunk, FileResult
from omnichunk.model.document import LoadedDocument, Source
from omnichunk.model.options import ChunkOptions, fingerprint_and_hold, tokenizer_path
from omnichunk.registry import PluginRegistry
from omnichunk.sizing import Sizer, make_sizer
from omnichunk.source.decode import looks_binary

_SNIFFED = 8192
"""Bytes of a file of a folder that are looked at before the rest is read."""


class Stopped(Exception):
    """The consumer is gone; no error, since nobody waits for the result any more."""


@dataclass(frozen=True, slots=True)
class Job:
    """One source to chunk, as it is handed to a thread or a process.

    ``data``: a text, the bytes of a file, or ``None`` for the file called ``name``. ``size``: in bytes, roughly.
    ``options``: instead of the engine's own. ``named``: the caller named this very source, so it is never skipped.
    ``plain``: why it is to be chunked without any structure, empty to chunk it as what it is.
    """

    name: str
    data: str | bytes | None = None
    encoding: str | None = None
    size: int = 0
    options: ChunkOptions | None = None
    named: bool = False
    plain: str = ""


class Engine:
    """Options, plugins, the sizer they ask for and what has been embedded. Pickled as its configuration."""

    def __init__(
        self,
        options: ChunkOptions,
        registry: PluginRegistry,
        sizer: Sizer | None = None,
        vectors: VectorCache | None = None,
    ) -> None:
        self.options = options
        self.registry = registry
        self.sizer = sizer or make_sizer(options, registry.tokenizers())
        self.vectors = vectors or VectorCache()
        self.disposable = False
        """Whether this process may die without harm, so that a source out of memory is better begun in another."""
        # Now and not later: what the sizer was made from is what counts.
        self._described = fingerprint_and_hold(options)
        self._config = "", "", ""

    def __reduce__(self) -> tuple[Any, ...]:
        return Engine, (self.options, self.registry)

    def under(self, options: ChunkOptions) -> Engine:
        """This engine with other options; a sizer that would be the same is kept, since it may be dear."""
        mine = self.options
        if options is mine:
            return self
        same = options.size_unit == mine.size_unit and (
            options.tokenizer is mine.tokenizer
            or (isinstance(mine.tokenizer, str) and options.tokenizer == mine.tokenizer)
        )
        same = same and tokenizer_path(options.tokenizer) is None  # a file may be another by now
        return Engine(options, self.registry, self.sizer if same else None, self.vectors)

    @property
    def config(self) -> str:
        """What every chunk carries as ``config_fingerprint``: SHA-256, hexadecimal, over options, algorithm and plugins.

        Preceded by ``unknown:`` if a callable, or a plugin, has no identity that could be told later. It is worked out
        once, and again when a plugin is added or an object comes to declare another identity; asking takes 2 µs.
        """
        options, holds = self._described
        if not holds:
            options, _ = fingerprint_and_hold(self.options)
        plugins = self.registry.fingerprint
        if self._config[:2] != (options, plugins):
            digest = sha256(f'["omnichunk-configuration", 1, "{options}", "{plugins}"]'.encode()).hexdigest()
            known = self.registry.identified and not options.startswith("unknown:")
            self._config = options, plugins, digest if known else f"unknown:{digest}"
        return self._config[2]

    def chunks(self, name: str, loaded: LoadedDocument) -> Iterator[Chunk]:
        """The chunks of a checked document, made as they are asked for."""
        source = pipeline.describe_source(name, loaded, self.options)
        vectors = self.vectors.rows if self.options.semantic else None
        return pipeline.stream(name, loaded, source, self.options, self.registry, self.sizer, self.config, vectors)

    def levels(self, name: str, loaded: LoadedDocument) -> list[list[Chunk]]:
        """The chunks of a checked document and their parents, the largest first."""
        source = pipeline.describe_source(name, loaded, self.options)
        under = [*(self.under(options) for options in pipeline.outer(self.options)), self]
        options = [(engine.options, engine.config) for engine in under]
        vectors = self.vectors.rows if self.options.semantic else None
        return pipeline.levels(name, loaded, source, options, self.registry, self.sizer, vectors)

    def load(self, name: str, data: bytes | str, encoding: str | None = None) -> LoadedDocument:
        """The document that the loader for ``name`` makes of ``data``."""
        return pipeline.load(name, data, self.options, self.registry, encoding)

    def result(self, job: Job, stopped: Callable[[], bool] | None = None) -> FileResult:
        """What becomes of ``job``: a ChunkingError makes it ``failed``. Asks ``stopped`` before each chunk.

        Raises OptionError for what would be wrong for every source, and whatever is no ChunkingError.
        """
        engine = self if job.options is None else self.under(job.options)
        started = perf_counter()
        try:
            found, error, outcome = engine._document(job)
        except OptionError:
            raise
        except UnsupportedFormatError as raised:
            found, error = None, str(raised) if job.named else "format not supported"
            outcome = "failed" if job.named else "skipped"
        except ChunkingError as raised:
            found, error, outcome = None, str(raised), "failed"
        chunks: list[Chunk] = []
        notes: Iterable[str] = ()
        if found is not None:
            try:
                chunks = counted(until(stopped, engine.chunks(job.name, found)))
                notes = chunks[0].context.parse_errors if chunks else found.warnings
            except OptionError:
                raise
            except ChunkingError as raised:
                error, outcome = str(raised), "failed"
        seconds = perf_counter() - started
        return FileResult(job.name, tuple(chunks), error, outcome, tuple(notes), seconds, job.size)

    def attempt(self, job: Job, stopped: Callable[[], bool] | None = None) -> FileResult:
        """``result``, where what goes wrong unforeseen costs the structure of the source, and at worst its chunks.

        Raises OptionError, MemoryError in a disposable process, and whatever a callable of the caller may have raised.
        """
        try:
            return self.result(job, stopped)
        except (ChunkingError, Stopped):
            raise
        except Exception as error:
            if calls_back(job.options or self.options) or (self.disposable and isinstance(error, MemoryError)):
                raise
            reason = described(error)
        return failure(job, reason) if job.plain else self.attempt(replace(job, plain=reason), stopped)

    def _document(self, job: Job) -> tuple[LoadedDocument | None, str | None, str]:
        """The document of ``job``, or why there is none and the outcome."""
        if job.data is None and not job.named and self._is_binary(job.name, job.encoding):
            return None, "binary", "skipped"
        loaded = self.load(job.name, pipeline.read(job.name) if job.data is None else job.data, job.encoding)
        return plain(loaded, job.plain) if job.plain else loaded, None, "ok"

    def _is_binary(self, path: str, encoding: str | None) -> bool:
        """Whether a file that no loader of a container would be given looks like none of text."""
        try:
            with open(path, "rb") as file:
                head = file.read(_SNIFFED)
        except OSError:
            return False  # reading it as a whole says what is wrong
        if not looks_binary(head, encoding):
            return False
        return not self.registry.loader_for(Source(path, head), self.options.loader).binary


def calls_back(options: ChunkOptions) -> bool:
    """Whether ``options`` hold a callable or tokenizer of the caller, whose exceptions are none of ours."""
    values = (getattr(options, field.name) for field in fields(options))
    return any(callable(value) or (hasattr(value, "encode") and not isinstance(value, str)) for value in values)


def plain(loaded: LoadedDocument, reason: str) -> LoadedDocument:
    """``loaded`` as text without structure, with a warning that says why; segments keep their positions."""
    segments = (
        replace(s, kind="prose", metadata={k: v for k, v in s.metadata.items() if k != "language"})
        for s in loaded.segments
    )
    warning = f"chunked as plain text: {reason}"
    return replace(loaded, segments=tuple(segments), blocks=(), warnings=(*loaded.warnings, warning))


def failure(job: Job, reason: str) -> FileResult:
    """The result of a job that went wrong with its structure (``job.plain`` says how) and without."""
    same = job.plain == reason
    what = f"{reason}, twice, the second time as plain text" if same else f"{job.plain}; as plain text: {reason}"
    return FileResult(job.name, (), f"{job.name}: {what}.", "failed", (), 0.0, job.size)


def described(error: BaseException) -> str:
    """What was raised, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300].rstrip(": .")


def size_of(path: str) -> int:
    """Bytes of a file, 0 if that cannot be told."""
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def until(stopped: Callable[[], bool] | None, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """``chunks``, or Stopped before the next one once ``stopped()``."""
    if stopped is None:
        return chunks
    return (chunk for chunk in chunks if not _raised(stopped))


def _raised(stopped: Callable[[], bool]) -> bool:
    if stopped():
        raise Stopped
    return False
