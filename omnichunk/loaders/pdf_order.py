"""Reading order of a page.

The content stream is trusted as far as it can be read as one: it names columns more surely than geometry does. It is cut
where it jumps (a footer written first, a header last) and the pieces are put in place. Where it is no order at all, as
in pages written line by line over two columns, lines are sorted by columns that white space divides.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import groupby

from omnichunk.loaders.pdf_text import CELL_GAP, Cell, Line

CHAINS = 200
"""Pieces of a page that are put in place one by one; beyond that the order of the stream stands."""
APART = 6
"""Ems between two lines above which something that comes later in the stream may stand between them."""
BINS = 200
"""Vertical strips of a page in which the search for a gutter counts lines."""
PROSE = 18
"""Mean characters of a line above which two pieces side by side are columns of prose and no cells of a table."""


@dataclass(slots=True)
class _Chain:
    """Lines that follow one another on the page as they do in the stream."""

    lines: list[Line]
    top: float
    bottom: float
    left: float
    right: float
    footer: bool = False

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self.left, self.right = min(self.left, line.u0), max(self.right, line.u1)
        self.top, self.bottom = min(self.top, line.v), max(self.bottom, line.v)

    def above(self, other: _Chain) -> bool:
        """Whether all of it stands over ``other``, in the same column; a footer has no column."""
        if self.bottom > other.top + 0.5 * other.lines[0].size:
            return False
        return other.footer or (self.left < other.right and other.left < self.right)


def in_order(lines: list[Line]) -> list[Line]:
    """The lines of a page as a reader takes them: the main direction of the text first, others after it."""
    turns: dict[int, list[Line]] = {}
    for line in lines:
        turns.setdefault(line.turn, []).append(line)
    ordered: list[Line] = []
    for same in sorted(turns.values(), key=lambda lines: -sum(len(line.text) for line in lines)):
        ordered += _ordered(_rows(same))
    return ordered


def _rows(lines: list[Line]) -> list[Line]:
    """``lines`` with those that follow one another on one baseline, apart as cells are, made one: some writers show each
    cell of a table by itself.
    """
    rows: list[list[Line]] = []
    for line in lines:
        last = rows[-1][-1] if rows else line
        size = max(last.size, line.size)
        if rows and abs(line.v - last.v) < 0.2 * size and line.u0 - last.u1 > CELL_GAP * size:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [_row(row) if len(row) > 1 else row[0] for row in rows]


def _row(row: list[Line]) -> Line:
    cells = tuple(cell for line in row for cell in line.cells or (Cell(line.u0, line.u1, line.text),))
    main = max(row, key=lambda line: len(line.text))
    return replace(
        main,
        text=" ".join([line.text for line in row]),
        u0=row[0].u0,
        u1=row[-1].u1,
        bold=all(line.bold for line in row),
        cells=cells,
        spaced=row[-1].spaced,
    )


def _ordered(lines: list[Line]) -> list[Line]:
    chains = _chains(lines)
    divided = sum(1 for line in lines if line.cells)
    if divided * 2 > len(lines) or (len(chains) > 12 and len(chains) * 2 > len(lines)):
        columns = _by_columns(lines)
        if columns is not None:
            return columns
    if len(chains) > CHAINS:
        return lines
    top, bottom = min(chain.top for chain in chains), max(chain.bottom for chain in chains)
    for chain in chains:
        chain.footer = len(chain.lines) < 3 and chain.top > bottom - 0.08 * (bottom - top)
    placed: list[_Chain] = []
    for chain in chains:
        later = (i for i, other in enumerate(placed) if chain.above(other))
        placed.insert(next(later, len(placed)), chain)
    return [line for chain in placed for line in chain.lines]


def _chains(lines: list[Line]) -> list[_Chain]:
    chains: list[_Chain] = []
    last: Line | None = None
    for line in lines:
        if last is None or not _follows(last, line, chains[-1]):
            chains.append(_Chain([], line.v, line.v, line.u0, line.u1))
        chains[-1].add(line)
        last = line
    return chains


def _follows(last: Line, line: Line, chain: _Chain) -> bool:
    """Whether ``line`` stands close below ``last``, beside it, or at the head of a column to its right."""
    size = max(last.size, line.size)
    slack = 0.8 * size
    if line.v >= last.v - slack:
        return line.v < last.v + APART * size
    return line.u0 > last.u0 + slack and line.v >= chain.top - slack


def _by_columns(lines: list[Line]) -> list[Line] | None:
    """The lines sorted by columns of prose, or ``None`` when no gutter divides them."""
    pieces: list[Line] = []
    for line in lines:
        pieces += [replace(line, text=c.text, u0=c.u0, u1=c.u1, cells=()) for c in line.cells] or [line]
    gutters = _gutters(pieces)
    if not gutters:
        return None
    columns: list[list[Line]] = [[] for _ in range(len(gutters) + 1)]
    spanning = []
    for piece in pieces:
        crossed = [g for g in gutters if piece.u0 < g < piece.u1]
        if crossed:
            spanning.append(piece)
        else:
            columns[sum(g <= piece.u0 for g in gutters)].append(piece)
    if any(len(column) < 5 or sum(len(p.text) for p in column) < PROSE * len(column) for column in columns):
        return None
    # A line over several columns ends what stands above it in all of them.
    breaks = sorted(piece.v for piece in spanning)
    keyed = [(_above(breaks, piece.v), 0, piece.v, piece.u0, i, piece) for i, piece in enumerate(spanning)]
    for n, column in enumerate(columns, 1):
        keyed += [(_above(breaks, piece.v - 0.1), n, piece.v, piece.u0, i, piece) for i, piece in enumerate(column)]
    keyed.sort(key=lambda key: key[:5])
    return [key[-1] for key in keyed]


def _above(breaks: list[float], v: float) -> int:
    return bisect_right(breaks, v)


def _gutters(pieces: list[Line]) -> list[float]:
    """The middle of every strip that few lines cross while many stand on both sides of it."""
    left, right = min(p.u0 for p in pieces), max(p.u1 for p in pieces)
    step = (right - left) / BINS
    if step <= 0:
        return []
    change = [0] * (BINS + 2)
    for piece in pieces:
        # Right ends are estimates, hence the last twentieth of a line does not count.
        end = piece.u1 - 0.05 * (piece.u1 - piece.u0)
        change[int((piece.u0 - left) / step)] += 1
        change[min(BINS, int((end - left) / step)) + 1] -= 1
    covered, cover = [], 0
    for delta in change[:BINS]:
        cover += delta
        covered.append(cover)
    few = max(1, max(covered) // 8)
    gutters, at = [], 0
    for free, bins in groupby(covered, key=lambda cover: cover <= few):
        width = len(list(bins))
        if free and at > BINS // 8 and at + width < BINS - BINS // 8:
            gutters.append(left + (at + width / 2) * step)
        at += width
    return gutters if len(gutters) < 4 else []
