"""Headings: the outline's entries where they stand in the text, else lines that are set larger than the rest."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from omnichunk.loaders.pdf_border import foreign
from omnichunk.loaders.pdf_text import Line, clean

if TYPE_CHECKING:
    from pypdf import PdfReader

DEPTH = 6
"""Levels of headings; deeper ones count as the sixth."""
ENTRIES = 20_000
"""Outline entries that are read."""
COMPARISONS = 2_000_000
"""Lines compared with entries, over all pages; enough for a book of 2,000 pages with 20 entries each."""
LINES = 3
"""Lines a heading may take."""
LONG = 120
"""Characters beyond which large or bold type is no heading."""

MANY = 6
"""Lines in large type one after the other that are no headings any more."""

_WORDS = re.compile(r"\w+")
_COUNT = re.compile(r"\d+|[ivxlc]+|[a-z]")
_LETTERS = re.compile(r"[^\W\d_]{2}")


class Entry(NamedTuple):
    """One entry of the outline: ``page`` counts from 0, ``top`` is in points from the bottom, if the entry says so."""

    level: int
    title: str
    page: int
    top: float | None


def outline(reader: PdfReader) -> list[Entry]:
    """The outline of a document, flat, in order. Exceptions are pypdf's."""
    numbers: dict[int, int] = {}
    for index, page in enumerate(reader.pages):
        if page.indirect_reference is not None:
            numbers[page.indirect_reference.idnum] = index
    entries: list[Entry] = []
    stack: list[tuple[int, Any]] = [(1, iter(reader.outline))]
    while stack and len(entries) < ENTRIES:
        level, items = stack[-1]
        item = next(items, None)
        if item is None:
            stack.pop()
        elif isinstance(item, list):
            stack.append((level + 1, iter(item)))
        else:
            try:
                number = numbers.get(getattr(item.page, "idnum", -1))
                title, top = " ".join(clean(str(item.title)).split()), item.top
            except foreign():
                continue
            if number is not None and title:
                entries.append(Entry(min(level, DEPTH), title, number, float(top) if _is_number(top) else None))
    return entries


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def mark_outline(pages: list[list[Line]], entries: list[Entry]) -> int:
    """Give the lines that the outline names their levels and titles; the number of entries found.

    An entry is looked for on its page, a second time without its leading number, and taken where it stands nearest to
    the height the entry names. An entry whose words are not there marks nothing.
    """
    found = work = 0
    keys: dict[int, list[tuple[str, str]]] = {}
    for entry in entries:
        lines = pages[entry.page]
        work += len(lines)
        if work > COMPARISONS:
            break
        if entry.page not in keys:
            keys[entry.page] = [_keys(line.text) for line in lines]
        at = _find(lines, keys[entry.page], entry)
        if at is None:
            continue
        start, end = at
        for line in lines[start:end]:
            line.level = entry.level
        lines[start].title = entry.title
        found += 1
    return found


def _find(lines: list[Line], keys: list[tuple[str, str]], entry: Entry) -> tuple[int, int] | None:
    """The range of lines that say what ``entry`` is called, the one nearest to its height."""
    wanted, bare = _keys(entry.title)
    best: tuple[float, int, int] | None = None
    for start, (key, bare_key) in enumerate(keys):
        if not bare_key or lines[start].level or not (wanted.startswith(key) or bare.startswith(bare_key)):
            continue
        end = start + 1
        while len(bare_key) < len(bare) and end < len(lines) and end - start < LINES:
            key, bare_key = key + keys[end][0], bare_key + keys[end][0]
            end += 1
        if key != wanted and bare_key != bare:
            continue
        away = abs(-lines[start].v - entry.top) if entry.top is not None and lines[start].turn == 0 else 0.0
        if best is None or (away, start) < best[:2]:
            best = (away, start, end)
    return best[1:] if best else None


def _keys(text: str) -> tuple[str, str]:
    """The words of ``text`` alone, and again without a leading number."""
    words = _WORDS.findall(text.casefold())
    bare = words
    while len(bare) > 1 and _COUNT.fullmatch(bare[0]):
        bare = bare[1:]
    return "".join(words), "".join(bare)


def mark_by_type(pages: list[list[Line]]) -> None:
    """Give short lines in type larger than the body's, or bold where it is not, a level by their size."""
    sizes: Counter[float] = Counter()
    bold = total = 0
    for lines in pages:
        for line in lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
            total += len(line.text)
            bold += len(line.text) * line.bold
    if not sizes:
        return
    body = max(sizes, key=lambda size: (sizes[size], -size))
    plain = bold * 3 < total
    marked: list[tuple[float, Line]] = []
    for lines in pages:
        run: list[tuple[float, Line]] = []
        for i, line in enumerate(lines):
            size = round(line.size * 2) / 2
            larger = size >= 1.15 * body and size > body + 0.9
            if larger or (plain and line.bold and size >= body and not _joins(lines, i)):
                run.append((size if larger else 0.0, line))
            else:
                marked += _headings(run)
                run = []
        marked += _headings(run)
    ranks = {size: min(rank, DEPTH) for rank, size in enumerate(sorted({s for s, _ in marked}, reverse=True), 1)}
    for size, line in marked:
        line.level = ranks[size]


def _headings(run: list[tuple[float, Line]]) -> list[tuple[float, Line]]:
    """Those of several lines in large or bold type that are headings: of many, as in a figure, only the largest."""
    if len(run) > MANY:
        largest = max(size for size, _ in run)
        run = [(size, line) for size, line in run if size == largest]
    if len(run) > MANY:
        return []
    return [
        (size, line)
        for size, line in run
        if len(line.text) <= LONG
        and _LETTERS.search(line.text)
        and line.text[-1] not in ".,;"
        and not line.turn
        and not line.cells
        and not line.kind
    ]


def _joins(lines: list[Line], i: int) -> bool:
    """Whether the bold line ``i`` is one of several, as in a bold paragraph."""
    bold_before = i > 1 and lines[i - 1].bold and lines[i - 2].bold
    bold_after = i + 2 < len(lines) and lines[i + 1].bold and lines[i + 2].bold
    return bold_before or bold_after
