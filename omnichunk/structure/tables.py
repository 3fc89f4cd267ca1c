"""CSV and TSV as one table: the header is repeated by every continuation, rows are lines.

A file may have millions of rows, so a row is a span only if it goes on for several lines; all other lines are left to
the ladder of breaks, which never cuts a line that fits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Detail, Glue, Span, Strength, Structure
from omnichunk.structure.entries import ATOMIC, BOM, near

DELIMITERS = ",\t;|"
SAMPLE_LINES = 20
SAMPLE_SIZE = 1 << 16
LONGEST_NUMBER = 40
QUOTED = re.compile(r'"[^"]*"')
NUMBER = re.compile(r"[-+$€£(]*[\d.,'\s:/-]*\d[\d.,'\s:/-]*(?:[eE][-+]?\d+)?[%)$€£TZ]*\Z")
DECLARED = re.compile(rf'{BOM}?"?sep=(.)"?\r?\n', re.IGNORECASE)


def csv_structure(request: StructureRequest) -> Structure:
    """One span of kind ``table``; before it, glued to it, what is no row: a title, comments, ``sep=;``."""
    return _structure(request, "csv")


def tsv_structure(request: StructureRequest) -> Structure:
    """As ``csv_structure``; the tab is the delimiter if there is one."""
    return _structure(request, "tsv")


def _structure(request: StructureRequest, language: str) -> Structure:
    text = request.text
    declared = DECLARED.match(text)
    base = declared.end() if declared else int(text.startswith(BOM))
    sample = _sample(text, base)
    if not sample:
        return Structure(backend=f"scanner:{language}")
    named = declared[1] if declared else "\t" if language == "tsv" else ""
    delimiter, count = _delimiter(sample, named)
    rows = _Rows(text, delimiter)
    start, end = _header(rows, base, count)
    header = not _numeric(text[start:end], delimiter)
    table = Span(start, len(text), "table", detail=Detail(label="table", carry=(start, end) if header else None))
    table.opener = lambda: _children(rows, start, end if header else start)
    spans = [table]
    if text[:start].strip(f"{BOM} \t\r\n"):
        spans.insert(0, Span(0, start, "text", glue=Glue.NEXT))
    damage = rows.damage()
    return Structure(
        spans, errors=[near(text, damage, language.upper())] if damage >= 0 else [], backend=f"scanner:{language}"
    )


class _Rows:
    """The rows of a table that are not just lines."""

    def __init__(self, text: str, delimiter: str) -> None:
        self.text = text
        self.delimiter = delimiter
        self._openers = (delimiter, "\n", BOM, "")
        self._spaced = delimiter + " "
        edge = rf"(?=[\r\n{re.escape(delimiter)}]|\Z)"
        self._field = re.compile(rf'"[^"]*(?:""[^"]*)*{ATOMIC}"{edge}')
        self._unbalanced = -1
        self._long: list[tuple[int, int]] | None = None

    def row(self, start: int) -> int:
        """The end of the row that starts at ``start``, after its line feed."""
        text = self.text
        end, at = _line_end(text, start), start
        while (at := text.find('"', at, end)) >= 0:
            before = text[at - 1] if at else ""
            if at == start or before in self._openers or (before == " " and text[at - 2 : at] == self._spaced):
                field = self._field.match(text, at)
                if field:
                    at = field.end()
                    if at > end:
                        end = _line_end(text, at)
                    continue
                if self._unbalanced < 0:
                    self._unbalanced = at
            at += 1
        return end

    def long(self) -> list[tuple[int, int]]:
        """The rows of several lines, in order. Only a line with an odd number of quotes can begin one."""
        if self._long is None:
            self._long = []
            done = 0
            for start, line in _lines(self.text) if '"' in self.text else ():
                if start >= done and line.count('"') & 1:
                    done = self.row(start)
                    if done > start + len(line):
                        self._long.append((start, done))
        return self._long

    def damage(self) -> int:
        """Where the first field begins whose quote is never closed, or -1; such a quote is an ordinary character."""
        self.long()
        return self._unbalanced


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for piece in text.split("\n"):
        yield start, piece + "\n"
        start += len(piece) + 1


def _line_end(text: str, at: int) -> int:
    """After the line feed that ends the line of ``at``."""
    return text.find("\n", at) + 1 or len(text)


def _sample(text: str, base: int) -> list[str]:
    """The first lines that hold something, without what is in quotes."""
    head = QUOTED.sub("x", text[base : base + SAMPLE_SIZE])
    return [line for line in head.split("\n") if line.strip()][:SAMPLE_LINES]


def _delimiter(sample: list[str], named: str) -> tuple[str, int]:
    """The character that stands equally often in most lines, and how often; ``named`` if it occurs at all."""

    def rank(delimiter: str) -> tuple[int, int]:
        counts = Counter(n for line in sample if (n := line.count(delimiter)))
        return max(((lines, n) for n, lines in counts.items()), default=(0, 0))

    if named and rank(named)[1]:
        return named, rank(named)[1]
    best = max(DELIMITERS, key=rank)
    return best, rank(best)[1]


def _header(rows: _Rows, base: int, count: int) -> tuple[int, int]:
    """The range of the first row of the table: the first that has its number of cells, more than one of them filled."""
    text, delimiter = rows.text, rows.delimiter
    first: tuple[int, int] | None = None
    start = base
    for _ in range(SAMPLE_LINES):
        if start >= len(text):
            break
        end = rows.row(start)
        row = QUOTED.sub("x", text[start : min(end, start + SAMPLE_SIZE)])
        if row.strip():
            first = first or (start, end)
            if count and row.count(delimiter) == count and row.strip().strip(delimiter).count(delimiter):
                return start, end
            if not count and row[0] != "#":
                return start, end
        start = end
    return first or (base, len(text))


def _numeric(row: str, delimiter: str) -> bool:
    """Whether every filled cell is a number or a date: then the row is data, and no header."""
    cells = [cell.strip(' "\r\n') for cell in row[:SAMPLE_SIZE].split(delimiter)]
    return all(len(cell) < LONGEST_NUMBER and NUMBER.match(cell) for cell in cells if cell)


def _children(rows: _Rows, start: int, body: int) -> list[Span]:
    """The header, then by turns the lines between and the rows that are longer than a line."""
    spans = [Span(start, body, "row", Strength.ITEM, glue=Glue.NEXT)] if body > start else []
    end = len(rows.text)
    at = body
    for low, high in rows.long():
        if low < body:
            continue
        if at < low:
            spans.append(Span(at, low, "text", Strength.ITEM))
        spans.append(Span(low, high, "row", Strength.ITEM))
        at = high
    if at < end:
        spans.append(Span(at, end, "text", Strength.ITEM))
    return spans
