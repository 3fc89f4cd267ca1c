"""Intervals by the percentile bootstrap: how far a mean would move if other questions of the same kind had been asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from random import Random
from typing import NamedTuple

LEVEL = 0.95


class Interval(NamedTuple):
    """A mean over questions, and the interval that holds ``LEVEL`` of the means of resampled questions."""

    mean: float
    low: float
    high: float


Columns = Mapping[str, Sequence[float]]


def intervals(columns: Columns, baseline: Columns | None, resamples: int, seed: int) -> dict[str, Interval]:
    """An interval for the mean of each column: a value for each question, in the same order in all columns.

    With ``baseline``, which has the same columns, it is that of the mean difference to it, question by question: what
    makes a question hard for both does not widen it. A resample draws as many questions as there are, with
    repetition; the draws depend on ``seed`` and the number of questions alone, so they are the same for all columns and
    configurations. Questions are taken as independent of each other. With one question the interval is its value.
    """
    values = {
        name: [a - b for a, b in zip(column, baseline[name])] if baseline is not None else list(column)
        for name, column in columns.items()
    }
    count = len(next(iter(values.values()), ()))
    means: dict[str, list[float]] = {name: [] for name in values}
    draw = Random(seed)
    for _ in range(resamples if count > 1 else 0):
        pick = itemgetter(*draw.choices(range(count), k=count))
        for name, column in values.items():
            means[name].append(sum(pick(column)) / count)
    return {name: _interval(sum(column) / count, sorted(means[name])) for name, column in values.items()}


def _interval(mean: float, resampled: list[float]) -> Interval:
    if not resampled:
        return Interval(mean, mean, mean)
    cut = int((1 - LEVEL) / 2 * len(resampled))
    return Interval(mean, resampled[cut], resampled[-1 - cut])
