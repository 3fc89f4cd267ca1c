"""`omnichunk plugins`, `languages` and `doctor`: what they say is so."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

import omnichunk
from omnichunk import Language, Loader, Tokenizer, cli_inspect, hookimpl, language_capabilities, plugins
from omnichunk.cli import main


@pytest.fixture
def run(monkeypatch, capsysbinary):
    """Run the command in this process on 80 columns: status and standard output."""
    monkeypatch.setenv("COLUMNS", "80")

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["omnichunk", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsysbinary.readouterr()
        assert err == b""
        return left.value.code, out.decode()

    return command


def load(source):
    raise KeyError("gone")


@pytest.fixture
def strangers(monkeypatch):
    """Three installed plugins: a good one, one that cannot be imported, one with an ugly message."""

    def fails(message):
        raise RuntimeError(message)

    good = ModuleType("omnichunk_film")
    good.omnichunk_loaders = hookimpl(lambda: [Loader("film", load, (".film",)), Loader("reel", load)])
    good.omnichunk_languages = hookimpl(lambda: [Language(f"zed{i}", suffixes=(f".zed{i}",)) for i in range(30)])
    good.omnichunk_tokenizers = hookimpl(lambda: [Tokenizer("words", lambda: lambda text: len(text.split()))])
    dist = SimpleNamespace(name="omnichunk-film", version="1.2")
    entries = (
        SimpleNamespace(name="film", value="omnichunk_film", dist=dist, load=lambda: good),
        SimpleNamespace(name="lost", value="lost", dist=dist, load=lambda: __import__("omnichunk_lost")),
        SimpleNamespace(name="ugly\x1b[31m", value="ugly", dist=dist, load=lambda: fails("a\nb\x1b[2J" + "word " * 60)),
    )
    monkeypatch.setattr(plugins, "_entry_points", lambda: entries)
    monkeypatch.delenv(plugins.DISABLE, raising=False)


def fits(out):
    """Every line fits on 80 columns and moves no cursor."""
    return all(len(line) <= 80 and line.isprintable() for line in out.split("\n"))


def test_plugins(run, strangers):
    status, out = run("plugins")
    lines = out.splitlines()
    assert status == 0
    assert fits(out)
    assert lines[0].split() == ["plugin", "version", "origin", "state"]
    at = next(i for i, line in enumerate(lines) if line.startswith("film"))
    assert " ".join(lines[at].split()) == "film 1.2 entry point of omnichunk-film loaded"
    assert "    loaders: film, reel" in lines[at + 1 : at + 8]
    assert "zed11 and 18 more" in " ".join(out.split())
    assert "ModuleNotFoundError: No module named 'omnichunk_lost'" in out
    assert any(line.split()[1:4] == [omnichunk.__version__, "built-in", "loaded"] for line in lines)


def test_plugins_as_json(run, strangers):
    status, out = run("plugins", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert status == 0
    assert rows["film"]["adds"][-3:] == ["loaders:film", "loaders:reel", "tokenizers:words"]
    assert (rows["lost"]["state"], rows["lost"]["distribution"]) == ("failed", "omnichunk-film")
    assert rows["omnichunk.loaders.text"]["origin"] == "built-in"


def test_plugins_can_be_switched_off(run, strangers, monkeypatch):
    monkeypatch.setenv(plugins.DISABLE, "1")
    assert "film" not in run("plugins")[1]
    assert "OMNICHUNK_DISABLE_PLUGINS is set" in run("doctor")[1]


def test_languages(run, strangers):
    status, out = run("languages")
    assert status == 0
    assert fits(out)
    rows = json.loads(run("languages", "--json")[1])
    by_name = {row["language"]: row for row in rows}
    assert f"{len(rows)} languages: " in out
    assert by_name["zed3"]["extensions"] == [".zed3"]
    for row in language_capabilities():
        assert by_name[row.language]["extraction"] == row.extraction
    words = next(line for line in out.splitlines() if line.startswith("python ")).split()
    assert words[:2] == ["python", by_name["python"]["extraction"]]
    assert ".py" in words


def test_doctor_tells_what_is_installed(run):
    status, out = run("doctor")
    assert status == 0
    assert fits(out)
    assert out.startswith(f"omnichunk {omnichunk.__version__}, Python {sys.version.split()[0]}")
    report = json.loads(run("doctor", "--json")[1])
    for extra in report["extras"]:
        for package in extra["packages"]:
            assert (package["state"] == "missing") is not _there(package["name"]), package


def _there(name):
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


@pytest.mark.parametrize(
    ("version", "clauses", "state"),
    [
        ("1.2.3", ">=1.2", "installed"),
        ("1.2", ">=1.2.0", "installed"),
        ("0.13.0", "<1,>=0.13", "installed"),
        ("1.0", "<1,>=0.13", "unsuitable"),
        ("0.9", ">=0.13,<1", "unsuitable"),
        ("1.10", ">=1.9", "installed"),
        ("2.0rc1", "", "installed"),
    ],
)
def test_versions(version, clauses, state):
    assert cli_inspect._state(version, clauses) == state


def test_doctor_names_what_to_install(run, monkeypatch):
    """A missing package, one that an extra of a package needs, and one whose version will not do."""
    wants = {
        "omnichunk": [
            'alpha>=1; extra == "one"', 'beta[fast]>=2,<3; extra == "two"', 'omnichunk[one,two]; extra == "all"',
            'delta; extra == "three"', 'pytest; extra == "dev"', "pluggy>=1",
        ],
        "beta": ['gamma>=4; extra == "fast"', 'other; extra == "slow"'],
    }  # fmt: skip
    there = {"beta": "3.1", "delta": "1"}

    def version(name):
        if name not in there:
            raise importlib.metadata.PackageNotFoundError(name)
        return there[name]

    monkeypatch.setattr(importlib.metadata, "requires", lambda name: wants.get(name))
    monkeypatch.setattr(importlib.metadata, "version", version)
    out = run("doctor")[1]
    text = " ".join(out.split())
    assert "one incomplete alpha missing" in text
    assert "two incomplete beta 3.1 (needed: >=2,<3), gamma missing" in text
    assert "three complete delta 1" in text
    assert out.rstrip().endswith('For more: pip install "omnichunk[one,two]"')
    assert "pytest" not in out


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("def f(:\n    pass\n", encoding="utf-8")
    (tmp_path / "b.md").write_bytes("# Title\n\nW\u00f6rter.\n\n```python\nx = 1\n```\n".encode("utf-16"))
    (tmp_path / "c.cob").write_text("       IDENTIFICATION DIVISION.\n", encoding="utf-8")
    (tmp_path / "d.film").write_bytes(b"x")
    (tmp_path / "e.odt").write_bytes(b"PK\x03\x04")
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    return tmp_path


def tried(run, *files):
    status, out = run("doctor", "--json", *files)
    return status, {row["path"]: row for row in json.loads(out)["files"]}


def test_doctor_tells_what_is_really_used(run, files):
    status, rows = tried(run, "a.py", "b.md", "c.cob", "empty.txt")
    assert status == 0
    assert (rows["a.py"]["loader"], rows["a.py"]["plugin"]) == ("text", "omnichunk.loaders.text")
    [python] = rows["a.py"]["structure"]
    assert python["language"] == "python"
    available = {row.language: row.parser_available for row in language_capabilities()}
    assert (python["by"] == "tree-sitter:python") is available["python"]
    assert rows["a.py"]["notes"]
    assert rows["b.md"]["encoding"].startswith("utf-16")
    assert rows["c.cob"]["structure"][0]["by"] in ("regex", "lines")
    assert any("cobol" in note for note in rows["c.cob"]["notes"]), "an unsafe grammar is not used, and why"
    assert (rows["empty.txt"]["chunks"], rows["empty.txt"]["problem"]) == (0, "")
    assert fits(run("doctor", "a.py", "b.md", "c.cob", "empty.txt")[1])


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("d.film", "the loader film raised KeyError"),
        ("e.odt", "cannot read OpenDocument files"),
        ("missing.md", "No such file"),
        ("folder", "is not a regular file"),
    ],
)
def test_doctor_fails_with_the_file(run, files, strangers, name, problem):
    status, rows = tried(run, "a.py", name)
    assert status == 1
    assert problem in rows[name]["problem"]
    assert rows["a.py"]["problem"] == ""
    status, out = run("doctor", name)
    assert status == 1
    assert "  problem    " in out
    assert fits(out)


def test_doctor_tells_of_a_missing_package(run, files, monkeypatch):
    """The message of the error names the extra to install."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    status, out = run("doctor", "--tokenizer", "cl100k_base", "a.py")
    assert status == 1
    assert 'pip install "omnichunk[tiktoken]"' in " ".join(out.split())
    assert "result     " in out, "the files are tried all the same"


def test_doctor_resolves_the_tokenizer(run, files, strangers):
    assert "tokenizer: words, exact" in run("doctor", "--tokenizer", "words")[1]
    assert "approximate, an estimate" in run("doctor", "--tokenizer", "approximate")[1]
    status, out = run("doctor", "--tokenizer", "wrods")
    assert status == 1
    assert 'did you mean "words"?' in " ".join(out.split())


def test_doctor_reads_in_the_encoding_named(run, files):
    (files / "f.txt").write_bytes("W\u00f6rter".encode("cp1252"))
    assert run("doctor", "f.txt")[0] == 1
    assert run("doctor", "f.txt", "--encoding", "cp1252")[0] == 0


def test_odd_names(run, files):
    name = os.fsdecode(b"\xff\x1b[31m.md")
    (files / name).write_text("words", encoding="utf-8")
    assert run("doctor", name)[0] == 0
    assert fits(run("doctor", name)[1])
    assert tried(run, name)[1][name]["chunks"] == 1


def test_narrow_and_closed_outputs(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "10")
    assert all(len(line) <= 60 for line in run("plugins")[1].splitlines())
    script = f"'{sys.executable}' -m omnichunk languages | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_heavy_is_imported_for_a_listing():
    code = (
        "import sys; sys.argv = ['omnichunk', 'plugins']\n"
        "from omnichunk.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = ('tree_sitter', 'tiktoken', 'tokenizers', 'numpy', 'pypdf', 'docx', 'nbformat', 'omnichunk.chunker')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_what_moves_a_cursor_is_not_printed():
    assert cli_inspect._clean("a\tb\x1b[2J\n\u200bc") == "a b\ufffd[2J \ufffdc"


def test_distributions_that_are_really_installed(tmp_path):
    """Entry points as a packager writes them: one good, one to a missing module, one that is no reference at all."""
    (tmp_path / "omnichunk_reel.py").write_text(
        "from omnichunk import FormatSegment, LoadedDocument, Loader, hookimpl\n"
        "def load(source):\n"
        "    text = source.data.decode()\n"
        "    return LoadedDocument(text, (FormatSegment(0, len(text), 'prose', {'reel': 1}),), 'reel')\n"
        "@hookimpl\n"
        "def omnichunk_loaders():\n"
        "    return [Loader('reel', load, ('.reel',))]\n"
    )
    info = tmp_path / "omnichunk_reel-3.4.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: omnichunk-reel\nVersion: 3.4\n")
    (info / "entry_points.txt").write_text("[omnichunk]\nreel = omnichunk_reel\nlost = omnichunk_lost\nodd = 3 4\n")
    (tmp_path / "a.reel").write_text("one two\n")
    env = {k: v for k, v in os.environ.items() if k != plugins.DISABLE}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(tmp_path), env.get("PYTHONPATH", "")]))

    def answer(*arguments):
        command = [sys.executable, "-m", "omnichunk", *arguments, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
        return done.returncode, json.loads(done.stdout)

    rows = {row["name"]: row for row in answer("plugins")[1] if row["origin"] == "entry point"}
    assert {name: rows[name]["state"] for name in ("reel", "lost", "odd")} == {
        "reel": "loaded", "lost": "failed", "odd": "failed"
    }  # fmt: skip
    assert (rows["reel"]["distribution"], rows["reel"]["version"]) == ("omnichunk-reel", "3.4")
    status, report = answer("doctor", "a.reel")
    assert status == 0
    assert (report["files"][0]["loader"], report["files"][0]["plugin"]) == ("reel", "reel")
