"""The body of a document in order: paragraphs, headings, lists, tables, and what hangs on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from omnichunk.loaders import docx_tables
from omnichunk.loaders.docx_inline import Inline, Reference
from omnichunk.loaders.docx_names import (
    ALTERNATE,
    EQUATION,
    EQUATIONS,
    PPR,
    PROPERTIES,
    REMOVED,
    RPR,
    RUN,
    TBL,
    Element,
    P,
    W,
    alternatives,
    number,
    value,
)
from omnichunk.loaders.docx_notes import Notes, label
from omnichunk.loaders.docx_numbering import BULLET, Numbering
from omnichunk.loaders.docx_package import Package
from omnichunk.loaders.docx_styles import Styles
from omnichunk.loaders.docx_writer import Writer

Position = Mapping[str, object]
_SPACES = re.compile(r"[ \t\r\n\v\f]+")
_LONGEST_HEADING = 400
"""Characters; what is longer only looks like a heading."""
_INLINE = frozenset((RUN, EQUATION, EQUATIONS, f"{W}hyperlink", f"{W}fldSimple"))
_SKIPPED = PROPERTIES | REMOVED
_BOXED = {"table", "row"}
_SEPARATORS = ("", "\n", ", ", "; ", "\n")
_PARAGRAPH, _CELL, _ROW, _TABLE = range(1, 5)


class Described(NamedTuple):
    """A paragraph. ``level``: of a heading, else 0; ``label``: its number or bullet; ``depth``: of its list."""

    text: str
    kind: str
    level: int
    label: str
    depth: int


class Body:
    """Writes the stories of a document (body, headers, footers) into ``writer``.

    ``deletions``: whether deleted text, rows and paragraph marks count. Every walk keeps its own stack, so nesting costs
    no more than length.
    """

    def __init__(
        self, package: Package, styles: Styles, numbering: Numbering, notes: Notes, *, deletions: bool
    ) -> None:
        self.writer = Writer()
        self.paragraphs = 0
        self.tables = 0
        self._package = package
        self._styles = styles
        self._numbering = numbering
        self._notes = notes
        self._deletions = deletions
        self._skipped = _SKIPPED - {f"{W}del"} if deletions else _SKIPPED
        self._inline: Inline
        self._pending: list[tuple[Reference, Position]] = []
        self._joined: list[str] = []  # text of paragraphs whose marks are deleted: it belongs to the next
        self._last = ""  # kind of the unit before
        self._outermost = 0  # depth at which the list that is open begins

    def story(self, root: Element, inline: Inline, where: Position | None = None) -> None:
        """Write all of ``root``. ``where``: the position of everything in it, else paragraphs and tables are counted."""
        self._inline = inline
        stack: list[tuple[Iterator[Element], Position | None]] = [(iter(root), where)]
        while stack:
            walk, where = stack[-1]
            for element in walk:
                tag = element.tag
                if tag == P and not len(element):
                    self.paragraphs += where is None
                elif tag == P or tag in _INLINE:
                    here = self._position(where)
                    if tag == P:
                        self._paragraph(element, here, top=where is None or where.keys() == _BOXED)
                    else:
                        self._write(inline.text((element,)), {**here, **inline.taken()})
                        self._refer(here)
                    if inline.boxes:
                        boxed = {**here, "textbox": True}
                        stack.extend((iter(box), boxed) for box in reversed(inline.boxes))
                        inline.boxes = []
                        break
                elif tag == TBL:
                    inner = self._table(element, where)
                    if inner is not None:
                        stack.append(inner)
                        break
                elif tag == ALTERNATE:
                    stack.append((alternatives(element, lambda: self.writer.at), where))
                    break
                elif tag == f"{W}altChunk" or tag == f"{W}subDoc":
                    self._package.warn("An embedded document was left out; insert its text and save again.")
                elif tag not in self._skipped:
                    stack.append((iter(element), where))
                    break
            else:
                stack.pop()
        self._write(self._whole(""), where or {"paragraph": self.paragraphs})
        self._end()

    def _position(self, where: Position | None) -> Position:
        if where is not None:
            return where
        self.paragraphs += 1
        return {"paragraph": self.paragraphs}

    def _described(self, element: Element, inline: Inline) -> Described | None:
        """What a paragraph is, its number counted; ``None`` when its mark is deleted, so that it is part of the next."""
        style, key, depth, level = self._styles.default, None, None, None
        properties = next(iter(element), None)
        if properties is not None and properties.tag == PPR:
            for said in properties:
                tag = said.tag
                if tag == f"{W}pStyle":
                    style = self._styles.of(value(said))
                elif tag == f"{W}numPr":
                    for part in said:
                        if part.tag == f"{W}numId":
                            key = value(part)
                        elif part.tag == f"{W}ilvl":
                            depth = number(value(part))
                elif tag == f"{W}outlineLvl":
                    level = number(value(said), 9)
                elif tag == RPR and not self._deletions and any(mark.tag in REMOVED for mark in said):
                    self._joined.append(inline.text(element))
                    return None
        text = self._whole(inline.text(element))
        key = style.number if key is None else key
        label = ""
        if key and key != "0":
            depth = self._numbering.depth(key, style) if depth is None else depth
            label = self._numbering.label(key, depth)
        if level is None:
            level = style.level
        else:
            level = level + 1 if 0 <= level < 9 else 0
        return Described(text, style.kind, level, label, min(max(depth or 0, style.indent), 8))

    def _whole(self, text: str) -> str:
        """``text`` with that of the paragraphs that are part of it."""
        if self._joined:
            text = "".join((*self._joined, text))
            self._joined = []
        return text

    def _paragraph(self, element: Element, position: Position, *, top: bool) -> None:
        """Write one paragraph as what its style and properties make of it."""
        inline = self._inline
        found = self._described(element, inline)
        if found is None:
            return
        if inline.links:
            position = {**position, **inline.taken()}
        if found.text.strip():
            if found.level and top and len(found.text) <= _LONGEST_HEADING:
                self._heading(found, position)
            elif found.label:
                self._item(found, position)
            else:
                self._write(found.text, position, found.kind)
        self._refer(position)

    def _heading(self, found: Described, position: Position) -> None:
        self._begin("heading")
        label = found.label if found.label != BULLET else ""
        line = _SPACES.sub(" ", f"{label} {found.text}").strip()
        self.writer.block(*self.writer.unit(line, position), "heading", found.level)

    def _item(self, found: Described, position: Position) -> None:
        writer = self.writer
        if not writer.inside("list"):
            self._begin("list")
            writer.open("list", 0)
            self._outermost = found.depth
        self._outermost = min(self._outermost, found.depth)
        writer.close(found.depth + 1)
        writer.open("item", found.depth + 1)
        margin = "  " * (found.depth - self._outermost)
        line = f"{margin}{found.label} {found.text.strip()}"
        writer.unit(line.replace("\n", f"\n{margin}  ") if "\n" in line else line, position)

    def _write(self, text: str, position: Position, kind: str = "") -> None:
        """Write a paragraph, if there is text; paragraphs of code in a row are one block."""
        if not text.strip():
            return
        if kind == "code":
            if not self.writer.inside("code"):
                self._begin("code")
                self.writer.open("code", 0)
            self.writer.unit(text.rstrip(), position)
            return
        self._begin(kind or "paragraph")
        start, end = self.writer.unit(text.strip(), position)
        if kind or "\n" in text:
            self.writer.block(start, end, kind or "paragraph")

    def _begin(self, kind: str) -> None:
        """Close what is open, write the notes that are due, and leave a blank line."""
        self.writer.close()
        if self._pending and self._last != "heading":
            self._write_notes()
        self.writer.space()
        self._last = kind

    def _end(self) -> None:
        self.writer.close()
        self._write_notes()
        self._last = ""

    def _refer(self, position: Position) -> None:
        """Remember the notes the last text referred to."""
        if self._inline.references:
            self._pending.extend((reference, position) for reference in self._inline.references)
            self._inline.references = []

    def _write_notes(self) -> None:
        """Write the notes that were referred to, each once, and those they refer to."""
        while self._pending:
            due, self._pending = self._pending, []
            for reference, position in due:
                note = self._notes.of(reference)
                if note is None:
                    continue
                text = self._flat(note.element, note.inline)
                if text:
                    self.writer.space()
                    here = {k: v for k, v in (*position.items(), *note.position.items()) if k != "link"}
                    start, end = self.writer.unit(f"{label(reference, here)} {text}", here)
                    self.writer.block(start, end, "comment" if reference.kind == "comment" else "paragraph")
                self._pending.extend((inner, position) for inner in note.inline.references)
                note.inline.references, note.inline.links = [], {}

    def _table(self, table: Element, where: Position | None) -> tuple[Iterator[Element], Position] | None:
        """Write a table as rows of cells between bars; what to walk instead, when it is only a box around one cell."""
        self._write(self._whole(""), where or {"paragraph": self.paragraphs})
        if where is None:
            self.tables += 1
        rows = docx_tables.rows(table, deletions=self._deletions)
        cells = [cell for row in rows for cell in row.cells if cell is not None]
        if len(rows) == 1 and len(cells) == 1:
            return iter(cells[0]), where or {"table": self.tables, "row": rows[0].number}
        filled: list[tuple[docx_tables.Row, str, Position]] = []
        references: list[tuple[Reference, Position]] = []
        for row in rows:
            position: Position = where or {"table": self.tables, "row": row.number}
            texts = [self._cell(cell) for cell in row.cells]
            if self._inline.links:
                position = {**position, **self._inline.taken()}
            references += [(reference, position) for reference in self._inline.references]
            self._inline.references = []
            if any(texts):
                filled.append((row, f"| {' | '.join(texts)} |", position))
        if filled:
            self._begin("table")
            self._rows(filled, docx_tables.caption(table))
        self._pending += references
        return None

    def _rows(self, filled: Sequence[tuple[docx_tables.Row, str, Position]], name: str) -> None:
        writer = self.writer
        count = docx_tables.headed([row for row, _, _ in filled])
        lines = [(line, position) for _, line, position in filled]
        if count:
            row, _, position = filled[count - 1]
            lines.insert(count, (f"|{' --- |' * len(row.cells)}", position))
        header = sum(len(line) + 1 for line, _ in lines[: count + 1]) if count else 0
        writer.open("table", 0, name, header)
        for line, position in lines:
            writer.block(*writer.unit(line, position), "row")
        writer.close()

    def _cell(self, cell: Element | None) -> str:
        if cell is None:
            return ""
        return _SPACES.sub(" ", self._flat(cell, self._inline)).strip().replace("|", "\\|")

    def _flat(self, element: Element, inline: Inline) -> str:
        """All text in ``element``, one paragraph a line; of a table inside, cells end in ``,`` and rows in ``;``."""
        out: list[str] = []
        due = 0  # the strongest separator since the last text
        stack: list[Iterator[Element]] = [iter(element)]
        while stack:
            for item in stack[-1]:
                tag = item if isinstance(item, int) else item.tag
                if tag == P or tag in _INLINE:
                    text = self._line(item, inline) if tag == P else inline.text((item,))
                    if text.strip():
                        out += (_SEPARATORS[due if out else 0], text.strip())
                        due = 0
                    if tag == P:
                        due = due or _PARAGRAPH
                    if inline.boxes:
                        stack.extend(iter(box) for box in reversed(inline.boxes))
                        inline.boxes = []
                        break
                elif isinstance(item, int):
                    due = max(due, item)
                elif tag == TBL:
                    stack.append(self._nested(item))
                    break
                elif tag == ALTERNATE:
                    stack.append(alternatives(item, out.__len__))
                    break
                elif tag not in self._skipped:
                    stack.append(iter(item))
                    break
            else:
                stack.pop()
        rest = self._whole("").strip()
        return "".join(out) + (_SEPARATORS[due if out else 0] + rest if rest else "")

    def _nested(self, table: Element) -> Iterator[Element]:
        """The cells of a table inside a cell, with the separators between them."""
        yield _TABLE
        for row in docx_tables.rows(table, deletions=self._deletions):
            for cell in row.cells:
                if cell is not None:
                    yield cell
                    yield _CELL
            yield _ROW
        yield _TABLE

    def _line(self, paragraph: Element, inline: Inline) -> str:
        found = self._described(paragraph, inline)
        if found is None:
            return ""
        return f"{found.label} {found.text}" if found.label and found.text.strip() else found.text
