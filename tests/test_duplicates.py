"""Duplicates: equal texts, near ones with their exact similarity, and what it takes to find them."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import Chunker, MissingDependencyError, OptionError, find_duplicates, without_duplicates
from omnichunk.duplicates import CROWD, FOUND, PERMUTATIONS, rows_for, shingles, similarity

VOCABULARY = [f"word{i}" for i in range(4000)]


def chunk_of(text, name="a.txt"):
    (chunk,) = Chunker(max_chunk_size=100_000).chunk(name, text)
    return chunk


def changed(draw, words, share):
    """``words`` with about ``share`` of them replaced."""
    return [draw.choice(VOCABULARY) if draw.random() < share else word for word in words]


def test_equal_texts():
    chunks = [chunk_of(text, f"{i}.txt") for i, text in enumerate(["a b", "c", "a b", "a  b", "c", "a b"])]
    first, second = find_duplicates(iter(chunks))
    assert (first.kept, first.copies) == (chunks[0], (chunks[2], chunks[5]))
    assert (second.kept, second.copies, second.similarities) == (chunks[1], (chunks[4],), (1.0,))
    assert without_duplicates(chunks) == [chunks[0], chunks[1], chunks[3]]
    assert find_duplicates([]) == ()


def test_white_space_is_not_compared_below_one():
    chunks = [chunk_of("one two three four"), chunk_of("one  two\nthree four"), chunk_of("one two three five")]
    (group,) = find_duplicates(chunks, 0.9)
    assert (group.kept, group.copies, group.similarities) == (chunks[0], (chunks[1],), (1.0,))


def test_near_ones_are_found_with_their_similarity():
    draw = random.Random(5)
    originals = [draw.choices(VOCABULARY, k=120) for _ in range(60)]
    copies = [changed(draw, words, draw.choice([0, 0.02, 0.05, 0.3])) for words in originals]
    chunks = [chunk_of(" ".join(words)) for words in originals + copies]
    for threshold in (0.5, 0.8, 0.95):
        found = {}
        for group in find_duplicates(chunks, threshold):
            for copy, near in zip(group.copies, group.similarities):
                exact = similarity(frozenset(shingles(group.kept.text)), frozenset(shingles(copy.text)))
                assert near == exact >= threshold
                found[copy.text] = group.kept.text
        due = 0
        for one, other in zip(chunks[:60], chunks[60:]):
            if similarity(frozenset(shingles(one.text)), frozenset(shingles(other.text))) >= threshold:
                due += 1
                assert found[other.text] == one.text
        assert len(found) == due > 10
        assert find_duplicates(chunks, threshold) == find_duplicates(chunks, threshold)


def test_groups_do_not_grow_by_chains():
    draw = random.Random(1)
    words = draw.choices(VOCABULARY, k=200)
    chain = [chunk_of(" ".join(words))]
    for _ in range(12):
        words = changed(draw, words, 0.03)
        chain.append(chunk_of(" ".join(words)))
    groups = find_duplicates(chain, 0.7)
    assert len(groups) > 1
    assert all(min(group.similarities) >= 0.7 for group in groups)


@given(
    st.lists(st.text("ab 中.\n", min_size=1, max_size=12).filter(str.strip), max_size=12),
    st.sampled_from([0.3, 0.9, 1.0]),
)
def test_every_chunk_is_kept_or_a_copy(texts, threshold):
    chunks = [chunk_of(text, f"{i}.txt") for i, text in enumerate(texts)]
    groups = find_duplicates(chunks, threshold)
    kept = without_duplicates(chunks, threshold)
    copies = [copy for group in groups for copy in group.copies]
    assert sorted(map(id, kept + copies)) == sorted(map(id, chunks))
    assert [group.kept for group in groups] == [c for c in kept if any(c is g.kept for g in groups)]
    assert len({chunk.text for chunk in kept}) == len(kept)


def test_words_of_every_script():
    assert shingles("def f(x):") == ["def f (", "f ( x", "( x )", "x ) :"]
    assert shingles("中文字符") == ["中 文 字", "文 字 符"]
    assert shingles("straße 12") == ["straße 12"]
    assert shingles(" \n") == []


def test_bands_find_what_they_promise():
    for threshold in (0.3, 0.5, 0.8, 0.95):
        rows = rows_for(threshold)
        assert 1 - (1 - threshold**rows) ** (PERMUTATIONS // rows) >= FOUND
    assert rows_for(0.1) == 1


def test_a_crowd_of_similar_texts_costs_no_more(monkeypatch):
    """Texts just below the threshold share bands with all others; each is compared with ``CROWD`` at most."""
    from omnichunk import duplicates

    compared = []
    monkeypatch.setattr(duplicates, "similarity", lambda one, other: compared.append(1) or similarity(one, other))
    draw = random.Random(2)
    words = draw.choices(VOCABULARY, k=60)
    chunks = [chunk_of(" ".join(changed(draw, words, 0.25))) for _ in range(200)]
    assert find_duplicates(chunks, 0.9) == ()
    assert len(compared) <= CROWD * len(chunks)


@pytest.mark.parametrize("threshold", [0, 1.1, -1, True, "0.9", float("nan")])
def test_thresholds_that_cannot_work(threshold):
    with pytest.raises(OptionError, match=r"from 0\.1 to 1\.0"):
        find_duplicates([], threshold)


def test_near_duplicates_need_rensa(monkeypatch):
    monkeypatch.setitem(sys.modules, "rensa", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "omnichunk\[duplicates\]"'):
        find_duplicates([], 0.9)
    assert without_duplicates([]) == []
