"""DocumentBuilder: pieces in reading order become text, segments and blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from omnichunk.model.document import Block, FormatSegment, LoadedDocument

_TIGHT = ("list", "table")
"""Blocks whose parts follow each other without a blank line."""
_INDENTED = ("code", "item")
"""Blocks that keep the indentation of their first line."""


class DocumentBuilder:
    """Keeps the offsets of segments and blocks while pieces of text are added in reading order.

    ``at`` says where in the container the pieces that follow stand, ``add`` and ``row`` add a block each, ``block``
    puts a block around several, ``add_html`` takes over a page, ``append`` what another loader has read.
    A piece loses the white space around it and is left out when nothing remains; blank lines part the blocks, line ends
    part items and rows. ``warnings`` are those of the document.
    """

    def __init__(self, format_name: str) -> None:
        self.format_name = format_name
        self.warnings: list[str] = []
        self._parts: list[str] = []
        self._length = 0
        self._position: Mapping[str, object] = {}
        self._segments: list[tuple[int, str, Mapping[str, object]]] = []
        self._blocks: list[Block] = []
        self._open: list[_Open] = []

    def at(self, **position: object) -> None:
        """What follows stands at ``position`` (page, slide, row …) in the container, and no longer where it did."""
        self._position = position

    def add(self, text: str, kind: str = "paragraph", *, level: int = 0, name: str = "", language: str = "") -> None:
        """Add a block; see ``Block`` for what it can be. ``level`` is that of a heading, 1 outermost."""
        text = "\n".join(text.splitlines())
        text = text.strip("\n").rstrip() if kind in _INDENTED else text.strip()
        if text:
            start = self._write(text)
            self._blocks.append(Block(start, self._length, kind, level, name, None, language))

    def row(self, cells: Sequence[str], *, header: bool = False) -> None:
        """Add a row of the table that is open (``with builder.block("table")``), as Markdown writes it.

        ``header``: it is the first row and names the columns; every chunk that continues the table repeats it. A row
        without any text is left out.
        """
        shown = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
        if not any(shown):
            return
        line = f"| {' | '.join(shown)} |"
        table = self._open[-1]
        if header and table.start < 0:
            line += "\n|" + " --- |" * len(shown)
            table.header = self._write(line), self._length + 1
        else:
            self._write(line)

    def add_html(self, markup: str, *, level: int = 0) -> None:
        """Add what a reader of an HTML page, or of a part of one, sees, its headings ``level`` levels lower.

        Headings, paragraphs, lists, tables with their header, quotes and preformatted text become blocks; scripts,
        styles, comments and a byte order mark are left out. Any markup will do, however broken.
        """
        from omnichunk.builder.html import Page

        Page(self, markup.removeprefix("\ufeff"), level).read()

    @contextmanager
    def block(self, kind: str, *, name: str = "") -> Iterator[None]:
        """Put a block around what is added inside the ``with`` statement; nothing inside, no block."""
        opened = _Open(kind, len(self._blocks))
        self._open.append(opened)
        yield
        self._open.pop()
        if opened.start >= 0:
            header = opened.header and (opened.header[0], min(opened.header[1], self._length))
            self._blocks.insert(opened.index, Block(opened.start, self._length, kind, 0, name, header))

    def append(self, loaded: LoadedDocument, *, level: int = 0) -> None:
        """Add what another loader has read, its headings ``level`` levels lower, its positions beside the present one.

        Segments of a document without blocks become blocks in their language, so that its provider is asked.
        """
        self.warnings.extend(loaded.warnings)
        mark = int(loaded.text.startswith("\ufeff"))
        end = len(loaded.text.rstrip())
        if end <= mark:
            return
        by = self._begin() - mark
        at = mark
        for s in loaded.segments:
            if s.char_start >= end:
                break
            start = max(s.char_start, mark)
            if at < start:
                self._segment(at + by, "prose", self._position)
            self._segment(start + by, s.kind, {**self._position, **s.metadata})
            at = s.char_end
            if not loaded.blocks and s.metadata.get("language", "text") != "text":
                language = str(s.metadata["language"])
                self._blocks.append(Block(start + by, min(at, end) + by, "code", language=language))
        if at < end:
            self._segment(at + by, "prose", self._position)
        for b in loaded.blocks:
            if b.char_start >= end:
                break
            header = b.header and (b.header[0] + by, min(b.header[1], end) + by)
            deeper = b.level + level if b.level else 0
            self._blocks.append(
                Block(b.char_start + by, min(b.char_end, end) + by, b.kind, deeper, b.name, header, b.language)
            )
        self._parts.append(loaded.text[mark:end])
        self._length += end - mark

    def document(self, **metadata: object) -> LoadedDocument:
        """All that was added, with ``metadata`` of the whole."""
        text = "".join([*self._parts, "\n"]) if self._parts else ""
        ends = [start for start, _, _ in self._segments[1:]] + [len(text)]
        segments = tuple(FormatSegment(a, b, kind, where) for (a, kind, where), b in zip(self._segments, ends))
        return LoadedDocument(
            text, segments, self.format_name, tuple(self.warnings), metadata, blocks=tuple(self._blocks)
        )

    def _write(self, text: str) -> int:
        start = self._begin()
        self._segment(start, "prose", self._position)
        self._parts.append(text)
        self._length += len(text)
        return start

    def _begin(self) -> int:
        """Where the next piece starts: after the line ends that part it from the one before."""
        inside = self._open[-1] if self._open else None
        if self._length:
            gap = 1 if inside is not None and inside.kind in _TIGHT and inside.start >= 0 else 2
            self._parts.append("\n" * gap)
            self._length += gap
        for opened in reversed(self._open):
            if opened.start >= 0:
                break
            opened.start = self._length
        return self._length

    def _segment(self, start: int, kind: str, where: Mapping[str, object]) -> None:
        """Begin a segment, which reaches to the next one, unless the last says the same."""
        if not self._segments or self._segments[-1][1:] != (kind, where):
            self._segments.append((start, kind, where))


class _Open:
    """A block whose end is not known yet: where it starts, -1 while it is empty, and its place among the blocks."""

    def __init__(self, kind: str, index: int) -> None:
        self.kind = kind
        self.index = index
        self.start = -1
        self.header: tuple[int, int] | None = None
