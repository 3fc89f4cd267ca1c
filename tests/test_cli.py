"""The command: what it prints where, its status, and what it leaves behind."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys

import pytest

import omnichunk
from omnichunk import Chunker, PluginRegistry, chunk_from_dict, chunk_to_dict
from omnichunk.cli import main

COMMAND = [sys.executable, "-m", "omnichunk"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two good files and one that is hidden, and the place one stands in."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Title\n\nSome words, ünd more.\n", encoding="utf-8")
    (tmp_path / "docs" / "b.py").write_text("def f(x):\n    return x\n\n\ndef g():\n    pass\n", encoding="utf-8")
    (tmp_path / "docs" / ".hidden").write_text("no", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch, capsysbinary):
    """Run the command in this process: status, standard output, standard error."""

    def command(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["omnichunk", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setattr("omnichunk.cli_run.processors", lambda: 0)  # everything in this process
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsysbinary.readouterr()
        return left.value.code, out.decode(), err.decode()

    return command


def chunks_of(out):
    return [chunk_from_dict(json.loads(line)) for line in out.splitlines()]


def test_json_lines_are_the_chunks_of_the_library(run, folder):
    status, out, err = run("chunk", "docs", "--max-size", 40)
    chunker = Chunker(max_chunk_size=40)
    expected = [c for r in chunker.chunk_directory("docs") for c in r.chunks]
    assert status == 0
    assert chunks_of(out) == expected
    assert {c.context.filepath for c in expected} == {os.path.join("docs", "a.md"), os.path.join("docs", "b.py")}
    assert err.startswith(f"2 files, {len(expected)} chunks, ")
    assert "1 skipped" in err
    assert err.count("\n") == 1, "away from a terminal the summary is one line"


def test_every_chunk_option_is_passed_on(run, folder):
    status, out, _ = run(
        "chunk", "docs/a.md", "--max-size", 30, "--min-size", 2, "--size-unit", "tokens", "--tokenizer", "approximate",
        "--context-mode", "minimal", "--coverage", "lossless", "--target-fill", 0.9, "--language", "text",
    )  # fmt: skip
    assert status == 0
    assert chunks_of(out) == Chunker(
        max_chunk_size=30, min_chunk_size=2, size_unit="tokens", tokenizer="approximate", context_mode="minimal",
        coverage_policy="lossless", target_fill=0.9, language="text",
    ).chunk_file("docs/a.md")  # fmt: skip


def test_options_without_a_flag(run, folder):
    given = ["--option", "parent_sizes=[200]", "--option", "include-imports=true", "--option", "source_id=7"]
    status, out, _ = run("chunk", "docs/b.py", "--max-size", 50, *given, "--option", "pdf_password=123")
    assert status == 0
    expected = Chunker(max_chunk_size=50, parent_sizes=(200,), include_imports=True, source_id="7", pdf_password="123")
    assert chunks_of(out) == expected.chunk_file("docs/b.py")
    assert run("check", "docs", "--option", "parent_sizes=[2000]")[0] == 0


def test_formats(run, folder):
    lines = run("chunk", "docs")[1].splitlines()
    assert json.loads(run("chunk", "docs", "--format", "json")[1]) == [json.loads(line) for line in lines]
    rows = list(csv.DictReader(io.StringIO(run("chunk", "docs", "--format", "csv")[1])))
    assert [row["text"] for row in rows] == [json.loads(line)["text"] for line in lines]
    text = run("chunk", "docs", "--format", "text")[1]
    assert f"──── {os.path.join('docs', 'a.md')}:1-3 · markdown · " in text
    assert json.loads(run("chunk", "docs", "--format", "json", "--glob", "*.none")[1]) == []


def test_a_plugin_adds_a_format(run, folder, monkeypatch):
    registry = PluginRegistry()
    registry.register_formatter("names", lambda chunks: "".join(c.context.filepath + "\n" for c in chunks))
    monkeypatch.setattr("omnichunk.chunker.default_registry", lambda: registry)
    assert run("chunk", "docs/a.md", "--format", "names")[1] == "docs/a.md\n"
    registry.register_formatter("broken", lambda chunks: 1 / 0)
    registry.register_formatter("nothing", lambda chunks: None)
    for name, told in {"broken": "it raised ZeroDivisionError: division", "nothing": "it gave a NoneType"}.items():
        status, out, err = run("chunk", "docs/a.md", "--format", name)
        assert (status, out) == (1, "")
        assert err.startswith(f"omnichunk: --format {name}: {told}")
    status, _, err = run("chunk", "docs", "--format", "yaml")
    assert status == 2
    assert "jsonl, json, csv, text, names" in err


def test_standard_input(run, folder):
    data = (folder / "docs" / "a.md").read_bytes()
    status, out, _ = run("chunk", "-", "--name", "docs/a.md", stdin=data)
    assert status == 0
    assert chunks_of(out) == Chunker().chunk_file("docs/a.md")
    assert run("chunk", "-", "--name", "docs/a.md", "--timeout", 30, "--concurrency", 1, stdin=data)[1] == out
    assert chunks_of(run("chunk", "-", stdin=b"words")[1])[0].context.filepath == "stdin"
    assert run("chunk", "docs", "--name", "x.md")[0] == 2


def test_failures_are_told_and_give_status_1(run, folder):
    for i in range(23):
        (folder / "docs" / f"z{i:02}.py").write_bytes(b"x = '\xff\xfe\xfa'\n")
    status, out, err = run("chunk", "docs")
    assert status == 1
    assert chunks_of(out)
    assert "23 failed" in err
    assert err.count("failed: docs/z") == 20
    assert "failed: and 3 more" in err
    assert run("chunk", "docs", "--keep-going")[0] == 0


def test_files_that_are_named_are_never_skipped(run, folder):
    (folder / "blob.bin").write_bytes(bytes(range(256)) * 9)
    (folder / "paper.odt").write_bytes(b"PK\x03\x04")
    for path in ("blob.bin", "paper.odt", "missing.py"):
        status, out, err = run("chunk", path, "docs/a.md")
        assert status == 1, path
        assert f"failed: {path}: " in err
        assert len(chunks_of(out)) == 1, "the others are chunked"
    assert run("chunk", ".")[0] == 0, "found in a folder they are skipped"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-size", "0"], "--max-size=0; a whole number of at least 1"),
        (["--max-size", "9", "--min-size", "10"], "--min-size=10 is above --max-size=9"),
        (["--size-unit", "words"], "--size-unit='words'; choose \"chars\""),
        (["--overlap", "much"], "--overlap='much'"),
        (["--overlap", "2", "--overlap-lines", "1"], "exclude each other"),
        (["--size-unit", "tokens"], "needs a tokenizer"),
        (["--glob", "!"], "is no pattern"),
        (["--encoding", "rot13"], "--encoding='rot13' is a codec, but none that decodes text"),
        (["--language", "pyhton"], '--language: unknown language "pyhton"; did you mean "python"?'),
        (["--output", "chunks.parquet"], "write_parquet(read_jsonl(FILE))"),
        (["--option", "overlap"], "'overlap' is not NAME=VALUE"),
        (["--option", "overlap=2", "--overlap", "1"], "overlap is given twice"),
        (["--option", "pdf_pasword=x"], 'unknown option "pdf_pasword"; did you mean'),
        (["--option", "include_imports=perhaps"], "include_imports='perhaps'"),
    ],
)
def test_wrong_options_are_usage_errors(run, folder, arguments, message):
    status, out, err = run("chunk", "docs", *arguments)
    assert status == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_wrong_usage(run, folder):
    assert "omnichunk chunk docs" in run("docs")[2]
    assert run("chunk")[0] == 2
    assert run("chunk", "docs", "--max-sise", "3")[0] == 2
    assert run("chunk", "docs", "--max-size", "many")[0] == 2
    assert run("chunk", "docs", "--max-bytes", "-1")[0] == 2


def test_help_and_version(run):
    assert run("--version")[:2] == (0, f"omnichunk {omnichunk.__version__}\n")
    status, out, _ = run()
    assert status == 0
    listed = re.findall(r"^\W*(chunk|check|index|doctor) ", out.partition("Commands")[2], re.MULTILINE)
    assert listed == ["chunk", "check", "index", "doctor"], "what most come for is first"
    assert run("chunk", "--help")[0] == 0


def test_stats_name_the_most_frequent_diagnostics(run, folder):
    for i in range(3):
        (folder / "docs" / f"z{i}.py").write_text("\n" * i + "def f(:\n", encoding="utf-8")
    (folder / "docs" / "y.json").write_text("{", encoding="utf-8")
    err = run("chunk", "docs", "--stats")[2]
    assert "4 with diagnostics" in err
    assert "\n  3 files: syntax error near line N\n  1 file: invalid JSON near line N\n" in err


def test_stats_print_the_whole_summary_and_no_chunks(run, folder):
    (folder / "docs" / "empty.txt").touch()
    (folder / "docs" / "x.bin").write_bytes(b"\0\1\2\3" * 99)
    status, out, err = run("chunk", "docs", "--stats")
    assert (status, out) == (0, "")
    rows = [line.split() for line in err.splitlines()]
    assert rows[0][:4] == ["3", "files,", str(int(rows[0][2])), "chunks,"]
    assert ["python", "1", "file"] in [row[:3] for row in rows]
    assert ["(empty)", "1", "file"] in [row[:3] for row in rows]
    assert "1 hidden" in err
    assert "1 binary" in err
    assert "mean fill" in err


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_an_encoding_makes_no_text_of_binaries(run, folder, encoding):
    (folder / "mixed").mkdir()
    (folder / "mixed" / "a.txt").write_text("caf\u00e9 au lait", encoding)
    (folder / "mixed" / "i.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    (folder / "mixed" / "x.bin").write_bytes(bytes(range(256)) * 20)
    status, _, err = run("chunk", "mixed", "--encoding", encoding, "--stats")
    assert (status, "1 chunk," in err, "skipped: 2 binary" in err) == (0, True, True)


def test_output_is_written_as_a_whole(run, folder):
    status, out, _ = run("chunk", "docs", "--output", "chunks.jsonl")
    assert (status, out) == (0, "")
    assert chunks_of((folder / "chunks.jsonl").read_text(encoding="utf-8"))
    run("chunk", "docs", "-o", "chunks.csv")
    assert (folder / "chunks.csv").read_text(encoding="utf-8").startswith("filepath,index,")
    before = (folder / "chunks.jsonl").read_bytes()
    assert run("chunk", ".", "-o", "chunks.jsonl", "--exclude", "*.csv")[0] == 0
    assert (folder / "chunks.jsonl").read_bytes() == before, "the output of a run is no input of it"
    assert sorted(os.listdir(folder)) == ["chunks.csv", "chunks.jsonl", "docs"]


@pytest.mark.parametrize(
    ("output", "remedy"), [("none/a.jsonl", "Make its folder first."), ("docs", "Name a file in it.")]
)
def test_an_output_that_cannot_be_made(run, folder, output, remedy):
    status, out, err = run("chunk", "docs/a.md", "--output", output)
    assert (status, out) == (1, "")
    assert err.endswith(f"{remedy}\n")


def test_progress_on_a_narrow_terminal(monkeypatch, capsys):
    """How much is done and what is left are shown; the line that tells more is cut."""
    from omnichunk.cli_output import Tally, progress

    for name, value in {"COLUMNS": "50", "FORCE_COLOR": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    with progress(True) as show:
        show(Tally(files=12_345, chunks=987_654_321), 50, 100)
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err))
    shown = next(line for line in lines if "12,345 files" in line)
    assert "━" in shown
    assert " left; " in shown
    assert len(shown) <= 50


def test_pipes_and_devices_are_failures(run, folder):
    os.mkfifo("pipe.md")
    status, out, err = run("chunk", "pipe.md", "/dev/zero", "docs/a.md")
    assert status == 1
    assert len(chunks_of(out)) == 1
    assert "failed: pipe.md: is not a regular file." in err
    assert "failed: /dev/zero: is not a regular file." in err


def test_the_output_is_none_of_the_files_to_chunk(run, folder):
    source = (folder / "docs" / "a.md").read_bytes()
    os.link("docs/a.md", "hard.jsonl")
    os.symlink("docs/a.md", "soft.jsonl")
    for output in ("docs/a.md", "./docs/../docs/a.md", "hard.jsonl", "soft.jsonl"):
        status, out, err = run("chunk", "docs/b.py", "docs/a.md", "-o", output)
        assert (status, out) == (2, ""), output
        assert "is to be chunked" in " ".join(err.replace("│", " ").split())
    with open("docs/a.md", "rb") as stdin:
        done = subprocess.run(
            [*COMMAND, "chunk", "-", "-o", "docs/a.md"], stdin=stdin, capture_output=True, check=False
        )
    assert done.returncode == 2
    assert (folder / "docs" / "a.md").read_bytes() == source


def test_nothing_is_left_of_a_run_that_fails(run, folder, monkeypatch):
    (folder / "old.jsonl").write_text("old", encoding="utf-8")

    def full(chunk):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("omnichunk.cli_output.chunk_to_dict", full)
    status, _, err = run("chunk", "docs", "-o", "old.jsonl")
    assert status == 1
    assert err == "omnichunk: old.jsonl: cannot be written: No space left on device.\n"

    def interrupted(chunk):
        raise KeyboardInterrupt

    monkeypatch.setattr("omnichunk.cli_output.chunk_to_dict", interrupted)
    status, _, err = run("chunk", "docs", "-o", "old.jsonl")
    assert status == 130
    assert err.startswith("omnichunk: interrupted; ")
    assert sorted(os.listdir(folder)) == ["docs", "old.jsonl"]
    assert (folder / "old.jsonl").read_text(encoding="utf-8") == "old"
    assert run("chunk", "docs", "-o", "no/such/place.jsonl")[0] == 1


def test_a_pipe_that_closes_is_no_failure(folder):
    (folder / "docs" / "long.txt").write_text("Some words. " * 100_000, encoding="utf-8")
    with subprocess.Popen([*COMMAND, "chunk", "docs"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("chunk docs/a.md >&-", 1, "omnichunk: standard output: cannot be written: Bad file descriptor.\n"),
        ("chunk docs/a.md >/dev/full", 1, "omnichunk: standard output: cannot be written: No space left on device.\n"),
        (
            "chunk docs/a.md -o no/a.jsonl",
            1,
            "omnichunk: no/a.jsonl: cannot be written: No such file or directory. Make ",
        ),
        ("check docs --concurrency 0 >&-", 1, "omnichunk: standard output: cannot be written: Bad file descriptor.\n"),
        ("--version >&-", 1, "omnichunk: standard output: cannot be written: Bad file descriptor.\n"),
        ("chunk - --name x.md <&-", 1, "failed: x.md: standard input cannot be read: Bad file descriptor.\n"),
        ("chunk docs/a.md -o x.jsonl <&- >&-", 0, "1 file, "),
        ("chunk docs/a.md -o x.jsonl 2>&- >&-", 0, ""),
    ],
)
def test_streams_that_are_closed(folder, command, status, message):
    line = f'exec "$0" -m omnichunk {command}'
    done = subprocess.run(["sh", "-c", line, sys.executable], capture_output=True, check=False)
    assert done.returncode == status
    err = done.stderr.decode()
    assert message in err
    assert "Traceback" not in err
    if "x.jsonl" in command:
        assert chunks_of((folder / "x.jsonl").read_text(encoding="utf-8")) == Chunker().chunk_file("docs/a.md")


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [(signal.SIGINT, 130, b"omnichunk: interrupted; "), (signal.SIGTERM, 143, b""), (signal.SIGHUP, 129, b"")],
)
def test_signals_leave_nothing_behind(folder, sent, status, message):
    """While it waits for standard input; nothing is left of the output."""
    with subprocess.Popen(
        [*COMMAND, "chunk", "docs/a.md", "-", "-o", "x.jsonl"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        while not any(name.startswith(".x.jsonl.") for name in os.listdir(folder)):
            assert process.poll() is None
        process.send_signal(sent)
        assert process.wait() == status
        said = process.stderr.read()
        assert said.startswith(message)
        assert b"Traceback" not in said
        process.stdin.close()
    assert sorted(os.listdir(folder)) == ["docs"]


def test_an_output_is_kept_when_every_file_fails(run, folder):
    (folder / "old.jsonl").write_text("old", encoding="utf-8")
    for more in ([], ["--keep-going"]):
        assert run("chunk", "missing.py", "-o", "old.jsonl", *more)[0] == int(not more)
        assert (folder / "old.jsonl").read_text(encoding="utf-8") == "old"
    assert run("chunk", "missing.py", "docs/a.md", "-o", "old.jsonl")[0] == 1
    assert chunks_of((folder / "old.jsonl").read_text(encoding="utf-8"))
    assert run("chunk", "missing.py", "-o", "new.jsonl")[0] == 1
    assert sorted(os.listdir(folder)) == ["docs", "old.jsonl"]


def test_file_names_that_are_no_utf8(run, folder):
    name = os.fsdecode(b"docs/\xff.txt")
    with open(name, "w", encoding="utf-8") as file:
        file.write("words\n")
    status, out, _ = run("chunk", "docs", "--glob", "*.txt")
    assert status == 0
    assert [c.context.filepath for c in chunks_of(out)] == [name]
    for form in ("csv", "text"):
        assert run("chunk", "docs", "--glob", "*.txt", "--format", form)[0] == 0


def test_dicts_keep_every_field():
    text = (
        "import os\n\n\nclass Box:\n    '''A box.'''\n\n    def grow(self, by):\n        return by\n\n"
        "    def shrink(self):\n        return 0\n"
    )
    for chunk in Chunker(max_chunk_size=60).chunk("m.py", text):
        data = chunk_to_dict(chunk)
        assert set(data) == {"schema_version", *chunk.__dataclass_fields__}
        assert set(data["context"]) == set(chunk.context.__dataclass_fields__)
        assert chunk_from_dict(data) == chunk
        assert chunk_from_dict(json.loads(json.dumps(data))) == chunk


@pytest.mark.parametrize("version", [99, -1, 0, "1", 1.0, True, None])
def test_an_unknown_schema_is_refused(version):
    data = {**chunk_to_dict(Chunker().chunk("a.txt", "text")[0]), "schema_version": version}
    with pytest.raises(ValueError, match=f"schema_version={version!r}"):
        chunk_from_dict(data)


def test_dicts_without_a_schema_are_readable():
    legacy = {
        "text": "hello", "contextualized_text": "hello", "byte_range": {"start": 3, "end": 8},
        "line_range": {"start": 1, "end": 1}, "index": 2, "total_chunks": 5, "token_count": 1, "char_count": 5,
        "nws_count": 5, "context": {"filepath": "a.txt", "entities": [{"name": "f", "type": "function"}]},
    }  # fmt: skip
    chunk = chunk_from_dict(legacy)
    assert chunk.context.entities[0].line_range is None
    assert chunk.source.source_id == "a.txt"
    with pytest.raises(ValueError, match="the field text is missing"):
        chunk_from_dict({k: v for k, v in legacy.items() if k != "text"})
    with pytest.raises(ValueError, match="ByteRange: the field end is missing"):
        chunk_from_dict({**legacy, "byte_range": {"start": 3}})
