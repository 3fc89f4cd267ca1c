"""What converts a dataclass to a dict and back, made of the types of its fields.

Context is made of many small values, so both ways take the fields of a value all at once. Reading has two ways: one for
dicts that are as they were written, and one for all others, which knows defaults and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from omnichunk.errors import SchemaError
from omnichunk.serialization.foreign import plain, restored

Convert = Callable[[Any], Any]
Of = Callable[[Any], Convert]
"""From a type to what converts its values."""

_SCALARS: Mapping[Any, tuple[str, tuple[type, ...]]] = {
    str: ("a string", (str,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
    bool: ("true or false", (bool,)),
}


def writer(kind: Any, storable: frozenset[Any], of: Of) -> Convert:
    """What turns a ``kind`` into a dict of its fields; ``of`` gives what does so for the ``storable`` types in it."""
    names = [name for name, _ in hints(kind)]
    values_of = attrgetter(*names)
    converted = [(name, convert) for name, hint in hints(kind) if (convert := _written(hint, storable, of))]

    def write(value: Any) -> dict[str, Any]:
        made = dict(zip(names, values_of(value)))
        for name, convert in converted:
            part = made[name]
            if part is not None:
                made[name] = convert(part)
        return made

    return write


def _written(hint: Any, storable: frozenset[Any], of: Of) -> Convert | None:
    """What writes a value of type ``hint``, ``None`` where it is written as it is."""
    hint, _ = without_none(hint)
    if hint in storable:
        return of(hint)
    if get_origin(hint) is not tuple:
        return plain if _is_mapping(hint) else None
    item = get_args(hint)[0]
    if item not in storable:
        return list
    if all(inner in _SCALARS for _, inner in hints(item)):  # imports are many: no call for each
        names = [name for name, _ in hints(item)]
        values_of = attrgetter(*names)
        return lambda items: [dict(zip(names, values)) for values in map(values_of, items)]
    write = of(item)
    return lambda items: [*map(write, items)]


def reader(kind: Any, storable: frozenset[Any], of: Of) -> Convert:
    """What makes a ``kind`` from a dict of its fields; ``of`` gives what does so for the ``storable`` types in it."""
    parts = [
        (name, _checked(hint, f"{kind.__name__}.{name}", storable, of), optional)
        for name, hint, optional in ((name, *without_none(hint)) for name, hint in hints(kind))
    ]
    slowly, make = _slow_reader(kind, parts), _maker(kind)
    names = [name for name, _, _ in parts]
    values_of = itemgetter(*names)
    scalars = [(name, hint) for name, hint in hints(kind) if hint in _SCALARS]
    others = [part for part in parts if part[0] not in dict(scalars)]

    def read(data: Any) -> Any:
        if type(data) is not dict:
            return slowly(data)
        try:
            values = dict(zip(names, values_of(data)))
        except KeyError:
            return slowly(data)
        for name, wanted in scalars:
            if type(values[name]) is not wanted:
                return slowly(data)
        for name, convert, optional in others:
            part = values[name]
            if part is not None:
                values[name] = convert(part)
            elif not optional:
                return slowly(data)
        return make(values)

    return read


def hints(kind: Any) -> list[tuple[str, Any]]:
    """The fields of ``kind`` in order, with their types."""
    known = get_type_hints(kind)
    return [(name, known[name]) for name in (kind._fields if issubclass(kind, tuple) else kind.__dataclass_fields__)]


def _slow_reader(kind: Any, parts: list[tuple[str, Convert, bool]]) -> Convert:
    who, make = kind.__name__, _maker(kind)
    own = () if issubclass(kind, tuple) else fields(kind)
    fixed = {f.name: f.default for f in own if f.default is not MISSING}
    made_new = {f.name: f.default_factory for f in own if f.default_factory is not MISSING}

    def read(data: Any) -> Any:
        if isinstance(data, (list, tuple)) and issubclass(kind, tuple) and len(data) == len(parts):
            data = dict(zip(kind._fields, data))
        if not isinstance(data, Mapping):
            raise SchemaError(f"{who}: an object with its fields is needed, not {data!r:.60}.")
        values: dict[str, Any] = {}
        for name, convert, optional in parts:
            part = data.get(name, MISSING)
            if part is None and optional:
                values[name] = None
            elif part is not MISSING and (part is not None or (name not in fixed and name not in made_new)):
                values[name] = convert(part)
            elif name in fixed:
                values[name] = fixed[name]
            elif name in made_new:
                values[name] = made_new[name]()
            else:
                raise SchemaError(f"{who}: the field {name} is missing.")
        return make(values)

    return read


def _maker(kind: Any) -> Callable[[dict[str, Any]], Any]:
    """What makes a ``kind`` of all its fields."""
    if "__slots__" in vars(kind) or hasattr(kind, "__post_init__"):
        return lambda values: kind(**values)

    def make(values: dict[str, Any]) -> Any:
        # A frozen dataclass sets its fields one by one; filled at once it takes a tenth of the time.
        made = object.__new__(kind)
        made.__dict__.update(values)
        return made

    return make


def _checked(hint: Any, where: str, storable: frozenset[Any], of: Of) -> Convert:
    """What makes a value of type ``hint``, no ``None``, or says what is needed at ``where``."""
    if hint in storable:
        return of(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _tuple_of(_checked(inner[0], where, storable, of), where, None if ... in inner else len(inner))
    if _is_mapping(hint):
        return _mapping(where)
    if origin is Literal:
        hint = str
    elif hint == int | float:
        hint = float
    if hint not in _SCALARS:
        return restored
    wanted, types = _SCALARS[hint]

    def check(value: Any) -> Any:
        if type(value) in types:
            return value
        raise SchemaError(f"{where}: {wanted} is needed, not {value!r:.60}.")

    return check


def _tuple_of(convert: Convert, where: str, length: int | None) -> Convert:
    def read(values: Any) -> Any:
        if not isinstance(values, (list, tuple)) or (length is not None and len(values) != length):
            many = "" if length is None else f" of {length}"
            raise SchemaError(f"{where}: a list{many} is needed, not {values!r:.60}.")
        return tuple(map(convert, values))

    return read


def _mapping(where: str) -> Convert:
    def read(value: Any) -> Any:
        found = restored(value)
        if not isinstance(found, Mapping):
            raise SchemaError(f"{where}: an object is needed, not {value!r:.60}.")
        return found

    return read


def without_none(hint: Any) -> tuple[Any, bool]:
    """``hint`` without ``None``, and whether it was there."""
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        return Union[tuple(arg for arg in get_args(hint) if arg is not NoneType)], True  # noqa: UP007  made of what is there
    return hint, False


def _is_mapping(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)
