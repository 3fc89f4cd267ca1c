"""Overlap: a chunk repeats the end of what precedes it, as raw text, from a sensible boundary and within the budget."""

from __future__ import annotations

from collections.abc import Iterator

from omnichunk.finalize.gauge import Gauge
from omnichunk.finalize.render import Fitter, Payload
from omnichunk.source.breaks import cluster_start, sentence_ends

_TRIES = 6  # starts that are tried, longest repetition first


class Overlap:
    """Extends payloads to the left by up to ``most`` units of the budget.

    ``blanks``: payloads of white space become chunks, so nothing in front of them is repeated behind them.
    """

    def __init__(self, text: str, gauge: Gauge, fitter: Fitter, most: int, *, blanks: bool) -> None:
        self._text = text
        self._gauge = gauge
        self._fit = fitter.fit
        self._most = most
        self._blanks = blanks

    def extended(self, payloads: Iterator[Payload]) -> Iterator[Payload]:
        """``payloads`` with their overlap; what does not fit beside the new text is left out."""
        before: Payload | None = None
        for payload in payloads:
            blank = self._text[payload.start : payload.end].isspace()  # nothing new that a repetition could introduce
            yield payload if blank or before is None else self._extend(payload, before.start + 1)
            if self._blanks or not blank:
                before = payload

    def _extend(self, payload: Payload, lower: int) -> Payload:
        for start in self._starts(lower, payload.start):
            if self._gauge.sizer.count(self._text[start : payload.start]) > self._most:
                continue
            longer = self._fit(start, payload.end, payload.place, payload.span, alone=True)
            if isinstance(longer, Payload) and longer.omitted <= payload.omitted:
                return longer._replace(repeated=payload.start - start)
        return payload

    def _starts(self, lower: int, end: int) -> list[int]:
        """Where a repetition that ends at ``end`` may start, the longest first: lines, sentences, words, clusters."""
        text, least = self._text, self._reach(lower, end)
        lines = [i + 1 for i in _finds(text, "\n", least - 1, end - 1)]
        sentences = [i for i in sentence_ends(text, least, end) if i < end]
        words = [i + 1 for i in _finds(text, " ", max(0, least - 1), end - 1)]
        hard = cluster_start(text, min(least, end), max(0, lower - 1))
        for found in (lines, sentences, words):
            inside = [i for i in found if max(least, lower) <= i < end]
            if inside:
                step = max(1, len(inside) // _TRIES)
                return inside[::step]
        return [hard if hard >= lower else end - 1] if end > lower else []

    def _reach(self, lower: int, end: int) -> int:
        """The smallest position from which the text up to ``end`` is within ``most``, as the gauge sees it."""
        at = self._gauge.at
        low, high, limit = lower, end, at(end) - self._most
        while low < high:
            middle = (low + high) // 2
            if at(middle) < limit:
                low = middle + 1
            else:
                high = middle
        return low


def _finds(text: str, what: str, start: int, end: int) -> Iterator[int]:
    at = text.find(what, max(0, start), end)
    while at >= 0:
        yield at
        at = text.find(what, at + 1, end)
