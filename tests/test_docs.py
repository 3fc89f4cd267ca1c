"""What the documents say is true: examples run, hooks and options are listed as they are."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import omnichunk
from omnichunk import ChunkOptions, hookspecs
from omnichunk.loaders import docx, notebook, pdf
from omnichunk.model import declarations

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = DOCUMENTS[0].read_text(encoding="utf-8")


def blocks(path: Path, kind: str) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with what the examples name of the one a reader stands in."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copytree(ROOT / "plugins", tmp_path / "plugins", ignore=shutil.ignore_patterns(".*", "__pycache__"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_python_examples_run(path, project, capsys):
    """The blocks of a document run from top to bottom as one program."""
    names: dict[str, object] = {"__name__": "example"}
    for number, block in enumerate(blocks(path, "python")):
        exec(compile(block, f"{path.name}, block {number + 1}", "exec"), names)


COMMANDS = [
    line.removeprefix("$ ").partition(" #")[0].strip()
    for path in DOCUMENTS
    for block in blocks(path, "console")
    for line in block.splitlines()
    if line.startswith("$ ")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_console_examples_run(command, project):
    assert "omnichunk" in command
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=env, cwd=project)
    assert done.returncode == 0, done.stderr
    assert "file" in done.stderr or "omnichunk chunk" not in command
    assert done.stdout or "--output" in command or "--stats" in command


def test_the_questions_of_the_examples_point_to_their_answers():
    text = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    spans = re.findall(r'"path": "(?:docs/)?execution.md", "start": (\d+), "end": (\d+)', text)
    answered = (ROOT / "docs" / "execution.md").read_text(encoding="utf-8")
    for start, end in spans:
        answer = answered[int(start) : int(end)]
        assert answer.startswith("In a worker, nothing worse than to cost itself.")
        assert answer.endswith("the reason.")
    assert len(spans) == 2


def test_there_are_exactly_two_commands_to_set_up():
    commands = [block.strip() for block in blocks(ROOT / "README.md", "sh")]
    assert len(commands) == 2
    assert all("\n" not in command and "python3 -m venv" in command for command in commands)
    assert ".venv/bin/omnichunk chunk ." in commands[0]
    assert commands[1].endswith("python -m pytest")


def test_every_hook_is_documented_with_its_signature():
    documented = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    hooks = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("omnichunk_")}
    assert len(hooks) == 11
    for name, hook in hooks.items():
        assert f"`{name}{inspect.signature(hook)}`".replace("'", "") in documented, name


def test_every_declaration_is_documented_with_its_fields():
    documented = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    declared = "Loader Language StructureProvider Parser Tokenizer Renderer Formatter Sink Retriever Embedder Strategy"
    for name in declared.split():
        fields = ", ".join(f.name for f in dataclasses.fields(getattr(declarations, name)))
        assert f"`{name}({fields})`" in documented, name


def test_every_option_is_documented_with_its_default():
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", README, re.MULTILINE))
    defaults = {f.name: getattr(ChunkOptions(), f.name) for f in dataclasses.fields(ChunkOptions)}
    for loader in (docx, notebook, pdf):
        defaults.update(loader.OPTIONS)
    assert set(rows) == set(defaults)
    for name, default in defaults.items():
        assert ast.literal_eval(rows[name]) == default, name


def test_every_flag_of_the_command_is_explained(capsys):
    from omnichunk.cli import main

    kept = sys.argv[1:]
    try:
        for command in ("chunk", "serve"):
            sys.argv[1:] = [command, "--help"]
            with pytest.raises(SystemExit) as left:
                main()
            assert left.value.code == 0
    finally:
        sys.argv[1:] = kept
    text = capsys.readouterr().out
    for flag in set(re.findall(r"--[a-z][a-z-]+", README)) - {"--version", "--help", "--json"}:
        assert flag in text, flag


def test_the_version_is_told_once():
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{omnichunk.__version__}"\n' in declared
