"""Positioned text of a PDF page: one pass of pypdf's plain extraction, listened to by visitors.

Lines are what pypdf took for lines; white space is where it saw a gap. A line is measured in a frame turned with its
text: ``u`` runs along the baseline, ``v`` down the page, both in points. Its right end is worked out from the widths the
font declares, else from half an em a character (one for wide scripts), and may be off by a tenth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from omnichunk.loaders.pdf_border import foreign

if TYPE_CHECKING:
    from pypdf import PageObject

FAR = 1e6
"""No coordinate of a real page is as large; what is, stands at the origin."""
CELL_GAP = 1.2
"""A gap of so many ems between two pieces of a line separates cells or columns; justified words stay below one."""
SPACE_WIDTH = 300.0
"""Thousandths of an em taken for a word space where a font has none; TeX kerns letters apart by up to 140."""

_WIDE = re.compile("[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]")
_BOLD = re.compile(r"bold|black|heavy|demi|medi$|(?:cm|sf)bx|-bd", re.IGNORECASE)
_FORMS = re.compile("[\ufb00-\ufb06\ufb1d-\ufdfb\ufe70-\ufefc]+")
_LIGATURES = {"\ufb05": "st"}
_JUNK = dict.fromkeys([*range(9), *range(14, 32), 0x7F, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)])


# Predefined maps of double-byte fonts that pypdf takes for UTF-16: name without its direction -> Python's codec.
# "jis" is JIS X 0208 itself: EUC-JP without its high bits.
_CODECS = {
    "": "jis",
    "EUC": "euc_jp",
    **dict.fromkeys(("RKSJ", "83pv-RKSJ", "90msp-RKSJ", "90pv-RKSJ", "Add-RKSJ", "Ext-RKSJ"), "cp932"),
    "GBKp-EUC": "gbk",
    **dict.fromkeys(("B5pc", "HKscs-B5"), "big5hkscs"),
    **dict.fromkeys(("KSC-EUC", "KSCpc-EUC", "KSCms-UHC", "KSCms-UHC-HW"), "cp949"),
}


class TooMuchWork(Exception):
    """The document has used up the operations it is allowed."""


class Cell(NamedTuple):
    """A piece of a line between two wide gaps."""

    u0: float
    u1: float
    text: str


@dataclass(slots=True)
class Line:
    """One line of a page.

    ``size``: of its longest run. ``turn``: direction of the text, degrees counter-clockwise. ``cells``: its pieces when
    wide gaps divide it, else empty. ``spaced``: white space followed in the file. ``level`` and ``title``: of a heading.
    """

    text: str
    u0: float
    u1: float
    v: float
    size: float
    bold: bool = False
    turn: int = 0
    cells: tuple[Cell, ...] = ()
    spaced: bool = False
    level: int = 0
    title: str = ""
    kind: str = ""


@dataclass(slots=True)
class Budget:
    """Content stream operations a document may still use."""

    left: int


class _Run(NamedTuple):
    text: str
    x: float
    y: float
    dx: float
    dy: float
    size: float
    face: Face


@dataclass(slots=True)
class Face:
    """What is known of a font: whether it is bold, and widths by code in thousandths of an em, if it lists them."""

    bold: bool = False
    widths: tuple[float, ...] = ()
    mean: float = 500.0
    codec: str = ""

    def decoded(self, text: str) -> str:
        """``text`` that was read as UTF-16 while the font has another encoding; spaces are pypdf's and stay."""
        return " ".join([self._recoded(part) for part in text.split(" ")])

    def _recoded(self, text: str) -> str:
        data = text.encode("utf-16-be", "replace")
        if self.codec == "jis":
            return bytes(byte | 0x80 for byte in data).decode("euc_jp", "replace")
        return data.decode(self.codec, "replace")

    def width(self, text: str) -> float:
        """Ems that ``text`` takes."""
        if not self.widths:
            wide = 0 if text.isascii() else len(_WIDE.findall(text))
            return (len(text) + wide) * self.mean / 1000
        widths = self.widths
        return sum([widths[code] for code in text.encode("latin-1", "replace")]) / 1000


@dataclass(slots=True)
class Faces:
    """The faces of a document, by the identity of pypdf's font objects, which are kept alive here."""

    known: dict[int, tuple[object, Face]] = field(default_factory=dict)

    def of(self, font: Any) -> Face:
        found = self.known.get(id(font))
        if found is None:
            found = self.known[id(font)] = (font, _face(font))
        return found[1]


def _face(font: Any) -> Face:
    if font is None:
        return Face()
    face = Face(bool(_BOLD.search(str(font.get("/BaseFont", "")))))
    encoding = font.get("/Encoding")
    if isinstance(encoding, str) and font.get("/Subtype") == "/Type0" and "/ToUnicode" not in font:
        name = encoding.lstrip("/")
        face.codec = _CODECS.get(
            name[:-2].rstrip("-") if name[-2:] in ("-H", "-V") else "" if name in "HV" else "?", ""
        )
    listed, first = font.get("/Widths"), font.get("/FirstChar")
    if font.get("/Subtype") == "/Type3" or not isinstance(first, int) or not 0 <= first < 256:
        return face
    listed = listed.get_object() if listed is not None else ()
    given = [float(w) if isinstance(w, (int, float)) and 0 <= w < 4000 else 0.0 for w in listed[: 256 - first]]
    real = [w for w in given if w]
    if real:
        face.mean = sum(real) / len(real)
        padded = [0.0] * first + given + [0.0] * (256 - first - len(given))
        padded[32] = padded[32] or 250.0  # TeX fonts have no space; its usual width is a quarter of an em
        face.widths = tuple(w or face.mean for w in padded)
    return face


_GAP = _Run(" ", 0.0, 0.0, 1.0, 0.0, 1.0, Face())


def clean(text: str) -> str:
    """``text`` without control characters, with ligatures and Arabic presentation forms as letters."""
    if text.isascii() and text.isprintable():
        return text
    return _FORMS.sub(_letters, text.translate(_JUNK).replace("\u00ad\u200b", "\u00ad"))


def _letters(match: re.Match[str]) -> str:
    return "".join(_LIGATURES.get(c) or normalize("NFKC", c).strip() or c for c in match[0])


def lines_of(page: PageObject, faces: Faces, budget: Budget) -> tuple[list[Line], Exception | None]:
    """The lines of a page in the order of its content stream, and what stopped the extraction, if anything did.

    What was read before a damaged place is kept. Every exception comes out of pypdf; the caller knows which it expects.
    """
    runs: list[_Run | None] = []

    def operation(operator: bytes, operands: object, cm: object, tm: object) -> None:
        budget.left -= 1
        if budget.left < 0:
            raise TooMuchWork

    def shown(text: str, cm: Sequence[float], tm: Sequence[float], font: Any, size: float) -> None:
        if not text:
            return
        if text == " ":  # half of all calls: a gap, of which only the neighbours' places count
            runs.append(_GAP)
            return
        a, b = tm[0] * cm[0] + tm[1] * cm[2], tm[0] * cm[1] + tm[1] * cm[3]
        c, d = tm[2] * cm[0] + tm[3] * cm[2], tm[2] * cm[1] + tm[3] * cm[3]
        x, y = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        height = abs(size) * math.hypot(c, d)
        along = math.hypot(a, b)
        if not (abs(x) < FAR and abs(y) < FAR):
            x = y = 0.0
        if not 0.01 < height < FAR:
            height = 1.0
        dx, dy = (a / along, b / along) if 0 < along < FAR else (1.0, 0.0)
        known = faces.known.get(id(font))
        face = known[1] if known else faces.of(font)
        for i, part in enumerate(text.split("\n")):
            if i:
                runs.append(None)
            if part:
                runs.append(_Run(face.decoded(part) if face.codec else part, x, y, dx, dy, height, face))

    stopped: Exception | None = None
    try:
        page.extract_text(space_width=SPACE_WIDTH, visitor_text=shown, visitor_operand_before=operation)
    except TooMuchWork as error:
        stopped = error
    except foreign() as error:
        stopped = error
    return _lines(runs), stopped


def _lines(runs: list[_Run | None]) -> list[Line]:
    lines: list[Line] = []
    row: list[_Run] = []
    seen: dict[str, list[tuple[float, float]]] = {}
    for run in [*runs, None]:
        if run is None:
            if row and (line := _line(row)) is not None:
                lines.append(line)
            row = []
        elif run.text.isspace() or not _printed_twice(run, seen):
            row.append(run)
    return lines


def _printed_twice(run: _Run, seen: dict[str, list[tuple[float, float]]]) -> bool:
    """Whether the same text was shown at almost the same place before, as some writers do for bold or a shadow."""
    near = 0.2 * run.size
    places = seen.setdefault(run.text, [])
    if any(abs(run.x - x) < near and abs(run.y - y) < near for x, y in places[-8:]):
        return True
    places.append((run.x, run.y))
    return False


def _line(row: list[_Run]) -> Line | None:
    """The runs between two line breaks as a line, divided into cells at its wide gaps; ``None`` if they are blank."""
    shown = [run for run in row if not run.text.isspace()]
    if not shown:
        return None
    main = max(shown, key=lambda run: len(run.text))
    dx, dy, size = main.dx, main.dy, main.size
    cells: list[Cell] = []
    parts: list[str] = []
    start = end = 0.0
    for run in row:
        blank = run.text.isspace()
        if not blank:
            u = run.x * dx + run.y * dy
            if not parts or (CELL_GAP * size < u - end and (parts[-1][-1].isspace() or run.text[0].isspace())):
                if parts:
                    cells.append(Cell(start, end, clean("".join(parts)).strip()))
                parts, start = [], u
            end = max(u, u + run.face.width(run.text.rstrip()) * run.size)
        if parts or not blank:
            parts.append(run.text)
    raw = "".join(parts)
    cells.append(Cell(start, end, clean(raw).strip()))
    text = clean("".join([run.text for run in row])).strip()
    if not text:
        return None
    return Line(
        text,
        min(cell.u0 for cell in cells),
        max(cell.u1 for cell in cells),
        main.x * dy - main.y * dx,
        size,
        all(run.face.bold for run in shown),
        round(math.degrees(math.atan2(dy, dx)) / 5) * 5 % 360,
        tuple(cells) if len(cells) > 1 and all(cell.text for cell in cells) else (),
        row[-1].text[-1:].isspace(),
    )
