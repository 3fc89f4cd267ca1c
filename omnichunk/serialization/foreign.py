"""Metadata of loaders, which may be anything, as JSON, and back to what it was.

JSON's own values stay as they are. What it has no form for becomes an object with one key that begins with ``$``:

    (1, 2)                  {"$tuple": [1, 2]}
    {3}                     {"$set": [3]}            {"$frozenset": [3]}
    b"\\0"                   {"$bytes": "AA=="}       base64
    date(2024, 1, 31)       {"$date": "2024-01-31"}  also $datetime, $time
    Decimal("1.50")         {"$decimal": "1.50"}
    inf                     {"$float": "inf"}        also nan
    {4: "x"}                {"$map": [[4, "x"]]}     keys that are no strings, or one key that begins with $

Numbers and strings of other types (an enum, a NumPy scalar) become those they equal.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from numbers import Integral, Rational, Real
from typing import Any

from omnichunk.errors import SchemaError

_AS_IT_IS = frozenset((str, int, bool, type(None)))
_KEYS = frozenset((str,))


def plain(value: Any) -> Any:
    """``value`` in JSON's own types; a part of another type stays what it is, for the encoder to refuse."""
    try:
        return _plain(value)
    except RecursionError:
        raise SchemaError("the metadata is nested too deeply, or contains itself.") from None


def restored(value: Any) -> Any:
    """What ``plain`` was given, from what it gave. Raises SchemaError for a marked value that cannot be read."""
    try:
        return _restored(value)
    except RecursionError:
        raise SchemaError("the metadata is nested too deeply.") from None


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind is float:
        return _number(value)
    if kind is list:
        return [_plain(item) for item in value]
    if kind is dict or isinstance(value, Mapping):
        if set(map(type, value)) <= _KEYS and _tag(value) is None:
            if set(map(type, value.values())) <= _AS_IT_IS:
                return dict(value)
            return {key: _plain(item) for key, item in value.items()}
        return {"$map": [[_plain(key), _plain(item)] for key, item in value.items()]}
    for types, to_plain in _OTHERS:
        if isinstance(value, types):
            return to_plain(value)
    if kind.__module__ == "numpy" and not getattr(value, "shape", True):
        return _plain(value.item())
    return value


def _restored(value: Any) -> Any:
    if type(value) is list:
        return [_restored(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    tag = _tag(value)
    if tag not in _RESTORED:
        return {key: _restored(item) for key, item in value.items()}
    try:
        return _RESTORED[tag](value[tag])
    except (TypeError, ValueError, ArithmeticError):
        raise SchemaError(f"{tag}: {value[tag]!r:.60} is no value of that kind.") from None


def _tag(value: Mapping[Any, Any]) -> Any:
    """The only key of ``value`` if it begins with ``$``."""
    if len(value) != 1:
        return None
    key = next(iter(value))
    return key if type(key) is str and key.startswith("$") else None


def _number(value: Any) -> Any:
    number = float(value)
    return number if isfinite(number) else {"$float": str(number)}


def _list(of: type) -> Callable[[Any], Any]:
    def made(items: Any) -> Any:
        if not isinstance(items, list):
            raise TypeError
        return of(_restored(item) for item in items)

    return made


# The first that fits, so the narrower types come first.
_OTHERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, lambda v: str.__str__(v)),
    (Integral, int),
    (list, lambda v: [_plain(item) for item in v]),
    (tuple, lambda v: {"$tuple": [_plain(item) for item in v]}),
    (frozenset, lambda v: {"$frozenset": [_plain(item) for item in _ordered(v)]}),
    ((set, frozenset), lambda v: {"$set": [_plain(item) for item in _ordered(v)]}),
    ((bytes, bytearray), lambda v: {"$bytes": b64encode(v).decode()}),
    (datetime, lambda v: {"$datetime": v.isoformat()}),
    (date, lambda v: {"$date": v.isoformat()}),
    (time, lambda v: {"$time": v.isoformat()}),
    (Decimal, lambda v: {"$decimal": str(v)}),
    (Rational, lambda v: v),
    (Real, _number),
)
_RESTORED: dict[Any, Callable[[Any], Any]] = {
    "$tuple": _list(tuple),
    "$set": _list(set),
    "$frozenset": _list(frozenset),
    "$bytes": lambda v: b64decode(v, validate=True),
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$time": time.fromisoformat,
    "$decimal": Decimal,
    "$float": float,
    "$map": lambda v: {_restored(key): _restored(item) for key, item in v},
}


def _ordered(items: Any) -> list[Any]:
    """The members of a set in an order that does not depend on the process, where they have one."""
    return sorted(items, key=lambda item: (type(item).__name__, repr(item)))
