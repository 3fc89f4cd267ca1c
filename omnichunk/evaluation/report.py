"""Reports as a table, as data, and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omnichunk.evaluation.bootstrap import LEVEL, Interval

if TYPE_CHECKING:
    from omnichunk.evaluation.run import EvaluationReport, Result
    from omnichunk.evaluation.tune import TuneReport

SCHEMA = 1


def metrics(report: EvaluationReport) -> list[str]:
    """The names of the metrics, in the order in which they are shown."""
    return list(report.results[0].values)


def sentence(report: EvaluationReport) -> str:
    """What was done, in a line."""
    return (
        f"{counted(len(report.questions), 'question')} about {counted(report.documents, 'document')}; "
        f"retriever {report.retriever}; "
        f"read: {report.budget} {report.unit}; {LEVEL:.0%} intervals of {report.resamples} resamples"
    )


def counted(count: int, what: str) -> str:
    """``1 question``, ``2 questions``."""
    return f"{count:,} {what}" + "s" * (count != 1)


def percent(interval: Interval, *, signed: bool = False) -> str:
    """A mean and its interval in per cent: ``71.3 [68.0, 74.6]``."""
    form = "+.1f" if signed else ".1f"
    return f"{100 * interval.mean:{form}} [{100 * interval.low:{form}}, {100 * interval.high:{form}}]"


def described(result: Result) -> str:
    """The options of a configuration as they would be given."""
    if result.configuration.split is not None:
        return "a splitter of the caller's"
    return ", ".join(f"{name}={value}" for name, value in result.configuration.options.items()) or "defaults"


def compared(report: EvaluationReport) -> list[str]:
    """The lines of an evaluation: what was reached, then the differences to the first configuration.

    With intervals where they matter most; those of recall@k are in the data and on the page.
    """
    names = metrics(report)
    head = ["configuration", "chunks", "chars", "read", *names]
    rows = [
        [
            result.configuration.name,
            f"{result.chunks:,}",
            f"{result.mean_chars:.0f}",
            f"{result.mean_read:.0f}",
            *(_cell(result.summary, name) for name in names),
        ]
        for result in report.results
    ]
    lines = [sentence(report), "", *aligned([head, *rows])]
    if len(report.results) > 1:
        lines += ["", f"difference to {report.results[0].configuration.name}, paired by question"]
        gains = [
            [result.configuration.name, *(_cell(result.difference, name, signed=True) for name in names)]
            for result in report.results[1:]
        ]
        lines += aligned([["configuration", *names], *gains])
    lines += [f"left out: {path}: {reason}" for path, reason in report.left_out]
    return lines


def _cell(intervals: Mapping[str, Interval], name: str, *, signed: bool = False) -> str:
    shown = percent(intervals[name], signed=signed)
    return shown.partition(" ")[0] if "@" in name else shown


def tuned(report: TuneReport) -> list[str]:
    """The lines of a tuning: the proposal, then both halves."""
    lines = [proposal(report), "", "development", *compared(report.development), "", "held out"]
    return lines + compared(report.held_out)


def proposal(report: TuneReport) -> str:
    """What is proposed, and what it is worth on questions that did not choose it."""
    chosen = report.held_out.results[-1]
    said = f"proposed: {chosen.configuration.name} ({described(chosen)}), for {report.metric}"
    if not chosen.difference:
        return f"{said}: nothing was certain to be better on the development half"
    return f"{said}: {percent(chosen.difference[report.metric], signed=True)} points on the held-out {report.split}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns, the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))
        )
        for row in rows
    ]


def data(report: EvaluationReport) -> dict[str, Any]:
    """An evaluation as plain data."""
    return {
        "schema_version": SCHEMA,
        "documents": report.documents,
        "retriever": report.retriever,
        "budget": report.budget,
        "unit": report.unit,
        "k": list(report.k),
        "resamples": report.resamples,
        "seed": report.seed,
        "level": LEVEL,
        "questions": [{"id": q.id, "question": q.text} for q in report.questions],
        "configurations": [
            {
                "name": result.configuration.name,
                "options": {name: _plain(value) for name, value in result.configuration.options.items()},
                "chunks": result.chunks,
                "mean_chars": result.mean_chars,
                "mean_read": result.mean_read,
                "summary": {name: interval._asdict() for name, interval in result.summary.items()},
                "difference": {name: interval._asdict() for name, interval in result.difference.items()},
                "values": {name: list(values) for name, values in result.values.items()},
            }
            for result in report.results
        ],
        "left_out": [{"path": path, "reason": reason} for path, reason in report.left_out],
    }


def tuned_data(report: TuneReport) -> dict[str, Any]:
    """A tuning as plain data."""
    chosen = report.proposed
    return {
        "schema_version": SCHEMA,
        "metric": report.metric,
        "split": report.split,
        "proposed": {"name": chosen.name, "options": {name: _plain(value) for name, value in chosen.options.items()}},
        "development": data(report.development),
        "held_out": data(report.held_out),
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
