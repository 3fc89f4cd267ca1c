"""``omnichunk check``: promises proved on files, and found broken where they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnichunk import ByteRange, Chunker
from omnichunk.cli_check import PROOFS, Prove, report
from test_cli import run  # noqa: F401  the fixture

TEXT = "\ufeff# Title\n\n" + "".join(f"## Part {i}\r\n\r\nWörds of it, 中文, and more.\n\n\n" for i in range(30))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(TEXT, encoding="utf-8", newline="")
    (tmp_path / "docs" / "b.py").write_text("def f(x):\n    return x\n", encoding="utf-8")
    (tmp_path / "docs" / "c.rst").write_text("Title\n=====\n\nWords.\n", encoding="utf-8")
    (tmp_path / "docs" / "empty.txt").touch()
    (tmp_path / "docs" / "u.txt").write_bytes("größe\n".encode("utf-16"))
    (tmp_path / "docs" / "x.dat").write_bytes(bytes(range(256)) * 9)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("more", [[], ["--max-size", "60"], ["--size-unit", "nws"], ["--context-mode", "none"]])
def test_all_is_well(run, folder, more):  # noqa: F811
    status, out, err = run("check", "docs", *more)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("5 files, ")
    assert [line.split()[:2] for line in lines[1:7]] == [["ok", name] for name in (*PROOFS, "share")]
    assert lines[-1] == "skipped: 1 binary"
    assert run("check", "docs/a.md")[1].startswith("1 file, ")


def test_in_workers(run, folder):  # noqa: F811
    assert run("check", "docs", "--concurrency", 2)[1] == run("check", "docs")[1]


def test_files_that_fail_are_told(run, folder):  # noqa: F811
    (folder / "docs" / "bad.py").write_bytes(b"x = '\xff\xfe'\n")
    status, out, _ = run("check", "docs", "missing.md")
    assert status == 1
    assert "2 failed" in out
    assert "  missing.md: cannot be read: No such file or directory." in out
    assert "  docs/bad.py: " in out


def test_context_can_be_asked_for(run, folder):  # noqa: F811
    status, out, _ = run("check", "docs", "--max-size", 12)
    assert status == 0
    assert "context left out of" in out
    assert run("check", "docs", "--max-size", 12, "--min-context", 99)[0] == 1
    assert run("check", "docs", "--min-context", 99)[0] == 0


def test_wrong_usage(run, folder):  # noqa: F811
    assert run("check", "-")[0] == 2
    status, _, err = run("check", "docs", "--max-size", 0)
    assert (status, err.startswith("omnichunk: --max-size=0")) == (2, True)


def broken(chunks, which):
    """The chunks with one promise broken in the second."""
    first, second, *rest = chunks
    if which == "slices":
        second = replace(second, text=second.text.upper())
    elif which == "coverage":
        return [first, *rest]
    elif which == "budget":
        second = replace(second, contextualized_text=second.contextualized_text + "x" * 400)
    elif which == "context":
        second = replace(second, contextualized_text="other")
    elif which == "stream":
        second = replace(second, nws_count=0)
    return [first, second, *rest]


@pytest.mark.parametrize("which", PROOFS)
def test_what_is_broken_is_found(folder, which):
    (result,) = Chunker(max_chunk_size=200).batch([{"filepath": "docs/a.md"}])
    result = replace(result, chunks=tuple(broken(result.chunks, which)))
    findings = Prove((("max_chunk_size", 200),), None)(result)
    assert which in findings.broken
    text, bad = report([findings], 0)
    assert bad
    assert f"  BROKEN  {which:9} " in text
    assert f"  docs/a.md: {next(iter(findings.broken))}: " in text


def test_a_range_that_is_off_by_one_is_found(folder):
    (result,) = Chunker().batch([{"filepath": "docs/b.py"}])
    (chunk,) = result.chunks
    moved = replace(chunk, byte_range=ByteRange(chunk.byte_range.start + 1, chunk.byte_range.end))
    assert "slices" in Prove((), None)(replace(result, chunks=(moved,))).broken


def test_a_failed_file_is_named_once(run, folder):  # noqa: F811
    (folder / "docs" / "bad.md").write_bytes(b"Fine.\nNot \xff\n")
    code, out, _ = run("check", "docs")
    assert code == 1
    assert out.count("bad.md") == 1
    assert "bad.md: line 2: byte 0xFF" in out
