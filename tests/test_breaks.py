"""The ladder of breaks: what is never divided, what a cut is worth, and that every text is cut in one pass."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from omnichunk.model.span import Strength
from omnichunk.source.breaks import blank, cluster_start, pieces, sentence_ends

CLUSTER = regex.compile(r"\X")

# Whole tokens, so that marks, flags, joiners and white space meet in every order. A virama stands after a consonant
# only: the oracle joins one to a consonant behind it even where no consonant is before it.
ODD = [
    "a", "b", "Z", "ab. ", "Ab, ",
    "é", "e\u0301", "\u0301", "\u200d", "\u200c", "\ufe0f", "😀", "👨", "👩", "\U0001f3fd", "©", "‼", "🇩", "🇪",
    "क", "क्", "ष", "ि", "ำ", "\u1100", "\u1161", "\u11a8", "가", "각",
    "\u0600", "\u00ad", "\u200b", "漢", "か", "ﾞ", "。", "、",
    "「", "」", "ー", " ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\n \n", "\u3000", "\xa0", "\u2028", "\x85",
    ".", "!", "?", ",", ";", "(", ")", '"', "—", "-", "{", "}", "1.", "Dr.", "word", "Word", "snake_case",
]  # fmt: skip
odd_texts = st.lists(st.sampled_from(ODD), max_size=60).map("".join)
budgets = st.integers(1, 40)


def within(size):
    return lambda a, b: b - a <= size


def cut(text, size, floor=None, prose=True):
    """The pieces as ``(text, strength name)``."""
    floor = max(size // 8, 1) if floor is None else floor
    return [(text[a:b], s.name) for a, b, s in pieces(text, 0, len(text), within(size), floor, prose)]


def texts(text, size, floor=1, prose=True):
    return [piece for piece, _ in cut(text, size, floor, prose)]


def inside(text, size, floor, prose):
    """All positions of cuts."""
    return {a for a, _, _ in pieces(text, 0, len(text), within(size), floor, prose)} - {0}


def sentences(text):
    ends = [0, *sentence_ends(text, 0, len(text))]
    return [text[a:b] for a, b in pairwise(ends)]


# -- clusters


@given(odd_texts)
@example("🇩🇪🇩🇪🇩")
@example("👨\u200d👩\u200d👨 क्\u200dष क्ष\r\n\u0301\u0600a\u11a8")
def test_cluster_boundaries_are_those_of_uax_29(text):
    starts = [0, *(m.end() for m in CLUSTER.finditer(text))]
    for position in range(len(text) + 1):
        assert cluster_start(text, position, 0) == max(s for s in starts if s <= position)


@given(odd_texts, st.integers(0, 60))
def test_any_boundary_may_be_the_lower_end(text, at):
    lower = cluster_start(text, min(at, len(text)), 0)
    for position in range(lower, len(text) + 1):
        assert cluster_start(text, position, lower) == cluster_start(text, position, 0)


def test_ascii_has_one_cluster_of_two():
    assert [cluster_start("a\r\nb", p, 0) for p in range(5)] == [0, 1, 1, 3, 4]
    assert cluster_start("ab", 9, 0) == 2
    assert cluster_start("e\u0301", 1, 1) == 1


# -- properties of any text and budget


@given(odd_texts, budgets, st.integers(0, 12), st.booleans())
def test_pieces_partition_and_fit(text, size, floor, prose):
    found = list(pieces(text, 0, len(text), within(size), floor, prose))
    assert [a for a, _, _ in found] == [0, *(b for _, b, _ in found)][: len(found)]
    assert "".join(text[a:b] for a, b, _ in found) == text
    assert all(a < b and b - a <= size for a, b, _ in found)


@given(odd_texts, st.integers(0, 1 << 30), st.booleans())
def test_a_budget_that_is_not_monotone_is_never_exceeded(text, seed, prose):
    def fits(a, b):
        return (a * 31 + b * 17 + seed) % 5 > 1 and b - a < 20

    found = list(pieces(text, 0, len(text), fits, 4, prose))
    assert "".join(text[a:b] for a, b, _ in found) == text
    assert all(fits(a, b) or (b - a == 1 and s == Strength.CODE_POINT) for a, b, s in found)


@given(odd_texts, budgets, st.integers(0, 5), st.booleans())
def test_a_range_is_cut_like_a_text_of_its_own(text, size, floor, prose):
    alone = list(pieces(text, 0, len(text), within(size), floor, prose))
    around = "é\n\n" if not text.isascii() else "e\n\n"
    among = pieces(around + text + "\n\nfoo", 3, 3 + len(text), within(size), floor, prose)
    assert [(a - 3, b - 3, s) for a, b, s in among] == alone


@given(odd_texts, budgets, st.integers(0, 12), st.booleans())
def test_clusters_that_fit_are_whole(text, size, floor, prose):
    cuts = inside(text, size, floor, prose)
    for m in CLUSTER.finditer(text):
        if m.end() - m.start() <= size:
            assert not cuts.intersection(range(m.start() + 1, m.end()))


def units(text, sep):
    """Ranges of the units between line ends (``"line"``) or blank lines (``"block"``), without trailing white space."""
    start, found, block = 0, [], None
    for line in text.split("\n"):
        content = len(line.rstrip())
        if content and sep == "line":
            found.append((start, start + content))
        elif content:
            block = (start if block is None else block[0], start + content)
        elif block:
            found.append(block)
            block = None
        start += len(line) + 1
    return [*found, block] if block else found


@given(odd_texts, budgets, st.integers(0, 12), st.booleans())
def test_paragraphs_that_fit_are_whole(text, size, floor, prose):
    cuts = inside(text, size, floor, prose)
    for a, b in units(text, "block"):
        if b - a <= size:
            assert not cuts.intersection(range(a + 1, b))


@given(odd_texts, budgets, st.integers(0, 12))
def test_lines_of_code_that_fit_are_whole(text, size, floor):
    cuts = inside(text, size, floor, prose=False)
    for a, b in units(text, "line"):
        if b - a <= size:
            assert not cuts.intersection(range(a + 1, b))


words = st.lists(
    st.sampled_from(["a", "of", "Word", "sentence.", "Why?", "and,", "Dr.", "verylongwordindeed", "x" * 30])
)


@given(words, budgets, st.integers(0, 12))
def test_sentences_and_words_that_fit_are_whole(listed, size, floor):
    text = " ".join(listed)
    cuts = inside(text, size, floor, prose=True)
    start = 0
    for sentence in sentences(text):
        if len(sentence.rstrip()) <= size:
            assert not cuts.intersection(range(start + 1, start + len(sentence.rstrip())))
        start += len(sentence)
    start = 0
    for word in listed:
        if len(word) <= size:
            assert not cuts.intersection(range(start + 1, start + len(word)))
        start += len(word) + 1


@given(words.filter(bool), st.integers(30, 400))
def test_small_neighbours_are_joined(listed, size):
    text = " ".join(listed * 20)
    floor = max(size // 8, 1)
    found = list(pieces(text, 0, len(text), within(size), floor))
    assert all(c[1] - a[0] > floor for a, c in pairwise(found[:-1]) if Strength.WORD == a[2] == c[2])


# -- what outranks what


def test_white_space_belongs_to_the_unit_before_it_unless_it_does_not_fit():
    assert texts("aaaa\n\nbbbb\n\n", 6) == ["aaaa\n\n", "bbbb\n\n"]
    assert cut("aaaa\n\nbbbb\n\n", 4) == [("aaaa", "BLOCK"), ("\n\n", "BLOCK"), ("bbbb", "BLOCK"), ("\n\n", "BLOCK")]
    assert cut("One two" + " " * 9, 7, floor=7) == [("One two", "BLOCK"), (" " * 7, "BLOCK"), ("  ", "CLUSTER")]


def test_paragraph_then_line_then_sentence_then_clause_then_word():
    text = "Heading\nA short. B short.\nOne is, two was.\n\nLast."
    assert cut(text, 18) == [
        ("Heading\n", "BLOCK"), ("A short. B short.\n", "LINE"), ("One is, two was.\n\n", "LINE"), ("Last.", "BLOCK"),
    ]  # fmt: skip
    assert texts(text, 10) == ["Heading\n", "A short. ", "B short.\n", "One is, ", "two was.\n\n", "Last."]
    assert cut("One is, two was.", 8) == [("One is, ", "BLOCK"), ("two was.", "CLAUSE")]
    assert cut("One twoo", 4) == [("One ", "BLOCK"), ("twoo", "WORD")]
    assert cut("abcdef", 4) == [("a", "BLOCK"), *((c, "CLUSTER") for c in "bcdef")]
    assert cut("abcdef", 4, floor=4) == [("abcd", "BLOCK"), ("ef", "CLUSTER")]


@pytest.mark.parametrize("between", ["\n\n", "\r\n\r\n", "\n \t\n", "\n\n\n\n", "\f", "\n\f", "\n\f\n", "\f\n"])
def test_blank_lines_and_form_feeds_separate_paragraphs(between):
    assert cut(f"one a{between}  two b", 7 + len(between)) == [(f"one a{between}", "BLOCK"), ("  two b", "BLOCK")]


def test_a_paragraph_may_hold_line_ends_but_not_be_cut_at_them():
    assert texts("a\nb\nc\n\nd\ne\n", 6, floor=6) == ["a\nb\nc", "\n\n", "d\ne\n"]


WRAPPED = (
    "The quick brown fox jumps over the lazy dog and then\nruns away from it as fast as it possibly can. Then it\n"
    "sleeps under a tree until the evening comes and the\nmoon rises. It is late.\n"
)


def test_in_a_hard_wrapped_paragraph_sentences_outrank_lines():
    assert [(p[-6:], s) for p, s in cut(WRAPPED, 100)] == [
        (" can. ", "BLOCK"), ("ises. ", "SENTENCE"), ("late.\n", "SENTENCE"),
    ]  # fmt: skip
    assert {s for _, s in cut(WRAPPED, 40)} == {"BLOCK", "SENTENCE", "WORD"}


@pytest.mark.parametrize(
    "text",
    [
        "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\nRough winds do shake\n",
        "- the first item of it. And more\n- the second one of it\n- the third item is longer. Yes\n",
        "2024-01-01 INFO started up. Ready\n2024-01-01 WARN disk is full\n2024-01-01 INFO stopped. Bye\n",
        "Every line here is a sentence.\nSo is the second one. Is it?\nAnd this one is the third!\n",
    ],
)
def test_otherwise_lines_outrank_sentences(text):
    assert texts(text, 45, floor=5) == text.splitlines(keepends=True)


def test_ideographs_break_at_punctuation_and_then_between_any_two():
    text = "今日は良い天気です、散歩に行こう。「そうですね」と彼は言った。"
    assert cut(text, 17, floor=8)[1:] == [("「そうですね」と彼は言った。", "SENTENCE")]
    assert cut(text, 10, floor=8)[:2] == [("今日は良い天気です、", "BLOCK"), ("散歩に行こう。", "CLAUSE")]
    for piece in texts("漢字「日本」、かなっと。", 3):
        assert piece[0] not in "」、っ。ー"
        assert piece[-1] != "「"


def test_long_tokens_break_at_joints_before_clusters():
    assert texts("getUserName/path_to-file", 8) == ["get", "User", "Name/", "path_", "to-", "file"]
    assert texts("ab\xa0cd", 4) == ["ab\xa0", "cd"]


def test_code_is_cut_at_lines_statements_items_and_words():
    text = "def f(a):\n    return {a: 1};\n\n\nclass B:\n    x = 1; y = 2; call(1, 2, 3)\n"
    assert cut(text, 20, prose=False) == [
        ("def f(a):\n", "BLOCK"), ("    return {a: 1};\n", "LINE"), ("\n\n", "LINE"),
        ("class B:\n", "BLOCK"), ("    x = 1; ", "LINE"), ("y = 2; ", "SENTENCE"), ("call(1, 2, 3)\n", "SENTENCE"),
    ]  # fmt: skip
    assert cut("if(a){b(c,d)}else{e()}", 9, prose=False) == [
        ("if(a){", "BLOCK"), ("b(c,d)}", "SENTENCE"), ("else{", "SENTENCE"), ("e()}", "SENTENCE"),
    ]  # fmt: skip
    assert cut("[11, 22, 33]", 5, prose=False) == [("[11, ", "BLOCK"), ("22, ", "CLAUSE"), ("33]", "CLAUSE")]


def test_a_cluster_is_divided_only_if_it_does_not_fit():
    family = "👨\u200d👩\u200d👧"
    assert texts(family + "ab", 5) == [family, "a", "b"]
    assert cut(family, 2) == [("👨", "BLOCK"), *((c, "CODE_POINT") for c in family[1:])]


def test_a_code_point_that_does_not_fit_is_a_piece():
    assert [s.name for _, _, s in pieces("ab", 0, 2, within(0), 1)] == ["CODE_POINT", "CODE_POINT"]


# -- sentences


@pytest.mark.parametrize(
    "text",
    [
        "One. |Two! |Three? |Four… |Five",
        'He said "Go." |She left. |“Why?” |(Because.) |Then',
        '"Stop!" she said. |"Really?" he asked.',
        "Mr. Smith met Dr. Jones, e.g. at 3.14 p.m. today. |See Fig. 3 and No. 5 there. |J. R. R. Tolkien wrote it.",
        "1. First item. |Second sentence.\n|2. Another one.\n|  13. Third.",
        "In 1999. |The end. |Wait... no. |It ended... |So it did.",
        "What?! |No!! |ok. so",
        "今日は良い天気です。|本当！？|ええ。 |「はい。」|次",
        "नमस्ते। |ठीक है॥ |हाँ",
        "كيف حالك؟ |أنا بخير۔ |نعم",
        "Բարեւ։ |Այո",
        "Это т.е. пример. |Вот. он пошёл. |Да!",
        "Über den Wolken. |Ärger gibt es usw. und so fort. |Öl.",
        "A title\n\n|Body. |More.\n  \n|End",
        "Line one.\n|    Line two.\r\n|Three.",
        "ข้อความภาษาไทย ไม่มีจุด",
    ],
)
def test_sentence_ends(text):
    assert sentences(text.replace("|", "")) == text.split("|")


@given(odd_texts)
def test_sentences_partition(text):
    assert "".join(sentences(text)) == text
    assert all(sentences(text)) or not text


# -- white space


@given(st.text(" \t\n\r\x1c\x85\xa0\u2003\u3000\u200b.x"), st.integers(0, 9), st.integers(0, 9))
def test_blank_is_isspace(text, start, end):
    part = text[start:end]
    assert blank(text, start, end) == (not part or part.isspace())


# -- one pass, and no more than asked for

N = 30_000
HOSTILE = {
    "no white space": "x" * N, "one line": "word " * (N // 5), "line feeds": "\n" * N, "spaces": " " * N,
    "flags": "🇩" * N,
    "marks": "a" + "\u0301" * N, "joiners": "👨\u200d" * (N // 2), "conjuncts": "क्" * (N // 2), "stops": "." * N,
    "marks and spaces": "! " * (N // 2), "closers": "." + '"' * N, "CRLF": "\r\n" * (N // 2), "feeds": "\f" * N,
    "feeds and line feeds": "\n\f" * (N // 2), "indentation": ("\n" + " " * 3000 + "x") * (N // 3000),
    "gaps": (". " + " " * 3000 + "b") * (N // 3000),
    "words, then a long one": ("a " * 80 + "x" * 300 + " ") * (N // 460),
    "openers": "「" * N, "commas": ",;" * (N // 2), "camels": "aB" * (N // 2), "enumerators": "1. " * (N // 3),
    "tail": "a b" * 1000 + "\n" * N, "jamo": "\u1100" * N,
}  # fmt: skip


@pytest.mark.parametrize("prose", [True, False])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_need_few_looks_at_the_budget(name, prose):
    text = HOSTILE[name] * 3
    calls = 0

    def fits(a, b):
        nonlocal calls
        calls += 1
        return b - a <= 1500

    found = list(pieces(text, 0, len(text), fits, 190, prose))
    assert "".join(text[a:b] for a, b, _ in found) == text
    assert len(found) <= len(text) / 1500 * 16 + 16
    assert calls <= 3 * len(found) + 100


@pytest.mark.parametrize("unit", ["x", "word ", "\n", "A sentence. ", "🇩", "a line\n"])
def test_the_first_pieces_need_no_look_at_the_whole(unit):
    text = unit * (2_000_000 // len(unit))
    furthest = 0

    def fits(a, b):
        nonlocal furthest
        furthest = max(furthest, b)
        return b - a <= 1500

    found = pieces(text, 0, len(text), fits, 190)
    for _ in range(10):
        next(found)
    assert furthest < 70_000


def test_a_budget_wider_than_the_reach():
    text = "word " * 60_000 + "\n\n" + "more " * 10
    assert [(b - a, s.name) for a, b, s in pieces(text, 0, len(text), within(300_002), 1)] == [
        (300_002, "BLOCK"), (50, "BLOCK"),
    ]  # fmt: skip
    widths = [b - a for a, b, _ in pieces(text, 0, len(text), within(200_000), 25_000)]
    assert sum(widths) == len(text)
    assert max(widths) <= 200_000
