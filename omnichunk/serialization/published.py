"""The JSON Schema of what is written, published as a file of the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from omnichunk.model.chunk import Chunk
from omnichunk.serialization.codec import SCHEMA_VERSION, storable

FILE = f"schema/omnichunk-{SCHEMA_VERSION}.schema.json"


def json_schema(kind: type = Chunk) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) that ``to_dict`` of a ``kind``, and each line of JSON Lines, conforms to.

    The file itself, ``omnichunk/schema/omnichunk-1.schema.json``, is that of chunks and has all other types under
    ``$defs``.
    """
    storable(kind, "json_schema()")
    schema: dict[str, Any] = json.loads(_text())
    schema["title"] = kind.__name__
    schema["$ref"] = f"#/$defs/{kind.__name__}"
    return schema


@cache
def _text() -> str:
    return (files("omnichunk") / FILE).read_text(encoding="utf-8")
