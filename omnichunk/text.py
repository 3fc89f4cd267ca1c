"""Split a string by units: characters, words, sentences, paragraphs, lines, or literal separators.

    >>> chunk("The quick brown fox", size=2, mode="words")
    ['The quick', 'brown fox']

A chunk is a slice of the text from the start of its first unit to the end of its last; what separates two units (white
space, a newline, a separator) is part of a chunk only between units of that chunk. Cost is linear in the text for every
mode and separator. Nothing else of omnichunk is imported, except by the two rules that need more than `str` and `re`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from math import gcd
from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from typing import TypedDict

    from typing_extensions import Unpack

__all__ = ["Chunk", "Mode", "SentenceRules", "chunk", "chunk_iter"]

Mode = Literal["chars", "words", "sentences", "paragraphs", "lines"]
SentenceRules = Literal["simple", "unicode"]
Range = tuple[int, int]

_MODES = ("chars", "words", "sentences", "paragraphs", "lines")
_RULES = ("simple", "unicode")
_SENTENCE_END = re.compile(r"[.!?]\s+")
_BLANK_LINE = re.compile(r"\n\s*\n")
_MOST = 512
"""Words one match may take: the matcher keeps a state for each, about 100 bytes."""
_ALONE = (
    "[\0-\x0c\x0e-\u02ff\u0370-\u0482\u048a-\u0590\u2010-\u20cf\u2100-\u2cee\u2e00-\u3029\u3041-\u3096\u30a1-\u30fa"
    "\u3400-\u9fff\uac00-\ud7a3\uff01-\uff9d]+"
)
"""Code points no two of which form a grapheme cluster; the last one may be joined by what follows."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk and where it stands: ``text == source[start:end]``, in code points; ``index`` counts from zero."""

    text: str
    index: int
    start: int
    end: int


if TYPE_CHECKING:

    class _Rules(TypedDict, total=False):
        """What both functions take beside ``with_metadata``, which decides what they give."""

        mode: Mode
        overlap: int
        separators: Sequence[str] | None
        sentence_rules: SentenceRules
        graphemes: bool


@overload
def chunk(text: str, size: int, *, with_metadata: Literal[False] = False, **rules: Unpack[_Rules]) -> list[str]: ...
@overload
def chunk(text: str, size: int, *, with_metadata: Literal[True], **rules: Unpack[_Rules]) -> list[Chunk]: ...
@overload
def chunk(text: str, size: int, *, with_metadata: bool, **rules: Unpack[_Rules]) -> list[str] | list[Chunk]: ...
def chunk(
    text: str,
    size: int,
    *,
    mode: Mode = "chars",
    overlap: int = 0,
    with_metadata: bool = False,
    separators: Sequence[str] | None = None,
    sentence_rules: SentenceRules = "simple",
    graphemes: bool = False,
) -> list[str] | list[Chunk]:
    """Split ``text`` into chunks of ``size`` units; the last one may have fewer, and no text gives no chunk.

    ``mode``: the unit. Words lie between white space, sentences end at ``.``, ``!`` or ``?`` before white space,
    paragraphs at blank lines, lines at line feeds. ``overlap``: units a chunk repeats from the one before, less than
    ``size``; no chunk consists of repeated units alone. ``separators``: a list or tuple of literal strings; the first
    that occurs in the text divides it, whatever the mode, and empty units are dropped. ``with_metadata``: give `Chunk`
    objects. White space is what ``str.isspace`` says; only ``\\n`` ends a line.

    Two more rules: ``sentence_rules="unicode"`` knows the marks of other scripts, ellipses, closing quotes, decimals
    and common abbreviations; ``graphemes=True`` makes the unit of ``"chars"`` the grapheme cluster, what a reader takes
    for one character, so that none is ever cut.

    Raises TypeError for a value of the wrong type, ValueError for one that cannot work, a rule of another mode included.
    """
    ranges = _ranges(text, size, mode, overlap, with_metadata, separators, sentence_rules, graphemes)
    if with_metadata:
        return list(_made(text, ranges))
    return [text[start:end] for start, end in ranges]


@overload
def chunk_iter(
    text: str, size: int, *, with_metadata: Literal[False] = False, **rules: Unpack[_Rules]
) -> Iterator[str]: ...
@overload
def chunk_iter(text: str, size: int, *, with_metadata: Literal[True], **rules: Unpack[_Rules]) -> Iterator[Chunk]: ...
@overload
def chunk_iter(
    text: str, size: int, *, with_metadata: bool, **rules: Unpack[_Rules]
) -> Iterator[str] | Iterator[Chunk]: ...
def chunk_iter(
    text: str,
    size: int,
    *,
    mode: Mode = "chars",
    overlap: int = 0,
    with_metadata: bool = False,
    separators: Sequence[str] | None = None,
    sentence_rules: SentenceRules = "simple",
    graphemes: bool = False,
) -> Iterator[str] | Iterator[Chunk]:
    """`chunk`, one at a time: arguments are checked at once, text is read as far as the chunk that is asked for."""
    ranges = _ranges(text, size, mode, overlap, with_metadata, separators, sentence_rules, graphemes)
    if with_metadata:
        return _made(text, ranges)
    return (text[start:end] for start, end in ranges)


def _made(text: str, ranges: Iterable[Range]) -> Iterator[Chunk]:
    """The chunks of ``ranges``; past the constructor of a frozen class, which takes half as long again."""
    new = object.__new__
    set_text, set_index, set_start, set_end = (vars(Chunk)[name].__set__ for name in Chunk.__slots__)
    for index, (start, end) in enumerate(ranges):
        made = new(Chunk)
        set_text(made, text[start:end])
        set_index(made, index)
        set_start(made, start)
        set_end(made, end)
        yield made


def _published(function: Callable[..., object]) -> None:
    """Let `inspect` show the signature other packages share; the two rules beyond it are told by the docstring."""
    shown = signature(function)
    kept = [p for name, p in shown.parameters.items() if name not in ("sentence_rules", "graphemes")]
    vars(function)["__signature__"] = shown.replace(parameters=kept)


_published(chunk)
_published(chunk_iter)


def _ranges(
    text: str,
    size: int,
    mode: str,
    overlap: int,
    with_metadata: bool,
    separators: Sequence[str] | None,
    sentence_rules: str,
    graphemes: bool,
) -> Iterable[Range]:
    """The ranges of the chunks, made as they are asked for; the arguments are checked now."""
    _typed("text", text, str)
    _typed("size", size, int)
    _typed("mode", mode, str)
    _typed("overlap", overlap, int)
    _typed("with_metadata", with_metadata, bool)
    _typed("sentence_rules", sentence_rules, str)
    _typed("graphemes", graphemes, bool)
    if size < 1:
        raise _wrong(f"size={size}; it must be at least 1.")
    if not 0 <= overlap < size:
        raise _wrong(f"overlap={overlap}; it must be at least 0 and less than size={size}.")
    _known("mode", mode, _MODES)
    _known("sentence_rules", sentence_rules, _RULES)
    by_mode = separators is None
    if sentence_rules != "simple" and not (by_mode and mode == "sentences"):
        raise _wrong(f'sentence_rules="{sentence_rules}" needs mode="sentences", without separators.')
    if graphemes and not (by_mode and mode == "chars"):
        raise _wrong('graphemes=True needs mode="chars", without separators.')

    step = size - overlap
    if separators is not None:
        return _windows(_separated(text, _first(text, separators)), size, step)
    if mode == "chars":
        if not graphemes or (text.isascii() and "\r\n" not in text):
            stop = max(len(text) - overlap, 1 if text else 0)
            return ((start, min(start + size, len(text))) for start in range(0, stop, step))
        return _blocked(partial(_clusters, text), size, step, size)
    if mode == "words":
        return _blocked(partial(_words, text), size, step, _MOST)
    if mode == "sentences":
        units = _sentences(text) if sentence_rules == "simple" else _unicode_sentences(text)
        return _windows(units, size, step)
    return _windows(_paragraphs(text) if mode == "paragraphs" else _lines(text), size, step)


def _typed(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{name} must be {kind.__name__}, not {type(value).__name__}.")


def _wrong(message: str) -> ValueError:
    from omnichunk.errors import OptionError

    return OptionError(message)


def _known(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        from omnichunk.errors import suggestion

        raise _wrong(
            f'{name}="{value}": there is no such one{suggestion(value, known) or "."} Known: {", ".join(known)}.'
        )


def _first(text: str, separators: Sequence[str]) -> str:
    """The first of ``separators`` that occurs in ``text``, or an empty string."""
    if not isinstance(separators, (list, tuple)):
        raise TypeError(f"separators must be a list or tuple of str, not {type(separators).__name__}.")
    for separator in separators:
        if not isinstance(separator, str):
            raise TypeError(f"separators must hold str, not {type(separator).__name__}.")
    if not separators or "" in separators:
        raise _wrong("separators must hold at least one string, and no empty one.")
    return next((separator for separator in separators if separator in text), "")


# -- from units to chunks ---------------------------------------------------------------------------------------------


def _windows(units: Iterator[Range], width: int, step: int) -> Iterator[Range]:
    """Ranges over ``width`` consecutive units, a new one every ``step`` units, up to the one that has the last unit."""
    if width == 1:
        yield from units
        return
    starts: deque[int] = deque()
    opens, closes = 0, width  # units until the next window opens, and until the first open one is full
    end, covered = 0, True
    for start, end in units:
        if not opens:
            starts.append(start)
            opens = step
        opens -= 1
        closes -= 1
        covered = not closes
        if covered:
            yield starts.popleft(), end
            closes = step
    if not covered:
        yield starts[0], end


def _blocked(units: Callable[[int], Iterator[Range]], width: int, step: int, most: int) -> Iterator[Range]:
    """`_windows` over units that can be had several at once: as many as divide both numbers, up to ``most``."""
    common = gcd(width, step)
    block = next(n for n in range(min(common, most), 0, -1) if common % n == 0)
    return _windows(units(block), width // block, step // block)


# -- units ------------------------------------------------------------------------------------------------------------


def _words(text: str, count: int) -> Iterator[Range]:
    """The words, ``count`` at once."""
    return (m.span() for m in re.compile(rf"\S+(?:\s+\S+){{0,{count - 1}}}").finditer(text))


def _lines(text: str) -> Iterator[Range]:
    """The lines without their line feed; empty ones at the end are none."""
    start, end = 0, _without_trailing(text, "\n")
    find = text.find
    while start < end:
        stop = find("\n", start, end)
        if stop < 0:
            stop = end
        yield start, stop
        start = stop + 1


def _sentences(text: str) -> Iterator[Range]:
    """What ends at a mark before white space, or with the text; the white space after a mark is nobody's."""
    start = 0
    for found in _SENTENCE_END.finditer(text):
        yield start, found.start() + 1
        start = found.end()
    if start < len(text) and not text[start:].isspace():
        yield start, len(text)


def _unicode_sentences(text: str) -> Iterator[Range]:
    """The sentences of `omnichunk.source.breaks`, without white space around them."""
    from omnichunk.source.breaks import sentence_ends

    start = 0
    for end in sentence_ends(text, 0, len(text)):
        whole = text[start:end]
        if body := whole.strip():
            start += len(whole) - len(whole.lstrip())
            yield start, start + len(body)
        start = end


def _paragraphs(text: str) -> Iterator[Range]:
    """What lies between blank lines, unless it is white space only."""
    start = 0
    for found in _BLANK_LINE.finditer(text):
        end = found.start()
        if end > start and text[end - 1] == "\r":
            end -= 1
        if start < end and not text[start:end].isspace():
            yield start, end
        start = found.end()
    if start < len(text) and not text[start:].isspace():
        yield start, len(text)


def _separated(text: str, separator: str) -> Iterator[Range]:
    """What lies between occurrences of ``separator``, unless it is empty; all of it if the separator is empty."""
    start, end = 0, len(text)
    find = text.find
    while separator and (stop := find(separator, start)) >= 0:
        if stop > start:
            yield start, stop
        start = stop + len(separator)
    if start < end:
        yield start, end


def _clusters(text: str, count: int) -> Iterator[Range]:
    """The extended grapheme clusters, ``count`` at once."""
    from omnichunk.source.graphemes import cluster_end

    start, length = 0, len(text)
    alone = re.compile(_ALONE).match
    while start < length:
        end, left = start, count
        while left and end < length:
            found = alone(text, end, end + left)
            last = found.end() if found else end + 1
            left -= last - end
            end = cluster_end(text, last, last - 1, length)
        yield start, end
        start = end


def _without_trailing(text: str, char: str) -> int:
    """The length of ``text`` without the run of ``char`` at its end; looks at, and copies, not much more than that."""
    width = 64
    while width < len(text) and not text[-width:].strip(char):
        width *= 2
    tail = text[-width:]
    return len(text) - len(tail) + len(tail.rstrip(char))
