"""Syntax nodes to groups: runs of neighbouring nodes of which the first begins a line.

Code is cut at the first column of a line and nowhere else, while nodes begin and end where they please. So nodes that
begin in mid-line are joined to the node before them, and where no node of a level begins a line (``foo(function () {``)
all nodes of several lines are unfolded one level further, until some do. Nothing recurses, every node is unfolded at
most once, and a node on one line never is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Node = Any
"""A tree-sitter node, or a plugin's: ``type``, ``start_byte``, ``end_byte``, ``children``, ``is_named`` (optional)."""

_WORD = re.compile(rb"[\w\x80-\xff]")
_NEWLINE = re.compile(rb"\n")


class Lines:
    """``ends``: the positions of all newlines of a text in bytes, and one that is never reached."""

    __slots__ = ("ends", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.ends = [found.start() for found in _NEWLINE.finditer(raw)]
        self.ends.append(len(raw) + 1)

    def start(self, at: int) -> int:
        """Where the line of byte ``at`` begins."""
        line = bisect_left(self.ends, at)
        return self.ends[line - 1] + 1 if line else 0

    def number(self, at: int) -> int:
        """The line of byte ``at``, counted from 1."""
        return bisect_left(self.ends, at) + 1

    def several(self, start: int, end: int) -> bool:
        """Whether ``[start, end)`` reaches over more than one line."""
        return self.ends[bisect_left(self.ends, start)] < end - 1


class Group:
    """Neighbouring nodes; ``start`` is the first column of a line (bytes), ``end`` the end of the last node.

    ``depth``: levels below what was unfolded, 0 for what begins where that begins. ``blank``: a blank line precedes.
    ``several``: some node in it reaches over several lines, so that the group can be unfolded in turn. ``turn``: it
    begins with what closes the group before (``} else {``).
    """

    __slots__ = ("blank", "depth", "end", "nodes", "several", "start", "turn")

    def __init__(self, start: int, depth: int, blank: bool) -> None:
        self.start = start
        self.end = start
        self.depth = depth
        self.blank = blank
        self.several = False
        self.turn = False
        self.nodes: list[Node] = []

    def add(self, piece: _Piece) -> None:
        self.nodes.append(piece.node)
        self.end = max(self.end, piece.end)
        self.depth = min(self.depth, piece.depth)
        self.several = self.several or piece.several

    def close(self, closers: list[_Piece]) -> None:
        """End with ``closers``, and leave the list empty."""
        if closers:
            self.end = max(self.end, closers[-1].end)
            closers.clear()

    def is_token(self) -> bool:
        """Whether it is punctuation and keywords alone: ``{``, ``then``."""
        return not self.several and not any(getattr(node, "is_named", True) for node in self.nodes)


class _Piece:
    """A node on its way into a group. ``at``: start of the line it begins, or -1; ``last``: of its siblings."""

    __slots__ = ("at", "blank", "depth", "end", "kids", "last", "node", "several")

    def __init__(self, node: Node, end: int, depth: int, at: int, blank: bool, several: bool, last: bool) -> None:
        self.node = node
        self.end = end
        self.depth = depth
        self.at = at
        self.blank = blank
        self.several = several
        self.last = last
        self.kids: list[_Piece] | None = None


def unfold(nodes: Iterable[Node], lines: Lines, whole: Callable[[str], bool], start: int) -> list[Group]:
    """The groups inside ``nodes`` (siblings), all levels down to the first on which lines begin; one group if none do.

    ``whole``: tells the kinds that are not unfolded below the first level. ``start``: where the first group starts.
    """
    top = [_piece(node, lines) for node in nodes]
    frontier = [piece for piece in top if piece.several]
    seen: set[str] = set()
    found = False
    while frontier and not found:
        deeper: list[_Piece] = []
        for piece in frontier:
            seen.add(piece.node.type)
            found = _expand(piece, lines, deeper, found)
        frontier = [piece for piece in deeper if not whole(piece.node.type)]
    if found:
        _unroll(top[0], seen, lines)
    return _grouped(top, lines, start)


def level(node: Node, lines: Lines, start: int) -> list[Group]:
    """The groups among the children of ``node``, exactly one level down; the first starts at ``start``."""
    piece = _piece(node, lines)
    _expand(piece, lines, [], True)
    return _grouped([piece], lines, start)


def _piece(node: Node, lines: Lines) -> _Piece:
    end = node.end_byte
    return _Piece(node, end, 0, -1, False, lines.several(node.start_byte, end), False)


def _expand(piece: _Piece, lines: Lines, deeper: list[_Piece], found: bool) -> bool:
    """Give ``piece`` its kids, add those of several lines to ``deeper``; True if one (or ``found``) begins a line."""
    node = piece.node
    ends = lines.ends
    depth = piece.depth
    line = bisect_left(ends, node.start_byte)
    newline = ends[line]
    kids: list[_Piece] = []
    kid: _Piece | None = None
    for child in node.children:
        begin = child.start_byte
        end = child.end_byte
        at = -1
        blank = False
        if newline < begin:
            before = line
            line = bisect_left(ends, begin, line)
            newline = ends[line]
            at = ends[line - 1] + 1
            blank = line - before > 1
        several = newline < end - 1
        kid = _Piece(child, end, depth, at, blank, several, False)
        kids.append(kid)
        if several:
            deeper.append(kid)
            line = bisect_left(ends, end - 1, line)
            newline = ends[line]
        depth = piece.depth + 1
    if kid is None:
        piece.several = False  # a comment or string: there is nothing to unfold
        return found
    kid.last = True
    piece.kids = kids
    return found or any(kid.at >= 0 and not _closes(kid, lines.raw) for kid in kids)


def _unroll(piece: _Piece, seen: set[str], lines: Lines) -> None:
    """Go on at the left edge while it repeats the kinds above it: ``a.b().c()`` and ``a + b + c`` are one row, not a stair."""
    while piece.kids:
        piece = piece.kids[0]
    while piece.several and piece.node.type in seen:
        _expand(piece, lines, [], True)
        if not piece.kids:
            return
        piece = piece.kids[0]


def _closes(piece: _Piece, raw: bytes) -> bool:
    """Whether it only ends something: ``}``, ``);``, ``end``, closing quotes."""
    node = piece.node
    named = getattr(node, "is_named", True)
    if named and not piece.last:
        return False
    begin = node.start_byte
    if piece.end - begin <= 8 and _WORD.search(raw, begin, piece.end) is None:
        return raw[begin : begin + 1] not in (b"(", b"[", b"{", b"<")
    return piece.last and not named


def _grouped(top: Sequence[_Piece], lines: Lines, start: int) -> list[Group]:
    """Flatten the unfolded pieces. Closers on a line of their own end the group before; others belong to what follows."""
    raw = lines.raw
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
            group.close(closers)
            if _closes(piece, raw):
                closers.append(piece)
                continue
            if group.nodes:
                group = Group(piece.at, piece.depth, piece.blank)
                groups.append(group)
        elif closers:
            if _closes(piece, raw):
                closers.append(piece)
                continue
            if group.nodes:
                group = Group(closers[0].at, piece.depth, closers[0].blank)
                group.turn = True
                groups.append(group)
            closers.clear()
        group.add(piece)
    group.close(closers)
    return [*_without_ends(groups)]


def _without_ends(groups: Sequence[Group]) -> Iterator[Group]:
    """Join a group that begins with closers and opens nothing (``})(this);``, ``} while (x);``) to the one before."""
    kept = groups[0]
    for group, following in zip(groups[1:], [*groups[2:], None]):
        if group.turn and not group.several and (following is None or following.depth <= group.depth):
            kept.end = group.end
        else:
            yield kept
            kept = group
    yield kept
