"""Chunks as bytes, for the way between two processes: one record a document instead of an object a chunk.

What chunks share (the text, the source, the configuration) is sent once. Their contexts are worked out when they are
read, so it is not they that are sent but what they are made from: the entities of the document and where each chunk
lies, spans and places by number. That is a block of its own, opened when the first context is read.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import attrgetter
from threading import Lock
from typing import Any, TypeVar

from omnichunk.finalize.chunks import Finisher
from omnichunk.finalize.context import Contexts, lead
from omnichunk.finalize.place import Place
from omnichunk.model.chunk import ByteRange, Chunk, ChunkContext, LineRange
from omnichunk.model.span import Detail, Span
from omnichunk.registry import PluginRegistry
from omnichunk.source.positions import PositionIndex
from omnichunk.structure.build import Landmarks, SpanTree

PROTOCOL = 5
_OWN = ("token_count", "char_count", "nws_count", "metadata", "occurrence")
_TREE = ("name", "language", "content", "_imports", "errors", "segments")
_own, _tree, _parent, _outer = attrgetter(*_OWN), attrgetter(*_TREE), attrgetter("parent"), attrgetter("outer")
_span, _detail = attrgetter("start", "end", "kind", "name"), attrgetter(*(field.name for field in fields(Detail)))

Record = tuple[Any, ...]
T = TypeVar("T")


def pack(chunks: Sequence[Chunk]) -> Record:
    """All there is of the chunks of one document, in their order, for ``unpack`` on the other side."""
    if not chunks:
        return ()
    rows = []
    for chunk in chunks:
        shown = chunk.contextualized_text
        payload = (shown.removesuffix(chunk.text), None) if shown.endswith(chunk.text) else ("", shown)
        rows.append((*chunk.byte_range, *chunk.line_range, *payload, *_own(chunk)))
    contexts, text = _contexts(chunks)
    texts = [chunk.text for chunk in chunks] if text is None else text
    return texts, chunks[0].source, chunks[0].config_fingerprint, rows, contexts


def unpack(record: Record, registry: PluginRegistry) -> list[Chunk]:
    """The chunks of ``pack``; what is in them is made when it is read."""
    if not record:
        return []
    texts, source, config, rows, packed = record
    made = _Unpacked(texts, rows, packed, registry)
    return [
        Chunk.deferred(made.late, i, source=source, config_fingerprint=config, occurrence=row[-1])
        for i, row in enumerate(rows)
    ]


def _contexts(chunks: Sequence[Chunk]) -> tuple[bytes, str | None]:
    """What the contexts are made from, and the text of the document; else the contexts themselves and ``None``."""
    waiting = [None if "context" in chunk.__dict__ else chunk.__dict__["_late"] for chunk in chunks]
    makers = {id(late.__self__): late.__self__ for late, _ in filter(None, waiting)}
    maker = next(iter(makers.values()), None)
    if len(makers) == 1 and type(maker) is Finisher:
        numbers = _Numbers()
        parts: list[Any] = []
        for chunk, waits in zip(chunks, waiting):
            if waits is None:
                parts.append(chunk.context)
            else:
                start, end, place, span, *_ = waits[1]
                kind, opening = lead(span, start, end)
                parts.append((start, end, numbers.place(place), kind, [*map(numbers.span, opening)]))
        tree = maker.contexts._tree
        marks = tree.landmarks
        ahead = marks.ahead[::-1]
        named = [numbers.span(span) for span in (*marks.spans, *(span for span, _, _ in ahead))]
        owners = [numbers.span(owner) for owner in (*marks.owners, *(owner for _, owner, _ in ahead))]
        since = [*marks.since, *(since for _, _, since in ahead)]
        try:
            return pickle.dumps(
                (parts, _tree(tree), (named, owners, since, marks.blocks), *numbers.columns()), PROTOCOL
            ), maker.text
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
            pass  # something foreign in the metadata; the contexts are plain values
    return pickle.dumps(([chunk.context for chunk in chunks],), PROTOCOL), None


class _Numbers:
    """Spans and places by number, each after what encloses it; 0 is none. Of spans only what contexts read is kept."""

    def __init__(self) -> None:
        self._spans: dict[Span | None, int] = {None: 0}
        self._places: dict[Place | None, int] = {None: 0}

    def span(self, span: Span | None) -> int:
        return _number(self._spans, span, _parent)

    def place(self, place: Place | None) -> int:
        return _number(self._places, place, _outer)

    def columns(self) -> tuple[list[Any], list[Any]]:
        """What the spans, and the places, are made from, with the numbers of those they refer to."""
        places = [(self.span(p.span), self.place(p.outer), p.language) for p in self._places if p is not None]
        spans = [(*_span(s), self.span(s.parent), s.detail and _detail(s.detail)) for s in self._spans if s is not None]
        return spans, places


def _number(known: dict[T, int], asked: T, around: Callable[[T], T]) -> int:
    """The number of ``asked``; what has none yet gets one, after those around it."""
    if asked in known:
        return known[asked]
    item, new = asked, []
    while item not in known:
        new.append(item)
        item = around(item)
    for item in reversed(new):
        known[item] = len(known)
    return known[asked]


class _Unpacked:
    """The chunks of one document as they came, each made when it is read; contexts come from bytes of their own."""

    def __init__(self, texts: str | list[str], rows: list[Any], packed: bytes, registry: PluginRegistry) -> None:
        self._texts, self._rows, self._packed, self._registry = texts, rows, packed, registry
        self._raw = texts.encode() if isinstance(texts, str) and not texts.isascii() else b""
        self._lock = Lock()
        self._parts: list[Any] = []

    def late(self, _chunk: Chunk, index: int, name: str) -> dict[str, Any]:
        """The context of the chunk ``index`` if ``name`` says so, else everything else."""
        if name == "context":
            return {"context": self._context(index)}
        start, end, first, last, before, shown, *own = self._rows[index]
        if isinstance(self._texts, str):
            text = self._raw[start:end].decode() if self._raw else self._texts[start:end]
        else:
            text = self._texts[index]
        return {
            "text": text,
            "contextualized_text": before + text if shown is None else shown,
            "byte_range": ByteRange(start, end),
            "line_range": LineRange(first, last),
            "index": index,
            "total_chunks": len(self._rows),
            **dict(zip(_OWN, own)),
        }

    def _context(self, index: int) -> ChunkContext:
        with self._lock:
            if not self._parts:
                self._parts, *more = pickle.loads(self._packed)
                self._packed = b""
                if more:
                    self._restore(*more)
        part = self._parts[index]
        if isinstance(part, ChunkContext):
            return part
        start, end, place, kind, opening = part
        return self._contexts.led(start, end, self._places[place], kind, [self._spans[i] for i in opening])

    def _restore(self, known: Any, marks: Any, spans: list[Any], places: list[Any]) -> None:
        made: list[Any] = [None]
        for start, end, kind, name, parent, detail in spans:
            span = Span(start, end, kind, name=name, detail=detail and Detail(*detail))
            span.parent = made[parent]
            made.append(span)
        self._spans: list[Any] = made
        self._places: list[Any] = [None]
        for at, outer, language in places:
            self._places.append(Place(made[at], self._places[outer], language))
        named, owners, since, blocks = marks
        landmarks = Landmarks(
            [made[i].start for i in named], [made[i] for i in named], [made[i] for i in owners], since, blocks
        )
        text = self._texts
        assert isinstance(text, str)
        root = Span(0, len(text), "document")
        tree = SpanTree(text=text, root=root, registry=self._registry, _landmarks=landmarks, **dict(zip(_TREE, known)))
        self._contexts = Contexts(tree, PositionIndex(text))
