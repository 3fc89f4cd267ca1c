"""Numbers of paragraphs: Word stores which list and level a paragraph has, and whoever shows it counts."""

from __future__ import annotations

import re
from typing import NamedTuple

from omnichunk.loaders.docx_names import VAL, Element, W, child, number, on, value
from omnichunk.loaders.docx_styles import Style

LEVELS = 9
BULLET = "-"
_PLACE = re.compile(r"%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_HAN = "〇一二三四五六七八九"
_HAN_FORMATS = frozenset(
    ("chineseCounting", "chineseCountingThousand", "japaneseCounting", "taiwaneseCounting",
     "taiwaneseCountingThousand", "ideographDigital", "japaneseDigitalTenThousand", "taiwaneseDigital")
)  # fmt: skip
_ALPHABETS = {
    "Letter": "abcdefghijklmnopqrstuvwxyz",
    "russian": "абвгдежзиклмнопрстуфхцчшщыэюя",
}


class Level(NamedTuple):
    """One level of a list. ``text``: the label with ``%1`` for the number of the first level."""

    start: int = 1
    format: str = "decimal"
    text: str = ""
    restart: bool = True
    legal: bool = False


class Numbering:
    """The lists of a document and how far each has been counted."""

    def __init__(self, root: Element | None) -> None:
        self._lists: dict[str, str] = {}  # numId -> id of the abstract list
        self._levels: dict[str, dict[int, Level]] = {}  # of each abstract list
        self._linked: dict[str, str] = {}  # abstract list -> name of the style that defines it
        self._defined: dict[str, str] = {}  # style name -> abstract list
        self._styled: dict[tuple[str, str], int] = {}  # abstract list, style -> level
        self._overrides: dict[str, dict[int, Level | int]] = {}
        self._counts: dict[str, list[int | None]] = {}
        for element in () if root is None else root:
            if element.tag == f"{W}abstractNum":
                self._abstract(element)
            elif element.tag == f"{W}num":
                self._num(element)

    def _abstract(self, element: Element) -> None:
        key = element.get(f"{W}abstractNumId") or ""
        levels = self._levels[key] = {}
        for part in element:
            if part.tag == f"{W}lvl":
                depth = number(part.get(f"{W}ilvl"))
                levels[depth] = _level(part)
                style = child(part, f"{W}pStyle")
                if style is not None:
                    self._styled[key, value(style)] = depth
            elif part.tag == f"{W}numStyleLink":
                self._linked[key] = value(part)
            elif part.tag == f"{W}styleLink":
                self._defined[value(part)] = key

    def _num(self, element: Element) -> None:
        key, abstract = element.get(f"{W}numId") or "", child(element, f"{W}abstractNumId")
        self._lists[key] = "" if abstract is None else value(abstract)
        for override in element.iterchildren(f"{W}lvlOverride"):
            depth, level = number(override.get(f"{W}ilvl")), child(override, f"{W}lvl")
            start = child(override, f"{W}startOverride")
            if start is not None:
                self._overrides.setdefault(key, {})[depth] = number(value(start), 1)
            elif level is not None:
                self._overrides.setdefault(key, {})[depth] = _level(level)

    def depth(self, key: str, style: Style) -> int:
        """The level at which ``style`` counts in the list ``key``."""
        if style.depth is not None:
            return style.depth
        abstract = self._resolve(key)
        return next((d for n in style.names if (d := self._styled.get((abstract, n))) is not None), 0)

    def label(self, key: str, depth: int) -> str:
        """Count one paragraph at level ``depth`` of the list ``key``; its label: ``2.1``, ``BULLET``, or empty."""
        abstract = self._resolve(key)
        levels = self._levels.get(abstract)
        if not levels:
            return ""
        depth = min(max(depth, 0), LEVELS - 1)
        overrides = self._overrides.get(key, {})
        counts = self._counts.setdefault(abstract, [None] * LEVELS)
        restart = overrides.pop(depth, None) if isinstance(overrides.get(depth), int) else None
        level = self._at(levels, overrides, depth)
        current = counts[depth]
        if isinstance(restart, int):
            counts[depth] = restart
        else:
            counts[depth] = level.start if current is None else current + 1
        for deeper in range(depth + 1, LEVELS):
            if self._at(levels, overrides, deeper).restart:
                counts[deeper] = None
        if level.format == "bullet":
            return BULLET

        def shown(place: re.Match[str]) -> str:
            other = int(place[1]) - 1
            its = self._at(levels, overrides, other)
            count = counts[other]
            written = "decimal" if level.legal else its.format
            return formatted(its.start if count is None else count, written)

        return _PLACE.sub(shown, level.text).strip()

    def _at(self, levels: dict[int, Level], overrides: dict[int, Level | int], depth: int) -> Level:
        override = overrides.get(depth)
        return override if isinstance(override, Level) else levels.get(depth, Level())

    def _resolve(self, key: str) -> str:
        abstract = self._lists.get(key, "")
        linked = self._linked.get(abstract)
        return abstract if linked is None else self._defined.get(linked, abstract)


def _level(element: Element) -> Level:
    found = {part.tag: part for part in element}

    def said(name: str, default: str) -> str:
        part = found.get(f"{W}{name}")
        return default if part is None else part.get(VAL) or ""

    legal = found.get(f"{W}isLgl")
    return Level(
        number(said("start", "0")),
        said("numFmt", "decimal"),
        said("lvlText", "")[:64],
        said("lvlRestart", "") != "0",
        legal is not None and on(legal),
    )


def formatted(count: int, style: str) -> str:
    """``count`` as Word writes it in the number format ``style``; decimal where the format cannot or is not known."""
    if style == "none":
        return ""
    if style == "decimalZero":
        return f"{count:02d}"
    if style == "ordinal":
        teen = 10 < count % 100 < 14
        return f"{count}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(count % 10, 'th')}"
    if style in ("lowerRoman", "upperRoman") and 0 < count < 5000:
        digits = ""
        for worth, letters in _ROMAN:
            times, count = divmod(count, worth)
            digits += letters * times
        return digits if style == "lowerRoman" else digits.upper()
    for case in ("lower", "upper"):
        alphabet = _ALPHABETS.get(style.removeprefix(case)) or _ALPHABETS.get(style.removesuffix(case.title()))
        if alphabet and case in style.lower() and 0 < count <= 30 * len(alphabet):
            letters = alphabet[(count - 1) % len(alphabet)] * ((count - 1) // len(alphabet) + 1)
            return letters if case == "lower" else letters.upper()
    if style in _HAN_FORMATS and 0 <= count < 10_000:
        return _han(count, digital="igital" in style)
    if (
        style in ("decimalEnclosedCircle", "decimalEnclosedCircleChinese", "ideographEnclosedCircle")
        and 0 < count <= 20
    ):
        return chr(0x245F + count)
    if style in ("decimalFullWidth", "decimalFullWidth2"):
        return str(count).translate({0x30 + digit: 0xFF10 + digit for digit in range(10)})
    return str(count)


def _han(count: int, *, digital: bool) -> str:
    if digital or count == 0:
        return "".join(_HAN[int(digit)] for digit in str(count))
    written, gap = "", False
    for worth, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, count = divmod(count, worth)
        if digit:
            written += (
                ("〇" if gap else "") + ("" if digit == 1 and unit == "十" and not written else _HAN[digit]) + unit
            )
            gap = False
        elif written and count:
            gap = True
    return written
