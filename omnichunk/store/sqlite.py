"""SQLite: one file, readers beside one writer, FTS5 for the words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from time import monotonic, sleep

from omnichunk import StoreError
from omnichunk.store.database import RANKED, SCHEMA_VERSION, Answer, Database, Session, Value
from omnichunk.store.rows import Words
from omnichunk.store.words import Term

APPLICATION = 0x6F6D6E69  # "omni", in the header of the file
MEMORY = ":memory:"

COMMON = 50_000
"""Chunks from which on a word is common. To find out takes 2 ms a word; to rank by one that a million hold takes 40."""
LOOKED = 20
"""Chunks, for each one wanted, that are looked through for the common words of a query before the index is asked for all."""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE collection (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL);
    CREATE TABLE source (
        id INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL REFERENCES collection ON DELETE CASCADE,
        path TEXT NOT NULL, source_id TEXT NOT NULL, revision TEXT NOT NULL, format TEXT NOT NULL,
        size INTEGER NOT NULL, stamp TEXT NOT NULL, hash TEXT NOT NULL, config TEXT NOT NULL, chunks INTEGER NOT NULL,
        characters INTEGER NOT NULL, languages TEXT NOT NULL, shared TEXT NOT NULL,
        UNIQUE (collection, path), UNIQUE (collection, source_id));
    CREATE TABLE chunk (
        id INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL REFERENCES collection ON DELETE CASCADE,
        source INTEGER NOT NULL REFERENCES source ON DELETE CASCADE, position INTEGER NOT NULL,
        chunk_id TEXT NOT NULL, fingerprint TEXT NOT NULL, place TEXT NOT NULL, digest TEXT NOT NULL,
        language TEXT NOT NULL, text TEXT NOT NULL, record TEXT NOT NULL,
        UNIQUE (source, position), UNIQUE (collection, chunk_id));
    CREATE TABLE scan (
        id INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL REFERENCES collection ON DELETE CASCADE,
        root TEXT NOT NULL, filters TEXT NOT NULL, UNIQUE (collection, root, filters));
    CREATE TABLE owned (
        scan INTEGER NOT NULL REFERENCES scan ON DELETE CASCADE,
        source INTEGER NOT NULL REFERENCES source ON DELETE CASCADE, PRIMARY KEY (scan, source)) WITHOUT ROWID;
    CREATE INDEX owned_source ON owned (source);
    CREATE TABLE target (
        id INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL REFERENCES collection ON DELETE CASCADE,
        name TEXT NOT NULL, model TEXT NOT NULL, reached INTEGER NOT NULL, UNIQUE (collection, name));
    CREATE TABLE delivered (
        target INTEGER NOT NULL REFERENCES target ON DELETE CASCADE, chunk_id TEXT NOT NULL,
        fingerprint TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (target, chunk_id)) WITHOUT ROWID;
    """,
)
"""What makes the tables of version n + 1 of those of version n. A table ``words_<collection>`` is made with its first words."""


class Sqlite(Database):
    """A file; ``:memory:`` for one that is gone with the store, all of whose sessions are the same."""

    def __init__(self, path: str, timeout: float, create: bool) -> None:
        super().__init__(timeout)
        self.path = path
        self._one: SqliteSession | None = None
        self._delivering = Lock()
        if sqlite3.sqlite_version_info < (3, 35):
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; 3.35 or later is needed.")
        if not create and path != MEMORY and not os.path.isfile(path):
            raise StoreError(f"{path}: there is no such store. Make one with ChunkStore.sync() or omnichunk index.")

    def connect(self) -> SqliteSession:
        if self._one is not None:
            return self._one
        session = SqliteSession(self.path, self.timeout)
        try:
            session.prepare()
        except BaseException:
            session.close()
            raise
        if self.path == MEMORY:
            self._one = session
        return session

    @contextmanager
    def delivering(self) -> Iterator[None]:
        # A database of its own is the lock: the system lets go of it when the process ends, and it works everywhere.
        if not self._delivering.acquire(timeout=self.timeout):
            raise StoreError(f"{self.path}: chunks are being delivered; deliver one after the other.")
        try:
            if self.path == MEMORY:
                yield
                return
            lock = SqliteSession(f"{self.path}-delivery", self.timeout)
            try:
                lock.rows("BEGIN EXCLUSIVE")
                yield
            finally:
                lock.close()
        finally:
            self._delivering.release()


class SqliteSession(Session):
    def __init__(self, path: str, timeout: float) -> None:
        self.path = path
        self._timeout = timeout
        with self._told():
            self._connection = sqlite3.connect(path, timeout, isolation_level=None, check_same_thread=False)
            self.rows("PRAGMA foreign_keys = ON")

    def prepare(self) -> None:
        """Make or migrate the tables. Raises StoreError, and has changed nothing, when the file is somebody else's."""
        if self._version() < SCHEMA_VERSION:
            self._use_wal()
            with self._transaction():
                for number in range(self._version(), SCHEMA_VERSION):
                    for statement in MIGRATIONS[number].split(";\n"):
                        self.rows(statement)
                self.rows(f"PRAGMA application_id = {APPLICATION}")
                self.rows(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self.rows("PRAGMA synchronous = FULL")

    def _use_wal(self) -> None:
        """Let readers go on beside the writer; where the file system cannot, SQLite keeps the mode it has."""
        until = monotonic() + self._timeout
        while True:
            try:
                self.rows("PRAGMA journal_mode = WAL")
                return
            except StoreError:  # another process is making the same change, which SQLite does not wait for
                if monotonic() >= until:
                    raise
                sleep(0.01)

    def _version(self) -> int:
        """Of the tables, 0 for an empty file."""
        application, version, tables = (
            self.rows(statement)[0][0]
            for statement in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        if application != APPLICATION and (application or version or tables):
            raise StoreError(f"{self.path}: is a database of another program. Name another file for the store.")
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path}: has schema version {version}, and this version of omnichunk reads up to {SCHEMA_VERSION}. "
                "Upgrade omnichunk, or make a new store."
            )
        return int(version)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            reason = str(error).removesuffix(".")
            hint = ""
            if "locked" in reason or "busy" in reason:
                hint = " Another process is writing; try again later, or wait longer with timeout=."
            elif "within a transaction" in reason:
                hint = " The store is being read or written by the same thread; finish that first."
            elif "fts5" in reason:
                hint = " This Python's SQLite is built without FTS5, which the store needs."
            elif "unable to open" in reason:
                hint = " Is its folder there, and may it be written to?"
            raise StoreError(f"{self.path}: {reason}.{hint}") from error

    def rows(self, statement: str, *values: Value) -> Answer:
        with self._told():
            return self._connection.execute(statement, values).fetchall()

    def many(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        with self._told():
            self._connection.executemany(statement, values)

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        self.rows(f"BEGIN {kind}")
        try:
            yield
            self.rows("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.rollback()

    @contextmanager
    def writing(self, collection: str) -> Iterator[None]:
        with self._transaction():
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        if self._connection.in_transaction:  # in memory, where all share one session
            yield
            return
        with self._transaction("DEFERRED"):
            yield

    def put_words(self, collection: int, words: Iterable[tuple[int, Words]]) -> None:
        self.rows(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS words_{collection} USING fts5(text, names, place, within, tokenize = 'ascii')"
        )
        self.many(
            f"INSERT INTO words_{collection} (rowid, text, names, place, within) VALUES (?, ?, ?, ?, ?)",
            ((row, *(" ".join(column) for column in held)) for row, held in words),
        )

    def drop_words(self, collection: int, source: int) -> None:
        if self._has_words(collection):
            self.rows(f"DELETE FROM words_{collection} WHERE rowid IN (SELECT id FROM chunk WHERE source = ?)", source)

    def _has_words(self, collection: int) -> bool:
        return self.one("SELECT 1 FROM sqlite_master WHERE name = ?", f"words_{collection}") is not None

    def found(
        self, collection: int, wanted: list[Term], every: bool, within: list[Term], limit: int
    ) -> list[tuple[int, float]]:
        if not self._has_words(collection):
            return []
        asked = [*wanted, *within]
        common = [term for term in asked if len(asked) > 1 and self._is_common(collection, term)]
        # Common words cost most and say least: chunks are ranked by the others, and looked through for these.
        rare = [term for term in wanted if term not in common] or wanted
        later = [term for term in common if term in within or (every and term not in rare)]
        if len(rare) < len(wanted) or later:
            several = min(limit * LOOKED, RANKED)
            best = self._ranked(collection, rare, every, [term for term in within if term not in common], several)
            held = [found for found in best if self._holds(collection, found[0], later)][:limit]
            if len(held) == limit or (every and len(best) < several):
                return held
        return self._ranked(collection, wanted, every, within, limit)

    def _is_common(self, collection: int, term: Term) -> bool:
        table = f"words_{collection}"
        counted = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT {COMMON})"
        return bool(self.rows(counted, _phrase(term))[0][0] == COMMON)

    def _holds(self, collection: int, row: int, terms: list[Term]) -> bool:
        """Whether a row of the index holds every one of ``terms``."""
        columns = self.rows(f"SELECT text, names, place, within FROM words_{collection} WHERE rowid = ?", row)[0]
        wanted = [f" {' '.join(term.words)}{'' if term.prefix else ' '}" for term in terms]
        return all(any(words in f" {column} " for column in columns) for words in wanted)

    def _ranked(
        self, collection: int, wanted: list[Term], every: bool, within: list[Term], limit: int
    ) -> list[tuple[int, float]]:
        query = (" AND " if every else " OR ").join(map(_phrase, wanted))
        if within:
            query = f"({query}) AND {' AND '.join(map(_phrase, within))}"
        table = f"words_{collection}"
        return [
            (row, score)
            for row, score in self.rows(
                f"SELECT id, score FROM (SELECT rowid AS id, -rank AS score FROM {table} WHERE {table} MATCH ? "
                f"AND rank MATCH 'bm25(1.0, 0.7, 1.5, 0.0)' LIMIT {RANKED}) ORDER BY score DESC, id LIMIT ?",
                query,
                limit,
            )
        ]

    def problems(self) -> list[str]:
        found = [row[0] for row in self.rows("PRAGMA integrity_check") if row[0] != "ok"]
        found += [f"a row of {row[0]} refers to nothing in {row[2]}" for row in self.rows("PRAGMA foreign_key_check")]
        for (collection,) in self.rows("SELECT id FROM collection"):
            if self._has_words(collection):
                table = f"words_{collection}"
                self.rows(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
            elif self.one("SELECT 1 FROM chunk WHERE collection = ?", collection):
                found.append(f"collection {collection} has no full-text index")
                continue
            else:
                continue
            strangers = self.one(
                f"SELECT (SELECT count(*) FROM chunk WHERE collection = ?), count(*), count(c.id) "
                f"FROM {table}_docsize d LEFT JOIN chunk c ON c.id = d.id AND c.collection = ?",
                collection,
                collection,
            )
            if strangers and len(set(strangers)) > 1:
                found.append(f"the full-text index of collection {collection} does not agree with its chunks")
        return found

    def size(self) -> int:
        pages, size = (self.rows(f"PRAGMA {name}")[0][0] for name in ("page_count", "page_size"))
        return int(pages * size)

    def close(self) -> None:
        self._connection.close()


def _phrase(term: Term) -> str:
    return f'"{" ".join(term.words)}"{"*" if term.prefix else ""}'
