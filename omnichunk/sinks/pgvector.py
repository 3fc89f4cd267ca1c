"""PostgreSQL with the extension ``vector``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from omnichunk.errors import StoreError, missing
from omnichunk.sinks import rows
from omnichunk.sinks.point import Point

_WHOLE = ("index", "byte_start", "byte_end", "line_start", "line_end")


class PgvectorSink:
    """Rows of one ``table``, made when the first vector comes; every ``apply`` is one transaction.

    ``url``: a connection string. Columns: those of ``rows.pgvector``. The index for a search by nearness is the owner's
    to choose. Raises StoreError when the extension is not there, or vectors in the table are of another length.
    """

    def __init__(self, url: str, table: str = "chunks") -> None:
        try:
            psycopg = import_module("psycopg")
        except ImportError:
            raise missing("the pgvector sink", "psycopg", "pgvector") from None
        self._pg = psycopg
        try:
            self._connection = psycopg.connect(url, autocommit=True)
        except psycopg.Error as error:
            raise StoreError(f"the pgvector sink: no connection: {' '.join(str(error).split())}") from error
        self._name = table
        self._table = psycopg.sql.Identifier(*table.split("."))
        self._size = self._found()

    def apply(self, removed: Sequence[str], points: Sequence[Point]) -> list[str]:
        """Delete ``removed``, then write ``points``; the ids of those that should keep a vector that is not there."""
        made = [rows.pgvector(point) for point in points]
        fresh = [row for row in made if row["embedding"] is not None]
        kept = [row for row in made if row["embedding"] is None]
        try:
            with self._connection.transaction():
                if fresh:
                    self._make(len(next(p.vector for p in points if p.vector is not None)))
                if not self._size:
                    return [row["id"] for row in kept]
                with self._connection.cursor() as cursor:
                    if removed:
                        cursor.execute(self._sql("DELETE FROM {table} WHERE id = ANY(%s)"), [list(removed)])
                    cursor.executemany(self._insert(), fresh)
                    cursor.executemany(self._update(), kept)
                    asked = self._sql("SELECT id FROM {table} WHERE id = ANY(%s)")
                    there = (
                        {name for (name,) in cursor.execute(asked, [[row["id"] for row in kept]])} if kept else set()
                    )
                    return [row["id"] for row in kept if row["id"] not in there]
        except self._pg.Error as error:
            raise StoreError(f"the pgvector sink: {' '.join(str(error).split())}") from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _sql(self, text: str, **parts: Any) -> Any:
        return self._pg.sql.SQL(text).format(table=self._table, **parts)

    def _columns(self) -> list[str]:
        return ["embedding", "text", *rows.COLUMNS, "metadata"]

    def _insert(self) -> Any:
        sql = self._pg.sql
        names = self._columns()
        return self._sql(
            "INSERT INTO {table} (id, {columns}) VALUES (%(id)s, {values}) ON CONFLICT (id) DO UPDATE SET {renewed}",
            columns=sql.SQL(", ").join(map(sql.Identifier, names)),
            values=sql.SQL(", ").join(map(sql.Placeholder, names)),
            renewed=sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in names),
        )

    def _update(self) -> Any:
        sql = self._pg.sql
        pairs = [(sql.Identifier(name), sql.Placeholder(name)) for name in self._columns() if name != "embedding"]
        renewed = sql.SQL(", ").join(sql.SQL("{} = {}").format(*pair) for pair in pairs)
        return self._sql("UPDATE {table} SET {renewed} WHERE id = %(id)s", renewed=renewed)

    def _found(self) -> int:
        """Numbers in a vector of the table, 0 when there is no table yet."""
        row = self._connection.execute(
            "SELECT atttypmod FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'embedding'",
            [self._table.as_string(self._connection)],
        ).fetchone()
        return row[0] if row else 0

    def _make(self, size: int) -> None:
        if not self._size:
            sql = self._pg.sql
            self._connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            columns = [(name, "bigint" if name in _WHOLE else "text") for name in rows.COLUMNS]
            self._connection.execute(
                self._sql(
                    "CREATE TABLE IF NOT EXISTS {table} (id text PRIMARY KEY, embedding vector({size}) NOT NULL, "
                    "text text NOT NULL, {columns}, metadata jsonb NOT NULL)",
                    size=sql.Literal(size),
                    columns=sql.SQL(", ").join(
                        sql.SQL("{} {} NOT NULL").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in columns
                    ),
                )
            )
            self._size = self._found()
        if self._size != size:
            raise StoreError(
                f"pgvector: the table {self._name} holds vectors of {self._size} numbers, and these have {size}. "
                "Name another table for another embedding model."
            )
