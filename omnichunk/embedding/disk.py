"""Vectors in a file, for the next process and for others at the same time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256

from omnichunk.errors import StoreError

APPLICATION = 0x6F6D6E76  # "omnv", in the header of the file
_VARIABLES = 500  # keys that one statement asks for


class Disk:
    """The vectors of one ``identity`` in the cache file ``path``.

    The file is SQLite; it only grows, and may be deleted at any time. Raises StoreError when it is damaged, of another
    program, or cannot be written.
    """

    def __init__(self, path: str, identity: str) -> None:
        self._path = path
        self._space = sha256(identity.encode("utf-8", "surrogatepass")).digest()[:16]
        with self._opened() as connection:
            ((number,),) = connection.execute("PRAGMA application_id")
            if number != APPLICATION:
                if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                    raise StoreError(
                        f"{self._path}: a database of another program, no cache of embeddings. Name another."
                    )
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vector (space BLOB, text BLOB, row BLOB, PRIMARY KEY (space, text)) WITHOUT ROWID"
            )

    def read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, bytes]:
        """The rows there are for ``keys``; of ``dimension`` numbers each, or of any if that is 0."""
        found: dict[bytes, bytes] = {}
        with self._opened() as connection:
            for start in range(0, len(keys), _VARIABLES):
                some = keys[start : start + _VARIABLES]
                marks = ",".join("?" * len(some))
                statement = f"SELECT text, row FROM vector WHERE space = ? AND text IN ({marks})"
                found.update(connection.execute(statement, (self._space, *some)))
        sizes = {len(row) for row in found.values()} | ({4 * dimension} if dimension else set())
        if len(sizes) > 1 or any(size % 4 or not size for size in sizes):
            raise StoreError(
                f"{self._path}: the cache of embeddings holds vectors of different dimensions for one model. Delete it, or "
                "tell the models apart with semantic_model_revision."
            )
        return found

    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Add ``rows``; what another process has added meanwhile stays."""
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            values = ((self._space, key, row) for key, row in rows)
            connection.executemany("INSERT OR IGNORE INTO vector VALUES (?, ?, ?)", values)
            connection.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection for one task: nothing is held open between them, nor carried into a forked process."""
        try:
            connection = sqlite3.connect(self._path, timeout=60, isolation_level=None)
            try:
                connection.execute("PRAGMA synchronous = NORMAL")
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._path}: the cache of embeddings cannot be used: {error}. Name another semantic_cache_path, or "
                "delete the file if it is damaged."
            ) from error
