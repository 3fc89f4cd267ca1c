"""`omnichunk.text`: units, windows, offsets, errors, laziness, cost."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
import tracemalloc
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk.errors import ChunkingError
from omnichunk.source.graphemes import joined
from omnichunk.text import _ALONE, Chunk, chunk, chunk_iter

MODES = ["chars", "words", "sentences", "paragraphs", "lines"]
TEXT = st.lists(
    st.one_of(
        st.text("ab é中", max_size=4),
        st.sampled_from(
            ["\n", "\n\n", "\r\n", "\r", "\t", ". ", "!", "?\n", "...", "\xa0", "\x1c", "👩‍👩‍👧", "e\u0301", "🇹🇷"]
        ),
    ),
    max_size=24,
).map("".join)
SIZES = st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1)))


@pytest.mark.parametrize(
    ("mode", "text", "units"),
    [
        ("chars", " a\n", [" ", "a", "\n"]),
        ("words", " a  b\xa0c\u3000d\x1ce ", ["a", "b", "c", "d", "e"]),
        ("words", " \t", []),
        ("sentences", "A.  B!\nC?\t D... e?! F", ["A.", "B!", "C?", "D...", "e?!", "F"]),
        ("sentences", 'He said "No." Then. 3.14 e.g. x', ['He said "No." Then.', "3.14 e.g.", "x"]),
        ("sentences", "A.\xa0B", ["A.", "B"]),
        ("sentences", "  A. B ", ["  A.", "B "]),
        ("sentences", " \n ", []),
        ("paragraphs", "\n\na\nb\n \t\nc\n\n\n\n d \n\n", ["a\nb", "c", " d "]),
        ("paragraphs", "a\r\n\r\nb\r\n \r\nc\r\n", ["a", "b", "c\r\n"]),
        ("paragraphs", "  \n\n \n", []),
        ("lines", "a\n\nb\n\n\n", ["a", "", "b"]),
        ("lines", "\na\rb\u2028c\r\nd", ["", "a\rb\u2028c\r", "d"]),
        ("lines", "\n\n", []),
        ("lines", " \n", [" "]),
    ],
)
def test_units(mode, text, units):
    assert chunk(text, 1, mode=mode) == units


@pytest.mark.parametrize(
    ("text", "separators", "units"),
    [
        (".a..b.c. ", ["."], ["a", "b", "c", " "]),
        ("a.b", ["x", "b", "."], ["a."]),
        ("a.b", ("x", "yy"), ["a.b"]),
        ("...", ["."], []),
        ("aaaa b", ["aa"], [" b"]),
        ("a+b", ["+"], ["a", "b"]),
        ("  ", ["."], ["  "]),
    ],
)
def test_separators(text, separators, units):
    assert chunk(text, 1, separators=separators) == units
    assert chunk(text, 1, separators=separators, mode="words") == units


def test_what_lies_between_units_of_a_chunk_is_kept():
    assert chunk("a \t b\n\nc", 2, mode="words") == ["a \t b", "c"]
    assert chunk("a\n\n\nb", 3, mode="lines", overlap=1) == ["a\n\n", "\nb"]
    assert chunk("a..b.c", 2, separators=["."]) == ["a..b", "c"]
    assert chunk("x\n\n\ny\n\nz", 2, mode="paragraphs", overlap=1) == ["x\n\n\ny", "y\n\nz"]


@given(text=TEXT, sizes=SIZES, mode=st.sampled_from([*MODES, "separators", "graphemes", "unicode"]), many=st.booleans())
def test_chunks_are_windows_over_units(text, sizes, mode, many):
    """Chunk i runs from unit i * step to the unit size - 1 further on; the last one has the last unit; nothing else."""
    size, overlap = sizes
    text *= 40 if many else 1
    size, overlap = (size * 20, overlap * 20) if many else (size, overlap)
    rules = {
        "separators": {"separators": ["zz", ". ", "a"]},
        "graphemes": {"graphemes": True},
        "unicode": {"mode": "sentences", "sentence_rules": "unicode"},
    }.get(mode, {"mode": mode})
    units = [(c.start, c.end) for c in chunk(text, 1, with_metadata=True, **rules)]
    step = size - overlap
    starts = [i for i in range(0, len(units), step) if i == 0 or i + overlap < len(units)]
    expected = [(units[i][0], units[min(i + size, len(units)) - 1][1]) for i in starts]
    found = chunk(text, size, overlap=overlap, with_metadata=True, **rules)
    assert [(c.start, c.end) for c in found] == expected
    assert all(text[c.start : c.end] == c.text and c.index == i for i, c in enumerate(found))
    assert chunk(text, size, overlap=overlap, **rules) == [c.text for c in found]
    assert list(chunk_iter(text, size, overlap=overlap, with_metadata=True, **rules)) == found
    assert list(chunk_iter(text, size, overlap=overlap, **rules)) == [c.text for c in found]


@given(text=TEXT)
def test_words_are_those_of_str_split(text):
    assert chunk(text, 1, mode="words") == text.split()


@given(text=TEXT, size=st.integers(1, 5))
def test_no_cluster_is_cut_and_each_counts_once(text, size):
    clusters = chunk(text, 1, graphemes=True, with_metadata=True)
    starts = {c.start for c in clusters} | {len(text)}
    lower = 0
    for position in range(1, len(text)):
        cut = not joined(text, position, lower)
        assert (position in starts) == cut
        lower = position if cut else lower
    grouped = chunk(text, size, graphemes=True)
    assert "".join(grouped) == text
    assert len(grouped) == -(-len(clusters) // size)


def test_code_points_that_stand_alone_do():
    alone = "".join(re.findall(_ALONE, "".join(map(chr, range(0x10000)))))
    assert len(alone) > 40_000
    others = "a\n\u2028\u2060©☃‼“。ああ中가각ｱ"
    for char in alone[::3]:
        assert not any(
            joined(char + other, 1, 0) or joined(other + char, 1, 0) for other in others[:: len(others) // 4]
        )
    for char in others:
        assert not any(joined(char + other, 1, 0) for other in others)


def test_unicode_sentences():
    def sentences(text):
        return chunk(text, 1, mode="sentences", sentence_rules="unicode")

    assert sentences("你好。再见！ 好吗？") == ["你好。", "再见！", "好吗？"]
    assert sentences("Dr. No paid 3.50 for it, i.e. a lot. “Really?” Yes.") == [
        "Dr. No paid 3.50 for it, i.e. a lot.",
        "“Really?”",
        "Yes.",
    ]
    assert sentences("Wait… what? It is so. ") == ["Wait… what?", "It is so."]
    assert sentences("यह एक वाक्य है। दूसरा।") == ["यह एक वाक्य है।", "दूसरा।"]
    assert sentences(" \n ") == []


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"size": True}, TypeError),
        ({"size": None}, TypeError),
        ({"overlap": False}, TypeError),
        ({"overlap": None}, TypeError),
        ({"mode": None}, TypeError),
        ({"with_metadata": "yes"}, TypeError),
        ({"with_metadata": None}, TypeError),
        ({"separators": {"a"}}, TypeError),
        ({"separators": iter(["a"])}, TypeError),
        ({"separators": ["a", None]}, TypeError),
        ({"separators": []}, ValueError),
        ({"separators": ()}, ValueError),
        ({"separators": ["a", ""]}, ValueError),
        ({"mode": "Words"}, ValueError),
        ({"mode": "nope", "separators": ["a"]}, ValueError),
        ({"overlap": 2, "size": 2}, ValueError),
        ({"sentence_rules": 1}, TypeError),
        ({"sentence_rules": "icu", "mode": "sentences"}, ValueError),
        ({"sentence_rules": "unicode"}, ValueError),
        ({"sentence_rules": "unicode", "mode": "sentences", "separators": ["a"]}, ValueError),
        ({"graphemes": 1}, TypeError),
        ({"graphemes": True, "mode": "words"}, ValueError),
        ({"graphemes": True, "separators": ["a"]}, ValueError),
    ],
)
@pytest.mark.parametrize("text", ["a b", ""])
def test_wrong_arguments_are_refused_at_once(text, wrong, error):
    call = {"size": 3, **wrong}
    for function in (chunk, chunk_iter):
        with pytest.raises(error) as told:
            function(text, **call)
        assert (error is ValueError) == isinstance(told.value, ChunkingError)
        assert str(told.value).endswith(".")


def test_messages_say_what_and_what_to_do():
    with pytest.raises(ValueError, match=r'mode="sentance".*did you mean "sentences"'):
        chunk("a", 1, mode="sentance")
    with pytest.raises(ValueError, match=r"overlap=3.*less than size=3"):
        chunk("a", 3, overlap=3)
    with pytest.raises(TypeError, match=r"text must be str, not bytes"):
        chunk(b"a", 1)


def test_chunk_is_a_frozen_value():
    one = Chunk("a", 0, 0, 1)
    for name in ("text", "index", "start", "end"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, name, 1)
    assert hash(one) == hash(Chunk("a", 0, 0, 1))
    assert one != Chunk("a", 1, 0, 1)
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one


def test_the_shown_signature_is_the_published_one():
    for function in (chunk, chunk_iter):
        names = list(inspect.signature(function).parameters)
        assert names == ["text", "size", "mode", "overlap", "with_metadata", "separators"]


@pytest.mark.parametrize("mode", [*MODES, "separators"])
def test_iterating_reads_only_as_far_as_asked(mode):
    text = "word word. " * 400_000 + "\n\n"
    rule = {"separators": [". "]} if mode == "separators" else {"mode": mode}
    tracemalloc.start()
    found = list(islice(chunk_iter(text, 1, **rule), 2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found
    assert peak < (2 * len(text) + 1_000_000 if mode in ("paragraphs", "lines") else 1_000_000)


@pytest.mark.parametrize("unit", ["a", " ", "\n", ".", ". ", "\r", "\n ", "a\n\n", "\u0301", "🇹", "中。", " \n", "a."])
def test_much_of_anything(unit):
    """No text makes it slow: nothing here would end if a cost were quadratic."""
    text = unit * (300_000 // len(unit))
    for mode in MODES:
        for size, overlap in ((7, 0), (1000, 999), (10**9, 1)):
            if size != 1000 or mode in ("words", "paragraphs"):
                for _ in islice(chunk_iter(text, size, overlap=overlap, mode=mode), 10_000):
                    pass
    chunk(text, 1000, separators=["zz", unit[0] * 3, unit])
    if unit not in ("\u0301", "🇹"):
        chunk(text, 1000, graphemes=True)
        chunk(text[:200_000], 1, mode="sentences", sentence_rules="unicode")


def test_importing_imports_no_other_room():
    code = "import sys, omnichunk.text; print([m for m in sys.modules if m.startswith('omnichunk')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['omnichunk', 'omnichunk.text']"
