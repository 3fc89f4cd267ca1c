"""Running headers and footers: lines that stand at the same height of the edge of several pages and say the same.

A number that counts with the pages may differ, so "Page 3 of 9" repeats, and the first row of a table does not. The first
occurrence stays in the text, unless it is a bare number or the text says the same elsewhere (the page number is known from
the metadata). A page that holds nothing else keeps them.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from omnichunk.loaders.pdf_text import Line

EDGE = 3
"""Lines at the top and at the bottom of a page that can be running ones."""

GAP = 1.7
"""Ems between a running line and the text, at least."""

Key = tuple[str, int, int]
"""What a line says without its numbers, its direction, and how high it stands in steps of six points."""
_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlc]{1,7}", re.IGNORECASE)


def without_running(pages: list[list[Line]]) -> tuple[list[list[Line]], dict[str, int]]:
    """The pages without the repetitions of their running lines, and what was left out with how often."""
    edges = [_edges(lines) for lines in pages]
    counts = Counter(key for edge in edges for key in set(edge.values()))
    needed = 3 if len(pages) > 5 else 2
    frequent = {key for key, n in counts.items() if n >= needed}
    if not frequent:
        return pages, {}
    running = _running(pages, [{i: key for i, key in edge.items() if key in frequent} for edge in edges], needed)
    inner = {
        _folded(line.text) for lines, repeated in zip(pages, running) for line in lines if id(line) not in repeated
    }
    seen: set[str] = set()
    left_out: Counter[str] = Counter()
    kept: list[list[Line]] = []
    for lines, edge, repeated in zip(pages, edges, running):
        alone = len(repeated) == len(lines)
        keep = []
        for line in lines:
            if id(line) in repeated:
                words, said = edge[id(line)][0], repeated[id(line)]
                if not any(c.isalpha() for c in words) or (not alone and (said in seen or said in inner)):
                    left_out[words] += 1
                    continue
                seen.add(said)
            keep.append(line)
        kept.append(keep)
    return kept, dict(left_out)


def _running(pages: list[list[Line]], edges: list[dict[int, Key]], needed: int) -> list[dict[int, str]]:
    """The lines that say the same on ``needed`` pages, by identity: their text, with # for numbers that count the pages."""
    same: Counter[tuple[Key, str]] = Counter()
    counting: Counter[tuple[Key, int, int]] = Counter()
    candidates = [
        (page, line, edge[id(line)])
        for page, (lines, edge) in enumerate(zip(pages, edges))
        for line in lines
        if id(line) in edge
    ]
    for page, line, key in candidates:
        same[key, _folded(line.text)] += 1
        counting.update((key, *number) for number in _numbers(line.text, page))
    running: list[dict[int, str]] = [{} for _ in pages]
    for page, line, key in candidates:
        numbers = _numbers(line.text, page)
        if same[key, _folded(line.text)] >= needed:
            running[page][id(line)] = _folded(line.text)
        elif any(counting[(key, *number)] >= needed for number in numbers) or (not numbers and key[0] == "#"):
            running[page][id(line)] = key[0]
    return running


def _numbers(text: str, page: int) -> list[tuple[int, int]]:
    """The place of each number in ``text``, and how far it is ahead of ``page``."""
    return [(place, int(number[-9:]) - page) for place, number in enumerate(_NUMBER.findall(text))]


def _edges(lines: list[Line]) -> dict[int, Key]:
    """The lines at the edges of a page, by identity."""
    if not lines:
        return {}
    turn = Counter(line.turn for line in lines).most_common(1)[0][0]
    sorted_lines = sorted((line for line in lines if line.turn == turn), key=lambda line: line.v)
    outer = _margin(sorted_lines) + _margin(sorted_lines[::-1])
    return {id(line): (_same(line.text), turn, round(line.v / 6)) for line in outer}


def _margin(lines: list[Line]) -> list[Line]:
    """The lines from an edge of the page to the first wide gap, at least one, at most ``EDGE``."""
    for n, (line, inner) in enumerate(pairwise(lines[: EDGE + 1]), 1):
        if abs(inner.v - line.v) > GAP * max(line.size, inner.size):
            return lines[:n]
    return lines[:1]


def _same(text: str) -> str:
    text = _folded(_NUMBER.sub("#", text))
    return "#" if _ROMAN.fullmatch(text) else text


def _folded(text: str) -> str:
    return " ".join(text.split())
