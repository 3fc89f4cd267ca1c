"""The names a Word document is written in: namespaces, tags, switches, and what every walk over it does alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Element = Any
"""An lxml element, which has no types of its own."""

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"

VAL, ID, TYPE = f"{W}val", f"{W}id", f"{W}type"
P, RUN, PPR, RPR = f"{W}p", f"{W}r", f"{W}pPr", f"{W}rPr"
TBL, TR, TC, SECTION = f"{W}tbl", f"{W}tr", f"{W}tc", f"{W}sectPr"
ALTERNATE = f"{MC}AlternateContent"
EQUATION, EQUATIONS = f"{M}oMath", f"{M}oMathPara"

PROPERTIES = frozenset(
    f"{W}{name}"
    for name in (
        "pPr", "rPr", "tblPr", "tblGrid", "trPr", "tcPr", "tblPrEx", "sectPr", "sdtPr", "sdtEndPr", "smartTagPr",
        "customXmlPr", "rubyPr", "fldData",
    )
)  # fmt: skip
"""Elements that say how something looks and hold no text."""
REMOVED = frozenset((f"{W}del", f"{W}moveFrom"))
"""Tracked changes that are not in the final view."""
_OFF = frozenset(("0", "false", "off", "none"))


def value(element: Element) -> str:
    """The ``w:val`` of an element, or an empty string."""
    return element.get(VAL) or ""


def on(element: Element) -> bool:
    """Whether a switch (``<w:tblHeader/>``) is on: present, and not said to be off."""
    return value(element) not in _OFF


def number(text: str | None, default: int = 0) -> int:
    """A decimal of at most nine digits, or ``default``: the file may say anything."""
    digits = (text or "").removeprefix("-")
    return int(text or "") if digits.isascii() and digits.isdigit() and len(digits) < 10 else default


def child(element: Element, tag: str) -> Element | None:
    """The first child with ``tag``."""
    return next(element.iterchildren(tag), None)


def alternatives(element: Element, amount: Callable[[], int]) -> Iterator[Element]:
    """The branches of an ``mc:AlternateContent`` until one has added to ``amount()``: the same content stands in each."""
    before = amount()
    for branch in element:
        yield branch
        if amount() != before:
            return


def inside(element: Element, tag: str, skipped: frozenset[str]) -> Iterator[Element]:
    """The nearest descendants with ``tag``, through content controls, tracked insertions and other wrappers."""
    stack = [iter(element)]
    while stack:
        for found in stack[-1]:
            if found.tag == tag:
                yield found
            elif found.tag not in skipped:
                stack.append(iter(found))
                break
        else:
            stack.pop()
