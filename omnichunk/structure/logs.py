"""Log files to spans: an entry goes on to the next line that begins one, so that a stack trace stays with its message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Span, Strength, Structure

SAMPLE = 1 << 16
"""Characters in which is looked for how entries begin."""

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_BEGINNINGS = (  # the first that begins two lines of the sample is how this log writes
    # with a time, a level before it or not: ISO and its kin, syslog, java.util.logging, Apache, kernel, epoch
    r"(?:<\d{1,3}>(?:\d )?|[\[(<]|[A-Z]{4,8}[ :]+\[?)?(?:"
    r"\d{4}[-/.]\d\d[-/.]\d\d(?:[T _-]|[:,])"
    r"|\d\d?[-/.](?:\d\d?|" + _MONTH + r")[-/.](?:\d{4}|\d\d)[ T:,]"
    r"|" + _MONTH + r" [ \d]?\d,? "
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? [A-Z\d]"
    r"|\d\d-\d\d \d\d:\d\d"
    r"|\d\d:\d\d:\d\d"
    r"| *\d{1,9}\.\d{3,6}\]"
    r"|1\d{9}(?:\d{3})?[.,: \]])",
    r"[IWEF]\d{4} \d\d:\d\d",  # glog
    r"\S{1,100} \S{1,100} [^\s\[]{1,100} \[\d\d/" + _MONTH + "/",  # access logs
    r'(?:\{"|[\w.]{1,20}=)',  # JSON Lines, logfmt
    r"[\[<(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE|FINE|FINER|FINEST)\b",
)


def log_spans(request: StructureRequest) -> Structure:
    """A span for each entry of several lines; the lines between are left to the ladder, which cuts at line ends."""
    text = request.text
    beginning = _beginning(text[:SAMPLE])
    if not beginning:
        return Structure()
    spans: list[Span] = []
    at = 0
    for start, end in _long(text, re.compile(rf"\n(?!{beginning}|\Z)")):
        if at < start:
            spans.append(Span(at, start, "text", Strength.ITEM))
        spans.append(Span(start, end, "paragraph", Strength.ITEM))
        at = end
    if spans and at < len(text):
        spans.append(Span(at, len(text), "text", Strength.ITEM))
    return Structure(spans)


def _beginning(sample: str) -> str:
    """The pattern of the lines that begin an entry, empty if none is recognized."""
    lines = sample.split("\n")
    return next((b for b in _BEGINNINGS if sum(map(bool, map(re.compile(b).match, lines))) > 1), "")


def _long(text: str, continued: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The entries of several lines: a line that does not begin one, the line before them, and all such lines after."""
    start = end = 0
    for m in continued.finditer(text):
        line = m.start() + 1
        if line != end:
            if end:
                yield start, end
            start = text.rfind("\n", 0, line - 1) + 1
        end = text.find("\n", line) + 1 or len(text)
    if end:
        yield start, end
