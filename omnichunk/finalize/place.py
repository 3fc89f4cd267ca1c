"""Places: what encloses a position.

A place is one link of a chain, innermost first, so entering a span costs the same at any depth. What a chunk says about
itself depends on the place it starts at alone; that is why room for it can be reserved before cutting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnichunk.model.span import Span

if TYPE_CHECKING:
    from omnichunk.finalize.context import Path
    from omnichunk.finalize.render import Header

_DEEPEST = 200  # links that are read; a deeper chain keeps its innermost ones


class Place:
    """The innermost enclosing span that the context names, and the place around it.

    ``language``: of the innermost part or injection. ``header`` and ``path`` are kept here by ``Headers`` and
    ``Contexts``, which make them once a place.
    """

    __slots__ = ("header", "language", "outer", "path", "span")

    def __init__(self, span: Span | None, outer: Place | None, language: str) -> None:
        self.span = span
        self.outer = outer
        self.language = language
        self.header: Header | None = None
        self.path: Path | None = None

    def enter(self, span: Span) -> Place:
        """The place of positions inside ``span`` and not at its start; this one if ``span`` has nothing to say."""
        detail = span.detail
        if span.kind == "part" and detail is not None:
            return Place(span, self, detail.language)
        named = span.name and span.kind in ("section", "definition", "entry")
        if named or (detail is not None and (detail.carry is not None or detail.language)):
            language = detail.language if detail is not None and detail.language else self.language
            return Place(span, self, language)
        return self

    def chain(self) -> list[Span]:
        """The enclosing spans that have something to say, outermost first."""
        spans: list[Span] = []
        place: Place | None = self
        while place is not None and len(spans) < _DEEPEST:
            if place.span is not None:
                spans.append(place.span)
            place = place.outer
        spans.reverse()
        return spans
