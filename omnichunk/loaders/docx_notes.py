"""Footnotes, endnotes and comments: found by the paragraph that refers to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from omnichunk.loaders.docx_inline import Inline, Readers, Reference
from omnichunk.loaders.docx_names import ID, Element, W
from omnichunk.loaders.docx_package import Package, Relation

_PARTS = {"footnote": "footnotes", "endnote": "endnotes", "comment": "comments"}


class Note(NamedTuple):
    """A note: its element, how the paragraphs of its part are read, and its position."""

    element: Element
    inline: Inline
    position: Mapping[str, object]


class Notes:
    """The notes of a document, each part of them read when the first is asked for."""

    def __init__(self, package: Package, relations: Mapping[str, Relation], readers: Readers) -> None:
        self._package = package
        self._targets = {r.kind: r.target for r in relations.values() if not r.external}
        self._readers = readers
        self._read: dict[str, tuple[Inline, dict[str, Element]]] = {}

    def of(self, reference: Reference) -> Note | None:
        """The note ``reference`` points to; ``None``, and a warning, when there is none."""
        kind = reference.kind
        if kind not in self._read:
            self._read[kind] = self._part(kind)
        inline, elements = self._read[kind]
        element = elements.get(reference.key)
        if element is None:
            if elements:
                self._package.warn(f"A {kind} is referred to and missing.")
            return None
        position: dict[str, object] = {kind: reference.mark}
        author = element.get(f"{W}author")
        if author:
            position["author"] = author
        return Note(element, inline, position)

    def _part(self, kind: str) -> tuple[Inline, dict[str, Element]]:
        target = self._targets.get(_PARTS[kind], f"word/{_PARTS[kind]}.xml")
        if not self._package.has(target):
            self._package.warn(f"The part {target} is missing. Read without {_PARTS[kind]}.")
            return self._readers.of({}), {}
        root = self._package.optional(target, _PARTS[kind])
        elements: dict[str, Element] = {}
        for element in () if root is None else root.iterchildren(W + kind):
            elements.setdefault(element.get(ID) or "", element)
        return self._readers.of(self._package.relations(target)), elements


def label(reference: Reference, position: Mapping[str, object]) -> str:
    """What stands before the text of a note: the mark that refers to it, or who commented."""
    if reference.kind != "comment":
        return f"[{reference.mark}]"
    return f"[Comment by {position['author']}]" if "author" in position else "[Comment]"
