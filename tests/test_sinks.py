"""Real sinks, embedded or beside: what is delivered is what is stored, whatever happens on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid

import pytest

from omnichunk import (
    Chunker,
    ChunkStore,
    OptionError,
    Point,
    StoreError,
    UnknownOptionError,
    open_sink,
    stable_chunk_id,
)
from omnichunk.sinks import embedded, metadata

SMALL = {"max_chunk_size": 48, "min_chunk_size": 1}
SINKS = ["lancedb", "qdrant", "chroma", "pgvector"]
KILLED = """
import sys, time
from omnichunk import ChunkStore
store, sink = sys.argv[1:]
calls = []
def embed(texts):
    calls.append(len(texts))
    if len(calls) > 3:
        time.sleep(60)  # until it is killed
    print(len(texts), flush=True)
    return [[0.6, 0.8]] * len(texts)
with ChunkStore(store) as store:
    store.deliver(sink, embed, batch_size=4)
"""


def embed(texts):
    """A vector of length one that tells the texts apart."""
    values = [len(text) % 97 / 97 for text in texts]
    return [[value, (1 - value * value) ** 0.5] for value in values]


def rows_of(url):
    """What is in a sink, read by its own client: id -> (vector, text, metadata)."""
    name, _, place = url.partition(":")
    if name == "lancedb":
        import lancedb

        table = lancedb.connect(place).open_table("chunks").to_arrow().to_pylist()
        return {row.pop("id"): (row.pop("vector"), row.pop("text"), row) for row in table}
    if name == "qdrant":
        from qdrant_client import QdrantClient

        client = QdrantClient(path=place)
        points, _ = client.scroll("chunks", limit=10_000, with_vectors=True)
        client.close()
        found = {
            point.payload.pop("chunk_id"): (point.vector, point.payload.pop("text"), point.payload) for point in points
        }
        assert len(found) == len(points)
        return found
    if name == "chroma":
        import chromadb

        client = chromadb.PersistentClient(place, settings=chromadb.Settings(anonymized_telemetry=False))
        held = client.get_collection("chunks", embedding_function=None).get(
            include=["embeddings", "documents", "metadatas"]
        )
        client.close()
        values = zip(held["embeddings"].tolist(), held["documents"], held["metadatas"])
        return dict(zip(held["ids"], values))
    import psycopg

    with psycopg.connect(place) as connection:
        cursor = connection.execute("SELECT * FROM chunks")
        names = [column.name for column in cursor.description]
        table = [dict(zip(names, row)) for row in cursor]
    return {row.pop("id"): (json.loads(row.pop("embedding")), row.pop("text"), row) for row in table}


@pytest.fixture(params=SINKS)
def url(request, tmp_path):
    place = request.getfixturevalue("postgres") if request.param == "pgvector" else tmp_path / request.param
    return f"{request.param}:{place}"


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    for name in "abc":
        text = "".join(f"def {name}{i}(x):\n    return x * {i}\n\n\n" for i in range(8))
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def store(tmp_path, root):
    with ChunkStore(tmp_path / "chunks.db") as store:
        store.sync(root, **SMALL)
        yield store


def check(store, url):
    """The sink holds what the store holds: every chunk once, with its vector and where it is."""
    chunks = {stable_chunk_id(chunk): chunk for chunk in store.export()}
    held = rows_of(url)
    assert held.keys() == chunks.keys()
    for name, (vector, text, said) in held.items():
        chunk = chunks[name]
        assert text == chunk.text
        assert vector == pytest.approx(embed([chunk.contextualized_text])[0], abs=1e-6)
        wanted = metadata(chunk)
        if isinstance(said.get("metadata"), str):
            said = {**said, **json.loads(said["metadata"])}
        assert {key: said[key] for key in wanted} == wanted
    assert set(store.stats().pending.values()) == {0}


def test_a_sink_follows_the_store(store, url, root):
    """Deleted, changed, moved and new chunks; what is only moved is not embedded again."""
    asked = []

    def counting(texts):
        asked.extend(texts)
        return embed(texts)

    first = store.deliver(url, counting, batch_size=5)
    assert first.upserted == len(asked) == store.stats().chunks
    check(store, url)
    again = store.deliver(url, counting)
    assert (again.deleted, again.upserted, again.refreshed) == (0, 0, 0)
    (root / "a.py").unlink()
    text = (root / "b.py").read_text(encoding="utf-8")
    (root / "b.py").write_text("import os\n\n\n" + text.replace("x * 5", "x * 55"), encoding="utf-8")
    (root / "d.py").write_text("d = 1\n", encoding="utf-8")
    synced = store.sync(root, **SMALL)
    asked.clear()
    second = store.deliver(url, counting, batch_size=3)
    assert second.upserted == len(asked) == synced.chunks_added
    assert second.refreshed >= synced.chunks_moved > 0
    assert second.deleted > 0
    check(store, url)


def test_applying_twice_changes_nothing(store, url):
    points = embedded(list(store.export()), embed)
    sink = open_sink(url)
    for _ in range(2):
        sink.apply([], points[:6])
        sink.apply([points[0].id, "not there"], points[4:9])
        assert not sink.apply([], [points[5]._replace(vector=None)])
    assert sink.apply([], [points[-1]._replace(vector=None)]) == [points[-1].id]
    sink.close()
    assert rows_of(url).keys() == {point.id for point in points[1:9]}


def test_vectors_of_another_model(store, url):
    store.deliver(url, embed, model="two")
    with pytest.raises(Exception, match=r"dimension|numbers"):
        store.deliver(url, lambda texts: [[1.0, 0.0, 0.0]] * len(texts), model="three")
    assert store.deliver(url, embed, model="two").upserted == store.stats().chunks
    check(store, url)


class Stop(BaseException):
    """Nobody catches it."""


def test_an_interrupted_delivery_is_gone_on_with(store, url, root):
    """Stopped in the middle, then some chunks go from the store: the sink ends up with exactly what is there."""
    calls = []

    def stopping(texts):
        calls.append(texts)
        if len(calls) > 3:
            raise Stop
        return embed(texts)

    with pytest.raises(Stop):
        store.deliver(url, stopping, batch_size=4)
    (root / "a.py").unlink()
    store.sync(root, **SMALL)
    done = store.deliver(url, embed, batch_size=4)
    assert done.deleted > 0 < done.upserted
    check(store, url)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="only where processes can be killed")
@pytest.mark.parametrize("url", SINKS if "KILLS" in os.environ else ["chroma", "pgvector"], indirect=True)
def test_a_killed_delivery_is_gone_on_with(store, url, root, tmp_path):
    """The same for a process that is killed; by default with the two clients that take a second to import, not five."""
    command = [sys.executable, "-c", KILLED, str(tmp_path / "chunks.db"), url]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for _ in range(3):
        assert running.stdout.readline() == "4\n"
    time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    (root / "a.py").unlink()
    store.sync(root, **SMALL)
    done = store.deliver(url, embed, batch_size=4)
    assert 0 < done.upserted <= store.stats().chunks
    held = rows_of(url)
    assert held.keys() == {stable_chunk_id(chunk) for chunk in store.export()}


def test_what_a_row_says(tmp_path):
    (tmp_path / "a.ipynb").write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
            {"cell_type": "markdown", "id": "c1", "metadata": {}, "source": "# Title\n\nText.\n"}]}), encoding="utf-8"
    )  # fmt: skip
    (chunk,) = Chunker().chunk_file(tmp_path / "a.ipynb")
    said = metadata(chunk)
    assert (said["breadcrumb"], said["line_start"], said["cell"]) == ("Title", 0, chunk.context.format_metadata["cell"])
    assert all(isinstance(value, (str, int, float)) for value in said.values())
    registry = Chunker().registry
    assert [*registry.sinks()] == [*SINKS[:3], "pgvector", "pinecone", "weaviate"]
    point = Point(stable_chunk_id(chunk), [1.0], chunk)
    rows = {name: sink.row(point) for name, sink in registry.sinks().items()}
    assert rows["pinecone"]["id"] == rows["chroma"]["id"] == rows["lancedb"]["id"] == rows["pgvector"]["id"] == point.id
    assert uuid.UUID(rows["qdrant"]["id"]) == uuid.UUID(rows["weaviate"]["uuid"])
    assert registry.sinks()["qdrant"].row(point) == rows["qdrant"]
    assert rows["pgvector"]["embedding"] == "[1.0]"
    json.dumps(rows)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("lancdb:x", 'did you mean "lancedb"'),
        ("lancedb", "a name and a place"),
        ("lancedb:", "a name and a place"),
        (3, "a name and a place"),
        ("pinecone:x", "only rows are made"),
    ],
)
def test_no_such_sink(place, message):
    with pytest.raises(OptionError, match=message):
        open_sink(place)


@pytest.mark.parametrize(
    ("place", "option", "meant"),
    [
        ("lancedb:x", "tabel", "table"),
        ("qdrant::memory:", "timout", "timeout"),
        ("chroma:x", "colection", "collection"),
    ],
)
def test_no_such_option(place, option, meant):
    with pytest.raises(UnknownOptionError, match=f'"{option}"; did you mean "{meant}"'):
        open_sink(place, **{option: 1})


def test_a_server_that_is_not_there():
    with pytest.raises(StoreError, match="no connection"):
        open_sink("pgvector:postgresql://localhost:1/x")


@pytest.mark.parametrize("name", SINKS)
def test_a_client_that_is_not_installed(name, monkeypatch):
    from omnichunk import MissingDependencyError

    module = {"qdrant": "qdrant_client", "chroma": "chromadb", "pgvector": "psycopg"}.get(name, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"omnichunk\[{name}\]"):
        open_sink(f"{name}:x")
