"""DocumentBuilder: offsets of what is put together, whatever it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from omnichunk import (
    Block,
    DocumentBuilder,
    FormatSegment,
    LoadedDocument,
    Source,
    chunk_file,
    chunk_loaded_document,
    load_document,
)
from support import odd_text


def test_pieces_segments_and_blocks():
    """Blank lines part blocks, line ends part rows; a segment reaches to the next one; empty pieces leave no trace."""
    builder = DocumentBuilder("slides")
    builder.at(slide=1)
    builder.add(" Title\n", "heading", level=1)
    builder.add(" \n ")
    with builder.block("list"):
        pass
    with builder.block("table", name="Sums"):
        builder.row(["a", "b|c"], header=True)
        builder.at(slide=1, row=2)
        builder.row(["1", "two\nlines"])
        builder.row(["", " "])
    builder.at(slide=2)
    with builder.block("list"):
        builder.add("- one", "item")
        builder.add("- two", "item")
    builder.warnings.append("slide 3: empty")
    document = builder.document(title="Title")
    assert document.text == "Title\n\n| a | b\\|c |\n| --- | --- |\n| 1 | two lines |\n\n- one\n- two\n"
    assert document.segments == (
        FormatSegment(0, 34, "prose", {"slide": 1}),
        FormatSegment(34, 53, "prose", {"slide": 1, "row": 2}),
        FormatSegment(53, 65, "prose", {"slide": 2}),
    )
    assert document.blocks == (
        Block(0, 5, "heading", 1),
        Block(7, 51, "table", 0, "Sums", (7, 34)),
        Block(53, 64, "list"),
        Block(53, 58, "item"),
        Block(59, 64, "item"),
    )
    assert (document.warnings, document.metadata) == (("slide 3: empty",), {"title": "Title"})
    assert DocumentBuilder("slides").document() == LoadedDocument("", format_name="slides")


def test_a_document_inside_another():
    """Positions stand beside the outer one, headings go deeper, what has no blocks keeps its language, no BOM stays."""
    inner = DocumentBuilder("inner")
    inner.at(page=7)
    inner.add("Inner", "heading", level=1)
    inner.warnings.append("inner warning")
    code = FormatSegment(1, 15, "code", {"language": "python", "cell": 3})
    builder = DocumentBuilder("outer")
    builder.at(attachment="a.x")
    builder.append(inner.document(), level=2)
    builder.append(LoadedDocument("\ufeffdef f(): pass\n\nwords\n\n", (code,)))
    builder.append(LoadedDocument("\ufeff \n"))
    builder.at()
    builder.add("after")
    document = builder.document()
    assert document.text == "Inner\n\ndef f(): pass\n\nwords\n\nafter\n"
    assert [(s.char_start, s.char_end, s.metadata) for s in document.segments] == [
        (0, 7, {"attachment": "a.x", "page": 7}),
        (7, 21, {"attachment": "a.x", "language": "python", "cell": 3}),
        (21, 29, {"attachment": "a.x"}),
        (29, 35, {}),
    ]
    assert document.blocks == (
        Block(0, 5, "heading", 3),
        Block(7, 21, "code", language="python"),
        Block(29, 34, "paragraph"),
    )
    assert document.warnings == ("inner warning",)
    (chunk,) = chunk_loaded_document("a.x", document)
    assert chunk.context.heading_hierarchy == ("Inner",)


PIECES = st.lists(
    st.tuples(st.sampled_from(["add", "code", "heading", "row", "list", "append", "at"]), odd_text(4)), max_size=12
)


@given(pieces=PIECES)
def test_whatever_is_added_makes_a_valid_document(pieces):
    """The border check of chunk_loaded_document accepts it, and every block is inside its segments' text."""
    builder = DocumentBuilder("any")
    for what, text in pieces:
        if what == "at":
            builder.at(label=text)
        elif what == "row":
            with builder.block("table"):
                builder.row(text.split(","), header=True)
                builder.row([text])
        elif what == "list":
            with builder.block("list"):
                for line in text.split("\n"):
                    builder.add(line, "item")
        elif what == "append":
            builder.append(LoadedDocument(text), level=1)
        else:
            builder.add(text, "paragraph" if what == "add" else what, level=int(what == "heading"))
    document = builder.document()
    assert all(document.text[b.char_start : b.char_end].strip() for b in document.blocks)
    options = {"max_chunk_size": 120, "context_mode": "none", "coverage_policy": "lossless"}
    assert "".join(chunk.text for chunk in chunk_loaded_document("any", document, **options)) == document.text


PAGE = """<html><head><title>no</title><style>p {}</style></head><body><!-- <p>no --><h1>Ti<b>t</b>le &amp; co</h1>
<p>Some <i>text</i><br>line two <img alt='pic'></p>loose <a title="a > b">text</a> < 3<script>"<p>no"</script>
<ul><li>one<li>two<ol><li>in</li><li><p>in2</p><p>more</p></ol></ul>
<table><tr><td><table><tr><th>A<th>B</tr><tr><td>1<td>2|3</table></td></tr></table><table><tr><td>lay</td></tr></table>
<pre>  code
   more &lt;x&gt;</pre><blockquote><p>said</p></blockquote></body></html>"""


def test_a_page_as_its_reader_sees_it():
    builder = DocumentBuilder("page")
    builder.add_html(PAGE, level=1)
    document = builder.document()
    assert document.text == (
        "Title & co\n\nSome text\nline two pic\n\nloose text < 3\n\n- one\n- two\n  1. in\n  2. in2\n     more\n\n"
        "| A | B |\n| --- | --- |\n| 1 | 2\\|3 |\n\nlay\n\n  code\n   more <x>\n\nsaid\n"
    )
    kinds = [(b.kind, b.level) for b in document.blocks if b.kind not in ("item", "paragraph")]
    assert kinds == [("heading", 2), ("list", 0), ("table", 0), ("code", 0), ("quote", 0)]


@given(markup=st.lists(st.one_of(odd_text(2), st.sampled_from(PAGE.split("<")).map("<".__add__)), max_size=40))
def test_any_markup_makes_a_valid_document(markup):
    builder = DocumentBuilder("page")
    builder.add_html("".join(markup))
    document = builder.document()
    chunks = chunk_loaded_document("page", document, coverage_policy="lossless")
    assert "".join(chunk.text for chunk in chunks) == document.text


def test_markup_that_is_never_closed_hides_nothing():
    builder = DocumentBuilder("page")
    builder.add_html("<head><title>T<h1>One<p>two<pre>three<table><tr><td>four<script> five")
    assert builder.document().text.split() == ["T", "One", "two", "three", "four", "five"]


def test_a_page_is_read_as_its_reader_sees_it_if_asked_for(tmp_path):
    page = tmp_path / "page.html"
    page.write_bytes(
        '<html><head><meta charset="latin-1"><script>let x = "<h1>no</h1>";</script></head><body><h1>Caf\xe9</h1>'
        "<p>One &amp; two.<table><tr><th>a<th>b<tr><td>1<td>2</table></body></html>".encode("latin-1")
    )
    text = "Café\n\nOne & two.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    loaded = load_document(Source(str(page), page.read_bytes()), loader="page")
    assert (loaded.text, loaded.format_name, loaded.encoding) == (text, "html", "cp1252")  # as HTML defines latin-1
    (piece,) = chunk_file(page, loader="page")
    assert (piece.text, piece.context.heading_hierarchy) == (text, ("Café",))
    for words in ("<p>Words", "\ufeff<p>Words", b"\xef\xbb\xbf<p>Words"):
        assert load_document(Source("page.html", words), loader="page").text == "Words\n"
    assert "<script>" in chunk_file(page)[0].text, "otherwise a page is what is written"
