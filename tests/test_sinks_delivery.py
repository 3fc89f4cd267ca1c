"""Batches of rows, and the journal of deliveries: nothing is lost, nothing twice, whenever it is interrupted."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnichunk import (
    Chunker,
    ChunkStore,
    LoadError,
    OptionError,
    PluginRegistry,
    Sink,
    StoreError,
    hookimpl,
    stable_chunk_id,
)

SMALL = {"max_chunk_size": 40, "min_chunk_size": 1}


def embed(texts):
    return [[float(len(text)), 1.0] for text in texts]


class Memory:
    """A sink that keeps everything, and stops working when it is told to, before or after it has done what it was asked."""

    def __init__(self):
        self.held = {}
        self.stops = 10**9
        self.late = False

    def apply(self, removed, points):
        self.stops -= 1
        if self.stops == 0 and not self.late:
            raise RuntimeError("stopped")
        for name in removed:
            self.held.pop(name, None)
        lost = [point.id for point in points if point.vector is None and point.id not in self.held]
        for point in points:
            if point.vector is not None or point.id in self.held:
                vector = point.vector or self.held[point.id][0]
                self.held[point.id] = vector, point.chunk
        if self.stops == 0:
            raise RuntimeError("stopped")
        return lost


def agree(store, sink):
    chunks = list(store.export())
    wanted = {stable_chunk_id(chunk): (embed([chunk.contextualized_text])[0], chunk) for chunk in chunks}
    assert sink.held == wanted


@settings(max_examples=25)
@given(data=st.data())
def test_any_edits_and_interruptions_end_in_the_same_state(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("root")
    sink = Memory()
    pieces = [f"# Part {i}\n\nText of part {i}.\n\n" for i in range(6)]
    with ChunkStore(":memory:") as store:
        for _ in range(data.draw(st.integers(1, 4))):
            for name in "ab":
                text = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=6)))
                if text:
                    (root / f"{name}.md").write_text(text, encoding="utf-8")
                else:
                    (root / f"{name}.md").unlink(missing_ok=True)
            store.sync(root, keep_diffs=False, **SMALL)
            sink.stops, sink.late = data.draw(st.integers(1, 8)), data.draw(st.booleans())
            if data.draw(st.integers(0, 9)) == 0:
                sink.held.clear()  # emptied behind our back: only what is touched again is noticed
                store.forget_sink("memory")
            try:
                store.deliver(sink, embed, name="memory", batch_size=2)
            except RuntimeError:
                continue
            agree(store, sink)
        sink.stops = 10**9
        store.deliver(sink, embed, name="memory", batch_size=2)
        agree(store, sink)
        again = store.deliver(sink, lambda texts: pytest.fail("embedded twice"), name="memory")
        assert (again.deleted, again.upserted, again.refreshed) == (0, 0, 0)


def test_a_sync_during_a_delivery_is_delivered(database, tmp_path):
    """Chunks that change, go or come while their batch is being embedded: the next pass sets them right."""
    root = tmp_path / "root"
    root.mkdir()
    for name in "abcd":
        (root / f"{name}.md").write_text(f"# {name}\n\nOne.\n\n# Two {name}\n\nTwo.\n", encoding="utf-8")
    sink = Memory()
    with ChunkStore(database) as store, ChunkStore(database) as other:
        store.sync(root, **SMALL)
        edits = [
            lambda: (root / "a.md").unlink(),
            lambda: (root / "b.md").write_text("# b\n\nOther.\n", encoding="utf-8"),
            lambda: (root / "e.md").write_text("# e\n\nNew.\n", encoding="utf-8"),
        ]

        def embedding(texts):
            if edits:
                edits.pop()()
                other.sync(root, **SMALL)
            return embed(texts)

        store.deliver(sink, embedding, name="memory", batch_size=2)
        assert not edits
        agree(store, sink)


def test_one_delivery_at_a_time(database, tmp_path):
    (tmp_path / "a.md").write_text("# One\n\nText.\n", encoding="utf-8")
    sink, running, most = Memory(), [], []

    def embedding(texts):
        running.append(1)
        most.append(len(running))
        threading.Event().wait(0.05)
        running.pop()
        return embed(texts)

    def run():
        with ChunkStore(database) as mine:
            mine.deliver(sink, embedding, name="memory", batch_size=1, model=threading.current_thread().name)

    with ChunkStore(database) as store:
        store.sync(tmp_path / "a.md", **SMALL)
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}


def test_a_delivery_inside_a_delivery_is_refused(database, tmp_path):
    (tmp_path / "a.md").write_text("# One\n\nText.\n", encoding="utf-8")
    with ChunkStore(database, timeout=0.1) as store:
        store.sync(tmp_path / "a.md", **SMALL)
        with pytest.raises(StoreError, match=r"one after the other|by another process"):
            store.deliver(Memory(), lambda texts: store.deliver(Memory(), embed, name="b"), name="a")


def test_another_model_embeds_everything_again(tmp_path):
    (tmp_path / "a.md").write_text("# One\n\nText.\n\n# Two\n\nText.\n", encoding="utf-8")
    sink = Memory()
    with ChunkStore(":memory:") as store:
        store.sync(tmp_path / "a.md", **SMALL)
        count = store.stats().chunks
        assert store.deliver(sink, embed, name="m", model="1").upserted == count
        assert store.stats().pending == {"m": 0}
        assert store.deliver(sink, embed, name="m", model="1").upserted == 0
        assert store.deliver(sink, embed, name="m", model="2").upserted == count
        assert store.deliver(Memory(), embed, name="other").upserted == count
        with pytest.raises(OptionError, match="name="):
            store.deliver(sink, embed)
        with pytest.raises(OptionError, match="batch_size=0"):
            store.deliver(sink, embed, name="m", batch_size=0)
        with pytest.raises(OptionError, match="embed_fn"):
            store.deliver(sink, None, name="m")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1.0]], "1 vectors came for 2"),
        ([[1.0], [1.0, 2.0]], "one length"),
        ([[], []], "one length"),
        ([[float("nan")], [1.0]], "vector 0 holds"),
        ([[1.0], [float("inf")]], "vector 1 holds"),
        (3, "a list of vectors"),
        (["ab", "cd"], "a list of vectors"),
        (["12", "34"], "a text is no vector"),
        ([[10**400], [1]], "a list of vectors"),
    ],
)
def test_vectors_that_cannot_be(tmp_path, answer, message):
    (tmp_path / "a.md").write_text("# One\n\nText.\n\n# Two\n\nText.\n", encoding="utf-8")
    with pytest.raises(OptionError, match=message):
        list(Chunker(**SMALL).stream_upsert(tmp_path, lambda texts: answer))


# Batches of rows


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "b/c", "b-d", "z"):
        path = tmp_path / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"# {name} {i}\n\nText {i}.\n\n" for i in range(5)), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("size", [1, 3, 5, 7, 100])
@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_run_is_gone_on_with_at_any_batch(folder, size, concurrency):
    chunker = Chunker(**SMALL)
    if concurrency > 1 and size != 7:
        return
    whole = list(chunker.stream_upsert(folder, embed, batch_size=size, concurrency=concurrency))
    ids = [row["id"] for batch in whole for row in batch.rows]
    assert ids == [stable_chunk_id(c) for r in chunker.chunk_directory(folder) for c in r.chunks]
    assert len(set(ids)) == len(ids)
    assert [len(batch.chunks) for batch in whole] == [len(batch.rows) for batch in whole]
    for number, batch in enumerate(whole):
        rest = list(chunker.stream_upsert(folder, embed, batch_size=size, after=batch.cursor))
        assert [row["id"] for b in rest for row in b.rows] == ids[sum(len(b.rows) for b in whole[: number + 1]) :]


def test_a_file_that_has_changed_since_begins_anew(folder):
    chunker = Chunker(**SMALL)
    stream = chunker.stream_upsert(folder, embed, batch_size=2)
    cursor = next(stream).cursor
    (folder / "a.md").write_text("# Other\n\nText.\n", encoding="utf-8")
    rest = [c for b in chunker.stream_upsert(folder, embed, batch_size=2, after=cursor) for c in b.chunks]
    assert rest == [c for r in chunker.chunk_directory(folder) for c in r.chunks]
    (folder / "a.md").unlink()
    rest = [c for b in chunker.stream_upsert(folder, embed, batch_size=2, after=cursor) for c in b.chunks]
    assert rest == [c for r in chunker.chunk_directory(folder) for c in r.chunks]


def test_files_that_fail_are_told(folder):
    (folder / "bad.ipynb").write_text("{", encoding="utf-8")
    (folder / "zz.ipynb").write_text("{", encoding="utf-8")
    batches = list(Chunker(**SMALL).stream_upsert(folder, embed))
    assert [result.filepath for batch in batches for result in batch.failed] == [
        str(folder / "bad.ipynb"), str(folder / "zz.ipynb")
    ]  # fmt: skip
    (one,) = Chunker().stream_upsert(folder / "bad.ipynb", embed)
    assert (one.rows, len(one.failed)) == ((), 1)


def test_a_single_file_and_the_filters(folder):
    chunker = Chunker()
    (batch,) = chunker.stream_upsert(folder / "a.md", embed, max_chunk_size=40, min_chunk_size=1)
    assert list(batch.chunks) == chunker.chunk_file(folder / "a.md", max_chunk_size=40, min_chunk_size=1)
    with pytest.raises(LoadError, match="nowhere"):
        chunker.stream_upsert(folder / "nowhere", embed)
    batches = chunker.stream_upsert(folder, embed, glob="*.md", exclude="b*")
    assert {c.context.filepath for b in batches for c in b.chunks} == {str(folder / "a.md"), str(folder / "z.md")}


def test_adapters(folder):
    """Built in, of a plugin, and of a plugin that takes points as they are."""

    class Plugin:
        @hookimpl
        def omnichunk_sinks(self):
            return [Sink("ours", open=Memory, row=lambda point: (point.id, point.vector)), Sink("plain", open=Memory)]

    chunker = Chunker(PluginRegistry(plugins=[Plugin()]), **SMALL)
    keys = {
        "pinecone": {"id", "values", "metadata"}, "qdrant": {"id", "vector", "payload"},
        "weaviate": {"uuid", "vector", "properties"}, "chroma": {"id", "embedding", "document", "metadata"},
    }  # fmt: skip
    for adapter, wanted in keys.items():
        batch = next(chunker.stream_upsert(folder, embed, adapter))
        assert set(batch.rows[0]) == wanted
    batch = next(chunker.stream_upsert(folder, embed, "ours"))
    assert batch.rows[0] == (stable_chunk_id(batch.chunks[0]), embed([batch.chunks[0].contextualized_text])[0])
    assert next(chunker.stream_upsert(folder, embed, "plain")).rows[0].chunk == batch.chunks[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"adapter": "pinecon"}, 'did you mean "pinecone"'),
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": True}, "batch_size=True"),
        ({"embed_fn": 3}, "embed_fn must be callable"),
        ({"after": "x"}, "is no cursor"),
        ({"after": '["a", true, "r"]'}, "is no cursor"),
        ({"after": '["a", -1, "r"]'}, "is no cursor"),
        ({"convert": len}, 'unknown option "convert"'),
        ({"max_chunk_sise": 3}, "max_chunk_size"),
    ],
)
def test_wrong_arguments_are_told_at_once(folder, arguments, message):
    with pytest.raises(OptionError, match=message):
        Chunker().stream_upsert(folder, **{"embed_fn": embed, **arguments})
