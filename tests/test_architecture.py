"""The house: which room may import which, and what importing the package costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import omnichunk

PACKAGE = Path(omnichunk.__file__).parent

# A room imports itself and rooms of a smaller number. Rooms that share a number do not import each other.
ORDER = {
    "errors": 0,
    "model": 1,
    "source": 2,
    "builder": 2,
    "sizing": 3,
    "declared": 2,
    "collect": 3,
    "guard": 4,
    "hookspecs": 3,
    "plugins": 4,
    "registry": 5,
    "selection": 6,
    "duplicates": 4,
    "loaders": 7,
    "parsing": 6,
    "structure": 7,
    "finalize": 8,
    "pipeline": 9,
    "execution": 10,
    "sinks": 10,
    "chunker": 11,
    "identity": 12,
    "serialization": 13,
    "arrow": 14,
    "evaluation": 15,
    "walk": 3,
    "text": 3,
    "streaming": 6,
    "embedding": 6,
    "hierarchy": 10,
}
# What only speaks to the package as a stranger would: `from omnichunk import …`.
STRANGERS = {
    "cli_eval",
    "cli_diff",
    "store",
    "cli_store",
    "serve",
    "cli_serve",
    "cli",
    "cli_options",
    "cli_output",
    "cli_inspect",
    "cli_run",
    "cli_resume",
    "cli_check",
    "__main__",
    "testing",
}
# What calls the code of strangers, or answers them whatever happens.
GUARDED = {
    "cli_run",
    "plugins",
    "registry",
    "declared",
    "collect",
    "guard",
    "structure",
    "sizing",
    "embedding",
    "execution",
    "testing",
    "evaluation",
    "serve",
}
FILES = sorted(p for p in PACKAGE.rglob("*.py") if "grammars" not in p.relative_to(PACKAGE).parts)


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> list[tuple[str, int, bool]]:
    """Modules of the package that a file imports: dotted name, line, and whether only for type checking."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module == "omnichunk":
            names = [
                f"omnichunk.{alias.name}" for alias in node.names if (PACKAGE / alias.name).with_suffix(".py").exists()
            ]
            names = names or ["omnichunk"]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found += [(n, node.lineno, id(node) in typing) for n in names if n.split(".")[0] == "omnichunk"]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_to_the_left(path):
    own = room(path)
    if own == "__init__":
        return
    for name, line, typing in imports(path):
        target = name.split(".")[1] if "." in name else ""
        where = f"{path.relative_to(PACKAGE)}:{line} imports {name}"
        if own in STRANGERS:
            assert target in ("", *STRANGERS), where
            continue
        if own == target or typing:
            continue
        assert own in ORDER, f"{own} has no place in the table"
        assert target in ORDER, where
        assert ORDER[target] < ORDER[own], where


def test_the_right_rooms_do_not_know_formats():
    """finalize names no language or format; structure knows no budget; parsing no chunk."""
    languages = {p.name for p in (PACKAGE / "grammars").iterdir() if p.is_dir()} - {"text", "html"}  # kinds of spans
    for path in FILES:
        strings = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        text = path.read_text(encoding="utf-8")
        if room(path) == "finalize":
            assert not strings & languages, path
        if room(path) == "structure":
            assert "max_chunk_size" not in text, path
        if room(path) == "parsing":
            assert "model.chunk" not in text, path


def test_import_is_light():
    """`import omnichunk` loads none of its rooms and none of the heavy packages."""
    code = (
        "import sys, omnichunk; "
        "print([m for m in sys.modules if m.startswith('omnichunk.') or m.split('.')[0] in "
        "('tree_sitter', 'pyromark', 'pluggy', 'typer', 'rich', 'numpy', 'pathspec')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_public_names_resolve_and_are_typed():
    """Every name of the table exists, is in `__all__`, and stands under TYPE_CHECKING too."""
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    for name in omnichunk.__all__:
        assert getattr(omnichunk, name) is not None
        if name != "__version__":
            assert f"import {name} as {name}" in source, name
    assert set(omnichunk.__all__) <= set(dir(omnichunk))
    with pytest.raises(AttributeError):
        omnichunk.no_such_name  # noqa: B018


def test_broad_excepts_stand_around_plugin_calls_only():
    """`except Exception` needs a plugin call in its try block's neighbourhood."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and (node.type is None or ast.unparse(node.type) == "Exception"):
                assert room(path) in GUARDED, f"{path}:{node.lineno}"
