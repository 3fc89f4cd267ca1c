"""Paragraph styles: which are headings, code or quotes, and which bring a number, whatever language they are named in."""

from __future__ import annotations

import re
from typing import NamedTuple

from omnichunk.loaders.docx_names import Element, W, child, number, value

_HEADING = re.compile(
    r"(?:heading|head|überschrift|titre|título|titulo|titolo|kop|rubrik|overskrift|otsikko|заголовок|nagłówek"
    r"|nadpis|naslov|címsor|titlu|başlık|επικεφαλίδα|כותרת|عنوان|見出し|标题|標題|제목|หัวเรื่อง)\s*([1-9])(?:\D.*)?",
    re.IGNORECASE,
)
_LETTERED = re.compile(r"(?:h(?:ead)?[ _-]?([A-E1-6])|([A-E])[ _-]?head)", re.IGNORECASE)
_TITLE = re.compile(r"(?:(?:chapter|document|doc|book|report)[ _-]?)?title", re.IGNORECASE)
_CODE = re.compile(
    r"(?:\w*[ _-]?code|html[ _-]?preformatted|preformatted|verbatim|listing|macro text)"
    r"(?!.*(?:caption|title|label|head|char|number))",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"(?:intense |block )?(?:quote|quotations?)\b", re.IGNORECASE)
_INDENT = re.compile(r"list(?: bullet| number| continue)? ([2-5])", re.IGNORECASE)


class Style(NamedTuple):
    """What a paragraph has from its style.

    ``level``: of a heading, 1 outermost, 0 for none. ``kind``: ``code``, ``quote`` or empty. ``number``: id of its
    numbering, empty for none; ``depth``: level of its numbers, ``None`` to look it up by ``names``, the ids of the style
    and those it is based on, nearest first. ``indent``: how deep a list it is meant for.
    """

    level: int = 0
    kind: str = ""
    number: str = ""
    depth: int | None = None
    names: tuple[str, ...] = ()
    indent: int = 0


PLAIN = Style()


class Styles:
    """The paragraph styles of a document; an unknown id is judged by its own words."""

    def __init__(self, root: Element | None) -> None:
        self._elements: dict[str, Element] = {}
        self._known: dict[str, Style] = {}
        self.default = PLAIN
        default = ""
        for element in () if root is None else root.iterchildren(f"{W}style"):
            if element.get(f"{W}type") in ("paragraph", None):
                key = element.get(f"{W}styleId") or ""
                self._elements[key] = element
                if element.get(f"{W}default") in ("1", "true", "on"):
                    default = key
        if default:
            self.default = self.of(default)

    def of(self, key: str) -> Style:
        """The style with the id ``key``; follows what it is based on, once for each style."""
        chain: list[str] = []
        base: str | None = key
        while base and base not in self._known and base in self._elements:
            self._known[base] = PLAIN  # ends a circle
            chain.append(base)
            based = child(self._elements[base], f"{W}basedOn")
            base = None if based is None else value(based)
        if base and base not in self._known:
            self._known[base] = _named(PLAIN, base)
        style = self._known.get(base or "", PLAIN)
        for name in reversed(chain):
            style = self._known[name] = _extended(style, name, self._elements[name])
        return self._known.get(key, self.default)


def _extended(base: Style, key: str, element: Element) -> Style:
    """The style of ``element``, which says what differs from ``base``."""
    named = child(element, f"{W}name")
    style = _named(base, key if named is None else value(named))._replace(names=(key, *base.names[:8]))
    properties = child(element, f"{W}pPr")
    for said in () if properties is None else properties:
        if said.tag == f"{W}outlineLvl":
            level = number(value(said), 9)
            style = style._replace(level=level + 1 if 0 <= level < 9 else 0)
        elif said.tag == f"{W}numPr":
            ids, depths = child(said, f"{W}numId"), child(said, f"{W}ilvl")
            if ids is not None:
                style = style._replace(number=value(ids) if value(ids) != "0" else "")
            if depths is not None:
                style = style._replace(depth=number(value(depths)))
    return style


def _named(base: Style, name: str) -> Style:
    """``base`` with what a style called ``name`` means."""
    name = name.strip()
    heading = _HEADING.fullmatch(name)
    if heading:
        return base._replace(level=int(heading[1]), kind="")
    lettered = _LETTERED.fullmatch(name)
    if lettered or _TITLE.fullmatch(name):
        level = "abcde".find((lettered[1] or lettered[2]).lower()) + 1 if lettered else 1
        return base._replace(level=level or int(lettered[1] if lettered else 1), kind="")
    if name.lower() == "toc heading":
        return base._replace(level=0)
    if _CODE.match(name):
        return base._replace(kind="code")
    if _QUOTE.match(name):
        return base._replace(kind="quote")
    indent = _INDENT.fullmatch(name)
    return base._replace(indent=int(indent[1]) - 1) if indent else base
