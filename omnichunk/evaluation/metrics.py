"""What is measured, exactly: tokens of the source, spans of bytes, and their overlap.

A *token* here is a run of letters, digits and underscores, in scripts without spaces each of them, or any other sign that
is not white space (``source.words.WORD``). It is counted in a span if its first byte is in it. No tokenizer of a model
is involved, so configurations that count in different units are compared by the same measure.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from omnichunk.source.words import WORD


class Span(NamedTuple):
    """Half-open range of UTF-8 bytes of the canonical text of a document, which is named by its number in the corpus."""

    document: int
    start: int
    end: int


class Overlap(NamedTuple):
    """Numbers of tokens: in the gold spans, in what was retrieved, and in both; each token counted once."""

    gold: int
    retrieved: int
    both: int

    @property
    def recall(self) -> float:
        """Share of the gold tokens that were retrieved: both / gold. Gold is never empty; see ``Corpus.question``."""
        return self.both / self.gold

    @property
    def precision(self) -> float:
        """Share of the retrieved tokens that are gold: both / retrieved; 0.0 when nothing was retrieved."""
        return self.both / self.retrieved if self.retrieved else 0.0

    @property
    def iou(self) -> float:
        """Intersection over union: both / (gold + retrieved - both); 0.0 when nothing was retrieved."""
        return self.both / (self.gold + self.retrieved - self.both)


def token_starts(text: str) -> array[int]:
    """The first byte of every token of a text, in order."""
    if text.isascii():
        return array("Q", (match.start() for match in WORD.finditer(text)))
    starts = array("Q")
    at = byte = 0
    for match in WORD.finditer(text):
        byte += len(text[at : match.start()].encode())
        at = match.start()
        starts.append(byte)
    return starts


def union(spans: Iterable[Span]) -> list[Span]:
    """The spans as sorted, disjoint ones: what several of them hold is there once. Cost: a sort."""
    merged: list[Span] = []
    for span in sorted(spans):
        last = merged[-1] if merged else None
        if last is not None and last.document == span.document and span.start <= last.end:
            merged[-1] = last._replace(end=max(last.end, span.end))
        else:
            merged.append(span)
    return merged


def shared(some: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """What two unions have in common. Cost: linear in the spans."""
    found: list[Span] = []
    i = j = 0
    while i < len(some) and j < len(others):
        one, other = some[i], others[j]
        start, end = max(one.start, other.start), min(one.end, other.end)
        if one.document == other.document and start < end:
            found.append(Span(one.document, start, end))
        if (one.document, one.end) <= (other.document, other.end):
            i += 1
        else:
            j += 1
    return found


def tokens(spans: Iterable[Span], starts: Sequence[Sequence[int]]) -> int:
    """Tokens in the spans, which are disjoint; ``starts``: of the tokens, document by document."""
    return sum(bisect_left(starts[d], end) - bisect_left(starts[d], start) for d, start, end in spans)


def overlap(gold: Iterable[Span], retrieved: Iterable[Span], starts: Sequence[Sequence[int]]) -> Overlap:
    """How the tokens of the union of ``retrieved`` and those of the union of ``gold`` overlap."""
    wanted, there = union(gold), union(retrieved)
    return Overlap(tokens(wanted, starts), tokens(there, starts), tokens(shared(wanted, there), starts))
