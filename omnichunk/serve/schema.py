"""The part of JSON Schema the methods are described in, and the check of arguments against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin, get_type_hints

from omnichunk import ChunkOptions, OptionError

Schema = dict[str, Any]
LARGEST = 10**9
"""No number of an option is larger; beyond it arithmetic on sizes has no meaning."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,), "object": (dict,),
}  # fmt: skip
_NAME = {"type": "string", "minLength": 1, "maxLength": 200}
_FROM_AFAR = (
    "max_chunk_size", "min_chunk_size", "size_unit", "tokenizer", "coverage_policy", "overflow_policy",
    "context_overflow", "context_mode", "algorithm_version", "target_fill", "overlap", "overlap_lines", "include_imports",
    "sibling_detail", "language", "source_id", "renderer", "loader", "preserve_decorators", "preserve_comments",
    "include_header_in_sections",
)  # fmt: skip
"""Options that clients may choose. Others, also those to come, are the host's: they may name files or run code."""


def string(about: str, **more: Any) -> Schema:
    """A string of at most 4,096 characters."""
    return {"type": "string", "maxLength": 4096, **more, "description": about}


def whole(about: str, least: int = 0, most: int = LARGEST, **more: Any) -> Schema:
    """A whole number."""
    return {"type": "integer", "minimum": least, "maximum": most, **more, "description": about}


def patterns(about: str, **more: Any) -> Schema:
    """One pattern or several."""
    one = {"type": "string", "maxLength": 4096}
    return {"anyOf": [one, {"type": "array", "items": one, "maxItems": 100}], **more, "description": about}


def object_of(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """An object of these properties and no others."""
    return {
        "type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False,
    }  # fmt: skip


def option_schemas(loader_options: Mapping[str, object]) -> dict[str, Schema]:
    """The options of a chunker that may be given from afar, those of loaders included.

    ``tokenizer`` is a name only: a path would be read outside of the roots. Of loaders come switches, numbers and
    passwords, since another string may be a path.
    """
    defaults, hints = ChunkOptions(), get_type_hints(ChunkOptions)
    schemas: dict[str, Schema] = {}
    for field in (field for field in fields(ChunkOptions) if field.name in _FROM_AFAR):
        default = getattr(defaults, field.name)
        if get_origin(hints[field.name]) is Literal:
            schemas[field.name] = {"type": "string", "enum": list(get_args(hints[field.name])), "default": default}
        elif field.name == "tokenizer":
            schemas[field.name] = {**_NAME, "pattern": r"^[\w.:+-]+(?<!\.json)$(?!\n)"}
        elif field.name == "overlap":
            schemas[field.name] = {"type": "number", "minimum": 0, "maximum": LARGEST, "default": 0}
        else:
            schemas[field.name] = _of_value(default)
    return schemas | {
        name: _of_value(default)
        for name, default in loader_options.items()
        if isinstance(default, (bool, int, float)) or name.endswith("password")
    }


def _of_value(default: object) -> Schema:
    if isinstance(default, bool):
        return {"type": "boolean", "default": default}
    if isinstance(default, int):
        return {"type": "integer", "minimum": 0, "maximum": LARGEST, "default": int(default)}
    if isinstance(default, float):
        return {"type": "number", "minimum": 0, "maximum": LARGEST, "default": default}
    return {**_NAME, "default": default, "minLength": 0} if isinstance(default, str) else dict(_NAME)


def check(what: str, value: object, schema: Schema) -> None:
    """Raise OptionError for the first thing in ``value`` that ``schema`` does not allow; it is called ``what``."""
    wrong = next(_wrong(what, value, schema), None)
    if wrong is not None:
        raise OptionError(wrong)


def _wrong(what: str, value: Any, schema: Schema) -> Iterator[str]:
    """What is wrong, without repeating strings that a client sent."""
    if "anyOf" in schema:
        if all(any(_wrong(what, value, one)) for one in schema["anyOf"]):
            yield f"{what}: {' or '.join(_needed(one) for one in schema['anyOf'])} is needed."
        return
    kind = schema.get("type")
    if kind is not None and (
        not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind in ("integer", "number"))
    ):
        yield f"{what}: {_needed(schema)} is needed, not {_called(value)}."
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{what}: one of {', '.join(schema['enum'])} is needed."
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        least, most = schema.get("minimum", -LARGEST), schema.get("maximum", LARGEST)
        if not least <= value <= most:  # NaN is not, either
            yield f"{what}: a number from {least} to {most} is needed."
    if isinstance(value, str):
        yield from _wrong_string(what, value, schema)
    if isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            yield f"{what}: at most {schema['maxItems']} are taken."
        for number, item in enumerate(value):
            yield from _wrong(f"{what}[{number}]", item, schema.get("items", {}))
    if isinstance(value, dict) and "properties" in schema:
        yield from _wrong_object(what, value, schema)


def _wrong_string(what: str, value: str, schema: Schema) -> Iterator[str]:
    import re

    least, most = schema.get("minLength", 0), schema.get("maxLength", len(value))
    if not least <= len(value) <= most:
        yield f"{what}: a string of {least} to {most} characters is needed."
    elif "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{what}: a plain name is needed; files are not read for clients."


def _wrong_object(what: str, value: dict[str, Any], schema: Schema) -> Iterator[str]:
    known = schema["properties"]
    for name in schema.get("required", ()):
        if name not in value:
            yield f'{what}: "{name}" is missing.'
    for name, item in value.items():
        if name in known:
            yield from _wrong(f"{what}: {name}", item, known[name])
        else:
            close = get_close_matches(name[:100], known, n=1, cutoff=0.6)
            hint = f'; did you mean "{close[0]}"?' if close else f"; there are {', '.join(sorted(known)[:8])} …"
            yield f"{what}: unknown parameter {name[:100]!r}{hint}"


def _needed(schema: Schema) -> str:
    named = {"integer": "a whole number", "array": "a list", "object": "an object", "boolean": "true or false"}
    return named.get(schema["type"], f"a {schema['type']}")


def _called(value: object) -> str:
    if value is None:
        return "null"
    return next((name for name, types in _TYPES.items() if type(value) in types), type(value).__name__)
