"""Chunks as rows: what is written of a file is made where its chunks were made, so that workers share that, too."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from omnichunk import (
    Chunk,
    FileResult,
    StoreError,
    chunk_embedding_fingerprint,
    chunk_from_dict,
    chunk_to_dict,
    stable_chunk_id,
)
from omnichunk.store.words import mark, marks, parts, words

_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).encode


class Row(NamedTuple):
    """A chunk in the database.

    ``place``: where it is, as `ChunkDiff.moved` compares it. ``digest``: of everything but text and payload; it tells
    whether the place or the context of a chunk has changed.
    ``text``: the slice, with U+FFFD for NUL, which PostgreSQL has no form for. ``record``: all the rest that is not the
    same in all chunks of the file, as JSON.
    """

    position: int
    chunk_id: str
    fingerprint: str
    place: str
    digest: str
    language: str
    text: str
    record: str


class Words(NamedTuple):
    """What the full-text index holds of a chunk: its words, the parts of its names, and where it stands.

    ``within``: marks of its language, its file and the folders above.
    """

    text: list[str]
    names: list[str]
    place: list[str]
    within: list[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a sync needs of one file. ``hash`` and ``stamp`` are of the file as it is after it was chunked."""

    path: str
    outcome: str
    error: str = ""
    hash: str = ""
    stamp: str = ""
    source_id: str = ""
    revision: str = ""
    format: str = ""
    size: int = 0
    shared: str = "{}"
    rows: tuple[Row, ...] = ()
    words: tuple[Words, ...] = ()
    diagnostics: tuple[str, ...] = ()


def outcome(result: FileResult) -> Outcome:
    """``result`` as it is written; called in the worker that made it."""
    if result.outcome != "ok":
        return Outcome(result.filepath, result.outcome, result.error or "")
    try:
        stamp, digest = stamp_of(os.stat(result.filepath)), hash_of(result.filepath)
    except OSError:
        stamp = digest = ""  # it has gone meanwhile: the next sync sees that
    source = result.chunks[0].source if result.chunks else None
    shared, rows = rows_of(result.chunks)
    return Outcome(
        result.filepath,
        "ok",
        "",
        digest,
        stamp,
        source.source_id if source else "",
        source.revision if source else "",
        source.format_name if source else "",
        result.size,
        shared,
        rows,
        tuple(words_of(chunk, result.filepath) for chunk in result.chunks),
        result.diagnostics,
    )


def rows_of(chunks: Sequence[Chunk]) -> tuple[str, tuple[Row, ...]]:
    """The chunks of a file as rows, and what is said of it once, as JSON: what the first and the last have in common.

    Raises StoreError for metadata that JSON has no form for.
    """
    if not chunks:
        return "{}", ()
    try:
        told = [_told(chunk) for chunk in chunks]
        first, last = told[0], told[-1]
        common = {**_common(first, last), "context": _common(first["context"], last["context"])}
        for sometimes in ("head", "payload", "text"):
            common.pop(sometimes, None)
        shared = _encode(common)
        return shared, tuple(_row(chunk, data, common, shared) for chunk, data in zip(chunks, told))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"{chunks[0].context.filepath}: its metadata cannot be stored: {error}.") from None


def _told(chunk: Chunk) -> dict[str, Any]:
    """Everything of ``chunk`` but its text, which has a column, and the part of its payload that is the text."""
    data = chunk_to_dict(chunk)
    text, shown = data["text"], data.pop("contextualized_text")
    if shown.endswith(text):
        data["head"] = shown[: len(shown) - len(text)]
    else:
        data["payload"] = shown
    if "\0" not in text:
        del data["text"]
    return data


def _row(chunk: Chunk, data: dict[str, Any], common: dict[str, Any], shared: str) -> Row:
    context = _beyond(data["context"], common["context"])
    record = _encode({**_beyond(data, common), "context": context})
    place = ":".join(map(str, (*chunk.byte_range, *chunk.line_range)))
    if chunk.source.normalization == "extracted":
        place += f":{digest_of(_encode([data['context']['format_metadata'], data['context']['segments']]))}"
    return Row(
        chunk.index,
        stable_chunk_id(chunk),
        chunk_embedding_fingerprint(chunk),
        place,
        digest_of(record, shared),
        encodable(chunk.context.language),
        chunk.text.replace("\0", "\ufffd"),
        record,
    )


def _common(data: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    lacking = object()
    return {name: value for name, value in data.items() if other.get(name, lacking) == value}


def _beyond(data: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    lacking = object()
    return {name: value for name, value in data.items() if common.get(name, lacking) != value}


def chunk_of(text: str, record: str, shared: str) -> Chunk:
    """The chunk that a row was made of. Raises StoreError when it is damaged."""
    try:
        common, data = json.loads(shared), json.loads(record)
        data = {**common, **data, "context": {**common["context"], **data["context"]}}
        text = data.setdefault("text", text)
        head = data.pop("head", None)
        data["contextualized_text"] = data.pop("payload") if head is None else head + text
        return chunk_from_dict(data)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"the store holds a chunk that cannot be read: {error}") from error


def digest_of(record: str, shared: str = "") -> str:
    """128 bits that tell one record, and what goes with it, from another."""
    return hashlib.blake2b(f"{record}\n{shared}".encode(), digest_size=16).hexdigest()


def words_of(chunk: Chunk, path: str) -> Words:
    """What the full-text index holds of ``chunk``, whose file is ``path``."""
    context = chunk.context
    tail = " ".join(context.filepath.replace("\\", "/").split("/")[-2:])
    said = " ".join((tail, *context.breadcrumb))
    within = [mark(encodable(context.language).encode()), *marks(path)]
    return Words(words(chunk.text), parts(chunk.text), [*words(said), *parts(said)], within)


def stamp_of(status: os.stat_result) -> str:
    """What changes whenever a file is written to: size, times of change of contents and of the entry, and its number."""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"


def hash_of(path: str) -> str:
    """SHA-256, hexadecimal, of the bytes of a file. Raises OSError."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def encodable(text: str) -> str:
    """``text`` as a key in the database: a file name that is no UTF-8 in a form of its own, anything else as it is."""
    try:
        if "\0" not in text:
            text.encode()
            return text
        held = text.encode("utf-8", "surrogatepass")
    except UnicodeEncodeError:
        try:
            held = os.fsencode(text)
        except UnicodeEncodeError:  # no file name either
            held = text.encode("utf-8", "surrogatepass")
    return "bytes:" + quote_from_bytes(held)


def decoded(key: str) -> str:
    """The path whose key is ``key``."""
    return os.fsdecode(unquote_to_bytes(key[6:])) if key.startswith("bytes:") else key
