"""PDF files written out object by object, whole and damaged."""

from __future__ import annotations

import sys

import pytest

import omnichunk_pdfium
from omnichunk import Chunker, LoadError, MissingDependencyError, PluginRegistry, Source
from omnichunk.testing import check_loader

REGISTRY = PluginRegistry(plugins=[omnichunk_pdfium])
(LOADER,) = omnichunk_pdfium.omnichunk_loaders()


def pdf(*pages, outline=()):
    """A PDF whose pages show lines: ``(x, y, size, text)``; ``outline``: ``(title, page)`` pairs."""
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>",
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
    }
    kids = [10 + 2 * i for i in range(len(pages))]
    objects[2] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), b" ".join(b"%d 0 R" % k for k in kids))
    for kid, lines in zip(kids, pages):
        objects[kid] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R "
            b"/Resources << /Font << /F 3 0 R >> >> >>" % (kid + 1)
        )
        shown = b"\n".join(
            b"BT /F %d Tf %d %d Td (%s) Tj ET" % (size, x, y, text.encode("cp1252")) for x, y, size, text in lines
        )
        objects[kid + 1] = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown)
    marks = [1000 + i for i in range(len(outline))]
    objects[4] = b"<< /Type /Outlines %s >>" % (b"/First %d 0 R /Last %d 0 R" % (marks[0], marks[-1]) if marks else b"")
    for mark, (title, page) in zip(marks, outline):
        follows = b"/Next %d 0 R" % (mark + 1) if mark != marks[-1] else b""
        objects[mark] = b"<< /Title (%s) /Parent 4 0 R /Dest [%d 0 R /Fit] %s >>" % (
            title.encode(),
            kids[page],
            follows,
        )
    data, places = b"%PDF-1.4\n", {}
    for number, content in objects.items():
        places[number] = len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%d 1\n%010d 00000 n \n" % (number, place) for number, place in sorted(places.items()))
    end = b"xref\n0 1\n0000000000 65535 f \n%strailer << /Root 1 0 R /Size 2000 >>\nstartxref\n%d\n%%%%EOF\n" % (
        table,
        len(data),
    )
    return data + end


PAGES = (
    [
        (50, 700, 18, "1 Boxes"),
        (50, 660, 10, "Boxes are fed every day, and so they are grow-"),
        (50, 648, 10, "ing fast. The well-known IEEE-"),
        (50, 636, 10, "754 box is the fastest."),
        (62, 624, 10, "An indented paragraph begins here."),
        (50, 590, 10, "After a gap another one."),
    ],
    [],
    [(50, 700, 10, "Last words.")],
)
FILE = pdf(*PAGES, outline=[("Boxes", 0), ("Nowhere", 2)])


def load(data, **options):
    return REGISTRY.load(Source("a.pdf", data, options=options))


def test_the_kit():
    check_loader(LOADER, [("a.pdf", FILE), ("b.pdf", pdf([]))])


def test_paragraphs_headings_and_hyphens():
    loaded = load(FILE)
    assert "\r" not in loaded.text
    assert "\ufffe" not in loaded.text
    assert loaded.text == (
        "1 Boxes\n\nBoxes are fed every day, and so they are growing fast. The well-known IEEE-754 box is the fastest.\n\n"
        "An indented paragraph begins here.\n\nAfter a gap another one.\n\nLast words.\n\n"
    )
    assert [(block.kind, block.level) for block in loaded.blocks] == [("heading", 1), *[("paragraph", 0)] * 4]
    assert loaded.warnings == ("page 2: has no text; if it is a picture of one, it needs OCR",)
    assert loaded.metadata == {"pages": 3}


def test_every_line_has_its_page_and_box():
    loaded = load(FILE)
    assert len(loaded.segments) == 7
    left, bottom, right, top = loaded.segments[1].metadata["box"]
    assert 49 < left < 52
    assert 655 < bottom < 661
    assert 320 < right < 330
    assert 665 < top < 672
    assert [segment.metadata["page"] for segment in loaded.segments] == [1] * 6 + [3]
    chunks = Chunker(REGISTRY, max_chunk_size=130).chunk_bytes("a.pdf", FILE)
    assert chunks[0].context.heading_hierarchy == ("1 Boxes",)
    assert chunks[-1].context.format_metadata["page"] in (1, 3)


def test_the_plugin_takes_the_place_of_the_built_in_loader():
    assert REGISTRY.loader_for(Source("a.pdf", b"")).name == "pdfium"
    assert REGISTRY.loader_for(Source("paper", FILE)).name == "pdfium"


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "PDFium cannot open it"), (b"%PDF-1.4\n", "PDFium cannot open it"), ("text", "is bytes, not text")],
)
def test_what_cannot_be_read_is_refused(data, message):
    with pytest.raises(LoadError, match=rf"^a\.pdf: .*{message}"):
        load(data)


def test_damage_that_can_be_mended():
    """With a cross-reference table that points nowhere the file is read all the same."""
    damaged = FILE.replace(b"startxref\n", b"startxref\n9").replace(b"0000000", b"0000999")
    assert load(damaged).text == load(FILE).text


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(MissingDependencyError, match="pip install pypdfium2"):
        load(FILE)
