"""Flat nodes in document order to nested spans, made late: what all markup with an outline has in common.

A scanner reads the text once and lists nodes in the order of their starts. ``outlined`` puts a section around each
heading and what follows it, ``Nest`` turns the list into spans, one level at a time and only where somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from omnichunk.model.span import Detail, Glue, Span, Strength

DEPTH = 64  # deeper nodes are left to the text ladder: a path of more parts says nothing, and costs each chunk a walk
TITLE = 1000  # characters of source a title is read from: a line of megabytes is no title
SHOWN = 5  # errors of one kind beyond these add nothing

Gap = Callable[[int, int], tuple[list[Span], int]]


class Node:
    """A range that becomes a span. ``level``: of a heading that opens a section, else 0."""

    __slots__ = ("detail", "end", "glue", "kind", "level", "name", "rich", "start", "strength")

    def __init__(
        self,
        start: int,
        end: int,
        kind: str,
        strength: Strength = Strength.BLOCK,
        name: str = "",
        level: int = 0,
        glue: Glue = Glue.NONE,
        detail: Detail | None = None,
    ) -> None:
        self.start = start
        self.end = end
        self.kind = kind
        self.strength = strength
        self.name = name
        self.level = level
        self.glue = glue
        self.detail = detail
        self.rich = False  # sections lie inside


def outlined(nodes: Iterable[Node], end: int) -> list[Node]:
    """``nodes`` with a section before each heading that has a level, as far as the next of the same or a higher one.

    No node may reach over the start of such a heading. ``end``: where the last sections end.
    """
    found: list[Node] = []
    opened: list[Node] = []
    for node in nodes:
        if node.level and node.kind == "heading":
            while opened and opened[-1].level >= node.level:
                opened.pop().end = node.start
            section = Node(node.start, end, "section", Strength.SECTION, node.name, node.level)
            section.detail = Detail(label="heading", level=node.level)
            node.glue |= Glue.NEXT
            opened.append(section)
            found.append(section)
        found.append(node)
    return found


def damage(text: str, what: Iterable[tuple[int, str]]) -> list[str]:
    """Messages ``… line N`` for the first few of ``what`` (position, description), which is sorted by position."""
    errors = []
    line, at = 1, 0
    for position, description in list(what)[:SHOWN]:
        line += text.count("\n", at, position)
        at = position
        errors.append(f"{description}, line {line}")
    return errors


def line_start(text: str, low: int, position: int) -> int:
    """The first column of the line of ``position`` if only blanks lie between (not before ``low``), else itself."""
    begin = position
    while begin > low and text[begin - 1] in " \t":
        begin -= 1
    return begin if begin == 0 or text[begin - 1] == "\n" else position


def begins_line(text: str, position: int) -> bool:
    """Whether nothing but blanks precede ``position`` on its line."""
    begin = line_start(text, 0, position)
    return begin == 0 or text[begin - 1] == "\n"


class Nest:
    """Makes the spans of ``nodes``, which are sorted by start and nest; what overlaps is clipped to its parent.

    ``gap(a, b)``: the spans of the text between two nodes, and where the node after it starts (``b`` or before).
    """

    def __init__(self, text: str, nodes: Iterable[Node], gap: Gap) -> None:
        self.text = text
        self.gap = gap
        self.nodes: list[Node] = []
        self.after: list[int] = []  # index of the first node behind a node and all inside it
        self._pending: list[Span] = []
        self._nest(nodes)

    def _nest(self, nodes: Iterable[Node]) -> None:
        kept, after = self.nodes, self.after
        open_: list[int] = []
        for node in nodes:
            start = node.start
            while open_ and kept[open_[-1]].end <= start:
                after[open_.pop()] = len(kept)
            if node.end <= start or len(open_) >= DEPTH:
                continue
            if open_ and node.end > kept[open_[-1]].end:
                node.end = kept[open_[-1]].end
            if node.kind == "section":
                for i in reversed(open_):
                    if kept[i].rich:
                        break
                    kept[i].rich = True
            open_.append(len(kept))
            kept.append(node)
            after.append(0)
        for i in open_:
            after[i] = len(kept)

    def spans(self) -> list[Span]:
        """The outermost spans; sections are known down to the innermost, everything else is made on demand."""
        made = self.between(0, len(self.text), 0, len(self.nodes))
        while self._pending:
            _ = self._pending.pop().children
        return made

    def between(self, start: int, end: int, i: int, j: int) -> list[Span]:
        """The spans of ``[start, end)``, in which the nodes ``i`` to ``j`` lie."""
        nodes, after, gap = self.nodes, self.after, self.gap
        made: list[Span] = []
        at = start
        while i < j:
            node = nodes[i]
            if at < node.start:
                spans, begin = gap(at, node.start)
                if not made and not spans:  # what opens the node around is no part of the first node inside
                    begin = line_start(self.text, at, node.start)
                made += spans
            else:
                begin = node.start
            made.append(self._span(i, begin))
            at = node.end
            i = after[i]
        if at < end:
            made += gap(at, end)[0]
        return made

    def _span(self, i: int, start: int) -> Span:
        node = self.nodes[i]
        span = Span(start, node.end, node.kind, node.strength, node.name, node.detail, node.glue)
        if self.after[i] > i + 1 or self.opens(node):
            span.opener = lambda: self.opened(i, start)
        if node.rich:
            self._pending.append(span)
        return span

    def opens(self, node: Node) -> bool:
        """Whether a node without nodes inside can be opened all the same; a section always can."""
        return node.kind == "section"

    def opened(self, i: int, start: int) -> Sequence[Span]:
        """The children of node ``i``, whose span begins at ``start``."""
        return self.between(start, self.nodes[i].end, i + 1, self.after[i])
