"""Embeddings to strengths: where the topic changes, and how much a cut there is worth.

Prose is read as a row of units: sentences, a heading together with the one that follows it. Tables and code belong to
the unit before them. The windows on both sides of every gap are compared; where their similarity falls clearly below
that of the neighbourhood, clearly for this document, the topic changes. Structure has its say in two ways: a change
near the start of a section or block is taken to be there, and what encloses a change is parted from its own neighbours
at least as gladly as at the change, so a heading outweighs a topic.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from math import nan, sqrt
from typing import Any, NamedTuple

from omnichunk.errors import EmbeddingError
from omnichunk.finalize.boundaries import NEXT, PREVIOUS
from omnichunk.model.options import ChunkOptions
from omnichunk.model.span import Span, Strength
from omnichunk.source.breaks import sentence_ends
from omnichunk.structure.build import SpanTree

Embed = Callable[[list[str]], Any]
"""Texts to a NumPy array of rows of unit length."""

WORTH = 4.0  # of a clear change: more than any two chunks lose by being small, so it is a cut at every budget
LEAST = 0.15  # share of it for a change that is just one
# Standard deviations above the mean depth of the document. MiniLM, texts joined from six sources, windows of 3: topics of
# 6 to 12 sentences are found with F = 0.60 at 0.5 and 0.67 at 1, of 3 to 5 with 0.71 and 0.68.
CLEAR = 0.75
FLAT = 0.02  # depths below this are noise of the model
_DEAR = {Strength.SECTION: 1.5, Strength.BLOCK: 1.25}  # a change at a boundary of the structure counts for more
_DIGITS = 4  # of similarities: what differs less may differ between two machines
_ROWS = 256  # gaps whose windows are added up at once, in the cache of the processor
_NOTHING = 1e-9  # product of the lengths of two windows, one of which has only vectors that are zero
_SHORT = 40  # code points of a unit that counts in full; what says less tells less
_LONGEST = 2000  # code points of a unit that are embedded; models read no more
_PROSE = frozenset(
    ("document", "part", "section", "paragraph", "item", "quote", "element", "block", "text")
)  # with no spans inside
_NESTING = frozenset(("document", "part", "section", "list", "quote", "element", "block", "item", "run"))


class Unit(NamedTuple):
    """``[start, end)`` of the text, the least that a topic consists of.

    ``strength``: of the structure at its start, CODE_POINT where it is glued to what precedes. ``row``: units of the same
    are compared with each other; code in between begins another.
    """

    start: int
    end: int
    strength: Strength
    row: int


def shifts(tree: SpanTree, options: ChunkOptions, embed: Embed) -> dict[int, float]:
    """Positions where a cut is worth something because the topic changes, rising, with what it is worth.

    Code points of the text; worth up to ``WORTH``. Nothing is embedded where there are too few sentences to compare.
    Cost: linear in the text, beside ``embed``. Raises EmbeddingError, with the name of the source, for a splitter that
    does not split and for vectors that cannot be had.
    """
    reader = _Reader(tree, options.semantic_sentence_splitter)
    units = reader.read()
    if len(units) < 2 * options.semantic_min_sentences:
        return {}
    texts = [_shown(tree.text, unit) for unit in units]
    weights = [min(1.0, len(text) / _SHORT) for text in texts]
    try:
        rows = embed(texts)
    except EmbeddingError as error:
        raise EmbeddingError(f"{tree.name}: {error}") from error
    similar = _similarities(rows, weights, units, options.semantic_window)
    found: dict[int, float] = {}
    for at, worth in _chosen(units, similar, options):
        found[units[at].start] = worth
    return _enclosed(found, reader.sections)


def _shown(text: str, unit: Unit) -> str:
    return " ".join(text[unit.start : min(unit.end, unit.start + _LONGEST)].split())


class _Reader:
    """Reads the units of a tree in order, and ``sections``: where sections begin and end, outer before inner."""

    def __init__(self, tree: SpanTree, splitter: Callable[[str], Any] | None) -> None:
        self._tree = tree
        self._split = splitter
        self._languages = {name: language.kind for name, language in tree.registry.languages().items()}
        self._units: list[Unit] = []
        self.sections: list[tuple[int, int]] = []
        self._row = 0
        self._heading = -1  # start of a heading that waits for what follows it
        self._glued = False

    def read(self) -> list[Unit]:
        """All units. Opens what encloses prose, and nothing else."""
        tree = self._tree
        stack: list[tuple[Span, int, int, str]] = [(tree.root, tree.mark, len(tree.text), tree.language)]
        while stack:
            span, start, end, language = stack.pop()
            if span.kind == "part" and span.detail is not None:
                language = span.detail.language
            if self._languages.get(language, "prose") not in ("prose", "markup"):
                self._headed(start)
                self._row += 1
                continue
            if span.kind == "section":
                self.sections.append((start, end))
            self._glued |= int(span.glue) & PREVIOUS != 0
            children = tree.open(span) if span.kind in _NESTING else ()
            if children:
                edges = [start, *(child.start for child in children[1:]), end]
                stack += [(c, edges[i], edges[i + 1], language) for i, c in reversed([*enumerate(children)])]
                continue
            if span.kind == "heading":
                self._heading = start if self._heading < 0 else self._heading
            elif span.kind in _PROSE:
                self._prose(start, end, span.strength)
            else:
                self._headed(start)
            self._glued = int(span.glue) & NEXT != 0
        self._headed(len(tree.text))
        return self._units

    def _headed(self, end: int) -> None:
        """What waits for prose, and has none, is a unit by itself."""
        if self._heading >= 0:
            self._units.append(Unit(self._heading, end, Strength.SECTION, self._row))
            self._heading = -1

    def _prose(self, start: int, stop: int, strength: Strength) -> None:
        text = self._tree.text
        for begin, end in pairwise([start, *self._ends(start, stop)]):
            if self._heading >= 0:
                begin, strength, self._heading, self._glued = self._heading, Strength.SECTION, -1, False
            piece = text[begin:end]
            content = piece.rstrip()
            if content:
                self._units.append(Unit(begin, end, Strength.CODE_POINT if self._glued else strength, self._row))
                self._glued = False
            strength = Strength.BLOCK if piece.count("\n", len(content)) > 1 else Strength.SENTENCE

    def _ends(self, start: int, end: int) -> Iterator[int]:
        """The ends of the sentences of ``[start, end)``; what is between two belongs to the earlier one."""
        text = self._tree.text
        if self._split is None:
            yield from sentence_ends(text, start, end)
            return
        at = start
        for sentence in self._split(text[start:end]):
            found = text.find(sentence, at, end) if isinstance(sentence, str) else -1
            if found < 0:
                raise EmbeddingError(
                    f"{self._tree.name}: semantic_sentence_splitter gave {sentence!r:.60}, which does not follow in the text "
                    "it was given; sentences are needed in order and verbatim."
                )
            if at > start and sentence and not sentence.isspace():
                yield found
            at = found + len(sentence)
        yield end


def _similarities(rows: Any, weights: Sequence[float], units: Sequence[Unit], window: int) -> list[float]:
    """Cosine similarity of up to ``window`` units before each unit and as many from it on; NaN before the first of a row.

    ``rows``, ``weights``: of the units.
    """
    np = import_module("numpy")
    similar = np.full(len(units), np.nan)
    shares = np.array(weights)[:, np.newaxis]
    numbers = np.array([unit.row for unit in units])
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(units)]
    for first, last in pairwise(edges):
        width = min(window, last - first)
        step = max(_ROWS, width)
        for start in range(first + 1, last, step):
            stop = min(start + step, last)
            low, high = max(first, start - width), min(last, stop + width)
            # Running sums; before and after all there is they stay the same, so that windows end there.
            sums = np.empty((2 * width + high - low + 1, rows.shape[1]))
            inner = slice(width + 1, width + 1 + high - low)
            sums[: inner.start] = 0
            np.multiply(rows[low:high], shares[low:high], out=sums[inner])
            np.cumsum(sums[inner], axis=0, out=sums[inner])
            sums[inner.stop :] = sums[inner.stop - 1]
            windows = sums[width:] - sums[:-width]
            lengths = np.sqrt(np.einsum("ij,ij->i", windows, windows))
            before, after = slice(start - low, stop - low), slice(start - low + width, stop - low + width)
            products = lengths[before] * lengths[after]
            # Where a side says nothing (zero vectors) there is no reason to see a change.
            cosine = np.where(
                products > _NOTHING,
                np.einsum("ij,ij->i", windows[before], windows[after]) / np.maximum(products, _NOTHING),
                1.0,
            )
            similar[start:stop] = np.round(cosine, _DIGITS)
    found: list[float] = similar.tolist()
    return found


def _depths(similar: Sequence[float]) -> list[float]:
    """How far each similarity lies below the peaks on both sides, which are where it stops rising; 0 before a first unit.

    A side without a gap counts as high as the other one.
    """
    count = len(similar)
    peaks = []
    for order in (range(count), range(count - 1, -1, -1)):
        peak, last, before = [0.0] * count, 0, nan
        for i in order:
            here = similar[i]
            peak[i] = peak[last] if before >= here else here
            last, before = i, here
        peaks.append(peak)
    depths = [0.0] * count
    for i, (here, left, right) in enumerate(zip(similar, *peaks)):
        if here == here:
            if similar[i - 1] != similar[i - 1]:
                left = right
            elif i + 1 == count or similar[i + 1] != similar[i + 1]:
                right = left
            depths[i] = left + right - 2 * here
    return depths


def _chosen(units: Sequence[Unit], similar: Sequence[float], options: ChunkOptions) -> Iterator[tuple[int, float]]:
    """The units before which the topic changes, with what a cut there is worth."""
    gaps = [i for i, value in enumerate(similar) if value == value]
    if not gaps:
        return
    if options.semantic_threshold is None:
        depths = _depths(similar)
        mean = sum(depths[i] for i in gaps) / len(gaps)
        spread = sqrt(sum((depths[i] - mean) ** 2 for i in gaps) / len(gaps))
        limit = max(FLAT, mean + CLEAR * spread)
    else:
        depths = [1 - value for value in similar]
        limit = 1 - options.semantic_threshold
    scores = _settled({i: depths[i] * _DEAR.get(units[i].strength, 1.0) for i in gaps if units[i].strength}, units)
    least = options.semantic_min_sentences
    edges = [0, *(i for i, value in enumerate(similar) if value != value and i), len(units)]
    taken = edges if least > 1 else []
    chosen = []
    for i in sorted((i for i in scores if scores[i] > limit), key=lambda i: (-scores[i], i)):
        at = bisect_left(taken, i)
        if (at == 0 or i - taken[at - 1] >= least) and (at == len(taken) or taken[at] - i >= least):
            insort(taken, i)
            chosen.append(i)
    if options.semantic_threshold is not None:
        yield from ((i, WORTH) for i in chosen)
    elif chosen:
        usual = sum(scores[i] for i in chosen) / len(chosen)
        for i in chosen:
            clear = (scores[i] - limit) / (usual - limit)
            yield i, WORTH * min(1.0, LEAST + (1 - LEAST) * clear)


def _settled(scores: dict[int, float], units: Sequence[Unit]) -> dict[int, float]:
    """``scores`` where a change that would cut a single sentence off a block is one at the edge of that block."""
    settled = dict(scores)
    for i, score in scores.items():
        edges = [j for j in (i + 1, i - 1) if j in scores and units[j].strength >= Strength.BLOCK]
        if edges and units[i].strength < Strength.BLOCK:
            edge = max(edges, key=lambda j: scores[j])
            settled[edge] = max(settled[edge], score)
            del settled[i]
    return settled


def _enclosed(found: dict[int, float], sections: Sequence[tuple[int, int]]) -> dict[int, float]:
    """``found`` with both edges of each section around a change worth at least as much as the change, rising.

    Otherwise a section could be parted at a topic, and what is left of it share a chunk with its neighbour.
    """
    worth = dict(found)
    events = [(start, i, end) for i, (start, end) in enumerate(sections)]
    events += [(at, -1, 0) for at in found]
    inside: list[tuple[int, float]] = []  # what has been passed: positions, and the most a change there is worth
    for start, i, end in sorted(events, reverse=True):
        most = found[start] if i < 0 else 0.0
        while i >= 0 and inside and inside[-1][0] < end:
            most = max(most, inside.pop()[1])
        if most:
            inside.append((start, most))
            for edge in (start, end) if i >= 0 else ():
                worth[edge] = max(worth.get(edge, 0.0), most)
    return dict(sorted(worth.items()))
