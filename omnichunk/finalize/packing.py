"""Atoms and a budget to ranges: which atoms share a chunk.

A small dynamic programme over the atoms of a window. Its cost: squared distance of a chunk's size to the target, the
price of the cut after it, a price a chunk. The budget is kept by counting: a range is rendered and counted before it
is accepted, and the plan is mended where an estimate was wrong.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from types import MappingProxyType
from zlib import crc32

from omnichunk.finalize.boundaries import RUN, SOFT, Atom, Boundaries
from omnichunk.finalize.gauge import Gauge
from omnichunk.finalize.render import Fitter, Headers, Payload
from omnichunk.model.options import ChunkOptions
from omnichunk.model.span import Strength

_PRICE = {
    Strength.PART: 0.0,
    Strength.SECTION: 0.02,
    Strength.BLOCK: 0.12,
    Strength.ITEM: 0.2,
    Strength.LINE: 0.3,
    Strength.SENTENCE: 0.35,
    Strength.CLAUSE: 0.6,
    Strength.WORD: 0.8,
    Strength.CLUSTER: 1.2,
    Strength.CODE_POINT: 2.0,
}
_PRICES = [_PRICE[strength] for strength in sorted(Strength)]
_DEPTH = 0.015  # a level further down in the tree
_DEEP = 12  # levels that are told apart
_SEEN = 72  # code points after a cut that give it a taste of its own
_TASTE = 0.8 / (1 << 32)  # how much it may cost: cuts settle on the same lines after an edit elsewhere
_CHUNK = 0.06  # a chunk more
_BRIM = 0.9  # above this share of the budget a chunk is nearly full, and the next edit would move its end
_FULL = 0.6  # a chunk that is quite full
_TINY = 0.5  # a chunk below min_chunk_size
_AHEAD = 48  # budgets of text that are planned at once
_KEPT = 12  # of which this many are planned again with what follows


class Packer:
    """Packs the atoms of one document. ``worth``: what a cut at a position earns, beside what all cuts cost."""

    def __init__(
        self,
        boundaries: Boundaries,
        gauge: Gauge,
        headers: Headers,
        fitter: Fitter,
        options: ChunkOptions,
        worth: Mapping[int, float] = MappingProxyType({}),
    ) -> None:
        self._worth = worth
        self._boundaries = boundaries
        self._text = gauge.text
        self._at = gauge.at
        self._header = headers.at
        self._fit = fitter.fit
        self._budget = options.max_chunk_size
        self._minimum = options.min_chunk_size
        dense = max(0.0, options.target_fill - 0.65) / 0.35  # 0 by default, 1 where chunks are to be full
        self._taste = _TASTE * (1 - dense)
        target = options.max_chunk_size * options.target_fill
        self._target = max(1.0, target - min(options.overlap_size, target / 2))

    def payloads(self) -> Iterator[Payload]:
        """Rendered ranges that tile the text, in order, each within the budget."""
        window: list[Atom] = []
        ahead = self._budget * _AHEAD
        at = self._at
        for atom in self._boundaries.atoms():
            if window:
                if atom.barrier:
                    if atom.barrier == SOFT and self._is_crumb(window, atom):
                        window = [window[0]._replace(end=atom.end, parts=(*window, atom._replace(barrier=0)))]
                        continue
                    yield from self._emit(window, 0)
                    window = []
                elif at(atom.end) - at(window[0].start) > ahead:
                    window = yield from self._emit(window, self._budget * _KEPT)
            window.append(atom)
        if window:
            yield from self._emit(window, 0)

    def _is_crumb(self, window: list[Atom], atom: Atom) -> bool:
        """Whether ``window`` is too little for a chunk and fits into that of the definition ``atom``."""
        begin, place = window[0].start, window[0].place
        crumb = self._at(atom.start) - self._at(begin)
        joined = self._at(atom.end) - self._at(begin) + self._header(place).room
        return crumb <= max(self._minimum, self._budget / RUN) and joined <= self._budget

    def _emit(self, atoms: list[Atom], keep: float) -> Generator[Payload, None, list[Atom]]:
        """Pack ``atoms`` up to the last ``keep`` of them (in the unit of the budget), which are returned."""
        if len(atoms) == 1 and not keep:
            span, start, end, _, _, _, place, _, _, _, _ = atoms[0]
            fitted = self._fit(start, end, place, span, alone=True)
            if isinstance(fitted, Payload):
                yield fitted
                return []
        last = self._at(atoms[-1].end)
        i, ends = 0, self._plan(atoms)
        while i < len(atoms):
            first, j = atoms[i], ends[i]
            if keep and last - self._at(first.start) <= keep:
                break
            fitted = self._fit(first.start, atoms[j - 1].end, first.place, first.span, alone=j == i + 1)
            if isinstance(fitted, Payload):
                yield fitted
                i = j
            elif j > i + 1:
                ends[i] = self._shorter(atoms, i, j, fitted)
            else:
                parts = self._boundaries.divide(first, fitted)
                if len(parts) == 1:
                    yield self._kept(first)
                    i += 1
                else:
                    i, atoms = 0, [*parts, *atoms[i + 1 :]]
                    ends = self._plan(atoms)
        return atoms[i:]

    def _kept(self, atom: Atom) -> Payload:
        fitted = self._fit(atom.start, atom.end, atom.place, atom.span, alone=True, preserve=True)
        assert isinstance(fitted, Payload)
        return fitted

    def _shorter(self, atoms: list[Atom], i: int, j: int, excess: float) -> int:
        """An earlier end for a chunk from atom ``i`` that was counted ``excess`` times too large when it ended at ``j``."""
        start = self._at(atoms[i].start)
        most = (self._at(atoms[j - 1].end) - start) / excess
        while j > i + 2 and self._at(atoms[j - 2].end) - start > most:
            j -= 1
        return j - 1

    def _plan(self, atoms: list[Atom]) -> list[int]:
        """``ends[i]``: where the best chunk that starts with atom ``i`` ends, as an index into ``atoms``."""
        count = len(atoms)
        if count == 1:
            return [1]
        at, header = self._at, self._header
        text, taste, target = self._text, self._taste, self._target
        starts = [at(atom.start) for atom in atoms]
        starts.append(at(atoms[-1].end))
        rest = [
            _PRICES[strength]
            + _DEPTH * (depth if depth < _DEEP else _DEEP)
            + _CHUNK
            + crc32(text[start : start + _SEEN].encode()) * taste
            for _, start, _, strength, depth, _, _, _, _, _, _ in atoms
        ]
        if self._worth:
            rest = [price - self._worth.get(atom.start, 0.0) for price, atom in zip(rest, atoms)]
        rest.append(_CHUNK)  # prices, and once it is known the least that everything from atom j on costs
        ends = [0] * count
        budget, minimum = self._budget, self._minimum
        brim = budget * _BRIM if target < budget * _BRIM else budget
        last = top = count
        for i in range(count - 1, -1, -1):
            shift = starts[i] - header(atoms[i].place).room
            while top < last and starts[top + 1] - shift <= budget:
                top += 1
            while starts[top] - shift > budget and top > i + 1:
                top -= 1
            low = min(rest[i + 1 : top + 1])
            least, j = float("inf"), top
            while j > i:
                size = starts[j] - shift
                distance = (size - target) / target
                distance *= distance
                if size < target and distance + low > least:
                    break  # what is shorter still costs more
                cost = rest[j] + distance
                if size < minimum:
                    cost += _TINY
                elif brim < size < budget:
                    cost += _FULL * (size - brim) / (budget - brim)
                if cost <= least:
                    least, ends[i] = cost, j
                j -= 1
            rest[i] += least
            if atoms[i].barrier:
                last = top = i
        return ends
