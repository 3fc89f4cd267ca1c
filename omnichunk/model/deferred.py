"""Frozen values some of whose fields are worked out when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T", bound="Deferred")


class Deferred:
    """Base of frozen dataclasses without slots. A field that may be deferred has no plain default.

    Reading, comparing, copying and pickling such a value work it out; nobody outside sees a difference.
    """

    @classmethod
    def deferred(cls: type[T], late: Callable[[T, Any, str], Mapping[str, Any]], about: object, **known: Any) -> T:
        """A value of the fields ``known``; ``late(value, about, name)`` gives one of the others, and more it has at hand."""
        value = object.__new__(cls)
        # Filled at once: a frozen dataclass sets its fields one by one, which takes 2 µs for a chunk.
        value.__dict__.update(known, _late=(late, about))
        return value

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        waiting = None if name.startswith("__") else own.get("_late")
        if waiting is not None:
            late, about = waiting
            own.update(late(self, about, name))
            if own.keys() >= self._fields().keys():
                # Let go of last: another thread that missed a field finds either the fields or what makes them.
                own["_late"] = None
        try:
            return own[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields()}

    @classmethod
    def _fields(cls) -> Mapping[str, Any]:
        fields: Mapping[str, Any] = cls.__dict__["__dataclass_fields__"]
        return fields
