"""The PDF loader: what is read, in which order, how it is joined, and what damage does."""

from __future__ import annotations

import io
import zlib
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnichunk import Chunker, ChunkingError, LoadError, PluginRegistry
from omnichunk.loaders import pdf as loader
from omnichunk.loaders import pdf_document
from omnichunk.loaders.pdf_repair import rebuilt
from omnichunk.model.document import Source, checked
from pdfs import HELVETICA, page, pdf, show


def load(data, **options):
    return checked(loader.load(Source("a.pdf", data, options=options)), "a.pdf")


def blocks(loaded, kind):
    return [loaded.text[b.char_start : b.char_end] for b in loaded.blocks if b.kind == kind]


def column(x, n=12, y=700, tag=""):
    return [(x, y - 13 * i, f"{tag}{i} fills all the width of its column") for i in range(n)]


def test_pages_labels_and_what_lies_between():
    labels = b"/PageLabels<</Nums[0<</S/r>>1<</S/D/St 7>>]>>"
    loaded = load(pdf([page("The ferry leaves the north pier at"), page("Seven."), page("Eight.")], catalog=labels))
    assert loaded.text == "The ferry leaves the north pier at\n\nSeven.\n\nEight."
    assert [dict(s.metadata) for s in loaded.segments] == [
        {"page": 1, "page_label": "i"},
        {"page": 2, "page_label": "7"},
        {"page": 3, "page_label": "8"},
    ]
    assert [loaded.text[s.char_start : s.char_end] for s in loaded.segments][1:] == ["Seven.", "Eight."]


def test_a_sentence_goes_on_over_the_page_break():
    loaded = load(pdf([page("The ferry leaves the north pier at"), page("seven each morn-"), page("ing, they say.")]))
    assert loaded.text == "The ferry leaves the north pier at seven each morning, they say."
    _, second, third = loaded.segments
    assert loaded.text[second.char_start : second.char_end] == "seven each morning,"
    assert loaded.text[third.char_start : third.char_end].strip() == "they say."
    assert len(blocks(loaded, "paragraph")) == 1


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["powerful capabili-", "ties are here"], "powerful capabilities are here"),
        (["that is well-", "known among experts"], "that is well-known among experts"),
        (["the state-of-the-", "art in the field"], "the state-of-the-art in the field"),
        (["both pre- and post-", "war towns, pre-", "and so on"], "both pre- and post-war towns, pre- and so on"),
        (["the North-", "South line of it"], "the North-South line of it"),
        (["the mail-server of the mail-", "server is down"], "the mail-server of the mail-server is down"),
        (["soft hy\xadphen and soft\xad", "ness too"], "soft hy\xadphen and softness too"),
    ],
)  # fmt: skip
def test_hyphens_at_line_ends(lines, text):
    assert load(pdf([page(*lines)])).text == text


def test_hyphens_stay_when_asked():
    assert load(pdf([page("many capabili-", "ties of it")]), pdf_dehyphenate=False).text == "many capabili-ties of it"


def test_paragraphs_by_space_indent_and_short_lines():
    stream = page("A first paragraph that fills the width of", "the text and then ends here.")
    stream += page("A second one after some more space is set", "in two lines as well, of full width here", y=670)
    stream += show(84, 640, "An indented one begins here, as in a book")
    assert len(blocks(load(pdf([stream])), "paragraph")) == 3


def test_short_lines_keep_their_ends():
    loaded = load(pdf([page("To whom it may concern, at the house of the mayor", "1 Main St", "Sunnyvale")]))
    assert loaded.text.endswith("1 Main St\nSunnyvale")


def test_columns_are_read_one_after_the_other_even_when_written_line_by_line():
    left, right = column(60, tag="L"), column(330, tag="R")
    title = show(60, 740, "A title that stands over both of the columns of the page, all across", 12)
    by_line = title + b"".join(show(*line) for pair in zip(left, right) for line in pair)
    by_column = title + b"".join(show(*line) for line in left + right)
    for stream in (by_line, by_column):
        text = load(pdf([stream])).text
        places = [text.index(f"{tag}{i} ") for tag in "LR" for i in range(12)]
        assert places == sorted(places)
        assert text.startswith("A title")


def test_a_header_written_last_and_a_footer_written_first():
    stream = show(300, 40, "footer") + page("Body text of the page.") + show(72, 770, "HEADER")
    assert load(pdf([stream])).text == "HEADER\n\nBody text of the page.\n\nfooter"


def test_running_lines_are_left_out_once_they_repeat():
    header = show(72, 770, "The Book of Ferries")
    pages = [header + page(f"Text {c} says so.") + show(300, 30, f"{i}") for i, c in enumerate("abcdefg", 1)]
    loaded = load(pdf(pages))
    assert loaded.text.count("The Book of Ferries") == 1
    assert loaded.text.endswith("Text g says so.")
    assert loaded.metadata["running_lines"] == {"The Book of Ferries": 6, "#": 7}
    assert load(pdf(pages), pdf_headers_footers=True).text.count("The Book of Ferries") == 7


def test_rows_at_the_edge_of_pages_are_no_running_lines():
    numbers = [page(*(f"{40 * i + j} {3 * j} {7 * j}.5" for j in range(30))) for i in range(5)]
    words = [page(*(f"Item {40 * i + j} costs {3 * j} euros" for j in range(30))) for i in range(5)]
    for pages, first in ((numbers, "{} 0 0.5"), (words, "Item {} costs 0 euros")):
        loaded = load(pdf(pages))
        assert "running_lines" not in loaded.metadata
        assert all(first.format(40 * i) in loaded.text for i in range(5))


def test_numbers_of_running_lines_count_with_the_pages_or_are_always_the_same():
    sides = ("Report of 2024", "Volume 3, page {}", "{} of 6")
    for text in sides:
        pages = [page(f"Text {c} says so.") + show(300, 30, text.format(i)) for i, c in enumerate("abcdef", 1)]
        loaded = load(pdf(pages))
        assert sum(text.format(i) in loaded.text for i in range(1, 7)) == 1 + 5 * ("{" not in text)
        assert sum(loaded.metadata["running_lines"].values()) == 5
    chapters = [page(f"Text {c} says so.") + show(72, 770, f"Chapter {1 + i // 3}") for i, c in enumerate("abcdef")]
    text = load(pdf(chapters)).text
    assert (text.count("Chapter 1"), text.count("Chapter 2")) == (1, 1)


def test_pages_that_say_nothing_else_keep_what_repeats():
    assert load(pdf([page("Same")] * 4)).text.count("Same") == 4


def test_tables_row_by_row_with_their_header():
    rows = [("Name", "City", "Amount"), ("Ann", "Oslo", "10"), ("Bob", "Rome", "20"), ("Cy", "Bern", "30")]
    cells = b"".join(show(72 + 150 * j, 700 - 14 * i, cell) for i, row in enumerate(rows) for j, cell in enumerate(row))
    loaded = load(pdf([cells]))
    (table,) = (b for b in loaded.blocks if b.kind == "table")
    assert blocks(loaded, "row") == [" ".join(row) for row in rows]
    assert loaded.text[slice(*table.header)] == "Name City Amount"


def test_cells_that_are_shown_one_by_one_are_a_row():
    rows = [("Name", "City", "Amount"), ("Ann", "Oslo", "10"), ("Bob", "Rome", "20"), ("Cy", "Bern", "30")]
    shown = b"".join(
        b"BT /F1 11 Tf 13 TL 1 0 0 1 %d %d Tm (%s) Tj T* ET\n" % (72 + 150 * j, 700 - 14 * i, cell.encode())
        for i, row in enumerate(rows)
        for j, cell in enumerate(row)
    )
    loaded = load(pdf([shown]))
    (table,) = (b for b in loaded.blocks if b.kind == "table")
    assert blocks(loaded, "row") == [" ".join(row) for row in rows]
    assert loaded.text[slice(*table.header)] == "Name City Amount"


def test_a_range_of_numbers_broken_at_a_line_end_is_joined():
    assert load(pdf([page("It was open in the years 1990-", "2000 and later, on all days but one.")])).text == (
        "It was open in the years 1990-2000 and later, on all days but one."
    )


def outlined(*titles):
    entries = [
        b"<</Title(%s)/Parent 4 0 R/Dest[%d 0 R/XYZ 0 %d 0]%s%s>>"
        % (
            title.encode(),
            5 + len(titles) + 2 * at,
            top,
            b"/Next %d 0 R" % (6 + i) if i + 1 < len(titles) else b"",
            b"/Prev %d 0 R" % (4 + i) if i else b"",
        )
        for i, (title, at, top) in enumerate(titles)
    ]
    root = b"<</Type/Outlines/First 5 0 R/Last %d 0 R/Count %d>>" % (4 + len(titles), len(titles))
    return {"catalog": b"/Outlines 4 0 R", "extra": [root, *entries]}


def test_the_outline_gives_headings_where_their_words_stand():
    pages = [
        page("Contents", "Ferries", "Trains") + page("1 Ferries", "They float on water.", y=600),
        page("They sink too.", "2 Trains", "They roll on rails."),
    ]
    found = load(pdf(pages, **outlined(("Ferries", 0, 612), ("Trains", 1, 710), ("Nowhere", 1, 0))))
    heads = [(found.text[b.char_start : b.char_end], b.name, b.level) for b in found.blocks if b.kind == "heading"]
    assert heads == [("1 Ferries", "Ferries", 1), ("2 Trains", "Trains", 1)]
    assert "Nowhere" not in found.text


def test_large_type_makes_headings_without_an_outline():
    body = ["Some body text that fills a line or two of the page,", "so that its size is the usual one here."]
    stream = show(72, 740, "The Title", 20) + page(*body) + show(72, 660, "A Section", 14) + page(*body, y=640)
    found = [(b.level, text) for b, text in zip(
        (b for b in load(pdf([stream])).blocks if b.kind == "heading"), blocks(load(pdf([stream])), "heading")
    )]  # fmt: skip
    assert found == [(1, "The Title"), (2, "A Section")]


def test_rotated_text_is_read_along_its_lines():
    stream = b"".join(
        b"BT /F1 11 Tf 0 1 -1 0 %d 100 Tm (Line %d of a turned page) Tj ET\n" % (100 + 14 * i, i) for i in range(4)
    )
    assert load(pdf([stream])).text == " ".join(f"Line {i} of a turned page" for i in range(4))


def test_ligatures_nul_and_doubled_print():
    cmap = b"1 begincodespacerange <00><ff> endcodespacerange 2 beginbfchar <01> <FB01> <02> <0000> endbfchar"
    font = HELVETICA[:-2] + b"/ToUnicode 4 0 R>>"
    stream = show(72, 700, "\x01nal\x02 word") + show(72.3, 700, "\x01nal\x02 word")
    extra = [b"<</Length %d>>\nstream\n%s\nendstream" % (len(cmap), cmap)]
    assert load(pdf([stream], font=font, extra=extra)).text == "final word"


@pytest.mark.parametrize(("name", "codec"), [("H", "jis"), ("90pv-RKSJ-H", "cp932"), ("KSCms-UHC-H", "cp949")])
def test_predefined_maps_pypdf_does_not_know(name, codec):
    word = "한국" if codec == "cp949" else "日本"
    raw = bytes(b & 0x7F for b in word.encode("euc_jp")) if codec == "jis" else word.encode(codec)
    below = b"<</Type/Font/Subtype/CIDFontType0/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(X)/Supplement 1>>>>"
    font = b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/%s/DescendantFonts[%s]>>" % (name.encode(), below)
    assert load(pdf([b"BT /F1 20 Tf 72 700 Td <%s> Tj ET" % raw.hex().encode()], font=font)).text == word


def test_form_values_and_comments():
    notes = [
        b"<</Subtype/Widget/FT/Tx/T(n)/V(Alice)/Rect[150 695 250 710]>>",
        b"<</Subtype/Widget/FT/Tx/T(p)/Ff 8192/V(secret)/Rect[150 675 250 690]>>",
        b"<</Subtype/Text/Contents(Check this.)/Rect[10 10 20 20]>>",
        b"<</Subtype/Text/F 2/Contents(Hidden.)/Rect[10 10 20 20]>>",
    ]
    stream = show(72, 698, "First name:") + show(72, 600, "The end of the form.")
    data = pdf([stream], extra=notes, on_page=b"/Annots[4 0 R 5 0 R 6 0 R 7 0 R]")
    loaded = load(data)
    assert loaded.text == "First name:\n\nAlice\n\nThe end of the form.\n\nCheck this."
    assert blocks(loaded, "comment") == ["Check this."]
    assert "Check" not in load(data, pdf_annotations=False).text


def test_pages_without_text_are_told_and_reject_nothing():
    image = b"/XObject<</I 4 0 R>>"
    data = pdf(
        [page("Text."), b"", b"/I Do"], extra=[b"<</Subtype/Image/Width 1/Height 1/Length 1>>\nstream\nx\nendstream"]
    )
    data = data.replace(b"/Font<</F1 3 0 R>>", b"/Font<</F1 3 0 R>>" + image)
    loaded = load(data)
    assert loaded.text == "Text."
    assert loaded.metadata["pages_without_text"] == [2, 3]
    assert any("pages 2-3" in w and "OCR" in w for w in loaded.warnings)
    scanned = load(pdf([b"/I Do"]))
    assert (scanned.text, scanned.segments) == ("", ())
    assert "page 1 has no text layer" in scanned.warnings[0]


def test_a_damaged_page_costs_only_itself():
    good, bad = page("This page is sound."), zlib.compress(page("lost"))[:-9] + b"junk"
    data = pdf([good, bad, good]).replace(b"<</Length %d>>" % len(bad), b"<</Filter/LZW2/Length %d>>" % len(bad))
    loaded = load(data)
    assert loaded.text.count("This page is sound.") == 2
    assert any(w.startswith("page 2 ") for w in loaded.warnings)


def encrypted(user, owner, algorithm):
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(pypdf.PdfReader(io.BytesIO(pdf([page("A secret text.")]))))
    writer.encrypt(user, owner, algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_encryption(algorithm):
    if algorithm.startswith("AES"):
        pytest.importorskip("cryptography")
    assert load(encrypted("", "boss", algorithm)).text == "A secret text."
    locked = encrypted("key", "boss", algorithm)
    with pytest.raises(LoadError, match="pdf_password="):
        load(locked)
    with pytest.raises(LoadError, match="wrong"):
        load(locked, pdf_password="no")
    assert load(locked, pdf_password="key").text == "A secret text."


def test_repair_of_lost_tables_and_catalogs():
    data = pdf([page("Still here."), page("Here too.")])
    for damaged in (
        data[: data.index(b"xref")],
        data.replace(b"/Type/Catalog", b"/Type/Catalxx")[: data.index(b"xref")],
    ):
        loaded = load(damaged)
        assert loaded.text == "Still here.\n\nHere too."
        assert any("rebuilt" in w for w in loaded.warnings)
    assert rebuilt(b"no object at all") is None


@pytest.mark.parametrize(
    "data", [b"", b"%PDF-1.4", b"x" * 5000, b"%PDF-1.7\n" + b"[" * 100_000, pdf([page("x")])[:200]]
)
def test_no_pdf_is_an_error_that_names_the_file(data):
    with pytest.raises(LoadError, match=r"a\.pdf"):
        load(data)


def test_text_is_no_pdf():
    with pytest.raises(LoadError, match="bytes"):
        Chunker().chunk("a.pdf", "some text")


def test_work_is_bounded(monkeypatch):
    monkeypatch.setattr(pdf_document, "OPERATIONS", 10)
    monkeypatch.setattr(pdf_document, "PAGE_COST", 0)
    many = b"0 g " * 30_000
    loaded = load(pdf([page("first") + many + page("late"), page("later")], compress=True))
    assert loaded.text == "first"
    assert any("out of proportion" in w and "page 1 of 2" in w for w in loaded.warnings)


def test_chunks_know_their_page():
    data = pdf([page("Alpha page text ends here."), page("Beta stands on the second sheet.")])
    chunks = Chunker(max_chunk_size=40, min_chunk_size=0).chunk_bytes("a.pdf", data)
    assert [c.context.format_metadata["page"] for c in chunks] == [1, 2]
    assert {c.source.normalization for c in chunks} == {"extracted"}


def test_it_is_found_by_suffix_type_and_content():
    registry = PluginRegistry()
    assert registry.loader_for(Source("a.PDF", b"")).name == "pdf"
    assert registry.loader_for(Source("a", b"%PDF-1.7")).name == "pdf"


SAMPLE = pdf(
    [page("One line of it", "and another-", "one") + show(300, 500, "cell"), page("Two.")], **outlined(("Two", 1, 0))
)
OPERATORS = [
    *(b"BT", b"ET", b"/F1 9 Tf", b"1 0 0 1 9 9 Tm", b"0 0 0 0 0 0 cm", b"1e38 0 0 -1 nan 9 Tm", b"(a-) Tj", b"T*"),
    *(b"[(b) -900 (c)] TJ", b"q", b"Q", b"(\\377\\000) '", b"9 Td", b"<< /A [", b"BI ID", b"/X Do", b'1 2 3 (x) "'),
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, len(SAMPLE)), st.binary(max_size=6), st.integers(0, 40)), max_size=5))
def test_any_damage_is_a_document_or_a_clear_error(edits):
    data = SAMPLE
    for at, new, cut in edits:
        data = data[:at] + new + data[at + cut :]
    with suppress(ChunkingError):
        load(data)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(OPERATORS), max_size=30))
def test_any_content_stream_gives_a_document(words):
    loaded = load(pdf([b"\n".join(words), page("end")]))
    assert "end" in loaded.text
