"""What a strategy is, and what a scanner is: the same strategy for one stream, with a memory of what is pending."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, TypeVar

S = TypeVar("S", bound="Scanner")


class ChunkingStrategy(ABC):
    """Says which pieces of a text that still grows are complete.

    Both methods are functions of the text alone, so that one object serves any number of streams, and what ``split``
    has returned it returns again, in front, for every longer text. Pieces are non-empty parts of the text, in order.
    """

    boundary: ClassVar[str] = "boundary"
    """What ends a piece, for `StreamChunk.reason`."""
    local: ClassVar[bool | None] = None
    """Whether the text from the start of a piece on is split like a text that begins there.

    Without a `scanner`, that is what spares `IncrementalChunker` to split everything again with every delta. ``None``:
    it finds out, and says so if it finds out late.
    """

    @abstractmethod
    def split(self, accumulated_text: str) -> list[str]:
        """The complete pieces of ``accumulated_text``; the fragment at its end, which may still grow, is withheld."""

    def flush(self, accumulated_text: str) -> list[str]:
        """What ``split`` withholds of ``accumulated_text``, now that nothing will follow. Here: it is discarded."""
        return []

    def scanner(self) -> Scanner | None:
        """The beginning of a stream, or ``None`` if this strategy only knows how to split whole texts."""
        return None


class Scanner(ABC):
    """One stream: what has arrived and was not released. Feeding it costs as much as the delta, however much there is.

    ``parts``: the pending text, as it came. ``reasons``: what ended each of the pieces returned last, if the strategy
    has more than one ``boundary``. What a subclass adds: immutable values, or lists, dicts and sets of such.
    """

    __slots__ = ("parts", "reasons")
    strict: ClassVar[bool] = False
    """Whether ``feed`` itself refuses what is no string; then `IncrementalChunker` calls it without a detour."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.reasons: list[str] | None = None

    @abstractmethod
    def feed(self, delta: str) -> list[str]:
        """The pieces that ``delta`` completes."""

    @abstractmethod
    def flush(self) -> list[str]:
        """What is left at the end of the stream. The scanner must not be used afterwards."""

    def copy(self: S) -> S:
        """A scanner that goes its own way from here. Costs the pending text once, then nothing until more arrives."""
        self.parts[:] = ["".join(self.parts)] if self.parts else []
        twin = object.__new__(type(self))
        state = self.__reduce_ex__(2)[2]  # the values of `__dict__`, or both these and those of `__slots__`
        for values in state if isinstance(state, tuple) else (state,):
            for name, value in (values or {}).items():
                setattr(twin, name, value.copy() if isinstance(value, (list, dict, set)) else value)
        return twin


class LineScanner(Scanner):
    """A scanner that has nothing to do until a line feed arrives: any other delta costs a test and an append."""

    __slots__ = ()
    strict = True

    def feed(self, delta: str) -> list[str]:
        if not isinstance(delta, str):
            raise not_text(delta)
        self.parts.append(delta)
        if "\n" in delta:
            return self.complete()
        return []

    @abstractmethod
    def complete(self) -> list[str]:
        """The pieces in ``parts``, the last of which has just come and has a line feed; keep the rest there."""


def not_text(delta: object) -> TypeError:
    return TypeError(f"a delta must be str, not {type(delta).__name__}.")
