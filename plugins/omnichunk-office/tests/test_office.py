"""Presentations and workbooks made on the spot, whole and damaged."""

from __future__ import annotations

import zipfile
from datetime import date, datetime
from io import BytesIO

import pytest
from openpyxl import Workbook
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

import omnichunk_office
from omnichunk import Chunker, LoadError, PluginRegistry, Source
from omnichunk.testing import check_loader
from omnichunk_office import sheets

REGISTRY = PluginRegistry(plugins=[omnichunk_office])
PPTX, XLSX = omnichunk_office.omnichunk_loaders()
BOX = (Inches(1), Inches(1), Inches(4), Inches(2))


def load(name, data, **options):
    return REGISTRY.load(Source(name, data, options=options))


def saved(file):
    data = BytesIO()
    file.save(data)
    return data.getvalue()


@pytest.fixture(scope="module")
def deck():
    """A slide of bullets with notes, a hidden one with a table, one with a chart and a group and no title."""
    deck = Presentation()
    deck.core_properties.title = "Growth"
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Why boxes\vgrow"
    first.placeholders[1].text = "They are fed\nEvery day"
    first.placeholders[1].text_frame.paragraphs[1].level = 1
    first.notes_slide.notes_text_frame.text = "Speak slowly."
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second._element.set("show", "0")
    second.shapes.title.text = "Sums"
    table = second.shapes.add_table(2, 2, *BOX).table
    for i, text in enumerate(("Box", "Size", "a", "1 | 2")):
        table.cell(i // 2, i % 2).text = text
    third = deck.slides.add_slide(deck.slide_layouts[6])
    data = CategoryChartData()
    data.categories = ["May", "June"]
    data.add_series("Size", (1.5, None))
    third.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *BOX, data)
    third.shapes.add_group_shape().shapes.add_textbox(*BOX).text_frame.text = "In a group"
    return saved(deck)


def workbook(rows=(), more=None):
    book = Workbook()
    book.active.title = "Boxes"
    for row in rows:
        book.active.append(row)
    for name, content in (more or {}).items():
        sheet = book.create_sheet(name)
        for row in content:
            sheet.append(row)
    return book


ROWS = [
    ["All boxes"], ["Name", "Size", "When"], ["a", 1.0, date(2026, 3, 2)], [], ["b", 0.1 + 0.2, datetime(2026, 3, 2, 9, 30)],
    ["c", True, None], [], [], ["Name", "Colour"], ["a", "red"],
]  # fmt: skip


def test_the_kit(deck):
    check_loader(PPTX, [("a.pptx", deck), ("empty.pptx", saved(Presentation()))])
    check_loader(XLSX, [("a.xlsx", saved(workbook(ROWS))), ("empty.xlsx", saved(workbook()))])


def test_slides(deck):
    loaded = load("a.pptx", deck)
    assert loaded.text == (
        "Why boxes grow\n\n- They are fed\n  - Every day\n\nSpeak slowly.\n\n"
        "Sums\n\n| Box | Size |\n| --- | --- |\n| a | 1 \\| 2 |\n\n"
        "|  | Size |\n| --- | --- |\n| May | 1.5 |\n| June |  |\n\nIn a group\n"
    )
    assert [dict(segment.metadata) for segment in loaded.segments] == [
        {"slide": 1},
        {"slide": 1, "notes": True},
        {"slide": 2, "hidden": True},
        {"slide": 3},
    ]
    assert loaded.metadata["title"] == "Growth"
    assert "Speak" not in load("a.pptx", deck, pptx_notes=False).text
    chunks = Chunker(REGISTRY, max_chunk_size=60).chunk_bytes("a.pptx", deck)
    assert chunks[0].context.heading_hierarchy == ("Why boxes grow",)


def test_sheets():
    """Captions, header, an empty row inside, another table after one that can be a header, numbers and dates."""
    loaded = load("a.xlsx", saved(workbook(ROWS, {"Other": [[1, 2], [3, 4]]})))
    assert loaded.text == (
        "Boxes\n\nAll boxes\n\n| Name | Size | When |\n| --- | --- | --- |\n| a | 1 | 2026-03-02 |\n"
        "| b | 0.3 | 2026-03-02 09:30:00 |\n| c | TRUE |  |\n\n| Name | Colour |\n| --- | --- |\n| a | red |\n\n"
        "Other\n\n| 1 | 2 |\n| 3 | 4 |\n"
    )
    rows = [(s.metadata["sheet"], s.metadata.get("row")) for s in loaded.segments]
    assert rows[:5] == [("Boxes", None), ("Boxes", 1), ("Boxes", 2), ("Boxes", 3), ("Boxes", 5)]
    assert [block.header is not None for block in loaded.blocks if block.kind == "table"] == [True, True, False]
    assert "---" not in load("a.xlsx", saved(workbook(ROWS)), xlsx_header=False).text


def test_a_long_sheet_repeats_its_header():
    rows = [["Name", "Size"], *([f"box {i}", i] for i in range(200))]
    chunks = Chunker(REGISTRY, max_chunk_size=300).chunk_bytes("a.xlsx", saved(workbook(rows)))
    assert len(chunks) > 10
    assert all("| Name | Size |\n| --- | --- |\n" in chunk.contextualized_text for chunk in chunks)
    assert chunks[-1].context.format_metadata["rows"][-1] == 201
    assert {chunk.context.table_header for chunk in chunks[1:]} == {"| Name | Size |\n| --- | --- |\n"}


def test_formulas_that_were_never_calculated():
    loaded = load("a.xlsx", saved(workbook([["Name", "Sum"], ["a", "=1+2"]])))
    assert "| a | =1+2 |" in loaded.text
    assert "never calculated" in loaded.warnings[0]


def test_hidden_sheets():
    book = workbook(ROWS, {"Secret": [["a", "b"]]})
    book["Secret"].sheet_state = "hidden"
    loaded = load("a.xlsx", saved(book))
    assert loaded.segments[-1].metadata == {"sheet": "Secret", "hidden": True, "row": 1}
    assert load("a.xlsx", saved(book), xlsx_hidden=False).warnings == ("sheet Secret: is hidden and was left out",)


def replaced(data, name, content):
    """The archive with another content for one of its files."""
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            new.writestr(member, content if member == name else old.read(member))
    return out.getvalue()


FAR = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)


@pytest.mark.parametrize("name", ["a.pptx", "a.xlsx"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is no zip archive, or a damaged one"),
        (b"\xd0\xcf\x11\xe0", "is encrypted or of an Office before 2007"),
        ("text", "is a zip archive, not text"),
        (saved(workbook(ROWS)).replace(b"[Content_Types]", b"[Content_Typos]"), "is damaged or of an unknown kind"),
    ],
)
def test_what_cannot_be_read_is_refused(name, data, message):
    with pytest.raises(LoadError, match=rf"^{name}: .*{message}"):
        load(name, data)


def test_bombs_are_refused():
    book = saved(workbook(ROWS))
    with pytest.raises(LoadError, match="more than office_max_bytes"):
        load("a.xlsx", replaced(book, "docProps/app.xml", b" " * 3_000_000), office_max_bytes=1_000_000)
    rows = "".join(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(1, 100))
    far = replaced(book, "xl/worksheets/sheet1.xml", FAR.format(rows))
    assert load("a.xlsx", far).text.startswith("Boxes\n\n| 1 |\n| 1 |\n")
    with pytest.raises(LoadError, match="sheet Boxes: row 62: more cells than xlsx_max_cells"):
        load("a.xlsx", far, xlsx_max_cells=1_000_000)


def test_a_row_is_not_numbered_beyond_the_last_there_can_be(monkeypatch):
    monkeypatch.setattr(sheets, "LAST_ROW", 1000)
    far = replaced(
        saved(workbook(ROWS)), "xl/worksheets/sheet1.xml", FAR.format('<row r="99999999"><c><v>1</v></c></row>')
    )
    with pytest.raises(LoadError, match="sheet Boxes: a row is numbered beyond 1,000, the last"):
        load("a.xlsx", far)


def test_a_broken_slide_is_a_warning(deck):
    broken = next(
        name for name in zipfile.ZipFile(BytesIO(deck)).namelist() if "charts/chart" in name and "rels" not in name
    )
    loaded = load("a.pptx", replaced(deck, broken, b"<x/>"))
    assert loaded.warnings[0].startswith("a.pptx: slide 3: is damaged or of an unknown kind")
    assert "Sums" in loaded.text
