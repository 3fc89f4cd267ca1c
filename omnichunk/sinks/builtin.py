"""The sinks that come with the package, each imported when it is opened."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any

from omnichunk.errors import OptionError, UnknownOptionError, suggestion
from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Sink
from omnichunk.sinks import rows


def _open(module: str, kind: str, url: str, **options: Any) -> Any:
    """The sink ``kind`` of a module here. Raises UnknownOptionError for an option it does not have."""
    make = getattr(import_module(f"omnichunk.sinks.{module}"), kind)
    known = signature(make).parameters
    for name in options:
        if name not in known and "client" not in known:
            raise UnknownOptionError(f'{kind}: there is no option "{name}"{suggestion(name, list(known)[1:])}')
    return make(url, **options)


def _rows_only(url: str, **options: Any) -> Any:
    raise OptionError(
        "pinecone and weaviate: only rows are made for these. Write those of Chunker.stream_upsert() with their own client."
    )


@hookimpl
def omnichunk_sinks() -> Iterable[Sink]:
    """The embedded and self-hosted databases, and rows for hosted ones."""
    return [
        Sink("lancedb", partial(_open, "lance", "LanceSink"), rows.lancedb),
        Sink("qdrant", partial(_open, "qdrant", "QdrantSink"), rows.qdrant),
        Sink("chroma", partial(_open, "chroma", "ChromaSink"), rows.chroma),
        Sink("pgvector", partial(_open, "pgvector", "PgvectorSink"), rows.pgvector),
        Sink("pinecone", _rows_only, rows.pinecone),
        Sink("weaviate", _rows_only, rows.weaviate),
    ]
