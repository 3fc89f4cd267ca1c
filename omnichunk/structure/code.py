"""Code to spans: by the language's grammar or a plugin's parser, else by regular expressions, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import StructureProvider, StructureRequest
from omnichunk.model.span import Span, Structure
from omnichunk.parsing.grammar import NodeTable, grammar, unavailable
from omnichunk.parsing.groups import Node
from omnichunk.parsing.spans import Spans
from omnichunk.parsing.tags import Rules, Tags, rules
from omnichunk.structure.fallback import outlined, recovered

ERRORS = 5
"""Syntax errors that are named one by one."""
BLOCK = 512
"""Bytes between two known numbers of code points."""
_CONTINUED = bytes(0x80 <= byte < 0xC0 for byte in range(256))
SEARCH = 5_000
"""Nodes that are looked at for syntax errors."""


@hookimpl
def omnichunk_structure() -> Iterable[StructureProvider]:
    """One provider for every language that goes through a grammar."""
    return [StructureProvider("code", kinds=(), spans=spans)]


def spans(request: StructureRequest) -> Structure:
    """The outline of ``request.text``; where a parser is missing or fails ``errors`` says so and the next best is used.

    First comes ``request.parser``, whose answer ``None`` declines; then the grammar; then regular expressions.
    """
    language, text = request.language, request.text
    raw = text.encode()
    known = grammar(language)
    trouble: tuple[str, ...] = ()
    if request.parser is not None:
        nodes = known.nodes if known is not None else NodeTable(comment=frozenset({"comment"}))
        try:
            tree = request.parser(request.filepath, text)
            if tree is not None:
                if not 0 <= tree.root_node.start_byte <= tree.root_node.end_byte <= len(raw):
                    raise ValueError(f"a tree that ends at byte {tree.root_node.end_byte} of {len(raw)}")
                return _structure(request, raw, tree.root_node, f"plugin:{language}", Rules(nodes, None))
        except Exception as error:  # noqa: BLE001  foreign code, a foreign tree
            trouble = (f"parser plugin for {language} raised {type(error).__name__}: {error}",)
    if known is None:
        found = outlined(text, language, unavailable(language))
    elif (tree := known.parse(raw)) is None:
        found = outlined(text, language, "the parser went astray on this text and was stopped")
    else:
        found = _structure(request, raw, tree.root_node, known.backend, rules(known))
    found.errors = [*trouble, *found.errors]
    return found


def _structure(request: StructureRequest, raw: bytes, root: Node, backend: str, kinds: Rules) -> Structure:
    text = request.text
    made = (Foreign if kinds.foreign else Spans)(raw, Tags(raw, kinds), None if text.isascii() else _chars(raw))
    outline = made.outline(root)
    if root.type == "ERROR" or [node.type for node in root.children[:2]] == ["ERROR"]:
        made.imports()  # and with them all of the outline
        whole = outlined(text, request.language, "").spans
        if _definitions(whole) > _definitions(outline) + 1:
            outline = [*whole]
    elif made.damaged:
        outline = recovered(text, request.language, outline, made.damaged)
    imports, rest = (made.imports(), None) if made.complete else ((), made.imports)
    return Structure(outline, imports, list(syntax_errors(raw, root)), backend, parsed=True, rest=rest)


class Foreign(Spans):
    """The spans of a plugin's tree. Where that raises after the outline is made, a span has no children."""

    late = False

    def outline(self, root: Node) -> list[Span]:
        spans = super().outline(root)
        self.imports()
        self.late = True
        return spans

    def made(self, *about: Any) -> list[Span]:
        try:
            return super().made(*about)
        except Exception:
            if not self.late:
                raise
            return []


def _definitions(spans: Iterable[Span]) -> int:
    return sum(inner.kind == "definition" for span in spans for inner in span.walk())


def _chars(raw: bytes) -> Callable[[int], int]:
    """The function that tells how many code points precede a byte: the bytes less those that continue one.

    Definitions are asked for in no order of their own and by the thousand, so an answer may cost but 0.3 µs.
    """
    continued = raw.translate(_CONTINUED)
    count = continued.count
    blocks = range(0, len(raw) + BLOCK, BLOCK)
    before = [*accumulate((count(1, start, start + BLOCK) for start in blocks), initial=0)]
    return lambda byte: byte - before[byte // BLOCK] - count(1, byte - byte % BLOCK, byte)


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
