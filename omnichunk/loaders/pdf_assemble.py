"""From the lines of all pages to one text with its segments and blocks."""

from __future__ import annotations

from collections.abc import Iterator

from omnichunk.loaders.pdf_prose import Paragraph, Words, continues, joined, paragraphs, text_of
from omnichunk.loaders.pdf_table import mark_tables
from omnichunk.loaders.pdf_text import Line
from omnichunk.model.document import Block, FormatSegment


def assemble(
    pages: list[list[Line]], labels: list[str], dehyphenate: bool
) -> tuple[str, tuple[FormatSegment, ...], tuple[Block, ...]]:
    """The text, paragraphs divided by blank lines; a segment a page that has text; the blocks.

    A paragraph that breaks off at the end of a column or page goes on with the next. A word broken by a page break
    belongs to the page where it begins.
    """
    words = Words.of((line for lines in pages for line in lines), dehyphenate)
    parts: list[str] = []
    blocks: list[Block] = []
    starts: list[tuple[int, int]] = []
    length = 0
    last: Paragraph | None = None
    for number, lines in enumerate(pages, 1):
        for i, paragraph in enumerate(_units(lines)):
            text = text_of(paragraph, words)
            begin, at = length + 2 if parts else 0, 0
            if last is not None and continues(last, paragraph):
                before = joined(parts[-1], last.lines[-1], text, words)
                begin = blocks.pop().char_start
                length += len(before) - len(parts[-1])
                parts[-1] = before
                at = 0 if before[-1].isspace() else len(text.split(None, 1)[0])
            elif parts:
                parts.append("\n\n")
                length += 2
            if i == 0:
                starts.append((number, length + at))
            parts.append(text)
            length += len(text)
            _add(blocks, begin, length, paragraph)
            last = paragraph
    text = "".join(parts)
    return text, tuple(_segments(text, starts, labels)), tuple(blocks)


def _segments(text: str, starts: list[tuple[int, int]], labels: list[str]) -> Iterator[FormatSegment]:
    ends = [start for _, start in starts[1:]] + [len(text)]
    for (number, start), end in zip(starts, ends):
        end = start + len(text[start:end].rstrip())
        if start < end:
            yield FormatSegment(start, end, "prose", {"page": number, "page_label": labels[number - 1]})


def _units(lines: list[Line]) -> list[Paragraph]:
    units: list[Paragraph] = []
    loose: list[Line] = []
    for item in [*mark_tables(lines), None]:
        if isinstance(item, Line):
            loose.append(item)
            continue
        if loose:
            units += paragraphs(loose)
            loose = []
        if item is not None:
            units.append(item)
    return units


def _add(blocks: list[Block], start: int, end: int, paragraph: Paragraph) -> None:
    first = paragraph.lines[0]
    if paragraph.kind == "heading":
        blocks.append(Block(start, end, "heading", first.level, first.title))
        return
    if paragraph.kind != "table":
        blocks.append(Block(start, end, paragraph.kind))
        return
    head = (start, start + len(first.text)) if paragraph.header else None
    blocks.append(Block(start, end, "table", header=head))
    at = start
    for line in paragraph.lines:
        blocks.append(Block(at, at + len(line.text), "row"))
        at += len(line.text) + 1
