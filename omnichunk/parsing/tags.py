"""What a grammar's tables and ``tags.scm`` say of single nodes: roles, names, bodies, imports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from omnichunk.parsing.grammar import Grammar, NodeTable, Pattern, guessed_kinds
from omnichunk.parsing.groups import Node

if TYPE_CHECKING:
    import tree_sitter

DEFINITION, WRAP, OPEN, COMMENT, ATTRIBUTE, IMPORT, LISTING, MARK = (1 << i for i in range(8))
"""Roles of a node kind; it may have several. ``MARK``: annotations and modifiers inside the definition they are of."""

CONTAINERS = frozenset({"class", "interface", "struct", "trait", "enum", "impl", "object", "union", "extension"})
"""Labels of definitions whose functions are methods."""
HOLDERS = CONTAINERS | {"module", "namespace", "package"}
"""Labels of definitions that hold definitions."""
RECORDS = frozenset({"struct", "enum", "union"})
"""Labels of those that often hold none."""

OUTLINE, BODY, INSIDE = range(3)
"""Where a group stands: in a module or class; directly in a function; further in."""

VALUES = frozenset({"constant", "variable", "field", "property", "type"})
"""Labels of definitions that are statements as long as they take one line."""
SHORT = 100
"""Functions with bodies of fewer bytes, or of one statement, are not searched for definitions."""
FIRST = 8
"""Nodes of a group, all but the last on one line, of which one may be its definition."""

_MARKS = COMMENT | ATTRIBUTE | MARK
_FINDS = DEFINITION | WRAP

_LISTING = re.compile(r"block|body|suite|list|statements|compound|program|module|file|unit|chunk")
_BLOCK = re.compile(r"block|body|suite|compound|statements|declaration_list|field_list|variant_list|members")
_ATTRIBUTE = re.compile(r"attribute|annotation|decorator|modifiers")
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
_PLAIN = re.compile(r"\(\w+\s+(\w+):\s*\((?:_|(?<=name: \()\w+)\)\s*@name\)\s*@definition\.\w+")
_QUOTES = re.compile(rb"[rRuUbB]{0,2}[\"']")
_QUOTE = frozenset(b"\"'")

_QUOTED = "\"'`"
_PATHS = (*_QUOTED, "<")
"""How an import begins that names a file."""

OPENS_STRING = frozenset(b"\"'rRuUbB")
"""Bytes that may begin a docstring."""
MARKED = frozenset(b"@[#")
"""Bytes that may begin an annotation or attribute."""
_BEFORE_WORD = re.compile(rb"[ \t]*(?:\w+[ \t]+)*")


class Kind:
    """A kind of node. ``role``: its roles; ``label``: what it defines if the name in ``field`` is all there is to know.

    ``plain``: that is so, and it may have a body, which stands at ``inside``. ``only``: what the text must match at the
    start of the node to be worth a query.
    """

    __slots__ = ("field", "inside", "label", "name", "only", "plain", "role")

    def __init__(
        self, name: str, role: int, label: str = "", field: int | str = 0, only: re.Pattern[bytes] | None = None
    ) -> None:
        self.name = name
        self.role = role
        self.label = label
        self.field = field
        self.plain = (
            bool(label) and label not in VALUES and bool(role & DEFINITION) and not role & (COMMENT | ATTRIBUTE)
        )
        self.inside = OUTLINE if label in HOLDERS else BODY
        self.only = only


class Rules(dict[Any, Kind]):
    """The kinds of a grammar by id, each worked out once; without a grammar the kinds of a plugin's trees by name.

    Shared by all trees and threads. ``guess``: there is no ``tags.scm``, so kinds are taken by their names; ``foreign``:
    no grammar either. Kinds with one pattern that asks for no more than a name in a field need no query: reading the
    field costs a twentieth. ``bodies``: the fields that hold the bodies of definitions, by id or, if foreign, by name.
    """

    def __init__(self, nodes: NodeTable, grammar: Grammar | None) -> None:
        super().__init__()
        self.nodes = nodes
        self._grammar = grammar
        patterns = grammar.patterns if grammar else ()
        self.guess = not patterns
        self.foreign = grammar is None
        self._imports = [pattern for pattern in patterns if "import" in pattern.captures]
        self._definitions = [pattern for pattern in patterns if pattern.label]
        self._plain: dict[str, tuple[str, int]] = {}
        self.bodies: Sequence[int | str] = nodes.body
        if grammar is not None:
            field = grammar.language.field_id_for_name
            self.bodies = [found for name in nodes.body if (found := field(name)) is not None]
            plain = _plain(self._definitions)
            if self.guess:
                plain = {kind: (label, "name") for kind, label in guessed_kinds(grammar.language).items()}
            self._plain = {kind: (label, field(name) or 0) for kind, (label, name) in plain.items()}
        self._tables = (
            (DEFINITION, {kind for pattern in self._definitions for kind in pattern.kinds}), (WRAP, nodes.wrap),
            (OPEN, nodes.open | {"ERROR"}), (COMMENT, nodes.comment), (ATTRIBUTE, nodes.attribute),
            (IMPORT, {kind for pattern in self._imports for kind in pattern.kinds}),
        )  # fmt: skip

    def __missing__(self, key: int | str) -> Kind:
        if isinstance(key, str):
            kind = self._kind(key)
        else:
            assert self._grammar is not None
            language = self._grammar.language
            name = language.node_kind_for_id(key) or "ERROR"
            kind = self._kind(name) if name == "ERROR" or language.node_kind_is_named(key) else Kind(name, 0)
        self[key] = kind
        return kind

    def _kind(self, name: str) -> Kind:
        role = sum(bit for bit, kinds in self._tables if name in kinds)
        if _LISTING.search(name):
            role |= LISTING
        if _ATTRIBUTE.search(name):
            role |= MARK
        if self.guess and not role & (COMMENT | ATTRIBUTE):
            if "comment" in name:
                role = COMMENT
            elif generic_label(name):
                role |= DEFINITION
            elif role & LISTING or name.startswith(("preproc_if", "preproc_el")):
                role |= OPEN
        return Kind(name, role, *self._plain.get(name, ("", 0)), self.nodes.only.get(name))

    @cached_property
    def definitions(self) -> tuple[tree_sitter.Query, Sequence[str]]:
        """The query for kinds that are not plain, and the label of each of its patterns."""
        assert self._grammar is not None
        patterns = [pattern for pattern in self._definitions if not self._plain.keys() & set(pattern.kinds)]
        return self._grammar.query(patterns), [pattern.label for pattern in patterns]

    @cached_property
    def imports(self) -> tree_sitter.Query:
        """The query for import statements."""
        assert self._grammar is not None
        return self._grammar.query(self._imports)


def _plain(patterns: Sequence[Pattern]) -> dict[str, tuple[str, str]]:
    """Label and field of the kinds with one pattern that asks for no more than a name."""
    kinds = [kind for pattern in patterns for kind in pattern.kinds]
    found = ((pattern, _PLAIN.fullmatch(pattern.text)) for pattern in patterns)
    return {p.kinds[0]: (p.label, match[1]) for p, match in found if match and kinds.count(p.kinds[0]) == 1}


Found = tuple[Node, Node, str, str]
"""A definition: its node with what wraps it (or itself), its own node, its label and its name."""


def _pattern(match: tuple[int, dict[str, list[Node]]]) -> int:
    return match[0]


@cache
def rules(grammar: Grammar) -> Rules:
    """The rules of a grammar, made once a process."""
    return Rules(grammar.nodes, grammar)


@lru_cache(maxsize=4096)
def generic_label(kind: str) -> str:
    """The label of a node kind that is named like a definition, else an empty string."""
    found = _GENERIC.search(kind)
    return "" if found is None or _NOT_GENERIC.search(kind) else _LABELS.get(found[1], found[1])


class Tags:
    """``rules`` applied to one tree over ``raw``. ``key(node)`` is what ``rules`` knows the kind of a node by."""

    def __init__(self, raw: bytes, rules: Rules) -> None:
        self.rules = rules
        self.documents = rules.nodes.docstring
        self.key = attrgetter("type" if rules.foreign else "kind_id")
        self._raw = raw
        self._words = rules.nodes.words
        self._body = next((field for field in rules.bodies if isinstance(field, int)), 0)
        self._cursors: dict[bool, tree_sitter.QueryCursor] = {}

    def kind(self, node: Node) -> Kind:
        return self.rules[self.key(node)]

    def _text(self, node: Node) -> str:
        return self._raw[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def name(self, node: Node) -> str:
        """The name in a node, type arguments left out."""
        name = self._text(node)
        at = name.find("<")
        return name[:at] if at > 0 and name.endswith(">") else name

    def whole(self, node: Node) -> bool:
        """Whether a node may be a definition and is not dissolved in passing."""
        return bool(self.kind(node).role & _FINDS)

    def promising(self, node: Node) -> bool:
        """Whether the text of a node is such that a query is worth it."""
        only = self.kind(node).only
        return only is None or only.match(self._raw, node.start_byte, node.end_byte) is not None

    # -- definitions

    def find(self, nodes: Sequence[Node]) -> Found | None:
        """The first definition among ``nodes``, looking through what wraps it."""
        for node in nodes[:FIRST]:
            core = node
            for _ in range(6):
                kind = self.kind(core)
                found = self._definition(core, kind) if kind.role & DEFINITION else None
                if found is not None:
                    return node, core, *found
                if not kind.role & WRAP:
                    break
                inner = [kid for kid in core.children if self.kind(kid).role & _FINDS]
                if not inner:
                    break
                core = inner[-1]
        return None

    def _definition(self, node: Node, kind: Kind) -> tuple[str, str] | None:
        """Label and name of the definition ``node`` is, or ``None``. Of several patterns that match the first counts."""
        rules = self.rules
        if kind.label:
            name = child(node, kind.field)
            if name is not None:
                return kind.label, self.name(name)
        elif not rules.guess:
            if not self.promising(node):
                return None
            _, labels = rules.definitions
            found = min(self._matches(node, imports=False), key=_pattern, default=None)
            return None if found is None else (labels[found[0]], self._text(found[1]["name"][0]))
        if rules.guess:
            label = generic_label(kind.name)
            name = _name_node(node) if label else None
            return None if name is None else (label, self._text(name))
        return None

    def _matches(self, node: Node, *, imports: bool) -> list[tuple[int, dict[str, list[Node]]]]:
        cursor = self._cursors.get(imports)
        if cursor is None:
            from tree_sitter import QueryCursor

            cursor = QueryCursor(self.rules.imports if imports else self.rules.definitions[0])
            cursor.set_max_start_depth(0)
            self._cursors[imports] = cursor
        return cursor.matches(node)

    def holds_definitions(self, body: Node, start: int, end: int) -> bool:
        """Whether a definition stands directly in ``body``, ``[start, end)``; values do not count."""
        if end - start < SHORT or (self._words and not self._begins_line(start, end)):
            return False
        kids = [kid for kid in body.children if self.whole(kid)]
        return any(found[2] not in VALUES for kid in kids if (found := self.find((kid,))) is not None)

    def has_members(self, body: Node | None) -> bool:
        """Whether definitions may stand directly in ``body``."""
        return body is not None and any(self.kind(kid).role & _FINDS for kid in body.children)

    def may_hold(self, start: int, end: int) -> bool:
        """Whether definitions or imports may stand in ``[start, end)``."""
        return not self._words or self._raw.find(b"import", start, end) >= 0 or self._begins_line(start, end)

    def _begins_line(self, start: int, end: int) -> bool:
        """Whether one of the words that begin definitions begins a line in ``[start, end)``, other words aside."""
        raw = self._raw
        for word in self._words:
            at = raw.find(word, start, end)
            while at >= 0:
                line = max(raw.rfind(b"\n", start, at) + 1, start)
                if _BEFORE_WORD.fullmatch(raw, line, at):
                    return True
                at = raw.find(word, at + len(word), end)
        return False

    def body(self, node: Node) -> Node | None:
        """The node that holds the statements or members of a definition, looked for down its last children."""
        if self._body and (found := node.child_by_field_id(self._body)) is not None:
            return found
        for _ in range(6 if hasattr(node, "child_by_field_name") else 0):
            for field in self.rules.bodies:
                found = child(node, field)
                if found is not None:
                    return found
            kids = node.children
            inner = next((kid for kid in reversed(kids) if kid.end_byte - kid.start_byte > len("end")), None)
            if inner is None or any(kid.type == "{" for kid in kids):
                return None  # members of ``message M { … }`` without a node around them all
            kind = self.kind(inner)
            if kind.role & OPEN or _BLOCK.search(kind.name):
                return inner
            node = inner
        return None

    def docstring(self, body: Node, start: int) -> tuple[int, int] | None:
        """The range of the string a body begins with, if it does; ``start``: where the body starts."""
        raw = self._raw
        if raw[start] not in _QUOTE and not _QUOTES.match(raw, start):
            return None
        node = _first(body)
        end = node.end_byte if node is not None else start
        return (start, end) if end > start and raw[end - 1] in _QUOTE else None

    def first_word(self, outer: Node, core: Node) -> int:
        """Where a definition begins when comments and attributes are left out."""
        at: int = outer.start_byte
        node = outer
        for _ in range(6):
            for kid in node.children:
                kind = self.kind(kid)
                if kid.start_byte <= core.start_byte and kid.end_byte >= core.end_byte:
                    node = kid  # the definition, or what wraps it in turn
                    break
                if not kind.role & _MARKS:
                    return int(kid.start_byte)
                if "modifiers" in kind.name and any(not self.kind(sub).role & _MARKS for sub in kid.children):
                    node = kid
                    break
        return at

    def head_end(self, core: Node, inner: int, start: int) -> int:
        """Where the head of a definition ends: before comments that precede its body, which starts at ``inner``."""
        end = start
        for kid in core.children:
            if kid.start_byte >= inner:
                break
            if not self.kind(kid).role & COMMENT:
                end = max(end, min(kid.end_byte, inner))
        return start + len(self._raw[start:end].rstrip())

    # -- imports

    def imports(self, node: Node) -> list[tuple[str, str]]:
        """``(name, source)`` of what an import statement brings in, in order."""
        found: list[tuple[str, str]] = []
        for _, captures in self._matches(node, imports=True):
            name = self._text(captures["name"][0]) if "name" in captures else ""
            source = self._text(captures["source"][0]) if "source" in captures else ""
            found.append(_import(name, source))
        return found


def _import(name: str, source: str) -> tuple[str, str]:
    source = source.strip(_QUOTED)
    if name[:1] in _PATHS:
        return name.strip(_QUOTED) or source, source
    if not source and not name.startswith("{"):
        for separator in ("::", "/", "."):
            if separator in name:
                return name.rpartition(separator)[2], name
    return name or source, source


def has_error(node: Node) -> bool:
    """Whether there is a syntax error in a node."""
    return bool(getattr(node, "has_error", False))


def child(node: Node, field: int | str) -> Node | None:
    """The child in a field, known by id or, in trees that may have no fields, by name."""
    if isinstance(field, int):
        return node.child_by_field_id(field)
    by_name = getattr(node, "child_by_field_name", None)
    return None if by_name is None else by_name(field)


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
