"""The finished values: chunks, their context and the result of a manifest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from omnichunk.model.deferred import Deferred
from omnichunk.model.document import SourceDescriptor


class ByteRange(NamedTuple):
    """Half-open interval of UTF-8 bytes of the canonical text."""

    start: int
    end: int


class LineRange(NamedTuple):
    """Lines of the canonical text, zero-based and inclusive; only ``\\n`` ends a line, and belongs to the line it ends."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class EntityInfo:
    """A definition, heading or table that a chunk contains or lies in.

    ``is_partial``: the chunk does not hold all of it. ``parent``: name of the enclosing entity, or ``None``.
    """

    name: str
    type: str
    signature: str = ""
    docstring: str = ""
    byte_range: ByteRange | None = None
    line_range: LineRange | None = None
    is_partial: bool = False
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class ImportInfo:
    """An imported name and where it comes from."""

    name: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class SiblingInfo:
    """A neighbouring entity of the same parent; ``position`` is ``before`` or ``after``, ``distance`` 1 for the nearest."""

    name: str
    type: str
    position: str
    distance: int


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """A part of the container that a chunk touches: where it lies in the extracted text, and what is known of it.

    ``before``: code points of the segment that precede the chunk. ``metadata``: page, cell, paragraph, row ….
    """

    byte_range: ByteRange
    before: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Location:
    """Where a position is: ``byte`` and zero-based ``line`` of the canonical text, and its place in the container.

    ``position``: page, cell, paragraph, row … of the segment it lies in, empty where there is none. ``offset``: code
    points from the start of that segment, or of the chunk where there is none.
    """

    byte: int
    line: int
    position: dict[str, Any] = field(default_factory=dict)
    offset: int = 0


@dataclass(frozen=True)
class ChunkContext:
    """What is known of a chunk beyond its text; a pure function of the document and the chunk's range.

    ``content_type``: ``code``, ``prose``, ``markup`` or ``hybrid``. ``scope``: enclosing definitions, outermost first.
    ``heading_hierarchy``: plain titles, outermost first. ``breadcrumb``: headings, scopes and keys in one path.
    ``section_type``: ``heading paragraph list table code quote html`` or empty. ``table_header``: header with delimiter
    row when the chunk continues a table. ``format_metadata``: position in the container and ``parser_backend``; where a
    chunk touches several pages, the first is ``page`` and all are ``pages``. ``segments``: those it touches, of formats
    that have positions of their own; ``Chunk.locate`` reads them.
    """

    filepath: str = ""
    language: str = ""
    content_type: str = "prose"
    scope: tuple[EntityInfo, ...] = ()
    breadcrumb: tuple[str, ...] = ()
    entities: tuple[EntityInfo, ...] = ()
    siblings: tuple[SiblingInfo, ...] = ()
    imports: tuple[ImportInfo, ...] = ()
    heading_hierarchy: tuple[str, ...] = ()
    section_type: str = ""
    table_header: str = ""
    parse_errors: tuple[str, ...] = ()
    format_metadata: dict[str, Any] = field(default_factory=dict)
    segments: tuple[SegmentInfo, ...] = ()


@dataclass(frozen=True)
class Chunk(Deferred):
    """One piece of a source.

    ``text``: exact slice of the canonical text at ``byte_range``. ``contextualized_text``: the rendered payload, the
    string to embed; it is what the budget limits. ``total_chunks``: -1 while streaming. ``occurrence``: how many equal
    texts precede it in the source. ``metadata["budget"]``: ``unit, limit, size, raw_size, overflow, policy,
    token_accuracy, rendered_token_count``.

    ``line_range``, ``context``, the counts and ``metadata`` are worked out when first read, copied or pickled.
    """

    text: str
    contextualized_text: str
    byte_range: ByteRange
    line_range: LineRange
    index: int
    total_chunks: int
    context: ChunkContext
    token_count: int
    char_count: int
    nws_count: int
    source: SourceDescriptor
    config_fingerprint: str = ""
    occurrence: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)

    def locate(self, offset: int = 0) -> Location:
        """Where the code point ``offset`` of ``text`` is in the source and in its container.

        Raises IndexError unless ``0 <= offset <= len(text)``.
        """
        if not 0 <= offset <= len(self.text):
            raise IndexError(f"offset {offset} is outside a chunk of {len(self.text)} code points")
        byte = self.byte_range.start + len(self.text[:offset].encode())
        line = self.line_range.start + self.text.count("\n", 0, offset)
        for segment in self.context.segments:
            start, end = segment.byte_range
            if start <= byte < end or byte == end == self.byte_range.end:
                ahead = max(0, start - self.byte_range.start)
                inside = offset - len(self.text.encode()[:ahead].decode())
                return Location(byte, line, dict(segment.metadata), segment.before + inside)
        return Location(byte, line, {}, offset)


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """Chunks with proof of completeness: ``skipped_ranges`` is the exact complement of the chunks' byte ranges."""

    source: SourceDescriptor
    chunks: tuple[Chunk, ...]
    skipped_ranges: tuple[ByteRange, ...] = ()
    diagnostics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileResult:
    """One file of a directory or batch run: its chunks, or the reason why there are none.

    ``outcome``: ``ok``, ``skipped`` or ``failed``; ``error`` says why for the last two. ``seconds``: wall time.
    """

    filepath: str
    chunks: tuple[Chunk, ...] = ()
    error: str | None = None
    outcome: str = "ok"
    diagnostics: tuple[str, ...] = ()
    seconds: float = 0.0
    size: int = 0
