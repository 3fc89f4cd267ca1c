"""Syntax tree to spans: the outline at once, everything else when somebody looks inside.

The outline is the row of top-level groups and, in turn, of whatever is worth looking into: class bodies, namespaces,
conditional compilation, functions that hold functions. A function's statements are made when it does not fit. Queries
run on definition nodes only and only what is opened is visited, so the cost follows the outline and the chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from omnichunk.model.span import Detail, Glue, Span, Strength
from omnichunk.parsing.groups import Group, Node, level, line_start, several_lines, unfold
from omnichunk.parsing.tags import ATTRIBUTE, COMMENT, DEFINITION, IMPORT, LISTING, OPEN, VALUES, WRAP, Tag, Tags

CONTAINERS = frozenset({"class", "interface", "struct", "trait", "enum", "impl", "object", "union", "extension"})
"""Labels of definitions whose functions are methods."""
HOLDERS = CONTAINERS | {"module", "namespace", "package"}
"""Labels of definitions that hold definitions."""

OUTLINE, BODY, INSIDE = range(3)
"""Where a group stands: in a module or class; directly in a function; further in."""

FIRST = 8
"""Nodes of a group, all but the last on one line, of which one may be its definition."""

_LEAD = COMMENT | ATTRIBUTE
SECTION, BLOCK, ITEM, LINE = Strength.SECTION, Strength.BLOCK, Strength.ITEM, Strength.LINE


_Found = tuple[Node, Node, Tag]
"""A definition's node with what wraps it (or itself), its own node, and what the grammar says of it."""


class Spans:
    """The spans of one tree over ``raw`` (UTF-8). ``char(byte)`` converts positions; ``None`` if all is ASCII.

    ``imports``: the ``(name, source)`` pairs met in the outline.
    """

    def __init__(self, raw: bytes, tags: Tags, char: Callable[[int], int] | None) -> None:
        self.imports: list[tuple[str, str]] = []
        self._raw = raw
        self._tags = tags
        self._char = char
        self._eager: list[tuple[Any, ...]] = []

    def outline(self, root: Node) -> list[Span]:
        """The spans of the whole tree."""
        start = line_start(self._raw, root.start_byte, 0)
        return self._made(self._listing, root, start, OUTLINE, "")

    # -- making children, now or later

    def _made(self, make: Callable[..., list[Span]], *about: Any) -> list[Span]:
        """What ``make`` gives, with the children of all that belongs to the outline; a loop, however deep they nest."""
        spans = make(*about)
        while self._eager:
            span, inner, *about_it = self._eager.pop()
            span.opener = inner(*about_it).copy
            span.children  # noqa: B018  adopts what was made
        return spans

    def _attach(self, span: Span, now: bool, make: Callable[..., list[Span]], *about: Any) -> Span:
        """Let ``make(*about)`` give the children of ``span``: as part of the outline, or when it is opened."""
        if now:
            self._eager.append((span, make, *about))
        else:
            span.opener = partial(self._made, make, *about)
        return span

    def _span(self, start: int, end: int, kind: str, strength: Strength, glue: Glue = Glue.NONE) -> Span:
        if self._char is not None:
            start, end = self._char(start), self._char(end)
        return Span(start, end, kind, strength, glue=glue)

    def _range(self, start: int, end: int) -> tuple[int, int]:
        return (start, end) if self._char is None else (self._char(start), self._char(end))

    # -- from nodes to groups

    def _listing(self, node: Node, start: int, where: int, owner: str) -> list[Span]:
        """The spans of a node whose children are statements or members; ``owner``: label of the definition it is in."""
        while True:
            groups = level(node, self._raw, start)
            if not groups:
                return []
            if len(groups) > 1 and groups[0].is_token():
                del groups[0]
            first = groups[0]
            if len(groups) > 1 or not first.several or self._opens_definition(first):
                return self._assembled(groups, where, owner)
            if len(first.nodes) > 1 or not self._tags.roles[first.nodes[0].type] & LISTING:
                return self._inside(first.nodes, first.start, where, owner)
            node, start = first.nodes[0], first.start

    def _inside(self, nodes: Sequence[Node], start: int, where: int, owner: str) -> list[Span]:
        """The spans inside a statement: the first lines that begin within, however deep; none if it is one line."""
        roles = self._tags.roles
        while True:
            groups = unfold(nodes, self._raw, self._tags.whole, start)
            head = groups[0]
            if len(groups) == 1:
                if not head.several:
                    return []
                nodes = head.nodes
                continue
            glued = False
            if not (len(nodes) == 1 and roles[nodes[0].type] & LISTING) or head.is_token():
                if not head.several:
                    del groups[0]  # the opening line goes with what it opens
                else:
                    glued = not several_lines(self._raw, head.nodes[0].start_byte, head.nodes[0].end_byte)
            if len(groups) > 1 or self._opens_definition(groups[0]):
                spans = self._assembled(groups, where, owner)
                if glued:
                    spans[0].glue |= Glue.NEXT
                return spans
            if not groups[0].several:
                return []
            nodes, start = groups[0].nodes, groups[0].start

    def _opens_definition(self, group: Group) -> bool:
        return self._find(group) is not None

    # -- from groups to spans

    def _assembled(self, groups: Sequence[Group], where: int, owner: str) -> list[Span]:
        """One span a group; comments and attributes go with the definition below them, or are glued to what follows."""
        spans: list[Span] = []
        lead: list[Group] = []
        roles = self._tags.roles
        bound = False  # an attribute waits for its definition whatever blank lines come between
        for group in groups:
            if group.end <= group.start:
                continue  # a token the parser missed
            if lead and group.blank and not bound:
                spans += self._leads(lead, where, glued=False)
                lead = []
            role = roles[group.nodes[0].type]
            if role & _LEAD:
                role = self._role(group)
            if role & _LEAD:
                lead.append(group)
                bound = bound or role == ATTRIBUTE
                continue
            strength = _strength(group, where)
            found = None
            if role & (DEFINITION | WRAP) and (group.several or where == OUTLINE):
                found = self._find(group)
            if found is not None:
                spans.append(self._definition(lead or (), group, found, strength, owner))
            else:
                if lead:
                    spans += self._leads(lead, where, glued=True)
                    strength = min(strength, ITEM)
                spans.append(self._statement(group, role, where, owner, strength))
            if lead:
                lead = []
                bound = False
        if lead:
            spans += self._leads(lead, where, glued=False)
        return spans

    def _role(self, group: Group) -> int:
        """The roles of the first node that is no comment or attribute, else of the attribute, else of the comment."""
        roles = self._tags.roles
        lead = 0
        for node in group.nodes:
            role = roles[node.type]
            if not role & _LEAD:
                return role
            lead = max(lead, role & _LEAD)
        return lead

    def _leads(self, lead: Sequence[Group], where: int, *, glued: bool) -> list[Span]:
        """Spans of comments and attributes, adjacent comments as one; ``glued`` to what follows."""
        spans: list[Span] = []
        last = 0
        for group in lead:
            role = self._role(group)
            if spans and role == COMMENT == last and not group.blank:
                spans[-1].end = self._range(group.end, group.end)[0]
                continue
            kind = "comment" if role == COMMENT else "statement"
            strength = _strength(group, where)
            spans.append(self._span(group.start, group.end, kind, strength, Glue.NEXT if glued else Glue.NONE))
            last = role
        return spans

    def _statement(self, group: Group, role: int, where: int, owner: str, strength: Strength) -> Span:
        kind = "statement"
        if role & IMPORT and where == OUTLINE:
            found = [pair for node in group.nodes for pair in self._tags.imports(node)]
            self.imports += found
            kind = "import" if found else kind
        glue = Glue.NEXT if len(group.nodes) == 1 and group.is_token() else Glue.NONE
        span = self._span(group.start, group.end, kind, strength, glue)
        if group.several:
            now = where == OUTLINE and bool(role & OPEN)
            inner = where if now else INSIDE
            self._attach(span, now, self._inside, group.nodes, group.start, inner, owner)
        return span

    # -- definitions

    def _find(self, group: Group) -> _Found | None:
        """The first definition in a group, looking through what wraps it."""
        roles = self._tags.roles
        for node in group.nodes[:FIRST]:
            core = node
            for _ in range(6):
                role = roles[core.type]
                tag = self._tags.definition(core) if role & DEFINITION else None
                if tag is not None:
                    return node, core, tag
                if not role & WRAP:
                    break
                inner = [kid for kid in core.children if roles[kid.type] & (DEFINITION | WRAP)]
                if not inner:
                    break
                core = inner[-1]
        return None

    def _definition(self, lead: Sequence[Group], group: Group, found: _Found, strength: Strength, owner: str) -> Span:
        outer, core, tag = found
        tags = self._tags
        label = tag.label
        if label == "function" and owner in CONTAINERS:
            label = "method"
        several = group.several
        value = label in VALUES
        body = tags.body(core) if several and not value else None
        doc = tag.doc
        if doc is None and body is not None and tags.documents:
            doc = tags.docstring(body)
        if doc is None and lead:
            doc = self._comment(lead)
        detail = Detail(label, self._range(*self._signature(outer, core, body)), doc and self._range(*doc))
        start, end = self._range(lead[0].start if lead else group.start, group.end)
        span = Span(start, end, "definition", SECTION if several or not value else strength, tag.name, detail)
        if several or lead:
            holds = label in HOLDERS
            now = holds or (body is not None and tags.holds_definitions(body))
            self._attach(span, now, self._with_lead, lead, group, found, body, OUTLINE if holds else BODY, label, now)
        return span

    def _comment(self, lead: Sequence[Group]) -> tuple[int, int] | None:
        """The range of the last run of comments among ``lead``."""
        comments = [group for group in lead if self._role(group) == COMMENT]
        return (comments[0].nodes[0].start_byte, comments[-1].end) if comments else None

    def _signature(self, outer: Node, core: Node, body: Node | None) -> tuple[int, int]:
        """From the definition's first word, attributes and comments left out, to its body or the end of its line."""
        raw = self._raw
        start = self._tags.first_word(outer, core)
        if body is not None:
            end = self._tags.head_end(core, body, start)
        else:
            end = raw.find(b"\n", start, core.end_byte)
            end = core.end_byte if end < 0 else end
        return start, start + len(raw[start:end].rstrip())

    def _with_lead(
        self, lead: Sequence[Group], group: Group, found: _Found, body: Node | None, where: int, label: str, now: bool
    ) -> list[Span]:
        """The inside of a definition; behind comments and decorators its core is a span of its own, to stay whole."""
        start = group.start
        before = list(lead)
        outer, core, _ = found
        if outer is not core:
            groups = level(outer, self._raw, start)
            while len(groups) > 1 and self._role(groups[0]) & _LEAD:
                before.append(groups.pop(0))
            start = groups[0].start
        if not before:
            return self._core(core, body, where, label, start)
        rest = self._span(start, group.end, "statement", Strength.ITEM)
        if group.several:
            self._attach(rest, now, self._core, core, body, where, label, start)
        return [*self._leads(before, INSIDE, glued=True), rest]

    def _core(self, core: Node, body: Node | None, where: int, label: str, start: int) -> list[Span]:
        """The statements or members of a definition; its opening lines go with the first unless they are many."""
        if body is None:
            return self._inside([core], start, INSIDE if where == BODY else where, label)
        spans = self._listing(body, line_start(self._raw, body.start_byte, start), where, label)
        end = start + len(self._raw[start : body.start_byte].rstrip())
        if spans and several_lines(self._raw, start, end):
            head = self._span(start, end, "statement", Strength.LINE, Glue.NEXT)
            if spans[0].start >= head.end:
                spans.insert(0, self._attach(head, False, self._head, core, body, start))
        return spans

    def _head(self, core: Node, body: Node, start: int) -> list[Span]:
        """The spans of what precedes the body: parameters on several lines."""
        nodes: list[Node] = []
        stop = body.start_byte
        node: Node | None = core
        while node is not None:
            within = None
            for kid in node.children:
                if kid.end_byte <= stop:
                    nodes.append(kid)
                else:
                    within = kid if kid.start_byte < stop else None
                    break
            node = within
        return self._inside(nodes, start, INSIDE, "") if nodes else []


def _strength(group: Group, where: int) -> Strength:
    """Of a cut before a statement: stronger further out, after a blank line, and where a branch turns."""
    if where != INSIDE:
        return BLOCK if group.blank or group.turn else ITEM
    return ITEM if group.blank or group.turn else LINE
