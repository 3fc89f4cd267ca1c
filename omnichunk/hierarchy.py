"""Chunks of several sizes as one tree: small ones to find, the larger ones around them to read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from omnichunk.errors import OptionError
from omnichunk.model.chunk import Chunk
from omnichunk.model.ids import stable_chunk_id


@dataclass(frozen=True, slots=True)
class ChunkNode:
    """A chunk at its place in a tree. ``level``: 0 is the finest. ``id``: ``stable_chunk_id`` of the chunk.

    ``parent``: id of the chunk around it on the next level, ``None`` at the top. ``children``: ids of those in it. Where a
    chunk is no larger than its child both have one text, and so one id.
    """

    chunk: Chunk
    level: int
    id: str
    parent: str | None
    children: tuple[str, ...]


class ChunkTree:
    """The chunks of one source at several sizes, each inside one of the next larger size.

    ``sizes``: maxima of the levels, the finest first. Chunks are found by what they are, so those that were stored and
    read again serve as well.
    """

    def __init__(self, sizes: Sequence[int], levels: Sequence[Sequence[Chunk]]) -> None:
        self.sizes = tuple(sizes)
        self._levels = [tuple(level) for level in levels]
        self._starts = [[chunk.byte_range.start for chunk in level] for level in self._levels]
        self._nodes: tuple[ChunkNode, ...] | None = None
        self._by_id: dict[str, Chunk] | None = None

    @property
    def level_count(self) -> int:
        """How many levels there are."""
        return len(self._levels)

    @property
    def nodes(self) -> tuple[ChunkNode, ...]:
        """All chunks with their ids, from the largest to the finest, each level in the order of the source."""
        if self._nodes is None:
            ids = [[stable_chunk_id(chunk) for chunk in level] for level in self._levels]
            self._nodes = tuple(
                ChunkNode(
                    chunk,
                    level,
                    ids[level][i],
                    ids[level + 1][self._inside(level + 1, chunk)] if level + 1 < self.level_count else None,
                    tuple(ids[level - 1][slice(*self._within(level - 1, chunk))]) if level else (),
                )
                for level in range(self.level_count - 1, -1, -1)
                for i, chunk in enumerate(self._levels[level])
            )
        return self._nodes

    def at_level(self, level: int) -> list[Chunk]:
        """The chunks of a level, 0 the finest. Raises IndexError for one that is not there."""
        if not 0 <= level < self.level_count:
            raise IndexError(f"level {level}; this tree has {self.level_count}, counted from 0.")
        return list(self._levels[level])

    def leaves(self) -> list[Chunk]:
        """The chunks of the finest level."""
        return self.at_level(0)

    def roots(self) -> list[Chunk]:
        """The chunks of the largest size."""
        return self.at_level(self.level_count - 1)

    def parent(self, chunk: Chunk) -> Chunk | None:
        """The chunk of the next larger size around ``chunk``; ``None`` for a root."""
        return next(iter(self.ancestors(chunk)), None)

    def ancestors(self, chunk: Chunk) -> list[Chunk]:
        """The chunks around ``chunk``, the closest first."""
        above = range(self._level(chunk) + 1, self.level_count)
        return [self._levels[level][self._inside(level, chunk)] for level in above]

    def children(self, chunk: Chunk) -> list[Chunk]:
        """The chunks of the next smaller size in ``chunk``; none for a leaf."""
        level = self._level(chunk) - 1
        return list(self._levels[level][slice(*self._within(level, chunk))]) if level >= 0 else []

    def get(self, chunk_id: str) -> Chunk | None:
        """The chunk with a stable id, the largest where several sizes share it, or ``None``."""
        if self._by_id is None:
            self._by_id = {node.id: node.chunk for node in reversed(self.nodes)}
        return self._by_id.get(chunk_id)

    def merged(self, found: Iterable[Chunk], share: float = 0.5) -> list[Chunk]:
        """``found`` with every parent in place of its children once at least ``share`` of its text is found, level by level.

        For retrieval from small to big: search among the leaves, read what this gives. In the order of the source,
        each part of it once. Raises OptionError unless ``share`` is above 0 and at most 1.
        """
        if type(share) not in (int, float) or not 0 < share <= 1:
            raise OptionError(f"merged(): share={share!r}; a number above 0 and up to 1 is needed.")
        chosen: list[set[int]] = [set() for _ in self._levels]
        for chunk in found:
            chosen[self._level(chunk)].add(chunk.index)
        for level in range(self.level_count - 1):
            larger = self._levels[level + 1]
            held: dict[int, int] = {}
            for i in chosen[level]:
                chunk = self._levels[level][i]
                above = self._inside(level + 1, chunk)
                held[above] = held.get(above, 0) + chunk.nws_count
            chosen[level + 1] |= {i for i, size in held.items() if size >= share * larger[i].nws_count}
        kept: list[Chunk] = []
        for level, indices in enumerate(chosen):
            for i in indices:
                chunk = self._levels[level][i]
                higher = range(level + 1, self.level_count)
                if not any(self._inside(above, chunk) in chosen[above] for above in higher):
                    kept.append(chunk)
        return sorted(kept, key=lambda chunk: chunk.byte_range)

    def _level(self, chunk: Chunk) -> int:
        """The level of ``chunk``, which its budget tells. Raises ValueError for a chunk of another tree."""
        budget = chunk.metadata["budget"]["limit"]
        if budget in self.sizes:
            level = self.sizes.index(budget)
            mine = self._levels[level]
            if chunk.index < len(mine) and mine[chunk.index].byte_range == chunk.byte_range:
                return level
        raise ValueError(f"chunk {chunk.index} of {chunk.context.filepath!r} is none of this tree.")

    def _inside(self, level: int, chunk: Chunk) -> int:
        """Index of the chunk of ``level`` that ``chunk``, of a finer one, lies in."""
        return bisect_right(self._starts[level], chunk.byte_range.start) - 1

    def _within(self, level: int, chunk: Chunk) -> tuple[int, int]:
        """Indices, half open, of the chunks of ``level`` that lie in ``chunk``, of a coarser one."""
        starts = self._starts[level]
        begin, end = chunk.byte_range
        return bisect_right(starts, begin - 1), bisect_right(starts, end - 1)


def checked_levels(levels: object) -> tuple[int, ...]:
    """``levels`` as a tuple. Raises OptionError unless they are two or more sizes, each larger than the one before."""
    sizes = tuple(levels) if isinstance(levels, Sequence) and not isinstance(levels, (str, bytes)) else ()
    if len(sizes) < 2 or any(type(size) is not int or size < 1 for size in sizes) or list(sizes) != sorted({*sizes}):
        raise OptionError(
            f"hierarchical_chunk(): levels={levels!r:.80}; two or more sizes are needed, each larger than the one before."
        )
    return sizes
