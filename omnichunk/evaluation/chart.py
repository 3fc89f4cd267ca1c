"""Plots as SVG, drawn here so that a report needs nothing else. Colours and fonts come from the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from omnichunk.evaluation.bootstrap import Interval

WIDTH, LEFT, RIGHT, ROW, TOP, FOOT = 720, 190, 60, 26, 8, 26
COLOURS = 8
"""Colours the style sheet has, as classes ``c0`` and on."""


def dots(rows: Sequence[tuple[str, Interval]], title: str, *, around_zero: bool = False) -> str:
    """Means with their intervals, a row for each configuration; ``around_zero``: of differences."""
    low, high = (min(i.low for _, i in rows), max(i.high for _, i in rows)) if around_zero else (0.0, 1.0)
    low, high = _padded(min(low, 0.0), max(high, 0.0)) if around_zero else (low, high)
    height = TOP + ROW * len(rows) + FOOT
    bottom = height - FOOT

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    parts = [_opened(height, title)]
    for tick in _ticks(low, high):
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" y1="{TOP}" x2="{x(tick):.1f}" y2="{bottom}"/>')
        label = f"{100 * tick:+.3g}" if around_zero and tick else f"{100 * tick:.3g}"
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{height - 8}" text-anchor="middle">{label} %</text>')
    if around_zero:
        parts.append(f'<line class="axis" x1="{x(0):.1f}" y1="{TOP}" x2="{x(0):.1f}" y2="{bottom}"/>')
    for number, (name, (mean, least, most)) in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        colour = f"c{(number + around_zero) % COLOURS}"
        value = f"{100 * mean:+.1f}" if around_zero else f"{100 * mean:.1f}"
        parts += [
            f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(_short(name))}</text>',
            f'<g class="{colour}"><line x1="{x(least):.1f}" y1="{y:.1f}" x2="{x(most):.1f}" y2="{y:.1f}"/>'
            f'<circle cx="{x(mean):.1f}" cy="{y:.1f}" r="4.5"/></g>',
            f'<text class="value" x="{WIDTH - RIGHT + 10}" y="{y + 4:.1f}">{value}</text>',
        ]
    return "".join([*parts, "</svg>"])


def lines(xs: Sequence[int], rows: Sequence[tuple[str, Sequence[Interval]]], title: str) -> str:
    """A line for each configuration over ``xs``, which stand at equal distances, with the intervals as bars."""
    height, plot = 300 + 18 * len(rows), 270

    def x(place: int, shift: float = 0.0) -> float:
        step = (WIDTH - 60 - RIGHT) / max(len(xs) - 1, 1)
        return 60 + place * step + shift

    def y(value: float) -> float:
        return plot - value * (plot - TOP)

    parts = [_opened(height, title)]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<line class="grid" x1="60" y1="{y(tick):.1f}" x2="{WIDTH - RIGHT}" y2="{y(tick):.1f}"/>')
        parts.append(f'<text class="tick" x="50" y="{y(tick) + 4:.1f}" text-anchor="end">{100 * tick:.0f} %</text>')
    parts += [
        f'<text class="tick" x="{x(i):.1f}" y="{plot + 18}" text-anchor="middle">k = {k}</text>'
        for i, k in enumerate(xs)
    ]
    for number, (name, intervals) in enumerate(rows):
        shift = 3.0 * (number - (len(rows) - 1) / 2)
        points = " ".join(f"{x(i, shift):.1f},{y(v.mean):.1f}" for i, v in enumerate(intervals))
        bars = "".join(
            f'<line x1="{x(i, shift):.1f}" y1="{y(v.low):.1f}" x2="{x(i, shift):.1f}" y2="{y(v.high):.1f}"/>'
            f'<circle cx="{x(i, shift):.1f}" cy="{y(v.mean):.1f}" r="3"/>'
            for i, v in enumerate(intervals)
        )
        at = plot + 40 + 18 * number
        parts.append(
            f'<g class="c{number % COLOURS}"><polyline points="{points}"/>{bars}'
            f'<line x1="60" y1="{at - 4}" x2="80" y2="{at - 4}"/></g><text x="88" y="{at}">{escape(name)}</text>'
        )
    return "".join([*parts, "</svg>"])


def _opened(height: int, title: str) -> str:
    shown = escape(title, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{shown}"><title>{shown}</title>'


def _short(name: str) -> str:
    return name if len(name) <= 26 else name[:25] + "…"


def _padded(low: float, high: float) -> tuple[float, float]:
    room = max(high - low, 0.01) * 0.08
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Round values, six at most, that lie between ``low`` and ``high``."""
    step = next(s for s in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if (high - low) / s <= 6 or s == 1.0)
    first = -int(-low / step) if low < 0 else int(low / step)
    return [n * step for n in range(first, int(high / step + 1e-9) + 1)]
