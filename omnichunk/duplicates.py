"""Chunks that say the same: equal texts, and texts that share most of their words.

Near-duplicates are looked for with MinHash (rensa): each text has a signature, and texts whose signatures agree in one
of several bands are candidates. Every pair that is reported has been compared itself, so its similarity is exact.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from omnichunk.errors import OptionError, missing
from omnichunk.model.chunk import Chunk
from omnichunk.source.words import WORD

SHINGLE = 3
"""Words in a row that are one element of the set a text is compared by."""
PERMUTATIONS, SEED = 128, 1
FOUND = 0.99
"""Least share of the pairs at the threshold that become candidates; above it, more do."""
CROWD = 4
"""Most texts that a band remembers under one value, and most candidates that a text is compared with."""
LEAST = 0.1
BATCH = 512

Sign = Callable[[list[list[str]]], list[list[int]]]


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """A chunk and those that repeat it, in the order given; ``similarities``: of each of ``copies`` to ``kept``."""

    kept: Chunk
    copies: tuple[Chunk, ...]
    similarities: tuple[float, ...]


class _Match(NamedTuple):
    """A chunk, and the earlier one it repeats, if any, by its place among those that repeat none."""

    chunk: Chunk
    of: int | None = None
    similarity: float = 1.0


def find_duplicates(chunks: Iterable[Chunk], threshold: float = 1.0) -> tuple[DuplicateGroup, ...]:
    """Groups of chunks that repeat each other, in the order of their first ones; chunks that are alone are in none.

    A chunk repeats the most similar earlier one that repeats none itself (the first of equals), so every copy is that
    similar to ``kept``, and groups do not grow by chains. ``threshold`` 1.0: only equal ``text`` counts. Below, down to
    ``LEAST``: similarity is the number of runs of ``SHINGLE`` words that two texts have in common, divided by the
    number of those that either has (Jaccard), each counted once; a shorter text is one run. White space is not compared,
    so texts that differ in nothing else have 1.0. Context is never compared.

    Of pairs at the threshold about one in a hundred is missed, of those above fewer; none below is reported. The result
    is the same in every run. Cost: linear in the text; memory: the texts, and near-duplicates about 4 kB for each that
    repeats none. Raises OptionError for a threshold that cannot work, MissingDependencyError below 1.0 without rensa.
    """
    kept: list[Chunk] = []
    copies: dict[int, list[_Match]] = {}
    for match in _matches("find_duplicates()", chunks, threshold):
        if match.of is None:
            kept.append(match.chunk)
        else:
            copies.setdefault(match.of, []).append(match)
    return tuple(
        DuplicateGroup(kept[i], tuple(m.chunk for m in found), tuple(m.similarity for m in found))
        for i, found in sorted(copies.items())
    )


def without_duplicates(chunks: Iterable[Chunk], threshold: float = 1.0) -> list[Chunk]:
    """The chunks without those that repeat an earlier one; see ``find_duplicates``."""
    return [m.chunk for m in _matches("without_duplicates()", chunks, threshold) if m.of is None]


def _matches(where: str, chunks: Iterable[Chunk], threshold: float) -> Iterator[_Match]:
    """Every chunk with the earlier one it repeats. Checks the threshold at once."""
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not LEAST <= threshold <= 1:
        raise OptionError(f"{where}: threshold={threshold!r}; a number from {LEAST} to 1.0 is needed.")
    return _near(iter(chunks), threshold, _signer(where)) if threshold < 1 else _equal(chunks)


def _equal(chunks: Iterable[Chunk]) -> Iterator[_Match]:
    first: dict[str, int] = {}
    for chunk in chunks:
        of = first.get(chunk.text)
        if of is None:
            first[chunk.text] = len(first)
        yield _Match(chunk, of)


def _signer(where: str) -> Sign:
    try:
        from rensa import RMinHash
    except ImportError:
        raise missing(f"{where}: a threshold below 1.0", "rensa", "duplicates") from None

    def sign(sets: list[list[str]]) -> list[list[int]]:
        signatures: list[list[int]] = RMinHash.digests_from_token_sets(sets, PERMUTATIONS, SEED)
        return signatures

    return sign


def _near(chunks: Iterator[Chunk], threshold: float, sign: Sign) -> Iterator[_Match]:
    """Every chunk with the most similar one among those kept so far, batch by batch."""
    kept: list[str] = []
    place: dict[str, tuple[int, float]] = {}  # text -> which of those kept it repeats, or is, and how similar it is
    bands = _Bands(threshold)
    shingled = lru_cache(1024)(lambda i: frozenset(shingles(kept[i])))
    while batch := list(islice(chunks, BATCH)):
        new = dict.fromkeys(chunk.text for chunk in batch if chunk.text not in place)
        sets = [shingles(text) for text in new]
        signed = dict(zip(new, zip(sets, sign(sets))))
        for chunk in batch:
            known = place.get(chunk.text)
            if known is not None:
                yield _Match(chunk, *known)
                continue
            words, signature = signed[chunk.text]
            values = bands.values(signature)
            own = frozenset(words)
            found = [(similarity(own, shingled(i)), -i) for i in bands.candidates(values)] if own else []
            best, of = max(found, default=(0.0, 0))
            if best >= threshold:
                place[chunk.text] = -of, best
                yield _Match(chunk, -of, best)
                continue
            place[chunk.text] = len(kept), 1.0
            bands.add(values, len(kept))
            kept.append(chunk.text)
            yield _Match(chunk)


def shingles(text: str) -> list[str]:
    """The runs of ``SHINGLE`` words of a text; all its words if they are fewer; nothing if it has none."""
    words = WORD.findall(text)
    if len(words) < SHINGLE:
        return [" ".join(words)] if words else []
    return list(dict.fromkeys(map(" ".join, zip(*(words[i:] for i in range(SHINGLE))))))


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard: what two sets share, of what either has; 0.0 where neither has anything."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


class _Bands:
    """Which kept texts have the same values as a signature, band by band.

    A band remembers the first ``CROWD`` texts of a value: however many texts are alike, the cost of one stays the same.
    """

    def __init__(self, threshold: float) -> None:
        self._rows = rows_for(threshold)
        self._tables: list[dict[bytes, tuple[int, ...]]] = [{} for _ in range(PERMUTATIONS // self._rows)]

    def values(self, signature: Sequence[int]) -> list[bytes]:
        """The value of each band."""
        data, width = array("I", signature).tobytes(), array("I").itemsize * self._rows
        return [data[i * width : (i + 1) * width] for i in range(len(self._tables))]

    def candidates(self, values: list[bytes]) -> list[int]:
        """The texts that share most bands, ``CROWD`` at most."""
        shared = Counter(i for table, value in zip(self._tables, values) for i in table.get(value, ()))
        return [i for i, _ in shared.most_common(CROWD)]

    def add(self, values: list[bytes], text: int) -> None:
        """Remember a text."""
        for table, value in zip(self._tables, values):
            there = table.get(value, ())
            if len(there) < CROWD:
                table[value] = (*there, text)


def rows_for(threshold: float) -> int:
    """Most rows a band may have if ``FOUND`` of the pairs at ``threshold`` shall agree in one of the bands."""
    return max(r for r in range(1, PERMUTATIONS) if r == 1 or 1 - (1 - threshold**r) ** (PERMUTATIONS // r) >= FOUND)
