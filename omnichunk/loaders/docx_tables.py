"""Tables to rows of cells: merged cells once, in the first of their places; removed rows out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from omnichunk.loaders.docx_names import REMOVED, TBL, TC, TR, VAL, Element, W, child, inside, number, on, value

MAX_COLUMNS = 63
"""What Word allows; a cell that claims to span more is not believed."""
_REMOVED_CELL = f"{W}cellDel"
_SKIPPED = REMOVED | {f"{W}tblPr", f"{W}tblGrid", f"{W}trPr", f"{W}tcPr", f"{W}sdtPr", TBL}


class Row(NamedTuple):
    """One row. ``number``: 1-based in the table; ``cells``: those that have content, and ``None`` where one goes on."""

    number: int
    cells: Sequence[Element | None]
    header: bool


def rows(table: Element, *, deletions: bool) -> list[Row]:
    """The rows of a table; with ``deletions`` also those that were removed."""
    found = []
    for i, row in enumerate(inside(table, TR, _skipped(deletions)), 1):
        properties = child(row, f"{W}trPr")
        switches = {} if properties is None else {p.tag: p for p in properties}
        if f"{W}del" in switches and not deletions:
            continue
        head = switches.get(f"{W}tblHeader")
        found.append(Row(i, _cells(row, switches, deletions), head is not None and on(head)))
    return found


def _cells(row: Element, switches: dict[str, Element], deletions: bool) -> list[Element | None]:
    before, after = (_span(switches.get(f"{W}{name}"), 0) for name in ("gridBefore", "gridAfter"))
    cells: list[Element | None] = [None] * before
    for cell in inside(row, TC, _skipped(deletions)):
        properties = child(cell, f"{W}tcPr")
        said = {} if properties is None else {p.tag: p for p in properties}
        if _REMOVED_CELL in said and not deletions:
            continue
        merges = [said[tag] for tag in (f"{W}vMerge", f"{W}hMerge") if tag in said]
        goes_on = any(merge.get(VAL, "continue") == "continue" for merge in merges)
        cells.append(None if goes_on else cell)
        cells += [None] * (_span(said.get(f"{W}gridSpan"), 1) - 1)
    return cells + [None] * after


def _span(element: Element | None, default: int) -> int:
    return default if element is None else min(max(number(value(element), default), default), MAX_COLUMNS)


def _skipped(deletions: bool) -> frozenset[str]:
    return _SKIPPED - REMOVED if deletions else _SKIPPED


def headed(table: Sequence[Row]) -> int:
    """How many rows at the start are the header: those marked, else the first, with the one below a title over all."""
    if len(table) < 2:
        return 0
    marked = next((i for i, row in enumerate(table) if not row.header), 0)
    if marked:
        return marked
    first = table[0].cells
    title = len(table) > 2 and len(first) > 1 and first[0] is not None and not any(c is not None for c in first[1:])
    return 2 if title else 1


def caption(table: Element) -> str:
    """The title of a table, if it has one for readers who cannot see it."""
    properties = child(table, f"{W}tblPr")
    found = None if properties is None else child(properties, f"{W}tblCaption")
    return "" if found is None else value(found)
