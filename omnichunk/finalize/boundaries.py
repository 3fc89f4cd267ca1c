"""The span tree as a row of atoms: ranges that fit the budget and are not cut unless a count says they must be.

An atom is a span that fits with the context it would be given, a run of small siblings, or a piece that the ladder of
breaks cut from a leaf that does not fit. Spans are opened only where they are too large, so the work follows the chunks
and not the nodes. Atoms tile the text; each carries the strength of the cut before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from omnichunk.errors import BudgetError
from omnichunk.finalize.gauge import Gauge
from omnichunk.finalize.place import Place
from omnichunk.finalize.render import Headers
from omnichunk.model.options import ChunkOptions
from omnichunk.model.span import Glue, Span, Strength
from omnichunk.source.breaks import pieces
from omnichunk.structure.build import SpanTree

RUN = 16  # siblings are joined into runs of at most a sixteenth of the budget: enough choice, few atoms
PIECE = 8  # and small units of a leaf into pieces of about an eighth

# Above this share of the budget a span shares its chunks with none of its neighbours, so what is edited inside it moves
# no cut outside. For definitions a quarter is worth 11 points of recall with a dense retriever.
ALONE = {"definition": 0.25, "section": 0.3, "code": 1.0, "table": 1.0}
ROOMY = 0.85  # of the budget: a container that is no unit and is larger than this is opened
LEAD = 4  # a heading or comment up to a quarter of the budget is kept with what follows, if that must be divided for it
MOST = 0.8  # but a code block or table up to this share of the room is kept whole rather than beside its heading
_RIGID = frozenset(("code", "table", "definition"))
_SOFT = frozenset(
    ("section", "list", "run")
)  # containers that are no unit: cutting between their children costs little


class Atom(NamedTuple):
    """``[start, end)`` of the text.

    ``strength``, ``depth``: of the cut before it. ``glued``: that cut is avoided while both sides fit. ``barrier``: a chunk must start
    here. ``place``: of its start; ``inner``: of what lies inside its parent. ``span``: the span it is, or is a part of;
    ``whole``: it is all of that span, so it can be divided by opening it. ``parts``: the atoms it was glued from.
    """

    span: Span
    start: int
    end: int
    strength: Strength
    depth: int
    glued: bool
    place: Place
    inner: Place
    whole: bool = True
    barrier: bool = False
    parts: tuple[Atom, ...] = ()


class Boundaries:
    """Makes the atoms of one document, lazily and in order."""

    def __init__(self, tree: SpanTree, gauge: Gauge, options: ChunkOptions, headers: Headers) -> None:
        self._tree = tree
        self._gauge = gauge
        self._header = headers.at
        self._budget = options.max_chunk_size
        self._policy = options.overflow_policy
        apart = ALONE if options.target_fill < 1 else {}
        self._alone = {kind: self._budget * share for kind, share in apart.items()}
        self._roomy = ROOMY if apart else 1.0
        self._barriers: set[int] = set()
        self._language = ""  # of the part before; a chunk never holds parts of two languages
        self._end = len(tree.text)

    def atoms(self) -> Iterator[Atom]:
        """All atoms of the document; they tile its text."""
        place = Place(None, None, self._tree.language, None)
        root = Atom(self._tree.root, 0, self._end, Strength.PART, 0, False, place, place)
        if self._end and self._tree.root.known:
            yield from self._walk(self._opened(root, self._tree.root.known, self._budget), self._budget)
        elif self._end:
            yield from self._leaf(root, self._budget)

    def divide(self, atom: Atom, excess: float) -> list[Atom]:
        """The parts of an atom that was counted to be ``excess`` times too large.

        The policy ``preserve`` gives the atom itself when it has no structure left. Raises BudgetError where it cannot be
        divided: a single code point, or a unit under the policy ``error``.
        """
        if atom.parts:
            return [atom._replace(end=atom.parts[0].end, parts=()), *atom.parts[1:]]
        children = self._tree.open(atom.span) if atom.whole else ()
        if children:
            budget = self._budget / excess
            parts = list(self._walk(self._opened(atom, children, budget), budget))
        else:
            parts = list(self._leaf(atom, self._budget, counted=True))
        if len(parts) == 1 and parts[0].whole == atom.whole and self._policy != "preserve":
            raise self._indivisible(atom)
        return parts

    def _walk(self, stack: list[Atom], budget: float) -> Iterator[Atom]:
        header = self._header
        size_of = self._gauge.size
        at = self._gauge.at
        never = float("inf")
        held: Atom | None = None  # the last atom, until it is known whether the next one is glued to it
        while stack:
            atom = stack.pop()
            span, start, end = atom.span, atom.start, atom.end
            if span.kind == "part":
                place = atom.inner.enter(span)
                if place.language != self._language:
                    self._barriers.add(start)
                    self._language = place.language
                atom = atom._replace(place=place, inner=place)
                if span.known:
                    stack += self._opened(atom, span.known, budget)
                    continue
            if span.kind == "section" and span.name and not self._shows(span):
                atom = atom._replace(place=atom.inner.enter(span))
            if at(end) - at(start) > self._alone.get(span.kind, never):
                self._barriers.update((start, end))
            lead = held if atom.glued and held is not None and at(start) - at(held.start) <= budget / LEAD else None
            begin, limit = (start, header(atom.place)) if lead is None else (lead.start, header(lead.place))
            room = budget * self._roomy - limit.room if span.kind in _SOFT else budget - limit.least
            if start == 0 and end == self._end:
                room = budget  # all there is: no cut would leave more room for context
            found: Iterable[Atom] = ()
            if size_of(begin, end, room) <= room:
                found = (atom,)
            elif lead is not None and span.kind in _RIGID and size_of(start, end, room) <= room * MOST:
                found = (atom._replace(glued=False),)
            elif end > span.end > start and size_of(begin, span.end, room) <= room and self._blank(span.end, end):
                found = (atom._replace(end=span.end), self._blank_atom(atom))
            elif end > span.start > start and size_of(span.start, end, room) <= room:
                found = self._leaf(atom._replace(end=span.start, whole=False), budget)
                stack.append(atom._replace(start=span.start, strength=Strength.LINE, glued=True, place=atom.inner))
            else:
                children = self._tree.open(span)
                if children:
                    stack += self._opened(atom, children, budget)
                else:
                    found = self._leaf(atom, budget - (0 if lead is None else at(start) - at(lead.start)))
            for part in found:
                if held is None:
                    held = self._marked(part)
                    continue
                least = budget - header(held.place).least
                if part.glued and size_of(held.start, part.end, least) <= least:
                    held = self._together(held, part)
                else:
                    yield held
                    held = self._marked(part)
        if held is not None:
            yield held

    def _together(self, first: Atom, second: Atom) -> Atom:
        """Two atoms as one, where the cut between them should not be made."""
        return first._replace(end=second.end, parts=(*(first.parts or (first,)), second))

    def _marked(self, atom: Atom) -> Atom:
        if atom.start in self._barriers:
            self._barriers.discard(atom.start)
            return atom._replace(barrier=True)
        return atom

    def _shows(self, section: Span) -> bool:
        """Whether the text of a heading says its title as it is, without markup in between."""
        return self._tree.text.find(section.name, section.start, section.start + len(section.name) + 40) >= 0

    def _blank(self, start: int, end: int) -> bool:
        return self._tree.text[start:end].isspace()

    def _blank_atom(self, atom: Atom) -> Atom:
        gap = Span(atom.span.end, atom.end, "blank", Strength.BLOCK)
        return Atom(gap, gap.start, gap.end, Strength.BLOCK, atom.depth, True, atom.inner, atom.inner)

    def _opened(self, atom: Atom, spans: Sequence[Span], budget: float) -> list[Atom]:
        """The children of an opened span, last first, each reaching to the next; small ones joined into runs.

        What precedes the first child goes to it, and it keeps the cut and the place of its parent.
        """
        inner = atom.inner.enter(atom.span)
        at = self._gauge.at
        small = budget / RUN
        entries: list[Atom] = []
        i, count = 0, len(spans)
        start, base = atom.start, at(atom.start)
        strength, depth, glued, place = atom.strength, atom.depth, atom.glued, atom.place
        while i < count:
            first = i
            span = spans[i]
            end, size = self._reach(spans, i, atom.end, base)
            while size <= small and i + 1 < count and self._joins(span, spans[i + 1]):
                further, more = self._reach(spans, i + 1, atom.end, base)
                if more > small:
                    break
                i, end, size = i + 1, further, more
                span = spans[i]
            if i > first:
                run = Span.group(spans[first : i + 1], atom.span)
                entries.append(Atom(run, start, end, strength, depth, glued, place, inner))
            else:
                entries.append(Atom(span, start, end, strength, depth, glued, place, inner))
            i += 1
            if i < count:
                following = spans[i]
                strength = max(span.strength, following.strength)
                depth = atom.depth + 1
                glued = bool(span.glue & Glue.NEXT or following.glue & Glue.PREVIOUS)
                start, place = end, inner
                base = at(start)
        entries.reverse()
        return entries

    def _reach(self, spans: Sequence[Span], i: int, end: int, base: float) -> tuple[int, float]:
        stop = spans[i + 1].start if i + 1 < len(spans) else end
        return stop, self._gauge.at(stop) - base

    def _joins(self, span: Span, following: Span) -> bool:
        return max(span.strength, following.strength) < Strength.SECTION

    def _leaf(self, atom: Atom, budget: float, *, counted: bool = False) -> Iterator[Atom]:
        """The pieces of a range that has no structure of its own, by the ladder of breaks."""
        span, inner = atom.span, atom.inner.enter(atom.span)
        room = budget - max(self._header(atom.place).room, self._header(inner).room)
        floor = max(1, int((atom.end - atom.start) * min(1.0, room / PIECE / max(1e-9, self._size(atom)))))
        prose = self._tree.kind_of(inner.language) in ("prose", "markup") and span.kind not in ("code", "table", "row")
        found = pieces(self._tree.text, atom.start, atom.end, self._fits(room, counted=counted), floor, prose)
        if self._policy != "split":
            found = self._structural(found, room)
        strength, depth, glued, place = atom.strength, atom.depth, atom.glued, atom.place
        for start, end, cut in found:
            if start > atom.start:
                strength, depth, glued, place = min(cut, Strength.BLOCK), atom.depth + 1, False, inner
            piece = Atom(span, start, end, strength, depth, glued, place, inner, whole=False)
            yield self._marked(piece)

    def _size(self, atom: Atom) -> float:
        return self._gauge.at(atom.end) - self._gauge.at(atom.start)

    def _fits(self, room: float, *, counted: bool) -> Callable[[int, int], bool]:
        text, gauge = self._tree.text, self._gauge
        if counted and not gauge.exact:
            count = gauge.sizer.count
            return lambda a, b: count(text[a:b]) <= room
        if type(gauge) is Gauge:
            return lambda a, b: b - a <= room
        size = gauge.size
        return lambda a, b: size(a, b, room) <= room

    def _structural(
        self, found: Iterator[tuple[int, int, Strength]], room: float
    ) -> Iterator[tuple[int, int, Strength]]:
        """``found`` without cuts below a sentence or a line: what they would divide stays whole, or is an error."""
        held: tuple[int, int, Strength] | None = None
        for start, end, cut in found:
            if held is not None and cut < Strength.SENTENCE:
                held = (held[0], end, held[2])
                if self._policy == "error":
                    raise self._too_large(held[0], end)
                continue
            if held is not None:
                yield held
            held = (start, end, cut)
        if held is not None:
            yield held

    def _where(self, start: int) -> str:
        return f"{self._tree.name}:{self._tree.text.count(chr(10), 0, start) + 1}"

    def _too_large(self, start: int, end: int) -> BudgetError:
        return BudgetError(
            f"{self._where(start)}: a unit of {end - start} or more characters does not fit into "
            f'max_chunk_size={self._budget}. Raise it, or use overflow_policy="split".'
        )

    def _indivisible(self, atom: Atom) -> BudgetError:
        char = self._tree.text[atom.start : atom.end]
        size = self._gauge.sizer.count(char)
        return BudgetError(
            f"{self._where(atom.start)}: max_chunk_size={self._budget} {self._gauge.sizer.unit} cannot hold {char!r}, "
            f"which takes {size}. Use {size} or more."
        )
