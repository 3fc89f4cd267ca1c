"""HTML as pieces of a document: what a reader sees of a page, read in one pass over any markup."""

from __future__ import annotations

import re
from contextlib import ExitStack
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnichunk.builder.document import DocumentBuilder

# No alternative looks beyond the next "<", so a page of nothing but "<" costs no more than any other.
_TAG = re.compile(
    r"""<(?:(?P<comment>!--)|(?P<end>/?)(?P<name>[a-zA-Z][\w:.-]*)(?P<rest>(?:"[^"<]*"|'[^'<]*'|[^<>"'])*)>|[/!?a-zA-Z][^<>]*>)"""
)
_TABLE = re.compile(r"<(/?)table\b", re.IGNORECASE)
_UNSEEN = {
    name: re.compile(f"</{name}\\b[^<>]*>", re.IGNORECASE)
    for name in ("noscript", "script", "style", "svg", "template", "title")
}
"""Elements that are left out, and what ends them."""
_ALT = re.compile(r"""\salt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_RUN = re.compile(r"[ \t\f]+")
_BREAK = re.compile(r" ?\n ?")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    (
        "address", "article", "aside", "body", "blockquote", "caption", "center", "dd", "details", "div", "dl", "dt",
        "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "nav", "ol", "p", "pre",
        "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", *_HEADINGS,
    )
)  # fmt: skip
"""Elements that begin and end a line of their own."""
_LEAVES = frozenset(("p", "li", "ol", "pre", "table", "ul"))
"""Elements that a heading cannot hold: it was not closed."""
_DEEPEST = 12  # lists in lists whose items are still indented further


class Page:
    """One page on its way into a builder; ``read`` is called once."""

    def __init__(self, builder: DocumentBuilder, markup: str, level: int) -> None:
        self.builder = builder
        self.markup = markup
        self.level = level
        self.inline: list[str] = []
        self.heading = 0
        self.quotes = 0
        self.pre = False
        self.lists: list[int] = []  # of each list that is open: number of its next item, -1 without numbers
        self.marker = ""
        self.list = ExitStack()
        self.rows: list[list[list[str]]] | None = None  # of cells, of pieces of text
        self.header = False
        self.unseen = set(_UNSEEN)
        # Tables that hold tables are layout: their cells are read one after the other.
        tables = list(_TABLE.finditer(markup))
        self.data = {a.start() for a, b in pairwise(tables) if not a[1] and b[1]}

    def read(self) -> None:
        """Add the whole page."""
        markup, at = self.markup, 0
        while tag := _TAG.search(markup, at):
            self._text(markup[at : tag.start()])
            at = tag.end()
            name = (tag["name"] or "").lower()
            if tag["comment"]:
                end = markup.find("-->", at)
                at = len(markup) if end < 0 else end + 3
            elif name in self.unseen and not tag["end"] and not tag["rest"].endswith("/"):
                if closer := _UNSEEN[name].search(markup, at):
                    at = closer.end()
                else:
                    self.unseen.remove(name)  # it is never closed, so what follows is read
            elif name == "br":
                self.inline.append("\n")
            elif name == "img":
                alt = _ALT.search(tag["rest"])
                self._text((alt[1] or alt[2] or "") if alt else "")
            elif name in _BLOCKS:
                self._end_block()
                if tag["end"]:
                    self._close(name)
                else:
                    self._start(name, tag.start())
        self._text(markup[at:])
        self._end_block()
        self._end_table()
        self.list.close()

    def _text(self, text: str) -> None:
        if text:
            text = unescape(text)
            self.inline.append(text if self.pre else _SPACE.sub(" ", text))

    def _start(self, name: str, at: int) -> None:
        if name in _LEAVES:
            self.heading = 0
        if name in _HEADINGS:
            self.heading = _HEADINGS[name]
        elif name == "pre":
            self.pre = True
        elif name == "blockquote":
            self.quotes += 1
        elif name in ("ul", "ol") and self.rows is None:
            if not self.lists:
                self.list.enter_context(self.builder.block("list"))
            self.lists.append(1 if name == "ol" else -1)
        elif name == "li" and self.lists:
            number = self.lists[-1]
            self.lists[-1] += number > 0
            self.marker = "  " * min(len(self.lists) - 1, _DEEPEST) + (f"{number}. " if number > 0 else "- ")
        elif name == "table" and at in self.data and not self.lists:
            self._end_table()
            self.rows, self.header = [], False
        elif self.rows is not None:
            if name == "tr":
                self.rows.append([])
            elif name in ("td", "th"):
                self.header |= name == "th" and len(self.rows) < 2
                (self.rows or [[]])[-1].append([])

    def _close(self, name: str) -> None:
        if name in _HEADINGS:
            self.heading = 0
        elif name == "pre":
            self.pre = False
        elif name == "blockquote":
            self.quotes = max(0, self.quotes - 1)
        elif name in ("ul", "ol") and self.lists:
            self.lists.pop()
            if not self.lists:
                self.list.close()
        elif name == "table":
            self._end_table()

    def _end_block(self) -> None:
        """The text that was read since the last block is one, or belongs to the cell that is open."""
        text = "".join(self.inline)
        self.inline.clear()
        if not self.pre:
            text = _BREAK.sub("\n", _RUN.sub(" ", text)).strip()
        if not text.strip():
            return
        if self.rows and self.rows[-1]:
            self.rows[-1][-1].append(text)
        elif self.heading:
            self.builder.add(" ".join(text.split()), "heading", level=self.heading + self.level)
        elif self.lists:
            marker, self.marker = self.marker, " " * len(self.marker)
            self.builder.add(marker + text.replace("\n", "\n" + " " * len(marker)), "item")
        else:
            kind = "code" if self.pre else "quote" if self.quotes else "paragraph"
            self.builder.add(text, kind)

    def _end_table(self) -> None:
        """What was read of a table becomes one, or, if it has one row or one column, paragraphs."""
        rows = [[" ".join(cell) for cell in row] for row in self.rows or ()]
        self.rows = None
        rows = [row for row in rows if any(row)]
        width = max(map(len, rows), default=0)
        if self.header or (len(rows) > 1 and width > 1):
            with self.builder.block("table"):
                for i, row in enumerate(rows):
                    self.builder.row(row, header=self.header and i == 0)
        else:
            for cell in (cell for row in rows for cell in row):
                self.builder.add(cell)
