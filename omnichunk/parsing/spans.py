"""Syntax tree to spans: the outline at once, everything else when somebody looks inside.

The outline is the row of top-level groups and, in turn, of whatever is worth looking into: class bodies, namespaces,
conditional compilation, functions that hold functions. A function's statements are made when it does not fit. Queries
run on definition nodes only, and only lines that are opened are visited, so the cost follows the outline and the chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from omnichunk.model.span import Detail, Glue, Span, Strength
from omnichunk.parsing.groups import Group, Lines, Node, level, unfold
from omnichunk.parsing.tags import ATTRIBUTE, COMMENT, DEFINITION, IMPORT, LISTING, OPEN, WRAP, Tag, Tags

CONTAINERS = frozenset("class interface struct trait enum impl object protocol record union extension".split())
"""Labels of definitions whose functions are methods."""
SPACES = frozenset({"module", "namespace", "package"})
VALUES = frozenset({"constant", "variable", "field", "property", "type"})
"""Labels of definitions that are statements as long as they take one line."""

OUTLINE, BODY, INSIDE = range(3)
"""Where a group stands: in a module or class; directly in a function; further in."""

_LEAD = COMMENT | ATTRIBUTE
_Make = Callable[[], "list[Span]"]


class _Found(NamedTuple):
    """``core``: the definition's node; ``outer``: it or the node that wraps it."""

    outer: Node
    core: Node
    tag: Tag


class Spans:
    """The spans of one tree over ``raw`` (UTF-8). ``char(byte)`` converts positions; ``None`` if all is ASCII.

    ``imports``: the ``(name, source)`` pairs met in the outline.
    """

    def __init__(self, raw: bytes, tags: Tags, char: Callable[[int], int] | None) -> None:
        self.imports: list[tuple[str, str]] = []
        self._raw = raw
        self._tags = tags
        self._char = char
        self._lines = Lines(raw)
        self._eager: list[tuple[Span, _Make]] = []

    def outline(self, root: Node) -> list[Span]:
        """The spans of the whole tree."""
        return self._made(partial(self._listing, root, self._lines.start(root.start_byte), OUTLINE, ""))

    # -- making children, now or later

    def _made(self, make: _Make) -> list[Span]:
        """What ``make`` gives, and the children of all in it that belongs to the outline; a loop, however deep they nest."""
        spans = make()
        while self._eager:
            span, inner = self._eager.pop()
            span.opener = inner().copy
            span.children  # noqa: B018  adopts what was made
        return spans

    def _attach(self, span: Span, make: _Make, *, now: bool) -> Span:
        if now:
            self._eager.append((span, make))
        else:
            span.opener = partial(self._made, make)
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
            groups = level(node, self._lines, start)
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
            groups = unfold(nodes, self._lines, self._tags.whole, start)
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
                    glued = not self._lines.several(head.nodes[0].start_byte, head.nodes[0].end_byte)
            if len(groups) > 1 or self._opens_definition(groups[0]):
                spans = self._assembled(groups, where, owner)
                if glued:
                    spans[0].glue |= Glue.NEXT
                return spans
            if not groups[0].several:
                return []
            nodes, start = groups[0].nodes, groups[0].start

    def _opens_definition(self, group: Group) -> bool:
        roles = self._tags.roles
        return any(roles[node.type] & (DEFINITION | WRAP) for node in group.nodes) and self._find(group) is not None

    # -- from groups to spans

    def _assembled(self, groups: Sequence[Group], where: int, owner: str) -> list[Span]:
        """One span a group; comments and attributes go with the definition below them, or are glued to what follows."""
        spans: list[Span] = []
        lead: list[Group] = []
        bound = False  # an attribute waits for its definition whatever blank lines come between
        for group in groups:
            if lead and group.blank and not bound:
                spans += self._leads(lead, where, glued=False)
                lead = []
            role = self._role(group)
            if role & _LEAD:
                lead.append(group)
                bound = bound or role == ATTRIBUTE
                continue
            strength = _strength(group, where)
            span: Span | None = None
            if role & (DEFINITION | WRAP) and (group.several or where == OUTLINE):
                found = self._find(group)
                if found is not None:
                    span = self._definition(lead, group, found, strength, owner)
                    lead = []
            if span is None:
                if lead:
                    spans += self._leads(lead, where, glued=True)
                    strength = min(strength, Strength.ITEM)
                    lead = []
                span = self._statement(group, role, where, owner, strength)
            bound = False
            spans.append(span)
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
        glue = Glue.NEXT if group.is_token() else Glue.NONE
        span = self._span(group.start, group.end, kind, strength, glue)
        if group.several:
            now = where == OUTLINE and bool(role & OPEN)
            inner = where if now else INSIDE
            self._attach(span, partial(self._inside, group.nodes, group.start, inner, owner), now=now)
        return span

    # -- definitions

    def _find(self, group: Group) -> _Found | None:
        """The first definition in a group, looking through what wraps it."""
        roles = self._tags.roles
        for node in group.nodes:
            core = node
            for _ in range(6):
                role = roles[core.type]
                tag = self._tags.definition(core) if role & DEFINITION else None
                if tag is not None:
                    return _Found(node, core, tag)
                if not role & WRAP:
                    break
                inner = [kid for kid in core.children if roles[kid.type] & (DEFINITION | WRAP)]
                if not inner:
                    break
                core = inner[-1]
        return None

    def _definition(self, lead: list[Group], group: Group, found: _Found, strength: Strength, owner: str) -> Span:
        outer, core, tag = found
        label = "method" if tag.label == "function" and owner in CONTAINERS else tag.label
        holds = label in CONTAINERS or label in SPACES
        body = self._tags.body(core) if label not in VALUES and (group.several or holds) else None
        if label not in VALUES or group.several:
            strength = Strength.SECTION
        start = lead[0].start if lead else group.start
        span = self._span(start, group.end, "definition", strength)
        span.name = tag.name
        doc = tag.doc or (self._tags.docstring(body) if body is not None else None) or self._comment(lead)
        span.detail = Detail(
            label=label,
            signature=self._range(*self._signature(outer, core, body)),
            doc=None if doc is None else self._range(*doc),
        )
        if group.several or lead:
            now = holds or (body is not None and self._tags.holds_definitions(body))
            inner = partial(self._core, core, body, OUTLINE if holds else BODY, label)
            self._attach(span, partial(self._with_lead, lead, group, outer, core, inner, now), now=now)
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
        self, lead: list[Group], group: Group, outer: Node, core: Node, inner: Callable[[int], list[Span]], now: bool
    ) -> list[Span]:
        """The inside of a definition; behind comments and decorators its core is a span of its own, to stay whole."""
        start = group.start
        lead = list(lead)
        if outer is not core:
            groups = level(outer, self._lines, start)
            while len(groups) > 1 and self._role(groups[0]) & _LEAD:
                lead.append(groups.pop(0))
            start = groups[0].start
        if not lead:
            return inner(start)
        rest = self._span(start, group.end, "statement", Strength.ITEM)
        if group.several:
            self._attach(rest, partial(inner, start), now=now)
        return [*self._leads(lead, INSIDE, glued=True), rest]

    def _core(self, core: Node, body: Node | None, where: int, label: str, start: int) -> list[Span]:
        """The statements or members of a definition; its opening lines go with the first unless they are many."""
        if body is None:
            return self._inside([core], start, INSIDE if where == BODY else where, label)
        spans = self._listing(body, max(start, self._lines.start(body.start_byte)), where, label)
        end = start + len(self._raw[start : body.start_byte].rstrip())
        if spans and self._lines.several(start, end):
            head = self._span(start, end, "statement", Strength.LINE, Glue.NEXT)
            if spans[0].start >= head.end:
                spans.insert(0, self._attach(head, partial(self._head, core, body, start), now=False))
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
        return Strength.BLOCK if group.blank else Strength.ITEM
    return Strength.ITEM if group.blank or group.turn else Strength.LINE
