"""Worker processes: equal results, and what becomes of files that crash, hang, kill or exhaust them."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hostile
from omnichunk import Chunker, OptionError, PluginRegistry
from omnichunk.execution.record import pack, unpack
from support import odd_text

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and enforced limits")
GOOD = {
    "a.py": "import os\n\n\nclass Box:\n    '''A box.'''\n\n    def grow(self, by):\n        return by\n" * 30,
    "b.md": "# Title\n\n" + "".join(f"## Part {i}\n\nWords ünd words.\n\n- one\n- two\n\n" for i in range(40)),
    "c.txt": "Some words. " * 400,
    "d.json": "[" + ",".join(f'{{"id": {i}}}' for i in range(300)) + "]",
    "z.csv": "name,size\n" + "".join(f"n{i},{i}\n" for i in range(300)),
}


@pytest.fixture
def folder(tmp_path):
    for name, text in GOOD.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def chunker(**options):
    return Chunker(PluginRegistry(plugins=[hostile]), **options)


def children() -> list[int]:
    found = []
    for task in Path("/proc/self/task").iterdir():
        found += (task / "children").read_text().split()
    return [int(pid) for pid in found]


def comparable(results):
    return [(r.filepath, r.chunks, r.error, r.outcome, r.diagnostics, r.size) for r in results]


def test_results_equal_those_of_one_process(folder):
    for options in ({}, {"max_chunk_size": 90, "overlap": 20, "coverage_policy": "lossless", "size_unit": "nws"}):
        made = Chunker(**options)
        here = made.chunk_directory(folder)
        there = made.chunk_directory(folder, concurrency=2)
        assert comparable(there) == comparable(here)
        assert all(r.seconds > 0 for r in there)


@given(text=odd_text(), path=st.sampled_from(["a.txt", "a.md", "a.py", "a.json", "a.html"]), size=st.integers(8, 200))
def test_chunks_survive_the_way(text, path, size):
    made = Chunker(max_chunk_size=size)
    record = pickle.loads(pickle.dumps(pack(made.chunk(path, text))))
    assert unpack(record, made.registry) == made.chunk(path, text)


def test_deep_nesting_survives_the_way():
    for path, text in (("a.json", "[" * 3000 + "]" * 3000), ("a.md", "> " * 1500 + "x"), ("a.html", "<div>" * 3000)):
        made = Chunker(max_chunk_size=100)
        record = pickle.loads(pickle.dumps(pack(made.chunk(path, text))))
        assert isinstance(record[0], str), "contexts were sent as what they are made from"
        assert unpack(record, made.registry) == made.chunk(path, text)


def test_chunks_whose_contexts_were_read_survive_the_way():
    made = Chunker(max_chunk_size=60)
    chunks = made.chunk("b.md", GOOD["b.md"])
    assert chunks[1].context.heading_hierarchy
    assert unpack(pickle.loads(pickle.dumps(pack(chunks))), made.registry) == chunks


@linux
def test_a_file_that_ends_its_worker_costs_its_structure(folder):
    good = comparable(Chunker().chunk_directory(folder))
    reasons = {
        "crash": "its worker crashed (SIGSEGV)",
        "eat": "it needs more memory than it may have",
        "hang": "it took longer than 0.7 seconds",
        "kill": "its worker was killed (SIGKILL)",
        "leave": "its worker ended with status 3",
    }
    for name in reasons:
        (folder / f"b-{name}.hostile").write_text(f"{name}\n\nsome words\n")
    results = chunker().chunk_directory(folder, concurrency=2, timeout_s=0.7, memory_mb=200)
    assert [os.path.basename(r.filepath) for r in results] == sorted([*GOOD, *(f"b-{n}.hostile" for n in reasons)])
    assert strip(comparable(r for r in results if not r.filepath.endswith("hostile"))) == strip(good)
    for result in results:
        if result.filepath.endswith("hostile"):
            name = Path(result.filepath).stem.removeprefix("b-")
            note = f"chunked as plain text: {reasons[name]}"
            assert result.outcome == "ok"
            assert [c.text for c in result.chunks] == [f"{name}\n\nsome words\n"]
            if name != "eat" or note in result.diagnostics:  # the guard around a plugin may be the first to notice
                assert result.diagnostics == (note,)
                assert result.chunks[0].context.parse_errors == (note,)
    assert children() == []


def strip(rows):
    """Without what says which plugins there were."""
    from dataclasses import replace

    return [(row[0], [replace(c, config_fingerprint="") for c in row[1]], *row[2:]) for row in rows]


@linux
def test_a_file_that_ends_two_workers_is_reported(folder):
    (folder / "bad.worse").write_text("kill it")
    (folder / "other.worse").write_text("words")
    results = {os.path.basename(r.filepath): r for r in chunker().iter_directory(folder, concurrency=2)}
    bad = results["bad.worse"]
    assert (bad.outcome, bad.chunks) == ("failed", ())
    reason = "its worker was killed (SIGKILL), twice, the second time as plain text"
    assert bad.error == f"{bad.filepath}: {reason}."
    assert [r.outcome for name, r in results.items() if name != "bad.worse"] == ["ok"] * 6


@linux
def test_workers_killed_from_outside_are_replaced(folder):
    for i in range(30):
        (folder / f"m{i:02}.hostile").write_text("sleep a little" if i % 10 == 0 else "words\n")
    expected = [os.path.basename(r.filepath) for r in chunker().chunk_directory(folder)]
    results = chunker().iter_directory(folder, concurrency=2)
    got = [next(results)]
    for pid in children():
        os.kill(pid, signal.SIGKILL)
    got += results
    assert [os.path.basename(r.filepath) for r in got] == expected
    assert {r.outcome for r in got} == {"ok"}
    assert sum(bool(r.diagnostics) for r in got) <= 2
    assert children() == []


@linux
def test_closing_early_leaves_no_process_and_no_thread(folder):
    (folder / "hang.hostile").write_text("hang")
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    results = chunker().iter_directory(folder, concurrency=2)
    assert next(results).outcome == "ok"
    assert len(children()) == 2
    results.close()
    assert children() == []
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == files


@linux
def test_a_source_that_a_worker_cannot_hold_costs_itself():
    items = [{"filepath": "a.txt", "code": "word " * 16_000_000}, {"filepath": "b.txt", "code": "words"}]
    large, small = Chunker().batch(items, concurrency=2, memory_mb=60)
    assert (large.outcome, small.outcome) == ("failed", "ok")
    assert "it needs more memory than it may have, twice" in large.error


@linux
def test_fewer_workers_than_asked_for_are_enough():
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    items = [{"filepath": f"{i}.hostile", "code": "crash" if i == 7 else "words " * 300} for i in range(20)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 9, limit[1]))
    try:
        results = chunker().batch(items, concurrency=40)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert [r.outcome for r in results] == ["ok"] * 20
    assert [r.filepath for r in results if r.diagnostics] == ["7.hostile"]


def test_workers_that_do_not_start_are_given_up(monkeypatch, tmp_path):
    """Sources too large for a socket wait for no worker that does not read them."""
    (tmp_path / "sleeper.py").write_text(
        "import os, time\nif 'SLEEP' in os.environ:\n    time.sleep(99)\ncount = len\n"
    )
    (tmp_path / "counter.py").write_text("import sleeper\n\n\ndef count(text):\n    return len(text)\n")
    monkeypatch.syspath_prepend(tmp_path)
    import counter

    monkeypatch.setenv("SLEEP", "1")
    monkeypatch.setattr("omnichunk.execution.pool.START", 0.7)
    monkeypatch.setattr("omnichunk.execution.pool.STARTS", 2)
    made = Chunker(size_unit="tokens", tokenizer=counter.count)
    results = made.batch([{"filepath": f"{i}.txt", "code": "words " * 90_000} for i in range(2)], concurrency=2)
    for result in results:
        assert result.diagnostics[-1].endswith("workers do not start: it took longer than 0.7 seconds")


@linux
def test_what_has_ended_a_worker_never_runs_here(folder, monkeypatch):
    """Not even when workers can no longer be started and the rest is done by threads."""
    from omnichunk.execution.pool import Pool, Unable

    gone = Pool._gone

    def last(self, worker, reason=""):
        gone(self, worker, reason)
        raise Unable("no more")

    monkeypatch.setattr(Pool, "_gone", last)
    (folder / "b.hostile").write_text("kill")
    results = {os.path.basename(r.filepath): r for r in chunker().iter_directory(folder, concurrency=2)}
    assert results.keys() == {*GOOD, "b.hostile"}
    assert results["b.hostile"].error.endswith("its worker was killed (SIGKILL); as plain text: no more.")
    assert {r.outcome for name, r in results.items() if name != "b.hostile"} == {"ok"}


def test_what_cannot_be_sent_costs_its_file():
    items = [{"filepath": name, "code": "words"} for name in ("a.txt", "b.locked", "c.lying", "d.txt")]
    results = chunker().batch(items, concurrency=2)
    assert [r.outcome for r in results] == ["ok", "failed", "failed", "ok"]
    assert "b.locked: its chunks cannot be sent from the worker: TypeError: cannot pickle" in results[1].error
    assert "c.lying: its chunks cannot be read from the worker: ValueError: " in results[2].error


def test_limits_that_are_no_limits():
    for limits in ({"timeout_s": 10**400}, {"timeout_s": float("inf")}, {"memory_mb": 10**30}):
        (result,) = Chunker().batch([{"filepath": "a.txt", "code": "words"}], **limits)
        assert (result.outcome, result.diagnostics) == ("ok", ())


def test_a_slow_consumer_costs_no_file(tmp_path):
    """A worker with more to tell than a socket holds waits for its reader, and that is not its fault."""
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text("Some words, and more of them.\n" * 15_000)
    results = Chunker().iter_directory(tmp_path, concurrency=2, timeout_s=1.5)
    assert not next(results).diagnostics
    time.sleep(1.7)
    assert [r.diagnostics for r in results] == [(), ()]


SCRIPT = """
import sys
from omnichunk import Chunker
print("once")

def count(text):
    return len(text.split())

options = {"size_unit": "tokens", "tokenizer": count} if sys.argv[2:] else {}
for result in Chunker(**options).iter_directory(sys.argv[1], concurrency=2):
    print(result.outcome, result.diagnostics, flush=True)
"""


@pytest.mark.parametrize("more", [[], ["callable"]], ids=["plain", "callable"])
def test_a_script_without_a_guard_works(folder, tmp_path_factory, more):
    script = tmp_path_factory.mktemp("script") / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script, folder, *more], capture_output=True, text=True, check=True)
    first, *lines = done.stdout.splitlines()
    assert (first, len(lines), done.stderr) == ("once", 5, "")
    if more:
        assert all("ran in a thread" in line and "count is defined in the program itself" in line for line in lines)
    else:
        assert lines == ["ok ()"] * 5


@linux
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_orphan(folder, tmp_path_factory, sent):
    script = tmp_path_factory.mktemp("script") / "script.py"
    script.write_text(f"import sys; sys.path[:] = {sys.path!r}; import hostile\n" + SCRIPT.replace(
        "Chunker(**options)", "Chunker(__import__('omnichunk').PluginRegistry(plugins=[hostile]))"
    ).replace("concurrency=2", "concurrency=2, timeout_s=0.5" if sent == signal.SIGKILL else "concurrency=2"))  # fmt: skip
    (folder / "e.hostile").write_text("hang")
    with subprocess.Popen([sys.executable, script, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        for _ in range(5):
            run.stdout.readline()
        workers = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        assert workers
        run.send_signal(sent)
        assert run.wait(timeout=5) != 0
        assert (b"KeyboardInterrupt" in run.stderr.read()) == (sent == signal.SIGINT)
    end = time.monotonic() + 8
    while any(os.path.exists(f"/proc/{pid}") for pid in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in workers if os.path.exists(f"/proc/{pid}")]


def test_callables_that_workers_can_import(folder):
    options = {"size_unit": "tokens", "tokenizer": hostile.count_words, "max_chunk_size": 30}
    here, there = Chunker(**options).chunk_directory(folder), Chunker(**options).chunk_directory(folder, concurrency=2)
    assert comparable(here) == comparable(there)


def test_callables_that_cannot_be_sent_run_in_threads(folder):
    made = Chunker(size_unit="tokens", tokenizer=lambda text: len(text.split()), max_chunk_size=30)
    here, threads = made.chunk_directory(folder), threading.active_count()
    for more in ({}, {"as_completed": True}):
        results = made.chunk_directory(folder, concurrency=3, **more)
        assert sorted(r.filepath for r in results) == [r.filepath for r in here]
        assert [r.chunks for r in sorted(results, key=lambda r: r.filepath)] == [r.chunks for r in here]
        assert all(r.diagnostics[-1].startswith("ran in a thread, without limits of time and memory") for r in results)
    results = made.iter_directory(folder, concurrency=3)
    next(results)
    results.close()
    assert threading.active_count() == threads


def test_exceptions_of_the_callers_callables_arrive_with_their_traceback(folder):
    (folder / "c.txt").write_text("a bad word")
    for tokenizer in (hostile.raise_error, lambda text: hostile.raise_error(text)):
        made = Chunker(size_unit="tokens", tokenizer=tokenizer)
        for concurrency in (1, 2):
            results = made.iter_directory(folder, concurrency=concurrency)
            assert next(results).outcome == "ok"
            with pytest.raises(KeyError, match="the counter broke") as raised:
                list(results)
            seen = "".join(str(entry) for entry in raised.traceback) + str(raised.value.__cause__)
            assert "raise_error" in seen


def test_items_whose_options_cannot_be_sent_are_done_here():
    lonely = {"size_unit": "tokens", "tokenizer": lambda text: len(text.split()), "max_chunk_size": 60}
    shared = {**lonely, "tokenizer": hostile.count_words}
    items = [{"filepath": f"{i}.txt", "code": "word " * 99, **more} for i, more in enumerate(({}, lonely, shared))]
    results = Chunker().batch(items, concurrency=2)
    assert [len(r.chunks) for r in results] == [1, 2, 2]
    assert [bool(r.diagnostics) for r in results] == [False, True, False]
    broken = {"filepath": "a.txt", "code": "a bad word", **lonely, "tokenizer": lambda text: hostile.raise_error(text)}
    for concurrency in (1, 2):
        with pytest.raises(KeyError, match="the counter broke"):
            Chunker().batch([broken], concurrency=concurrency)


def test_a_configuration_that_workers_cannot_rebuild_runs_in_threads(folder, monkeypatch):
    module = type(sys)("nowhere")
    exec("def count(text):\n    return len(text)\n", module.__dict__)
    monkeypatch.setitem(sys.modules, "nowhere", module)
    made = Chunker(size_unit="tokens", tokenizer=module.count)
    results = made.chunk_directory(folder, concurrency=2)
    assert [r.chunks for r in results] == [r.chunks for r in made.chunk_directory(folder)]
    assert all("No module named 'nowhere'" in r.diagnostics[-1] for r in results)


def test_without_an_interpreter_there_are_threads(folder, monkeypatch):
    monkeypatch.setattr(sys, "executable", None)
    results = Chunker().chunk_directory(folder, concurrency=2)
    assert all("no Python interpreter" in r.diagnostics[-1] for r in results)
    assert len(results) == 5


def longest(result):
    return max(len(chunk.text) for chunk in result.chunks), os.getpid()


def test_results_as_completed_and_converted(folder):
    made = chunker()
    (folder / "0.hostile").write_text("sleep")
    results = made.chunk_directory(folder, concurrency=2, as_completed=True)
    assert sorted(os.path.basename(r.filepath) for r in results) == ["0.hostile", *GOOD]
    expected = [longest(r)[0] for r in made.chunk_directory(folder)]
    sizes, processes = zip(*made.iter_directory(folder, concurrency=2, convert=longest))
    assert list(sizes) == expected
    assert os.getpid() not in processes
    assert [size for size, _ in made.iter_directory(folder, convert=longest)] == expected


def test_files_can_be_left_out(folder):
    (folder / "bin.dat").write_bytes(bytes(range(256)))
    results = Chunker().chunk_directory(folder, concurrency=2, skip=lambda path: path.endswith((".py", ".csv")))
    assert {os.path.basename(r.filepath): r.error for r in results if r.outcome == "skipped"} == {
        "a.py": "not wanted", "bin.dat": "binary", "z.csv": "not wanted",
    }  # fmt: skip


def test_a_limit_alone_asks_for_a_worker(folder):
    (folder / "e.hostile").write_text("kill")
    assert chunker().chunk_directory(folder, timeout_s=60)[4].diagnostics
    with pytest.raises(OptionError, match="memory_mb=0"):
        chunker().iter_directory(folder, memory_mb=0)
