"""The text of a document as it grows, with a segment for each position and the blocks that are open."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from omnichunk.model.document import Block, FormatSegment


class Writer:
    """Gathers units: paragraphs, items, rows. Each ends its line; a blank line stands between those that are not tight.

    Offsets are code points of the finished text.
    """

    def __init__(self) -> None:
        self.at = 0
        self._parts: list[str] = []
        self._starts: list[int] = []
        self._positions: list[Mapping[str, object]] = []
        self._blocks: list[Block] = []
        self._open: list[tuple[int, Block, int]] = []  # place among the blocks, the block, its depth

    def inside(self, kind: str) -> bool:
        """Whether a block of this kind is open at the outermost level."""
        return bool(self._open) and self._open[0][1].kind == kind

    def space(self) -> None:
        """A blank line, unless nothing is written yet."""
        if self.at:
            self._parts.append("\n")
            self.at += 1

    def unit(self, text: str, position: Mapping[str, object]) -> tuple[int, int]:
        """Write ``text`` and end its line; its range."""
        start = self.at
        if not self._positions or position is not self._positions[-1]:
            self._starts.append(start)
            self._positions.append(position)
        self._parts.append(text)
        self._parts.append("\n")
        self.at += len(text) + 1
        return start, self.at

    def block(self, start: int, end: int, kind: str, level: int = 0) -> None:
        """A finished block."""
        self._blocks.append(Block(start, end, kind, level))

    def open(self, kind: str, depth: int, name: str = "", header: int = 0) -> None:
        """Open a block here that lasts until ``close``; ``header``: length of a table's header."""
        block = Block(self.at, self.at + 1, kind, name=name, header=(self.at, self.at + header) if header else None)
        self._open.append((len(self._blocks), block, depth))
        self._blocks.append(block)

    def close(self, depth: int = 0) -> None:
        """Close the open blocks of this depth and all deeper ones here."""
        while self._open and self._open[-1][2] >= depth:
            place, block, _ = self._open.pop()
            self._blocks[place] = Block(block.char_start, self.at, block.kind, name=block.name, header=block.header)

    def finished(self) -> tuple[str, tuple[FormatSegment, ...], tuple[Block, ...]]:
        """Text, segments and blocks; a segment goes on to the next."""
        self.close()
        edges = pairwise([*self._starts, self.at])
        segments = tuple(FormatSegment(a, b, "prose", p) for (a, b), p in zip(edges, self._positions))
        return "".join(self._parts), segments, tuple(self._blocks)
