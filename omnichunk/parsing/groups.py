"""Syntax nodes to groups: runs of neighbouring nodes of which the first begins a line.

Code is cut at the first column of a line and nowhere else, while nodes begin and end where they please. So nodes that
begin in mid-line are joined to the node before them, and where no node of a level begins a line (``foo(function () {``)
all nodes of several lines are unfolded one level further, until some do. Nothing recurses, every node is unfolded at
most once, a node on one line never is, and the text is searched for newlines only where nothing is known of them yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Node = Any
"""A tree-sitter node, or a plugin's: ``type``, ``start_byte``, ``end_byte``, ``children``, ``is_named`` (optional)."""

_CLOSERS = (b")", b"]", b"}", b",", b";")
_OPENERS = (b"(", b"[", b"{", b"<")
NEWLINE, SPACE = b"\n "
_WORD = re.compile(rb"[\w\x80-\xff]")


def line_start(raw: bytes, at: int, floor: int) -> int:
    """Where the line of byte ``at`` begins, or ``floor`` if that comes later."""
    return max(raw.rfind(b"\n", floor, at) + 1, floor)


def several_lines(raw: bytes, start: int, end: int) -> bool:
    """Whether ``[start, end)`` reaches over more than one line; a newline belongs to the line it ends."""
    return 0 <= raw.find(b"\n", start, end) < end - 1


class Group:
    """Neighbouring nodes; ``start`` is the first column of a line (bytes), ``end`` the end of the last node.

    ``depth``: levels below what was unfolded, 0 for what begins where that begins. ``blank``: a blank line precedes.
    ``several``: some node in it reaches over several lines, so that the group can be unfolded in turn. ``turn``: it
    begins with what closes the group before (``} else {``).
    """

    __slots__ = ("blank", "depth", "end", "nodes", "several", "start", "turn")

    def __init__(self, start: int, depth: int, blank: bool, turn: bool = False) -> None:
        self.start = start
        self.end = start
        self.depth = depth
        self.blank = blank
        self.several = False
        self.turn = turn
        self.nodes: list[Node] = []

    def add(self, piece: _Piece) -> None:
        self.nodes.append(piece.node)
        self.end = max(self.end, piece.end)
        self.depth = min(self.depth, piece.depth)
        self.several = self.several or piece.newline >= 0

    def is_token(self) -> bool:
        """Whether it is punctuation and keywords alone: ``{``, ``then``."""
        return not self.several and _tokens(self.nodes)

    def row(self) -> Row:
        return self.nodes, self.start, self.end, self.blank, self.several, self.turn


class _Piece:
    """A node on its way into a group.

    ``newline``: the first newline inside, or -1. ``at``: start of the line it begins, or -1. ``last``: of its siblings.
    """

    __slots__ = ("at", "blank", "depth", "end", "kids", "last", "newline", "node")

    def __init__(self, node: Node, end: int, newline: int, depth: int, at: int, blank: bool) -> None:
        self.node = node
        self.end = end
        self.newline = newline
        self.depth = depth
        self.at = at
        self.blank = blank
        self.last = False
        self.kids: list[_Piece] | None = None


Row = tuple[Sequence[Node], int, int, bool, bool, bool]
"""What a span is made of: ``nodes start end blank several turn`` of a group. Most live for a moment, so no class."""


def unbracketed(kids: Sequence[Node], raw: bytes, start: int) -> tuple[Sequence[Node], int]:
    """``kids`` without a first and a last line of brackets and keywords, and where the line of the first one starts."""
    if len(kids) < 2 or (getattr(kids[0], "is_named", True) and getattr(kids[-1], "is_named", True)):
        return kids, start
    first, stop = 0, len(kids)
    for i, kid in enumerate(kids):
        newline = raw.rfind(b"\n", kids[i - 1].end_byte, kid.start_byte) if i else -1
        if newline >= 0:
            first, start = i, newline + 1
            break
        if getattr(kid, "is_named", True) or several_lines(raw, kid.start_byte, kid.end_byte):
            break
    for i in range(stop - 1, 0 if not first else first - 1, -1):
        kid = kids[i]
        if not _ends(raw, kid, True) or several_lines(raw, kid.start_byte, kid.end_byte):
            break
        if raw.find(b"\n", max(kids[i - 1].end_byte - 1, 0), kid.start_byte) >= 0:
            stop = i
            break
    return kids[first:stop], start


def rows(kids: Sequence[Node], raw: bytes, start: int, *, blank: bool = False) -> Iterator[Row]:
    """The groups among siblings, one level. The first starts at ``start``; ``blank``: after a blank line.

    ``raw`` reaches beyond the end of ``kids``.
    """
    find = raw.find
    begins = [kid.start_byte for kid in kids]
    first = column = 0
    several = False
    for i, (kid, begin, following) in enumerate(zip(kids, begins, [*begins[1:], -1])):
        end = kid.end_byte
        several = several or find(b"\n", begin, end - 1) >= 0
        if following < 0:
            yield tuple(kids[first:]), start, end, blank, several, False
            return
        after = end - 1 if end > begin else end
        if (raw[end] != NEWLINE or following == end) and find(b"\n", after, following) < 0:
            continue
        yield (kid,) if first == i else tuple(kids[first : i + 1]), start, end, blank, several, False
        first = i + 1
        several = False
        start = following - column  # statements mostly stand below each other; looking there is quicker than searching
        if start < end or raw[start - 1] != NEWLINE:
            start = raw.rfind(b"\n", after, following) + 1
            column = following - start
        blank = follows_blank(raw, end, start)


def follows_blank(raw: bytes, end: int, start: int) -> bool:
    """Whether a blank line lies between ``end`` of a node and the line that begins at ``start``."""
    above = raw[start - 2]
    return above == NEWLINE or (above <= SPACE and start > raw.find(b"\n", end - 1, start) + 1)


def _tokens(nodes: Iterable[Node]) -> bool:
    return not any(getattr(node, "is_named", True) for node in nodes)


def unfold(nodes: Iterable[Node], raw: bytes, whole: Callable[[Node], bool], start: int) -> list[Group]:
    """The groups inside ``nodes`` (siblings), all levels down to the first on which lines begin; one group if none do.

    ``whole``: tells the nodes that are not unfolded below the first level. ``start``: where the first group starts.
    """
    top: list[_Piece] = []
    for node in nodes:
        begin, end = node.start_byte, node.end_byte
        top.append(_Piece(node, end, raw.find(b"\n", begin, end - 1), 0, -1, False))
    frontier = [piece for piece in top if piece.newline >= 0]
    seen: set[str] = set()
    found = False
    while frontier and not found:
        unfolded = frontier
        deeper: list[_Piece] = []
        for piece in unfolded:
            seen.add(piece.node.type)
            found = _expand(piece, raw, deeper) or found
        frontier = [piece for piece in deeper if not whole(piece.node)]
    if found:
        for piece in unfolded:
            _unroll(piece, raw, seen)
    return _without_ends(_grouped(top, raw, start))


def _expand(piece: _Piece, raw: bytes, deeper: list[_Piece]) -> bool:
    """Give ``piece`` its kids and add those of several lines to ``deeper``; whether one of them begins a line."""
    node = piece.node
    known = piece.newline  # the first newline at or after the current position, as long as that has not passed it
    depth = piece.depth
    kids: list[_Piece] = []
    begins = False
    after = node.start_byte
    kid: _Piece | None = None
    for child in node.children:
        begin = child.start_byte
        end = child.end_byte
        at = -1
        blank = False
        newline = known if known >= after else raw.find(b"\n", after, begin)
        if 0 <= newline < begin:
            at = raw.rfind(b"\n", newline, begin) + 1
            blank = at > newline + 1
        after = end - 1 if end > begin else end
        newline = known if known >= begin else raw.find(b"\n", begin, after)
        inside = newline if newline < after else -1
        kid = _Piece(child, end, inside, depth, at, blank)
        kids.append(kid)
        if inside >= 0:
            deeper.append(kid)
        if at >= 0:
            begins = True
        depth = piece.depth + 1
    if kid is None:
        piece.newline = -1  # a comment or string: there is nothing to unfold
        return False
    kid.last = True
    piece.kids = kids
    return begins and any(kid.at >= 0 and not _closes(kid, raw) for kid in kids)


def _unroll(piece: _Piece, raw: bytes, seen: set[str]) -> None:
    """Go on at the left edge while it repeats the kinds above: ``a.b().c()``, ``a + b + c`` are a row, not a stair."""
    while piece.kids and piece.kids[0].newline >= 0 and piece.kids[0].node.type in seen:
        piece = piece.kids[0]
        _expand(piece, raw, [])


def _closes(piece: _Piece, raw: bytes) -> bool:
    return _ends(raw, piece.node, piece.last)


def _ends(raw: bytes, node: Node, last: bool) -> bool:
    """Whether a node, perhaps the ``last`` of its siblings, only ends something: ``}``, ``);``, ``end``, quotes."""
    named = getattr(node, "is_named", True)
    if named and not last:
        return False
    begin, end = node.start_byte, node.end_byte
    if end - begin <= 8 and _WORD.search(raw, begin, end) is None:
        return raw[begin:end].startswith(_CLOSERS) or (last and not raw[begin:end].startswith(_OPENERS))
    return last and not named


def _grouped(top: Sequence[_Piece], raw: bytes, start: int) -> list[Group]:
    """Flatten the unfolded pieces. Closers alone on a line are left out: they go with the group before as it is cut."""
    group = Group(start, 1 << 30, False)
    groups = [group]
    closers: list[_Piece] = []
    stack = [*reversed(top)]
    while stack:
        piece = stack.pop()
        kids = piece.kids
        if kids is not None:
            if piece.at >= 0:
                kids[0].at, kids[0].blank = piece.at, piece.blank
            stack.extend(reversed(kids))
            continue
        if piece.at >= 0:
            closers.clear()
        if (closers or piece.at >= 0) and _closes(piece, raw):
            closers.append(piece)
            continue
        first = closers[0] if closers else piece
        if first.at >= 0 and group.nodes:
            group = Group(first.at, piece.depth, first.blank, turn=first is not piece)
            groups.append(group)
        closers.clear()
        group.add(piece)
    return groups


def _without_ends(groups: Sequence[Group]) -> list[Group]:
    """Leave out what begins with closers and opens nothing: ``})(this);``, ``} while (x);`` go with the group above."""
    kept = [groups[0]]
    for group, following in _pairs(groups[1:]):
        opens = following is not None and following.depth > group.depth
        if not group.turn or group.several or opens:
            kept.append(group)
    return kept


def _pairs(groups: Sequence[Group]) -> Iterator[tuple[Group, Group | None]]:
    return zip(groups, [*groups[1:], None])
