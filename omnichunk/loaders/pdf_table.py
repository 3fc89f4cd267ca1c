"""Tables: stretches of lines whose cells stand below one another."""

from __future__ import annotations

from omnichunk.loaders.pdf_prose import Paragraph
from omnichunk.loaders.pdf_text import Line

ROWS = 3
"""Lines with cells that make a table; two may be chance."""
LONG = 60
"""Mean characters of a cell above which it is prose that happens to be divided."""


def mark_tables(lines: list[Line]) -> list[Line | Paragraph]:
    """``lines`` with every stretch that is a table made one paragraph of that kind."""
    marked: list[Line | Paragraph] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end].cells and not lines[end].level and _aligned(lines, start, end):
            end += 1
        rows = lines[start:end]
        if len(rows) >= ROWS and sum(len(c.text) for r in rows for c in r.cells) < LONG * sum(
            len(r.cells) for r in rows
        ):
            for row in rows:
                row.kind = "row"
            marked.append(Paragraph(rows, "table", rows[0].u1, _is_header(rows)))
        else:
            end = max(end, start + 1)
            marked += lines[start:end]
        start = end
    return marked


def _aligned(lines: list[Line], start: int, end: int) -> bool:
    """Whether the row at ``end`` goes on with the table that begins at ``start``: two of its cells stand under others."""
    if end == start:
        return True
    row, last = lines[end], lines[end - 1]
    if row.turn != last.turn or not 0 < row.v - last.v < 4 * max(row.size, last.size):
        return False
    near = max(row.size, last.size)
    under = sum(any(a.u0 - near < b.u0 < a.u1 or a.u0 < b.u1 < a.u1 + near for a in last.cells) for b in row.cells)
    return under >= 2


def _is_header(rows: list[Line]) -> bool:
    """Whether the first row has no number while most of the others have one."""
    if any(c.isdigit() for c in rows[0].text):
        return False
    return sum(any(c.isdigit() for c in row.text) for row in rows[1:]) * 2 > len(rows) - 1
