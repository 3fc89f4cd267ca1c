"""ChunkStore: chunks in a database that follows the files they come from."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

from omnichunk import Chunk, Chunker, OptionError, StoreError, open_sink, stable_chunk_id
from omnichunk.store.database import RANKED, SCHEMA_VERSION, Session, open_database
from omnichunk.store.delivery import Journal, deliver
from omnichunk.store.results import Delivery, SearchHit, StoreStats, SyncResult
from omnichunk.store.rows import chunk_of, decoded, digest_of, encodable
from omnichunk.store.sync import Progress, Scan, chunker_of, names, resolved, sync
from omnichunk.store.words import Term, mark, marks, matches, terms

MANY = 1 << 31
"""More chunks than a file has."""


class ChunkStore:
    """A collection of chunks in SQLite (a path, or ``:memory:``) or PostgreSQL (``postgresql://…``).

    Readers see complete states only, also while a sync is going on. A store may be used from several threads and opened
    by several processes; writers wait for each other, at most ``timeout`` seconds. ``create``: whether a file that is
    not there is made. Raises StoreError for a database of another program, of a later schema version, or damaged.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        collection: str = "default",
        *,
        timeout: float = 60.0,
        create: bool = True,
    ) -> None:
        if not isinstance(collection, str) or not collection or not collection.isprintable():
            raise OptionError(f"ChunkStore(): collection={collection!r:.80}; a name of printable characters is needed.")
        self.collection = collection
        self._database = open_database(path, timeout, create)
        self._lock = RLock()
        self._session = self._database.connect()
        self._closed = False

    def __enter__(self) -> ChunkStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database; the store is of no use afterwards."""
        with self._lock:
            self._closed = True
            self._session.close()

    def sync(
        self,
        root: str | os.PathLike[str],
        *,
        glob: str | Iterable[str] = "**/*",
        exclude: str | Iterable[str] | None = None,
        include_hidden: bool = False,
        encoding: str | None = None,
        max_bytes: int | None = None,
        chunker: Chunker | None = None,
        concurrency: int = 1,
        timeout_s: float | None = None,
        memory_mb: int | None = None,
        deletes: bool = True,
        force: bool = False,
        keep_going: bool = False,
        keep_diffs: bool = True,
        progress: Progress | None = None,
        **options: Any,
    ) -> SyncResult:
        """Bring the collection to the state of the files below ``root``, or of that one file; all of it or nothing.

        Files are known by their resolved paths, which name their chunks, too. Chunks of a changed file replace those
        there were; a file is deleted when a completed sync of the same root and filters (``glob``, ``exclude``,
        ``include_hidden``, ``max_bytes``) found it and it is missing. Unchanged files are passed over: those of the same
        size, times and number, otherwise of the same hash, unless ``force`` is true, the configuration or ``encoding``
        is another, or a callable or plugin has no identity (``Chunker.config_fingerprint`` begins with ``unknown:``).

        ``deletes``: false keeps what is missing. ``chunker``, ``options``: how to chunk. ``concurrency``, ``timeout_s``,
        ``memory_mb``: see ``iter_directory``. ``keep_going``: a file that cannot be read or chunked is told in the result,
        and what is stored of it stays. ``keep_diffs``: whether the result tells the differences; they hold all new
        chunks. ``progress(path, what)`` is called for every file.

        When a file cannot be read or chunked (unless ``keep_going``), a link leaves the root, a callable raises or the
        database fails, the collection stays as it was. Raises LoadError when there is no root, StoreError, and what
        callables raise. The transaction spans the whole sync, so another writer waits for it.
        """
        path = resolved(root)
        if progress is not None and not callable(progress):
            raise OptionError(
                f"sync(): progress={progress!r:.80}; a function of a path and a word, or None, is needed."
            )
        which = {
            "glob": _once(glob),
            "exclude": _once(exclude),
            "include_hidden": include_hidden,
            "max_bytes": max_bytes,
        }
        how = {"concurrency": concurrency, "timeout_s": timeout_s, "memory_mb": memory_mb}
        chunker = chunker_of(chunker, options, os.path.isdir(path))
        scan = Scan(path, which, encoding, chunker, how, deletes, force, keep_going)
        with self._own() as session:
            return sync(session, self.collection, scan, keep_diffs, progress)

    def index(self, root: str | os.PathLike[str], **arguments: Any) -> SyncResult:
        """``sync`` that deletes nothing: files that are missing stay until the next ``sync``."""
        return self.sync(root, deletes=False, **arguments)

    def query(self, filepath: str | os.PathLike[str]) -> list[Chunk]:
        """The chunks of a file in source order; none if it is not stored."""
        return self._chunks("WHERE s.path = ? AND s.collection = ?", [encodable(_resolved(filepath))])

    def by_source(self, source_id: str) -> list[Chunk]:
        """The chunks of the document with a ``source_id``, which is the resolved path unless one was given, in order."""
        return self._chunks("WHERE s.source_id = ? AND s.collection = ?", [_key("by_source()", source_id)])

    def get(self, chunk_id: str) -> Chunk | None:
        """The chunk with a stable id, or ``None``."""
        return next(iter(self._chunks("WHERE c.chunk_id = ? AND c.collection = ?", [_key("get()", chunk_id)])), None)

    def neighbours(self, chunk: Chunk | str, before: int = 1, after: int = 1) -> list[Chunk]:
        """The chunks around one, given as it is or by its id: up to ``before`` and ``after``, in order, without it."""
        for name, value in (("before", before), ("after", after)):
            if type(value) is not int or value < 0:
                raise OptionError(f"neighbours(): {name}={value!r}; a whole number is needed.")
        name = _key("neighbours()", stable_chunk_id(chunk) if isinstance(chunk, Chunk) else chunk)
        return self._chunks(
            "JOIN chunk m ON m.source = c.source WHERE m.chunk_id = ? AND c.id <> m.id "
            "AND c.position BETWEEN m.position - ? AND m.position + ? AND m.collection = c.collection "
            "AND c.collection = ?",
            [name, min(before, MANY), min(after, MANY)],
        )

    def files(self) -> list[str]:
        """The paths of all files that are stored, sorted."""
        with self._reading() as (session, collection):
            return names(session.rows("SELECT path FROM source WHERE collection = ? ORDER BY path", collection))

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        path: str | os.PathLike[str] | None = None,
        language: str | None = None,
    ) -> list[SearchHit]:
        """The chunks that hold the words of ``query``, the best first.

        ``"several words"`` must follow each other, ``begin*`` need only begin so; all others may stand anywhere in the
        text, in names written in mixed case, in the breadcrumb or the file name. When no chunk holds all of them, any
        will do. Case and diacritics do not count. ``path``: only that file, or files below that folder. ``language``:
        only chunks in it.
        """
        if not isinstance(query, str):
            raise TypeError(f"search(): query must be a str, not {type(query).__name__}.")
        if type(limit) is not int or limit < 1:
            raise OptionError(f"search(): limit={limit!r}; a whole number of at least 1 is needed.")
        limit = min(limit, RANKED)
        wanted = terms(query)
        within: list[Term] = []
        if path is not None:
            within.append(Term((marks(_resolved(path))[0],)))
        if language is not None:
            within.append(Term((mark(_key("search()", language).encode()),)))
        if not wanted:
            return []
        with self._reading() as (session, collection):
            found = session.found(collection, wanted, True, within, limit)
            if not found and len(wanted) > 1:
                found = session.found(collection, wanted, False, within, limit)
            if not found:
                return []
            asked = ", ".join("?" * len(found))
            rows = session.rows(
                "SELECT c.id, c.chunk_id, c.text, c.record, s.shared FROM chunk c JOIN source s ON s.id = c.source "
                f"WHERE c.id IN ({asked})",
                *(row for row, _ in found),
            )
        held = {row: (name, chunk_of(*stored)) for row, name, *stored in rows}
        return [
            SearchHit(chunk, name, score, tuple(matches(chunk.text, wanted)))
            for row, score in found
            for name, chunk in [held[row]]
        ]

    def stats(self) -> StoreStats:
        """What is in the collection, as of one moment."""
        with self._reading() as (session, collection):
            sources = session.rows("SELECT chunks, characters, languages FROM source WHERE collection = ?", collection)
            pending = session.rows(
                "SELECT t.name, (SELECT count(*) FROM chunk c WHERE c.collection = t.collection AND c.id > t.reached) "
                "FROM target t WHERE t.collection = ? ORDER BY t.name",
                collection,
            )
            languages: Counter[str] = Counter()
            for _, _, counted in sources:
                languages.update(json.loads(counted))
            return StoreStats(
                self.collection,
                len(sources),
                sum(chunks for chunks, _, _ in sources),
                sum(characters for _, characters, _ in sources),
                dict(sorted(languages.items(), key=lambda item: (-item[1], item[0]))),
                SCHEMA_VERSION,
                session.size(),
                dict(pending),
            )

    def export(self) -> Iterator[Chunk]:
        """All chunks, file by file in the order of paths, as of the moment the first one is asked for."""
        for rows in self._by_file("c.text, c.record, s.shared"):
            for row in rows:
                yield chunk_of(*row)

    def check(self) -> list[str]:
        """What is wrong with the store: nothing, unless the file was damaged or changed by another program."""
        with self._own() as session, session.writing(self.collection):
            problems = session.problems()
        with self._reading() as (session, collection):
            wrong = session.rows(
                "SELECT s.path, s.chunks, count(c.id), max(c.position) FROM source s LEFT JOIN chunk c ON c.source = s.id "
                "WHERE s.collection = ? GROUP BY s.id, s.path, s.chunks "
                "HAVING count(c.id) <> s.chunks OR coalesce(max(c.position), -1) <> s.chunks - 1",
                collection,
            )
        problems += [f"{decoded(path)}: {there} of {chunks} chunks are there" for path, chunks, there, _ in wrong]
        for rows in self._by_file("c.chunk_id, c.digest, c.record, s.shared"):
            problems += [f"chunk {name} is damaged" for name, digest, *stored in rows if digest_of(*stored) != digest]
        return problems

    def deliver(
        self,
        sink: Any,
        embed_fn: Callable[[list[str]], Sequence[Any]],
        *,
        name: str | None = None,
        model: str = "",
        batch_size: int = 100,
        **options: Any,
    ) -> Delivery:
        """Make a sink hold what the collection holds: delete what has gone, embed and write what is new.

        ``sink``: what `open_sink` takes (``"lancedb:./vectors"``, with its ``options``), or an object with
        ``apply(removed, points)``, which then needs a ``name``. Chunks whose payload is the same are not embedded again;
        if their place has changed, it is written alone. ``model``: names the embedding model and its version; another
        one makes all be embedded again.

        What has arrived is entered in the store, so a run that was interrupted, at any moment, is gone on with by the
        next; nothing is lost and nothing there twice. One delivery at a time: a second one waits. Exceptions of
        ``embed_fn`` and of the sink propagate.
        """
        if type(batch_size) is not int or batch_size < 1:
            raise OptionError(f"deliver(): batch_size={batch_size!r}; a whole number of at least 1 is needed.")
        if not callable(embed_fn):
            raise OptionError("deliver(): embed_fn must be callable: a list of texts to a list of vectors.")
        if not isinstance(sink, str) and not callable(getattr(sink, "apply", None)):
            raise OptionError(f"deliver(): {sink!r:.80} is no sink; an object with apply(removed, points) is needed.")
        if name is None:
            if not isinstance(sink, str):
                raise OptionError("deliver(): a sink that is an object needs a name=, by which it is known next time.")
            name = sink
        name, model = _key("deliver()", name), _key("deliver()", model)
        with self._database.delivering(), self._own() as session:
            opened = open_sink(sink, **options) if isinstance(sink, str) else sink
            try:
                return deliver(Journal(session, self.collection, name, model), opened, embed_fn, batch_size)
            finally:
                if opened is not sink:
                    opened.close()

    def forget_sink(self, name: str) -> None:
        """Forget what was delivered to a sink, because it was emptied: the next delivery writes everything."""
        with self._own() as session, session.writing(self.collection):
            session.rows(
                "DELETE FROM target WHERE name = ? AND collection = (SELECT id FROM collection WHERE name = ?)",
                _key("forget_sink()", name),
                self.collection,
            )

    def _chunks(self, condition: str, values: list[Any]) -> list[Chunk]:
        """Chunks in source order; ``condition`` ends with the collection."""
        with self._reading() as (session, collection):
            rows = session.rows(
                "SELECT c.text, c.record, s.shared FROM chunk c JOIN source s ON s.id = c.source "
                f"{condition} ORDER BY c.position",
                *values,
                collection,
            )
        return [chunk_of(*row) for row in rows]

    def _by_file(self, columns: str) -> Iterator[list[tuple[Any, ...]]]:
        """``columns`` of all chunks, file by file, as of one moment."""
        with self._own() as session, session.reading():
            (collection,) = session.one("SELECT id FROM collection WHERE name = ?", self.collection) or (0,)
            for (source,) in session.rows("SELECT id FROM source WHERE collection = ? ORDER BY path", collection):
                yield session.rows(
                    f"SELECT {columns} FROM chunk c JOIN source s ON s.id = c.source WHERE s.id = ? ORDER BY c.position",
                    source,
                )

    @contextmanager
    def _reading(self) -> Iterator[tuple[Session, int]]:
        """The session for short reads in a transaction, and the number of the collection, 0 when there is none yet."""
        if self._closed:
            raise StoreError("the store is closed.")
        with self._lock, self._session.reading():
            (collection,) = self._session.one("SELECT id FROM collection WHERE name = ?", self.collection) or (0,)
            yield self._session, collection

    @contextmanager
    def _own(self) -> Iterator[Session]:
        """A session of its own for what takes longer, or writes; in memory there is only the one."""
        if self._closed:
            raise StoreError("the store is closed.")
        session = self._database.connect()
        if session is self._session:
            with self._lock:
                yield session
            return
        try:
            yield session
        finally:
            session.close()


def _once(patterns: Any) -> Any:
    """``patterns`` for reading more than once; what is wrong with them is told by who reads them."""
    return patterns if isinstance(patterns, str) or not isinstance(patterns, Iterable) else list(patterns)


def _key(where: str, name: Any) -> str:
    """A name as it is in the database."""
    if not isinstance(name, str):
        raise TypeError(f"{where}: {name!r:.80}; a str is needed, not {type(name).__name__}.")
    return encodable(name)


def _resolved(path: str | os.PathLike[str]) -> str:
    """The path of a stored file; what no file can be called stays as it is, and is not found."""
    name = os.fsdecode(path)
    try:
        return os.path.realpath(name)
    except ValueError:
        return name
