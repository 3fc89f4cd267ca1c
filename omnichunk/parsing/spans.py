"""Syntax tree to spans: the row of top-level groups at once, everything else when somebody looks inside.

The outline is that row and, in turn, those of whatever is worth looking into: class bodies, namespaces, conditional
compilation, functions that hold functions. All of it is there once a context asks. A function's statements are made
when it does not fit. Only what is opened is visited, so the cost follows the outline and the chunks; a definition costs
about 6 µs, in which a parser reads 30 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain

from omnichunk.model.span import Detail, Glue, Span, Strength
from omnichunk.parsing.groups import (
    NEWLINE,
    Group,
    Node,
    Row,
    follows_blank,
    line_start,
    rows,
    several_lines,
    unbracketed,
    unfold,
)  # fmt: skip
from omnichunk.parsing.tags import (
    ATTRIBUTE,
    BODY,
    COMMENT,
    CONTAINERS,
    DEFINITION,
    FIRST,
    HOLDERS,
    IMPORT,
    INSIDE,
    LISTING,
    MARKED,
    OPEN,
    OPENS_STRING,
    OUTLINE,
    RECORDS,
    VALUES,
    WRAP,
    Found,
    Tags,
    has_error,
)  # fmt: skip

RUN = 120
"""Bytes of the one-line statements that share a span."""

_FINDS = DEFINITION | WRAP
_LEAD = COMMENT | ATTRIBUTE
SECTION, BLOCK, ITEM, LINE = Strength.SECTION, Strength.BLOCK, Strength.ITEM, Strength.LINE
NONE, NEXT = Glue.NONE, Glue.NEXT


class Spans:
    """The spans of one tree over ``raw`` (UTF-8). ``char(byte)`` converts positions; ``None`` if all is ASCII.

    ``damaged``: spans of the outline that hold syntax errors, outer ones first; a cut beside them is worth less.
    """

    def __init__(self, raw: bytes, tags: Tags, char: Callable[[int], int] | None) -> None:
        self.damaged: list[Span] = []
        self._raw = raw + b"\n"
        self._tags = tags
        self._char = char
        self._imports: list[tuple[int, Sequence[tuple[str, str]]]] = []
        self._unmade: list[Span] = []
        self._hurt: list[Span] = []
        self._whole = False
        self._broken = False
        self._make = type(self).made  # a method bound anew for each span would be one more object to collect
        nodes = tags.rules.nodes
        self._body = next((field for field in tags.rules.bodies if isinstance(field, int)), 0)
        self._documents = nodes.docstring
        self._mark = nodes.mark
        self._word = nodes.words[0] if nodes.words else b""

    def outline(self, root: Node) -> list[Span]:
        """The spans of the whole tree; what is in them is made later, but for what holds syntax errors."""
        self._broken = getattr(root, "has_error", False)
        start = line_start(self._raw, root.start_byte, 0)
        spans = self.made(Spans._listing, self._flat(root.children), start, OUTLINE, "")
        while self._hurt:
            self._hurt.pop().children  # noqa: B018  made and adopted
        self._hurt = self._unmade
        return spans

    @property
    def complete(self) -> bool:
        """Whether the whole outline has been made."""
        return not self._unmade

    def imports(self) -> list[tuple[str, str]]:
        """Make all of the outline, from now on at once; the ``(name, source)`` pairs met in it, in order."""
        self._finish()
        return [pair for _, pairs in sorted(self._imports) for pair in pairs]

    def _finish(self) -> None:
        self._whole = False
        while self._unmade:  # a loop, however deep they nest
            self._unmade.pop().children  # noqa: B018  made and adopted
        self._whole = True

    def _flat(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """``nodes`` with what is in mere lists of imports or declarations in place of those."""
        flat = self._tags.rules.nodes.flat
        if not flat:
            return nodes
        return [*chain.from_iterable(node.children if node.type in flat else (node,) for node in nodes)]

    def made(
        self, make: Callable[[Spans, Sequence[Node], int, int, str], list[Span]],
        nodes: Sequence[Node], start: int, where: int, owner: str,
    ) -> list[Span]:  # fmt: skip
        """What ``make`` gives, with what belongs to the outline inside if all of that was asked for."""
        spans = make(self, nodes, start, where, owner)
        if self._whole:
            self._finish()
        return spans

    def _span(self, start: int, end: int, kind: str, strength: Strength, glue: Glue = NONE) -> Span:
        char = self._char
        return (
            Span(start, end, kind, strength, "", None, glue)
            if char is None
            else Span(char(start), char(end), kind, strength, "", None, glue)
        )

    # -- from nodes to rows

    def _listing(self, nodes: Sequence[Node], start: int, where: int, owner: str) -> list[Span]:
        """The spans of statements or members among siblings; ``owner``: label of the definition they are in.

        Here most definitions are met: of a plain kind, with a body, alone on their lines, below nothing but comments.
        They take a short way; what lies between them takes the general one.
        """
        raw, char = self._raw, self._char
        nodes, start = unbracketed(nodes, raw, start)
        kinds, body_field = self._tags.rules, self._body
        member = owner in CONTAINERS
        spans: list[Span] = []
        done, after, column = 0, start, 0  # nodes and bytes that have their spans; where definitions begin their lines
        for i, node in enumerate(nodes if body_field else ()):
            kind = kinds[node.kind_id]
            if not kind.plain:
                continue
            begin = node.start_byte
            end = node.end_byte
            at = begin - column
            if at < after or raw[at - 1] != NEWLINE:
                at = line_start(raw, begin, start)
                column = begin - at
            name = node.child_by_field_id(kind.field)
            body = node.child_by_field_id(body_field)
            if name is None or body is None or raw[end] != NEWLINE or raw.find(b"\n", begin, end) < 0:
                continue
            if column and i and nodes[i - 1].end_byte > at:
                continue  # it begins in mid-line
            first, doc = i, None
            if i > done:
                first, at, doc = self._above(nodes, done, i, at)
                if first < 0:
                    continue
                if first > done:
                    spans += self._between(nodes, done, first, start, after, where, owner)
            inner = body.start_byte
            if raw[begin] in MARKED:
                begin = self._tags.first_word(node, node)
            head = raw[begin:inner]
            last = begin + len(head.rstrip()) if self._mark not in head else self._tags.head_end(node, inner, begin)
            if self._documents and raw[inner] in OPENS_STRING:
                doc = self._tags.docstring(body, inner) or doc
            label = "method" if member and kind.label == "function" else kind.label
            word = raw[name.start_byte : name.end_byte].decode("utf-8", "replace")
            if word[-1:] == ">":
                word = self._tags.name(name)
            after = end
            if char is None:
                span = Span(at, end, "definition", SECTION, word, Detail(label, (begin, last), doc))
            else:
                detail = Detail(label, (char(begin), char(last)), doc and (char(doc[0]), char(doc[1])))
                span = Span(char(at), char(end), "definition", SECTION, word, detail)
            if first == i:
                span.opener = partial(self._make, self, Spans._core, (node,), at, kind.inside, label)
            else:
                own = tuple(nodes[first : i + 1])  # which the collector need not visit, unlike a list
                span.opener = partial(self._make, self, Spans._with_lead, own, at, kind.inside, label)
            hurt = self._broken and node.has_error
            if self._outlined(kind.label, body, inner, end):
                (self._hurt if hurt else self._unmade).append(span)
            if hurt:
                self._damage(span)
            spans.append(span)
            done = i + 1
        if not done:
            groups = rows(nodes, raw, start)
            row, second = next(groups, None), next(groups, None)
            if row is None:
                return []
            if second is None and row[4] and self._tags.find(row[0]) is None:
                return self._inside(row[0], row[1], where, owner)
            return self._assembled(chain((row,), (second,) if second else (), groups), where, owner)
        if done < len(nodes):
            spans += self._between(nodes, done, len(nodes), start, after, where, owner)
        return spans

    def _above(self, nodes: Sequence[Node], done: int, i: int, at: int) -> tuple[int, int, tuple[int, int] | None]:
        """Which of the nodes before node ``i``, whose line begins ``at``, are comments and attributes that belong to it.

        The first of them (-1 if this is no simple case), where its line begins, and the range of the comments.
        """
        raw, tags = self._raw, self._tags
        first, doc_start, doc_end = i, -1, -1
        while first > done:
            node = nodes[first - 1]
            role = tags.rules[tags.key(node)].role & _LEAD
            if not role:
                break
            end = node.end_byte
            if follows_blank(raw, end, at):
                if role == ATTRIBUTE:
                    return -1, at, None
                break
            begin = node.start_byte
            line = line_start(raw, begin, 0)
            if first > 1 and nodes[first - 2].end_byte > line:
                return -1, at, None  # it trails what stands before it on its line
            if role == COMMENT:
                doc_start = begin
                doc_end = end if doc_end < 0 else doc_end
            first -= 1
            at = line
        return first, at, None if doc_start < 0 else (doc_start, doc_end)

    def _between(
        self, nodes: Sequence[Node], first: int, stop: int, start: int, after: int, where: int, owner: str
    ) -> list[Span]:
        """The spans of ``nodes[first:stop]`` that follow byte ``after``; the first of all ``nodes`` starts at ``start``."""
        raw = self._raw
        blank = False
        if first:
            while first < stop and nodes[first].end_byte <= after + 1:
                first += 1  # the newline that Go counts among its tokens
            if first == stop:
                return []
            start = line_start(raw, nodes[first].start_byte, after + 1)
            blank = follows_blank(raw, after, start)
        return self._assembled(rows(nodes[first:stop], raw, start, blank=blank), where, owner)

    def _inside(self, nodes: Sequence[Node], start: int, where: int, owner: str) -> list[Span]:
        """The spans inside a statement: the first lines that begin within, however deep; none if it is one line."""
        tags = self._tags
        while True:
            groups = unfold(nodes, self._raw, tags.whole, start)
            head = groups[0]
            if len(groups) == 1:
                if not head.several:
                    return []
                nodes = head.nodes
                continue
            glued = False
            if not (len(nodes) == 1 and tags.kind(nodes[0]).role & LISTING) or head.is_token():
                if not head.several:
                    del groups[0]  # the opening line goes with what it opens
                else:
                    glued = not several_lines(self._raw, head.nodes[0].start_byte, head.nodes[0].end_byte)
            if len(groups) > 1 or tags.find(groups[0].nodes) is not None:
                spans = self._assembled(map(Group.row, groups), where, owner)
                if glued:
                    spans[0].glue |= NEXT
                return spans
            if not groups[0].several:
                return []
            nodes, start = groups[0].nodes, groups[0].start

    # -- from rows to spans

    def _assembled(self, groups: Iterable[Row], where: int, owner: str) -> list[Span]:
        """One span a row; comments and attributes go with the definition below them, or are glued to what follows.

        Neighbouring one-line statements share a span of at most ``RUN`` bytes, imports one of any size.
        """
        spans: list[Span] = []
        lead: list[Row] = []
        run: list[Node] | None = None  # the nodes of the last span where it can be continued
        first, ends = 0, ""
        tags, char = self._tags, self._char
        kinds, key = tags.rules, tags.key
        bound = False  # an attribute waits for its definition whatever blank lines come between
        high, low = (ITEM, LINE) if where == INSIDE else (BLOCK, ITEM)
        outline = where == OUTLINE
        broken = outline and self._broken
        for row in groups:
            nodes, start, end, blank, several, turn = row
            if end <= start:
                continue  # a token the parser missed
            node = nodes[0]
            kind = kinds[key(node)]
            role = kind.role
            if lead and blank and not bound:
                spans += self._leads(lead, where, glued=False)
                lead = []
            if len(nodes) > 1 and not role & _FINDS:
                role = self._role(nodes)
            if role & _LEAD:
                lead.append(row)
                bound = bound or role == ATTRIBUTE
                run = None
                continue
            strength = high if blank or turn else low
            worth = True  # a query, for a definition or an import
            if role & _FINDS and (several or outline):
                worth = bool(role & WRAP) or tags.promising(node)
                found = tags.find(nodes) if worth else None
                if found is not None:
                    doc = None
                    if lead:
                        comments = [above for above in lead if self._role(above[0]) == COMMENT]
                        doc = (comments[0][0][0].start_byte, comments[-1][2]) if comments else None
                        start = lead[0][1]
                        nodes = (*chain.from_iterable(above[0] for above in lead), *nodes)
                        lead = []
                        bound = False
                    hurt = broken and any(map(has_error, nodes))
                    span = self._definition(nodes, start, end, found, doc, owner, several=several, hurt=hurt)
                    if not several and found[2] in VALUES:
                        span.strength = strength
                    if hurt:
                        self._damage(span)
                    spans.append(span)
                    run = None
                    continue
            what = "statement"
            if role & IMPORT and outline and (worth or len(nodes) > 1) and self._imported(nodes):
                what = "import"
            if (
                run is not None
                and not (blank or several or turn)
                and what == ends
                and (end - first < RUN or what == "import")
            ):
                span = spans[-1]
                span.end = end if char is None else char(end)
                if span.opener is None:
                    span.opener = partial(self._make, self, Spans._lines, run, first, where, owner)
                run += nodes
                continue
            if lead:
                spans += self._leads(lead, where, glued=True)
                lead = []
                bound = False
                strength = min(strength, ITEM)
            span = Span(start, end, what, strength) if char is None else Span(char(start), char(end), what, strength)
            spans.append(span)
            run = None
            hurt = broken and any(map(has_error, nodes))
            if hurt:
                self._damage(span)
            if several:
                now = outline and role & OPEN and tags.may_hold(start, end)
                span.opener = partial(self._make, self, Spans._inside, nodes, start, where if now else INSIDE, owner)
                if now:
                    (self._hurt if hurt else self._unmade).append(span)
            elif not role and len(nodes) == 1 and not getattr(node, "is_named", True):
                span.glue = NEXT
            elif not turn:
                run, first, ends = [*nodes], start, what
        if lead:
            spans += self._leads(lead, where, glued=False)
        return spans

    def _damage(self, span: Span) -> None:
        span.strength = min(span.strength, BLOCK)
        self.damaged.append(span)

    def _lines(self, nodes: Sequence[Node], start: int, where: int, _owner: str) -> list[Span]:
        """A span for each line of a run."""
        strength = _strength(where, False)
        return [self._span(at, end, "statement", strength) for _, at, end, *_ in rows(nodes, self._raw, start)]

    def _imported(self, nodes: Sequence[Node]) -> bool:
        tags = self._tags
        found: list[tuple[str, str]] = []
        for node in nodes:
            if tags.kind(node).role & IMPORT and tags.promising(node):
                found += tags.imports(node)
        if found:
            self._imports.append((nodes[0].start_byte, found))
        return bool(found)

    def _role(self, nodes: Sequence[Node]) -> int:
        """The roles of the first node that is no comment, attribute or mere word, else of the attribute or comment."""
        lead, word = 0, False
        for node in nodes[:FIRST]:
            role = self._tags.kind(node).role
            if role & _LEAD:
                lead = max(lead, role & _LEAD)
            elif role or node.children:
                return role
            else:
                word = True
        return 0 if word else lead

    def _leads(self, lead: Sequence[Row], where: int, *, glued: bool) -> list[Span]:
        """Spans of comments and attributes, adjacent comments as one; ``glued`` to what follows."""
        spans: list[Span] = []
        last = 0
        for nodes, start, end, blank, _, _ in lead:
            role = self._role(nodes)
            if spans and role == COMMENT == last and not blank:
                spans[-1].end = end if self._char is None else self._char(end)
                continue
            kind = "comment" if role == COMMENT else "statement"
            spans.append(self._span(start, end, kind, _strength(where, blank), NEXT if glued else NONE))
            last = role
        return spans

    # -- definitions

    def _definition(
        self, nodes: Sequence[Node], start: int, end: int, found: Found, doc: tuple[int, int] | None, owner: str,
        *, several: bool, hurt: bool,
    ) -> Span:  # fmt: skip
        """The span of a definition. ``nodes``, ``start``: with the comments above it, which are at ``doc``."""
        outer, core, label, name = found
        raw = self._raw
        if label == "function" and owner in CONTAINERS:
            label = "method"
        value = label in VALUES
        first = core.start_byte
        if outer is not core or raw[first] in MARKED:
            first = self._tags.first_word(outer, core)
        body = self._tags.body(core) if several and not value else None
        if doc is None and (kids := core.children) and self._tags.kind(kids[0]).role & COMMENT:
            doc = kids[0].start_byte, kids[0].end_byte
        if body is not None:
            last = inner = body.start_byte
            head = raw[first:inner]
            last = first + len(head.rstrip()) if self._mark not in head else self._tags.head_end(core, inner, first)
            if self._documents and raw[inner] in OPENS_STRING:
                doc = self._tags.docstring(body, inner) or doc
        else:
            inner = end
            last = raw.find(b"\n", first, core.end_byte)
            last = first + len(raw[first : core.end_byte if last < 0 else last].rstrip())
        char = self._char
        if char is None:
            span = Span(start, end, "definition", SECTION, name, Detail(label, (first, last), doc))
        else:
            detail = Detail(label, (char(first), char(last)), doc and (char(doc[0]), char(doc[1])))
            span = Span(char(start), char(end), "definition", SECTION, name, detail)
        if several:
            inside = OUTLINE if label in HOLDERS else BODY
            span.opener = partial(self._make, self, Spans._with_lead, nodes, start, inside, label)
            if self._outlined(label, body, inner, end):
                (self._hurt if hurt else self._unmade).append(span)
        elif len(nodes) > 1:
            span.opener = partial(self._make, self, Spans._with_lead, nodes, start, BODY, label)
        return span

    def _outlined(self, label: str, body: Node | None, start: int, end: int) -> bool:
        """Whether what is in a definition, whose ``body`` starts at ``start``, belongs to the outline."""
        if label in HOLDERS:
            return label not in RECORDS or self._tags.has_members(body)
        found = body is not None and self._raw.find(self._word, start, end) >= 0
        return found and self._tags.holds_definitions(body, start, end)

    def _with_lead(self, nodes: Sequence[Node], start: int, where: int, label: str) -> list[Span]:
        """The inside of a definition; behind comments and decorators its core is a span of its own, to stay whole."""
        before = [*rows(nodes, self._raw, start)]
        *lead, (nodes, start, end, _, several, _) = before
        found = self._tags.find(nodes)
        if found is None:
            return []
        outer, core, _, _ = found
        if outer is not core:
            groups = [*rows(outer.children, self._raw, start)]
            while len(groups) > 1 and self._role(groups[0][0]) & _LEAD:
                lead.append(groups.pop(0))
            start = groups[0][1]
        if not lead:
            return self._core((core,), start, where, label)
        rest = self._span(start, end, "statement", ITEM)
        if several:
            rest.opener = partial(self._make, self, Spans._core, (core,), start, where, label)
            body = None if label in VALUES else self._tags.body(core)
            if self._outlined(label, body, body.start_byte if body is not None else end, end):
                (self._hurt if self._broken and has_error(core) else self._unmade).append(rest)
        return [*self._leads(lead, INSIDE, glued=True), rest]

    def _core(self, nodes: Sequence[Node], start: int, where: int, label: str) -> list[Span]:
        """The statements or members of a definition; its opening lines go with the first unless they are many."""
        core = nodes[0]
        body = None if label in VALUES else self._tags.body(core)
        if body is None:
            return self._inside(nodes, start, INSIDE if where == BODY else where, label)
        nodes_inside = [*self._early(core, body), *body.children]
        inner = nodes_inside[0].start_byte if nodes_inside else body.start_byte
        spans = self._listing(nodes_inside, line_start(self._raw, inner, start), where, label)
        end = start + len(self._raw[start:inner].rstrip())
        if spans and several_lines(self._raw, start, end):
            head = self._span(start, end, "statement", LINE, NEXT)
            if spans[0].start >= head.end:
                head.opener = partial(self._make, self, Spans._head, nodes, start, INSIDE, label)
                spans.insert(0, head)
        return spans

    def _early(self, core: Node, body: Node) -> Sequence[Node]:
        """The comments on lines of their own before a body without brackets: they belong to what it begins with."""
        raw, begin = self._raw, body.start_byte
        if (
            raw.find(self._mark, core.start_byte, begin) < 0
            or not body.children
            or not getattr(body.children[0], "is_named", True)
        ):
            return ()
        kids = [kid for kid in core.children if kid.end_byte <= begin]
        first = len(kids)
        while first and self._tags.kind(kids[first - 1]).role & COMMENT:
            at = kids[first - 1].start_byte
            if not raw[line_start(raw, at, 0) : at].isspace():
                break
            first -= 1
        return kids[first:]

    def _head(self, nodes: Sequence[Node], start: int, where: int, label: str) -> list[Span]:
        """The spans of what precedes the body: parameters on several lines."""
        core = nodes[0]
        body = self._tags.body(core)
        stop = next(iter(self._early(core, body)), body).start_byte if body is not None else 0
        before: list[Node] = []
        node: Node | None = core
        while node is not None:
            within = None
            for kid in node.children:
                if kid.end_byte <= stop:
                    before.append(kid)
                else:
                    within = kid if kid.start_byte < stop else None
                    break
            node = within
        return self._inside(before, start, where, "") if before else []


def _strength(where: int, turn: bool) -> Strength:
    """Of a cut before a statement: stronger further out, and after a blank line or where a branch turns."""
    if where != INSIDE:
        return BLOCK if turn else ITEM
    return ITEM if turn else LINE
