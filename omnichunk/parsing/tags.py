"""What a grammar's tables and ``tags.scm`` say of single nodes: roles, names, bodies, imports."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from omnichunk.parsing.grammar import Grammar, NodeTable, guessed_tags
from omnichunk.parsing.groups import Node

if TYPE_CHECKING:
    import tree_sitter

DEFINITION, WRAP, OPEN, COMMENT, ATTRIBUTE, IMPORT, LISTING = (1 << i for i in range(7))
"""Roles of a node kind; it may have several."""

_LISTING = re.compile(r"block|body|suite|list|statements|compound|program|module|file|unit|chunk")
_BLOCK = re.compile(r"block|body|suite|compound|statements|declaration_list|field_list|variant_list|members")
_ATTRIBUTE = re.compile(r"attribute|annotation|decorator|modifier")
_GENERIC = re.compile(
    r"(?:^|_)(function|func|fun|fn|method|constructor|procedure|proc|subroutine|subprogram|class|interface|protocol|struct|record"
    r"|union|enum|trait|module|mod|namespace|package|impl|macro|contract|object|def|defn)(?:_|$)"
)
_NOT_GENERIC = re.compile(
    r"call|type(?!_decl|_def)|name|param|argument|body|block|reference|expression|identifier|pattern|literal|modifier|end|begin|header"
    r"|keyword|operator|import|include|use|forward|list|clause|access|import|preproc|comment|field|specification_part|statement$"
)
_LABELS = {
    "func": "function", "fun": "function", "fn": "function", "procedure": "function", "proc": "function", "def": "function",
    "subroutine": "function", "subprogram": "function", "defn": "function", "constructor": "method", "protocol": "interface",
    "record": "struct", "union": "struct", "namespace": "module", "package": "module", "mod": "module", "contract": "class",
    "object": "class", "impl": "class",
}  # fmt: skip
_VALUE = re.compile(rb"@definition\.(constant|variable|field|property|type)\b|@import\b")
_QUOTES = re.compile(rb"[rRuUbB]{0,2}[\"']")


SHORT = 64
"""Bodies of fewer bytes are not searched for definitions."""


class Tag(NamedTuple):
    """``label``: kind of the definition; ``doc``: range in bytes of its documentation, if a pattern captures it."""

    label: str
    name: str
    doc: tuple[int, int] | None


class Roles(dict[str, int]):
    """Node kind -> roles, worked out once a kind."""

    def __init__(self, nodes: NodeTable, definitions: frozenset[str], imports: frozenset[str], guess: bool) -> None:
        super().__init__()
        self._tables = (
            (DEFINITION, definitions), (WRAP, nodes.wrap), (OPEN, nodes.open | {"ERROR"}), (COMMENT, nodes.comment),
            (ATTRIBUTE, nodes.attribute), (IMPORT, imports),
        )  # fmt: skip
        self.guess = guess

    def __missing__(self, kind: str) -> int:
        role = sum(bit for bit, kinds in self._tables if kind in kinds)
        if _LISTING.search(kind):
            role |= LISTING
        if self.guess and not role & (COMMENT | ATTRIBUTE):
            if "comment" in kind:
                role = COMMENT
            elif generic_label(kind):
                role |= DEFINITION
            elif role & LISTING or kind.startswith("preproc_if") or kind.startswith("preproc_el"):
                role |= OPEN
        self[kind] = role
        return role


@lru_cache(maxsize=4096)
def generic_label(kind: str) -> str:
    """The label of a node kind that is named like a definition, else an empty string."""
    found = _GENERIC.search(kind)
    return "" if found is None or _NOT_GENERIC.search(kind) else _LABELS.get(found[1], found[1])


class Rules:
    """What is shared by all trees of a grammar."""

    def __init__(self, grammar: Grammar) -> None:
        path = Path(grammar.folder, "tags.scm")
        own = bool(grammar.folder) and path.is_file()
        self.tags = grammar.tags
        self.nodes = grammar.nodes
        self.roles = Roles(grammar.nodes, grammar.definition_kinds, grammar.import_kinds, guess=not own)
        self.nested = _nested(grammar, path.read_text("utf-8") if own else guessed_tags(grammar.language))


def _nested(grammar: Grammar, source: str) -> tree_sitter.Query | None:
    """The tags without imports and values: what makes a function worth looking into."""
    if not source:
        return None
    from tree_sitter import Query

    query = Query(grammar.language, source)
    raw = source.encode()
    for i in range(query.pattern_count):
        pattern = raw[query.start_byte_for_pattern(i) : query.end_byte_for_pattern(i)]
        if _VALUE.search(pattern) or not re.search(rb"@definition\.", pattern):
            query.disable_pattern(i)
    return query


class Tags:
    """The rules of ``rules`` applied to one tree over ``raw``; without a query, kinds and fields are guessed at.

    ``rules`` is ``None`` for a plugin's tree of a language without a grammar.
    """

    def __init__(self, raw: bytes, nodes: NodeTable, rules: Rules | None) -> None:
        self._raw = raw
        self._nodes = nodes
        self._query: tree_sitter.QueryCursor | None = None
        self._nested: tree_sitter.QueryCursor | None = None
        self.roles: Roles = rules.roles if rules else Roles(nodes, frozenset(), frozenset(), guess=True)
        if rules is not None and rules.tags is not None:
            from tree_sitter import QueryCursor

            self._query = QueryCursor(rules.tags)
            self._query.set_max_start_depth(0)
            if rules.nested is not None:
                self._nested = QueryCursor(rules.nested)
                self._nested.set_max_start_depth(1)

    def _text(self, node: Node) -> str:
        return self._raw[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def whole(self, kind: str) -> bool:
        """Whether nodes of this kind may be definitions and are not dissolved in passing."""
        return bool(self.roles[kind] & (DEFINITION | WRAP))

    # -- definitions

    def definition(self, node: Node) -> Tag | None:
        """The definition ``node`` is, or ``None``. Of several patterns that match the first counts."""
        if self._query is None:
            return self._guessed(node)
        best = None
        for pattern, captures in self._query.matches(node):
            if (best is None or pattern < best[0]) and "name" in captures:
                label = next((name[11:] for name in captures if name.startswith("definition.")), "")
                if label:
                    best = (pattern, label, captures)
        if best is None:
            return self._guessed(node)
        _, label, captures = best
        doc = captures.get("doc")
        return Tag(label, self._text(captures["name"][0]), (doc[0].start_byte, doc[-1].end_byte) if doc else None)

    def _guessed(self, node: Node) -> Tag | None:
        label = generic_label(node.type) if self.roles.guess else ""
        name = _name_node(node) if label else None
        return None if name is None else Tag(label, self._text(name), None)

    def holds_definitions(self, body: Node) -> bool:
        """Whether a definition stands directly in ``body``; values do not count."""
        if self._nested is None or body.end_byte - body.start_byte < SHORT:
            return False
        return bool(self._nested.matches(body))

    def body(self, node: Node) -> Node | None:
        """The node that holds the statements or members of a definition, looked for down its last children."""
        for _ in range(6):
            if not hasattr(node, "child_by_field_name"):
                return None
            for name in self._nodes.body:
                found = node.child_by_field_name(name)
                if found is not None:
                    return found
            kids = node.children
            inner = next((kid for kid in reversed(kids) if kid.end_byte - kid.start_byte > 2), None)
            if inner is None:
                return None
            if self.roles[inner.type] & OPEN or _BLOCK.search(inner.type):
                return inner
            node = inner
        return None

    def docstring(self, body: Node) -> tuple[int, int] | None:
        """The range of the string a body begins with, where the language documents so."""
        if not self._nodes.docstring or not _QUOTES.match(self._raw, body.start_byte):
            return None
        node = body
        for _ in range(3):
            kids = node.children
            if not kids:
                return None
            node = kids[0]
            if "string" in node.type:
                return node.start_byte, node.end_byte
        return None

    def first_word(self, outer: Node, core: Node) -> int:
        """Where a definition begins when comments and attributes are left out."""
        at: int = outer.start_byte
        if outer is core and self._raw[at : at + 1] not in (b"@", b"[", b"#"):
            return at
        node = outer
        for _ in range(2):
            inner = None
            for kid in node.children:
                if not _ATTRIBUTE.search(kid.type) and not self.roles[kid.type] & (COMMENT | ATTRIBUTE):
                    return int(kid.start_byte)
                inner = kid if "modifiers" in kid.type and inner is None else inner
                if inner is not None and any(not _ATTRIBUTE.search(sub.type) for sub in inner.children):
                    break
            if inner is None:
                break
            node = inner
        return at

    def head_end(self, core: Node, body: Node, start: int) -> int:
        """Where the head of a definition ends: before its body, and before comments that precede the body."""
        end: int = body.start_byte
        head = self._raw[start:end]
        if b"#" in head or b"//" in head or b"/*" in head:
            before = start
            for kid in core.children:
                if kid.start_byte >= end:
                    break
                if not self.roles[kid.type] & COMMENT:
                    before = max(before, min(kid.end_byte, end))
            return before
        return end

    # -- imports

    def imports(self, node: Node) -> list[tuple[str, str]]:
        """``(name, source)`` of what an import statement brings in, in order."""
        found: list[tuple[str, str]] = []
        if self._query is None or not self.roles[node.type] & IMPORT:
            return found
        for _, captures in self._query.matches(node):
            if "import" not in captures:
                continue
            name = self._text(captures["name"][0]) if "name" in captures else ""
            source = self._text(captures["source"][0]) if "source" in captures else ""
            found.append(_import(name, source))
        return found


def _import(name: str, source: str) -> tuple[str, str]:
    if not source and not name.startswith(("{", '"')):
        for separator in ("::", "/", "."):
            if separator in name:
                return name.rpartition(separator)[2], name
    return name or source, source


def _name_node(node: Node) -> Node | None:
    """The ``name`` of a node, looked for in its fields, its declarators and its first children."""
    by_field = getattr(node, "child_by_field_name", None)
    inner = node
    while by_field is not None:
        found = inner.child_by_field_name("name")
        if found is not None:
            return found
        following = inner.child_by_field_name("declarator")
        if following is None:
            break
        inner = following
    if inner is not node and "identifier" in inner.type:
        return inner
    return next((kid for kid in inner.children[:8] if "identifier" in kid.type or kid.type.endswith("name")), None)
