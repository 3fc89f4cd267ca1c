"""Public values <-> versioned dicts of plain values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, cast

from omnichunk.collect import PluginInfo
from omnichunk.errors import SchemaError
from omnichunk.identity import ChunkDiff
from omnichunk.model.chunk import (
    ByteRange,
    Chunk,
    ChunkContext,
    ChunkResult,
    EntityInfo,
    FileResult,
    ImportInfo,
    LineRange,
    Location,
    SegmentInfo,
    SiblingInfo,
)
from omnichunk.model.document import Block, FormatSegment, LoadedDocument, SourceDescriptor
from omnichunk.model.options import ChunkOptions, is_default_minimum
from omnichunk.serialization import convert
from omnichunk.serialization.foreign import plain
from omnichunk.sizing import estimate, nws
from omnichunk.walk import Entry

SCHEMA_VERSION = 1
"""Raised when what is written could be misread by code that knows the version before."""

KINDS: frozenset[Any] = frozenset(
    (Block, ByteRange, Chunk, ChunkContext, ChunkDiff, ChunkOptions, ChunkResult, EntityInfo, Entry, FileResult,
     FormatSegment, ImportInfo, LineRange, LoadedDocument, Location, PluginInfo, SegmentInfo, SiblingInfo,
     SourceDescriptor)
)  # fmt: skip
"""The types that can be stored."""

T = TypeVar("T")


def to_dict(value: Any) -> dict[str, Any]:
    """``value``, of a type in ``KINDS``, as plain values: ``schema_version`` and one entry a field, nested values alike.

    Metadata that JSON has no form for is marked, see ``foreign``; objects it does not know stay what they are, so that
    ``json.dumps`` refuses them or asks its ``default``. Of ``ChunkOptions``, passwords are left out. Raises TypeError
    for a value of another type, SchemaError for options that hold an object or callable.
    """
    return {"schema_version": SCHEMA_VERSION, **_writer(storable(type(value), "to_dict()"))(value)}


def from_dict(kind: type[T], data: Mapping[str, Any]) -> T:
    """The value of type ``kind`` that ``to_dict`` was given, also when its answer went through JSON.

    Without ``schema_version`` the data is of the time before there was one. Fields that are missing have their
    defaults, and what is no field is passed over. Raises SchemaError, a ValueError, that names a version this code does
    not read or the field that is wrong.
    """
    read = _reader(storable(kind, "from_dict()"))
    if isinstance(data, Mapping) and "schema_version" in data:
        check_version(data["schema_version"])
    return cast(T, read(data))


def chunk_to_dict(chunk: Chunk) -> dict[str, Any]:
    """``to_dict`` of a chunk."""
    return {"schema_version": SCHEMA_VERSION, **_writer(Chunk)(chunk)}


def chunk_from_dict(data: Mapping[str, Any]) -> Chunk:
    """``from_dict`` of a chunk.

    What chunks did not carry from the beginning may be missing: the rendered payload is then the text, the source
    is called by the file path, counts are made or, of tokens, estimated.
    """
    return from_dict(Chunk, data)


def storable(kind: Any, where: str) -> Any:
    """``kind`` if it is in ``KINDS``; else TypeError, which says ``where`` it was given."""
    if kind not in KINDS:
        known = ", ".join(sorted(k.__name__ for k in KINDS))
        raise TypeError(f"{where}: {getattr(kind, '__name__', kind)} is none of {known}.")
    return kind


def check_version(version: object) -> None:
    """Raise SchemaError unless ``version`` is one this code reads."""
    if type(version) is not int or version != SCHEMA_VERSION:
        raise SchemaError(
            f"schema_version={version!r:.60} is not supported; this version of omnichunk reads {SCHEMA_VERSION} and data "
            "without one."
        )


@cache
def _writer(kind: Any) -> convert.Convert:
    return _options_written if kind is ChunkOptions else convert.writer(kind, KINDS, _writer)


@cache
def _reader(kind: Any) -> convert.Convert:
    read = convert.reader(kind, KINDS, _reader)
    return (lambda data: read(_completed(data) if _lacks(data) else data)) if kind is Chunk else read


# -- options -----------------------------------------------------------------------------------------------------------


def _options_written(options: ChunkOptions) -> dict[str, Any]:
    """An option nobody chose a value for, the minimum that follows the maximum, is left out, and so are passwords."""
    made: dict[str, Any] = {}
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name == "min_chunk_size" and is_default_minimum(value):
            continue
        if field.name == "loader_options":
            value = {name: item for name, item in value.items() if not name.endswith("password")}
        elif isinstance(value, os.PathLike):
            value = os.fspath(value)
        made[field.name] = plain(list(value) if isinstance(value, tuple) else value)
        _refuse_objects(field.name, made[field.name])
    return made


def _refuse_objects(name: str, value: Any) -> None:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (dict, list)):
            waiting.extend(part.values() if isinstance(part, dict) else part)
        elif part is not None and not isinstance(part, (str, int, float)):
            raise SchemaError(f"ChunkOptions.{name}: {part!r:.80} cannot be stored. Give it by name or path.")


# -- chunks of the time before there were versions ---------------------------------------------------------------------

_DERIVED = frozenset(
    ("contextualized_text", "index", "total_chunks", "context", "token_count", "char_count", "nws_count", "source")
)


def _lacks(data: Any) -> bool:
    if not isinstance(data, Mapping) or not data.keys() >= _DERIVED:
        return isinstance(data, Mapping)
    source = data["source"]
    return not isinstance(source, Mapping) or "source_id" not in source or "revision" not in source


def _completed(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """``data`` with what can be told from the text and the context where it was not stored."""
    text, context, source = data.get("text"), data.get("context"), data.get("source")
    if not isinstance(text, str):
        return data
    label = context.get("filepath", "") if isinstance(context, Mapping) else ""
    told = {
        "contextualized_text": text,
        "index": 0,
        "total_chunks": -1,
        "context": {},
        "token_count": estimate(text),
        "char_count": len(text),
        "nws_count": nws(text),
        **{name: value for name, value in data.items() if value is not None},
    }
    if source is None or isinstance(source, Mapping):
        told["source"] = {"source_id": label, "revision": "", **(source or {})}
    return told
