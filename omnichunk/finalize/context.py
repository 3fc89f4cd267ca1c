"""The context of a range: a pure function of the document and the range."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from omnichunk.finalize import trees
from omnichunk.finalize.boundaries import NEXT
from omnichunk.finalize.place import Place
from omnichunk.finalize.render import key_path, signature
from omnichunk.model.chunk import ByteRange, ChunkContext, EntityInfo, ImportInfo, LineRange, SegmentInfo, SiblingInfo
from omnichunk.model.document import told
from omnichunk.model.span import Span
from omnichunk.source.positions import PositionIndex
from omnichunk.structure.build import Segment, SpanTree

_SECTION_TYPES = {
    "heading": "heading", "paragraph": "paragraph", "text": "paragraph", "list": "list", "item": "list",
    "table": "table", "row": "table", "code": "code", "quote": "quote", "html": "html", "element": "html",
}  # fmt: skip
_CONTENT = {"code": "code", "prose": "prose", "markup": "markup", "data": "markup"}
_SIBLINGS = 2  # on each side
_NEAR = 20_000  # code points between a chunk and the last of them
_SEARCH = 12  # landmarks looked at for them
_DOC_QUOTES = re.compile(r'^[rRuUbBfF]{0,2}("""|\'\'\'|"|\')|("""|\'\'\'|"|\')\s*$')
_DOC_MARK = re.compile(
    r"[ \t]*(?:/\*+!?|///?!?|\*+/|\(\*+|\*(?![*)])|<#|#\[=*\[|#+'?|--\[=*\[|--+(?: ?[|^])?|;+|%+|!(?:[<>]|(?=\s|\Z)))[ \t]?"
)
_DOC_END = re.compile(r"(?:(?<!\*)\*+[/)]|#>|\]=*\])\Z")


def plain_doc(text: str) -> str:
    """A docstring or doc comment without its quotes or comment marks, lines dedented to plain sentences."""
    text = text.strip()
    bare = _DOC_QUOTES.sub("", text)
    if bare != text:
        lines = bare.strip().splitlines()
    else:
        if text[-1:] in ("/", ")", ">", "]") and (end := _DOC_END.search(text, text.rfind("\n") + 1)):
            text = text[: end.start()]
        lines = [line[mark.end() :] if (mark := _DOC_MARK.match(line)) else line for line in text.splitlines()]
    return "\n".join(map(str.strip, lines)).strip()


class Path(NamedTuple):
    """What a place contributes to the context of every chunk that starts there; ``chain``: its entities."""

    scope: tuple[EntityInfo, ...]
    headings: tuple[str, ...]
    breadcrumb: tuple[str, ...]
    table_header: str
    chain: tuple[Span, ...]


class Contexts:
    """Answers ``of(start, end, …)`` for one document; what many chunks share is made once, what only contexts need late.

    After ``release`` the syntax tree goes as soon as all that is made from it is there: see ``trees``.
    """

    def __init__(self, tree: SpanTree, positions: PositionIndex) -> None:
        self._tree = tree
        self._positions = positions
        self._entities: dict[int, EntityInfo] = {}
        self._imports: tuple[ImportInfo, ...] | None = None
        self._released = False
        self._errors = tuple(told(tree.errors))
        self._plain = not any(segment.metadata.keys() - {"parser_backend"} for segment in tree.segments)
        self._lock = tree.lock  # chunks may be read from several threads, and positions remember the last answer

    def release(self) -> None:
        """Say that all chunks are made, so nothing more will be opened to divide it."""
        self._released = True
        tree = self._tree
        if tree.parsed and self._imports is None and not tree.complete:
            trees.keep(self, len(tree.text), tree.seal)
        else:
            tree.seal()

    def finish(self) -> None:
        """Make all that contexts are made from."""
        with self._lock:
            self._shared()

    def _shared(self) -> tuple[ImportInfo, ...]:
        if self._imports is None:
            tree = self._tree
            self._imports = tuple(ImportInfo(name, source) for name, source in tree.imports)
            if self._released:
                trees.forget(self)
                tree.seal()
        return self._imports

    def of(self, start: int, end: int, place: Place, span: Span) -> ChunkContext:
        """The context of ``[start, end)``, whose first atom is ``span`` and lies at ``place``."""
        with self._lock:
            self._shared()  # and with it all spans that ``lead`` may meet
            return self._context(start, end, place, *lead(span, start, end))

    def led(self, start: int, end: int, place: Place, kind: str, opening: Sequence[Span]) -> ChunkContext:
        """``of``, where it is known what ``lead`` finds."""
        with self._lock:
            return self._context(start, end, place, kind, opening)

    def lines(self, start: int, end: int) -> LineRange:
        """The lines of ``[start, end)``, which is not empty."""
        with self._lock:
            return LineRange(self._positions.line(start), self._positions.line(end - 1))

    def _context(self, start: int, end: int, place: Place, kind: str, opening: Sequence[Span]) -> ChunkContext:
        imports = self._shared()
        scope, headings, crumbs, table, chain = self._path(place)
        more = tuple(section.name for section in opening if section not in chain)
        if more:
            headings += more
            crumbs += more
        entities = self._inside(start, end, chain)
        touched = self._touched(start, end)
        language, content = self._language(start, end, place, touched)
        return ChunkContext(
            self._tree.name,
            language,
            content,
            scope,
            crumbs,
            entities,
            self._siblings(start, end, chain),
            imports,
            headings,
            _section_type(kind, content, table),
            table,
            self._errors,
            self._metadata(touched),
            self._segments(touched, start),
        )

    def _touched(self, start: int, end: int) -> Sequence[Segment]:
        segments = self._tree.segments
        first = bisect_right(segments, start, key=lambda segment: segment.end)
        return segments[first : bisect_left(segments, end, first, key=lambda segment: segment.start)]

    def _metadata(self, touched: Sequence[Segment]) -> dict[str, Any]:
        """What is said of the segments ``touched``; where they differ, the first value and all under a plural key."""
        found: dict[str, Any] = {}
        for segment in touched:
            for key, value in segment.metadata.items():
                if found.setdefault(key, value) != value:
                    values = found.setdefault(f"{key}s", [found[key]])
                    if value not in values:
                        values.append(value)
        return found

    def _segments(self, touched: Sequence[Segment], start: int) -> tuple[SegmentInfo, ...]:
        if self._plain:
            return ()
        byte = self._positions.byte
        return tuple(
            SegmentInfo(ByteRange(byte(s.start), byte(s.end)), max(0, start - s.start), dict(s.metadata))
            for s in touched
        )

    def entity(self, span: Span, *, partial: bool) -> EntityInfo:
        """The entity of a labelled span; ``partial``: the chunk holds less than all of it."""
        info = self._entities.get(id(span))
        if info is None:
            detail = span.detail
            assert detail is not None
            text, positions = self._tree.text, self._positions
            owner = next((a for a in span.ancestors() if a.detail is not None and a.detail.label), None)
            info = EntityInfo(
                span.name,
                detail.label,
                signature(text, span),
                plain_doc(text[slice(*detail.doc)]) if detail.doc else "",
                ByteRange(positions.byte(span.start), positions.byte(span.end)),
                LineRange(positions.line(span.start), positions.line(max(span.start, span.end - 1))),
                False,
                owner.name if owner is not None else None,
            )
            self._entities[id(span)] = info
        if not partial:
            return info
        cut = self._entities.get(~id(span))
        if cut is None:
            cut = self._entities[~id(span)] = replace(info, is_partial=True)
        return cut

    def _path(self, place: Place) -> Path:
        if place.path is None:
            chain = place.chain()
            labelled = tuple(span for span in chain if span.detail is not None and span.detail.label)
            table = next((s.detail.carry for s in reversed(chain) if s.detail is not None and s.detail.carry), None)
            place.path = Path(
                tuple(self.entity(span, partial=True) for span in labelled if span.kind == "definition"),
                tuple(span.name for span in chain if span.kind == "section"),
                _crumbs(chain),
                self._tree.text[table[0] : table[1]] if table else "",
                labelled,
            )
        return place.path

    def _inside(self, start: int, end: int, chain: Sequence[Span]) -> tuple[EntityInfo, ...]:
        marks = self._tree.landmarks
        marks.reach(end)
        found = [self.entity(span, partial=True) for span in chain if span.start < start]
        i = bisect_left(marks.starts, start)
        starts, spans = marks.starts, marks.spans
        while i < len(starts) and starts[i] < end:
            span = spans[i]
            found.append(self.entity(span, partial=span.end > end))
            i += 1
        return tuple(found)

    def _siblings(self, start: int, end: int, chain: Sequence[Span]) -> tuple[SiblingInfo, ...]:
        marks = self._tree.landmarks
        marks.reach(end + _NEAR)
        if not marks.starts:
            return ()
        first, last = bisect_left(marks.starts, start), bisect_left(marks.starts, end)
        owner = marks.owners[first] if first < last else (chain[-1] if chain else None)
        before = self._neighbours(range(first - 1, -1, -1), start - _NEAR, end, owner, "before")
        after = self._neighbours(range(last, len(marks.starts)), end + _NEAR, end, owner, "after")
        return (*reversed(before), *after)

    def _neighbours(self, indices: range, limit: int, end: int, owner: Span | None, position: str) -> list[SiblingInfo]:
        marks = self._tree.landmarks
        starts, since = marks.starts, marks.since
        found: list[SiblingInfo] = []
        left = _SEARCH
        for i in indices:
            if not left or (starts[i] - limit) * indices.step > 0:
                break
            if since[i] >= end:
                continue
            left -= 1
            span = marks.spans[i]
            if marks.owners[i] is owner and span.name and span.detail is not None:
                found.append(SiblingInfo(span.name, span.detail.label, position, len(found) + 1))
                if len(found) == _SIBLINGS:
                    break
            elif span is owner:
                break
        return found

    def _language(self, start: int, end: int, place: Place, touched: Sequence[Segment]) -> tuple[str, str]:
        language = place.language
        kind = _CONTENT[self._tree.kind_of(language)]
        if any((self._tree.kind_of(s.language) == "code") != (kind == "code") for s in touched[1:]):
            return language, "hybrid"
        blocks = self._tree.landmarks.blocks
        if not blocks or kind == "code":
            return language, kind
        i = bisect_left(blocks, (start + 1,)) - 1
        if i >= 0 and blocks[i][1] > start:
            inside = end <= blocks[i][1] or self._tree.text[blocks[i][1] : end].isspace()
            return (blocks[i][2] or language, "code") if inside else (language, "hybrid")
        return language, "hybrid" if i + 1 < len(blocks) and blocks[i + 1][0] < end else kind


def _crumbs(chain: Sequence[Span]) -> tuple[str, ...]:
    """The names of the sections and definitions in ``chain``, those of entries between them as one key path."""
    crumbs: list[str] = []
    named = [span for span in chain if span.kind in ("section", "definition", "entry")]
    for is_keys, found in groupby(named, lambda span: span.kind == "entry"):
        run = [*found]
        crumbs += [key_path(run)] if is_keys else [span.name for span in run]
    return tuple(crumbs)


def _section_type(kind: str, content: str, table: str) -> str:
    if content == "code":
        return "code"
    return "table" if table else _SECTION_TYPES.get(kind, "paragraph")


def lead(span: Span, start: int, end: int) -> tuple[str, list[Span]]:
    """The kind of the first content of ``[start, end)``, which begins with ``span``, and the sections that open before.

    A heading directly followed by the heading of a subsection opens both.
    """
    while span.parent is not None and span.parent.start >= start and span.parent.kind not in ("part", "document"):
        span = span.parent
    if (
        span.glue == NEXT
        and span.kind != "heading"
        and span.parent is not None
        and span is next(iter(span.parent.known), None)
    ):
        following = span.parent.known[1:2]  # what stands before the content and belongs to it, like front matter
        span = following[0] if following and following[0].start < end else span
    opening: list[Span] = []
    while span.kind in ("section", "run") and span.start < end:
        if span.kind == "section" and span.name:
            opening.append(span)
        if not span.known:
            break
        span = next((child for child in span.known if child.kind != "heading"), span.known[0])
    return span.kind, opening
