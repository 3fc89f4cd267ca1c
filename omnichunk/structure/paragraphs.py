"""What lies between the marks of line-based markup: paragraphs, and lists among them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from omnichunk.model.span import Glue, Span, Strength

_BLANK = re.compile(r"\n(?:[ \t\r\f\v]*\n)+")
_LINE = re.compile(r"\S[^\n]*(?:\n|\Z)")
_BULLET = re.compile(r"[ \t]*(?:[-+•◦‣]|\*{1,6}|\.{1,6}|\(?(?:\d{1,9}|[A-Za-z]|[ivxIVX]{1,6})[.)])[ \t]+\S")
_ITEM = re.compile(rf"^{_BULLET.pattern}", re.MULTILINE)


def paragraphs(text: str, start: int, end: int) -> tuple[list[Span], int]:
    """The paragraphs and lists of ``[start, end)``, and ``end`` or the first column of its line if that is blank."""
    first = start
    while (line := text.find("\n", first, end) + 1) and text[first:line].isspace():
        first = line
    begin = text.rfind("\n", first, end) + 1
    if not first < begin < end or not text[begin:end].isspace():
        begin = end
    if text[first:begin].isspace() or first >= begin:
        return [], first if first < end else end
    edges = [first, *(m.end() for m in _BLANK.finditer(text, first, begin))]
    if edges[-1] != begin:
        edges.append(begin)
    return [_block(text, a, b) for a, b in pairwise(edges)], begin


def _block(text: str, start: int, end: int) -> Span:
    if _BULLET.match(text, start, end):
        return Span(start, end, "list", opener=lambda: items(text, start, end))
    return Span(start, end, "paragraph")


def items(text: str, start: int, end: int) -> list[Span]:
    """The items of a list, flat: one for each line that begins with a bullet or a number."""
    return pieces(text, start, end, (m.start() for m in _ITEM.finditer(text, start, end)), "item")


def lines(text: str, start: int, end: int, carry: tuple[int, int] | None = None) -> list[Span]:
    """The rows of a table that has one in each line; those that end before ``carry`` does are its header."""
    return pieces(text, start, end, (m.end() for m in _LINE.finditer(text, start, end)), "row", carry=carry)


def pieces(
    text: str,
    start: int,
    end: int,
    cuts: Iterable[int],
    kind: str,
    strength: Strength = Strength.ITEM,
    carry: tuple[int, int] | None = None,
) -> list[Span]:
    """``[start, end)`` cut at the rising positions ``cuts``; a blank rest is none, what is carried is glued onward."""
    edges = [start, *(cut for cut in cuts if start < cut < end)]
    if len(edges) > 1 and text[edges[-1] : end].isspace():
        edges.pop()
    edges.append(end)
    made = [Span(a, b, kind, strength) for a, b in pairwise(edges)]
    for span in made:
        if carry is None or span.end > carry[1]:
            break
        span.glue = Glue.NEXT
    return made
