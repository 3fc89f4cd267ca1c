"""A report as one page of HTML: no script, no font, no picture and no request; the plots are SVG inside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from omnichunk.evaluation.chart import dots, lines
from omnichunk.evaluation.report import described, metrics, percent, sentence

if TYPE_CHECKING:
    from omnichunk.evaluation.run import EvaluationReport, Result

HARDEST = 20
"""Questions that are listed, those with the lowest mean recall of all configurations."""
LONGEST = 160
LINES = 8
"""Configurations whose recall@k is drawn: the first, and those with the best recall."""
NAMES = {"recall": "Recall", "precision": "Precision", "iou": "Intersection over union"}

STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #687386; --line: #dfe3ea; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #9aa4b5; --line: #333c4a; --paper: #151a22; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 72rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
.note { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .88rem; margin: .6rem 0; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
td.text { white-space: normal; text-align: left; min-width: 18rem; }
svg { width: 100%; max-width: 46rem; height: auto; display: block; font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); } svg .tick { fill: var(--soft); }
svg g line, svg polyline { stroke-width: 2; fill: none; stroke: var(--c); } svg circle { fill: var(--c); }
.c0 { --c: #3465d9; } .c1 { --c: #d9632e; } .c2 { --c: #2a9d6f; } .c3 { --c: #a04fc4; }
.c4 { --c: #c79a16; } .c5 { --c: #1b9bb8; } .c6 { --c: #d1436f; } .c7 { --c: #7a7f3a; }
"""


def page(title: str, said: str, parts: Iterable[tuple[str, EvaluationReport]]) -> str:
    """The page called ``title``: what is ``said`` first, then each evaluation under its heading."""
    body = [f"<h1>{escape(title)}</h1>"]
    if said:
        body.append(f"<p><strong>{escape(said)}</strong></p>")
    for heading, report in parts:
        if heading:
            body.append(f"<h2>{escape(heading)}</h2>")
        body += _evaluation(report)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    text = f"<!DOCTYPE html>\n<html lang=en><head>{head}<style>{STYLE}</style></head>\n<body>\n"
    # A path that is no UTF-8 has lone surrogates.
    return (text + "\n".join(body) + "\n</body></html>\n").encode("utf-8", "backslashreplace").decode()


def _evaluation(report: EvaluationReport) -> list[str]:
    results = report.results
    parts = [f'<p class="note">{escape(sentence(report))}</p>', _means(report)]
    for metric, name in NAMES.items():
        rows = [(result.configuration.name, result.summary[metric]) for result in results]
        parts += [f"<h3>{name} of what is read</h3>", dots(rows, f"{name} with intervals")]
    shown = {results[0].configuration.name, *(r.configuration.name for r in _best(results[1:])[: LINES - 1])}
    at_k = [
        (result.configuration.name, [result.summary[f"recall@{k}"] for k in report.k])
        for result in results
        if result.configuration.name in shown
    ]
    parts += ["<h3>Recall@k</h3>", lines(report.k, at_k, "Recall at k with intervals")]
    if len(results) > 1:
        baseline = results[0].configuration.name
        rows = [(result.configuration.name, result.difference["recall"]) for result in results[1:]]
        parts += [
            f"<h3>Recall: difference to {escape(baseline)}, paired by question</h3>",
            dots(rows, f"Difference of recall to {baseline}", around_zero=True),
        ]
    parts += [_hardest(report)]
    if report.left_out:
        items = "".join(f"<li>{escape(path)}: {escape(reason)}</li>" for path, reason in report.left_out)
        parts.append(f"<details><summary>{len(report.left_out)} files left out</summary><ul>{items}</ul></details>")
    return parts


def _best(results: Sequence[Result]) -> list[Result]:
    return sorted(results, key=lambda result: -result.summary["recall"].mean)


def _means(report: EvaluationReport) -> str:
    names = metrics(report)
    head = ["configuration", "options", "chunks", "chars", "read", *names]
    rows = [
        [
            result.configuration.name,
            described(result),
            f"{result.chunks:,}",
            f"{result.mean_chars:.0f}",
            f"{result.mean_read:.0f}",
            *(percent(result.summary[name]) for name in names),
        ]
        for result in report.results
    ]
    return _table(head, rows)


def _hardest(report: EvaluationReport) -> str:
    """The questions that are answered worst."""
    recalls = [result.values["recall"] for result in report.results]
    worst = sorted(range(len(report.questions)), key=lambda i: (sum(values[i] for values in recalls), i))[:HARDEST]
    head = ["id", "question", *(result.configuration.name for result in report.results)]
    rows = [
        [
            report.questions[i].id,
            report.questions[i].text[:LONGEST],
            *(f"{100 * values[i]:.0f} %" for values in recalls),
        ]
        for i in worst
    ]
    return f"<details><summary>The hardest questions, by recall</summary>{_table(head, rows, text=1)}</details>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], text: int = -1) -> str:
    """A table; the cells of column ``text`` may take several lines."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=text' * (i == text)}>{escape(cell)}</td>" for i, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
