"""The sinks that come with the package, each imported when it is opened."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from omnichunk.errors import OptionError
from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Sink
from omnichunk.sinks import rows


def _open_lancedb(url: str, **options: Any) -> Any:
    return import_module("omnichunk.sinks.lance").LanceSink(url, **options)


def _open_qdrant(url: str, **options: Any) -> Any:
    return import_module("omnichunk.sinks.qdrant").QdrantSink(url, **options)


def _open_chroma(url: str, **options: Any) -> Any:
    return import_module("omnichunk.sinks.chroma").ChromaSink(url, **options)


def _open_pgvector(url: str, **options: Any) -> Any:
    return import_module("omnichunk.sinks.pgvector").PgvectorSink(url, **options)


def _rows_only(url: str, **options: Any) -> Any:
    raise OptionError(
        "pinecone and weaviate: only rows are made for these. Write those of Chunker.stream_upsert() with their own client."
    )


@hookimpl
def omnichunk_sinks() -> Iterable[Sink]:
    """The embedded and self-hosted databases, and rows for hosted ones."""
    return [
        Sink("lancedb", _open_lancedb, rows.lancedb),
        Sink("qdrant", _open_qdrant, rows.qdrant),
        Sink("chroma", _open_chroma, rows.chroma),
        Sink("pgvector", _open_pgvector, rows.pgvector),
        Sink("pinecone", _rows_only, rows.pinecone),
        Sink("weaviate", _rows_only, rows.weaviate),
    ]
