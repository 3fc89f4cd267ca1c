"""The built wheel runs in an environment of its own, grammars included."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ("omnichunk", "grammars", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, so that the tree stays clean, and with what is installed, so that nothing is fetched."""
    tree = tmp_path_factory.mktemp("tree")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tree / "dist", tree]
    subprocess.run(pip, check=True, capture_output=True, text=True)
    (built,) = (tree / "dist").glob("*.whl")
    return built


def test_the_wheel_holds_every_data_file(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    data = {f"omnichunk/grammars/{p.parent.name}/{p.name}" for p in (ROOT / "grammars").glob("*/*")}
    assert data
    assert {*data, "omnichunk/py.typed", "omnichunk/schema/omnichunk-1.schema.json"} <= names


def test_the_wheel_chunks_a_folder(wheel, tmp_path):
    """In a fresh environment that sees the dependencies of this one and nothing of the checkout."""
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    paths = sysconfig.get_paths(vars={"base": str(environment), "platbase": str(environment)}, scheme="posix_prefix")
    zipfile.ZipFile(wheel).extractall(paths["purelib"])
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "box.py").write_text("class Box:\n    def grow(self, by):\n        return by\n", encoding="utf-8")
    here = sysconfig.get_paths()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([paths["purelib"], here["purelib"], here["platlib"]])}
    done = subprocess.run(
        [python, "-m", "omnichunk", "chunk", "folder"], capture_output=True, text=True, cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr
    (chunk,) = (json.loads(line) for line in done.stdout.splitlines())
    assert [e["name"] for e in chunk["context"]["entities"]] == ["Box", "grow"]
    ask = [python, "-c", "import omnichunk; print(omnichunk.__file__)"]
    where = subprocess.run(ask, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert where.stdout.startswith(str(environment))
