"""Batches: order, options of an item, failures that cost one item."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnichunk import Chunker, OptionError

ITEMS = [{"filepath": f"f{i}.md", "code": f"# T\n\nDocument number {i}. " * (12 - i)} for i in range(8)]


@pytest.mark.parametrize("concurrency", [1, 2])
def test_results_keep_the_order_of_the_items(concurrency):
    chunker = Chunker(max_chunk_size=50)
    results = chunker.batch(ITEMS, concurrency=concurrency)
    assert [r.filepath for r in results] == [item["filepath"] for item in ITEMS]
    assert [list(r.chunks) for r in results] == [chunker.chunk(i["filepath"], i["code"]) for i in ITEMS]
    assert {r.outcome for r in results} == {"ok"}


@pytest.mark.parametrize("concurrency", [1, 2])
def test_items_have_options_and_failures_of_their_own(tmp_path, concurrency):
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.dat").write_bytes(bytes(range(256)))
    items = [
        {"filepath": "a.txt", "code": "word " * 100, "max_chunk_size": 40, "source_id": "guide"},
        {"filepath": "b.txt", "code": "lone \ud800 surrogate"},
        {"filepath": tmp_path / "a.py"},
        {"filepath": str(tmp_path / "b.dat")},
        {"filepath": tmp_path / "missing.py"},
        {"filepath": "c.txt", "code": "unsplittable", "overflow_policy": "error", "max_chunk_size": 5},
        {"filepath": "d.txt", "code": ""},
        {"filepath": "e.txt", "data": "größe".encode("utf-16")},
    ]
    chunker = Chunker()
    results = chunker.batch(items, concurrency=concurrency)
    assert [r.outcome for r in results] == ["ok", "failed", "ok", "failed", "failed", "failed", "ok", "ok"]
    first = results[0].chunks
    assert list(first) == chunker.chunk("a.txt", "word " * 100, max_chunk_size=40, source_id="guide")
    assert first[0].source.source_id == "guide"
    assert list(results[2].chunks) == chunker.chunk_file(tmp_path / "a.py")
    assert "surrogate" in results[1].error
    assert "missing.py: cannot be read" in results[4].error
    assert results[6].chunks == ()
    assert list(results[7].chunks) == chunker.chunk_bytes("e.txt", "größe".encode("utf-16"))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("a.txt", r"item 1 is str; a dict"),
        ({"code": "text"}, r"item 1: filepath=None"),
        ({"filepath": "a", "code": b"text"}, r"item 1: code is bytes"),
        ({"filepath": "a", "data": "text"}, r"item 1: data is str"),
        ({"filepath": "a", "data": b"text", "code": "text"}, r"item 1: data and code exclude each other"),
        ({"filepath": "a", "code": "text", "encoding": 3}, r"item 1: encoding=3"),
        ({"filepath": "a", "code": "text", "max_chunk_sise": 3}, r'item 1: unknown option .*did you mean "max_chunk'),
        ({"filepath": "a", "code": "text", "overlap": -1}, r"item 1: overlap=-1"),
    ],
)
def test_a_wrong_item_is_refused_before_anything_runs(item, message):
    with pytest.raises(OptionError, match=message):
        Chunker().batch([ITEMS[0], item])


def test_items_may_be_made_while_they_are_used():
    made = []

    def items():
        for item in ITEMS:
            made.append(item)
            yield item

    results = Chunker().iter_batch(items())
    assert next(results).filepath == "f0.md"
    assert len(made) == 1
    assert len(list(results)) == 7


def test_large_and_many_items_pass_the_workers():
    items = [{"filepath": f"{i}.txt", "code": "Some words. " * (60_000 if i % 40 == 7 else i % 5)} for i in range(200)]
    chunker = Chunker()
    results = chunker.batch(items, concurrency=2)
    assert [r.chunks for r in results] == [r.chunks for r in chunker.batch(items)]


def test_names_that_are_no_utf8_pass_the_workers(tmp_path):
    name = tmp_path / b"\xff.txt".decode("utf-8", "surrogateescape")
    Path(name).write_text("words")
    (result,) = Chunker().batch([{"filepath": name}], timeout_s=60)
    assert result.outcome == "ok"
