"""Chunks as bytes, for the way between two processes: one record a document instead of an object a chunk.

What chunks share (the text, the source, the configuration) is sent once. Their contexts are worked out when they are
read, so it is not they that are sent but what they are made from, as a block of its own that is opened when the first
context is read. That costs a tenth of chunking; working out and pickling every context would cost half of it.
"""

from __future__ import annotations

import io
import pickle
from _thread import LockType
from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter, itemgetter
from threading import Lock
from typing import Any

from omnichunk.finalize.chunks import Finisher
from omnichunk.finalize.context import Contexts
from omnichunk.finalize.place import Place
from omnichunk.model.chunk import ByteRange, Chunk, ChunkContext, LineRange
from omnichunk.model.span import Detail, Span
from omnichunk.registry import PluginRegistry
from omnichunk.source.positions import PositionIndex
from omnichunk.structure.build import SpanTree

PROTOCOL = 5
_APART = ("text", "contextualized_text", "byte_range", "line_range", "index", "total_chunks", "context", "source",
          "config_fingerprint")  # fmt: skip
_ROW = tuple(field.name for field in fields(Chunk) if field.name not in _APART)
_row = itemgetter(*_ROW)
_TREE = tuple(
    field.name for field in fields(SpanTree) if field.name not in ("text", "registry", "owners", "_landmarks")
)
_STATES = {
    Span: tuple(slot for slot in Span.__slots__ if slot != "opener"),
    Place: ("span", "outer", "language"),
}
"""What is sent of objects that refer to each other without end; they are made empty and filled afterwards."""
_detail = attrgetter(*(field.name for field in fields(Detail)))
_states = {kind: attrgetter(*names) for kind, names in _STATES.items()}

Record = tuple[Any, ...]


def pack(chunks: Sequence[Chunk]) -> Record:
    """All there is of the chunks of one document, in their order, for ``unpack`` on the other side."""
    if not chunks:
        return ()
    first = chunks[0].__dict__
    rows = []
    for chunk in chunks:
        own = chunk.__dict__
        _ = chunk.metadata  # has everything but the context worked out, here and not on the other side
        text, shown = own["text"], own["contextualized_text"]
        before = shown[: -len(text)] if shown.endswith(text) else None
        rows.append((*own["byte_range"], *own["line_range"], before, None if before is not None else shown, *_row(own)))
    contexts, text = _contexts(chunks)
    texts = text if text is not None else [chunk.text for chunk in chunks]
    return texts, first["source"], first["config_fingerprint"], rows, contexts


def unpack(record: Record, registry: PluginRegistry) -> list[Chunk]:
    """The chunks of ``pack``; their contexts are made when they are read."""
    if not record:
        return []
    texts, source, config, rows, packed = record
    whole = texts if isinstance(texts, str) else None
    raw = whole.encode() if whole is not None and not whole.isascii() else b""
    contexts = _Contexts(packed, whole or "", registry)
    chunks = []
    for index, (start, end, first, last, before, shown, *more) in enumerate(rows):
        text = texts[index] if whole is None else raw[start:end].decode() if raw else whole[start:end]
        chunk = Chunk.deferred(
            contexts.late,
            index,
            text=text,
            contextualized_text=(before + text if before else text) if shown is None else shown,
            byte_range=ByteRange(start, end),
            line_range=LineRange(first, last),
            index=index,
            total_chunks=len(rows),
            source=source,
            config_fingerprint=config,
            **dict(zip(_ROW, more)),
        )
        chunks.append(chunk)
    return chunks


def _contexts(chunks: Sequence[Chunk]) -> tuple[bytes, str | None]:
    """What the contexts are made from, and the text of the document; else the contexts themselves and ``None``."""
    waiting = [None if "context" in chunk.__dict__ else chunk.__dict__["_late"] for chunk in chunks]
    makers = {id(late.__self__): late.__self__ for late, _ in filter(None, waiting)}
    maker = next(iter(makers.values()), None)
    if len(makers) == 1 and type(maker) is Finisher:
        parts = [
            chunk.context if waits is None else (p := waits[1]) and (p.start, p.end, p.place, p.span)
            for chunk, waits in zip(chunks, waiting)
        ]
        try:
            return _dump(maker.contexts, parts), maker.text
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
            pass  # something foreign in the tree; the contexts are plain values
    return pickle.dumps((None, [chunk.context for chunk in chunks]), PROTOCOL), None


def _dump(contexts: Contexts, parts: list[Any]) -> bytes:
    file = io.BytesIO()
    pickler = _Pickler(file, PROTOCOL)
    pickler.dump((contexts, parts))
    filled = 0
    while filled < len(pickler.empty):
        batch = pickler.empty[filled:]
        filled += len(batch)
        pickler.dump(
            [
                [*map(list, zip(*(state(item) for item in batch if type(item) is kind)))]
                for kind, state in _states.items()
            ]
        )
    return file.getvalue()


class _Pickler(pickle.Pickler):
    """Leaves out the text and the registry, which the other side has, and makes no recursion of nested spans."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.empty: list[Any] = []

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind is Span or kind is Place:
            self.empty.append(obj)
            return _EMPTY[kind]
        if kind is Detail:
            return Detail, _detail(obj)
        if kind is Contexts:
            return Contexts, (obj._tree, obj._positions)
        if kind is SpanTree:
            return _tree, tuple(getattr(obj, name) for name in _TREE)
        if kind is PositionIndex:
            return _positions, ()
        if kind is LockType:
            return Lock, ()
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    """Makes up what ``_Pickler`` left out."""

    def __init__(self, file: io.BytesIO, text: str, registry: PluginRegistry) -> None:
        super().__init__(file)
        self.text, self.registry = text, registry
        self.empty: list[Any] = []

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__:
            return getattr(self, name)
        return super().find_class(module, name)

    def _span(self) -> Any:
        made = object.__new__(Span)
        self.empty.append(made)
        return made

    def _place(self) -> Any:
        made = object.__new__(Place)
        self.empty.append(made)
        return made

    def _positions(self) -> PositionIndex:
        return PositionIndex(self.text)

    def _tree(self, *values: Any) -> SpanTree:
        return SpanTree(text=self.text, registry=self.registry, **dict(zip(_TREE, values)))

    def fill(self) -> None:
        """Read the states of the objects that were made empty, and of those these refer to."""
        filled = 0
        while filled < len(self.empty):
            batch = self.empty[filled:]
            filled += len(batch)
            for (kind, names), columns in zip(_STATES.items(), self.load()):
                items = [item for item in batch if type(item) is kind]
                for name, column in zip(names, columns):
                    for item, value in zip(items, column):
                        setattr(item, name, value)
        for item in self.empty:
            if type(item) is Span:
                item.opener = None
            else:
                item.header = item.path = None


class _Contexts:
    """The contexts of one document, read from bytes when the first is asked for."""

    def __init__(self, packed: bytes, text: str, registry: PluginRegistry) -> None:
        self._packed, self._text, self._registry = packed, text, registry
        self._lock = Lock()
        self._owner: Contexts | None = None
        self._parts: list[Any] = []

    def late(self, _chunk: Chunk, index: int, _name: str) -> dict[str, ChunkContext]:
        """The context of the chunk ``index``, which is all that is left to be made."""
        return {"context": self._of(index)}

    def _of(self, index: int) -> ChunkContext:
        with self._lock:
            if not self._parts:
                unpickler = _Unpickler(io.BytesIO(self._packed), self._text, self._registry)
                self._owner, self._parts = unpickler.load()
                if self._owner is not None:
                    unpickler.fill()
                self._packed = b""
        part = self._parts[index]
        if isinstance(part, ChunkContext):
            return part
        assert self._owner is not None
        return self._owner.of(*part)


# What the pickle refers to by name; ``_Unpickler`` has its own answers.
def _span() -> None: ...
def _place() -> None: ...
def _tree(*values: Any) -> None: ...
def _positions() -> None: ...


_EMPTY = {Span: (_span, ()), Place: (_place, ())}
