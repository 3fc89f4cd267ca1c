"""HTML and XML to spans: outlines and blocks as data, the span contract on damaged and adversarial input."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Glue, Span
from omnichunk.structure.html import html_spans
from omnichunk.structure.xml import xml_spans


def walk(spans):
    for span in spans:
        yield from span.walk(open_all=True)


def html(text: str) -> list[Span]:
    return list(html_spans(StructureRequest(text, "html")).spans)


def xml(text: str) -> list[Span]:
    return list(xml_spans(StructureRequest(text, "xml")).spans)


def outline(spans):
    return [(s.detail.level, s.name) for s in walk(spans) if s.kind == "section"]


def kinds(spans, text):
    return [(s.kind, text[s.start : s.end].strip()) for s in spans]


def check_contract(spans, text):
    """Rules 1 and 2 of the span contract, children opened."""
    work = [(spans, 0, len(text))]
    while work:
        siblings, low, high = work.pop()
        for span in siblings:
            assert low <= span.start < span.end <= high
            low = span.end
            work.append((span.children, span.start, span.end))


OUTLINES = [
    ("<h1>A</h1>x<h2>B</h2>y<h1>C</h1>", [(1, "A"), (2, "B"), (1, "C")]),
    ("<div><h1>A</h1></div><div><p>x</p><h2>B</h2></div>", [(1, "A"), (2, "B")]),
    ("<H2 title='a > b'>A &amp; <b>B</B>\n <i>c</i></H2>", [(2, "A & B c")]),
    ("<h1>A</h1><nav><h2>no</h2></nav><footer><h3>no</h3></footer><h2>B</h2>", [(1, "A"), (2, "B")]),
    ("<div hidden><h1>no</h1></div><div style='display: none'><h1>no</h1></div><h1>yes</h1>", [(1, "yes")]),
    ("<template><h1>no</h1></template><aside><h2>no</h2></aside>", []),
    ("<header><h1>A</h1></header>", [(1, "A")]),
    ("<h1> <img src=x></h1><h2>&nbsp;</h2>", []),
    ("<h1>open <p>x</p><h2>B</h2>", [(1, "open"), (2, "B")]),
    ("<h1>A</h2>x<h2>B<h2>C</h2>", [(1, "A"), (2, "B"), (2, "C")]),
    ("<!-- <h1>no</h1> --><script>'<h1>no</h1>'</script><h1>A</h1>", [(1, "A")]),
    ("<table><tr><td><h1>A</h1>x<td><h2>B</h2></table>", [(1, "A"), (2, "B")]),
    ("<h1>H<sub>2</sub>O<br>x<script>no</script></h1>", [(1, "H2O x")]),
]


@pytest.mark.parametrize(("text", "expected"), OUTLINES)
def test_outline(text, expected):
    assert outline(html(text)) == expected


def test_section_holds_heading_and_blocks():
    text = "<h1>Node</h1><p>Text</p><h2>Settings</h2><pre><i>host</i> = alpha<br><i>mode</i> = Five<br></pre>"
    (top,) = html(text)
    assert [(s.kind, s.name) for s in top.children] == [("heading", "Node"), ("paragraph", ""), ("section", "Settings")]
    assert top.children[0].glue is Glue.NEXT
    assert kinds(top.children[2].children, text)[1] == ("code", text[text.index("<pre") :])


def test_text_between_elements_is_kept_apart():
    text = '<div>Head part: fee of <div style="display:inline"><b>12</b></div> euros, tail part</div>'
    assert kinds(html(text)[0].children, text) == [
        ("text", "<div>Head part: fee of"),
        ("element", '<div style="display:inline"><b>12</b></div>'),
        ("text", "euros, tail part</div>"),
    ]


def test_implied_ends():
    text = "<ul><li>a<ul><li>b<li>c</ul><li>d</ul><p>one<p>two<div>x</div>"
    (listed, one, two, box) = html(text)
    assert [text[s.start : s.end] for s in listed.children] == ["<li>a<ul><li>b<li>c</ul>", "<li>d"]
    assert [s.kind for s in (one, two, box)] == ["paragraph", "paragraph", "element"]


def test_table_repeats_its_header():
    for head in ("<thead><tr><th>k<th>v</thead>", "<tr><th>k</th><th>v</th></tr>"):
        text = f"<table><caption>Facts</caption>{head}<tr><td>1<td>2<tr><td>3<td>4</table>"
        (table,) = html(text)
        assert table.name == "Facts"
        assert table.detail.label == "table"
        assert text[slice(*table.detail.carry)] == head
        rows = [s for s in table.children if s.kind == "row"]
        assert [bool(s.glue & Glue.NEXT) for s in rows] == [True, False, False]
    (table,) = html("<table><tr><th>k</th><td>v</td></tr></table>")
    assert table.detail is None


def test_terms_and_summaries_belong_to_what_follows():
    text = "<details><summary>S</summary><p>x</p></details><dl><dt>T<dd>D<dt>U</dt><dd>E</dd></dl>"
    glued = {text[s.start : s.end] for s in walk(html(text)) if s.glue & Glue.NEXT}
    assert glued == {"<summary>S</summary>", "<dt>T", "<dt>U</dt>"}


def test_scripts_and_styles_are_injections():
    text = "<script>a()</script><script type='application/ld+json'>{}</script><style>p{}</style><script src=x></script>"
    found = [(s.detail.language, text[slice(*s.detail.inner)]) for s in html(text) if s.detail]
    assert found == [("javascript", "a()"), ("json", "{}"), ("css", "p{}")]


def test_children_begin_at_line_starts():
    text = "<div>\n  <p>a</p>\n  <p>b</p><p>c</p>\n  <h2>T</h2>\n</div>"
    spans = html(text)
    assert [text[s.start : s.start + 5] for s in spans if s.kind == "paragraph"] == ["  <p>", "  <p>", "<p>c<"]
    assert text[spans[-1].start :].startswith("<h2>")


def test_lines_of_a_leaf():
    text = "<p>one<br>two<BR />\nthree</p>"
    assert kinds(html(text)[0].children, text) == [("text", "<p>one<br>"), ("text", "two<BR />"), ("text", "three</p>")]


def test_damage_is_told():
    structure = html_spans(StructureRequest("\n<!-- x <p>a</p>\n<script>b", "html"))
    assert structure.errors == ["comment is never closed, line 2", "<script> is never closed, line 3"]
    assert [s.kind for s in structure.spans] == ["text", "paragraph", "text"]


def test_xml_entries_are_named_by_tag():
    text = "<?xml version='1.0'?>\n<rss><channel>\n  <title>T</title>\n  <item a='>'>x</item>\n  <e/>\n</channel></rss>"
    named = [s for s in walk(xml(text)) if s.kind == "entry"]
    assert [s.name for s in named] == ["rss", "channel", "title", "item", "e"]
    assert [a.name for a in named[3].ancestors()] == ["channel", "rss"]
    assert text[named[3].start : named[3].end] == "  <item a='>'>x</item>"


def test_xml_mixed_content_is_a_leaf():
    text = "<p>one <b>two</b> three</p>"
    assert not xml(text)[0].children


def test_xml_books_have_sections():
    text = "<book><title>B <i>x</i></title><chapter><title>C</title><para>x</para></chapter><chapter/></book>"
    assert outline(xml(text)) == [(1, "B x"), (2, "C")]


def test_xml_damage_is_told():
    structure = xml_spans(StructureRequest("<a>\n<b></a></c>\n<![CDATA[>", "xml"))
    assert structure.errors == [
        "<b> is never closed, line 2",
        "</c> closes nothing, line 2",
        "CDATA section is never closed, line 3",
    ]


TOKENS = [
    "<div>", "</div>", "<p>", "</p>", "<li>", "<ul>", "</ul>", "<table>", "<tr>", "<td>", "</td>", "<th>",
    "</table>", "<thead>", "<h1>", "</h1>", "<h2>", "</h3>", "text ", "\n", "  ", "<!--", "-->", "<![CDATA[", "]]>",
    "<script>", "</script>", "<br>", "<a href='x>y'>", "</a>", "<", ">", '"', "'", "=", "<a x=\"", "<nav>",
    "</nav>", "&amp;", "<?", "<!DOCTYPE x [", "<x/>", "é", "\r\n", "<pre>", "</pre>", "<svg>", "</svg>", "<title>",
    "</title>", "<section>", "</section>", "<template>", "\ufeff", "\x00",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=60).map("".join))
def test_any_markup_keeps_the_contract(text):
    check_contract(html(text), text)
    check_contract(xml(text), text)


N = 3_000
ADVERSARIAL = [
    "<div>" * N, "<div>" * N + "</section>" * N, "<a " * N + ">", '<a x="> ' * N + "='>", "<!--" * N + ">",
    "<script>" * N, "<li><div>" * N, "<div>" * N + "<li>" * N, "<table><td>" * N + "</div>" * N, "<h1>" * N,
    "<div>" * N + "<h1>x</h1>" * N, "<" * N, "<![CDATA[" * N + ">", "<?" * N + ">",
    "<p>some <a href='x'>text</a></p>" * N, "<a>" * N + "</b>" * N, "<!DOCTYPE [" * N + ">",
]  # fmt: skip


@pytest.mark.parametrize("text", ADVERSARIAL, ids=range(len(ADVERSARIAL)))
def test_adversarial_markup_ends(text):
    for spans in (html(text), xml(text)):
        check_contract(spans, text)
