"""From a strategy to a stream: delta by delta, over an iterator, by name."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnichunk.streaming.protocol import ChunkingStrategy, Scanner, not_text

if TYPE_CHECKING:
    from omnichunk.registry import PluginRegistry

END = "end"
"""Why a piece ended that the end of the stream released."""
_WARM = 4096
"""Code points during which a strategy is watched before it is trusted to be local."""


@dataclass(frozen=True, slots=True)
class StreamChunk:
    """A piece of a stream: ``text == accumulated[start:end]``, in code points; ``index`` counts from zero.

    ``reason``: what ended it, the strategy's ``boundary`` (``sentence``, ``word``, ``paragraph``, ``line``, ``record``,
    ``block``, or, of a budget, what it was cut at), or ``end`` when only the end of the stream did.
    """

    text: str
    index: int
    start: int
    end: int
    reason: str


class IncrementalChunker:
    """A strategy at work on one stream: however the text is divided into deltas, the pieces are those of ``split``.

    ``strategy``: an object or the name of one, see `strategy`. Feeding a built-in strategy costs as much as the delta;
    any other one is asked to split what follows the start of its last piece, and everything only if it proves not to be
    `ChunkingStrategy.local`.
    """

    def __init__(self, strategy: ChunkingStrategy | str) -> None:
        self.strategy = _resolved(strategy)
        self._start(_scanner(self.strategy))

    def _start(self, scanner: Scanner) -> None:
        self._scanner = scanner
        if scanner.strict and type(self).feed is IncrementalChunker.feed:
            vars(self)["feed"] = scanner.feed  # the detour would cost as much as a delta that completes nothing

    def feed(self, delta: str) -> list[str]:
        """Take the next part of the text, and give the pieces that it completes.

        Raises TypeError for anything but a string, ValueError when the strategy gives an empty piece or one that is no
        part of the text.
        """
        if not isinstance(delta, str):
            raise not_text(delta)
        return self._scanner.feed(delta)

    def flush(self) -> list[str]:
        """End the stream: give what ``flush`` of the strategy gives, and be ready for another stream."""
        pieces = self._scanner.flush()
        self._start(_scanner(self.strategy))
        return pieces

    def copy(self) -> IncrementalChunker:
        """A chunker in the same state, for a stream that branches here; the strategy is shared."""
        twin = object.__new__(type(self))
        twin.strategy = self.strategy
        twin._start(self._scanner.copy())
        return twin

    __copy__ = copy


def chunk_stream(deltas: Iterable[str], strategy: ChunkingStrategy | str) -> Iterator[StreamChunk]:
    """The pieces of a text that arrives as ``deltas``, each as soon as it is complete, at last what ``flush`` gives.

    What the iterable raises is passed on, without a flush. Raises what `IncrementalChunker` does; for a wrong strategy
    or what is no iterable at once.
    """
    return _chunks(_Placer(strategy), iter(deltas))


def achunk_stream(deltas: AsyncIterable[str], strategy: ChunkingStrategy | str) -> AsyncIterator[StreamChunk]:
    """`chunk_stream` over an asynchronous iterable."""
    return _achunks(_Placer(strategy), aiter(deltas))


def strategy(name: str, registry: PluginRegistry | None = None, **options: object) -> ChunkingStrategy:
    """The strategy ``name``, made with ``options``: ``sentence``, ``word``, ``paragraph``, ``line``, ``jsonl``,
    ``markdown``, ``budget``, or what a plugin of ``registry`` (that of the process) declares.

    Raises OptionError for an unknown name and for options the strategy does not take, each with a suggestion, and what
    the strategy itself raises for a value.
    """
    from inspect import signature

    from omnichunk.errors import OptionError, PluginError, UnknownOptionError, suggestion
    from omnichunk.registry import default_registry

    known = (registry or default_registry()).strategies()
    if name not in known:
        raise OptionError(f'strategy: there is none called "{name}"{suggestion(name, known) or "."}')
    make = known[name].make
    if options:
        taken = signature(make).parameters
        unknown = options.keys() - taken.keys() if all(p.kind is not p.VAR_KEYWORD for p in taken.values()) else ()
        for option in sorted(unknown):
            raise UnknownOptionError(f'strategy "{name}": unknown option "{option}"{suggestion(option, taken) or "."}')
    made = make(**options)
    if not isinstance(made, ChunkingStrategy):
        raise PluginError(f'strategy "{name}": make() gave a {type(made).__name__}, which is no ChunkingStrategy.')
    return made


def _resolved(found: ChunkingStrategy | str) -> ChunkingStrategy:
    if isinstance(found, str):
        return strategy(found)
    if not isinstance(found, ChunkingStrategy):
        raise TypeError(f"strategy must be a ChunkingStrategy or the name of one, not {type(found).__name__}.")
    return found


def _scanner(strategy: ChunkingStrategy) -> Scanner:
    """The strategy's own scanner, unless a subclass has changed what that one was written for."""
    for kind in type(strategy).__mro__:
        if "scanner" in vars(kind):
            return strategy.scanner() or _Rescanner(strategy)
        if "split" in vars(kind) or "flush" in vars(kind):
            break
    return _Rescanner(strategy)


# -- over iterators ---------------------------------------------------------------------------------------------------


def _chunks(placer: _Placer, deltas: Iterator[str]) -> Iterator[StreamChunk]:
    for delta in deltas:
        yield from placer.feed(delta)
    yield from placer.flush()


async def _achunks(placer: _Placer, deltas: AsyncIterator[str]) -> AsyncIterator[StreamChunk]:
    async for delta in deltas:
        for chunk in placer.feed(delta):
            yield chunk
    for chunk in placer.flush():
        yield chunk


class _Placer:
    """Finds where the pieces of a stream stand; keeps the text from the start of the last one on."""

    __slots__ = ("index", "parts", "position", "scanner", "strategy", "taken")

    def __init__(self, strategy: ChunkingStrategy | str) -> None:
        self.strategy = _resolved(strategy)
        self.scanner = _scanner(self.strategy)
        self.parts: list[str] = []
        self.index = 0
        self.taken = 0  # the length of the text before `parts`
        self.position = 0  # the end of the last piece, in `parts`

    def feed(self, delta: str) -> list[StreamChunk]:
        if not isinstance(delta, str):
            raise not_text(delta)
        pieces = self.scanner.feed(delta)
        self.parts.append(delta)
        return self._placed(pieces, self.strategy.boundary) if pieces else []

    def flush(self) -> list[StreamChunk]:
        return self._placed(self.scanner.flush(), END)

    def _placed(self, pieces: list[str], last: str) -> list[StreamChunk]:
        text = "".join(self.parts)
        reasons = self.scanner.reasons or [*[self.strategy.boundary] * (len(pieces) - 1), last]
        chunks = []
        start, end = (0 if self.index else -1), self.position
        for piece, why in zip(pieces, reasons):
            start = _located(self.strategy, piece, text, end, start + 1)
            end = start + len(piece)
            chunks.append(StreamChunk(piece, self.index, self.taken + start, self.taken + end, why))
            self.index += 1
        if pieces:
            self.parts, self.position = [text[start:]], end - start
            self.taken += start
        return chunks


# -- strategies that only know how to split whole texts ---------------------------------------------------------------


class _Rescanner(Scanner):
    """Splits the text again from the start of the last piece on, as long as that gives what splitting all would give.

    Both are done and compared up to `_WARM` code points, and whenever the text has doubled. A difference, or a last
    piece that does not come out again, tells that the strategy is not local: from then on all is split every time.
    """

    __slots__ = ("checked", "count", "last", "local", "position", "size", "strategy", "window")

    def __init__(self, strategy: ChunkingStrategy) -> None:
        super().__init__()  # parts: here all of the text
        self.strategy = strategy
        self.local = strategy.local is not False
        self.size = self.checked = 0
        self.count, self.last = 0, ""
        self.window = ""  # the text from the start of the last piece on
        self.position = 0  # the end of the last piece, in the window

    def feed(self, delta: str) -> list[str]:
        self.parts.append(delta)
        self.size += len(delta)
        self.window += delta
        near = self._near() if self.local else None
        due = self.size <= _WARM or self.size >= 2 * self.checked
        if near is None or (due and not self.strategy.local):
            pieces = self._all()
            self.local = self.local and near == pieces
            self.checked = self.size
        else:
            pieces = near
        self._take(pieces)
        return pieces

    def flush(self) -> list[str]:
        pieces = self._all() if self.local and not self.strategy.local else []
        pieces += self.strategy.flush("".join(self.parts))
        self._take(pieces)
        return pieces

    def _near(self) -> list[str] | None:
        """The new pieces in the window, or ``None`` if it does not begin with the last piece."""
        pieces = self.strategy.split(self.window)
        if not self.count:
            return pieces
        return pieces[1:] if pieces[:1] == [self.last] else None

    def _all(self) -> list[str]:
        """The new pieces of all the text. Raises ValueError if it does not begin with the old ones."""
        self.parts = ["".join(self.parts)]
        pieces = self.strategy.split(self.parts[0])
        if self.count and pieces[self.count - 1 : self.count] != [self.last]:
            raise ValueError(
                f"{type(self.strategy).__name__}: piece {self.count} was {self.last[:60]!r} and is another one now that "
                "the text is longer. Pieces must not change; if they depend on more than the piece before, set "
                "local = False on the strategy."
            )
        return pieces[self.count :]

    def _take(self, pieces: list[str]) -> None:
        """Move on behind ``pieces``."""
        start = 0 if self.count else -1
        for piece in pieces:
            start = _located(self.strategy, piece, self.window, self.position, start + 1)
            self.position = start + len(piece)
        if pieces:
            self.window = self.window[start:]
            self.last = pieces[-1]
            self.count += len(pieces)
            self.position = len(self.last)


def _located(strategy: ChunkingStrategy, piece: str, text: str, end: int, lower: int) -> int:
    """Where ``piece`` starts in ``text``: behind the last piece, which ends at ``end``, or else overlapping it.

    ``lower``: one behind the start of the last piece. Raises ValueError if the piece is empty or is not there.
    """
    name = type(strategy).__name__
    if not isinstance(piece, str):
        raise TypeError(f"{name}: a piece must be str, not {type(piece).__name__}.")
    if not piece:
        raise ValueError(f"{name}: a piece is empty; split() and flush() must leave such ones out.")
    start = text.find(piece, end)
    if start < 0:
        start = text.find(piece, lower, end + len(piece))
    if start < 0:
        raise ValueError(f"{name}: the piece {piece[:60]!r} is no part of the text that follows the piece before.")
    return start
