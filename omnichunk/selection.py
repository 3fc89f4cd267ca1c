"""What to put before a reader: the best chunks whose text together fits a budget, neighbours joined."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from omnichunk.errors import BudgetError, OptionError
from omnichunk.model.chunk import ByteRange
from omnichunk.model.document import SourceDescriptor
from omnichunk.model.options import SizeUnit, build
from omnichunk.registry import default_registry
from omnichunk.sizing import Sizer, make_sizer

if TYPE_CHECKING:
    from omnichunk.registry import PluginRegistry

ROUNDS = 3
"""How often the chunks are gone through: where sizes do not add up, room shows itself only when the whole is counted."""


class Slice(Protocol):
    """What is needed of a chunk; ``omnichunk.Chunk`` has it, and pieces of other splitters may."""

    @property
    def text(self) -> str: ...
    @property
    def contextualized_text(self) -> str: ...
    @property
    def byte_range(self) -> ByteRange: ...
    @property
    def source(self) -> SourceDescriptor: ...


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of selected chunks that touch or overlap, as one piece.

    ``text``: the exact slice of the source's canonical text at ``byte_range``; what several chunks share stands there
    once. ``rendered``: the same with the context of its first chunk. ``chunks``: in the order of the source.
    """

    source: SourceDescriptor
    byte_range: ByteRange
    text: str
    rendered: str
    chunks: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """What ``select_within_budget`` chose. ``text``: to be read; ``size``: a count of ``text`` in ``unit``."""

    text: str
    size: int
    budget: int
    unit: SizeUnit
    passages: tuple[Passage, ...] = ()

    @property
    def chunks(self) -> tuple[Any, ...]:
        """The selected chunks in the order of the text."""
        return tuple(chunk for passage in self.passages for chunk in passage.chunks)


def select_within_budget(
    chunks: Iterable[Slice],
    scores: Iterable[float],
    budget: int,
    *,
    size_unit: SizeUnit = "chars",
    tokenizer: Any = None,
    separator: str = "\n\n",
    registry: PluginRegistry | None = None,
) -> Selection:
    """The chunks of the highest ``scores`` whose text, rendered and joined, measures at most ``budget``.

    Chunks are taken by falling score, equal ones in the order given; one that does not fit is left out and the next is
    tried. Selected chunks of one source that touch or overlap become one `Passage`, rendered with the context of the
    first alone: the scopes of a later one are those of the first, or open in the text before it. Passages stand in the
    order of the source, sources in that of their best chunk, ``separator`` between them.

    ``size_unit``, ``tokenizer``: as in ``ChunkOptions``. Whatever the tokenizer, ``Selection.size`` is a count of the
    final text and never above the budget; the result depends on the arguments alone. Where sizes add up (``chars``,
    ``nws``) a chunk is left out only if it does not fit; with tokens a little room may stay unused. Raises OptionError
    for a number of scores that is not that of chunks, a score that is no number, and other values that cannot work.

    Cost: a sort, the size of every chunk counted at most ``ROUNDS`` times, and a few counts of the final text.
    """
    where = "select_within_budget()"
    if type(budget) is not int or budget < 0:
        raise OptionError(f"{where}: budget={budget!r}; a whole number of at least 0 is needed.")
    if not isinstance(separator, str):
        raise OptionError(f"{where}: separator={separator!r:.40}; a str is needed.")
    options = build(where, None, {"size_unit": size_unit, "tokenizer": tokenizer})
    sizer = make_sizer(options, (registry or default_registry()).tokenizers())
    candidates = _ranked(where, list(chunks), list(scores))
    text, passages = _Chooser(sizer, budget, separator).choose(candidates)
    size = sizer.count(text)
    if size > budget:
        raise BudgetError(f"{where}: the tokenizer finds {size} {sizer.unit} in an empty text; the budget is {budget}.")
    return Selection(text, size, budget, sizer.unit, passages)


class _Candidate:
    """A chunk, how many are better, and what its payload says before and after its text."""

    __slots__ = ("_bytes", "chunk", "end", "key", "prefix", "rank", "start", "suffix")

    def __init__(self, chunk: Slice, rank: int) -> None:
        self._bytes = b""
        self.chunk = chunk
        self.rank = rank
        self.start, self.end = chunk.byte_range
        self.key = (chunk.source.source_id, chunk.source.revision)
        before, found, after = chunk.contextualized_text.rpartition(chunk.text) if chunk.text else ("", "", "")
        self.prefix, self.suffix = (before, after) if found else ("", "")

    @property
    def order(self) -> tuple[int, int, int]:
        """By start, the longest first."""
        return self.start, -self.end, self.rank

    def part(self, start: int, end: int) -> str:
        """The text between two bytes of the source."""
        if start == self.start and end == self.end:
            return self.chunk.text
        self._bytes = self._bytes or self.chunk.text.encode()
        return self._bytes[start - self.start : end - self.start].decode()


class _Run(NamedTuple):
    """Selected text without a gap; ``first`` and ``last`` lend it prefix and suffix, of size ``frame``."""

    start: int
    end: int
    first: _Candidate
    last: _Candidate
    frame: int


def _ranked(where: str, chunks: list[Slice], scores: list[float]) -> list[_Candidate]:
    """The candidates by falling score. Raises OptionError for scores that are not one number for each chunk."""
    if len(chunks) != len(scores):
        raise OptionError(f"{where}: {len(scores)} scores for {len(chunks)} chunks; one for each is needed.")
    for i, score in enumerate(scores):
        try:
            unusable = isnan(score)
        except (TypeError, ValueError, OverflowError):  # no number, a signalling NaN, no float
            unusable = True
        if unusable:
            raise OptionError(f"{where}: scores[{i}] is {score!r:.40}; a number is needed.")
    by_score = sorted(range(len(chunks)), key=scores.__getitem__, reverse=True)
    return [_Candidate(chunks[i], rank) for rank, i in enumerate(by_score)]


class _Chooser:
    """Fills the budget. Sizes of parts are added up while choosing; the whole is counted before it is accepted."""

    def __init__(self, sizer: Sizer, budget: int, separator: str) -> None:
        self._sizer = sizer
        self._count: Callable[[str], int] = sizer.count
        self._budget = budget
        self._separator = separator
        self._gap = sizer.count(separator)
        self._runs: dict[tuple[str, str], tuple[list[int], list[_Run]]] = {}

    def choose(self, candidates: Sequence[_Candidate]) -> tuple[str, tuple[Passage, ...]]:
        """The text of the candidates chosen, and its passages."""
        chosen: list[_Candidate] = []
        size, waiting = 0, list(candidates)
        text = ""
        passages: tuple[Passage, ...] = ()
        for _ in range(1 if self._sizer.additive else ROUNDS):
            passed_over: list[_Candidate] = []
            before = len(chosen)
            for candidate in waiting:
                more = self._costs(candidate)
                if size + more <= self._budget:
                    size += more
                    self._add(candidate)
                    chosen.append(candidate)
                else:
                    passed_over.append(candidate)
            if len(chosen) == before:
                break
            fuller, found = self._joined(chosen)
            size = self._count(fuller)
            if size > self._budget:  # sizes added up to less than the whole
                return self._shortened(chosen, before, (text, passages))
            text, passages, waiting = fuller, found, passed_over
        return text, passages

    def _shortened(
        self, chosen: list[_Candidate], fits: int, best: tuple[str, tuple[Passage, ...]]
    ) -> tuple[str, tuple[Passage, ...]]:
        """The longest start of ``chosen`` that bisection finds to fit; its first ``fits`` do, as ``best``."""
        too_many = len(chosen)
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            joined = self._joined(chosen[:middle])
            if self._count(joined[0]) <= self._budget:
                fits, best = middle, joined
            else:
                too_many = middle
        return best

    def _touched(self, candidate: _Candidate) -> tuple[int, int]:
        """Which runs of its source a candidate touches, as a range."""
        starts, runs = self._runs.get(candidate.key, ((), ()))
        stop = bisect_right(starts, candidate.end)
        first = stop
        while first and runs[first - 1].end >= candidate.start:
            first -= 1
        return first, stop

    def _costs(self, candidate: _Candidate) -> int:
        """By how much a candidate lengthens what is chosen, as far as sizes of parts tell."""
        first, stop = self._touched(candidate)
        if first == stop:
            alone = self._count(candidate.chunk.contextualized_text)
            return alone + self._gap if self._runs else alone
        runs = self._runs[candidate.key][1][first:stop]
        more, at = 0, candidate.start
        for run in runs:
            if at < run.start:
                more += self._count(candidate.part(at, run.start))
            at = max(at, run.end)
        if at < candidate.end:
            more += self._count(candidate.part(at, candidate.end))
        frames = sum(run.frame for run in runs)
        return more + self._with(candidate, runs).frame - frames - self._gap * (len(runs) - 1)

    def _add(self, candidate: _Candidate) -> None:
        """Count a candidate among what is chosen."""
        starts, runs = self._runs.setdefault(candidate.key, ([], []))
        first, stop = self._touched(candidate)
        run = self._with(candidate, runs[first:stop])
        starts[first:stop], runs[first:stop] = [run.start], [run]

    def _with(self, candidate: _Candidate, runs: Sequence[_Run]) -> _Run:
        """The run that a candidate and the runs it touches become."""
        first = min([candidate, *(run.first for run in runs)], key=lambda c: c.order)
        last = min([candidate, *(run.last for run in runs)], key=lambda c: (-c.end, c.order))
        start, end = first.start, last.end
        return _Run(start, end, first, last, self._count(first.prefix) + self._count(last.suffix))

    def _joined(self, chosen: Sequence[_Candidate]) -> tuple[str, tuple[Passage, ...]]:
        """The text of ``chosen``, which are in the order of their scores, and its passages."""
        sources: dict[tuple[str, str], list[_Candidate]] = {}
        for candidate in chosen:
            sources.setdefault(candidate.key, []).append(candidate)
        passages: list[Passage] = []
        for members in sources.values():
            run: list[_Candidate] = []
            end = -1
            for candidate in sorted(members, key=lambda c: c.order):
                if run and candidate.start > end:
                    passages.append(_passage(run))
                    run = []
                run.append(candidate)
                end = max(end, candidate.end)
            passages.append(_passage(run))
        return self._separator.join(passage.rendered for passage in passages), tuple(passages)


def _passage(run: Sequence[_Candidate]) -> Passage:
    """The passage of candidates in order that touch or overlap."""
    first = last = run[0]
    parts = [first.chunk.text]
    for candidate in run[1:]:
        if candidate.end > last.end:
            parts.append(candidate.part(max(last.end, candidate.start), candidate.end))
            last = candidate
    text = "".join(parts)
    rendered = f"{first.prefix}{text}{last.suffix}"
    byte_range = ByteRange(first.start, last.end)
    return Passage(first.chunk.source, byte_range, text, rendered, tuple(c.chunk for c in run))
