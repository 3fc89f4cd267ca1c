"""JSON as nested entries: one pass finds the brackets, the rest waits until a value has to be opened.

The scanner reads more than JSON: comments, single quotes, bare keys, trailing commas, several values in a row. It
never gives up; what does not belong is reported and read around. A string ends with its line, so that a lost quote
costs one line.
"""

from __future__ import annotations

import json
import re
from array import array
from functools import partial

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Span, Strength, Structure
from omnichunk.structure.entries import ATOMIC, DEEPEST, Forest, near, shortened, strength, tiled

STRING = rf""""[^"\\\n]*(?:\\.[^"\\\n]*)*{ATOMIC}"|'[^'\\\n]*(?:\\.[^'\\\n]*)*{ATOMIC}'"""
COMMENT = r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)"
TRIVIA = rf"(?:\s+|{COMMENT})*{ATOMIC}"
# After a comma or an opening bracket: to the start of the next line, past a comment that ends this one, if nothing
# else follows on this line; else to the next character.
REST = r"[ \t]*(?:(?://[^\n]*|/\*[^*\n]*\*/[ \t]*)(?=\r?\n))?(?:\s*\n)?"

# Every alternative starts with a literal character: `re` then looks for these only. The empty groups tell which it was.
TOKEN = re.compile(rf"""{STRING}|{COMMENT}|\[()|\{{()|\]()|\}}()|"[^\n]*()|'[^\n]*()""")
SEPARATOR = re.compile(rf"{STRING}|{COMMENT}|,{REST}()")
AFTER = re.compile(REST)
SPACE = re.compile(TRIVIA)
KEY = re.compile(rf"{TRIVIA}({STRING}|[\w$.+-]+)\s*:")
BETWEEN = re.compile(
    rf"(?:[\s,;\x1e\ufeff]+|{COMMENT}|{STRING}|true|false|null|NaN|[+-]?(?:[\d.][\w.+-]*|Infinity))*{ATOMIC}"
)
LINE = re.compile(r"\S[^\n]*")


def _end(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    """Where ``pattern``, which matches everywhere, ends when it starts at ``start``."""
    found = pattern.match(text, start, end)
    return found.end() if found else start


class Brackets(Forest):
    """The objects and arrays in ``text[start:end]``, as far as ``DEEPEST``; ``damage`` is the first offset or -1.

    ``stops[i]``: of the closing bracket, or where another one or the end of the text closes what was left open.
    """

    __slots__ = ("damage", "stops", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        super().__init__()
        self.text = text
        self.stops = array("q")
        self.damage = -1
        starts, stops, skip = self.starts, self.stops, self.skip
        stack: list[int] = []  # node << 1 | is an array; node -1 is too deep
        opened = [0, 0]
        for token in TOKEN.finditer(text, start, end):
            which = token.lastindex
            if which is None:
                continue
            array_ = which & 1
            if which <= 2:
                node = -1
                if len(stack) < DEEPEST:
                    node = len(starts)
                    starts.append(token.start())
                    stops.append(end)
                    skip.append(0)
                stack.append(node << 1 | array_)
                opened[array_] += 1
                continue
            if which > 4 or not stack or stack[-1] & 1 != array_:
                if self.damage < 0:
                    self.damage = token.start()
                if which > 4 or not opened[array_]:
                    continue
                while stack[-1] & 1 != array_:
                    top = stack.pop()
                    opened[top & 1] -= 1
                    if top >= 0:
                        stops[top >> 1], skip[top >> 1] = token.start(), len(starts)
            node = stack.pop() >> 1
            opened[array_] -= 1
            if node >= 0:
                stops[node], skip[node] = token.start(), len(starts)
        for top in stack:
            if top >= 0:
                skip[top >> 1] = len(starts)
                if self.damage < 0:
                    self.damage = starts[top >> 1]

    def entries(self, node: int, depth: int) -> list[Span]:
        """The members or elements of ``node``, which are at ``depth``."""
        text, force = self.text, strength(depth)
        starts, inner = self._elements(node)
        keyed = text[self.starts[node]] == "{"

        def make(k: int, start: int, end: int) -> Span:
            name = self._key(start, end) if keyed else f"[{k}]"
            span = Span(start, end, "entry" if name else "item", force, name)
            if inner[k] >= 0 and depth < DEEPEST:
                span.opener = partial(self.entries, inner[k], depth + 1)
            return span

        return tiled(text, starts, self.stops[node], force, make)

    def _elements(self, node: int) -> tuple[list[int], list[int]]:
        """Where the elements of ``node`` start, and the container each holds, or -1.

        Only what stands between the containers inside is read, so all texts together are read once.
        """
        text, at, end = self.text, self.starts[node] + 1, self.stops[node]
        starts, inner = [_end(AFTER, text, at, end)], [-1]
        for child in (*self.children(node), -1):
            stop = end if child < 0 else self.starts[child]
            for found in SEPARATOR.finditer(text, at, stop):
                if found.lastindex:
                    starts.append(found.end())
                    inner.append(-1)
            if child >= 0:
                at = self.stops[child]
                if inner[-1] < 0:
                    inner[-1] = child
        if inner[-1] < 0 and _end(SPACE, text, starts[-1], end) >= end:  # nothing in the brackets, or a trailing comma
            starts.pop()
            inner.pop()
        return starts, inner

    def _key(self, start: int, end: int) -> str:
        found = KEY.match(self.text, start, end)
        if not found:
            return ""
        key = found[1]
        if key[0] in "\"'":
            if key[0] == '"' and "\\" in key:
                try:
                    return shortened(json.loads(key)) or '""'
                except ValueError:
                    pass
            key = key[1:-1] or key
        return shortened(key)


def json_structure(request: StructureRequest) -> Structure:
    """The members of the one value; of several values in a row, the values."""
    text = request.text
    brackets = Brackets(text, 0, len(text))
    roots = list(brackets.children(-1))
    starts: list[int] = []
    at = 0
    for root in (*roots, -1):
        stop = brackets.starts[root] if root >= 0 else len(text)
        known = _end(BETWEEN, text, at, stop)
        if known < stop and not 0 <= brackets.damage < known:
            brackets.damage = known
        if root >= 0:
            starts.append(_end(AFTER, text, at, stop) if at else 0)
            at = min(brackets.stops[root] + 1, len(text))

    def make(k: int, start: int, end: int) -> Span:
        return Span(start, end, "item", Strength.BLOCK, opener=partial(brackets.entries, roots[k], 1))

    if len(roots) == 1:
        spans = brackets.entries(roots[0], 0)
    else:
        spans = tiled(text, starts, len(text), Strength.BLOCK, make)
    errors = [near(text, brackets.damage, "JSON")] if brackets.damage >= 0 else []
    return Structure(spans, errors=errors, backend="scanner:json")


def jsonl_structure(request: StructureRequest) -> Structure:
    """A row for every line that is not blank; a file whose first value goes on for several lines is read as JSON."""
    text = request.text
    starts: list[int] = []
    damage, last = -1, 0
    for line in LINE.finditer(text):
        at, end = line.span()
        if text[at] in "[{" and line[0].rstrip()[-1] != ("]" if text[at] == "[" else "}"):
            if not starts:
                return json_structure(request)
            damage = at if damage < 0 else damage
        starts.append(text.rfind("\n", last, at) + 1 or last)
        last = end

    def make(k: int, start: int, end: int) -> Span:
        return Span(start, end, "row", Strength.ITEM, opener=partial(_row, text, start, end))

    spans = tiled(text, starts, len(text), Strength.ITEM, make)
    return Structure(spans, errors=[near(text, damage, "JSON")] if damage >= 0 else [], backend="scanner:jsonl")


def _row(text: str, start: int, end: int) -> list[Span]:
    brackets = Brackets(text, start, end)
    return brackets.entries(0, 2) if brackets.starts else []
