"""The strategies of `omnichunk.streaming`, one by one: which pieces, which rest, which reasons."""

from __future__ import annotations

import pyromark
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk.errors import BudgetError
from omnichunk.sizing import estimate, nws
from omnichunk.streaming import (
    BudgetChunker,
    JSONLinesChunker,
    LineChunker,
    MarkdownBlockChunker,
    ParagraphChunker,
    SentenceChunker,
    WordChunker,
    chunk_stream,
)

TEXT = st.lists(
    st.one_of(
        st.text("ab é中.!", max_size=9),
        st.sampled_from(["\n", "\n\n", "\r\n", ". ", "👩‍👩‍👧", "e\u0301", "🇹🇷", "   ", "word word word ", "; x, y"]),
    ),
    max_size=24,
).map("".join)


@pytest.mark.parametrize(
    ("text", "pieces", "rest"),
    [
        ("  One.  Two", ["One."], ["Two"]),
        ('A.") B', [], ['A.") B']),
        ("A.)\xa0B!\u3000C", ["A.)", "B!"], ["C"]),
        ("A.« B", [], ["A.« B"]),
        ("A?! B... C", ["A?!", "B..."], ["C"]),
        (". . x", [".", "."], ["x"]),
        ("A.\x1c", ["A."], []),
        (" \n", [], []),
        ("A.b c", [], ["A.b c"]),
        ("A.'' b", [], ["A.'' b"]),
    ],
)
def test_sentences(text, pieces, rest):
    assert (SentenceChunker().split(text), SentenceChunker().flush(text)) == (pieces, rest)


def test_words_lie_between_white_space_of_any_kind():
    assert WordChunker().split("a\xa0b\u3000c\x1cd\x85e") == ["a", "b", "c", "d"]
    assert WordChunker().flush("a\xa0b ") == []
    assert WordChunker().flush("a\x1c b") == ["b"]


@pytest.mark.parametrize(
    ("text", "pieces", "rest"),
    [
        ("\na\n\n  b \n\n\n\n c\n", ["\na", "  b "], [" c\n"]),
        ("\n\n\na", [], ["a"]),
        ("a\n\n  \n\nb", ["a", "  "], ["b"]),
        ("a\n \nb", [], ["a\n \nb"]),
        ("\n", [], ["\n"]),
        ("a\r\n\r\nb\n\nc", ["a\r\n\r\nb"], ["c"]),
    ],
)
def test_paragraphs(text, pieces, rest):
    assert (ParagraphChunker().split(text), ParagraphChunker().flush(text)) == (pieces, rest)


@pytest.mark.parametrize(
    ("text", "pieces", "rest"),
    [
        ("a\r\n\r\nb\n\nc\r\n\n\r\nd\r\n", ["a", "b", "c"], ["d\r\n"]),
        ("\r\n\r\n\r\na\r\nb", [], ["a\r\nb"]),
        ("a\n\n\rb", ["a"], ["\rb"]),
        ("a\r\n\r\n", ["a"], []),
        ("a\r\n\r\n\r", ["a"], []),
        ("a\n\n\r\r\n\nb\r", ["a"], ["b\r"]),
    ],
)
def test_paragraphs_with_crlf(text, pieces, rest):
    kind = ParagraphChunker(crlf=True)
    assert (kind.split(text), kind.flush(text)) == (pieces, rest)


def test_lines():
    text = "a\r\n\n b\u2028\n\rc\nd\r"
    assert LineChunker().split(text) == ["a", " b\u2028", "\rc"]
    assert LineChunker().flush(text) == ["d"]
    assert [c.start for c in chunk_stream("a\r\n\r\r\nb\r\n\r", "line")] == [0, 6]
    lossless = LineChunker(keep_ends=True)
    assert lossless.split(text) == ["a\r\n", "\n", " b\u2028\n", "\rc\n"]
    assert "".join(lossless.split(text) + lossless.flush(text)) == text


def test_json_records():
    text = '\ufeff{"a": "x\u2028y"}\r\n\n  [1,\t2] \n\x1e3\n"no end'
    assert JSONLinesChunker().split(text) == ['{"a": "x\u2028y"}', "[1,\t2]", "3"]
    assert JSONLinesChunker().flush(text) == ['"no end']


@pytest.mark.parametrize(
    "blocks",
    [
        ["# One", "Text\ngoes on", "Setext\n===", "***", "text", "```py\na\n\n- b\n```", "text"],
        [
            "- a\n\n  more\n- b\n  1. c\n\n     ```\n     d\n\n     e\n     ```",
            "text",
            "* a",
            "+ b",
            "1. c\n1. d",
            "1) e",
        ],
        ["| a | b |\n|---|---|\n| c | d |", "> q\nlazy\n> r", "> s", "text", "    code\n\n    more", "text"],
        ["<div>\n```\n</div>", "<!-- a\n\nb -->", "<pre>\n\n- x\n\n</pre>", "text", "~~~~\n~~~\n```\n~~~~", "<b>\n***"],
        ["-\tone\n\n\ttwo", "~~~\nopen\n\nto the end"],
        ["text\n2. no list", "text", "1. list\n2. goes on", "- - -", "-\n  empty start", "#nothing\n    - no code"],
        ["a | b\n- | -\nc | d", "text"],
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_markdown_blocks(blocks, end):
    text = ""
    tight = ("# ", "***", "```", "~~~~", "- - -", "* a", "+ b", "1. c", "1) e")
    for block in blocks:
        text += ("" if block.startswith(tight) and not text.endswith("</div>\n\n") else "\n") + block + "\n"
    text, blocks = text.replace("\n", end), [block.replace("\n", end) for block in blocks]
    assert MarkdownBlockChunker().split(text + end) + MarkdownBlockChunker().flush(text + end) == blocks


def test_the_last_line_may_begin_another_block():
    assert MarkdownBlockChunker().split("text\n# head") == []
    assert MarkdownBlockChunker().flush("text\n# head") == ["text", "# head"]
    assert [c.reason for c in chunk_stream(["text\n# head"], "markdown")] == ["block", "end"]


LINES = [
    *[
        "a",
        "b | c",
        "| a | b |",
        "|---|---|",
        "--- | ---",
        "- x",
        "* y",
        "1. one",
        "2. two",
        "10) ten",
        "  in",
        "   three",
    ],
    *[
        "```",
        "~~~~",
        "```py",
        "> q",
        "# H",
        "---",
        "***",
        "",
        "",
        "",
        "<!-- c",
        "-->",
        "\tt",
        "  - x",
        "  ```",
        "1. ```",
    ],
]


@given(lines=st.lists(st.sampled_from(LINES), max_size=9))
def test_no_fence_list_or_table_is_cut(lines):
    """As pulldown-cmark sees them; white space at the start of the next line is no part of a list here."""
    text = "\n".join([*lines, ""])
    depth = 0
    starts = [c.start for c in chunk_stream([text], "markdown")]
    for event, place in pyromark.events_with_range(text, options=pyromark.Options.ENABLE_TABLES):
        if isinstance(event, dict) and "Start" in event:
            kind = next(iter(event["Start"])) if isinstance(event["Start"], dict) else event["Start"]
            if not depth and kind in ("CodeBlock", "List", "Table"):
                block = text[place["start"] : place["end"]].rstrip()
                first = place["start"] + len(block) - len(block.lstrip())
                assert not [s for s in starts if first < s < place["start"] + len(block)], (text, block)
            depth += 1
        elif isinstance(event, dict) and "End" in event:
            depth -= 1


@pytest.mark.parametrize("unit", ["chars", "nws", "tokens"])
@given(text=TEXT, size=st.integers(2, 60))
def test_no_piece_exceeds_its_budget(unit, text, size):
    kind = BudgetChunker(size, unit)
    pieces = kind.split(text) + kind.flush(text)
    measure = {"chars": len, "nws": nws, "tokens": estimate}[unit]
    assert "".join(pieces) == text
    assert all(measure(piece) <= size for piece in pieces)


def test_a_budget_is_cut_at_the_best_boundary_seen():
    text = "One two. Three four, five six.\n\nSeven eight nine ten eleven twelve thirteen fourteen 👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧"
    chunks = list(chunk_stream(text, BudgetChunker(44)))
    assert [(c.text, c.reason) for c in chunks] == [
        ("One two. Three four, five six.\n\n", "block"),
        ("Seven eight nine ten eleven twelve thirteen ", "word"),
        ("fourteen 👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", "end"),
    ]
    assert BudgetChunker(7).split("👩‍👩‍👧" * 3) == ["👩‍👩‍👧", "👩‍👩‍👧"]
    assert [c.reason for c in chunk_stream(["a" * 9], BudgetChunker(4))] == ["cluster", "cluster", "end"]
    assert [c.reason for c in chunk_stream(["e" + "\u0301" * 9], BudgetChunker(6))] == ["code point", "end"]
    assert BudgetChunker(5).split("hello world again") == ["hello", " ", "world", " "]


def test_a_budget_counts_with_a_tokenizer():
    kind = BudgetChunker(50, "tokens", "cl100k_base")
    text = "Der schnelle braune Fuchs springt. 快速的棕色狐狸跳过了懒狗。 def f(x):\n    return x ** 2\n\n" * 20
    pieces = kind.split(text) + kind.flush(text)
    assert "".join(pieces) == text
    assert max(map(kind._count, pieces)) <= 50
    assert sum(map(kind._count, pieces)) / len(pieces) > 25


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((0,), ValueError),
        ((True,), TypeError),
        ((2.0,), TypeError),
        (("9",), TypeError),
        ((9, "token"), ValueError),
        ((9, "chars", len), ValueError),
        ((9, "tokens", "no_such_encoding"), ValueError),
    ],
)
def test_wrong_budgets(arguments, error):
    with pytest.raises(error):
        BudgetChunker(*arguments)


def test_a_code_point_above_the_budget():
    kind = BudgetChunker(2, "tokens", lambda text: 3 * len(text))
    with pytest.raises(BudgetError, match=r"max_size=2 cannot hold 'a', which takes 3"):
        kind.flush("abc")
