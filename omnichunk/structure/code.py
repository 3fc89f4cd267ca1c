"""Code to spans: by the language's grammar or a plugin's parser, else by regular expressions, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import StructureProvider, StructureRequest
from omnichunk.model.span import Structure
from omnichunk.parsing.grammar import NodeTable, grammar, unavailable
from omnichunk.parsing.groups import Node
from omnichunk.parsing.spans import Spans
from omnichunk.parsing.tags import Rules, Tags
from omnichunk.source.positions import PositionIndex
from omnichunk.structure.fallback import outlined

ERRORS = 5
"""Syntax errors that are named one by one."""
SEARCH = 5_000
"""Nodes that are looked at for syntax errors."""


@hookimpl
def omnichunk_structure() -> Iterable[StructureProvider]:
    """One provider for every language that goes through a grammar."""
    return [StructureProvider("code", kinds=(), spans=spans)]


def spans(request: StructureRequest) -> Structure:
    """The outline of ``request.text``; without a usable grammar by regular expressions, and ``errors`` says why."""
    language = request.language
    known = grammar(language)
    if known is None:
        return outlined(request.text, language, unavailable(language))
    raw = request.text.encode()
    tree = known.parse(raw)
    if tree is None:
        return outlined(request.text, language, "the parser went astray on this text and was stopped")
    return _structure(request.text, raw, tree.root_node, known.backend, known.nodes, _rules(language))


def spans_with_parser(request: StructureRequest, parse: Callable[[str, str], Any]) -> Structure:
    """The outline by a plugin's parser: ``parse(filepath, content)`` gives a tree-sitter-like tree; ``None`` declines.

    A parser that raises, or whose answer is no such tree, is named in ``errors``, and the built-in parser steps in.
    """
    known = grammar(request.language)
    nodes = known.nodes if known is not None else NodeTable(comment=frozenset({"comment"}))
    raw = request.text.encode()
    try:
        tree = parse(request.filepath, request.text)
        if tree is not None:
            if not 0 <= tree.root_node.start_byte <= tree.root_node.end_byte <= len(raw):
                raise ValueError(f"its tree ends at byte {tree.root_node.end_byte} of {len(raw)}")
            return _structure(request.text, raw, tree.root_node, f"plugin:{request.language}", nodes, None)
        trouble: tuple[str, ...] = ()
    except Exception as error:  # noqa: BLE001  foreign code, a foreign tree
        trouble = (f"the {request.language} parser of a plugin failed: {type(error).__name__}: {error}",)
    found = spans(request)
    found.errors = (*trouble, *found.errors)
    return found


@cache
def _rules(language: str) -> Rules | None:
    known = grammar(language)
    return None if known is None else Rules(known)


def _structure(text: str, raw: bytes, root: Node, backend: str, nodes: NodeTable, rules: Rules | None) -> Structure:
    found = Spans(raw, Tags(raw, nodes, rules), None if text.isascii() else PositionIndex(text).char)
    outline = found.outline(root)
    return Structure(outline, found.imports, list(syntax_errors(raw, root)), backend)


def syntax_errors(raw: bytes, root: Node) -> Iterable[str]:
    """A line for each of the first ``ERRORS`` damaged places, found by descending into damaged nodes only."""
    if not getattr(root, "has_error", False):
        return
    lines: dict[int, None] = {}
    stack = [root]
    left = SEARCH
    while stack and left > 0 and len(lines) < ERRORS:
        node = stack.pop()
        if node.type == "ERROR" or getattr(node, "is_missing", False):
            lines[raw.count(b"\n", 0, node.start_byte) + 1] = None
            continue
        kids = node.children[:left]
        left -= len(kids)
        stack += [kid for kid in reversed(kids) if kid.has_error]
    if not lines:
        lines[raw.count(b"\n", 0, root.start_byte) + 1] = None
    yield from (f"syntax error near line {line}" for line in lines)
