"""Chunker: one configuration, and the ways to run it over texts, files and folders."""

from __future__ import annotations

import codecs
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from omnichunk import pipeline
from omnichunk.errors import OptionError
from omnichunk.execution.batch import files
from omnichunk.execution.batch import items as batch_jobs
from omnichunk.execution.engine import Engine, until
from omnichunk.execution.run import Plan, run
from omnichunk.finalize.chunks import counted, skipped_ranges
from omnichunk.hierarchy import ChunkTree, checked_levels
from omnichunk.model.chunk import Chunk, ChunkResult, FileResult
from omnichunk.model.document import LoadedDocument, checked
from omnichunk.model.options import ChunkOptions, build
from omnichunk.model.semantic import EmbedFunction
from omnichunk.registry import PluginRegistry, default_registry
from omnichunk.sinks import upsert
from omnichunk.sinks.opening import named_sink
from omnichunk.sinks.point import Embed
from omnichunk.sinks.upsert import UpsertBatch
from omnichunk.walk import EVERYTHING, walk

_CONTAINERS = (".ipynb", ".tex", ".rst", ".pdf", ".docx")
_DIRECTORY = ("glob", "exclude", "concurrency", "encoding", "include_hidden", "max_bytes", "report_ignored", "timeout_s",
              "memory_mb", "as_completed", "convert", "skip")  # fmt: skip


class Chunker:
    """Splits sources into chunks under one frozen configuration.

    ``Chunker(max_chunk_size=400)`` checks its options at once; see ``ChunkOptions`` for all of them. ``registry``: the
    plugins to use, else a snapshot of those registered for the process. Every method takes further options for that
    call alone, checked the same way. A chunker holds no state between calls, cached embeddings apart, and may be used from
    several threads.
    """

    def __init__(self, registry: PluginRegistry | None = None, **options: Any) -> None:
        if registry is not None and not isinstance(registry, PluginRegistry):
            raise TypeError(f"Chunker(): registry must be a PluginRegistry, not {type(registry).__name__}.")
        self.registry = registry if registry is not None else default_registry().snapshot()
        options_given = build("Chunker()", None, options, self.registry.loader_options())
        self._engine = Engine(options_given, self.registry)

    @property
    def options(self) -> ChunkOptions:
        """The configuration, frozen."""
        return self._engine.options

    @property
    def config_fingerprint(self) -> str:
        """What identifies the configuration (options, plugins, algorithm), as every chunk carries it.

        Preceded by ``unknown:`` when a callable has no attribute ``fingerprint``, or a plugin neither that nor a
        version: equal fingerprints then do not tell that nothing has changed.
        """
        return self._engine.config

    def with_options(self, **options: Any) -> Chunker:
        """A chunker with other options over those of this one, and the same plugins."""
        chunker = Chunker(self.registry)
        chunker._engine = self._under("with_options()", options)
        return chunker

    def measure(self, text: str) -> int:
        """The size of ``text`` in the unit that budgets are counted in."""
        return self._engine.sizer.count(text)

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
        engine = self._under(where, options)
        loaded = engine.load(name, _text(where, content))
        source = pipeline.describe_source(name, loaded, engine.options)
        chunks = counted(engine.chunks(name, loaded))
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
        engine = self._under("chunk_loaded()", options)
        return counted(engine.chunks(name, checked(loaded, name)))

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
        engine = self._under("chunk_bytes()", options)
        return counted(engine.chunks(label, engine.load(label, bytes(data), encoding)))

    def semantic_chunk(
        self,
        filepath: str | os.PathLike[str],
        content: str,
        embed_fn: EmbedFunction | None = None,
        **options: Any,
    ) -> list[Chunk]:
        """``chunk`` with boundaries where the topic changes; ``embed_fn``: instead of the option ``semantic_embed_fn``."""
        given = {} if embed_fn is None else {"semantic_embed_fn": embed_fn}
        return counted(self._text("semantic_chunk()", filepath, content, {"semantic": True, **given, **options}))

    def hierarchical_chunk(
        self,
        filepath: str | os.PathLike[str],
        content: str | None = None,
        levels: Sequence[int] = (),
        *,
        encoding: str | None = None,
        **options: Any,
    ) -> ChunkTree:
        """The chunks of one source at several sizes, each inside one of the next larger size.

        ``levels``: maxima, the finest first, two or more. ``content``: the text; without, the file itself is read. Each
        level is what ``chunk`` gives with that ``max_chunk_size`` and the larger ones as ``parent_sizes``, largest first;
        that is also how levels are stored. Only the finest is cut where the topic changes, if ``semantic`` asks for it.
        Raises OptionError for levels that cannot work, and for an overlap.
        """
        where = "hierarchical_chunk()"
        sizes = checked_levels(levels)
        if taken := {"max_chunk_size", "parent_sizes"} & options.keys():
            raise OptionError(f"{where}: {min(taken)} is told by levels.")
        _check_encoding(where, encoding)
        engine = self._under(where, {**options, "max_chunk_size": sizes[0], "parent_sizes": sizes[:0:-1]})
        name = _label(where, filepath)
        data = pipeline.read(name) if content is None else _text(where, content)
        made = engine.levels(name, engine.load(name, data, encoding))
        return ChunkTree(sizes, made[::-1])

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
        timeout_s: float | None = None,
        memory_mb: int | None = None,
        as_completed: bool = False,
        convert: Callable[[FileResult], Any] | None = None,
        skip: Callable[[str], bool] | None = None,
        **options: Any,
    ) -> Iterator[Any]:
        """The results of ``chunk_directory``, each made when it is asked for; closing the iterator ends all that runs.

        ``glob``, ``exclude``, ``include_hidden``, ``max_bytes``: which files, see ``walk``; ``skip(path)``: which of
        these to leave out. A ChunkingError makes its file ``failed`` and the run goes on; a format nobody reads and a
        binary file are ``skipped``. What the caller's rules or ignore files leave out is reported, as skipped, only
        with ``report_ignored``.

        ``concurrency``: files at once; more than one, or a limit, runs them in worker processes. ``timeout_s``,
        ``memory_mb``: most a file may take (120 and 2,048 when only workers are asked for). A file whose worker is too
        slow, too large, or dies is done again as plain text, which its diagnostics tell, and ``failed`` after that. A
        callable that cannot be sent to a worker makes all run in threads, which the diagnostics tell, too.
        ``as_completed``: results in the order in which they are ready. ``convert``: called with each result where it
        was made; what it returns comes instead of it, which spares the way of the chunks to this process.

        Raises LoadError when ``path`` is no folder, OptionError for what would be wrong for every file; exceptions of
        the caller's own callables propagate.
        """
        where = "chunk_directory()"
        if skip is not None and not callable(skip):
            raise OptionError(f"{where}: skip={skip!r}; a callable, or None, is needed.")
        plan = Plan(where, concurrency, timeout_s, memory_mb, as_completed, convert)
        _check_encoding(where, encoding)
        engine = self._under(where, options)
        if engine.options.source_id is not None:
            raise OptionError(f"{where}: source_id names a single source; files of a folder are named by their paths.")
        entries = walk(path, glob, exclude, include_hidden, max_bytes)
        return run(engine, files(entries, encoding, report_ignored, skip), plan)

    def stream_upsert(
        self,
        path: str | os.PathLike[str],
        embed_fn: Embed,
        adapter: str = "pinecone",
        batch_size: int = 100,
        *,
        after: str | None = None,
        glob: str | Iterable[str] = EVERYTHING,
        exclude: str | Iterable[str] | None = None,
        concurrency: int = 1,
        encoding: str | None = None,
        include_hidden: bool = False,
        **options: Any,
    ) -> Iterator[UpsertBatch]:
        """The chunks of a file or a folder as rows for a vector database, ``batch_size`` at a time; the caller writes them.

        ``embed_fn``: payloads to vectors. ``adapter``: a sink by name (``pinecone``, ``qdrant``, ``weaviate``, ``chroma``,
        ``lancedb``, ``pgvector``, or a plugin's). ``after``: the ``cursor`` of the last batch that was written. Files that
        cannot be chunked are told in the batch. To follow changes of the files use ``ChunkStore.deliver``.
        """
        where = "stream_upsert()"
        upsert.check(batch_size, embed_fn)
        row = named_sink(where, adapter, self.registry).row or (lambda point: point)
        start = upsert.Cursor.read(after)
        engine = self.with_options(**options) if options else self
        if os.path.isfile(path):
            results = engine.iter_batch([{"filepath": path, "encoding": encoding}])
        else:
            skip = start.passed if start else None
            results = engine.iter_directory(path, glob, exclude, concurrency, encoding, include_hidden, skip=skip)
        return upsert.batches(results, embed_fn, row, batch_size, start)

    def batch(self, items: Iterable[Mapping[str, Any]], concurrency: int = 1, **how: Any) -> list[FileResult]:
        """A result for every item, in their order; see ``iter_batch``."""
        return list(self.iter_batch(list(items), concurrency, **how))

    def iter_batch(
        self,
        items: Iterable[Mapping[str, Any]],
        concurrency: int = 1,
        *,
        timeout_s: float | None = None,
        memory_mb: int | None = None,
        as_completed: bool = False,
        convert: Callable[[FileResult], Any] | None = None,
    ) -> Iterator[Any]:
        """The results of items ``{"filepath": …, "code": …, **options}``, each made when it is asked for.

        Instead of the text ``code`` an item may have ``data``, the bytes a file would hold, or neither, and the file itself
        is read. A list is checked as a whole before anything runs. For the rest see ``iter_directory``; what cannot be
        chunked is ``failed``, since it was named.
        """
        plan = Plan("batch()", concurrency, timeout_s, memory_mb, as_completed, convert)
        jobs = batch_jobs("batch()", items, self._engine)
        return run(self._engine, list(jobs) if isinstance(items, Sequence) else jobs, plan)

    async def achunk(self, filepath: str | os.PathLike[str], content: str, **options: Any) -> list[Chunk]:
        """``chunk`` beside an event loop, in a thread; cancelling ends it at the next chunk."""
        from omnichunk.execution import asynchronous

        name, text, engine = self._asked("achunk()", filepath, content, options)
        return await asynchronous.call(lambda gone: counted(until(gone, engine.chunks(name, engine.load(name, text)))))

    def astream(
        self, filepath: str | os.PathLike[str], content: str, buffer_size: int = 8, **options: Any
    ) -> AsyncGenerator[Chunk, None]:
        """``stream`` beside an event loop: made in a thread that is at most ``buffer_size`` chunks ahead.

        Leaving early, by ``aclose()`` or cancellation, ends the thread at the next chunk and waits for that.
        """
        from omnichunk.execution import asynchronous

        asynchronous.check_buffer("astream()", buffer_size)
        name, text, engine = self._asked("astream()", filepath, content, options)
        return asynchronous.produce(lambda gone: until(gone, engine.chunks(name, engine.load(name, text))), buffer_size)

    async def abatch(self, items: Iterable[Mapping[str, Any]], concurrency: int = 1, **how: Any) -> list[FileResult]:
        """``batch`` beside an event loop; cancelling ends it, workers included, at the next result."""
        from omnichunk.execution import asynchronous

        results = asynchronous.produce(lambda gone: self.iter_batch(list(items), concurrency, **how), concurrency)
        try:
            return [result async for result in results]
        finally:
            await results.aclose()

    def _under(self, where: str, given: dict[str, Any]) -> Engine:
        if not given:
            return self._engine
        return self._engine.under(build(where, self.options, given, self.registry.loader_options()))

    def _asked(
        self, where: str, filepath: str | os.PathLike[str], content: str, given: dict[str, Any]
    ) -> tuple[str, str, Engine]:
        return _label(where, filepath), _text(where, content), self._under(where, given)

    def _text(
        self, where: str, filepath: str | os.PathLike[str], content: str, given: dict[str, Any]
    ) -> Iterator[Chunk]:
        name, text, engine = self._asked(where, filepath, content, given)
        return engine.chunks(name, engine.load(name, text))

    def _file(
        self, where: str, path: str | os.PathLike[str], encoding: str | None, given: dict[str, Any]
    ) -> Iterator[Chunk]:
        _check_encoding(where, encoding)
        engine = self._under(where, given)
        name = os.fsdecode(path)
        return engine.chunks(name, engine.load(name, pipeline.read(path), encoding))


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
        chunker._engine = Engine(options, chunker.registry)
    return chunker.chunk_loaded(filepath, loaded, **more)
