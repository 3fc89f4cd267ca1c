"""Searching a store through the service: only what lies below the roots is found."""

from __future__ import annotations

import json

import pytest

from omnichunk import ChunkStore, StoreError
from omnichunk.serve.methods import Desk, Table, failure
from omnichunk.serve.roots import Roots
from serving import Running

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_only_what_lies_below_the_roots_is_found(tmp_path):
    inside, outside = tmp_path / "project", tmp_path / "project-2"
    for folder, word in ((inside, "harbour"), (outside, "harbour secret")):
        (folder / "docs").mkdir(parents=True)
        (folder / "docs" / "a.md").write_text(f"# Boats\n\nA {word}.\n")
        (folder / "b.txt").write_text(f"Another {word}.\n")
    (inside / "link").symlink_to(outside)
    store = tmp_path / "store.db"
    with ChunkStore(store) as made:
        made.sync(tmp_path)
    with Running(inside, "--store", str(store)) as service:
        rows = service.call("search", query="harbour")[1]["result"]
        assert sorted(row["filepath"] for row in rows) == ["b.txt", "docs/a.md"]
        assert "secret" not in json.dumps(rows)
        assert str(tmp_path) not in json.dumps(rows)
        (row,) = service.call("search", query="harbour", path="docs", limit=1)[1]["result"]
        assert row["text"].endswith("A harbour.\n")
        around = service.call("read_around", path=row["filepath"], line=row["start_line"])[1]["result"]
        assert "harbour" in around["chunks"][0]["text"]
        for path in ("../project-2", "link", str(outside), "..", "/"):
            error = service.call("search", query="secret", path=path)[1]["error"]
            assert error["data"]["reason"] == "path"
        for wrong in ({}, {"query": ""}, {"query": 3}, {"query": "a", "limit": 0}, {"query": "a", "no": 1}):
            assert service.call("search", **wrong)[1]["error"]["code"] == -32602
        assert "search" in {m["name"] for m in service.call("rpc.discover")[1]["result"]["methods"]}


def test_a_store_that_is_not_there_is_told_and_not_made(tmp_path):
    roots = Roots([str(tmp_path)])
    desk = Desk(roots, 99, str(tmp_path / "no.db"))
    with pytest.raises(StoreError) as raised:
        Table(searchable=True)["search"].work(desk, {"query": "harbour"})
    _, message, reason = failure(raised.value, roots)
    assert reason == "store"
    assert str(tmp_path) not in message
    assert not (tmp_path / "no.db").exists()
    roots.close()
