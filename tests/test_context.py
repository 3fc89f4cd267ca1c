"""Contexts: entities that intersect the chunk and no others, once each; read from many threads; cheap at any depth."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import Chunker, chunk
from omnichunk.finalize import trees
from support import odd_text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "# a `b` *c*\n\ntext\n"),
        ("a.md", "o\nx\n=\n\nt\n"),
        ("a.html", "<h1>a &amp; <b>c</b></h1><p>text</p>"),
        ("a.rst", "A *title*\n=========\n\ntext\n"),
    ],
)
def test_a_heading_with_markup_is_one_whole_entity(path, text):
    (only,) = chunk(path, text)
    assert [(e.type, e.is_partial) for e in only.context.entities] == [("heading", False)]


@given(
    text=odd_text(),
    limit=st.integers(4, 60),
    path=st.sampled_from(["a.md", "a.py", "a.tsx", "a.html", "a.rst", "a.rs"]),
)
def test_entities_intersect_their_chunk(text, limit, path):
    for piece in Chunker(max_chunk_size=limit).chunk(path, text):
        seen = set()
        for entity in piece.context.entities:
            inside, outside = piece.byte_range, entity.byte_range
            assert outside.start < inside.end
            assert inside.start < outside.end
            assert entity.is_partial == (not (inside.start <= outside.start and outside.end <= inside.end))
            assert (entity.name, entity.type, outside) not in seen
            seen.add((entity.name, entity.type, outside))
        assert all(scope.byte_range.start < piece.byte_range.start for scope in piece.context.scope)


def test_a_context_can_be_read_from_many_threads():
    text = "# T\n\n" + "".join(f"## Section {i}\n\nSome words here.\n\n" for i in range(30))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for _ in range(10):
                pieces = Chunker(max_chunk_size=120).chunk("a.md", text)
                jobs = [
                    pool.submit(lambda p: (p.context.siblings, p.context.entities), p) for p in pieces for _ in range(4)
                ]
                assert all(job.result() for job in jobs)
    finally:
        sys.setswitchinterval(before)


def test_a_file_that_is_only_a_byte_order_mark_has_no_chunk():
    assert Chunker().chunk_bytes("a.txt", b"\xef\xbb\xbf") == []
    assert [c.text for c in Chunker(coverage_policy="lossless").chunk_bytes("a.txt", b"\xef\xbb\xbf")] == ["\ufeff"]


def test_a_label_stays_on_its_line():
    (only,) = chunk("a\nb.txt", "abc")
    assert only.contextualized_text == "a b.txt\n\nabc"


CLASS = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"


@pytest.fixture
def nothing_waits():
    gc.collect()
    trees._kept.clear()


def methods(chunks):
    return [entity.name for chunk in chunks for entity in chunk.context.entities]


def test_what_only_contexts_need_waits_until_one_is_read(nothing_waits):
    chunks = Chunker().chunk("a.py", CLASS)
    assert len(trees._kept) == 1
    assert methods(chunks) == ["A", "f", "g"]
    assert not trees._kept
    chunks = Chunker().chunk("a.py", CLASS)
    late, _ = chunks[0].__dict__["_late"]
    tree = late.__self__.contexts._tree
    del late
    del chunks
    assert not trees._kept
    assert all(span.opener is None for span in tree.root.walk())


def test_few_syntax_trees_wait(nothing_waits, monkeypatch):
    monkeypatch.setattr(trees, "KEPT", 2 * trees.LEAST)
    chunker = Chunker()
    files = [chunker.chunk("a.py", CLASS) for _ in range(5)]
    assert len(trees._kept) == 2
    assert [methods(chunks) for chunks in files] == [["A", "f", "g"]] * 5


def test_contexts_are_read_by_threads_while_trees_go(nothing_waits, monkeypatch):
    monkeypatch.setattr(trees, "KEPT", trees.LEAST)
    chunker = Chunker()

    def work(_):
        files = [chunker.chunk("a.py", CLASS) for _ in range(20)]
        return [methods(chunks) for chunks in files]

    with ThreadPoolExecutor(8) as pool:
        assert all(found == [["A", "f", "g"]] * 20 for found in pool.map(work, range(8)))


def test_contexts_are_read_while_the_rest_is_cut():
    """What a context opens in one thread is not missing where another looks for places to cut."""
    members = "".join(f"    def f{i}(self):\n        a = {i}\n        return a * a\n\n" for i in range(30))
    text = "".join(f"class A{i}:\n{members}\n" for i in range(30))
    chunker = Chunker(max_chunk_size=300)
    wanted = [(chunk.byte_range, chunk.context) for chunk in chunker.chunk("a.py", text)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as pool:
            stream = chunker.stream("a.py", text)
            reads = [(chunk.byte_range, pool.submit(getattr, chunk, "context")) for chunk in stream]
            assert [(place, read.result()) for place, read in reads] == wanted
    finally:
        sys.setswitchinterval(interval)


def test_a_breadcrumb_is_outermost_first_where_a_section_lies_in_an_entry():
    text = (
        "<r>\n" + "".join(f"<section><title>T{i}</title>\n<p>{'word ' * 20}</p></section>\n" for i in (1, 2)) + "</r>\n"
    )
    chunks = Chunker(max_chunk_size=80, context_mode="none").chunk("a.xml", text)
    crumbs = [chunk.context.breadcrumb for chunk in chunks[1:]]
    assert [*dict.fromkeys(crumbs)] == [("r", "T1", "p"), ("r", "T2"), ("r", "T2", "p")]
