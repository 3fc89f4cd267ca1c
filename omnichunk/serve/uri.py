"""Addresses of chunks: ``chunk:///docs/guide.md?index=3&revision=…&max_chunk_size=400``.

The path is that below the root, the query what the file was chunked with, so an address can be read at any time; the
revision (the start of the SHA-256 of the text) tells whether the file is still the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from omnichunk import Chunk, OptionError

SCHEME = "chunk"
TEMPLATE = "chunk:///{+path}{?index,revision,max_chunk_size,context_mode,size_unit,tokenizer}"
_REVISION = 16
_NOT_OPTIONS = ("detail", "source_id", "pdf_password")


@dataclass(frozen=True)
class Address:
    """What an address says; ``index`` is ``None`` for all chunks of the file."""

    path: str
    index: int | None = None
    revision: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def of_file(path: str) -> str:
    """The address of all chunks of a file."""
    return f"{SCHEME}:///{quote(path, safe='/', errors='surrogateescape')}"


def made(chunk: Chunk, options: Mapping[str, Any], path: str | None = None) -> str:
    """The address of a chunk that was made with ``options``; secrets and what cannot change it are left out.

    ``path``: of the file below the root, if the chunk calls it by another name.
    """
    shown = [(name, _text(value)) for name, value in options.items() if name not in _NOT_OPTIONS]
    query = [("index", str(chunk.index)), ("revision", chunk.source.revision[:_REVISION]), *shown]
    return f"{of_file(path or chunk.context.filepath)}?{urlencode(query)}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def parsed(address: str, more: Mapping[str, Any], schemas: Mapping[str, Any]) -> Address:
    """What ``address`` says, with the options ``more`` over its own, which ``schemas`` describe.

    Raises OptionError for what is none.
    """
    try:
        parts = urlsplit(address)
        query = dict(
            parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), max_num_fields=50)
        )
    except ValueError:
        raise OptionError("uri: no address of a chunk.") from None
    if parts.scheme != SCHEME or parts.netloc or not parts.path.startswith("/"):
        raise OptionError("uri: no address of a chunk; one begins with chunk:///, followed by a path.")
    index, revision = query.pop("index", None), query.pop("revision", "")
    if index is not None and not (index.isascii() and index.isdigit() and len(index) < 10):
        raise OptionError("uri: index is the number of a chunk, counted from 0.")
    options = {name: _value(value, schemas.get(name, {})) for name, value in query.items()} | dict(more)
    path = unquote(parts.path[1:], errors="surrogateescape")
    return Address(path, None if index is None else int(index), revision, options)


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    """A number, true or false as itself where no string is needed, and everything else as the string it is."""
    if schema.get("type") == "string":
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (bool, int, float)) else text
