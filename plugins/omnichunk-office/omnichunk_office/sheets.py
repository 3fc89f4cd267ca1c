"""Workbooks: each sheet a section, its rows a table under the header row."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from io import BytesIO
from typing import Any

from openpyxl import load_workbook

from omnichunk import DocumentBuilder, LoadedDocument, LoadError, Source
from omnichunk_office.package import opened, reading

LAST_ROW = 1_048_576
"""Of a sheet, in Excel; a damaged number beyond it would be counted up to."""
Row = tuple[int, tuple[Any, ...]]
"""Number, as the sheet shows it, and values."""
_UNCALCULATED = re.compile(rb"(?:</f>|<f\b[^<>]*/>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")


def load(source: Source) -> LoadedDocument:
    """Every sheet in order; each row is a segment with its ``sheet`` and ``row``, a hidden sheet's are marked ``hidden``.

    Cells show their values. Where a program has written formulas and never calculated them, they show the formulas, and
    a warning says so. Raises LoadError for a damaged workbook and for more than ``xlsx_max_cells`` cells.
    """
    archive = opened(source)
    builder = DocumentBuilder("xlsx")
    with reading(source):
        uncalculated = _uncalculated(archive)
        workbook = load_workbook(archive, read_only=True, data_only=not uncalculated)
        sheets = workbook.worksheets
    if uncalculated:
        builder.warnings.append("formulas were never calculated; cells show the formulas instead of their values")
    room = int(str(source.options["xlsx_max_cells"]))
    for sheet in sheets:
        hidden = sheet.sheet_state != "visible"
        if hidden and not source.options["xlsx_hidden"]:
            builder.warnings.append(f"sheet {sheet.title}: is hidden and was left out")
            continue
        with reading(source, f"sheet {sheet.title}"):
            sheet.reset_dimensions()
            rows = []
            for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
                if number > LAST_ROW:
                    raise LoadError(
                        f"{source.name}: sheet {sheet.title}: a row is numbered beyond {LAST_ROW:,}, the last there can be. "
                        "Save the workbook anew."
                    )
                room -= len(values) + 1
                if room < 0:
                    raise LoadError(
                        f"{source.name}: sheet {sheet.title}: row {number}: more cells than xlsx_max_cells. "
                        "Raise that option if you trust the file."
                    )
                if _filled(values):
                    rows.append((number, values))
            _add_sheet(
                builder, sheet.title, rows, {"hidden": True} if hidden else {}, bool(source.options["xlsx_header"])
            )
    return builder.document(sheets=[sheet.title for sheet in sheets])


def _uncalculated(archive: BytesIO) -> bool:
    """Whether some cell has a formula and no value."""
    with zipfile.ZipFile(archive) as files:
        for name in files.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                with files.open(name) as file:
                    tail = b""
                    while block := file.read(1 << 20):
                        if _UNCALCULATED.search(tail + block):
                            return True
                        tail = block[-200:]
    return False


def _add_sheet(builder: DocumentBuilder, name: str, rows: list[Row], more: dict[str, object], headed: bool) -> None:
    """A heading, then what stands in the rows: lines of one cell as paragraphs, everything else as tables."""
    builder.at(sheet=name, **more)
    builder.add(name, "heading", level=1)
    for table in _tables(rows, headed):
        first = next((i for i, (_, values) in enumerate(table) if len(_filled(values)) > 1), 0)
        for number, values in table[:first]:
            builder.at(sheet=name, row=number, **more)
            builder.add(_shown(values[_filled(values)[0]]))
        used = sorted({column for _, values in table[first:] for column in _filled(values)})
        with builder.block("table", name=name):
            for i, (number, values) in enumerate(table[first:]):
                builder.at(sheet=name, row=number, **more)
                cells = [_shown(values[column]) if column < len(values) else "" for column in used]
                builder.row(cells, header=headed and i == 0 and _names(values))


def _tables(rows: list[Row], headed: bool) -> Iterator[list[Row]]:
    """The rows, parted where after empty ones a row stands that can be a header."""
    start = 0
    for i in range(1, len(rows)):
        if headed and rows[i][0] > rows[i - 1][0] + 1 and _names(rows[i][1]):
            yield rows[start:i]
            start = i
    if rows:
        yield rows[start:]


def _names(values: tuple[Any, ...]) -> bool:
    """Whether a row can name columns: at least two cells, all of them words and different."""
    words = [values[column] for column in _filled(values)]
    return len(words) > 1 and all(isinstance(word, str) for word in words) and len(set(words)) == len(words)


def _filled(values: tuple[Any, ...]) -> list[int]:
    """The columns, from 0, in which something stands."""
    return [column for column, value in enumerate(values) if value is not None and value != ""]


def _shown(value: Any) -> str:
    """A value as a reader expects it: no ``.0`` on whole numbers, no midnight on dates."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return value.isoformat() if isinstance(value, (date, time)) else str(value)
