"""Configurations side by side: chunk, index, ask, and measure what comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import index as whole
from types import MappingProxyType
from typing import Any, NamedTuple

from omnichunk.chunker import Chunker
from omnichunk.errors import OptionError
from omnichunk.evaluation.bootstrap import Interval, intervals
from omnichunk.evaluation.corpus import Corpus, Document, Question
from omnichunk.evaluation.metrics import Span, overlap, shared, tokens, union
from omnichunk.evaluation.page import page
from omnichunk.evaluation.report import compared, data
from omnichunk.evaluation.retrievers import Index, named, ranked
from omnichunk.model.chunk import ByteRange
from omnichunk.model.document import SourceDescriptor, described
from omnichunk.model.options import SizeUnit, build
from omnichunk.selection import Slice, select_within_budget

DEPTH = 100
"""Payloads that are retrieved for a question, to fill the reading budget from."""
WINDOWS = "windows"
_AT_LOADING = ("source_id", "loader", "loader_options", "language")

Split = Callable[[str, str], Iterable[tuple[int, int]]]
"""``split(path, text)``: the pieces of a document as ranges of code points."""


class Piece(NamedTuple):
    """What another splitter makes; its payload is its text."""

    text: str
    contextualized_text: str
    byte_range: ByteRange
    source: SourceDescriptor


@dataclass(frozen=True)
class Configuration:
    """One way to chunk. ``options``: of ``Chunker``, but for those that concern loading, which ``Corpus.read`` takes.

    ``{"windows": 400, "overlap": 40}`` is no chunker but windows of that many code points, each repeating the last 40 of
    the one before. ``split``: any other splitter, instead of options.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    split: Split | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise OptionError(f"Configuration: name={self.name!r:.60}; a non-empty str is needed.")
        if not isinstance(self.options, Mapping) or not all(isinstance(name, str) for name in self.options):
            raise OptionError(f"configuration {self.name}: options={self.options!r:.60}; values by name are needed.")

    def splitter(self, corpus: Corpus) -> Callable[[Document], Iterable[Slice]]:
        """What makes the chunks of a document. Raises OptionError for options that cannot work."""
        if self.split is not None:
            if self.options:
                raise OptionError(f"configuration {self.name}: split and options exclude each other.")
            return _pieces(self.name, self.split)
        if WINDOWS in self.options:
            return _pieces(self.name, windows(self.name, **self.options))
        loading = [n for n in self.options if n in _AT_LOADING or n in corpus.registry.loader_options()]
        if loading:
            raise OptionError(
                f"configuration {self.name}: {loading[0]} concerns loading, and documents are loaded once for all "
                "configurations. Give it to Corpus.read(loading=…)."
            )
        try:
            build("Chunker()", None, self.options)  # refuses names, such as ``self``, that are no options
            chunker = Chunker(corpus.registry, **self.options)
        except OptionError as error:
            raise type(error)(f"configuration {self.name}: {str(error).removeprefix('Chunker(): ')}") from None
        return lambda document: chunker.chunk_loaded(document.path, document.loaded)


def windows(name: str, /, windows: int, overlap: int = 0, **more: Any) -> Split:
    """Windows of ``windows`` code points, each repeating ``overlap`` of the one before. ``name``: for messages."""
    if more:
        raise OptionError(f'configuration {name}: windows have no option "{next(iter(more))}", only overlap.')
    if type(windows) is not int or type(overlap) is not int or not 0 <= overlap < windows:
        raise OptionError(f"configuration {name}: windows={windows!r}, overlap={overlap!r}; 0 <= overlap < windows.")

    def split(path: str, text: str) -> Iterable[tuple[int, int]]:
        starts = range(0, max(len(text) - overlap, 1), windows - overlap)
        return ((start, min(start + windows, len(text))) for start in starts)

    return split


def _pieces(name: str, split: Split) -> Callable[[Document], Iterable[Slice]]:
    """The pieces of a splitter that gives ranges; those of white space alone are left out, as chunks are."""

    def pieces(document: Document) -> Iterable[Slice]:
        text, position = document.text, document.position
        source = described(text, source_id=document.path, format_name=document.loaded.format_name)
        for found in split(document.path, text):
            try:
                start, end = map(whole, found)
            except (TypeError, ValueError):
                raise OptionError(
                    f"configuration {name}: its split gave {found!r:.60} for {document.path}; pairs of code points are needed."
                ) from None
            if not 0 <= start < end <= len(text):
                if start == end:
                    continue
                raise OptionError(
                    f"configuration {name}: [{start}, {end}) is no range of {document.path}, {len(text)} long."
                )
            part = text[start:end]
            if not part.isspace():
                yield Piece(part, part, ByteRange(position.byte(start), position.byte(end)), source)

    return pieces


@dataclass(frozen=True)
class Result:
    """What one configuration reaches.

    ``values``: metric -> its value for each question, in their order. ``summary``: metric -> mean and interval.
    ``difference``: of the mean to that of the first configuration, paired by question; empty for the first itself.
    ``chunks``: how many there are; ``mean_chars``: code points of a payload; ``mean_read``: size of what is read for a
    question, in the unit of the reading budget.
    """

    configuration: Configuration
    chunks: int
    mean_chars: float
    mean_read: float
    values: Mapping[str, tuple[float, ...]]
    summary: Mapping[str, Interval]
    difference: Mapping[str, Interval]


@dataclass(frozen=True)
class EvaluationReport:
    """Configurations side by side, the first being the baseline. See ``evaluate`` for what the metrics are."""

    questions: tuple[Question, ...]
    results: tuple[Result, ...]
    documents: int
    retriever: str
    budget: int
    unit: SizeUnit
    k: tuple[int, ...]
    resamples: int
    seed: int
    left_out: tuple[tuple[str, str], ...] = ()

    def table(self) -> str:
        """The report for a terminal: means in per cent, with their intervals."""
        return "\n".join(compared(self)) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The report as data that JSON can hold, values of single questions included; shares are between 0 and 1."""
        return data(self)

    def html(self) -> str:
        """The report as a page with plots that needs nothing else, no network included."""
        return page("Retrieval", "", [("", self)])


def evaluate(
    corpus: Corpus,
    questions: Iterable[Question],
    configurations: Iterable[Configuration] = (Configuration("default"),),
    *,
    retriever: str | Index = "bm25",
    retriever_options: Mapping[str, Any] = MappingProxyType({}),
    budget: int = 4000,
    size_unit: SizeUnit = "chars",
    tokenizer: Any = None,
    k: Iterable[int] = (1, 3, 5, 10),
    resamples: int = 1000,
    seed: int = 0,
) -> EvaluationReport:
    """How much of what answers the questions each configuration brings before a reader.

    For every configuration the documents are chunked and the payloads given to ``retriever``; for every question the
    ``DEPTH`` best are ranked. What is *read* is what ``select_within_budget`` makes of them in ``budget`` (in ``size_unit``
    with ``tokenizer``), so that configurations with small and with large chunks, with and without context, are compared
    by what fits the same room. Metrics of a question, in tokens of the source (``evaluation.metrics``):

    ``recall``, ``precision``, ``iou``   overlap of what is read with the gold: both / gold, both / read, both / either
    ``recall@k``                         both / gold for the ``k`` best payloads, whatever they measure

    Gold and retrieved text are unions of spans of bytes: a token in several overlapping gold spans or chunks counts once.
    Context in payloads takes room and is no retrieved text. A question for which nothing is found has 0 in all metrics;
    one without gold cannot be made. Each mean is over all questions, with a bootstrap interval, and so is its difference
    to that of the first configuration. Everything is the same in every run, as far as ``retriever`` is: the name of one
    that is declared (``bm25`` is built in) or of an embedder, made with ``retriever_options``, or an `Index`.

    Raises OptionError for values that cannot work, PluginError for what a retriever finds and cannot have found, and for
    a declared one that fails; exceptions of a function given as ``retriever`` propagate.
    """
    asked, compared, ks = tuple(questions), tuple(configurations), tuple(k) if isinstance(k, Iterable) else ()
    for given, kind in (*((q, Question) for q in asked), *((c, Configuration) for c in compared)):
        if not isinstance(given, kind):
            raise OptionError(f"evaluate(): {given!r:.60} is no {kind.__name__}.")
    names = [configuration.name for configuration in compared]
    if not asked or not compared:
        raise OptionError(f"evaluate(): there is no {'configuration' if asked else 'question'}.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise OptionError(f"evaluate(): two configurations are called {twice}; give each a name of its own.")
    if not ks or any(type(n) is not int or n < 1 for n in ks):
        raise OptionError(f"evaluate(): k={k!r:.60}; whole numbers of at least 1 are needed.")
    ks = tuple(sorted(set(ks)))
    if retriever_options and not isinstance(retriever, str):
        raise OptionError(
            "evaluate(): retriever_options are for a retriever by name; give your function what it needs."
        )
    if type(resamples) is not int or resamples < 0:
        raise OptionError(f"evaluate(): resamples={resamples!r}; a whole number of at least 0 is needed.")
    if type(seed) is not int:
        raise OptionError(f"evaluate(): seed={seed!r:.60}; a whole number is needed.")
    golds = [union(question.gold) for question in asked]
    for question, gold in zip(asked, golds):
        if not gold or gold[-1].document >= len(corpus.documents) or not tokens(gold, corpus.starts):
            raise OptionError(
                f"evaluate(): question {question.id or question.text!r:.60}: its gold is nothing of this corpus."
            )
    limits = {"size_unit": size_unit, "tokenizer": tokenizer, "registry": corpus.registry}
    select_within_budget((), (), budget, **limits)  # says what is wrong before anything is chunked
    name = retriever if isinstance(retriever, str) else getattr(retriever, "__name__", type(retriever).__name__)
    index = named(corpus.registry, retriever, retriever_options) if isinstance(retriever, str) else retriever
    splitters = [configuration.splitter(corpus) for configuration in compared]
    results: list[Result] = []
    for configuration, splitter in zip(compared, splitters):
        chunks = list(chain.from_iterable(map(splitter, corpus.documents)))
        values, read = _asked(corpus, chunks, list(zip(asked, golds)), index, budget, limits, ks)
        baseline = results[0].values if results else None
        results.append(
            Result(
                configuration,
                len(chunks),
                sum(len(chunk.contextualized_text) for chunk in chunks) / max(len(chunks), 1),
                read / len(asked),
                values,
                intervals(values, None, resamples, seed),
                intervals(values, baseline, resamples, seed) if baseline is not None else {},
            )
        )
    return EvaluationReport(
        asked, tuple(results), len(corpus.documents), name, budget, size_unit, ks, resamples, seed, corpus.left_out
    )


def _asked(
    corpus: Corpus,
    chunks: Sequence[Slice],
    questions: Sequence[tuple[Question, Sequence[Span]]],
    index: Index,
    budget: int,
    limits: Mapping[str, Any],
    ks: Sequence[int],
) -> tuple[dict[str, tuple[float, ...]], int]:
    """The metrics of every question, and the size of all that is read."""
    search = index([chunk.contextualized_text for chunk in chunks]) if chunks else None
    rows: dict[str, list[float]] = {name: [] for name in ("recall", "precision", "iou", *(f"recall@{k}" for k in ks))}
    read, depth = 0, max(DEPTH, min(ks[-1], len(chunks)))

    def span(of: Any) -> Span:
        return Span(corpus.numbers[of.source.source_id], *of.byte_range)

    for question, gold in questions:
        best = ranked(search, question.text, depth, len(chunks)) if search is not None else []
        found = [chunks[i] for i, _ in best]
        selection = select_within_budget(found, [score for _, score in best], budget, **limits)
        measured = overlap(gold, map(span, selection.passages), corpus.starts)
        read += selection.size
        rows["recall"].append(measured.recall)
        rows["precision"].append(measured.precision)
        rows["iou"].append(measured.iou)
        spans = list(map(span, found[: ks[-1]]))
        for k in ks:
            both = tokens(shared(gold, union(spans[:k])), corpus.starts)
            rows[f"recall@{k}"].append(both / measured.gold)
    return {name: tuple(row) for name, row in rows.items()}, read
