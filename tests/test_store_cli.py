"""``omnichunk index``, ``search`` and ``store``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from omnichunk import Chunker, ChunkStore, chunk_from_dict
from omnichunk.cli import app


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    body = "".join(f"    step_{i} = {i}\n" for i in range(20))
    (tmp_path / "src" / "a.py").write_text(f"def wanted():\n{body}    return needle\n\n\ndef other():\n    pass\n")
    (tmp_path / "notes.md").write_text("# Trip\n\nA needle in the hay.\n")
    return tmp_path


def run(*arguments):
    if arguments[0] == "index" and "--max-size" not in arguments:
        arguments = (*arguments, "--concurrency", "1")  # workers take half a second to start
    return CliRunner().invoke(app, arguments, prog_name="omnichunk")


def test_from_a_folder_to_a_hit(folder):
    first = run("index", "src", "--max-size", "800", "--context-mode", "none")
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr.startswith("files: 1 updated, 0 unchanged; chunks: 2 added, 0 changed, 0 moved, 0 removed; ")
    again = run("index", "src", "--max-size", "800", "--context-mode", "none", "--json")
    assert json.loads(again.stdout)["files_skipped"] == 1
    found = run("search", "needle")
    assert found.exit_code == 0
    assert found.stdout.splitlines()[0] == "src/a.py:1-24"
    assert "    22      return needle" in found.stdout.splitlines()
    assert len(found.stdout.splitlines()) < 10 < len(run("search", "needle", "--full").stdout.splitlines())
    (hit,) = json.loads(run("search", "needle", "--json").stdout)
    chunk = chunk_from_dict(hit["chunk"])
    assert {chunk.text[a:b] for a, b in hit["matches"]} == {"needle"}
    exported = run("store", "export").stdout.splitlines()
    assert [chunk_from_dict(json.loads(line)) for line in exported] == Chunker(
        max_chunk_size=800, context_mode="none"
    ).chunk_file(os.path.realpath(folder / "src" / "a.py"))
    assert run("store", "stats").stdout.startswith("1 file, 2 chunks")
    assert json.loads(run("store", "stats", "--json").stdout)["languages"] == {"python": 2}
    assert run("store", "check").exit_code == 0
    nothing = run("search", "unheardof")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (0, "", "omnichunk: nothing found.\n")


def test_what_goes_wrong(folder):
    assert run("search", "x").exit_code == 1
    assert "no such store" in run("store", "stats").stderr
    assert not (folder / "chunks.db").exists()
    wrong = run("index", ".", "--max-size", "0")
    assert (wrong.exit_code, wrong.stderr[:24]) == (2, "omnichunk: --max-size=0;")
    (folder / "bad.py").write_bytes(b"x = '\xff'\n")
    failed = run("index", ".")
    assert failed.exit_code == 1
    assert "bad.py" in failed.stderr
    going = run("index", ".", "--keep-going")
    assert (going.exit_code, going.stderr.count("1 failed"), going.stderr.count("failed: ")) == (0, 1, 1)
    assert run("index", ".", "--exclude", "bad.py").exit_code == 0
    (folder / "notes.md").unlink()
    assert "deleted" not in run("index", ".", "--exclude", "bad.py", "--keep").stderr
    assert "1 deleted" in run("index", ".", "--exclude", "bad.py").stderr
    with ChunkStore(folder / "chunks.db") as store:
        store._session.rows("UPDATE chunk SET record = '{}'")
    nowhere = run("index", "nowhere", "--watch")
    assert (nowhere.exit_code, nowhere.stderr[:39]) == (1, "omnichunk: nowhere: cannot be watched: ")
    damaged = run("store", "check")
    assert damaged.exit_code == 1
    assert "is damaged" in damaged.stdout


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="sends a signal")
def test_watching(folder):
    """Each change is followed, and an interrupt ends it."""
    command = [sys.executable, "-m", "omnichunk", "index", "src", "--watch", "--json", "--concurrency", "1"]
    watching = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert json.loads(watching.stdout.readline())["files_updated"] == 1
    (folder / "src" / "b.py").write_text("def b():\n    pass\n")
    assert json.loads(watching.stdout.readline())["files_updated"] == 1
    (folder / "src" / "a.py").unlink()
    assert json.loads(watching.stdout.readline())["files_deleted"] == 1
    time.sleep(0.1)
    watching.send_signal(signal.SIGINT)
    _, errors = watching.communicate(timeout=60)
    assert watching.returncode == 130
    assert errors.endswith("the store is as it was after the last complete sync.\n")


def test_what_is_found_is_written_in_any_locale(folder):
    """File names that are no UTF-8, and a terminal that knows ASCII alone."""
    name = os.fsdecode(b"src/\xff.md")
    with open(name, "w", encoding="utf-8") as file:
        file.write("# Größe\n\nNadel.\n")
    run("index", "src")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "omnichunk", "search", "nadel"]
    found = subprocess.run(command, cwd=folder, env=ascii_only, capture_output=True, check=True)
    assert found.stdout.decode().splitlines()[0] == "src/\\udcff.md:1-3 · Größe"
