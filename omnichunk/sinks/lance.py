"""LanceDB, in a folder of this machine or any other place its client reads."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from omnichunk.errors import StoreError, missing
from omnichunk.sinks import rows
from omnichunk.sinks.point import Point


class LanceSink:
    """Rows of one ``table``, made when the first vector comes.

    Columns: those of ``rows.lancedb``. Raises StoreError when the vectors in the table are of another length.
    """

    def __init__(self, url: str, table: str = "chunks") -> None:
        try:
            lancedb, pyarrow = import_module("lancedb"), import_module("pyarrow")
        except ImportError:
            raise missing("the lancedb sink", "lancedb", "lancedb") from None
        self._arrow = pyarrow
        self._url = url
        self._name = table
        self._database = lancedb.connect(url)
        there = table in self._database.list_tables().tables
        self._table: Any = self._database.open_table(table) if there else None

    def apply(self, removed: Sequence[str], points: Sequence[Point]) -> list[str]:
        """Delete ``removed``, then write ``points``; the ids of those that should keep a vector that is not there."""
        if removed and self._table is not None:
            self._table.delete(_among(removed))
        made = [rows.lancedb(point) for point in points]
        made = self._with_vectors(made)
        lost = [row["id"] for row in made if row["vector"] is None]
        made = [row for row in made if row["vector"] is not None]
        if not made:
            return lost
        size = len(made[0]["vector"])
        schema = self._schema(size)
        if self._table is None:
            self._table = self._database.create_table(self._name, schema=schema, exist_ok=True)
        there = self._table.schema.field("vector").type.list_size
        if there != size:
            raise StoreError(
                f"lancedb:{self._url}: the table {self._name} holds vectors of {there} numbers, and these have {size}. "
                "Name another table for another embedding model."
            )
        data = self._arrow.Table.from_pylist(made, schema=schema)
        self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(data)
        return lost

    def close(self) -> None:
        """Join the small files that many batches leave."""
        if self._table is not None:
            self._table.optimize()
            self._table = None

    def _with_vectors(self, made: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """``made`` with the vectors of the table where they have none and it has one."""
        wanted = [row["id"] for row in made if row["vector"] is None]
        found: dict[str, list[float]] = {}
        if wanted and self._table is not None:
            query = self._table.search().where(_among(wanted)).select(["id", "vector"]).limit(len(wanted))
            found = {row["id"]: row["vector"] for row in query.to_list()}
        return [row if row["vector"] is not None else {**row, "vector": found.get(row["id"])} for row in made]

    def _schema(self, size: int) -> Any:
        arrow = self._arrow
        columns = {name: arrow.string() for name in ("id", "text", *rows.COLUMNS, "metadata")}
        columns.update(dict.fromkeys(("index", "byte_start", "byte_end", "line_start", "line_end"), arrow.int64()))
        return arrow.schema([("vector", arrow.list_(arrow.float32(), size)), *columns.items()])


def _among(ids: Sequence[str]) -> str:
    quoted = ", ".join("'" + identifier.replace("'", "''") + "'" for identifier in ids)
    return f"id IN ({quoted})"
