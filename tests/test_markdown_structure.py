"""The Markdown provider: outlines of small documents, the span contract over odd ones, and linear work."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Glue, Span, Strength, Structure
from omnichunk.structure import markdown, markdown_blocks, markdown_margin
from omnichunk.structure.markdown_blocks import Blocks, Page, tie


def structure(text: str) -> Structure:
    return markdown.spans(StructureRequest(text, "markdown", "notes.md"))


def outline(text: str) -> list[tuple[int, str, str, str]]:
    """Depth, kind, name and text of every span, in document order."""
    rows = []
    stack: list[tuple[int, Span]] = [(0, span) for span in reversed(structure(text).spans)]
    while stack:
        depth, span = stack.pop()
        rows.append((depth, span.kind, span.name, text[span.start : span.end]))
        stack += [(depth + 1, child) for child in reversed(span.children)]
    return rows


def find(text: str, kind: str, index: int = 0) -> Span:
    found = [s for top in structure(text).spans for s in top.walk(open_all=True) if s.kind == kind]
    return found[index]


OUTLINES = {
    "sections nest, skipped levels too": (
        "intro\n\n# A\npara\n\n### B\n\n## C\n# D\n",
        [
            (0, "paragraph", "", "intro\n"),
            (0, "section", "A", "# A\npara\n\n### B\n\n## C\n"),
            (1, "heading", "A", "# A\n"),
            (1, "paragraph", "", "para\n"),
            (1, "section", "B", "### B\n\n"),
            (2, "heading", "B", "### B\n"),
            (1, "section", "C", "## C\n"),
            (2, "heading", "C", "## C\n"),
            (0, "section", "D", "# D\n"),
            (1, "heading", "D", "# D\n"),
        ],
    ),
    "setext, empty and equal titles": (
        "T\n===\n   ##\nT\n---\n",
        [
            (0, "section", "T", "T\n===\n   ##\nT\n---\n"),
            (1, "heading", "T", "T\n===\n"),
            (1, "section", "", "   ##\n"),
            (2, "heading", "", "   ##\n"),
            (1, "section", "T", "T\n---\n"),
            (2, "heading", "T", "T\n---\n"),
        ],
    ),
    "a form feed behind what underlines a title": (
        "# A\npara\n\nB\n---\x0c\nmore\n\n# C\n",
        [
            (0, "section", "A", "# A\npara\n\nB\n---\x0c\nmore\n\n"),
            (1, "heading", "A", "# A\n"),
            (1, "paragraph", "", "para\n"),
            (1, "section", "B", "B\n---\x0c\nmore\n\n"),
            (2, "heading", "B", "B\n---\x0c\n"),
            (2, "paragraph", "", "more\n"),
            (0, "section", "C", "# C\n"),
            (1, "heading", "C", "# C\n"),
        ],
    ),
    "headings in quotes and lists open no section": (
        "> # q\n> text\n\n- # l\n\nend\n",
        [
            (0, "quote", "", "> # q\n> text\n"),
            (1, "heading", "q", "> # q\n"),
            (1, "paragraph", "", "> text\n"),
            (0, "list", "", "- # l\n\n"),
            (1, "item", "", "- # l\n\n"),
            (2, "heading", "l", "- # l\n"),
            (0, "paragraph", "", "end\n"),
        ],
    ),
    "lists keep their bullets, tight items their text": (
        "- a\n  - b\n    - c\n  more\n- d\n\n  e\n",
        [
            (0, "list", "", "- a\n  - b\n    - c\n  more\n- d\n\n  e\n"),
            (1, "item", "", "- a\n  - b\n    - c\n  more\n"),
            (2, "paragraph", "", "- a\n"),
            (2, "list", "", "  - b\n    - c\n  more\n"),
            (3, "item", "", "  - b\n    - c\n  more\n"),
            (4, "paragraph", "", "  - b\n"),
            (4, "list", "", "    - c\n  more\n"),
            (5, "item", "", "    - c\n  more\n"),
            (1, "item", "", "- d\n\n  e\n"),
            (2, "paragraph", "", "- d\n"),
            (2, "paragraph", "", "  e\n"),
        ],
    ),
    "a list whose end lies in the indentation of the next block": (
        "  - a\n\n  b\n\n  1. c\n\n  # H\n",
        [
            (0, "list", "", "  - a\n\n"),
            (1, "item", "", "  - a\n\n"),
            (0, "paragraph", "", "  b\n"),
            (0, "list", "", "  1. c\n\n"),
            (1, "item", "", "  1. c\n\n"),
            (0, "section", "H", "  # H\n"),
            (1, "heading", "H", "  # H\n"),
        ],
    ),
    "tables: header and delimiter row are one": (
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3\n",
        [
            (0, "table", "a | b", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3\n"),
            (1, "row", "", "| a | b |\n|---|---|\n"),
            (1, "row", "", "| 1 | 2 |\n"),
            (1, "row", "", "| 3\n"),
        ],
    ),
    "tables in quotes and items": (
        "> |a|\n> |-|\n> |1|\n\n- |b|\n  |-|\n",
        [
            (0, "quote", "", "> |a|\n> |-|\n> |1|\n"),
            (1, "table", "a", "> |a|\n> |-|\n> |1|\n"),
            (2, "row", "", "> |a|\n> |-|\n"),
            (2, "row", "", "> |1|\n"),
            (0, "list", "", "- |b|\n  |-|\n"),
            (1, "item", "", "- |b|\n  |-|\n"),
            (2, "table", "b", "- |b|\n  |-|\n"),
            (3, "row", "", "- |b|\n  |-|\n"),
        ],
    ),
    "link definitions are lost nowhere": (
        "[a]: /u\n\npara\n\n[x]: /u\n[y]: /v 'w'\n\n# H\n\n> [z]: /u\n> q\n> [last]: /u\n",
        [
            (0, "paragraph", "", "[a]: /u\n\n"),
            (0, "paragraph", "", "para\n"),
            (0, "paragraph", "", "[x]: /u\n[y]: /v 'w'\n\n"),
            (0, "section", "H", "# H\n\n> [z]: /u\n> q\n> [last]: /u\n"),
            (1, "heading", "H", "# H\n"),
            (1, "quote", "", "> [z]: /u\n> q\n> [last]: /u\n"),
            (2, "paragraph", "", "> [z]: /u\n"),
            (2, "paragraph", "", "> q\n> [last]: /u\n"),
        ],
    ),
    "only link definitions": ("[a]: /u\n", [(0, "paragraph", "", "[a]: /u\n")]),
    "footnotes": (
        "[^1]: one\n\n    two\n\nend\n",
        [
            (0, "paragraph", "", "[^1]: one\n\n    two\n\n"),
            (1, "paragraph", "", "[^1]: one\n"),
            (1, "paragraph", "", "    two\n"),
            (0, "paragraph", "", "end\n"),
        ],
    ),
    "rules, HTML, indented code": (
        "a\n\n***\n<div>\nx\n</div>\n\n    code\n\n    more\n\n:::{note}\nb\n:::\n",
        [
            (0, "paragraph", "", "a\n"),
            (0, "text", "", "***\n"),
            (0, "html", "", "<div>\nx\n</div>\n"),
            (0, "code", "", "    code\n\n    more\n"),
            (0, "paragraph", "", ":::{note}\nb\n:::\n"),
        ],
    ),
    "a tag whose name is no ASCII is text": (
        "<日本>\n# H\n<é b>\n## I\n",
        [
            (0, "paragraph", "", "<日本>\n"),
            (0, "section", "H", "# H\n<é b>\n## I\n"),
            (1, "heading", "H", "# H\n"),
            (1, "paragraph", "", "<é b>\n"),
            (1, "section", "I", "## I\n"),
            (2, "heading", "I", "## I\n"),
        ],
    ),
    "carriage returns": (
        "a\r\n# b\r- c\r- d\r\n",
        [
            (0, "paragraph", "", "a\r\n"),
            (0, "section", "b", "# b\r- c\r- d\r\n"),
            (1, "heading", "b", "# b\r"),
            (1, "list", "", "- c\r- d\r\n"),
            (2, "item", "", "- c\r"),
            (2, "item", "", "- d\r\n"),
        ],
    ),
    "front matter": (
        "\ufeff---\ntitle: é\n# no heading\n---\n# x\n",
        [
            (0, "code", "", "---\ntitle: é\n# no heading\n---\n"),
            (0, "section", "x", "# x\n"),
            (1, "heading", "x", "# x\n"),
        ],
    ),
    "a rule is no front matter": (
        "---\n\na: b\n\n---\n\n# x\n",
        [
            (0, "text", "", "---\n"),
            (0, "paragraph", "", "a: b\n"),
            (0, "text", "", "---\n"),
            (0, "section", "x", "# x\n"),
            (1, "heading", "x", "# x\n"),
        ],
    ),
    "unclosed front matter swallows nothing": (
        "---\na: b\n\n# x\n",
        [
            (0, "text", "", "---\n"),
            (0, "paragraph", "", "a: b\n"),
            (0, "section", "x", "# x\n"),
            (1, "heading", "x", "# x\n"),
        ],
    ),
    "a byte order mark hides no heading": (
        "\ufeff# x\n",
        [(0, "section", "x", "# x\n"), (1, "heading", "x", "# x\n")],
    ),
    "nothing": (" \n\n", []),
}


@pytest.mark.parametrize("case", OUTLINES)
def test_outlines(case: str) -> None:
    text, expected = OUTLINES[case]
    assert outline(text) == expected


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# A *b* **c** ~~d~~ [e](f) [g]", "A b c d e g"),
        ("# `code` ![alt](i.png) <b>x</b><br>y", "code alt xy"),
        ("# a &amp; \\* &eacute;", "a & * é"),
        ("# T {#id .c}", "T"),
        ("# T {: #id }", "T"),
        ("# GET /users/{id}", "GET /users/{id}"),
        ("# A   b ##", "A b"),
        ("# Ünï **日本**語 `コード?` [リンク](日本.md) 😀?", "Ünï 日本語 コード? リンク 😀?"),
        ("a\nb\n===", "a b"),
        ("# ", ""),
    ],
)
def test_titles_have_no_markup(heading: str, title: str) -> None:
    section = structure(heading + "\n\n[g]: /u\n").spans[0]
    assert (section.kind, section.name) == ("section", title)
    assert section.strength == Strength.SECTION
    assert section.detail is not None
    assert (section.detail.label, section.detail.level) == ("heading", 1)
    assert section.children[0].glue == Glue.NEXT


@pytest.mark.parametrize("definition", ["[g]: /u", "[g]:\n/u", "> [g]:\n> </u>", "1. - [g]: /u", "[G]: #u"])
def test_titles_have_the_text_of_a_reference_that_is_defined_under_another_heading(definition: str) -> None:
    assert [s.name for s in structure(f"# [g]\n\n# [h]\n\npara\n\n{definition}\n\n# x\n").spans] == ["g", "[h]", "x"]


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("python", "python"),
        ('Python title="x"', "python"),
        ("{.python .numberLines}", "python"),
        ("{#id .python}", "python"),
        ("{python, echo=FALSE}", "python"),
        ("{code-block} python", "python"),
        ("py", "py"),
        ("rust,ignore", "rust"),
        ("c++", "c++"),
        ("js:app.js", "js"),
        ("ts{1,3}", "ts"),
        ('title="x"', ""),
        ("", ""),
    ],
)
def test_languages_of_fences(info: str, language: str) -> None:
    text = f"~~~ {info}\nx\n~~~\n"
    detail = find(text, "code").detail
    assert detail is not None
    assert detail.language == language


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("```\nx\n\ny\n```\n", "x\n\ny\n"),
        ("````py\n```\n````   \nz", "```\n"),
        ("```\nx\n``\n", "x\n``\n"),
        ("~~~\nx", "x"),
        ("- ```\n  x\n  ```\n", "  x\n"),
        ("- ```\n  x\n\nend\n", "  x\n\n"),
        ("é\n\n```\nü\n```\n", "ü\n"),
        ("```\n```\n", None),
        ("> ```\n> x\n> ```\n", None),
        ("---\na: 1\n---\n", "a: 1\n"),
        ("+++\na = 1\n+++\n", "a = 1\n"),
    ],
)
def test_content_of_fences(text: str, inner: str | None) -> None:
    detail = find(text, "code").detail
    assert detail is not None
    assert (detail.inner and text[slice(*detail.inner)]) == inner


def test_carry_is_header_and_delimiter_row() -> None:
    for text, carry in (
        ("x\n\n| é |\n|---|\n| 1 |\n", "| é |\n|---|\n"),
        ("> a\n>\n> |b|\n> |-|\n> |1|\n", "> |b|\n> |-|\n"),
    ):
        detail = find(text, "table").detail
        assert detail is not None
        assert detail.carry is not None
        assert (detail.label, text[slice(*detail.carry)]) == ("table", carry)


def test_glue() -> None:
    text = "Options:\n\n- a\n\n---\n\nterm\n\n: definition\n\n</details>\n"
    assert [(s.kind, s.glue) for s in structure(text).spans] == [
        ("paragraph", Glue.NEXT),
        ("list", Glue.NONE),
        ("text", Glue.PREVIOUS),
        ("paragraph", Glue.NONE),
        ("paragraph", Glue.PREVIOUS),
        ("html", Glue.PREVIOUS),
    ]
    assert find("|a|\n|-|\n|1|\n", "row").glue == Glue.NEXT


def test_only_an_unclosed_fence_is_an_error() -> None:
    assert structure("a\n\n```\nx\n").errors == ("unclosed code fence, line 3",)
    assert not structure("a\n\n```\nx\n```\n").errors
    assert structure("a").backend == "pyromark"


PIECES = [
    "> ", "- ", "1. ", "  ", "    ", "\t", "\n", "\n\n", "\r\n", "\r", "a", "é", "😀", "日 ", "# ", "## ",
    "```\n", "~~~py\n", "---\n", "===\n", "|a|b|\n", "|-|-|\n", "[x]: /u\n", "[^1]: ", "<div>\n", "</p>", "<!-- ",
    "-->", "<é>\n", "<aé>\n", "*", "**", "`", "\ufeff", "+++\n", "k: v\n", "$$", "?", "<?", "![a](b)", "\\", ": ",
    "* * *\n", "{#id}", "\x00", "\u2028", "\xa0", "\x7f",
]  # fmt: skip
odd = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def check(spans: Sequence[Span], text: str) -> None:
    """The rules of ``model.span``: sorted, disjoint, inside the parent, and starting lines."""
    stack = [(spans, 0, len(text))]
    while stack:
        siblings, begin, end = stack.pop()
        at = begin
        for span in siblings:
            assert at <= span.start < span.end <= end
            assert span.start == begin or text[span.start - 1] in "\n\r\ufeff"
            at = span.end
            if span.detail is not None:
                for part in (span.detail.carry, span.detail.inner):
                    assert part is None or span.start <= part[0] < part[1] <= span.end
            stack.append((span.children, span.start, span.end))


@given(odd)
@settings(max_examples=400, deadline=None)
def test_any_text_keeps_the_contract(text: str) -> None:
    check(structure(text).spans, text)


lines = st.lists(
    st.tuples(
        st.sampled_from(["", "", "", "  ", "    ", "> ", "- ", "1. ", "# ", "|"]),
        st.lists(st.sampled_from(PIECES), max_size=3).map("".join),
        st.sampled_from(["\n", "\n", "\n\n"]),
    ).map("".join),
    max_size=12,
).map("".join)


@given(st.one_of(odd, lines))
@settings(max_examples=500, deadline=None)
def test_what_is_read_at_the_margin_is_what_the_parser_reads(text: str) -> None:
    text = text.replace("]:", "]")  # where definitions stand, the parser only says where they are not
    text = text.replace("\x0c", "").replace("\ufeff", "")
    assert by_margin(text) == by_parser(text)


@pytest.mark.parametrize("case", OUTLINES)
def test_outlines_are_what_the_parser_reads(case: str) -> None:
    text = OUTLINES[case][0]
    if "]:" not in text:
        assert by_margin(text) == by_parser(text)


def by_margin(text: str) -> list[tuple[int, str, str, int, int, int, int]]:
    page = Page(text)
    blocks = []
    for block in markdown_margin.read(page, 0, len(text))[0]:
        blocks += [block, *block.children] if block.kind == "heading" else [block]
        if block.kind == "heading":
            block.adopt(())
    return described(page, blocks)


def by_parser(text: str) -> list[tuple[int, str, str, int, int, int, int]]:
    page = Page(text)
    return described(page, Blocks(page, 0, len(text)).children(0, 0, len(text), Strength.PART))


def described(page: Page, blocks: list[Span]) -> list[tuple[int, str, str, int, int, int, int]]:
    """Depth, kind, name, range without white space at its end, strength and glue of every span."""
    tie(page.text, blocks)
    rows = []
    stack = [(0, span) for span in reversed(blocks)]
    while stack:
        depth, span = stack.pop()
        end = len(page.text[: span.end].rstrip())
        strength = 0 if span.kind == "heading" else span.strength
        rows.append((depth, span.kind, span.name, span.start, end, strength, span.glue))
        stack += [(depth + 1, child) for child in reversed(span.children)]
    return rows


@given(st.text(st.sampled_from("<>?x\u00e9\u65e5\U0001f600 \n"), max_size=40))
def test_what_the_parser_reads_has_the_places_of_the_text(text: str) -> None:
    shadow = markdown_blocks._shadow(text)
    assert len(shadow) == len(text)
    assert shadow.isascii()
    assert shadow.count("\n") == text.count("\n")


FILES = {markdown.__file__, markdown_blocks.__file__, markdown_margin.__file__}
HOSTILE = {
    "headings": ("# a\n", 2000),
    "rising headings": ("".join(f"{'#' * n} a\n" for n in range(1, 7)), 400),
    "quotes in one line": ("> ", 1000),
    "lists in one line": ("- ", 1000),
    "rows": ("|a|b|\n|-|-|\n" + "|1|2|\n" * 8, 200),
    "fences": ("> ```py\n> x\n\n", 500),
    "definitions": ("[a]: /u\n", 2000),
    "brackets": ("[", 20000),
    "emphasis": ("*a_ ", 10000),
    "tags": ("<é", 5000),
    "paragraph": ("word ", 20000),
    "paragraphs": ("word\n\n", 2000),
    "raw HTML left open": ("<!-- \n\ntext\n\n", 1000),
    "fences of other lengths": ("```a`\n\n````\nx\n```\n\n", 500),
    "tables that are none": ("|a|\n|-|-|\n\n", 1000),
    "definitions and titles": ("# [a] *b*\n\n[a]: /u\n\n", 500),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_work_is_linear(case: str) -> None:
    unit, times = HOSTILE[case]

    def work(text: str) -> int:
        """Lines of the modules that are executed; the parser and the C primitives are linear."""
        count = 0

        def trace(frame, event, arg):  # type: ignore[no-untyped-def]
            nonlocal count
            if frame.f_code.co_filename not in FILES:
                return None
            count += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            spans = structure(text).spans
            for span in spans:
                for _ in span.walk(open_all=True):
                    pass
        finally:
            sys.settrace(before)
        return count

    assert work(unit * times * 2) <= 2.1 * work(unit * times) + 1000


@pytest.mark.parametrize(
    "text",
    [
        "> " * 20_000 + "a",
        "- " * 20_000 + "a",
        "".join("  " * depth + "- a\n" for depth in range(600)),
        "```\n" + "x\n" * 1000,
        "word " * 50_000,
        "![](data:image/png;base64," + "A" * 200_000 + ")\n",
    ],
)
def test_deep_and_large(text: str) -> None:
    check(structure(text).spans, text)


def test_the_provider_is_declared() -> None:
    (provider,) = markdown.omnichunk_structure()
    assert (provider.name, provider.kinds, provider.spans) == ("markdown", ("markdown",), markdown.spans)
