"""What a grammar's tables and ``tags.scm`` say of single nodes: roles, names, bodies, imports."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from omnichunk.parsing.grammar import Grammar, NodeTable, guessed_tags, root_kinds
from omnichunk.parsing.groups import Node

if TYPE_CHECKING:
    import tree_sitter

DEFINITION, WRAP, OPEN, COMMENT, ATTRIBUTE, IMPORT, LISTING, MARK = (1 << i for i in range(8))
"""Roles of a node kind; it may have several. ``MARK``: annotations and modifiers inside the definition they are of."""

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
    "func": "function", "fun": "function", "fn": "function", "def": "function", "defn": "function", "proc": "function",
    "procedure": "function", "subroutine": "function", "subprogram": "function", "constructor": "method",
    "protocol": "interface", "record": "struct", "union": "struct", "contract": "class", "object": "class",
    "impl": "class", "namespace": "module", "package": "module", "mod": "module",
}  # fmt: skip
_PLAIN = re.compile(rb"\((\w+)\s+name:\s*\((\w+)\)\s*@name\)\s*@definition\.(\w+)\s*$")
_LABEL = re.compile(rb"@definition\.(\w+)")
_QUOTES = re.compile(rb"[rRuUbB]{0,2}[\"']")


VALUES = frozenset({"constant", "variable", "field", "property", "type"})
"""Labels of definitions that are statements as long as they take one line."""
SHORT = 100
"""Functions with bodies of fewer bytes, or of one statement, are not searched for definitions."""


_MARKS = COMMENT | ATTRIBUTE | MARK


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
        if _ATTRIBUTE.search(kind):
            role |= MARK
        if self.guess and not role & (COMMENT | ATTRIBUTE):
            if "comment" in kind:
                role = COMMENT
            elif generic_label(kind):
                role |= DEFINITION
            elif role & LISTING or kind.startswith(("preproc_if", "preproc_el")):
                role |= OPEN
        self[kind] = role
        return role


@lru_cache(maxsize=4096)
def generic_label(kind: str) -> str:
    """The label of a node kind that is named like a definition, else an empty string."""
    found = _GENERIC.search(kind)
    return "" if found is None or _NOT_GENERIC.search(kind) else _LABELS.get(found[1], found[1])


class Rules:
    """What is shared by all trees of a grammar.

    ``tags``: the whole query; ``labels[i]``: label of its pattern ``i``, empty for imports. ``plain``: node kinds with
    one pattern that asks for no more than a field ``name``, with the kind of the name (``_`` for any) and the label:
    reading the field costs a fifth of the query. ``nested``: the query without imports and values, for telling whether
    a function holds definitions.
    """

    def __init__(self, grammar: Grammar) -> None:
        path = Path(grammar.folder, "tags.scm")
        own = bool(grammar.folder) and path.is_file()
        source = path.read_text("utf-8") if own else guessed_tags(grammar.language)
        self.nodes = grammar.nodes
        self.roles = Roles(grammar.nodes, grammar.definition_kinds, grammar.import_kinds, guess=not own)
        self.tags = grammar.tags
        self.plain: dict[str, tuple[str, str]] = {}
        self.nested: tree_sitter.Query | None = None
        self.labels: list[str] = []
        if self.tags is not None:
            from tree_sitter import Query

            raw = source.encode()
            self.nested = Query(grammar.language, source)
            kinds = [kind for kind, _ in root_kinds(source)]
            for i in range(self.nested.pattern_count):
                pattern = raw[self.nested.start_byte_for_pattern(i) : self.nested.end_byte_for_pattern(i)]
                found = _LABEL.search(pattern)
                self.labels.append(found[1].decode() if found else "")
                plain = _PLAIN.search(pattern)
                if plain and kinds.count(plain[1].decode()) == 1:
                    self.plain[plain[1].decode()] = plain[2].decode(), plain[3].decode()
                if not found or self.labels[i] in VALUES:
                    self.nested.disable_pattern(i)


class Tags:
    """The rules of ``rules`` applied to one tree over ``raw``; without a query, kinds and fields are guessed at.

    ``rules`` is ``None`` for a plugin's tree of a language without a grammar.
    """

    def __init__(self, raw: bytes, nodes: NodeTable, rules: Rules | None) -> None:
        self._raw = raw
        self._nodes = nodes
        self._query: tree_sitter.QueryCursor | None = None
        self._nested: tree_sitter.QueryCursor | None = None
        self._labels = rules.labels if rules else []
        self._plain = rules.plain if rules else {}
        self.documents = nodes.docstring
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
        plain = self._plain.get(node.type)
        if plain is not None:
            name = node.child_by_field_name("name")
            if name is None or (plain[0] != "_" and name.type != plain[0]):
                return None
            return Tag(plain[1], self._text(name), None)
        best, captures = len(self._labels), None
        for pattern, found in self._query.matches(node):
            if pattern < best and self._labels[pattern]:
                best, captures = pattern, found
        if captures is None or "name" not in captures:
            return self._guessed(node) if self.roles.guess else None
        doc = captures.get("doc")
        span = (doc[0].start_byte, doc[-1].end_byte) if doc else None
        return Tag(self._labels[best], self._text(captures["name"][0]), span)

    def _guessed(self, node: Node) -> Tag | None:
        label = generic_label(node.type)
        name = _name_node(node) if label else None
        return None if name is None else Tag(label, self._text(name), None)

    def holds_definitions(self, body: Node) -> bool:
        """Whether a definition stands directly in ``body``; values do not count."""
        if self._nested is None or body.end_byte - body.start_byte < SHORT or body.named_child_count < 2:
            return False
        return bool(self._nested.matches(body))

    def body(self, node: Node) -> Node | None:
        """The node that holds the statements or members of a definition, looked for down its last children."""
        field = getattr(node, "child_by_field_name", None)
        for _ in range(6 if field is not None else 0):
            for name in self._nodes.body:
                found = node.child_by_field_name(name)
                if found is not None:
                    return found
            inner = next((kid for kid in reversed(node.children) if kid.end_byte - kid.start_byte > 2), None)
            if inner is None or self.roles[inner.type] & OPEN or _BLOCK.search(inner.type):
                return inner
            node = inner
        return None

    def docstring(self, body: Node) -> tuple[int, int] | None:
        """The range of the string a body begins with, where the language documents so."""
        if not _QUOTES.match(self._raw, body.start_byte):
            return None
        node: Node | None = body
        for _ in range(3):
            node = _first(node)
            if node is None or "string" in node.type:
                break
        return None if node is None or "string" not in node.type else (node.start_byte, node.end_byte)

    def first_word(self, outer: Node, core: Node) -> int:
        """Where a definition begins when comments and attributes are left out."""
        at: int = outer.start_byte
        if outer is core and self._raw[at : at + 1] not in (b"@", b"[", b"#"):
            return at
        node = outer
        roles = self.roles
        for _ in range(2):
            for kid in node.children:
                kind = kid.type
                if not roles[kind] & _MARKS:
                    return int(kid.start_byte)
                if "modifiers" in kind and any(not roles[sub.type] & _MARKS for sub in kid.children):
                    node = kid
                    break
        return at

    def head_end(self, core: Node, body: Node, start: int) -> int:
        """Where the head of a definition ends: before its body, and before comments that precede the body."""
        end: int = body.start_byte
        head = self._raw[start:end]
        if b"#" in head or b"/" in head:
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


def _first(node: Node) -> Node | None:
    """The first child, without making the others where the tree allows."""
    child = getattr(node, "child", None)
    if child is not None:
        return child(0)
    return next(iter(node.children), None)


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
