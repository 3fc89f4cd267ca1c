"""Chunk <-> versioned dict of plain values, fit for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from omnichunk.identity import chunk_embedding_fingerprint as chunk_embedding_fingerprint
from omnichunk.model.chunk import (
    ByteRange,
    Chunk,
    ChunkContext,
    EntityInfo,
    ImportInfo,
    LineRange,
    SegmentInfo,
    SiblingInfo,
)
from omnichunk.model.document import SourceDescriptor

SCHEMA_VERSION = 1


def chunk_to_dict(chunk: Chunk) -> dict[str, Any]:
    """``chunk`` as plain values: ``schema_version`` and one entry a field, nested values alike.

    ``metadata`` and ``format_metadata`` are copied as they are; what a loader puts there is its own affair. Written out
    field by field because `dataclasses.asdict` takes ten times as long, more than it takes to make the chunk.
    """
    source = chunk.source
    return {
        "schema_version": SCHEMA_VERSION,
        "text": chunk.text,
        "contextualized_text": chunk.contextualized_text,
        "byte_range": _range(chunk.byte_range),
        "line_range": _range(chunk.line_range),
        "index": chunk.index,
        "total_chunks": chunk.total_chunks,
        "context": _context(chunk.context),
        "token_count": chunk.token_count,
        "char_count": chunk.char_count,
        "nws_count": chunk.nws_count,
        "source": {
            "source_id": source.source_id,
            "revision": source.revision,
            "encoding": source.encoding,
            "normalization": source.normalization,
            "format_name": source.format_name,
            "metadata": dict(source.metadata),
        },
        "config_fingerprint": chunk.config_fingerprint,
        "occurrence": chunk.occurrence,
        "metadata": dict(chunk.metadata),
    }


def chunk_from_dict(data: Mapping[str, Any]) -> Chunk:
    """The chunk that ``chunk_to_dict`` was given, also when its answer went through JSON.

    Without ``schema_version`` the dict is of the time before there was one: fields it lacks have their defaults. Raises
    ValueError naming a version this code does not know, and for data that is no chunk.
    """
    version = data.get("schema_version", SCHEMA_VERSION)
    if type(version) is not int or version != SCHEMA_VERSION:
        raise ValueError(
            f"schema_version={version!r} is not supported; this version of omnichunk reads {SCHEMA_VERSION} and "
            "chunks without one."
        )
    values = dict(data)
    values["byte_range"] = _made(ByteRange, values.get("byte_range"))
    values["line_range"] = _made(LineRange, values.get("line_range"))
    values["context"] = _context_from(values.get("context") or {})
    label = values["context"].filepath
    values["source"] = _made(SourceDescriptor, {"source_id": label, "revision": "", **(values.get("source") or {})})
    chunk: Chunk = _made(Chunk, values)
    return chunk


def _range(of: ByteRange | LineRange) -> dict[str, int]:
    return {"start": of.start, "end": of.end}


def _entity(entity: EntityInfo) -> dict[str, Any]:
    return {
        "name": entity.name,
        "type": entity.type,
        "signature": entity.signature,
        "docstring": entity.docstring,
        "byte_range": None if entity.byte_range is None else _range(entity.byte_range),
        "line_range": None if entity.line_range is None else _range(entity.line_range),
        "is_partial": entity.is_partial,
        "parent": entity.parent,
    }


def _context(context: ChunkContext) -> dict[str, Any]:
    return {
        "filepath": context.filepath,
        "language": context.language,
        "content_type": context.content_type,
        "scope": [_entity(e) for e in context.scope],
        "breadcrumb": list(context.breadcrumb),
        "entities": [_entity(e) for e in context.entities],
        "siblings": [
            {"name": s.name, "type": s.type, "position": s.position, "distance": s.distance} for s in context.siblings
        ],
        "imports": [{"name": i.name, "source": i.source} for i in context.imports],
        "heading_hierarchy": list(context.heading_hierarchy),
        "section_type": context.section_type,
        "table_header": context.table_header,
        "parse_errors": list(context.parse_errors),
        "format_metadata": dict(context.format_metadata),
        "segments": [
            {"byte_range": _range(s.byte_range), "before": s.before, "metadata": dict(s.metadata)}
            for s in context.segments
        ],
    }


def _context_from(data: Mapping[str, Any]) -> ChunkContext:
    values = dict(data)
    for name in ("scope", "entities"):
        values[name] = tuple(_entity_from(e) for e in values.get(name) or ())
    values["siblings"] = tuple(_made(SiblingInfo, s) for s in values.get("siblings") or ())
    values["imports"] = tuple(_made(ImportInfo, i) for i in values.get("imports") or ())
    values["segments"] = tuple(
        _made(SegmentInfo, {**s, "byte_range": _made(ByteRange, s.get("byte_range"))})
        for s in values.get("segments") or ()
    )
    for name in ("breadcrumb", "heading_hierarchy", "parse_errors"):
        values[name] = tuple(values.get(name) or ())
    context: ChunkContext = _made(ChunkContext, values)
    return context


def _entity_from(data: Mapping[str, Any]) -> EntityInfo:
    values = dict(data)
    for name, kind in (("byte_range", ByteRange), ("line_range", LineRange)):
        if values.get(name) is not None:
            values[name] = _made(kind, values[name])
    entity: EntityInfo = _made(EntityInfo, values)
    return entity


def _made(kind: Any, data: Any) -> Any:
    """A ``kind`` from its fields in ``data``; ValueError when one without a default is missing."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{kind.__name__}: an object with its fields is needed, not {type(data).__name__}.")
    if kind in (ByteRange, LineRange):
        if not {"start", "end"} <= set(data):
            raise ValueError(f"{kind.__name__}: start and end are needed.")
        return kind(data["start"], data["end"])
    known = fields(kind)
    lacking = [f.name for f in known if f.name not in data and f.default is MISSING and f.default_factory is MISSING]
    if lacking:
        raise ValueError(f"{kind.__name__}: the field {lacking[0]} is missing.")
    return kind(**{f.name: data[f.name] for f in known if f.name in data})
