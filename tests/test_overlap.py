"""Overlap: raw text that is repeated, from a sensible start, within the exact budget."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import Chunker
from support import odd_text

SENTENCES = " ".join(f"Sentence number {i} says a little more." for i in range(60))


def repeated(chunks):
    return [max(0, a.byte_range.end - b.byte_range.start) for a, b in itertools.pairwise(chunks)]


@pytest.mark.parametrize(("path", "text"), [
    ("a.txt", SENTENCES),
    ("a.md", "# T\n\n" + "\n".join(f"- item {i} of the list" for i in range(80))),
    ("a.py", "def f():\n" + "".join(f"    step_{i}(argument={i})\n" for i in range(90))),
])  # fmt: skip
def test_overlap_repeats_whole_lines_or_sentences(path, text):
    chunks = Chunker(max_chunk_size=400, overlap=100, context_mode="none").chunk(path, text)
    assert 0 < max(repeated(chunks)) <= 100
    for before, chunk in itertools.pairwise(chunks):
        start = chunk.byte_range.start
        assert chunk.metadata.get("overlap", 0) == max(0, before.byte_range.end - start)
        assert text[start - 1] == "\n" or text[:start].rstrip().endswith(".")
        assert chunk.metadata["budget"]["size"] <= 400


@given(text=odd_text(), limit=st.integers(4, 80), data=st.data())
def test_overlap_keeps_budget_coverage_and_order(text, limit, data):
    overlap = data.draw(st.integers(1, limit - 1))
    path = data.draw(st.sampled_from(["a.txt", "a.md", "a.py", "a.json"]))
    chunker = Chunker(max_chunk_size=limit, overlap=overlap, coverage_policy="lossless")
    raw = text.encode()
    at = last = 0
    for chunk in chunker.chunk(path, text):
        assert chunk.byte_range.start <= at
        assert chunk.byte_range.start >= last
        assert chunk.byte_range.end > at
        assert raw[chunk.byte_range.start : chunk.byte_range.end].decode() == chunk.text
        assert chunk.line_range.start == raw[: chunk.byte_range.start].count(b"\n")
        assert len(chunk.contextualized_text) <= limit
        assert len(raw[chunk.byte_range.start : at].decode()) <= overlap
        at, last = chunk.byte_range.end, chunk.byte_range.start
    assert at == len(raw)


def test_what_is_repeated_starts_behind_the_start_of_the_chunk_before_even_if_that_is_white_space():
    text = "x = 1" + " " * 8 + "\u00e9 = 1"
    options = {"max_chunk_size": 16, "overlap": 12, "context_mode": "none"}
    lossless = Chunker(coverage_policy="lossless", **options).chunk("a.txt", text)
    assert [chunk.text for chunk in lossless] == ["x = 1", " " * 8, " " * 7 + "\u00e9 = 1"]
    assert lossless[-1].byte_range == (6, 19)
    retrieval = Chunker(**options).chunk("a.txt", text)
    assert [chunk.text for chunk in retrieval] == ["x = 1", "= 1" + " " * 8 + "\u00e9 = 1"]
    assert retrieval[-1].byte_range == (2, 19)


def test_a_fraction_is_of_the_maximum():
    chunks = Chunker(max_chunk_size=200, overlap=0.1, context_mode="none").chunk("a.txt", "word " * 400)
    assert 0 < max(repeated(chunks)) <= 20


def test_overlap_in_tokens_is_counted():
    count = lambda text: len(text.split())  # noqa: E731
    chunks = Chunker(max_chunk_size=30, size_unit="tokens", tokenizer=count, overlap=8, context_mode="none").chunk(
        "a.txt", SENTENCES
    )
    raw = SENTENCES.encode()
    shared = [count(raw[b.byte_range.start : a.byte_range.end].decode()) for a, b in itertools.pairwise(chunks)]
    assert 0 < max(shared) <= 8


def test_overlap_shrinks_and_never_raises():
    chunks = Chunker(max_chunk_size=50, overlap=40, overflow_policy="error", context_mode="none").chunk(
        "a.txt", "\n\n".join("x" * 50 for _ in range(4))
    )
    assert [c.text.strip() for c in chunks] == ["x" * 50] * 4
