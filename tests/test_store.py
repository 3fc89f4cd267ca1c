"""ChunkStore, the same in SQLite and in PostgreSQL: syncs, what belongs to whom, reading, searching."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnichunk import Chunker, ChunkStore, LoadError, OptionError, StoreError, chunk_diff, stable_chunk_id
from omnichunk.store import sqlite
from omnichunk.store.rows import chunk_of, digest_of, rows_of
from omnichunk.store.words import terms
from support import odd_text

SMALL = {"max_chunk_size": 80, "min_chunk_size": 1}
MAIN = """\
def first(x):
    return x + 1


def second(y):
    return y * 2


class Third:
    def parseHttpRequest(self):
        return 3
"""
NOTES = "# Trip\n\nWe left at dawn, crème brûlée in the bag.\n\n## Day two\n\nRain. 数据库很好。\n"


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "notes.md").write_text(NOTES, encoding="utf-8")
    (root / "src" / "main.py").write_text(MAIN, encoding="utf-8")
    (root / "src" / "data.bin").write_bytes(bytes(range(256)))
    return root


@pytest.fixture
def store(database):
    with ChunkStore(database) as store:
        yield store


def state(store):
    """Everything a store holds, and that it is sound."""
    assert store.check() == []
    return list(store.export())


def expected(root, chunker=None, **options):
    chunker = chunker or Chunker(**options)
    results = chunker.chunk_directory(os.path.realpath(root))
    return [chunk for result in sorted(results, key=lambda r: r.filepath) for chunk in result.chunks]


def test_a_store_holds_what_the_chunker_makes(project, store):
    told = []
    result = store.sync(project, progress=lambda path, what: told.append((os.path.basename(path), what)), **SMALL)
    assert (result.files_scanned, result.files_updated, result.files_left_out) == (2, 2, 1)
    assert told == [("notes.md", "updated"), ("data.bin", "left out"), ("main.py", "updated")]
    assert state(store) == expected(project, **SMALL)
    assert result.chunks_added == len(expected(project, **SMALL)) == store.stats().chunks
    assert store.files() == [str(project / "notes.md"), str(project / "src" / "main.py")]


def test_the_differences_lead_from_one_state_to_the_next(project, store):
    """Deletes, then what was added: applied to an index of the old state they give the new one."""
    store.sync(project, **SMALL)
    index = {stable_chunk_id(c): c for c in state(store)}
    (project / "src" / "main.py").write_text("import os\n\n\n" + MAIN.replace("y * 2", "y * 3"), encoding="utf-8")
    (project / "notes.md").unlink()
    (project / "more.md").write_text("New.\n", encoding="utf-8")
    result = store.sync(project, **SMALL)
    assert (result.files_updated, result.files_deleted, result.files_skipped) == (2, 1, 0)
    assert [os.path.basename(diff.filepath) for diff in result.diffs] == ["more.md", "main.py", "notes.md"]
    for diff in result.diffs:
        for gone in diff.removed_ids:
            del index[gone]
        index.update((stable_chunk_id(c), c) for c in (*diff.added, *diff.unchanged))
    assert sorted(index) == sorted(stable_chunk_id(c) for c in state(store))
    there = state(store)
    assert all(chunk in there for chunk in index.values())
    assert result.removed_chunk_ids == tuple(name for diff in result.diffs for name in diff.removed_ids)
    assert result.chunks_moved == sum(len(diff.moved) for diff in result.diffs) > 0


def test_differences_are_those_of_chunk_diff(project, store):
    path = str(project / "src" / "main.py")
    store.sync(project, **SMALL)
    old = store.query(path)
    text = MAIN.replace("return x + 1", "return x - 1") + "\n\ndef fourth():\n    pass\n"
    (project / "src" / "main.py").write_text(text, encoding="utf-8")
    (found,) = store.sync(project, **SMALL).diffs
    wanted = chunk_diff(path, text, previous_chunks=old, **SMALL)
    for name in ("added", "removed_ids", "unchanged", "updated", "moved"):
        assert getattr(found, name) == getattr(wanted, name), name


def test_another_configuration_updates_the_same_ids(project, store):
    store.sync(project, context_mode="none", **SMALL)
    result = store.sync(project, context_mode="full", **SMALL)
    assert result.files_updated == 2
    assert result.chunks_updated == len([c for diff in result.diffs for c in diff.updated]) > 0
    assert {stable_chunk_id(c) for diff in result.diffs for c in diff.updated} <= set(result.removed_chunk_ids)
    assert len(store.sync(project, keep_diffs=False, force=True, **SMALL).diffs) == 0


def test_unchanged_files_are_not_read_again(project, store, monkeypatch):
    from omnichunk.store import sync as module

    monkeypatch.setattr(module, "RECENT", -(10**18))  # the files are as if written long ago
    store.sync(project, **SMALL)
    monkeypatch.setattr(module, "hash_of", lambda path: pytest.fail("a file of the same size and times was read"))
    assert store.sync(project, **SMALL).files_skipped == 2


def test_a_touched_file_is_known_by_its_hash(project, store):
    store.sync(project, **SMALL)
    os.utime(project / "notes.md", ns=(1, 1))
    assert store.sync(project, **SMALL).files_skipped == 2
    assert store.sync(project, force=True, **SMALL).files_updated == 2


@pytest.mark.parametrize("recent", [-(10**18), 10**18])
def test_an_edit_that_keeps_size_and_time_is_seen(project, store, monkeypatch, recent):
    from omnichunk.store import sync as module

    monkeypatch.setattr(module, "RECENT", recent)
    path = project / "src" / "main.py"
    os.utime(path, ns=(10**18, 10**18))
    store.sync(project, **SMALL)
    path.write_text(MAIN.replace("x + 1", "x + 9"), encoding="utf-8")
    os.utime(path, ns=(10**18, 10**18))
    assert store.sync(project, **SMALL).files_updated == 1
    assert state(store) == expected(project, **SMALL)


def test_a_file_that_changes_while_it_is_chunked_is_done_again(project, store):
    path = project / "src" / "main.py"
    writing = [True]

    def count(text):
        if writing:
            path.write_text(MAIN + f"# {len(text)}\n", encoding="utf-8")
        return len(text)

    count.fingerprint = "writes"
    chunker = Chunker(size_unit="tokens", tokenizer=count, **SMALL)
    store.sync(path, chunker=chunker)
    writing.clear()
    assert store.sync(path, chunker=chunker).files_updated == 1
    assert store.sync(path, chunker=chunker).files_skipped == 1
    assert "".join(c.text for c in store.query(path)).splitlines()[-1] == path.read_text().splitlines()[-1]


def test_only_missing_files_of_the_same_scan_are_deleted(project, store):
    everything = [str(project / "notes.md"), str(project / "src" / "main.py")]
    store.sync(project, glob="*.md", **SMALL)
    store.sync(project, glob=["*.py"], exclude=[], **SMALL)
    store.sync(project / "src", **SMALL)
    (project / "src" / "main.py").unlink()
    (project / "notes.md").unlink()
    assert store.sync(project, **SMALL).files_deleted == 0  # the first of its kind
    assert store.sync(project, glob="*.py", include_hidden=True, **SMALL).files_deleted == 0
    assert store.files() == everything
    assert store.sync(project, glob="*.py", **SMALL).files_deleted == 1  # the same filter, given otherwise
    assert store.files() == everything[:1]
    assert store.index(project, glob="*.md", **SMALL).files_deleted == 0
    assert store.sync(project, glob="*.md", **SMALL).files_deleted == 1
    assert state(store) == []


def test_a_file_that_still_exists_is_never_deleted(project, store):
    store.sync(project, **SMALL)
    (project / ".gitignore").write_text("*.md\n", encoding="utf-8")
    result = store.sync(project, **SMALL)
    assert (result.files_scanned, result.files_deleted) == (1, 0)
    assert store.query(project / "notes.md")
    (project / "notes.md").unlink()
    assert store.sync(project, **SMALL).files_deleted == 1


def test_a_failed_scan_owns_nothing(project, store):
    (project / "broken.py").write_bytes(b"x = '\xff\xfe\xfa'\n")
    with pytest.raises(StoreError, match=r"broken.py.*Nothing of this sync was stored"):
        store.sync(project, **SMALL)
    assert state(store) == []
    (project / "broken.py").unlink()
    (project / "notes.md").unlink()
    assert store.sync(project, **SMALL).files_deleted == 0


def test_one_scan_names_all_that_fails(project, store):
    for name in ("one.pdf", "other.pdf"):
        (project / name).write_bytes(b"%PDF-1.7 and no more")
    with pytest.raises(StoreError) as failed:
        store.sync(project, **SMALL)
    first, second, last = str(failed.value).splitlines()
    assert "one.pdf" in first
    assert "other.pdf" in second
    assert last == "Nothing of this sync was stored; repair or exclude these files."
    assert state(store) == []


def test_a_sync_that_goes_on_leaves_what_fails_as_it_was(project, store):
    store.sync(project, **SMALL)
    stored = store.query(project / "notes.md")
    (project / "notes.md").write_bytes(b"\xff\xfe\xfa broken")
    (project / "new.pdf").write_bytes(b"%PDF-1.7 and no more")
    (project / "more.md").write_text("# More\n", encoding="utf-8")
    told = {}
    result = store.sync(project, keep_going=True, progress=told.__setitem__, **SMALL)
    names = {os.path.basename(path): reason for path, reason in result.failures.items()}
    assert set(names) == {"notes.md", "new.pdf"}
    assert "new.pdf" in names["new.pdf"]
    assert (result.files_updated, result.files_deleted) == (1, 0)
    assert {os.path.basename(path) for path, what in told.items() if what == "failed"} == set(names)
    assert store.query(project / "notes.md") == stored
    assert store.query(project / "more.md")
    assert not store.query(project / "new.pdf")
    assert store.check() == []
    assert set(store.sync(project, keep_going=True, **SMALL).failures) == set(result.failures), "they are tried again"
    (project / "notes.md").unlink()
    assert store.sync(project, keep_going=True, **SMALL).files_deleted == 1


def test_the_root_has_to_be_there(project, store):
    store.sync(project, **SMALL)
    before = state(store)
    shutil.move(project, project.with_name("elsewhere"))
    with pytest.raises(LoadError, match="nothing is deleted"):
        store.sync(project, **SMALL)
    assert state(store) == before


def test_paths_are_resolved(project, store, monkeypatch):
    store.sync(project, **SMALL)
    monkeypatch.chdir(project)
    assert store.sync(".", **SMALL).files_skipped == 2
    link = project.with_name("link")
    link.symlink_to(project)
    assert store.sync(link, **SMALL).files_skipped == 2
    assert store.query("src/main.py") == store.query(link / "src" / "main.py") != []
    assert store.sync("src/main.py", **SMALL).files_skipped == 1


@pytest.mark.parametrize("there", [True, False])
def test_a_link_that_leaves_the_root_is_an_error(project, store, there):
    outside = project.with_name("secret.md")
    if there:
        outside.write_text("secret\n")
    (project / "link.md").symlink_to(outside)
    with pytest.raises(StoreError, match="link that leaves"):
        store.sync(project, **SMALL)
    assert store.sync(project, exclude="link.md", **SMALL).files_scanned == 2


def test_a_file_that_becomes_something_else_loses_its_chunks(project, store):
    store.sync(project, **SMALL)
    ids = tuple(stable_chunk_id(c) for c in store.query(project / "notes.md"))
    (project / "notes.md").write_bytes(bytes(256))
    result = store.sync(project, **SMALL)
    assert result.removed_chunk_ids == ids
    assert store.query(project / "notes.md") == []
    (project / "notes.md").write_text(NOTES, encoding="utf-8")
    store.sync(project, **SMALL)
    assert state(store) == expected(project, **SMALL)


def test_a_document_with_a_name_of_its_own_moves(project, store):
    old, new = project / "notes.md", project / "moved.md"
    store.sync(old, source_id="doc:1", **SMALL)
    with pytest.raises(StoreError, match=r"doc:1.*still there"):
        store.sync(project / "src" / "main.py", source_id="doc:1", **SMALL)
    old.rename(new)
    result = store.sync(new, source_id="doc:1", **SMALL)
    assert (result.chunks_added, result.removed_chunk_ids) == (0, ())
    assert store.files() == [str(new)]
    assert store.by_source("doc:1") == store.query(new) != []
    with pytest.raises(OptionError, match="single source"):
        store.sync(project, source_id="doc:1")


def test_collections_do_not_see_each_other(project, store, database):
    store.sync(project, **SMALL)
    with ChunkStore(database, collection="other") as other:
        assert (list(other.export()), other.search("first"), other.files()) == ([], [], [])
        assert other.get(stable_chunk_id(next(store.export()))) is None
        other.sync(project / "src", context_mode="none", **SMALL)
        (project / "src" / "main.py").unlink()
        other.sync(project / "src", context_mode="none", **SMALL)
        assert state(other) == []
    assert len(state(store)) > 1
    assert store.search("first")


def test_neighbours(project, store):
    store.sync(project, **SMALL)
    chunks = store.query(project / "src" / "main.py")
    assert store.neighbours(chunks[1]) == [chunks[0], chunks[2]]
    assert store.neighbours(stable_chunk_id(chunks[0]), before=5, after=5) == chunks[1:6]
    assert store.neighbours(chunks[-1], 1, 0) == chunks[-2:-1]
    assert store.neighbours("no such id") == []
    assert store.get(stable_chunk_id(chunks[1])) == chunks[1]
    assert store.get("no such id") is None
    with pytest.raises(OptionError, match="before=-1"):
        store.neighbours(chunks[0], before=-1)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("second", "def second"),
        ("SECOND y", "def second"),
        ("http request", "parseHttpRequest"),
        ("parseHttpRequest", "parseHttpRequest"),
        ("parse*", "parseHttpRequest"),
        ('"x + 1"', "x + 1"),
        ("creme brulee", "crème brûlée"),
        ("CRÈME", "crème"),
        ("数据", "数据库"),
        ("据库", "数据库"),
        ('"数据"', "数据库"),
        ("day two rain", "Rain"),
        ("trip dawn unheardof", "dawn"),  # no chunk holds all of them
    ],
)
def test_search(project, store, query, found):
    store.sync(project, **SMALL)
    best = store.search(query)[0]
    assert found in best.chunk.text
    assert best.chunk == store.get(best.chunk_id)


def test_search_tells_where_the_words_are(project, store):
    store.sync(project, **SMALL)
    (hit,) = store.search("brûlee")
    assert [hit.chunk.text[a:b] for a, b in hit.matches] == ["brûlée"]
    assert [hit.score for hit in store.search("return")] == sorted([hit.score for hit in store.search("return")])[::-1]
    assert len(store.search("return", limit=2)) == 2
    assert store.search("return", path=project / "notes.md") == []
    assert len(store.search("return", path=project / "src")) == len(store.search("return")) > 1
    assert store.search("return", language="markdown") == []
    assert store.search("return", language="python") == store.search("return")


def test_a_search_below_a_folder(project, store):
    """Folders and files by any name for them, and none that only begins like one."""
    (project / "src2").mkdir()
    (project / "src2" / "main.py").write_text(MAIN, encoding="utf-8")
    store.sync(project, **SMALL)

    def found(path, **how):
        return {
            os.path.relpath(hit.chunk.context.filepath, project) for hit in store.search("return", path=path, **how)
        }

    assert found(project / "src") == found(project / "src2" / ".." / "src" / "main.py") == {"src/main.py"}
    assert found("/") == found(project) == {"src/main.py", "src2/main.py"}
    assert found(project / "src" / "main") == found(project / "src", language="") == set()
    assert found(project / "src", language="python") == {"src/main.py"}


@pytest.mark.parametrize("common", [1, 4, 12])
def test_common_words_change_only_the_order(tmp_path, monkeypatch, common):
    """However many chunks it takes for a word to be common, the same ones are found."""
    dice = random.Random(common)
    for name in "abcd":
        lines = (
            " ".join(dice.sample(["one", "two", "three", "four", "five", "six", "seven"], dice.randint(1, 5)))
            for _ in range(9)
        )
        (tmp_path / f"{name}.md").write_text("".join(f"# {name}\n\n{line}.\n\n" for line in lines), encoding="utf-8")
    queries = ["one", "one two", '"one two" six', "se* one three", "four five nowhere", "nowhere else", "two one a.md"]
    with ChunkStore(":memory:") as store:
        store.sync(tmp_path, max_chunk_size=30, min_chunk_size=1)
        for query in queries:
            for path in (None, tmp_path / "b.md", tmp_path):
                monkeypatch.undo()
                wanted = {hit.chunk_id for hit in store.search(query, 999, path=path)}
                monkeypatch.setattr(sqlite, "COMMON", common)
                assert {hit.chunk_id for hit in store.search(query, 999, path=path)} == wanted or "nowhere" in query
                few = [hit.chunk_id for hit in store.search(query, 3, path=path)]
                assert len(set(few)) == len(few) == min(3, len(wanted))
                assert set(few) <= wanted


ODD = ["", " ", "!", '"', '""', "*", "'", "a' | 'b", "NOT", "AND (", "text:x", "a*b", "\0", "((", "x AND"]


@pytest.mark.parametrize("query", ODD)
def test_no_query_is_a_syntax_error(project, store, query):
    store.sync(project, **SMALL)
    store.search(query)


def test_words_follow_their_chunks(project, store):
    store.sync(project, **SMALL)
    (project / "notes.md").write_text("Only zebras.\n", encoding="utf-8")
    store.sync(project, **SMALL)
    assert store.search("dawn") == []
    assert len(store.search("zebras")) == 1
    assert store.check() == []


def test_stats(project, store):
    assert store.stats().chunks == 0
    store.sync(project, **SMALL)
    stats = store.stats()
    assert (stats.files, stats.collection, stats.schema_version) == (2, "default", 1)
    assert stats.languages == {"python": len(store.query(project / "src" / "main.py")),
                               "markdown": len(store.query(project / "notes.md"))}  # fmt: skip
    assert stats.characters == sum(len(c.text) for c in store.export())
    assert stats.bytes > 10_000


def test_workers_store_the_same(project, store, database):
    for number in range(12):
        (project / f"m{number}.py").write_text(MAIN.replace("first", f"first{number}"), encoding="utf-8")
    store.sync(project, concurrency=2, **SMALL)
    assert state(store) == expected(project, **SMALL)
    assert store.sync(project, concurrency=2, **SMALL).files_skipped == 14


def test_options_go_over_those_of_the_chunker(project, store):
    chunker = Chunker(**SMALL)
    store.sync(project, chunker=chunker, context_mode="none")
    assert state(store) == expected(project, context_mode="none", **SMALL)
    assert store.sync(project, chunker=chunker.with_options(context_mode="none")).files_skipped == 2
    with pytest.raises(OptionError, match="a Chunker, or None"):
        store.sync(project, chunker="quick")
    with pytest.raises(TypeError, match="max_chunk_sise"):
        store.sync(project, max_chunk_sise=3)


def test_file_names_that_are_no_utf8(project, store):
    path = os.fsencode(project) + b"/\xff\xfe.md"
    with open(path, "wb") as file:
        file.write(b"# Odd name\n")
    store.sync(project, **SMALL)
    assert os.fsdecode(path) in store.files()
    assert store.query(os.fsdecode(path)) == Chunker(**SMALL).chunk_file(os.fsdecode(path))
    os.unlink(path)
    assert store.sync(project, **SMALL).files_deleted == 1


@settings(max_examples=12)
@given(texts=st.lists(odd_text(), min_size=2, max_size=4))
def test_any_text_comes_back_as_it_was(tmp_path_factory, texts):
    """One file goes through all texts; the store always equals the chunker, and its words find what is in it."""
    root = tmp_path_factory.mktemp("odd")
    path = root / "a.md"
    with ChunkStore(":memory:") as store:
        for text in texts:
            path.write_bytes(text.replace("\0", "").encode())  # many of them make a file binary
            store.sync(root, **SMALL)
            chunks = Chunker(**SMALL).chunk_file(os.path.realpath(path))
            assert state(store) == chunks
            for chunk in chunks:
                found = [hit.chunk for hit in store.search(chunk.text, limit=100)]
                assert chunk in found or not terms(chunk.text)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "a\0", "b"]), st.sampled_from(["", "x ", "a"]), st.booleans()), max_size=5)
)
def test_rows_hold_all_of_a_chunk(kinds):
    """Whatever the chunks of a file have in common, and however their payloads are made of their texts."""
    (chunk,) = Chunker().chunk("a.md", "# Title\n\nText.\n")
    chunks = [
        replace(chunk, text=text, contextualized_text=head + text if ends else text + head + "!", index=number)
        for number, (text, head, ends) in enumerate(kinds)
    ]
    shared, made = rows_of(chunks)
    assert [chunk_of(row.text, row.record, shared) for row in made] == chunks
    assert all(digest_of(row.record, shared) == row.digest and "\0" not in row.text + row.record for row in made)


def test_metadata_that_cannot_be_stored_is_told():
    (chunk,) = Chunker().chunk("a.md", "Text.\n")
    with pytest.raises(StoreError, match="its metadata cannot be stored"):
        rows_of([replace(chunk, metadata={**chunk.metadata, "x": object()})])


def test_odd_text_in_postgres(tmp_path, postgres):
    """NUL, which PostgreSQL has no form for, and more words than a tsvector takes."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "nul.md").write_bytes("a\0b İ ﬁ 👩‍👩‍👧 'quoted' \\back".encode())
    (tmp_path / "root" / "long.txt").write_text(" ".join(f"w{n:06d}" for n in range(120_000)), encoding="utf-8")
    (tmp_path / "root" / "word.txt").write_text("x" * 100_000, encoding="utf-8")
    with ChunkStore(postgres) as store:
        store.sync(tmp_path / "root", max_chunk_size=1_000_000)
        assert state(store) == expected(tmp_path / "root", max_chunk_size=1_000_000)
        assert [len(store.search(word)) for word in ("quoted", "w000001", "x" * 100)] == [1, 1, 1]


def test_odd_arguments(project, database):
    """Names that nothing can have find nothing; what is no name, number or function is told."""
    with ChunkStore(database) as store:
        store.sync(project, **SMALL)
        for odd in ("\ud800", "a\0b", ""):
            assert store.get(odd) is None
            assert store.by_source(odd) == store.query(odd) == store.neighbours(odd) == []
            assert store.search("return", language=odd) == []
            store.forget_sink(odd)
        assert store.search("return", path="a\0b") == store.search("return", path="\ud800") == []
        (chunk, *rest) = store.query(project / "src" / "main.py")
        assert store.neighbours(chunk, 2**70, 2**70) == rest
        assert store.search("return", limit=2**70) == store.search("return")
        for call in (store.get, store.by_source, store.neighbours, store.query, store.sync):
            with pytest.raises(TypeError, match="int"):
                call(3)
        for wrong in ({"glob": 3}, {"exclude": 3}, {"progress": 3}):
            with pytest.raises(OptionError, match=next(iter(wrong))):
                store.sync(project, **wrong)
        for root in ("a\0b", "\ud800"):
            with pytest.raises(LoadError, match="no such file"):
                store.sync(root)
        with pytest.raises(OptionError, match="is no sink"):
            store.deliver(object(), len, name="x")
        for how in ({"name": "x", "model": 3}, {"name": 3}):
            with pytest.raises(TypeError, match="a str is needed"):
                store.deliver(SimpleNamespace(apply=print), len, **how)
    for call in (store.files, store.stats, lambda: store.sync(project), lambda: list(store.export()), store.check):
        with pytest.raises(StoreError, match="closed"):
            call()


def test_a_store_in_memory_is_read_while_it_is_read(project):
    with ChunkStore(":memory:", timeout=0.1) as store:
        store.sync(project, **SMALL)
        chunks = store.export()
        first = next(chunks)
        assert store.get(stable_chunk_id(first)) == first
        with pytest.raises(StoreError, match="finish that first"):
            store.sync(project, force=True, **SMALL)
        assert [first, *chunks] == state(store)
