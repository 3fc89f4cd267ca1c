"""Equations as one line of text: fractions with a slash, scripts with ``^`` and ``_``, as they are typed into Word."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from omnichunk.loaders.docx_names import RUN, Element, M, W, child

_TEXT = frozenset((f"{M}t", f"{W}t"))
_SKIPPED = frozenset((f"{W}del", f"{W}moveFrom", f"{W}instrText", f"{W}rPr"))
_DELIMITED = f"{M}d"
_SIMPLE = frozenset((f"{M}r", RUN))
_SCRIPT_END = re.compile("\0+(?=\\w)")  # a blank ends a script where a word goes on
Item = Element
"""Something still to write: an element, or a string as it is."""


def equation(element: Element) -> str:
    """The text of an ``m:oMath``. Cost: linear in its elements, however deep they nest."""
    written: list[str] = []
    stack: list[Item] = [element]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            written.append(item)
            continue
        tag = item.tag
        if tag in _TEXT:
            written.append(item.text or "")
        elif tag in _FORMS:
            stack.extend(reversed(_FORMS[tag](item)))
        elif not tag.endswith("Pr") and tag not in _SKIPPED:
            stack.extend(reversed(item))
    return " ".join(_SCRIPT_END.sub(" ", "".join(written)).replace("\0", "").split())


def _part(element: Element, name: str) -> Item:
    found = child(element, M + name)
    return "" if found is None else found


def _grouped(element: Element, name: str) -> list[Item]:
    """A part, in parentheses unless it is one symbol or number."""
    part = _part(element, name)
    if isinstance(part, str):
        return []
    inner = [e for e in part if not e.tag.endswith("Pr")]
    if not inner or (len(inner) == 1 and (inner[0].tag == _DELIMITED or _atom(inner[0]))):
        return [part]
    return ["(", part, ")"]


def _atom(run: Element) -> bool:
    if run.tag not in _SIMPLE:
        return False
    text = "".join(t.text or "" for t in run if t.tag in _TEXT)
    return len(text) < 2 or text.isalnum()


def _said(element: Element, properties: str, name: str, default: str) -> str:
    """The ``m:val`` of a property, ``default`` when it is not set."""
    outer = child(element, M + properties)
    found = None if outer is None else child(outer, M + name)
    if found is None:
        return default
    return found.get(f"{M}val") or ""


def _script(element: Element, *names: str) -> list[Item]:
    """The parts that are there, each after its mark."""
    written: list[Item] = []
    for name in names:
        part = child(element, M + name)
        if part is not None and len(part):
            written += ["_" if name in ("sub", "lim") else "^", *_grouped(element, name), "\0"]
    return written


def _fraction(e: Element) -> list[Item]:
    return [*_grouped(e, "num"), "¦" if _said(e, "fPr", "type", "bar") == "noBar" else "/", *_grouped(e, "den")]


def _radical(e: Element) -> list[Item]:
    degree = child(e, f"{M}deg")
    index: list[Item] = [] if degree is None or not any(d.tag != f"{M}ctrlPr" for d in degree) else ["[", degree, "]"]
    return ["√", *index, *_grouped(e, "e")]


def _nary(e: Element) -> list[Item]:
    return [_said(e, "naryPr", "chr", "∫"), *_script(e, "sub", "sup"), " ", _part(e, "e")]


def _delimited(e: Element) -> list[Item]:
    written: list[Item] = [_said(e, "dPr", "begChr", "(")]
    for i, part in enumerate(e.iterchildren(f"{M}e")):
        written += [_said(e, "dPr", "sepChr", "|") if i else "", part]
    return [*written, _said(e, "dPr", "endChr", ")")]


def _matrix(e: Element) -> list[Item]:
    written: list[Item] = ["["]
    for i, row in enumerate(e.iterchildren(f"{M}mr")):
        written.append("; " if i else "")
        for j, cell in enumerate(row.iterchildren(f"{M}e")):
            written += [", " if j else "", cell]
    return [*written, "]"]


def _lines(e: Element) -> list[Item]:
    written: list[Item] = []
    for i, line in enumerate(e.iterchildren(f"{M}e")):
        written += ["; " if i else "", line]
    return written


def _accented(e: Element) -> list[Item]:
    mark = _said(e, "accPr", "chr", "\u0302")
    return [*_grouped(e, "e"), mark]


_FORMS: Mapping[str, Callable[[Element], list[Item]]] = {
    f"{M}f": _fraction,
    f"{M}sSup": lambda e: [*_grouped(e, "e"), *_script(e, "sup")],
    f"{M}sSub": lambda e: [*_grouped(e, "e"), *_script(e, "sub")],
    f"{M}sSubSup": lambda e: [*_grouped(e, "e"), *_script(e, "sub", "sup")],
    f"{M}sPre": lambda e: [*_script(e, "sub", "sup"), *_grouped(e, "e")],
    f"{M}limLow": lambda e: [_part(e, "e"), *_script(e, "lim")],
    f"{M}limUpp": lambda e: [_part(e, "e"), "^", *_grouped(e, "lim"), "\0"],
    f"{M}rad": _radical,
    f"{M}nary": _nary,
    _DELIMITED: _delimited,
    f"{M}m": _matrix,
    f"{M}eqArr": _lines,
    f"{M}acc": _accented,
    f"{M}func": lambda e: [_part(e, "fName"), " ", _part(e, "e")],
}
