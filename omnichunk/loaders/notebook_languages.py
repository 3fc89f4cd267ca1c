"""Which language the code of a notebook, and of one of its cells, is in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from omnichunk.errors import OptionError
from omnichunk.parsing.languages import builtin

_FIRST_LINE = re.compile(r"\s*(?:%%|#!|%(?=\w+[ \t]*\n))(\w+)(?:[ \t]+(.*))?")
_MAGICS = {
    **dict.fromkeys(("bash", "sh", "sx", "system"), "bash"),
    **dict.fromkeys(("cpp", "cu"), "cpp"),
    **dict.fromkeys(("cython", "pypy", "pyspark", "python", "python2", "python3"), "python"),
    **dict.fromkeys(("html", "HTML"), "html"),
    **dict.fromkeys(("javascript", "js"), "javascript"),
    **dict.fromkeys(("markdown", "md"), "markdown"),
    **dict.fromkeys(("matlab", "octave"), "matlab"),
    **dict.fromkeys(("powershell", "pwsh"), "powershell"),
    **dict.fromkeys(("r", "R"), "r"),
    **dict.fromkeys(("bigquery", "sparksql", "sql"), "sql"),
    **dict.fromkeys(("svg", "SVG"), "xml"),
    "cmd": "batch",
    **{name: name for name in ("csharp", "fortran", "fsharp", "graphql", "julia", "latex", "mermaid", "perl")},
    **{name: name for name in ("ruby", "rust", "scala", "sparql", "typescript")},
}
_WRITES = ("file", "writefile")
_EXTENSIONS = (("vscode", "languageId"), ("polyglot_notebook", "kernelName"), ("dotnet_interactive", "language"))


def of_kernel(metadata: Mapping[str, Any]) -> str:
    """The language of the code of a notebook: what the kernel said of itself, else its specification, else Python.

    A canonical name, or the kernel's own word for a language that is not built in. ``metadata``: of the notebook.
    """
    info, spec = mapping(metadata.get("language_info")), mapping(metadata.get("kernelspec"))
    named = [label(name) for name in (info.get("name"), spec.get("language"), info.get("pygments_lexer"))]
    suffix = label(info.get("file_extension"))
    return (
        next(filter(None, map(_canonical, named)), "")
        or (builtin().detect(f"cell{suffix}") if suffix else "")
        or next(filter(None, named), "")
        or _canonical(label(spec.get("name")))
        or "python"
    )


def of_cell(text: str, cell: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """The canonical language a code cell names itself; empty when it is the kernel's.

    Named by its first line (``%%bash``, ``%%writefile a.yaml``, ``#!fsharp``, ``%sql`` alone), else in the metadata that
    VS Code, Polyglot Notebooks and SoS write, else in the key of formats 1 to 3.
    """
    if text[:1] in "%# \t\r\n" and (first := _FIRST_LINE.match(text)):
        magic = first[1]
        argument = next((word for word in (first[2] or "").split() if word[0] != "-"), "")
        if magic in _WRITES and argument:
            return builtin().detect(argument) or "text"
        if magic == "script":
            magic = argument.rsplit("/", 1)[-1]
        if magic in _MAGICS:
            return _MAGICS[magic]
    for extension, key in _EXTENSIONS if metadata else ():
        if extension in metadata and (language := _canonical(label(mapping(metadata[extension]).get(key)))):
            return language
    if "kernel" in metadata and (language := _canonical(label(metadata["kernel"]))):
        return language
    return _canonical(label(cell["language"])) if "language" in cell else ""


@lru_cache(maxsize=256)
def _canonical(name: str) -> str:
    """The canonical name, empty for what is not built in; to find that out costs a millisecond."""
    try:
        return builtin().canonical(name) if name else ""
    except OptionError:
        return ""


def mapping(value: object) -> Mapping[str, Any]:
    """``value`` if it is an object of JSON, else an empty one."""
    return value if isinstance(value, dict) else {}


def label(value: object) -> str:
    """``value`` if it is a string, without what UTF-8 cannot hold; else empty."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()
