"""Selection within a budget: exact on the final text, neighbours joined, the best first, the same every time."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import BudgetError, ByteRange, Chunker, OptionError, select_within_budget
from support import odd_text

TEXT = "# Guide\n\n" + "".join(
    f"## Part {i}\n\nThe {i}th part tells of 中文 and größe {i}. It is short.\n\n- one {i}\n- two {i}\n\n"
    for i in range(12)
)
SIZES = {"chars": len, "nws": lambda text: len("".join(text.split()))}


def made(size=120, **options):
    return Chunker(max_chunk_size=size, **options).chunk("guide.md", TEXT)


def words(text):
    """Sizes that do not add up: a word counts one, and so does a sign at the end of a text."""
    return len(text.split()) + (not text[-1:].isspace())


def longer(text):
    """Sizes whose whole is more than its parts."""
    return len(text) + len(text) ** 2 // 500


@pytest.mark.parametrize("how", [{}, {"size_unit": "nws"}, {"size_unit": "tokens", "tokenizer": words},
                                 {"size_unit": "tokens", "tokenizer": longer},
                                 {"size_unit": "tokens", "tokenizer": "approximate"}])  # fmt: skip
@pytest.mark.parametrize("budget", [0, 1, 40, 333, 1000, 100_000])
def test_never_above_the_budget(how, budget):
    draw = random.Random(budget)
    chunks = made() + made(400) + made(60, context_mode="none")
    scores = [draw.random() for _ in chunks]
    if how.get("tokenizer") is words and budget == 0:
        with pytest.raises(BudgetError, match="in an empty text"):
            select_within_budget(chunks, scores, budget, **how)
        return
    found = select_within_budget(chunks, scores, budget, **how)
    counted = how.get("tokenizer") if callable(how.get("tokenizer")) else SIZES.get(how.get("size_unit", "chars"))
    if counted:
        assert found.size == counted(found.text)
    assert found.size <= budget
    assert found.text == "\n\n".join(passage.rendered for passage in found.passages)
    assert found == select_within_budget(chunks, scores, budget, **how)
    assert bool(found.passages) is (budget >= 40)
    raw = TEXT.encode()
    for passage in found.passages:
        assert raw[passage.byte_range.start : passage.byte_range.end].decode() == passage.text


@given(odd_text(), st.integers(0, 400), st.randoms(use_true_random=False), st.sampled_from(["chars", "nws"]))
def test_nothing_that_fits_is_left_out(text, budget, draw, unit):
    """Where sizes add up, the estimate is exact: with greed alone, a chunk that is left out did not fit."""
    chunks = Chunker(max_chunk_size=60).chunk("a.md", text) + Chunker(max_chunk_size=25, overlap=5).chunk("a.md", text)
    draw.shuffle(chunks)
    found = select_within_budget(chunks, [1.0] * len(chunks), budget, size_unit=unit)
    kept: list = []
    for chunk in chunks:
        if SIZES[unit](select_within_budget([*kept, chunk], [1.0] * (len(kept) + 1), 10**9).text) <= budget:
            kept.append(chunk)
    assert sorted(map(id, found.chunks)) == sorted(map(id, kept))
    assert found.size == SIZES[unit](found.text)


def test_neighbours_are_joined_under_the_context_of_the_first():
    chunks = made(90)
    some = chunks[3:6]
    found = select_within_budget(some, [1, 3, 2], 1000)
    (passage,) = found.passages
    assert found.chunks == tuple(some)
    assert passage.text == "".join(chunk.text for chunk in some)
    header = some[0].contextualized_text.removesuffix(some[0].text)
    assert found.text == passage.rendered == header + passage.text


def test_what_overlaps_stands_once():
    chunks = made(90, overlap=20)
    found = select_within_budget(chunks + made(300), [1.0] * len(chunks + made(300)), 10_000)
    assert [passage.text for passage in found.passages] == [TEXT]


def test_sources_in_the_order_of_their_best_chunk():
    one = Chunker().chunk("one.md", "# One\n\nSome words.\n")
    two = Chunker().chunk("two.md", "# Two\n\nOther words.\n")
    found = select_within_budget(one + two, [0.1, 0.9], 1000, separator="\n---\n")
    assert [passage.source.source_id for passage in found.passages] == ["two.md", "one.md"]
    assert found.text == "# Two\n\nOther words.\n\n---\n# One\n\nSome words.\n"
    other = [replace(chunk, source=replace(chunk.source, revision="x")) for chunk in two]
    assert len(select_within_budget(two + other, [1, 1], 1000).passages) == 2


def test_the_best_come_first_and_smaller_ones_fill_up():
    small, large = made(60, context_mode="none"), made(400, context_mode="none")
    found = select_within_budget([large[0], small[-1]], [2.0, 1.0], len(small[-1].text))
    assert found.chunks == (small[-1],)
    assert small[-1] in select_within_budget(small, range(len(small)), 60).chunks


def test_a_renderer_that_writes_around_the_text_is_kept():
    first, second = made(120, context_mode="none")[:2]
    wrapped = [replace(c, contextualized_text=f"<c>{c.text}</c>") for c in (first, second)]
    assert select_within_budget(wrapped, [1, 1], 500).text == f"<c>{first.text}{second.text}</c>"
    odd = replace(first, contextualized_text="unrelated")
    assert select_within_budget([odd], [1], 500).text == first.text


@pytest.mark.parametrize(("scores", "budget", "said"), [
    ([1.0], 10, "1 scores for 2 chunks"),
    ([1.0, float("nan")], 10, r"scores\[1\] is nan"),
    ([1.0, "x"], 10, r"scores\[1\] is 'x'"),
    ([1.0, 10**400], 10, r"scores\[1\] is 1000"),
    ([1.0, 2.0], -1, "budget=-1"),
    ([1.0, 2.0], True, "budget=True"),
])  # fmt: skip
def test_what_cannot_work_is_refused(scores, budget, said):
    with pytest.raises(OptionError, match=said):
        select_within_budget(made()[:2], scores, budget)


def test_scores_of_any_kind_of_number():
    np = pytest.importorskip("numpy")
    chunks = made(60, context_mode="none")[:3]
    for scores in (np.array([5, 200, 3], np.uint8), np.array([False, True, False]), [Fraction(1, 3), Decimal(1), 0]):
        assert select_within_budget(chunks, scores, len(chunks[1].text)).chunks == (chunks[1],)


def test_a_piece_without_text_says_nothing():
    first, second = made(60, context_mode="none")[:2]
    empty = replace(
        first, text="", contextualized_text="", byte_range=ByteRange(first.byte_range.end, first.byte_range.end)
    )
    assert select_within_budget([first, empty, second], [1, 1, 1], 500).text == first.text + second.text
    with pytest.raises(OptionError, match="separator=None"):
        select_within_budget([first], [1], 500, separator=None)


def test_a_size_unit_needs_its_tokenizer():
    with pytest.raises(OptionError, match="needs a tokenizer"):
        select_within_budget([], [], 10, size_unit="tokens")
    assert select_within_budget([], [], 10).text == ""
