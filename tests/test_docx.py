"""The DOCX loader: what is read and in which order, where it says it stands, and what damage and malice do."""

from __future__ import annotations

import io
import sys
import zipfile
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnichunk import Chunker, ChunkingError, LoadError, MissingDependencyError, PluginRegistry
from omnichunk.loaders import docx as loader
from omnichunk.loaders import docx_package
from omnichunk.loaders.docx_numbering import formatted
from omnichunk.model.document import Source, checked

NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)
TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def xml(tag, inside):
    return f"<w:{tag} {NAMES}>{inside}</w:{tag}>"


def docx(body, links=(), **parts):
    """A document with this body; ``styles=`` and the like are the insides of other parts, ``links`` their relations."""
    files = {"word/document.xml": xml("document", f"<w:body>{body}</w:body>")}
    for name, inside in parts.items():
        files[f"word/{name}.xml"] = inside if inside.startswith("<?") else xml(name, inside)
    rows = "".join(f'<Relationship Id="{i}" Type="{TYPES}/{t}" Target="{to}" {more}/>' for i, t, to, more in links)
    files["word/_rels/document.xml.rels"] = f"<Relationships>{rows}</Relationships>"
    return packed(files)


def packed(files, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def p(text, properties=""):
    return f"<w:p><w:pPr>{properties}</w:pPr>{r(text)}</w:p>"


def r(text, properties=""):
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def styled(text, style):
    return p(text, f'<w:pStyle w:val="{style}"/>')


def style(key, name, inside="", based=""):
    base = f'<w:basedOn w:val="{based}"/>' if based else ""
    return (
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/>{base}<w:pPr>{inside}</w:pPr></w:style>'
    )


def table(*rows, properties=""):
    """Rows of cells; a cell is text, or XML of its own."""
    lines = ("".join(c if c.startswith("<w:tc>") else f"<w:tc>{p(c)}</w:tc>" for c in row) for row in rows)
    return f"<w:tbl><w:tblPr>{properties}</w:tblPr>{''.join(f'<w:tr>{line}</w:tr>' for line in lines)}</w:tbl>"


def cell(text, properties):
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(text)}</w:tc>"


def load(data, **options):
    return checked(loader.load(Source("a.docx", data, options=options)), "a.docx")


def text_of(body, **parts):
    return load(docx(body, **parts)).text


def blocks(loaded, *kinds):
    return [(b.kind, loaded.text[b.char_start : b.char_end]) for b in loaded.blocks if b.kind in kinds]


def test_order_and_positions():
    loaded = load(docx(p("Before.") + p("") + table(["a", "b"], ["1", "2"]) + p("After.")))
    assert loaded.text == "Before.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nAfter.\n"
    assert [(loaded.text[s.char_start : s.char_end].strip(), dict(s.metadata)) for s in loaded.segments] == [
        ("Before.", {"paragraph": 1}),
        ("| a | b |\n| --- | --- |", {"table": 1, "row": 1}),
        ("| 1 | 2 |", {"table": 1, "row": 2}),
        ("After.", {"paragraph": 3}),
    ]
    assert (loaded.metadata["paragraphs"], loaded.metadata["tables"]) == (3, 1)


STYLES = (
    style("H1", "heading 1", '<w:outlineLvl w:val="0"/>')
    + style("berschrift2", "Überschrift 2")
    + style("Own", "Kapitel", '<w:outlineLvl w:val="2"/>')
    + style("Sub", "Section title", based="H1")
    + style("Toc", "TOC Heading", '<w:outlineLvl w:val="9"/>', based="H1")
    + style("HeadB", "HeadB")
    + style("Title", "Title")
    + style("Loop", "loop", based="Pool")
    + style("Pool", "pool", based="Loop")
    + style("Code", "Source Code")
    + style("CodeCaption", "Code Caption")
    + style("Quote", "Quote")
)


@pytest.mark.parametrize(
    ("key", "level"),
    [("H1", 1), ("berschrift2", 2), ("Own", 3), ("Sub", 1), ("Toc", 0), ("HeadB", 2), ("Title", 1), ("Loop", 0),
     ("Heading4", 4), ("標題 3", 3), ("Normal", 0)],
)  # fmt: skip
def test_headings_by_style(key, level):
    loaded = load(docx(styled("Words", key), styles=STYLES))
    assert [b.level for b in loaded.blocks if b.kind == "heading"] == ([level] if level else [])


def test_headings_by_outline_level_and_what_is_none():
    outline = '<w:outlineLvl w:val="%d"/>'
    loaded = load(
        docx(
            p("Two", outline % 1)
            + p("Body", '<w:pStyle w:val="H1"/>' + outline % 9)
            + styled("word " * 100, "H1")
            + table([f"<w:tc>{styled('Cell', 'H1')}</w:tc>", "b"])
            + styled("", "H1"),
            styles=STYLES,
        )
    )
    assert blocks(loaded, "heading") == [("heading", "Two\n")]


def test_paragraphs_of_code_are_one_block_and_quotes_are_told_apart():
    loaded = load(
        docx(styled("def f():", "Code") + styled("    pass", "Code") + styled("Fig.", "CodeCaption")
             + styled("Said.", "Quote"), styles=STYLES)
    )  # fmt: skip
    assert loaded.text == "def f():\n    pass\n\nFig.\n\nSaid.\n"
    assert blocks(loaded, "code", "quote") == [("code", "def f():\n    pass\n"), ("quote", "Said.\n")]


def levels(*described):
    return "".join(
        f'<w:lvl w:ilvl="{i}"><w:start w:val="1"/><w:numFmt w:val="{f}"/><w:lvlText w:val="{t}"/>{more}</w:lvl>'
        for i, (f, t, *rest) in enumerate(described)
        for more in ["".join(rest)]
    )


def numbered(text, key, depth=0):
    return p(text, f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{key}"/></w:numPr>')


NUMBERING = (
    f'<w:abstractNum w:abstractNumId="0">{levels(("decimal", "%1."), ("lowerLetter", "%1.%2)"), ("bullet", "•"))}'
    "</w:abstractNum>"
    f'<w:abstractNum w:abstractNumId="1">{levels(("upperRoman", "Part %1"), ("decimal", "%1.%2", "<w:isLgl/>"))}'
    "</w:abstractNum>"
    f'<w:abstractNum w:abstractNumId="2"><w:styleLink w:val="Mine"/>{levels(("decimal", "(%1)"))}</w:abstractNum>'
    '<w:abstractNum w:abstractNumId="3"><w:numStyleLink w:val="Mine"/></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/>'
    "</w:lvlOverride></w:num>"
    '<w:num w:numId="3"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="4"><w:abstractNumId w:val="3"/></w:num>'
)


def test_numbers_are_counted_as_word_does():
    body = (
        numbered("a", 1) + numbered("b", 1, 1) + numbered("c", 1, 1) + numbered("d", 1, 2) + numbered("e", 1)
        + numbered("f", 1, 1) + p("Between.") + numbered("g", 1) + numbered("h", 2) + numbered("i", 2)
        + p("Between.") + numbered("j", 3) + numbered("k", 3, 1) + numbered("l", 4) + numbered("none", 9)
    )  # fmt: skip
    loaded = load(docx(body, numbering=NUMBERING))
    assert loaded.text.split("\n\n") == [
        "1. a\n  1.a) b\n  1.b) c\n    - d\n2. e\n  2.a) f",
        "Between.",
        "3. g\n7. h\n8. i",
        "Between.",
        "Part I j\n  1.1 k\n(1) l",
        "none\n",
    ]
    assert blocks(loaded, "item")[0] == ("item", "1. a\n  1.a) b\n  1.b) c\n    - d\n")
    assert len(blocks(loaded, "list")) == 3


def test_styles_bring_numbers_and_headings_show_them():
    styles = style("H1", "heading 1", '<w:numPr><w:numId w:val="3"/></w:numPr>') + style(
        "H2", "heading 2", '<w:numPr><w:ilvl w:val="1"/></w:numPr>', based="H1"
    )
    loaded = load(docx(styled("One", "H1") + styled("Sub", "H2") + p("x"), styles=styles, numbering=NUMBERING))
    assert blocks(loaded, "heading") == [("heading", "Part I One\n"), ("heading", "1.1 Sub\n")]
    off = p("Two", '<w:pStyle w:val="H1"/><w:numPr><w:numId w:val="0"/></w:numPr>')
    assert text_of(off, styles=styles, numbering=NUMBERING) == "Two\n"


@pytest.mark.parametrize(
    ("count", "kind", "written"),
    [(4, "decimal", "4"), (4, "decimalZero", "04"), (27, "lowerLetter", "aa"), (3, "upperLetter", "C"),
     (1994, "lowerRoman", "mcmxciv"), (9, "upperRoman", "IX"), (10**8, "upperRoman", "100000000"),
     (10**8, "lowerLetter", "100000000"), (12, "ordinal", "12th"), (22, "ordinal", "22nd"), (5, "none", ""),
     (11, "chineseCounting", "十一"), (105, "japaneseCounting", "一百〇五"), (20, "ideographDigital", "二〇"),
     (3, "decimalEnclosedCircle", "③"), (2, "russianUpper", "Б"), (12, "decimalFullWidth", "１２"), (-3, "lowerRoman", "-3"),
     (0, "lowerLetter", "0")],
)  # fmt: skip
def test_number_formats(count, kind, written):
    assert formatted(count, kind) == written


def test_merged_cells_stand_once_and_columns_stay_in_line():
    merged = table(
        [cell("a", '<w:gridSpan w:val="2"/>'), cell("b", '<w:vMerge w:val="restart"/>')],
        ["1", "2 | 3", cell("no", "<w:vMerge/>")],
    )
    assert text_of(merged) == "| a |  | b |\n| --- | --- | --- |\n| 1 | 2 \\| 3 |  |\n"
    wide = table([cell("a", '<w:gridSpan w:val="999999999"/>')], ["b"])
    assert len(text_of(wide)) < 1000


def test_nested_tables_boxes_and_titles():
    nested = f"<w:tc>{p('x')}{table(['1', '2'], ['3', '4'])}{p('y')}</w:tc>"
    assert text_of(table(["a", "b"], [nested, "c"])) == "| a | b |\n| --- | --- |\n| x 1, 2; 3, 4 y | c |\n"
    loaded = load(docx(table([f"<w:tc>{p('One.')}{table(['a', 'b'], ['1', '2'])}</w:tc>"]) + p("Two.")))
    assert loaded.text == "One.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nTwo.\n"
    assert [dict(s.metadata) for s in loaded.segments][-2:] == [{"table": 1, "row": 1}, {"paragraph": 1}]
    title = table([cell("All of it", '<w:gridSpan w:val="2"/>')], ["a", "b"], ["1", "2"])
    assert text_of(title).splitlines()[2] == "| --- | --- |"
    assert text_of(table(["a", "b"])) == "| a | b |\n"
    assert text_of(table(["", ""], ["", ""])) == ""


def test_header_rows_that_are_marked():
    marked = "<w:trPr><w:tblHeader/></w:trPr>"
    body = table(["a"], ["b"], ["c"], properties='<w:tblCaption w:val="Prices"/>').replace(
        "<w:tr>", f"<w:tr>{marked}", 2
    )
    loaded = load(docx(body))
    assert loaded.text == "| a |\n| b |\n| --- |\n| c |\n"
    (block,) = (b for b in loaded.blocks if b.kind == "table")
    assert (block.name, block.header) == ("Prices", (0, 20))


def test_a_table_goes_on_with_its_header_and_a_section_with_its_path():
    rows = [["Part", "Price"], *([f"bolt {i}", f"{3 * i} EUR"] for i in range(30))]
    body = styled("Terms", "H1") + p("Words.") + table(*rows)
    made = Chunker(max_chunk_size=200).chunk_bytes("a.docx", docx(body, styles=STYLES))
    tables = [c for c in made if "bolt" in c.text]
    assert len(tables) > 3
    assert all("| Part | Price |\n| --- | --- |\n" in c.contextualized_text for c in tables)
    assert all(c.context.heading_hierarchy == ("Terms",) for c in made)
    chunk = next(c for c in tables if "bolt 25 " in c.text)
    assert "75 EUR" in chunk.text
    assert chunk.locate(chunk.text.index("bolt 25")).position == {"table": 1, "row": 27}
    assert made[0].locate(made[0].text.index("Words")).position == {"paragraph": 2}


FIELD = '<w:r><w:fldChar w:fldCharType="%s"/></w:r>'
BEGIN, SEPARATE, END = (FIELD % kind for kind in ("begin", "separate", "end"))
INSTRUCTION = "<w:r><w:instrText>%s</w:instrText></w:r>"


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r>", "a\tb\nc\u2011d"),
        (r("a") + f"<w:ins>{r('b')}</w:ins><w:moveTo>{r('c')}</w:moveTo><w:moveFrom>{r('d')}</w:moveFrom>", "abc"),
        ("<w:del><w:r><w:delText>x</w:delText></w:r></w:del>" + r("y"), "y"),
        (f"<w:smartTag>{r('a')}</w:smartTag><w:customXml><w:customXmlPr/>{r('b')}</w:customXml>", "ab"),
        (f"<w:sdt><w:sdtPr><w:alias/></w:sdtPr><w:sdtContent>{r('a')}</w:sdtContent></w:sdt>", "a"),
        (f'<w:fldSimple w:instr="DATE">{r("May")}</w:fldSimple>', "May"),
        (BEGIN + INSTRUCTION % "DATE" + SEPARATE + r("May") + END + r("!"), "May!"),
        (BEGIN + INSTRUCTION % "IF" + BEGIN + SEPARATE + r("x") + END + SEPARATE + r("yes") + END, "yes"),
        (BEGIN + r("gone") + END + r("kept"), "kept"),
        (END + SEPARATE + r("kept"), "kept"),
        ('<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="1"/></w:checkBox></w:ffData>'
         f"</w:fldChar></w:r>{END}{r(' on')}", "☒ on"),
        ("<w:r><w:sym w:font='Symbol' w:char='F061'/><w:sym w:font='Wingdings' w:char='F0FC'/>"
         "<w:sym w:font='Odd' w:char='F061'/><w:sym w:char='D800'/><w:sym w:char='zz'/><w:sym w:char='41'/></w:r>",
         "α✓���A"),
        ("<w:r><w:ruby><w:rubyPr/><w:rt>" + r("kan") + "</w:rt><w:rubyBase>" + r("漢") + "</w:rubyBase></w:ruby></w:r>",
         "漢(kan)"),
        (f"<mc:AlternateContent><mc:Choice>{r('a')}</mc:Choice><mc:Fallback>{r('b')}</mc:Fallback></mc:AlternateContent>",
         "a"),
        (f"<mc:AlternateContent><mc:Choice><w:x/></mc:Choice><mc:Fallback>{r('b')}</mc:Fallback></mc:AlternateContent>",
         "b"),
        (r("seen") + r("hidden", "<w:vanish/>") + r("too", '<w:vanish w:val="0"/>'), "seentoo"),
        (f"<w:unknown>{r('kept')}</w:unknown><!-- x --><?pi x?>", "kept"),
    ],
)  # fmt: skip
def test_what_stands_in_a_paragraph(inside, text):
    assert text_of(f"<w:p>{inside}</w:p>") == f"{text}\n"


def test_a_field_whose_result_never_comes_swallows_no_later_paragraph():
    assert text_of(f"<w:p>{BEGIN}</w:p>" + p("kept")) == "kept\n"
    toc = f"<w:p>{BEGIN}{INSTRUCTION % 'TOC'}{SEPARATE}{r('One')}</w:p>" + p("Two") + f"<w:p>{END}</w:p>" + p("Three")
    assert text_of(toc) == "One\n\nTwo\n\nThree\n"


def test_paragraphs_whose_mark_is_deleted_are_one():
    removed = "<w:rPr><w:del/></w:rPr>"
    body = p("One ", removed) + p("and two.") + p("Loose", removed) + table(["a", "b"]) + p("End", removed)
    assert text_of(body) == "One and two.\n\nLoose\n\n| a | b |\n\nEnd\n"


def test_deletions_as_an_option():
    body = (
        f"<w:p>{r('The ')}<w:del><w:r><w:delText>old </w:delText></w:r></w:del>{r('bridge')}</w:p>"
        + table(["1"], ["2"], ["3"]).replace("<w:tr>", "<w:tr><w:trPr><w:del/></w:trPr>", 2)
        + p("a", "<w:rPr><w:del/></w:rPr>")
        + p("b")
    )
    assert load(docx(body)).text == "The bridge\n\n3\n\nab\n"
    shown = load(docx(body), docx_deletions=True).text
    assert shown == "The old bridge\n\n| 1 |\n| --- |\n| 2 |\n| 3 |\n\na\n\nb\n"


def test_links_are_kept_beside_the_text():
    link = f'<w:p>{r("See ")}<w:hyperlink r:id="l1">{r("this")}</w:hyperlink></w:p>'
    field = f"<w:p>{BEGIN}{INSTRUCTION % ' HYPERLINK &quot;http://b&quot; '}{SEPARATE}{r('that')}{END}</w:p>"
    body = link + field + table([f"<w:tc>{link}</w:tc>", "x"])
    loaded = load(docx(body, [("l1", "hyperlink", "http://a", 'TargetMode="External"')]))
    assert loaded.text == "See this\n\nthat\n\n| See this | x |\n"
    assert [s.metadata.get("link") for s in loaded.segments] == ["http://a", "http://b", "http://a"]


def ref(kind, key):
    return f'<w:r><w:{kind}Reference w:id="{key}"/></w:r>'


NOTES = {
    "footnotes": f'<w:footnote w:id="0" w:type="separator"/><w:footnote w:id="5">{p("Foot.")}{p("More.")}</w:footnote>',
    "endnotes": f'<w:endnote w:id="1">{p("End.")}</w:endnote>',
    "comments": f'<w:comment w:id="7" w:author="Ann">{p("Really?")}</w:comment>',
}


def test_notes_follow_what_refers_to_them():
    body = (
        f"<w:p><w:pPr><w:pStyle w:val='H1'/></w:pPr>{r('Title')}{ref('footnote', 5)}</w:p>" + p("Body.")
        + f"<w:p>{r('End')}{ref('endnote', 1)}{ref('comment', 7)}{ref('footnote', 5)}</w:p>"
        + table([f"<w:tc><w:p>{r('x')}{ref('footnote', 9)}</w:p></w:tc>", "y"])
    )  # fmt: skip
    loaded = load(docx(body, styles=STYLES, **NOTES))
    assert loaded.text == (
        "Title[1]\n\nBody.\n\n[1] Foot.\nMore.\n\nEnd[i][1]\n\n[i] End.\n\n| x[2] | y |\n"
    )  # fmt: skip
    assert dict(loaded.segments[2].metadata) == {"paragraph": 1, "footnote": "1"}
    assert loaded.warnings == ("A footnote is referred to and missing.",)
    shown = load(docx(body, styles=STYLES, **NOTES), docx_comments=True)
    assert "[Comment by Ann] Really?\n" in shown.text
    assert blocks(shown, "comment") == [("comment", "[Comment by Ann] Really?\n")]


def test_a_note_that_refers_to_itself_ends():
    note = f'<w:footnote w:id="5"><w:p>{ref("footnote", 5)}{r("Foot.")}</w:p></w:footnote>'
    assert text_of(f"<w:p>{ref('footnote', 5)}</w:p>" * 2, footnotes=note) == "[1]\n\n[1] [1]Foot.\n\n[1]\n"


def test_headers_and_footers_as_an_option():
    body = (
        p("Body.")
        + '<w:sectPr><w:headerReference r:id="h"/><w:headerReference r:id="h"/><w:footerReference r:id="f"/></w:sectPr>'
    )
    links = [("h", "header", "hdr.xml", ""), ("f", "footer", "/word/ftr.xml", "")]
    data = docx(body, links, hdr=p("Top"), ftr=p("Bottom"))
    assert load(data).text == "Body.\n"
    loaded = load(data, docx_headers=True)
    assert loaded.text == "Top\n\nBody.\n\nBottom\n"
    assert [dict(s.metadata) for s in loaded.segments] == [{"header": 1}, {"paragraph": 1}, {"footer": 2}]


def box(*texts):
    return f"<w:r><w:pict><w:txbxContent>{''.join(p(t) for t in texts)}</w:txbxContent></w:pict></w:r>"


def test_text_boxes_follow_their_paragraph_once():
    both = f"<mc:AlternateContent><mc:Choice>{box('In', 'Box')}</mc:Choice><mc:Fallback>{box('In')}</mc:Fallback>"
    loaded = load(docx(f"<w:p>{both}</mc:AlternateContent>{r('Around')}</w:p>" + p("Next")))
    assert loaded.text == "Around\n\nIn\n\nBox\n\nNext\n"
    assert dict(loaded.segments[1].metadata) == {"paragraph": 1, "textbox": True}
    assert text_of(table([f"<w:tc><w:p>{box('b')}{r('a')}</w:p></w:tc>", "c"])) == "| a b | c |\n"


def test_smart_art():
    data = '<?xml version="1.0"?><d xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">' + "".join(
        f"<a:p><a:r><a:t>{t}</a:t></a:r></a:p>" for t in ("One", "", "Two")
    )
    links = [("d", "diagramData", "data.xml", "")]
    assert (
        load(docx('<w:p><w:r><dgm:relIds r:dm="d"/></w:r></w:p>' * 2, links, data=data + "</d>")).text == "One\nTwo\n"
    )


def m(tag, inside):
    return f"<m:{tag}>{inside}</m:{tag}>"


def mr(text):
    return f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (m("f", m("num", mr("a")) + m("den", mr("b") + mr("+c"))), "a/(b+c)"),
        (mr("E=m") + m("sSup", m("e", mr("c")) + m("sup", mr("2"))), "E=mc^2"),
        (m("sSub", m("e", mr("a")) + m("sub", mr("n"))) + mr("cos"), "a_n cos"),
        (m("rad", m("deg", "") + m("e", mr("x"))), "√x"),
        (m("nary", m("naryPr", '<m:chr m:val="∑"/>') + m("sub", mr("n=1")) + m("sup", mr("∞")) + m("e", mr("n"))),
         "∑_(n=1)^∞ n"),
        (m("d", m("dPr", '<m:begChr m:val="["/><m:endChr m:val="]"/>') + m("e", mr("x")) + m("e", mr("y"))), "[x|y]"),
        (m("m", m("mr", m("e", mr("1")) + m("e", mr("2"))) + m("mr", m("e", mr("3")) + m("e", mr("4")))), "[1, 2; 3, 4]"),
        (m("func", m("fName", m("limLow", m("e", mr("lim")) + m("lim", mr("x→0")))) + m("e", mr("f"))), "lim_(x→0) f"),
        (m("acc", m("e", mr("x"))), "x\u0302"),
        (m("eqArr", m("e", mr("a")) + m("e", mr("b"))), "a; b"),
        (m("box", m("e", mr("π"))), "π"),
    ],
)  # fmt: skip
def test_equations(inside, text):
    assert text_of(f"<w:p>{m('oMathPara', m('oMath', inside))}</w:p>") == f"{text}\n"
    assert text_of(m("oMath", inside)) == f"{text}\n"


def test_strict_documents_and_odd_packages():
    whole = docx(styled("One", "H1"), styles=STYLES)
    files = {
        i.filename: zipfile.ZipFile(io.BytesIO(whole)).read(i) for i in zipfile.ZipFile(io.BytesIO(whole)).infolist()
    }
    strict = {
        n: b.replace(
            b"schemas.openxmlformats.org/wordprocessingml/2006/main", b"purl.oclc.org/ooxml/wordprocessingml/main"
        )
        for n, b in files.items()
    }
    marked = {n: b"\xef\xbb\xbf" + b for n, b in files.items()}
    wide = {n: b.decode().encode("utf-16") for n, b in files.items()}
    odd = {n.replace("/", "\\").replace("word", "WORD"): b for n, b in files.items()}
    moved = {
        "_rels/.rels": f'<Relationships><Relationship Id="a" Type="{TYPES}/officeDocument" Target="/x/y.xml"/></Relationships>',
        "x/y.xml": files["word/document.xml"],
    }
    for made in (strict, marked, wide, odd):
        loaded = load(packed(made))
        assert loaded.text == "One\n"
        assert loaded.blocks[0].kind == "heading"
    assert load(packed(moved)).text == "One\n"


@pytest.mark.parametrize("suffix", [".docx", ".docm", ".dotx", ".DOTM"])
def test_suffixes(suffix):
    assert Chunker().chunk_bytes(f"a{suffix}", docx(p("One.")))[0].text.strip() == "One."


DTD = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
LAUGHS = "<!DOCTYPE x [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in zip("abcdefghi", "bcdefghij")
)
MAIN = "word/document.xml"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no Word document, or cut off"),
        (b"text", "no Word document, or cut off"),
        (docx(p("x"))[:-40], "no Word document, or cut off"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "encrypted document or one of the old binary format"),
        (packed({"a.txt": "x"}), "without word/document.xml"),
        (packed({MAIN: ""}), "word/document.xml is damaged"),
        (packed({MAIN: "<w:document"}), "word/document.xml is damaged"),
        (packed({MAIN: xml("document", "<w:body>")}), "word/document.xml is damaged"),
        (packed({MAIN: "<workbook/>"}), "its main part word/document.xml is a <workbook>"),
        (packed({MAIN: DTD + xml("document", f"<w:body>{p('&e;')}</w:body>")}), "declares a document type"),
        (packed({MAIN: LAUGHS + "]>" + xml("document", f"<w:body>{p('&j;')}</w:body>")}), "declares a document type"),
        (packed({MAIN: xml("document", "&#xD800;")}), "is damaged"),
        (packed({MAIN: xml("document", "<w:x>" * 5000)}), "is damaged"),
        (packed({MAIN: xml("document", p("x"))}, zipfile.ZIP_BZIP2), "packed with a method no Word document uses"),
    ],
)  # fmt: skip
def test_damage_is_named_with_a_remedy(data, message):
    with pytest.raises(LoadError, match=f"a.docx: .*{message}") as caught:
        load(data)
    assert str(caught.value).endswith((".", "processor."))


def test_bombs_are_refused_before_they_are_inflated(monkeypatch):
    monkeypatch.setattr(docx_package, "RATIO_FROM", 1 << 16)
    with pytest.raises(LoadError, match=r"inflated from \d+, more than a document can need"):
        load(docx(" " * 200_000))
    monkeypatch.setattr(docx_package, "MAX_TAGS", 1000)
    with pytest.raises(LoadError, match="more than 1000 tags"):
        load(docx("<w:p/>" * 2000))
    monkeypatch.setattr(docx_package, "MAX_PARTS", 2)
    with pytest.raises(LoadError, match="has 3 parts"):
        load(packed({"a": "", "b": "", "c": ""}))


def test_a_size_that_lies_is_damage():
    data = bytearray(docx(" " * 100_000))
    central = data.index(b"PK\x01\x02")
    data[central + 24 : central + 28] = (100).to_bytes(4, "little")
    with pytest.raises(LoadError, match=r"word/document\.xml is damaged"):
        load(bytes(data))


def test_what_can_be_missed_is_a_warning():
    loaded = load(docx(styled("One", "Heading1"), styles='<?xml version="1.0"?><broken'))
    assert loaded.text == "One\n"
    assert loaded.blocks[0].level == 1
    (warning,) = loaded.warnings
    assert warning.startswith("word/styles.xml is damaged")
    assert warning.endswith("Read without styles, so perhaps without headings.")
    assert load(docx(p("a") + "<w:altChunk/>" * 3)).warnings == (
        "An embedded document was left out; insert its text and save again.",
    )
    assert load(docx(f"<w:p>{r('x', '<w:vanish/>')}</w:p>")).warnings[0].startswith("Text formatted as hidden")
    assert load(docx(f"<w:p>{r('x', '<w:vanish/>')}</w:p>"), docx_hidden=True).text == "x\n"
    assert "only images (1)" in load(docx("<w:p/>", **{"media/a": "<?x?>"})).warnings[0]


def test_what_the_document_says_of_itself():
    core = '<c xmlns:dc="d"><dc:title>Report</dc:title><dc:creator> Ann </dc:creator><dc:revision>7</dc:revision></c>'
    body = xml("document", f"<w:body>{p('x')}</w:body>")
    loaded = load(packed({MAIN: body, "docProps/core.xml": core}))
    assert dict(loaded.metadata) == {"title": "Report", "creator": "Ann", "paragraphs": 1, "tables": 0}


def test_text_is_no_document():
    with pytest.raises(LoadError, match="a Word document is no text"):
        Chunker().chunk("a.docx", "text")


def test_without_lxml_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "lxml", None)
    with pytest.raises(MissingDependencyError, match=r'a\.docx: .*python-docx.*pip install "omnichunk\[docx\]"'):
        load(docx(p("x")))


def test_the_loader_is_found_by_content():
    assert PluginRegistry().loader_for(Source("unnamed", docx(p("x")))).name == "docx"


@pytest.mark.parametrize(
    "wrapper", ["<w:tbl><w:tr><w:tc>|</w:tc></w:tr></w:tbl>", "<w:sdt><w:sdtContent>|</w:sdtContent></w:sdt>"]
)
def test_deep_nesting_is_read(wrapper):
    before, after = wrapper.split("|")
    body = before * 300 + p("deep") + after * 300
    assert text_of(body) == "deep\n"
    assert "deep" in text_of(table([f"<w:tc>{body}</w:tc>", "x"]))


LEAVES = st.sampled_from(
    [p("Words of it."), p("one\ttwo"), styled("Head", "H1"), styled("x = 1", "Code"), numbered("i", 1), numbered("j", 1, 1),
     p("gone", "<w:rPr><w:del/></w:rPr>"), "<w:p/>", f"<w:p>{ref('footnote', 5)}</w:p>", f"<w:p>{BEGIN}</w:p>", r("loose"),
     f"<w:p>{box('boxed')}</w:p>", f"<w:p>{r('😀 é')}<w:r><w:br/><w:br/></w:r>{r('|')}</w:p>", m("oMath", mr("x"))]
)  # fmt: skip
WRAPPERS = st.sampled_from(
    ["<w:sdt><w:sdtContent>|</w:sdtContent></w:sdt>", "<w:tbl><w:tr><w:tc>|</w:tc><w:tc/></w:tr></w:tbl>", "<w:ins>|</w:ins>",
     "<w:tbl><w:tr><w:tc>|</w:tc></w:tr></w:tbl>", "<w:del>|</w:del>", "<w:tbl>|</w:tbl>",
     "<mc:AlternateContent><mc:Choice>|</mc:Choice><mc:Fallback>|</mc:Fallback></mc:AlternateContent>"]
)  # fmt: skip
BODIES = st.recursive(
    LEAVES,
    lambda inner: st.tuples(WRAPPERS, st.lists(inner, max_size=4)).map(lambda t: t[0].replace("|", "".join(t[1]))),
    max_leaves=20,
)


@given(st.lists(BODIES, max_size=6).map("".join), st.sampled_from([20, 90, 1500]))
@settings(max_examples=60, deadline=None)
def test_any_body_becomes_a_document_that_holds(body, limit):
    data = docx(body, styles=STYLES, numbering=NUMBERING, **NOTES)
    loaded = load(data)
    assert load(data) == loaded
    at = 0
    for segment in loaded.segments:
        assert segment.char_start == at
        at = segment.char_end
    assert at == len(loaded.text)
    made = Chunker(max_chunk_size=limit, min_chunk_size=0, coverage_policy="lossless").chunk_bytes("a.docx", data)
    assert "".join(c.text for c in made) == loaded.text
    assert all(len(c.contextualized_text) <= limit for c in made)


WHOLE = docx(styled("One", "H1") + table(["a", "b"], ["1", "2"]) + numbered("x", 1), styles=STYLES, numbering=NUMBERING)


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=8))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_bytes_are_a_document_or_a_load_error(changes):
    data = bytearray(WHOLE)
    for at, byte in changes:
        data[at] = byte
    with suppress(ChunkingError):
        load(bytes(data))
