"""The span tree as a row of atoms: ranges that fit the budget and are not cut unless a count says they must be.

An atom is a span that fits with the context it would be given, a run of small siblings, or a piece that the ladder of
breaks cut from a leaf that does not fit. Spans are opened only where they are too large, so the work follows the chunks
and not the nodes. Atoms tile the text; each carries the strength of the cut before it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
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
ALONE = {"definition": 0.25, "section": 0.3, "code": 0.6, "table": 0.6}
ROOMY = 0.85  # of the budget: a container that is no unit and is larger than this is opened
DENSE = 0.55  # the same where chunks are to be full: whole sections would leave gaps
LEAD = 4  # a heading or comment up to a quarter of the budget is kept with what follows, if that must be divided for it
MOST = 0.8  # but a code block or table up to this share of the room is kept whole rather than beside its heading
_RIGID = frozenset(("code", "table", "definition"))
SOFT, HARD = 1, 2
NEXT, PREVIOUS = int(Glue.NEXT), int(Glue.PREVIOUS)
_SOFT = frozenset(
    ("section", "list", "run")
)  # containers that are no unit: cutting between their children costs little


class Atom(NamedTuple):
    """``[start, end)`` of the text.

    ``strength``, ``depth``: of the cut before it. ``glued``: that cut is avoided while both sides fit. ``barrier``: a chunk
    must start here (``HARD``), or it should unless what precedes is a crumb (``SOFT``). ``place``: of its start; ``inner``:
    of what lies inside its parent. ``span``: the span it is, or is a part of; ``whole``: it is all of that span, so it can
    be divided by opening it. ``parts``: the atoms it was glued from.
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
    barrier: int = 0
    parts: tuple[Atom, ...] = ()


class Boundaries:
    """Makes the atoms of one document, lazily and in order.

    ``cuts``: rising positions, legal places to cut, where an atom must start whatever its size; ``forced``: those of them
    where a chunk must.
    """

    def __init__(
        self,
        tree: SpanTree,
        gauge: Gauge,
        options: ChunkOptions,
        headers: Headers,
        cuts: Sequence[int] = (),
        forced: Iterable[int] = (),
    ) -> None:
        self._tree = tree
        self._gauge = gauge
        self._header = headers.at
        self._budget = options.max_chunk_size
        self._policy = options.overflow_policy
        # Pieces of a unit that must be divided leave room for what they will repeat; whole units come first.
        self._overlap = min(options.overlap_size, self._budget // 2) if self._policy == "split" else 0
        apart = ALONE if options.target_fill < 1 else {}
        self._alone = {kind: self._budget * share for kind, share in apart.items()}
        self._roomy = ROOMY if apart else DENSE
        self._cuts = cuts
        self._forced = frozenset(forced)
        self._barriers: dict[int, int] = dict.fromkeys(self._forced, HARD)
        self._language = ""  # of the part before; a chunk never holds parts of two languages
        self._begin = tree.mark if options.coverage_policy == "retrieval" else 0
        self._end = len(tree.text)

    def atoms(self) -> Iterator[Atom]:
        """All atoms of the document; they tile its text, a byte order mark under retrieval coverage apart."""
        place = Place(None, None, self._tree.language)
        root = Atom(self._tree.root, self._begin, self._end, Strength.PART, 0, False, place, place)
        if self._begin == self._end:
            return
        if self._tree.root.known:
            yield from self._walk(self._opened(root, self._tree.root.known, self._budget), self._budget)
        else:
            yield from self._leaf(root, self._budget)

    def divide(self, atom: Atom, excess: float) -> list[Atom]:
        """The parts of an atom that was counted to be ``excess`` times too large.

        The policy ``preserve`` gives the atom itself when it has no structure left. Raises BudgetError where it cannot be
        divided: a single code point, or a unit under the policy ``error``.
        """
        if atom.parts:
            return [atom._replace(end=atom.parts[0].end, parts=()), *atom.parts[1:]]
        parts = [atom]
        while len(parts) == 1 and parts[0].whole and (children := self._tree.open(parts[0].span)):
            # An only child may be all there is of its parent, and then it is the one to be divided.
            budget = self._budget / excess
            parts = list(self._walk(self._opened(parts[0], children, budget), budget))
            if len(parts) == 1 and parts[0].parts:
                return self.divide(parts[0], excess)
        if len(parts) == 1:
            parts = list(self._leaf(parts[0], self._budget, counted=True))
        if len(parts) == 1 and (parts[0].start, parts[0].end) == (atom.start, atom.end) and self._policy != "preserve":
            raise self._indivisible(atom)
        return parts

    def _walk(self, stack: list[Atom], budget: float) -> Iterator[Atom]:
        header, size_of, at = self._header, self._gauge.size, self._gauge.at
        chars = type(self._gauge) is Gauge
        never = float("inf")
        held: Atom | None = None  # the last atom, until it is known whether the next one is glued to it
        while stack:
            atom = stack.pop()
            span, start, end, _, _, glued, place, inner, _, _, _ = atom
            kind = span.kind
            size = end - start if chars else at(end) - at(start)
            if kind == "part":
                place = inner.enter(span)
                if place.language != self._language:
                    self._barriers[start] = HARD
                    self._language = place.language
                atom = atom._replace(place=place, inner=place)
                if span.known:
                    stack += self._opened(atom, span.known, budget)
                    continue
            elif kind == "section" and span.name and not self._shows(span):
                place = inner.enter(span)
                atom = atom._replace(place=place)
            if size > self._alone.get(kind, never):
                self._barriers.setdefault(start, SOFT if kind == "definition" else HARD)
                self._barriers[end] = HARD
            lead: Atom | None = None
            found: Iterable[Atom]
            begin = start
            if glued and held is not None and at(start) - at(held.start) <= budget / LEAD:
                lead, begin, place = held, held.start, held.place
            limit = header(place)
            room = budget * self._roomy - limit.room if kind in _SOFT else budget - limit.least
            if start == self._begin and end == self._end:
                room = budget  # all there is: no cut would leave more room for context
            if self._cuts and self._crossing(start, end):
                found = self._opened_at_cuts(atom, budget, stack)
            elif (end - begin if chars else size_of(begin, end, room)) <= room:
                found = (atom,)
            else:
                found = self._divided(atom, lead, begin, room, budget, stack)
            for part in found:
                if held is not None:
                    if part.glued and part.start not in self._forced:
                        least = budget - header(held.place).least
                        if size_of(held.start, part.end, least) <= least:
                            held = self._together(held, part)
                            continue
                    yield held
                held = part
                if part.start in self._barriers:
                    held = part._replace(barrier=self._barriers.pop(part.start))
        if held is not None:
            yield held

    def _divided(
        self, atom: Atom, lead: Atom | None, begin: int, room: float, budget: float, stack: list[Atom]
    ) -> Iterable[Atom]:
        """What an atom that does not fit gives at once; what is to be looked at again goes on the stack.

        ``lead``: the atom it is glued to, which starts at ``begin`` and shares its ``room``.
        """
        span, start, end = atom.span, atom.start, atom.end
        size_of, at = self._gauge.size, self._gauge.at
        if lead is not None and span.kind in _RIGID and size_of(start, end, room) <= min(room, self._budget * MOST):
            return (atom._replace(glued=False),)
        # White space that does not fit beside the unit it belongs to: all but the end of its line is left for itself.
        line = self._tree.text.find("\n", span.end, end) + 1 or span.end
        if end > line > start and size_of(begin, line, room) <= room and self._blank(span.end, end):
            return (atom._replace(end=line), self._blank_atom(atom, line))
        if end > span.start > start and size_of(span.start, end, room) <= room:
            stack.append(atom._replace(start=span.start, strength=Strength.LINE, glued=True, place=atom.inner))
            return self._leaf(atom._replace(end=span.start, whole=False), budget)
        children = self._tree.open(span)
        if children:
            stack += self._opened(atom, children, budget)
            return ()
        if lead is None or lead.span.kind == "row":
            return self._leaf(atom, budget)  # a row that fits is not cut for the sake of a header that hardly does
        return self._leaf(atom, budget - (at(start) - at(lead.start)))

    def _crossing(self, start: int, end: int) -> Sequence[int]:
        """The cuts inside ``[start, end)``, apart from its start."""
        cuts = self._cuts
        first = bisect_right(cuts, start)
        return cuts[first : bisect_left(cuts, end, first)] if first < len(cuts) and cuts[first] < end else ()

    def _opened_at_cuts(self, atom: Atom, budget: float, stack: list[Atom]) -> Iterable[Atom]:
        """What ``_divided`` gives, for an atom that must be divided though it may fit."""
        children = self._tree.open(atom.span)
        if not children:
            return self._leaf(atom, budget)
        stack += self._opened(atom, children, budget)
        return ()

    def _together(self, first: Atom, second: Atom) -> Atom:
        """Two atoms as one, where the cut between them should not be made."""
        return first._replace(end=second.end, parts=(*(first.parts or (first,)), second))

    def _shows(self, section: Span) -> bool:
        """Whether the text of a heading says its title as it is, without markup in between."""
        return self._tree.text.find(section.name, section.start, section.start + len(section.name) + 40) >= 0

    def _blank(self, start: int, end: int) -> bool:
        return self._tree.text[start:end].isspace()

    def _blank_atom(self, atom: Atom, start: int) -> Atom:
        gap = Span(start, atom.end, "blank", Strength.BLOCK)
        return Atom(gap, gap.start, gap.end, Strength.BLOCK, atom.depth, True, atom.inner, atom.inner)

    def _opened(self, atom: Atom, spans: Sequence[Span], budget: float) -> list[Atom]:
        """The children of an opened span, last first, each reaching to the next; small ones joined into runs.

        What precedes the first child goes to it, and it keeps the cut and the place of its parent.
        """
        inner = atom.inner.enter(atom.span)
        starts = [span.start for span in spans]
        starts[0] = atom.start
        starts.append(atom.end)
        sizes = self._gauge.all_at(starts)
        small = 0.0 if atom.span.kind == "run" else budget / RUN  # a run that does not fit is not joined again
        entries: list[Atom] = []
        strength, depth, glued, place = atom.strength, atom.depth, atom.glued, atom.place
        first, last = 0, len(spans) - 1
        for i, span in enumerate(spans):
            if i < last:
                following = spans[i + 1]
                cut = max(span.strength, following.strength)
                if sizes[i + 2] - sizes[first] <= small and cut < Strength.SECTION:
                    continue
            unit = span if i == first else Span.group(spans[first : i + 1], atom.span)
            entries.append(Atom(unit, starts[first], starts[i + 1], strength, depth, glued, place, inner))
            if i < last:
                strength, depth, place = cut, atom.depth + 1, inner
                # Plain integers, because a flag's operators cost 3 µs each.
                glued = int(span.glue) & NEXT != 0 or int(following.glue) & PREVIOUS != 0
                first = i + 1
        entries.reverse()
        return entries

    def _leaf(self, atom: Atom, budget: float, *, counted: bool = False) -> Iterator[Atom]:
        """The pieces of a range that has no structure of its own, by the ladder of breaks."""
        span, inner = atom.span, atom.inner.enter(atom.span)
        room = budget - max(self._header(atom.place).least, self._header(inner).least) - self._overlap
        floor = max(1, int((atom.end - atom.start) * min(1.0, room / PIECE / max(1e-9, self._size(atom)))))
        prose = self._tree.kind_of(inner.language) in ("prose", "markup") and span.kind not in ("code", "table", "row")
        text, fits = self._tree.text, self._fits(room, counted=counted, prose=prose)
        strength, depth, glued, place = atom.strength, atom.depth, atom.glued, atom.place
        for begin, stop in pairwise([atom.start, *self._crossing(atom.start, atom.end), atom.end]):
            found = pieces(text, begin, stop, fits, floor, prose)
            if self._policy != "split":
                found = self._structural(found, room)
            for start, end, cut in found:
                if start > atom.start:
                    cut = Strength.SENTENCE if start == begin else min(cut, Strength.BLOCK)
                    strength, depth, glued = cut, atom.depth + 1, False
                    place = inner if start > span.start else atom.inner
                yield Atom(span, start, end, strength, depth, glued, place, inner, whole=False)

    def _size(self, atom: Atom) -> float:
        return self._gauge.at(atom.end) - self._gauge.at(atom.start)

    def _fits(self, room: float, *, counted: bool, prose: bool) -> Callable[[int, int], bool]:
        text, gauge, budget = self._tree.text, self._gauge, self._budget
        if counted and not gauge.exact:
            count = gauge.sizer.count
            return lambda a, b: count(text[a:b]) <= room
        if type(gauge) is Gauge:
            if prose:
                return lambda a, b: b - a <= room
            # A line of code that fits without its context is not cut for the context's sake.
            return lambda a, b: b - a <= room or (b - a <= budget and text.find("\n", a, b - 1) < 0)
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
                    raise self._too_large(held[0])
                continue
            if held is not None:
                yield held
            held = (start, end, cut)
        if held is not None:
            yield held

    def _where(self, start: int) -> str:
        return f"{self._tree.name}:{self._tree.text.count(chr(10), 0, start) + 1}"

    def _too_large(self, start: int) -> BudgetError:
        shown = self._tree.text[start : start + 30]
        return BudgetError(
            f"{self._where(start)}: the unit that starts with {shown!r} does not fit into max_chunk_size={self._budget}. "
            'Raise it, or use overflow_policy="split".'
        )

    def _indivisible(self, atom: Atom) -> BudgetError:
        char = self._tree.text[atom.start : atom.end]
        size = self._gauge.sizer.count(char)
        return BudgetError(
            f"{self._where(atom.start)}: max_chunk_size={self._budget} {self._gauge.sizer.unit} cannot hold {char!r}, "
            f"which takes {size}. Use {size} or more."
        )
