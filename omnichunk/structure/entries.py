"""What the data formats share: nested entries as flat arrays, opened into spans only where somebody looks."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from omnichunk.model.span import Span, Strength

ATOMIC = "+" if sys.version_info >= (3, 11) else ""
"""Makes a repeat possessive where ``re`` can: the same matches, without 100 bytes of stack a repetition."""

BOM = "\ufeff"
DEEPEST = 100
"""Entries nested deeper are leaves: a longer key path helps nobody, and paths cost their length in every chunk."""

FEW = 64
SHORT = 80
RUN = 128
LONGEST_RUN = 512
LONGEST_NAME = 120

Make = Callable[[int, int, int], Span]
"""``make(k, start, end)``: the span of the ``k``-th element."""


def strength(depth: int) -> Strength:
    """Of a cut between entries at ``depth``, 0 outermost."""
    if depth > 1:
        return Strength.LINE
    return Strength.ITEM if depth else Strength.BLOCK


def shortened(name: str) -> str:
    """``name``, or its beginning where it is too long for a path."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def near(text: str, offset: int, what: str) -> str:
    """The error for damage at ``offset``: ``invalid <what> near line N``."""
    return f"invalid {what} near line {text.count(chr(10), 0, offset) + 1}"


class Forest:
    """Trees in document order: where each node starts, and for each the first node after its subtree."""

    __slots__ = ("skip", "starts")

    def __init__(self) -> None:
        self.starts = array("q")
        self.skip = array("q")

    def children(self, node: int) -> Iterator[int]:
        """The direct children of ``node``; those of -1 are the roots."""
        child, stop = node + 1, len(self.starts) if node < 0 else self.skip[node]
        while child < stop:
            yield child
            child = self.skip[child]


class Outline(Forest):
    """Named entries of a text, each of which ends where the next one that is not inside it starts."""

    __slots__ = ("_open", "names", "text")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.names: list[str | None] = []
        self._open: list[tuple[int, int]] = []

    def add(self, start: int, level: int, name: str | None) -> None:
        """Append an entry, inside the last one of a lower ``level``; a ``name`` of ``None`` is its index."""
        stack = self._open
        if stack and stack[-1][0] >= level:
            self.close(level)
        stack.append((level, len(self.starts)))
        self.starts.append(start)
        self.skip.append(0)
        self.names.append(name)

    def close(self, level: int) -> None:
        """End all entries of this ``level`` or a higher one."""
        while self._open and self._open[-1][0] >= level:
            self.skip[self._open.pop()[1]] = len(self.starts)

    def spans(self, node: int = -1, depth: int = 0) -> list[Span]:
        """The entries directly inside ``node``; at a ``depth`` of -1 they are documents, which have no name."""
        nodes = list(self.children(node))
        after = len(self.starts) if node < 0 else self.skip[node]
        end = self.starts[after] if after < len(self.starts) else len(self.text)
        force = Strength.SECTION if depth < 0 else strength(depth)

        def make(k: int, start: int, end: int) -> Span:
            name = self.names[nodes[k]]
            span = Span(start, end, "entry", force, shortened(f"[{k}]" if name is None else name))
            if depth < 0:
                span.kind, span.name = "item", ""
            if self.skip[nodes[k]] > nodes[k] + 1 and depth < DEEPEST:
                span.opener = partial(self.spans, nodes[k], depth + 1)
            return span

        return tiled(self.text, [self.starts[n] for n in nodes], end, force, make)


def tiled(text: str, starts: Sequence[int], end: int, force: Strength, make: Make) -> list[Span]:
    """Spans for the elements at ``starts``, the last of which ends at ``end``.

    Short elements of a long list are put together in runs of some 200 characters, which open into their elements: one
    span for twenty numbers. Where a run ends depends on the text at its end, not on a count, so that runs after an
    inserted element are soon the same as before; and it ends with a line, if the list has lines.
    """
    bounds = [*starts, end]
    if len(starts) <= FEW:
        return [make(k, bounds[k], bounds[k + 1]) for k in range(len(starts))]
    lines = text.find("\n", bounds[0], bounds[0] + LONGEST_RUN) >= 0
    spans: list[Span] = []
    first = 0
    for k in range(len(starts)):
        start, stop = bounds[k], bounds[k + 1]
        if stop - start > SHORT:
            if first < k:
                spans.append(_run(bounds, first, k, force, make))
            spans.append(make(k, start, stop))
            first = k + 1
        elif stop - bounds[first] >= RUN and (
            stop - bounds[first] >= LONGEST_RUN
            or (ord(text[stop - 3]) % 3 == 0 and (not lines or text[stop - 1] == "\n"))
        ):
            spans.append(_run(bounds, first, k + 1, force, make))
            first = k + 1
    if first < len(starts):
        spans.append(_run(bounds, first, len(starts), force, make))
    return spans


def _run(bounds: list[int], first: int, stop: int, force: Strength, make: Make) -> Span:
    if stop - first == 1:
        return make(first, bounds[first], bounds[stop])

    def opened() -> list[Span]:
        return [make(k, bounds[k], bounds[k + 1]) for k in range(first, stop)]

    return Span(bounds[first], bounds[stop], "item", force, opener=opened)
