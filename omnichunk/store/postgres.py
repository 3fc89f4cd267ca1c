"""PostgreSQL, with everything in the schema ``omnichunk``: MVCC for readers, an advisory lock for the writer, tsvector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from typing import Any

from omnichunk import MissingDependencyError, StoreError
from omnichunk.store.database import RANKED, SCHEMA_VERSION, Answer, Database, Session, Value
from omnichunk.store.rows import Words
from omnichunk.store.words import Term

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE collection (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, generation bigint NOT NULL);
    CREATE TABLE source (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, collection bigint NOT NULL REFERENCES collection ON DELETE CASCADE,
        path text COLLATE "C" NOT NULL, source_id text COLLATE "C" NOT NULL, revision text NOT NULL, format text NOT NULL,
        size bigint NOT NULL, stamp text NOT NULL, hash text NOT NULL, config text NOT NULL, chunks bigint NOT NULL,
        characters bigint NOT NULL, languages text NOT NULL, shared text NOT NULL,
        UNIQUE (collection, path), UNIQUE (collection, source_id));
    CREATE TABLE chunk (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, collection bigint NOT NULL REFERENCES collection ON DELETE CASCADE,
        source bigint NOT NULL REFERENCES source ON DELETE CASCADE, position bigint NOT NULL,
        chunk_id text COLLATE "C" NOT NULL, fingerprint text NOT NULL, place text NOT NULL, digest text NOT NULL,
        language text NOT NULL, text text NOT NULL, record text NOT NULL,
        UNIQUE (source, position), UNIQUE (collection, chunk_id));
    CREATE TABLE words (
        id bigint PRIMARY KEY REFERENCES chunk ON DELETE CASCADE, collection bigint NOT NULL, held tsvector NOT NULL);
    CREATE INDEX words_held ON words USING gin (held);
    CREATE TABLE scan (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, collection bigint NOT NULL REFERENCES collection ON DELETE CASCADE,
        root text COLLATE "C" NOT NULL, filters text NOT NULL, UNIQUE (collection, root, filters));
    CREATE TABLE owned (
        scan bigint NOT NULL REFERENCES scan ON DELETE CASCADE,
        source bigint NOT NULL REFERENCES source ON DELETE CASCADE, PRIMARY KEY (scan, source));
    CREATE INDEX owned_source ON owned (source);
    CREATE TABLE target (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, collection bigint NOT NULL REFERENCES collection ON DELETE CASCADE,
        name text NOT NULL, model text NOT NULL, reached bigint NOT NULL, UNIQUE (collection, name));
    CREATE TABLE delivered (
        target bigint NOT NULL REFERENCES target ON DELETE CASCADE, chunk_id text COLLATE "C" NOT NULL,
        fingerprint text NOT NULL, digest text NOT NULL, PRIMARY KEY (target, chunk_id));
    """,
)
"""As those of SQLite, but for the types and the words."""

FURTHEST = 16_000
"""Words of a chunk that the index tells the places of; PostgreSQL counts no further than 16,383."""
LARGEST = 400_000
"""Characters of different words that the index of a chunk holds; PostgreSQL takes a megabyte."""


class Postgres(Database):
    def __init__(self, url: str, timeout: float) -> None:
        super().__init__(timeout)
        try:
            psycopg = import_module("psycopg")
        except ImportError:
            raise MissingDependencyError(
                'a store in PostgreSQL needs psycopg, which is not installed. Run: pip install "omnichunk[postgres]"'
            ) from None
        self._pg = psycopg
        self._url = url

    def connect(self) -> PostgresSession:
        session = PostgresSession(self._pg, self._url, self.timeout)
        try:
            session.prepare()
        except BaseException:
            session.close()
            raise
        return session

    @contextmanager
    def delivering(self) -> Iterator[None]:
        session = PostgresSession(self._pg, self._url, self.timeout)
        try:
            session.rows("SET lock_timeout = " + session.wait)
            session.rows("SELECT pg_advisory_lock(?)", _key("delivery"))
            yield
        finally:
            session.close()


class PostgresSession(Session):
    def __init__(self, pg: Any, url: str, timeout: float) -> None:
        self._pg = pg
        self.wait = str(max(1, min(int(timeout * 1000), 2**31 - 1)))
        with self._told():
            self._connection = pg.connect(url, autocommit=True)

    def prepare(self) -> None:
        """Make or migrate the tables. Raises StoreError, and has changed nothing, when the schema is somebody else's."""
        if self._version() < SCHEMA_VERSION:
            with self._transaction("BEGIN", *self._locked("schema")):
                version = self._version()
                if not version and self.one("SELECT 1 FROM pg_tables WHERE schemaname = 'omnichunk'"):
                    raise StoreError(
                        "the schema omnichunk of this database is of another program. Name another database."
                    )
                if version < SCHEMA_VERSION:
                    self.rows("CREATE SCHEMA IF NOT EXISTS omnichunk")
                    self.rows("SET LOCAL search_path TO omnichunk")
                    if not version:
                        self.rows("CREATE TABLE store (version bigint NOT NULL)")
                        self.rows("INSERT INTO store VALUES (0)")
                    for number in range(version, SCHEMA_VERSION):
                        for statement in MIGRATIONS[number].split(";\n"):
                            if statement.strip():
                                self.rows(statement)
                    self.rows("UPDATE store SET version = ?", SCHEMA_VERSION)
        self.rows("SET search_path TO omnichunk")

    def _version(self) -> int:
        """Of the tables, 0 when there are none."""
        # Not ``to_regclass``: what it remembers may be older than the lock that was waited for.
        if not self.one("SELECT 1 FROM pg_tables WHERE schemaname = 'omnichunk' AND tablename = 'store'"):
            return 0
        found = self.one("SELECT version FROM omnichunk.store")
        version = int(found[0]) if found else 0
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"the store has schema version {version}, and this version of omnichunk reads up to {SCHEMA_VERSION}. "
                "Upgrade omnichunk, or use another database."
            )
        return version

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except self._pg.errors.LockNotAvailable as error:
            raise StoreError(
                "the store is being written to by another process; try again later, or wait longer with timeout=."
            ) from error
        except self._pg.Error as error:
            raise StoreError(f"PostgreSQL: {' '.join(str(error).split())}") from error

    def rows(self, statement: str, *values: Value) -> Answer:
        with self._told():
            cursor = self._connection.execute(statement.replace("?", "%s"), values or None)
            return cursor.fetchall() if cursor.description else []

    def many(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        with self._told(), self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), values)

    @contextmanager
    def _transaction(self, *begin: str) -> Iterator[None]:
        try:
            for statement in begin:
                self.rows(statement)
            yield
            self.rows("COMMIT")
        except BaseException:
            if not self._connection.closed and not self._connection.broken:
                self.rows("ROLLBACK")
            raise

    def _locked(self, name: str) -> tuple[str, str]:
        return f"SET LOCAL lock_timeout = {self.wait}", f"SELECT pg_advisory_xact_lock({_key(name)})"

    @contextmanager
    def writing(self, collection: str) -> Iterator[None]:
        with self._transaction("BEGIN", *self._locked(f"collection {collection}")):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
            yield

    def put_words(self, collection: int, words: Iterable[tuple[int, Words]]) -> None:
        self.many(
            "INSERT INTO words (id, collection, held) VALUES (?, ?, ?::tsvector)",
            ((row, collection, tsvector(held)) for row, held in words),
        )

    def drop_words(self, collection: int, source: int) -> None:
        """Nothing: they go with their chunks."""

    def found(
        self, collection: int, wanted: list[Term], every: bool, within: list[Term], limit: int
    ) -> list[tuple[int, float]]:
        query = (" & " if every else " | ").join(map(_phrase, wanted))
        return [
            (row, score)
            for row, score in self.rows(
                "SELECT id, ts_rank_cd('{0.2, 0.4, 0.7, 1.0}', held, ?::tsquery) AS score FROM "
                f"(SELECT id, held FROM words WHERE held @@ ?::tsquery AND collection = ? LIMIT {RANKED}) matched "
                "ORDER BY score DESC, id LIMIT ?",
                query,
                " & ".join([f"({query})", *map(_phrase, within)]),
                collection,
                limit,
            )
        ]

    def problems(self) -> list[str]:
        lacking = self.one("SELECT count(*) FROM chunk c LEFT JOIN words w ON w.id = c.id WHERE w.id IS NULL")
        return ["the full-text index does not agree with the chunks"] if lacking and lacking[0] else []

    def size(self) -> int:
        found = self.one("SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n "
                         "ON n.oid = c.relnamespace WHERE n.nspname = 'omnichunk' AND c.relkind = 'r'")  # fmt: skip
        return int(found[0]) if found else 0

    def close(self) -> None:
        self._connection.close()


def tsvector(held: Words) -> str:
    """``held`` as PostgreSQL writes a tsvector: words with places, those of the place with weight A, of names with B."""
    places: dict[str, list[str]] = {}
    at = room = 0
    for column, weight in ((held.place, "A"), (held.text, "C"), (held.names, "B")):
        for word in column:
            at += 1
            if at > FURTHEST or room > LARGEST:
                break
            if word not in places:
                places[word] = []
                room += len(word) + 8
            if len(places[word]) < 255:
                places[word].append(f"{at}{weight}")
        at += 1  # so that no phrase crosses from one into the next
    return " ".join([*(f"'{word}':{','.join(found)}" for word, found in places.items()), *held.within])


def _phrase(term: Term) -> str:
    *first, last = term.words
    return "(" + " <-> ".join([*(f"'{word}'" for word in first), f"'{last}'{':*' if term.prefix else ''}"]) + ")"


def _key(name: str) -> int:
    """The number of an advisory lock."""
    return int.from_bytes(sha256(f"omnichunk {name}".encode()).digest()[:8], "big", signed=True)
