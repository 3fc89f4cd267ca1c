"""Paragraphs to text: runs, fields, links and equations, in the final view of tracked changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from omnichunk.loaders.docx_math import equation
from omnichunk.loaders.docx_names import (
    ALTERNATE,
    DIAGRAM,
    EQUATION,
    ID,
    PROPERTIES,
    REMOVED,
    RPR,
    RUN,
    A,
    Element,
    R,
    W,
    alternatives,
    child,
    on,
)
from omnichunk.loaders.docx_numbering import formatted
from omnichunk.loaders.docx_package import Package, Relation
from omnichunk.loaders.docx_symbols import symbol

_HYPERLINK = re.compile(r'\s*HYPERLINK\s+"([^"]{1,2000})"')
_LITERALS = {
    f"{W}tab": "\t", f"{W}ptab": "\t", f"{W}cr": "\n", f"{W}br": "\n", f"{W}noBreakHyphen": "\u2011",
    f"{W}softHyphen": "\u00ad",
}  # fmt: skip
_REFERENCES = {
    f"{W}footnoteReference": "footnote",
    f"{W}endnoteReference": "endnote",
    f"{W}commentReference": "comment",
}
# What an element is to the walk; what is not listed is looked into, as any wrapper.
(_TEXT, _RUN, _LITERAL, _SKIP, _FIELD, _CODE, _LINK, _NOTE, _BOX, _EQUATION, _ALTERNATE, _SYMBOL, _RUBY, _DIAGRAM,
 _DELETED) = range(15)  # fmt: skip
_KINDS: Mapping[str, int] = {
    f"{W}t": _TEXT,
    RUN: _RUN,
    **dict.fromkeys(_LITERALS, _LITERAL),
    **dict.fromkeys((*PROPERTIES, *REMOVED, f"{W}delInstrText", f"{W}annotationRef"), _SKIP),
    f"{W}fldChar": _FIELD,
    f"{W}instrText": _CODE,
    f"{W}hyperlink": _LINK,
    **dict.fromkeys(_REFERENCES, _NOTE),
    f"{W}txbxContent": _BOX,
    EQUATION: _EQUATION,
    ALTERNATE: _ALTERNATE,
    f"{W}sym": _SYMBOL,
    f"{W}ruby": _RUBY,
    f"{DIAGRAM}relIds": _DIAGRAM,
    f"{W}delText": _DELETED,
}
_WITH_DELETIONS = {tag: kind for tag, kind in _KINDS.items() if tag != f"{W}del"} | {f"{W}delText": _TEXT}


class Reference(NamedTuple):
    """A note or comment a paragraph refers to. ``kind``: footnote, endnote or comment; ``mark``: as shown in the text."""

    kind: str
    key: str
    mark: str


class Marks:
    """The marks of all notes of a document, counted as they are met: ``1`` for footnotes, ``i`` for endnotes."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def of(self, kind: str, key: str) -> tuple[str, bool]:
        """The mark of a note, and whether it is met for the first time."""
        known = self._given.get((kind, key))
        if known is not None:
            return known, False
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        mark = self._given[kind, key] = formatted(count, "lowerRoman" if kind == "endnote" else "decimal")
        return mark, True


class Readers:
    """Makes the reader of each part of a document, alike in options and in the marks of notes.

    ``options``: ``docx_deletions``, ``docx_comments``, ``docx_hidden``: whether deleted text, references to comments, and
    text formatted as hidden count. ``concealed`` becomes true when some text is left out because it is hidden.
    """

    def __init__(self, package: Package, options: Mapping[str, bool]) -> None:
        self.package = package
        self.options = options
        self.marks = Marks()
        self.concealed = False

    def of(self, relations: Mapping[str, Relation]) -> Inline:
        """The reader of a part with these ``relations``."""
        return Inline(self, relations)


class Inline:
    """Turns the paragraphs of one part into text, in document order: fields reach over paragraphs.

    After each call of ``text``, ``boxes`` holds the text boxes it met, ``links`` the addresses, and ``references`` has
    grown by its notes; whoever uses them empties them.
    """

    def __init__(self, shared: Readers, relations: Mapping[str, Relation]) -> None:
        self.boxes: list[Element] = []
        self.links: dict[str, None] = {}
        self.references: list[Reference] = []
        self._shared = shared
        self._relations = relations
        self._comments = shared.options["docx_comments"]
        self._hidden = shared.options["docx_hidden"]
        self._kinds = _WITH_DELETIONS if shared.options["docx_deletions"] else _KINDS
        self._fields: list[bool] = []  # open fields, whether each is still in its instruction
        self._instructions = 0  # how many are

    def taken(self) -> dict[str, object]:
        """The addresses met so far, as a position has them, and none from here on."""
        links, self.links = self.links, {}
        return {"link": " ".join(links)} if links else {}

    def text(self, paragraph: Element) -> str:
        """The text of a paragraph, line breaks as ``\\n``. Cost: linear in its elements, however deep they nest."""
        out: list[str] = []
        kinds = self._kinds.get
        stack = [iter(paragraph)]
        while stack:
            for element in stack[-1]:
                kind = kinds(element.tag)
                if kind == _TEXT:
                    if not self._instructions and element.text:
                        out.append(element.text)
                elif kind == _SKIP:
                    pass
                elif kind == _RUN:
                    if not self._conceals(element):
                        stack.append(iter(element))
                        break
                elif kind == _LITERAL:
                    if not self._instructions:
                        out.append(_LITERALS[element.tag])
                elif kind is None:
                    stack.append(iter(element))
                    break
                else:
                    inner = self._special(kind, element, out)
                    if inner is not None:
                        stack.append(inner)
                        break
            else:
                stack.pop()
        if self._instructions:  # a field whose result never came: what follows is text again
            self._fields = [instruction for instruction in self._fields if not instruction]
            self._instructions = 0
        return "".join(out)

    def _conceals(self, run: Element) -> bool:
        """Whether a run is formatted as hidden and hidden text is left out."""
        if self._hidden:
            return False
        first = next(iter(run), None)
        if first is None or first.tag != RPR:
            return False
        vanish = child(first, f"{W}vanish")
        if vanish is None or not on(vanish):
            return False
        if any(True for _ in run.iterchildren(f"{W}t")) and not self._instructions:
            self._shared.concealed = True
            return True
        return False

    def _special(self, kind: int, element: Element, out: list[str]) -> Iterator[Element] | None:
        """What is rare: writes it, or gives what to walk next."""
        if kind == _LINK:
            relation = self._relations.get(element.get(f"{R}id") or "")
            if relation is not None and relation.external:
                self.links[relation.target] = None
            inner: Iterator[Element] = iter(element)
            return inner
        if kind == _ALTERNATE:
            return alternatives(element, lambda: len(out) + len(self.boxes))
        if kind == _RUBY:
            return _ruby(element, out)
        if kind == _FIELD:
            self._field(element, out)
            return None
        if kind == _CODE:
            target = _HYPERLINK.match(element.text or "")
            if target:
                self.links[target[1]] = None
            return None
        if kind == _BOX:
            self.boxes.append(element)
            return None
        if self._instructions:
            return None
        if kind == _NOTE:
            self._refer(element, out)
            return None
        if kind == _EQUATION:
            out.append(equation(element))
            return None
        if kind == _SYMBOL:
            out.append(symbol(element))
            return None
        if kind == _DIAGRAM:
            out.append(self._diagram(element))
            return None
        return None

    def _field(self, element: Element, out: list[str]) -> None:
        kind = element.get(f"{W}fldCharType")
        if kind == "begin":
            box = next(element.iter(f"{W}checkBox"), None)
            if box is not None and not self._instructions:
                state = child(box, f"{W}checked")
                state = child(box, f"{W}default") if state is None else state
                out.append("☒" if state is not None and on(state) else "☐")
            self._fields.append(True)
            self._instructions += 1
        elif self._fields and (kind == "separate" or kind == "end"):
            self._instructions -= self._fields.pop()
            if kind == "separate":
                self._fields.append(False)

    def _refer(self, element: Element, out: list[str]) -> None:
        kind, key = _REFERENCES[element.tag], element.get(ID) or ""
        if kind == "comment" and not self._comments:
            return
        mark, first = self._shared.marks.of(kind, key)
        if first:
            self.references.append(Reference(kind, key, mark))
        if kind != "comment":
            out.append(f"[{mark}]")

    def _diagram(self, element: Element) -> str:
        """The texts of a SmartArt drawing, one a line."""
        relation = self._relations.get(element.get(f"{R}dm") or "")
        if relation is None or relation.external or not self._shared.marks.of("drawing", relation.target)[1]:
            return ""
        root = self._shared.package.optional(relation.target, "a drawing")
        if root is None:
            return ""
        lines = ("".join(t.text or "" for t in paragraph.iter(f"{A}t")) for paragraph in root.iter(f"{A}p"))
        return "\n".join(line for line in lines if line)


def _ruby(element: Element, out: list[str]) -> Iterator[Element]:
    """The base text of a ruby, then its reading in parentheses."""
    yield from element.iterchildren(f"{W}rubyBase")
    out.append("(")
    yield from element.iterchildren(f"{W}rt")
    out.append(")")
