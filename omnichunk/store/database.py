"""What a store asks of a database. Statements are written once, with ``?`` for values; what differs is a method here."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from omnichunk import OptionError
from omnichunk.store.rows import Words
from omnichunk.store.words import Term

SCHEMA_VERSION = 1
"""Of the tables; raised with every migration."""

RANKED = 20_000
"""Most chunks that a search ranks. Of words in a million chunks it saves 9 of 10 seconds, and their rank says little."""

LONGEST = 1_000_000
"""Seconds that are waited at most; the databases count no further than some weeks."""

Value = Any
Answer = list[tuple[Any, ...]]


class Session(ABC):
    """One connection. What goes wrong in the database is raised as StoreError."""

    @abstractmethod
    def rows(self, statement: str, *values: Value) -> Answer:
        """All rows that a statement gives."""

    @abstractmethod
    def many(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        """Run a statement once for each of ``values``."""

    @abstractmethod
    def writing(self, collection: str) -> AbstractContextManager[None]:
        """A transaction that waits for other writers and is undone when the block raises."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """A transaction in which everything is read as it was at one moment."""

    @abstractmethod
    def put_words(self, collection: int, words: Iterable[tuple[int, Words]]) -> None:
        """Add chunks to the full-text index, by the numbers of their rows."""

    @abstractmethod
    def drop_words(self, collection: int, source: int) -> None:
        """Take the chunks of a source out of the full-text index; called while they are still there."""

    @abstractmethod
    def found(
        self, collection: int, wanted: list[Term], every: bool, within: list[Term], limit: int
    ) -> list[tuple[int, float]]:
        """Rows that hold every term of ``wanted``, or any, and all of ``within``: the best of the first ``RANKED``."""

    @abstractmethod
    def problems(self) -> list[str]:
        """What is wrong with the database as such."""

    @abstractmethod
    def size(self) -> int:
        """Bytes of the database."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; what was not committed is undone."""

    def one(self, statement: str, *values: Value) -> tuple[Any, ...] | None:
        """The first row that a statement gives."""
        return next(iter(self.rows(statement, *values)), None)

    def collection(self, name: str) -> int:
        """The number of a collection, made if need be; to be asked while writing."""
        self.rows("INSERT INTO collection (name, generation) VALUES (?, 0) ON CONFLICT (name) DO NOTHING", name)
        found = self.one("SELECT id FROM collection WHERE name = ?", name)
        assert found is not None
        return int(found[0])


class Database(ABC):
    """Where a store is kept. ``timeout``: seconds to wait for another writer."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout

    @abstractmethod
    def connect(self) -> Session:
        """A new connection to tables of the current version, made or migrated when there are none or older ones."""

    @abstractmethod
    def delivering(self) -> AbstractContextManager[None]:
        """Held by the one process that delivers; given up when that process ends, however it ends."""


def open_database(place: str | os.PathLike[str], timeout: float, create: bool) -> Database:
    """The database at a path, or behind the URL ``postgresql://…``. Raises OptionError for any other URL."""
    if not isinstance(place, (str, os.PathLike)):
        raise OptionError(f"ChunkStore(): {place!r:.80}; a path, or the URL of a PostgreSQL database, is needed.")
    if type(timeout) not in (int, float) or not timeout >= 0:
        raise OptionError(f"ChunkStore(): timeout={timeout!r}; a number of seconds is needed.")
    text = os.fspath(place)
    timeout = min(timeout, LONGEST)
    if isinstance(text, str) and text.startswith(("postgresql://", "postgres://")):
        from omnichunk.store.postgres import Postgres

        return Postgres(text, timeout)
    if isinstance(text, str) and "://" in text:
        raise OptionError(f"ChunkStore(): {text}: only postgresql:// is known; for SQLite give a path.")
    if not (path := os.fsdecode(text)) or not _can_be(path):
        raise OptionError(f"ChunkStore(): {path!r:.80}: no file can have this name.")
    from omnichunk.store.sqlite import Sqlite

    return Sqlite(path, timeout, create)


def _can_be(path: str) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
