"""The distributions under plugins/: strangers who know the public names only, and can be installed.

Their own tests run beside these (``testpaths``), each module found through ``pythonpath``.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.message import EmailMessage
from importlib import import_module
from io import BytesIO
from pathlib import Path

import pytest
from openpyxl import Workbook

import omnichunk
from omnichunk import PluginRegistry, Source

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
DISTRIBUTIONS = sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml"))
NAMES = [path.name for path in DISTRIBUTIONS]


def project(path):
    return tomllib.loads((path / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def modules():
    return [
        import_module(name) for path in DISTRIBUTIONS for name in project(path)["entry-points"]["omnichunk"].values()
    ]


def test_there_are_four_and_their_tests_run():
    assert NAMES == ["omnichunk-email", "omnichunk-epub", "omnichunk-office", "omnichunk-pdfium"]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert "plugins" in settings["testpaths"]
    assert settings["pythonpath"] == [f"plugins/{name}" for name in NAMES]
    assert all(list((path / "tests").glob("test_*.py")) for path in DISTRIBUTIONS)


@pytest.mark.parametrize("path", DISTRIBUTIONS, ids=NAMES)
def test_they_import_public_names_only(path):
    """``from omnichunk import …`` in the code, and the kit in the tests."""
    for file in path.rglob("*.py"):
        if "build" in file.relative_to(path).parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert all(alias.name.split(".")[0] != "omnichunk" for alias in node.names), file
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "omnichunk":
                names = {alias.name for alias in node.names}
                public = (
                    {"check_loader", "check_structure"} if node.module == "omnichunk.testing" else omnichunk.__all__
                )
                assert node.module in ("omnichunk", "omnichunk.testing"), file
                assert names <= set(public), file


@pytest.mark.parametrize("path", DISTRIBUTIONS, ids=NAMES)
def test_they_are_described_as_they_are(path):
    """The README lists the options of its loaders with their defaults, and how to install the distribution."""
    readme = (path / "README.md").read_text(encoding="utf-8")
    about = project(path)
    assert (about["name"], about["readme"], about["license"]) == (path.name, "README.md", "MIT")
    assert f"pip install {path.name}" in readme
    (module,) = (import_module(name) for name in about["entry-points"]["omnichunk"].values())
    declared = {name: value for loader in module.omnichunk_loaders() for name, value in loader.options.items()}
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \|", readme, re.MULTILINE)
    assert {name: ast.literal_eval(value) for name, value in rows} == declared


def test_they_live_together_and_come_before_the_built_ins():
    registry = PluginRegistry(plugins=modules())
    chosen = {
        suffix: registry.loader_for(Source(f"a{suffix}", b"")).name for suffix in (".pdf", ".pptx", ".xlsx", ".epub")
    }
    assert chosen == {".pdf": "pdfium", ".pptx": "office-pptx", ".xlsx": "office-xlsx", ".epub": "epub-book"}
    assert registry.loader_for(Source("a.eml", b"")).name == "eml"
    assert registry.loader_for(Source("a.pdf", b""), "pdf").name == "pdf"


def test_an_attachment_goes_to_another_plugin():
    """A workbook in a message is read by the plugins of the same registry."""
    book = Workbook()
    book.active.append(["Name", "Size"])
    book.active.append(["a", 1])
    data = BytesIO()
    book.save(data)
    message = EmailMessage()
    message["Subject"] = "Sums"
    message.set_content("See below.")
    message.add_attachment(data.getvalue(), "application", "octet-stream", filename="sums.xlsx")
    loaded = PluginRegistry(plugins=modules()).load(Source("a.eml", bytes(message)))
    assert "| Name | Size |\n| --- | --- |\n| a | 1 |" in loaded.text
    assert loaded.segments[-1].metadata == {"attachment": "sums.xlsx", "sheet": "Sheet", "row": 2}
    alone = PluginRegistry(plugins=[import_module("omnichunk_email")]).load(Source("a.eml", bytes(message)))
    assert alone.warnings[0].startswith("attachment sums.xlsx was left out: sums.xlsx")


def test_one_is_installed_and_found_by_its_entry_point(tmp_path):
    """A wheel built of a copy, unpacked where Python looks: the command reads a format it did not know."""
    shutil.copytree(ROOT / "plugins" / "omnichunk-email", tmp_path / "source")
    build = [sys.executable, "-c", "import setuptools.build_meta as backend; backend.build_wheel('..')"]
    subprocess.run(build, check=True, capture_output=True, text=True, cwd=tmp_path / "source")
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    (tmp_path / "a.eml").write_text("Subject: Boxes\nFrom: Ada\nDate: today\n\nThey grow.\n", encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-m", "omnichunk", "chunk", "a.eml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    (chunk,) = (json.loads(line) for line in done.stdout.splitlines())
    assert chunk["source"]["format_name"] == "eml"
    assert chunk["context"]["heading_hierarchy"] == ["Boxes"]
    env["OMNICHUNK_DISABLE_PLUGINS"] = "1"
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert '"format_name": "eml"' not in done.stdout


def test_the_tutorial_keeps_its_promise():
    """The loader of docs/write-a-loader.md has 30 lines; that it runs is tested with all documents."""
    text = (ROOT / "docs" / "write-a-loader.md").read_text(encoding="utf-8")
    block = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    assert sum(bool(line.strip()) for line in block[1].splitlines()) <= 30
