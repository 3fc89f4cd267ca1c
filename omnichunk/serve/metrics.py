"""Counters for a monitoring system, and lines for a log. Neither holds anything of a document."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from omnichunk import __version__

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What happened since the start, in the text format of Prometheus. Used from the event loop alone."""

    def __init__(self) -> None:
        self._requests: Counter[str] = Counter()
        self._calls: Counter[tuple[str, str]] = Counter()
        self._slower: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self.gauges: dict[str, Callable[[], int]] = {}

    def request(self, status: int) -> None:
        """An HTTP request was answered."""
        self._requests[str(status)] += 1

    def call(self, method: str, outcome: str, seconds: float) -> None:
        """A call of ``method``, a name of the table, ended: ``ok`` or the reason of its error."""
        self._calls[method, outcome] += 1
        self._seconds[method] += seconds  # type: ignore[assignment]
        for bucket in _BUCKETS:
            if seconds <= bucket:
                self._slower[method, bucket] += 1

    def lost(self, reason: str) -> None:
        """A worker was replaced."""
        self._lost[reason] += 1

    def text(self) -> str:
        """All of it."""
        return "\n".join([*self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        yield from _family("requests_total", "counter", "HTTP requests by status of the answer.")
        yield from (_line("requests_total", n, status=status) for status, n in sorted(self._requests.items()))
        yield from _family("calls_total", "counter", "Calls by method and outcome.")
        yield from (_line("calls_total", n, method=m, outcome=o) for (m, o), n in sorted(self._calls.items()))
        yield from _family("call_seconds", "histogram", "Seconds a call took, waiting included.")
        for method in sorted(self._seconds):
            count = sum(n for (name, _), n in self._calls.items() if name == method)
            for bucket in _BUCKETS:
                yield _line("call_seconds_bucket", self._slower[method, bucket], method=method, le=f"{bucket:g}")
            yield _line("call_seconds_bucket", count, method=method, le="+Inf")
            yield _line("call_seconds_sum", self._seconds[method], method=method)
            yield _line("call_seconds_count", count, method=method)
        yield from _family("workers_lost_total", "counter", "Workers that were replaced, by reason.")
        yield from (_line("workers_lost_total", n, reason=reason) for reason, n in sorted(self._lost.items()))
        for name, value in self.gauges.items():
            yield from _family(name, "gauge", name.replace("_", " ").capitalize() + " at this moment.")
            yield _line(name, value())
        yield from _family("build_info", "gauge", "The version that runs.")
        yield _line("build_info", 1, version=__version__)


def _family(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP omnichunk_{name} {about}", f"# TYPE omnichunk_{name} {kind}"]


def _line(name: str, value: float, **labels: str) -> str:
    shown = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return (
        f"omnichunk_{name}{'{' + shown + '}' if shown else ''} {value:g}"
        if value < 1e6
        else (f"omnichunk_{name}{'{' + shown + '}' if shown else ''} {value:.0f}")
    )


class Log:
    """Lines of JSON on standard error, written by a thread, so that a reader who is slow or gone stops nothing.

    What nobody reads is dropped, and the number of lines that were is told in the next one.
    """

    def __init__(self, level: str = "info") -> None:
        self._quiet = {"info": (), "warning": ("info",), "error": ("info", "warning")}[level]
        self._lines: queue.Queue[bytes | None] = queue.Queue(1000)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write, name="omnichunk-log", daemon=True)
        self._thread.start()

    def event(self, event: str, level: str = "info", **fields: Any) -> None:
        """Write a line, unless lines of this level are not wanted."""
        if level in self._quiet:
            return
        line: Mapping[str, Any] = {"time": round(time.time(), 3), "level": level, "event": event, **fields}
        if self._dropped:
            line = {**line, "dropped": self._dropped}
        try:
            self._lines.put_nowait(json.dumps(line, default=str).encode() + b"\n")
            self._dropped = 0
        except queue.Full:
            self._dropped += 1

    def close(self) -> None:
        """Write what is left, if somebody reads it."""
        try:
            self._lines.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(0.5)

    def _write(self) -> None:
        handle = sys.__stderr__.fileno() if sys.__stderr__ is not None else -1
        while (line := self._lines.get()) is not None:
            try:
                while line:
                    line = line[os.write(handle, line) :]
            except OSError:
                return
