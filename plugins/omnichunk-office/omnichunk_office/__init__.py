"""PowerPoint and Excel for omnichunk: slides with tables and notes, sheets as tables under their header rows."""

from __future__ import annotations

from collections.abc import Iterable

from omnichunk import LoadedDocument, Loader, Source, hookimpl

_OPENXML = "application/vnd.openxmlformats-officedocument."


def load_pptx(source: Source) -> LoadedDocument:
    """See ``omnichunk_office.slides``, which is imported, with python-pptx, when the first file is read."""
    from omnichunk_office.slides import load

    return load(source)


def load_xlsx(source: Source) -> LoadedDocument:
    """See ``omnichunk_office.sheets``, which is imported, with openpyxl, when the first file is read."""
    from omnichunk_office.sheets import load

    return load(source)


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """The loaders of presentations and of workbooks."""
    bound = {"office_max_bytes": 500_000_000}
    yield Loader(
        "office-pptx",
        load_pptx,
        (".pptx", ".pptm"),
        (_OPENXML + "presentationml.presentation",),
        options={**bound, "pptx_notes": True},
        binary=True,
    )
    yield Loader(
        "office-xlsx",
        load_xlsx,
        (".xlsx", ".xlsm", ".xltx", ".xltm"),
        (_OPENXML + "spreadsheetml.sheet",),
        options={**bound, "xlsx_header": True, "xlsx_hidden": True, "xlsx_max_cells": 20_000_000},
        binary=True,
    )
