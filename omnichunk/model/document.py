"""Sources and loaded documents: what comes in, before any structure is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from omnichunk.errors import LoadError
from omnichunk.model.deferred import Deferred


@dataclass(frozen=True)
class SourceDescriptor(Deferred):
    """Names the canonical text that chunk ranges refer to.

    ``revision``: SHA-256 of the canonical text as UTF-8, hexadecimal. ``encoding``: of the original bytes.
    ``normalization``: ``none``, ``decoded:<encoding>`` or ``extracted``. ``metadata``: of the loader, warnings included.
    The revision may be worked out when first read: for 10 MB that takes longer than the first chunk does.
    """

    source_id: str
    revision: str
    encoding: str = "utf-8"
    normalization: str = "none"
    format_name: str = "text"
    metadata: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FormatSegment:
    """A flat part of a loaded document: ``[char_start, char_end)`` in code points of its text.

    ``kind``: ``prose`` or ``code``. ``metadata["language"]`` names the language of code, or of prose that has a markup
    (``markdown``); everything else (page, cell, row …) is carried into ``context.format_metadata``.
    """

    char_start: int
    char_end: int
    kind: str = "prose"
    metadata: Mapping[str, object] = field(default_factory=dict)


BLOCKS = ("heading", "paragraph", "list", "item", "quote", "table", "row", "code", "comment")
"""What a ``Block`` can be."""


@dataclass(frozen=True, slots=True)
class Block:
    """What a loader knows of ``[char_start, char_end)``, in code points of the document text: one unit to keep whole.

    ``kind``: one of ``BLOCKS``. ``level``: of a heading, 1 outermost; it opens a section that lasts until the next
    heading of the same or a higher level. ``name``: title of a heading (its own words if empty) or of a table.
    ``header``: range inside a table, at its start, that every continuation repeats. ``language``: of the code inside.
    Blocks may nest (rows in a table, items in a list) and may cross the borders of segments (a paragraph goes on
    over two pages). A block begins at the first column of its line.
    """

    char_start: int
    char_end: int
    kind: str = "paragraph"
    level: int = 0
    name: str = ""
    header: tuple[int, int] | None = None
    language: str = ""


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A loader's answer: the canonical text, its segments, sorted and disjoint, and perhaps its blocks.

    With ``blocks`` (sorted by start, outer before inner, each inside or apart from every other) the structure is what
    the loader says: sections by headings, and what no block covers is paragraphs; segments then say only where in the
    container a position is. Without, the provider of each segment's language finds the structure.
    ``warnings`` are nonfatal; they reach ``context.parse_errors`` and the source descriptor. ``metadata`` describes the
    whole document. ``encoding`` and ``normalization`` as in ``SourceDescriptor``.
    """

    text: str
    segments: tuple[FormatSegment, ...] = ()
    format_name: str = "text"
    warnings: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    encoding: str = "utf-8"
    normalization: str = "extracted"
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """What a loader is given: a name and either bytes or text.

    ``data``: the file's bytes, or a ``str`` that is already canonical. ``encoding``: what the caller named, or ``None``.
    ``options``: the loader's own declared options. ``language``: what the caller named, or empty.
    """

    name: str
    data: bytes | str
    encoding: str | None = None
    language: str = ""
    options: Mapping[str, object] = field(default_factory=dict)


def checked(loaded: LoadedDocument, name: str) -> LoadedDocument:
    """``loaded`` itself if it keeps its promises; it is foreign data, so it is checked once at this border.

    Raises LoadError naming the field that has another type, the segment that is out of range, unsorted or overlapping,
    or the lone surrogate that the text holds.
    """

    def need(kind: type, value: object, what: str, wanted: str) -> None:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise LoadError(f"{name}: {what} is {type(value).__name__}; {wanted} is needed.")

    need(LoadedDocument, loaded, "what was loaded", "a LoadedDocument")
    need(str, loaded.text, "the text", "a str")
    need(Sequence, loaded.segments, "segments", "a tuple of FormatSegment")
    need(Mapping, loaded.metadata, "the metadata of the document", "a mapping")
    refuse_surrogates(loaded.text, name)
    last = 0
    for i, s in enumerate(loaded.segments):
        need(FormatSegment, s, f"segment {i}", "a FormatSegment")
        need(int, s.char_start, f"char_start of segment {i}", "an int")
        need(int, s.char_end, f"char_end of segment {i}", "an int")
        need(Mapping, s.metadata, f"the metadata of segment {i}", "a mapping")
        if not 0 <= s.char_start < s.char_end <= len(loaded.text):
            raise LoadError(
                f"{name}: segment {i} is [{s.char_start}, {s.char_end}) in a text of {len(loaded.text)}; "
                "a segment needs 0 <= char_start < char_end <= len(text)."
            )
        if s.char_start < last:
            raise LoadError(
                f"{name}: segment {i} starts at {s.char_start}, before the end of the previous one at {last}; "
                "segments must be sorted and must not overlap."
            )
        if s.kind not in ("prose", "code"):
            raise LoadError(f'{name}: segment {i} has kind {s.kind!r}; a segment is "prose" or "code".')
        last = s.char_end
    _check_blocks(loaded, name, need)
    return loaded


def _check_blocks(loaded: LoadedDocument, name: str, need: Callable[[type, object, str, str], None]) -> None:
    need(Sequence, loaded.blocks, "blocks", "a tuple of Block")
    around: list[Block] = []
    last = 0
    for i, b in enumerate(loaded.blocks):
        need(Block, b, f"block {i}", "a Block")
        need(int, b.char_start, f"char_start of block {i}", "an int")
        need(int, b.char_end, f"char_end of block {i}", "an int")
        need(int, b.level, f"the level of block {i}", "an int")
        need(str, b.name, f"the name of block {i}", "a str")
        where = f"{name}: block {i} is [{b.char_start}, {b.char_end})"
        if not 0 <= b.char_start < b.char_end <= len(loaded.text):
            raise LoadError(
                f"{where} in a text of {len(loaded.text)}; a block needs 0 <= char_start < char_end <= len(text)."
            )
        if b.char_start < last:
            raise LoadError(
                f"{where}, before the block that precedes it, at {last}; blocks must be sorted, outer first."
            )
        while around and around[-1].char_end <= b.char_start:
            around.pop()
        if around and around[-1].char_end < b.char_end:
            raise LoadError(f"{where} and reaches over the end of the block around it at {around[-1].char_end}.")
        if b.kind not in BLOCKS:
            raise LoadError(f"{name}: block {i} has kind {b.kind!r}; a block is one of {', '.join(BLOCKS)}.")
        if b.kind == "heading" and b.level < 1:
            raise LoadError(f"{name}: block {i} is a heading of level {b.level}; 1 is the outermost.")
        if b.header is not None and not b.char_start <= b.header[0] < b.header[1] <= b.char_end:
            raise LoadError(f"{where} and its header {b.header}; a header lies inside its block.")
        around.append(b)
        last = b.char_start


TOLD = 20
"""Diagnostics that a chunk repeats; more of them would make the output grow with their number times the chunks'."""


def told(messages: Sequence[str]) -> list[str]:
    """The first ``TOLD`` of ``messages``, and how many more there are; ``load_document`` gives all of a loader's."""
    more = len(messages) - TOLD
    return list(messages) if more <= 0 else [*messages[:TOLD], f"and {more} more diagnostics"]


def refuse_surrogates(text: str, name: str) -> None:
    """Raise LoadError when ``text`` holds a lone surrogate, which has no UTF-8 form and so no byte range."""
    try:
        text.isascii() or text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise LoadError(
            f"{name}:{line}: the text has a lone surrogate U+{ord(text[error.start]):04X} at offset {error.start}, which "
            'no UTF-8 text can hold. Decode the source with errors="replace", or remove it.'
        ) from None


def described(text: str, **known: Any) -> SourceDescriptor:
    """The descriptor of the canonical ``text`` with the fields ``known``, its revision worked out when first read."""
    return SourceDescriptor.deferred(lambda _value, text, _name: {"revision": revision(text)}, text, **known)


def revision(text: str) -> str:
    """SHA-256 of ``text`` as UTF-8, hexadecimal; encodes a megabyte at a time, so a large text is not held twice."""
    digest = sha256()
    for start in range(0, len(text), 1 << 20):
        digest.update(text[start : start + (1 << 20)].encode("utf-8"))
    return digest.hexdigest()
