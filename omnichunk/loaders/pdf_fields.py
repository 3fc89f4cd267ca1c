"""What a page shows or carries beside its content stream: values of form fields, and annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnichunk.loaders.pdf_border import foreign
from omnichunk.loaders.pdf_text import FAR, Line, clean

if TYPE_CHECKING:
    from pypdf import PageObject

ANNOTATIONS = 2_000
"""Annotations of a page that are looked at."""
HIDDEN = 1 << 1 | 1 << 5
"""Flags of an annotation that no viewer shows."""
_NO_COMMENT = frozenset(("/Link", "/Popup", "/Widget", "/PrinterMark", "/TrapNet", "/Watermark", "/Screen", "/3D"))


def fields_of(page: PageObject, annotations: bool) -> tuple[list[Line], list[Line]]:
    """Filled-in values, each a line where its field stands, and the comments of a page (none unless ``annotations``).

    A free text is shown on the page and counts as a value. Exceptions are pypdf's.
    """
    listed = page.get("/Annots")
    values: list[Line] = []
    comments: list[Line] = []
    for reference in (listed.get_object() or ())[:ANNOTATIONS] if listed is not None else ():
        try:
            note = reference.get_object()
            subtype = note.get("/Subtype")
            shown = subtype == "/FreeText"
            flags = note.get("/F")
            if isinstance(flags, int) and flags & HIDDEN:
                continue
            if subtype == "/Widget":
                text = _value(note)
            elif annotations and subtype not in _NO_COMMENT:
                text = _text(note.get("/Contents"))
            else:
                continue
            if not text:
                continue
            x, y, x1, y1 = (float(number) for number in note["/Rect"])
        except foreign():
            continue
        left, right, low, high = min(x, x1), max(x, x1), min(y, y1), max(y, y1)
        if not (abs(left) < FAR and abs(right) < FAR and abs(low) < FAR and abs(high) < FAR):
            left, right, low, high = 0.0, 1.0, 0.0, 10.0
        size = min(max(high - low, 4.0), 12.0)
        baseline = (low + high - size) / 2 + 0.2 * size if high - low < 2 * size else high - size
        lines = [
            Line(part, left, max(right, left + 1), -baseline + i * 1.2 * size, size)
            for i, part in enumerate(clean(line).strip() for line in text.splitlines())
            if part
        ]
        if subtype == "/Widget" or shown:
            values += lines
        else:
            for line in lines:
                line.kind = "comment"
            comments += lines
    return values, comments


def _value(widget: Any) -> str:
    """What is filled in: the field's value, which may stand in its parent; for a button, the state it is in if not off."""
    if widget.get("/Parent") is not None and "/V" not in widget:
        parent = widget["/Parent"].get_object()
    else:
        parent = widget
    if (widget.get("/FT") or parent.get("/FT")) == "/Btn":
        state = str(widget.get("/AS") or "").lstrip("/")
        return "" if state == "Off" else state
    flags = widget.get("/Ff") or parent.get("/Ff") or 0
    return "" if isinstance(flags, int) and flags & 1 << 13 else _text(parent.get("/V"))


def _text(value: Any) -> str:
    if value is None:
        return ""
    value = value.get_object()
    if isinstance(value, list):
        return "\n".join(filter(None, (_text(part) for part in value[:100] if not isinstance(part, list))))
    return str(value) if isinstance(value, str) else ""


def placed(lines: list[Line], values: list[Line]) -> list[Line]:
    """``lines`` in reading order with every value after the nearest line on its left or, failing that, above it."""
    for value in values:
        best: tuple[float, int] | None = None
        for i, line in enumerate(lines):
            if line.turn or line.kind == "comment":
                continue
            if abs(line.v - value.v) < 0.9 * max(line.size, value.size) and line.u0 <= value.u0:
                rank = (value.u0 - line.u0) / 10
            elif line.v < value.v:
                rank = 100.0 + value.v - line.v
            else:
                continue
            if best is None or rank <= best[0]:
                best = (rank, i)
        lines.insert(best[1] + 1 if best else 0, value)
    return lines
