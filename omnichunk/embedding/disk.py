"""Vectors in a file, for the next process and for others at the same time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256

from omnichunk.embedding.vectors import numpy
from omnichunk.errors import StoreError

APPLICATION = 0x6F6D6E76  # "omnv", in the header of the file
_VARIABLES = 500  # keys that one statement asks for
_LENGTH = 1e-3  # by which the square of a length may differ from 1


class Disk:
    """The vectors of one ``identity`` in the cache file ``path``.

    The file is SQLite; it only grows, and may be deleted at any time. Raises StoreError when it is damaged, of another
    program, or cannot be written.
    """

    def __init__(self, path: str, identity: str) -> None:
        self._path = os.path.abspath(path)  # the same file whatever becomes the working directory
        self._space = sha256(identity.encode("utf-8", "surrogatepass")).digest()[:16]

    def read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, bytes]:
        """The rows there are for ``keys``; of ``dimension`` numbers each, or of any if that is 0."""
        found: dict[bytes, bytes] = {}
        with self._opened() as connection:
            for start in range(0, len(keys), _VARIABLES):
                some = keys[start : start + _VARIABLES]
                marks = ",".join("?" * len(some))
                statement = f"SELECT text, row FROM vector WHERE space = ? AND text IN ({marks})"
                found.update(connection.execute(statement, (self._space, *some)))
        self._check(list(found.values()), dimension)
        return found

    def _check(self, rows: Sequence[bytes], dimension: int) -> None:
        if not all(isinstance(row, bytes) and row and not len(row) % 4 for row in rows):
            raise self._damaged("what is stored are no vectors")
        if len({len(row) for row in rows} | ({4 * dimension} if dimension else set())) > 1:
            raise StoreError(
                f"{self._path}: the cache of embeddings holds vectors of different dimensions for one model. Delete it, or "
                "tell the models apart with semantic_model_revision."
            )
        if rows:
            np = numpy()
            table = np.frombuffer(b"".join(rows), np.float32).reshape(len(rows), -1)
            squares = np.einsum("ij,ij->i", table, table)
            if not ((squares == 0) | (np.abs(squares - 1) < _LENGTH)).all():
                raise self._damaged("a vector is not as long as all are")

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
                ((number,),) = connection.execute("PRAGMA application_id")
                if number != APPLICATION:
                    self._prepare(connection)
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise self._damaged(str(error)) from error

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make a new file a cache."""
        connection.execute("BEGIN IMMEDIATE")
        ((number,),) = connection.execute("PRAGMA application_id")
        if number != APPLICATION:  # nobody else has made it meanwhile
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise StoreError(f"{self._path}: a database of another program, no cache of embeddings. Name another.")
            connection.execute(
                "CREATE TABLE vector (space BLOB, text BLOB, row BLOB, PRIMARY KEY (space, text)) WITHOUT ROWID"
            )
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("COMMIT")

    def _damaged(self, why: str) -> StoreError:
        return StoreError(
            f"{self._path}: the cache of embeddings cannot be used: {why}. Name another semantic_cache_path, or delete the "
            "file if it is damaged."
        )
