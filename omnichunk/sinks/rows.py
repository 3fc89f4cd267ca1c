"""Points in the words of each database, as its client takes them."""

from __future__ import annotations

from typing import Any

from omnichunk.sinks.point import Point, clean, metadata, uuid_of


def pinecone(point: Point) -> dict[str, Any]:
    """``id``, ``values``, ``metadata``: an item of ``Index.upsert(vectors=…)``."""
    return {"id": point.id, "values": point.vector, "metadata": {**metadata(point.chunk), "text": _text(point)}}


def qdrant(point: Point) -> dict[str, Any]:
    """``id`` (a UUID made of the chunk's), ``vector``, ``payload``: the fields of a ``PointStruct``."""
    payload = {**metadata(point.chunk), "chunk_id": point.id, "text": _text(point)}
    return {"id": uuid_of(point.id), "vector": point.vector, "payload": payload}


def weaviate(point: Point) -> dict[str, Any]:
    """``uuid`` (made of the chunk's id), ``vector``, ``properties``: what ``batch.add_object`` takes."""
    properties = {**metadata(point.chunk), "chunk_id": point.id, "text": _text(point)}
    return {"uuid": uuid_of(point.id), "vector": point.vector, "properties": properties}


def chroma(point: Point) -> dict[str, Any]:
    """``id``, ``embedding``, ``document``, ``metadata``: a row of what ``Collection.upsert`` takes in columns."""
    return {
        "id": point.id,
        "embedding": point.vector,
        "document": _text(point),
        "metadata": metadata(point.chunk),
    }


COLUMNS = ("source_id", "revision", "fingerprint", "filepath", "language", "content_type", "breadcrumb", "index",
           "byte_start", "byte_end", "line_start", "line_end")  # fmt: skip
"""What is a column of its own in a table; everything else that is known stands in the column ``metadata``."""


def lancedb(point: Point) -> dict[str, Any]:
    """``id``, ``vector``, ``text`` and ``COLUMNS``; ``metadata``, the position in a container, as JSON."""
    import json

    said = metadata(point.chunk)
    columns = {name: said.pop(name) for name in COLUMNS}
    return {"id": point.id, "vector": point.vector, "text": _text(point), **columns, "metadata": json.dumps(said)}


def pgvector(point: Point) -> dict[str, Any]:
    """``id``, ``embedding`` (as pgvector writes it), ``text`` and ``COLUMNS``; ``metadata`` as JSON."""
    row = lancedb(point)
    vector = row.pop("vector")
    return {**row, "embedding": None if vector is None else f"[{','.join(map(repr, vector))}]"}


def _text(point: Point) -> str:
    return clean(point.chunk.text)
