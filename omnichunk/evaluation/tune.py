"""A configuration proposed on one part of the questions, and judged on the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import Any, Literal

from omnichunk.errors import OptionError, suggestion
from omnichunk.evaluation.corpus import Corpus, Question
from omnichunk.evaluation.page import page
from omnichunk.evaluation.report import counted, proposal, tuned, tuned_data
from omnichunk.evaluation.run import Configuration, EvaluationReport, evaluate

SIZES = (400, 800, 1500, 3000)
FILLS = (0.65, 1.0)
MODES = ("full", "none")


@dataclass(frozen=True)
class TuneReport:
    """What is proposed, and why.

    ``development``: all candidates on the questions that chose. ``held_out``: the first candidate and the proposed one on
    the others; only these figures are fair to it. ``split``: whether the halves share no ``documents``, or only no
    ``questions``, because all gold is in one document.
    """

    proposed: Configuration
    metric: str
    split: Literal["documents", "questions"]
    development: EvaluationReport
    held_out: EvaluationReport

    def table(self) -> str:
        """The report for a terminal: the proposal, then both halves."""
        return "\n".join(tuned(self)) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The report as data that JSON can hold, as ``EvaluationReport.to_dict`` for each half."""
        return tuned_data(self)

    def html(self) -> str:
        """The report as a page with plots that needs nothing else, no network included."""
        return page("Tuning", proposal(self), [("Held out", self.held_out), ("Development", self.development)])


def candidates() -> list[Configuration]:
    """The defaults, and the grid of ``max_chunk_size`` (code points), ``target_fill`` and ``context_mode``."""
    grid = [
        Configuration(f"{size} {mode} {fill}", {"max_chunk_size": size, "context_mode": mode, "target_fill": fill})
        for size, mode, fill in product(SIZES, MODES, FILLS)
    ]
    return [Configuration("default"), *grid]


def tune(
    corpus: Corpus,
    questions: Iterable[Question],
    configurations: Iterable[Configuration] = (),
    *,
    metric: str = "recall",
    development: float = 0.5,
    seed: int = 0,
    **how: Any,
) -> TuneReport:
    """The configuration with the best mean ``metric`` on about ``development`` of the questions, tried on the others.

    ``configurations``: the candidates, ``candidates()`` if there are none. The first is what has to be beaten: another is
    proposed only if the interval of its difference to the first, on the development questions, lies above zero. Of equal
    means the higher iou decides, then fewer chunks, then the order. The questions are divided by the
    document of their first gold span, in an order that ``seed`` draws, so that no document helps to choose what it
    judges; all documents are searched in both halves. ``how``: what ``evaluate`` takes, ``seed`` included.

    Raises OptionError for less than two questions and for what ``evaluate`` would refuse.
    """
    tried = tuple(configurations) or tuple(candidates())
    if not isinstance(development, (int, float)) or not 0 < development < 1:
        raise OptionError(f"tune(): development={development!r}; a share above 0 and below 1 is needed.")
    chosen_by, judged_by, split = halves(corpus, list(questions), development, seed)
    first = evaluate(corpus, chosen_by, tried, seed=seed, **how)
    known = first.results[0].summary
    if metric not in known:
        raise OptionError(
            f'tune(): there is no metric "{metric}"{suggestion(str(metric), known) or "; " + ", ".join(known)}'
        )
    better = [i for i in range(1, len(tried)) if first.results[i].difference[metric].low > 0]
    best = max(
        better or [0],
        key=lambda i: (
            first.results[i].summary[metric].mean,
            first.results[i].summary["iou"].mean,
            -first.results[i].chunks,
            -i,
        ),
    )
    finalists = tried[:1] if best == 0 else (tried[0], tried[best])
    return TuneReport(tried[best], metric, split, first, evaluate(corpus, judged_by, finalists, seed=seed, **how))


def halves(
    corpus: Corpus, questions: Sequence[Question], share: float, seed: int
) -> tuple[list[Question], list[Question], Literal["documents", "questions"]]:
    """The questions that choose, those that judge, and what the two do not share. Both keep the order given."""
    if len(questions) < 2:
        asked = counted(len(questions), "question")
        raise OptionError(f"tune(): {asked} cannot be divided; two at least are needed.")
    by_document: dict[str, list[int]] = {}
    for number, question in enumerate(questions):
        by_document.setdefault(corpus.documents[question.gold[0].document].path, []).append(number)
    split: Literal["documents", "questions"] = "documents" if len(by_document) > 1 else "questions"
    groups = by_document if split == "documents" else {str(number): [number] for number in range(len(questions))}
    drawn = sorted(groups, key=lambda name: sha256(f"{seed}\0{name}".encode("utf-8", "surrogatepass")).digest())
    wanted = share * len(questions)
    chosen: set[int] = set()
    for name in drawn[:-1]:  # one is left to judge
        if not chosen or len(chosen) + len(groups[name]) <= wanted:
            chosen.update(groups[name])
    first = [question for number, question in enumerate(questions) if number in chosen]
    return first, [question for number, question in enumerate(questions) if number not in chosen], split
