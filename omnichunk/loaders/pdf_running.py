"""Running headers and footers: lines that stand at the same height of the edge of several pages and say the same.

Numbers count as equal, so "Page 3 of 9" repeats. The first occurrence stays in the text, unless it is a bare number or
the text says the same elsewhere (the page number is known from the metadata). A page that holds nothing else keeps them.
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

_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlc]{1,7}", re.IGNORECASE)


def without_running(pages: list[list[Line]]) -> tuple[list[list[Line]], dict[str, int]]:
    """The pages without the repetitions of their running lines, and what was left out with how often."""
    edges = [_edges(lines) for lines in pages]
    counts = Counter(key for edge in edges for key in set(edge.values()))
    needed = 3 if len(pages) > 5 else 2
    running = {key for key, n in counts.items() if n >= needed}
    if not running:
        return pages, {}
    inner = {
        _same(line.text) for lines, edge in zip(pages, edges) for line in lines if edge.get(id(line)) not in running
    }
    seen: set[str] = set()
    left_out: Counter[str] = Counter()
    kept: list[list[Line]] = []
    for lines, edge in zip(pages, edges):
        alone = all(edge.get(id(line)) in running for line in lines)
        keep = []
        for line in lines:
            key = edge.get(id(line))
            if key is not None and key in running:
                words = key[0]
                if not any(c.isalpha() for c in words) or (not alone and (words in seen or words in inner)):
                    left_out[words] += 1
                    continue
                seen.add(words)
            keep.append(line)
        kept.append(keep)
    return kept, dict(left_out)


def _edges(lines: list[Line]) -> dict[int, tuple[str, int, int]]:
    """The lines at the edges of a page, by identity: what they say, and how high they stand in steps of six points."""
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
    text = " ".join(_NUMBER.sub("#", text).split())
    return "#" if _ROMAN.fullmatch(text) else text
