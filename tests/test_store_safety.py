"""A store never lies: killed processes, other writers and readers, foreign and damaged files, migrations."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from omnichunk import Chunker, ChunkStore, OptionError, StoreError
from omnichunk.store import database as tables
from omnichunk.store import sqlite
from omnichunk.store.delivery import Journal

KILLS = int(os.environ.get("KILLS", "3"))
SMALL = {"max_chunk_size": 60, "min_chunk_size": 1}
CHILD = """
import sys
from omnichunk import ChunkStore
root, place, collection = sys.argv[1:]
with ChunkStore(place, collection) as store:
    print("open", flush=True)
    print(store.sync(root, max_chunk_size=60, min_chunk_size=1).files_updated, flush=True)
"""


def version(root, number):
    """All files of ``root`` in one state; every chunk tells which."""
    root.mkdir(exist_ok=True)
    for name in range(8):
        text = "".join(f"def state{number}_{name}_{i}():\n    return {number}\n\n" for i in range(12))
        (root / f"m{name}.py").write_text(text, encoding="utf-8")


def states(chunks):
    return {text.split("_")[0] for chunk in chunks for text in chunk.text.split() if text.startswith("state")}


def child(root, place, collection="default"):
    command = [sys.executable, "-c", CHILD, str(root), str(place), collection]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="only where processes can be killed")
def test_killed_syncs_leave_the_last_good_state(database, tmp_path):
    """Killed at moments from its start to past its end, a sync is there as a whole or not at all."""
    root = tmp_path / "root"
    version(root, 0)
    with ChunkStore(database) as store:
        store.sync(root, **SMALL)
        begun = time.monotonic()
        running = child(root, database)
        assert running.stdout.readline() == "open\n"
        startup = time.monotonic() - begun
        running.communicate()
        dice = random.Random(7)
        kept = 0
        for number in range(1, 1 + KILLS):
            version(root, number)
            before = list(store.export())
            running = child(root, database)
            if dice.random() < 0.8:
                running.stdout.readline()
                time.sleep(dice.random() * 0.3)
            else:
                time.sleep(dice.random() * startup)
            running.send_signal(signal.SIGKILL)
            running.communicate()
            after = list(store.export())
            assert store.check() == []
            assert after == before or after == [c for r in Chunker(**SMALL).chunk_directory(root) for c in r.chunks]
            kept += after == before
        store.sync(root, **SMALL)
        assert len(states(store.export())) == 1


def test_readers_see_complete_states_only(database, tmp_path):
    root = tmp_path / "root"
    version(root, 0)
    seen, wrong, done = set(), [], threading.Event()

    def read():
        with ChunkStore(database) as mine:
            while not done.is_set():
                found = states(mine.export())
                seen.update(found)
                if len(found) != 1 or mine.stats().chunks != total:
                    wrong.append(found)

    with ChunkStore(database) as store:
        total = store.sync(root, **SMALL).chunks_added
        readers = [threading.Thread(target=read) for _ in range(8)]
        for reader in readers:
            reader.start()
        for number in range(1, 4):
            version(root, number)
            store.sync(root, **SMALL)
        done.set()
        for reader in readers:
            reader.join()
    assert not wrong
    assert len(seen) > 1


def test_writers_wait_for_each_other(database, tmp_path):
    """Processes that make the same new store, and write at once, all succeed."""
    version(tmp_path / "root", 0)
    running = [child(tmp_path / "root", database, name) for name in ("a", "a", "b")]
    told = [process.communicate() for process in running]
    assert [errors for _, errors in told] == [""] * 3
    assert sorted(out.split()[1] for out, _ in told) == ["0", "8", "8"]
    for name in "ab":
        with ChunkStore(database, name) as store:
            assert store.check() == []
            assert store.stats().files == 8


def test_a_writer_waits_no_longer_than_it_was_told(database, tmp_path):
    version(tmp_path / "root", 0)
    with ChunkStore(database, timeout=0.2) as mine, ChunkStore(database, timeout=0.2) as theirs:

        def progress(path, what):
            with pytest.raises(StoreError, match="process"):
                theirs.sync(tmp_path / "root", **SMALL)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            mine.sync(tmp_path / "root", progress=progress, **SMALL)
        assert list(theirs.export()) == []
        assert theirs.sync(tmp_path / "root", **SMALL).files_updated == 8


def test_a_callable_that_raises_midway_undoes_everything(database, tmp_path):
    version(tmp_path / "root", 0)
    with ChunkStore(database) as store:
        store.sync(tmp_path / "root", **SMALL)
        before = list(store.export())
        version(tmp_path / "root", 1)
        calls = []

        def progress(path, what):
            calls.append(path)
            if len(calls) == 5:
                raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            store.sync(tmp_path / "root", progress=progress, **SMALL)
        assert list(store.export()) == before
        assert store.check() == []


def test_a_store_is_used_from_several_threads(database, tmp_path):
    version(tmp_path / "root", 0)
    with ChunkStore(database) as store:
        store.sync(tmp_path / "root", **SMALL)
        found = []
        threads = [threading.Thread(target=lambda: found.append(len(store.search("return", 5)))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [5] * 8


def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="of another program"):
        ChunkStore(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["other.db"]
    path.write_text("no database at all, but long enough to have a header " * 20)
    with pytest.raises(StoreError, match="not a database"):
        ChunkStore(path)


def test_a_schema_of_another_program_is_refused(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA omnichunk")
        connection.execute("CREATE TABLE omnichunk.mine (x int)")
        with pytest.raises(StoreError, match="of another program"):
            ChunkStore(postgres)
        connection.execute("DROP TABLE omnichunk.mine")
        ChunkStore(postgres).close()
        connection.execute("UPDATE omnichunk.store SET version = 99")
    with pytest.raises(StoreError, match="schema version 99"):
        ChunkStore(postgres)


def test_a_later_schema_version_is_refused(tmp_path):
    ChunkStore(tmp_path / "a.db").close()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="schema version 99"):
        ChunkStore(tmp_path / "a.db")


def test_an_older_store_is_migrated(tmp_path, monkeypatch):
    """Every step is taken once, and a step that fails leaves the store as it was."""
    version(tmp_path / "root", 0)
    with ChunkStore(tmp_path / "a.db") as store:
        store.sync(tmp_path / "root", **SMALL)
        before = list(store.export())
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", tables.SCHEMA_VERSION + 1)
    step = "ALTER TABLE source ADD COLUMN later TEXT;\nALTER TABLE absent ADD COLUMN x"
    monkeypatch.setattr(sqlite, "MIGRATIONS", (*sqlite.MIGRATIONS, step))
    with pytest.raises(StoreError, match="no such table"):
        ChunkStore(tmp_path / "a.db")
    monkeypatch.setattr(sqlite, "MIGRATIONS", (*sqlite.MIGRATIONS[:-1], step.split(";")[0]))
    for _ in range(2):
        with ChunkStore(tmp_path / "a.db") as store:
            assert list(store.export()) == before


def test_damage_is_found(tmp_path):
    version(tmp_path / "root", 0)
    path = tmp_path / "a.db"
    with ChunkStore(path) as store:
        store.sync(tmp_path / "root", **SMALL)
        assert store.check() == []
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE chunk SET record = replace(record, 'm0', 'm9') WHERE id = 1")
        connection.execute("DELETE FROM chunk WHERE id = 9")
    connection.close()
    with ChunkStore(path) as store:
        problems = store.check()
    assert any("chunk " in told and "is damaged" in told for told in problems)
    assert any("chunks are there" in told for told in problems)
    assert any("does not agree" in told for told in problems)


def test_where_a_store_can_be(tmp_path):
    for place, message in (
        (tmp_path / "no" / "folder.db", "Is its folder there"),
        ("mysql://localhost/x", "only postgresql://"),
        (3, "a path, or the URL"),
        ("", "no file can have this name"),
        ("a\0b", "no file can have this name"),
        ("\ud800", "no file can have this name"),
    ):
        with pytest.raises((StoreError, OptionError), match=message):
            ChunkStore(place)
    with pytest.raises(StoreError, match="no such store"):
        ChunkStore(tmp_path / "a.db", create=False)
    with pytest.raises(OptionError, match="collection="):
        ChunkStore(tmp_path / "a.db", collection="")
    with pytest.raises(OptionError, match="timeout="):
        ChunkStore(tmp_path / "a.db", timeout="long")
    assert os.listdir(tmp_path) == []
    store = ChunkStore(tmp_path / "a.db")
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.files()


def test_wal_and_foreign_keys(tmp_path):
    with ChunkStore(tmp_path / "a.db") as store:
        assert store._session.rows("PRAGMA journal_mode") == [("wal",)]
        assert store._session.rows("PRAGMA foreign_keys") == [(1,)]


def test_reading_a_file_and_a_batch_does_not_depend_on_what_else_is_stored(tmp_path):
    """Steps of SQLite's machine in a store of few and of many files."""
    for number in range(120):
        (tmp_path / f"m{number:03d}.md").write_text("".join(f"# {i}\n\nText {number}.\n\n" for i in range(12)))

    def steps(glob):
        ticks, counts = [], []
        with ChunkStore(":memory:") as store:
            store.sync(tmp_path, glob=glob, **SMALL)
            journal = Journal(store._session, "default", "sink", "")
            store._session._connection.set_progress_handler(lambda: ticks.append(0), 10)
            for work in (
                lambda: store.query(tmp_path / "m005.md"),
                lambda: store.by_source(str(tmp_path / "m005.md")),
                lambda: store.neighbours(store.query(tmp_path / "m005.md")[0]),
                lambda: journal.waiting(20),
            ):
                ticks.clear()
                assert work()
                counts.append(len(ticks))
        return counts

    few, many = steps("m00*.md"), steps("*.md")
    assert all(more < 1.5 * less + 5 for less, more in zip(few, many)), (few, many)
