"""``omnichunk diff``: two runs compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from omnichunk import Chunker, write_jsonl
from omnichunk.cli import app

OLD = "# Trip\n\nWe left at dawn.\n\n# Rain\n\nIt rained.\n\n# End\n\nHome.\n"
NEW = "# Trip\n\nWe left at dawn, by train.\n\n# Rain\n\nIt rained.\n\n# End\n\nHome.\n"


def run(*arguments: str):
    return CliRunner().invoke(app, ["diff", *arguments])


def written(path: Path, text: str, **options) -> str:
    write_jsonl(Chunker(max_chunk_size=40, min_chunk_size=1, **options).chunk("trip.md", text), path)
    return str(path)


def test_what_changed_is_told(tmp_path):
    old, new = written(tmp_path / "old.jsonl", OLD), written(tmp_path / "new.jsonl", NEW)
    result = run(old, new, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["counts"] == {"added": 1, "removed": 1, "updated": 0, "moved": 2, "unchanged": 2}
    assert found["added"][0]["path"] == "trip.md"
    assert found["removed"][0]["lines"] == [0, 3]
    lines = run(old, new).stdout.splitlines()
    assert lines[0].startswith("+ trip.md:1-4  Trip")
    assert [line[0] for line in lines] == ["+", "-", ">", ">"]


def test_an_update_is_neither_added_nor_removed(tmp_path):
    old, new = written(tmp_path / "old.jsonl", OLD), written(tmp_path / "new.jsonl", OLD, context_mode="none")
    found = json.loads(run(old, new, "--json").stdout)
    assert (found["counts"]["updated"], found["added"], found["removed"]) == (3, [], [])


def test_status(tmp_path):
    old, new = written(tmp_path / "old.jsonl", OLD), written(tmp_path / "new.jsonl", NEW)
    assert run(old, old, "--exit-code").exit_code == 0
    assert run(old, new, "--exit-code").exit_code == 1


@pytest.mark.parametrize("content", [None, '{"schema_version": 1, "text": "a"', "[]"])
def test_what_cannot_be_read_is_a_usage_error(tmp_path, content):
    path = tmp_path / "broken.jsonl"
    if content is not None:
        path.write_text(content)
    result = run(str(path), str(path))
    assert result.exit_code == 2
    assert "broken.jsonl" in result.output
    assert "Name what" in result.output
