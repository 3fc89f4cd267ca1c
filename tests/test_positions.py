"""PositionIndex against the naive computation."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk.source import positions
from omnichunk.source.positions import STEP, PositionIndex

PIECES = ["a", "\n", "\r\n", "\r", "é", "日本", "👩‍👩‍👧", "𝔘", "\ufeff", "\u2028", " word", "\n\n", "ё\n"]
texts = st.builds(
    lambda pieces, times: "".join(pieces) * times,
    st.lists(st.sampled_from(PIECES), max_size=12),
    st.sampled_from([1, 2, 40, 300]),
)


@given(texts, st.lists(st.integers(0, 10**6), max_size=30), st.booleans())
def test_every_conversion_agrees_with_the_naive_one(text: str, seeds: list[int], in_order: bool) -> None:
    index, raw = PositionIndex(text), text.encode()
    lines = text.split("\n")
    asked = [seed % (len(text) + 1) for seed in seeds]
    for char in sorted(asked) if in_order else asked:
        assert index.byte(char) == len(text[:char].encode())
        assert index.line(char) == text[:char].count("\n")
        assert index.char(index.byte(char)) == char
    for byte in (seed % (len(raw) + 1) for seed in seeds):
        assert index.char(byte) == len(raw[:byte].decode("utf-8", "ignore"))
        assert index.byte(index.char(byte)) <= byte
    for line in (seed % len(lines) for seed in seeds):
        assert index.line_start(line) == len("\n".join([*lines[:line], ""]))


@pytest.mark.parametrize("text", ["", "ascii\n", "é\n"])
def test_outside_is_an_error(text: str) -> None:
    index = PositionIndex(text)
    for position in (-1, len(text.encode()) + 1):
        for ask in (index.byte, index.char, index.line, index.line_start):
            with pytest.raises(IndexError):
                ask(position)


def test_ascii_needs_no_index_of_bytes() -> None:
    index = PositionIndex("x" * 5 * STEP)
    assert index.ascii
    assert index.byte(4 * STEP) == index.char(4 * STEP) == 4 * STEP
    assert index._blocks is None


def test_index_is_small() -> None:
    text = "Zażółć gęślą jaźń\n" * 60_000
    index = PositionIndex(text)
    index.byte(len(text))
    index.line(len(text))
    index.char(5)
    assert index._blocks is not None
    assert index._lines is not None
    assert sys.getsizeof(index._blocks) + sys.getsizeof(index._lines) < len(text) // 40


def test_a_question_in_order_reads_only_the_way_between(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "é\n" * 3 * STEP
    index = PositionIndex(text)
    monkeypatch.setattr(positions.PositionIndex, "_byte_blocks", lambda self: pytest.fail("the checkpoints were asked"))
    assert [index.byte(char) for char in range(0, len(text), 100)] == [
        len(text[:char].encode()) for char in range(0, len(text), 100)
    ]
