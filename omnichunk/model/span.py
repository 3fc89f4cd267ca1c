"""Spans: nested ranges of a text, each with a reason to be kept whole.

A structure provider turns a segment into spans; the finalization stage cuts between them. Four rules hold for the
children of every span, and are all a provider has to keep:

1. They are sorted, disjoint and lie inside their parent. Offsets are code points, half open.
2. Each ``child.start`` is a legal place to cut. For code that is the first column of a line (indentation belongs to
   the child), unless the text is one long line.
3. What lies between two children belongs to the earlier one; what precedes the first child (an opening line, a
   signature) belongs to the first, what follows the last one (a closing bracket) to the last.
4. Children may be made late: ``opener`` is called at most once, and only if somebody must look inside, that is, when
   the span does not fit the budget. So a provider describes the outline and pays for details only where needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag


class Strength(IntEnum):
    """How good a cut before (and after) a span is. The values below SENTENCE belong to the ladder of ``breaks``."""

    CODE_POINT = 0
    CLUSTER = 1
    WORD = 2
    CLAUSE = 3
    SENTENCE = 4
    LINE = 5  # nested statement, line of a literal
    ITEM = 6  # list item, table row, key/value entry, statement
    BLOCK = 7  # paragraph, list, table, fence, element, group of statements
    SECTION = 8  # section, definition
    PART = 9  # segment of a document, page, cell


class Glue(IntFlag):
    """What a span must not be separated from while anything else fits."""

    NONE = 0
    NEXT = 1  # heading, doc comment, decorator, label, table header
    PREVIOUS = 2  # closing bracket, trailing comment, caption below


@dataclass(slots=True)
class Detail:
    """What the context says about a span; absent on spans that have nothing to say.

    ``label``: the entity type of the span (``function``, ``class``, ``heading``, ``table`` …), or empty when the span
    is no entity. ``signature`` and ``doc``: code point ranges of the document text. ``carry``: range of text a
    continuation repeats (a table header with its delimiter row). ``language``: canonical language of the content
    where it differs from its surroundings; with ``inner`` it asks for the provider of that language to describe the
    range ``inner`` (an injection) if the span must be opened. ``level``: heading level, 1 outermost.
    """

    label: str = ""
    signature: tuple[int, int] | None = None
    doc: tuple[int, int] | None = None
    carry: tuple[int, int] | None = None
    language: str = ""
    inner: tuple[int, int] | None = None
    level: int = 0

    def shifted(self, by: int) -> Detail:
        """The same detail for a text that stands ``by`` code points further on."""

        def move(r: tuple[int, int] | None) -> tuple[int, int] | None:
            return None if r is None else (r[0] + by, r[1] + by)

        return Detail(
            self.label, move(self.signature), move(self.doc), move(self.carry), self.language,
            move(self.inner), self.level,
        )  # fmt: skip


class Span:
    """One nested range.

    ``kind`` says what it is and how it enters the context:

    ``definition``  a code definition with its decorators and doc comment: scope, entity; never shares a chunk if large
    ``section``     a heading and all under it: heading path (``name``: title without markup)
    ``heading``     the heading itself, glued to what follows
    ``entry``       a key and its value (``name``: the key, ``[3]`` in arrays): key path
    ``element``     a markup element that is a container and no section
    ``block``       a container of paragraphs that is neither: an environment, a directive
    ``paragraph list item quote table row code html comment import statement text``  as they say
    ``part``        a segment of a loaded document

    ``strength``: of the cut before and after it. ``parent``: set when the parent is opened.
    """

    __slots__ = ("_children", "detail", "end", "glue", "kind", "name", "opener", "parent", "start", "strength")

    def __init__(
        self,
        start: int,
        end: int,
        kind: str,
        strength: Strength = Strength.BLOCK,
        name: str = "",
        detail: Detail | None = None,
        glue: Glue = Glue.NONE,
        children: Sequence[Span] | None = None,
        opener: Callable[[], Sequence[Span]] | None = None,
    ) -> None:
        self.start = start
        self.end = end
        self.kind = kind
        self.strength = strength
        self.name = name
        self.detail = detail
        self.glue = glue
        self.opener = opener
        self.parent: Span | None = None
        self._children = children
        if children:
            for child in children:
                child.parent = self

    @classmethod
    def group(cls, spans: Sequence[Span], parent: Span) -> Span:
        """A ``run`` of neighbouring children of ``parent``, which stays their parent."""
        run = cls(spans[0].start, spans[-1].end, "run", spans[0].strength, glue=spans[-1].glue)
        run.parent = parent
        run._children = spans
        return run

    @property
    def children(self) -> Sequence[Span]:
        """The spans inside, made now if they were not."""
        if self.opener is not None:
            opener, self.opener = self.opener, None
            self.adopt(opener())
        return self._children or ()

    def adopt(self, children: Sequence[Span]) -> None:
        """Make ``children``, found elsewhere, those of this span."""
        for child in children:
            child.parent = self
        self._children = children

    @property
    def known(self) -> Sequence[Span]:
        """The children that have been made so far; opens nothing."""
        return self._children or ()

    def __repr__(self) -> str:
        return f"Span({self.start}, {self.end}, {self.kind!r}, {self.name!r})"

    def ancestors(self) -> Iterator[Span]:
        """The enclosing spans, innermost first."""
        span = self.parent
        while span is not None:
            yield span
            span = span.parent

    def walk(self, *, open_all: bool = False) -> Iterator[Span]:
        """This span and all known descendants in document order; ``open_all`` makes the late ones too."""
        stack = [self]
        while stack:
            span = stack.pop()
            yield span
            stack.extend(reversed(span.children if open_all else span.known))

    def shift(self, by: int) -> None:
        """Move this span, its known descendants and all that are made later by ``by`` code points."""
        if not by:
            return
        for span in self.walk():
            span.start += by
            span.end += by
            if span.detail is not None:
                span.detail = span.detail.shifted(by)
            if span.opener is not None:
                span.opener = _shifted_opener(span.opener, by)


def _shifted_opener(opener: Callable[[], Sequence[Span]], by: int) -> Callable[[], Sequence[Span]]:
    def opened() -> Sequence[Span]:
        children = opener()
        for child in children:
            child.shift(by)
        return children

    return opened


@dataclass(slots=True)
class Structure:
    """What a provider found in one segment.

    ``spans``: sorted, disjoint, relative to the segment's text. ``imports``: ``(name, source)`` pairs in order.
    ``errors``: what was broken, each ending in ``line N`` (1-based in the segment) where known. ``backend``: the
    parser that was used, for ``format_metadata["parser_backend"]``. ``fallback`` tells that it is a substitute,
    ``parsed`` that spans will be opened from a syntax tree, which is let go of when the chunks are made. ``rest``: makes
    the spans inside those that only contexts look into, and gives all imports; called once at most, before any context.
    """

    spans: Sequence[Span] = ()
    imports: Sequence[tuple[str, str]] = ()
    errors: Sequence[str] = ()
    backend: str = ""
    fallback: bool = False
    parsed: bool = False
    rest: Callable[[], Sequence[tuple[str, str]]] | None = None
