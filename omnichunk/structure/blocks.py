"""Blocks in document order to spans: sections by headings, paragraphs between, tables into rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from omnichunk.model.document import Block
from omnichunk.model.span import Detail, Glue, Span, Strength
from omnichunk.structure.nesting import TITLE, Nest, Node, outlined
from omnichunk.structure.paragraphs import lines, paragraphs

_RIGID = frozenset(("heading", "code", "comment", "row"))


class Blocks(Nest):
    """Paragraphs between blocks; a block that is no code is opened into its paragraphs, a table into its lines."""

    def __init__(self, text: str, nodes: Iterable[Node]) -> None:
        super().__init__(text, outlined(nodes, len(text)), lambda start, end: paragraphs(text, start, end))

    def opens(self, node: Node) -> bool:
        return node.kind not in _RIGID

    def opened(self, i: int, start: int) -> Sequence[Span]:
        node = self.nodes[i]
        if node.kind == "table" and self.after[i] == i + 1:
            return lines(self.text, start, node.end, node.detail.carry if node.detail else None)
        children = super().opened(i, start)
        return children if len(children) > 1 or node.kind == "section" else ()


def given_spans(text: str, blocks: Iterable[Block]) -> list[Span]:
    """The spans of what a loader knows (``LoadedDocument.blocks``), relative to ``text``."""
    return Blocks(text, _nodes(text, blocks)).spans()


def _nodes(text: str, blocks: Iterable[Block]) -> Iterator[Node]:
    around = 0  # end of the outermost block around; a heading inside another block opens no section
    header: tuple[int, int] | None = None  # of the table last seen
    for block in blocks:
        start, end = block.char_start, block.char_end
        kind, name = block.kind, block.name
        detail: Detail | None = None
        if kind == "heading":
            name = " ".join((name or text[start : min(end, start + TITLE)]).split())
        elif kind == "table":
            header = block.header
            detail = Detail(label="table" if name else "", carry=header)
        elif kind == "code" and block.language:
            detail = Detail(language=block.language, inner=(start, end))
        strength = Strength.ITEM if kind in ("item", "row") else Strength.BLOCK
        glue = Glue.NEXT if kind == "row" and header and header[0] <= start and end <= header[1] else Glue.NONE
        level = block.level if start >= around and name else 0
        yield Node(start, end, kind, strength, name, level, glue, detail)
        around = max(around, end)
