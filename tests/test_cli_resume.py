"""``omnichunk chunk --resume``: an interrupted run, gone on with, gives what a whole one gives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from test_cli import run  # noqa: F401  the fixture

OUT = "out/chunks.jsonl"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Eight files, one of them wrong, one binary, and a folder for the output."""
    for i in range(8):
        (tmp_path / "docs" / f"d{i % 2}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / f"d{i % 2}" / f"f{i}.md").write_text(
            f"# Title {i}\n\nwords of it\n" * 20, encoding="utf-8"
        )
    (tmp_path / "docs" / "d0" / "f3.py").write_bytes(b"x = '\xff\xfe'\n")
    (tmp_path / "docs" / "d0" / "x.dat").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def interrupted(run, monkeypatch, after, *more):  # noqa: F811
    """A run that is interrupted when it has written ``after`` files."""
    from omnichunk.cli_resume import Journal

    add, left = Journal.add, [after]

    def adding(self, done):
        if done.text:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
        add(self, done)

    monkeypatch.setattr(Journal, "add", adding)
    status, _, err = run("chunk", "docs", "-o", OUT, "--resume", *more)
    monkeypatch.setattr(Journal, "add", add)
    assert status == 130
    assert "The same command goes on from here." in err


def whole(run):  # noqa: F811
    assert run("chunk", "docs", "-o", "whole.jsonl")[0] == 1
    with open("whole.jsonl", "rb") as file:
        return file.read()


def read(path=OUT):
    with open(path, "rb") as file:
        return file.read()


def summary(err):
    return [part.split(" in ")[0] for part in err.split(", ")]


@pytest.mark.parametrize("after", [0, 1, 5, 7])
def test_what_is_interrupted_goes_on(run, folder, monkeypatch, after):  # noqa: F811
    expected = whole(run)
    interrupted(run, monkeypatch, after)
    assert not os.path.exists(OUT)
    with open(OUT + ".part", "ab") as file:
        file.write(b'{"torn')
    with open(OUT + ".part.journal", "a") as file:
        file.write('{"path": "to')
    status, _, err = run("chunk", "docs", "-o", OUT, "--resume")
    assert (status, read()) == (1, expected)
    assert os.listdir("out") == ["chunks.jsonl"]
    assert summary(err) == summary(run("chunk", "docs", "-o", "again.jsonl")[2])


def test_nothing_is_made_twice(run, folder, monkeypatch):  # noqa: F811
    interrupted(run, monkeypatch, 6)
    made = []
    from omnichunk.cli_output import Write

    call = Write.__call__
    monkeypatch.setattr(Write, "__call__", lambda self, result: made.append(result) or call(self, result))
    assert run("chunk", "docs", "-o", OUT, "--resume")[0] == 1
    assert [os.path.basename(r.filepath) for r in made if r.chunks] == ["f5.md", "f7.md"]


@pytest.mark.parametrize("change", ["changed", "removed", "added"])
def test_files_that_are_no_longer_what_they_were_are_made_anew(run, folder, monkeypatch, change):  # noqa: F811
    interrupted(run, monkeypatch, 6)
    first = folder / "docs" / "d0" / "f2.md"
    if change == "changed":
        first.write_text("# Other\n\nwords\n", encoding="utf-8")
    elif change == "removed":
        first.unlink()
    else:
        (folder / "docs" / "d0" / "f1.txt").write_text("new", encoding="utf-8")
    assert run("chunk", "docs", "-o", OUT, "--resume")[0] == 1
    assert read() == whole(run)


def test_another_run_is_refused(run, folder, monkeypatch):  # noqa: F811
    interrupted(run, monkeypatch, 3)
    before = read(OUT + ".part")
    status, _, err = run("chunk", "docs", "-o", OUT, "--resume", "--max-size", 300)
    assert status == 2
    assert "--resume: out/chunks.jsonl.part is of a run with other files, options or another version" in err
    assert read(OUT + ".part") == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["docs", "--resume"], "name one with --output"),
        (["docs", "--resume", "-o", "x.csv"], "continues a file of JSON Lines"),
        (["-", "--resume", "-o", "x.jsonl"], "standard input cannot be read a second time"),
    ],
)
def test_what_cannot_be_resumed(run, folder, arguments, message):  # noqa: F811
    status, _, err = run("chunk", *arguments)
    assert status == 2
    assert message in err


def test_what_was_not_written_as_the_journal_says_is_made_anew(run, folder, monkeypatch):  # noqa: F811
    """After a power cut a file may hold zeros, or a journal anything at its end."""
    expected = whole(run)
    interrupted(run, monkeypatch, 5)
    part = bytearray(read(OUT + ".part"))
    part[-200:] = bytes(200)
    (folder / (OUT + ".part")).write_bytes(part)
    rows = read(OUT + ".part.journal").splitlines(keepends=True)
    for line in (b"1\n", b"null\n", b"{}\n", rows[1].replace(b'"tally": {', b'"tally": {"x": 1, '), b"\0\0"):
        (folder / (OUT + ".part.journal")).write_bytes(b"".join([*rows[:3], line, *rows[4:]]))
        (folder / (OUT + ".part")).write_bytes(part)
        assert run("chunk", "docs", "-o", OUT, "--resume")[0] == 1
        assert read() == expected
    assert sorted(os.listdir("out")) == ["chunks.jsonl"]


def test_two_runs_do_not_write_one_output(run, folder):  # noqa: F811
    fcntl = pytest.importorskip("fcntl")
    with open(OUT + ".part.journal", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        status, _, err = run("chunk", "docs", "-o", OUT, "--resume")
    assert (status, os.listdir("out")) == (2, ["chunks.jsonl.part.journal"])
    assert "another run is writing out/chunks.jsonl.part.journal" in err
    assert run("chunk", "docs", "-o", OUT, "--resume")[0] == 1
    assert os.listdir("out") == ["chunks.jsonl"]


def test_the_parts_of_an_output_are_no_input(run, folder, monkeypatch):  # noqa: F811
    monkeypatch.setattr("test_cli_resume.OUT", "docs/chunks.jsonl")
    interrupted(run, monkeypatch, 2)
    assert run("chunk", "docs", "-o", "docs/chunks.jsonl", "--resume")[0] == 1
    paths = {json.loads(line)["context"]["filepath"] for line in read("docs/chunks.jsonl").splitlines()}
    assert len(paths) == 8


def test_a_run_that_is_killed_goes_on(run, folder):  # noqa: F811
    for i in range(20):
        times = 100_000 if i == 12 else 4  # one that takes long enough to be caught at
        (folder / "docs" / f"m{i:02}.txt").write_text("words of it\n" * times, encoding="utf-8")
    command = [sys.executable, "-m", "omnichunk", "chunk", "docs", "-o", OUT, "--resume", "--concurrency", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while not os.path.exists(OUT + ".part.journal") or os.path.getsize(OUT + ".part.journal") < 2000:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert not os.path.exists(OUT)
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"28 files" in done.stderr
    assert read() == whole(run)
