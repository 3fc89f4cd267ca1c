"""Blocks of Markdown as they arrive: line by line, with what is open as the only memory."""

from __future__ import annotations

import re
from functools import cache

from omnichunk.streaming.protocol import ChunkingStrategy, LineScanner, Scanner

_SPACE = " \t"
_BLANK = " \t\r\n"
_HEADING = re.compile(r"#{1,6}(?:[ \t\r\n]|$)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t\r\n]*$")
_DELIMITERS = re.compile(r"[-:| \t]*\|[-:| \t]*[\r\n]*$")
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_ITEM = re.compile(r"([-+*]|(?P<number>[0-9]{1,9})[.)])(?=[ \t\r\n]|$)")
_BLOCK_TAG = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|iframe|legend|li|link|"
    "main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|"
    "title|tr|track|ul"
)
_HTML = (  # how an HTML block starts that may interrupt a paragraph, and what ends it; nothing: a blank line
    (r"<(?:script|pre|style|textarea)(?:\s|>|$)", r"</(?:script|pre|style|textarea)>"),
    (r"<!--", r"-->"),
    (r"<\?", r"\?>"),
    (r"<![A-Z]", r">"),
    (r"<!\[CDATA\[", r"\]\]>"),
    (rf"</?(?:{_BLOCK_TAG})(?:\s|/?>|$)", ""),
)
_ATTRIBUTE = r"\s+[a-z_:][\w.:-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?"
_TAG = (
    r"<(?!/?(?:script|pre|style|textarea)[\s/>])"
    rf"(?:/[a-z][a-z0-9-]*\s*|[a-z][a-z0-9-]*(?:{_ATTRIBUTE})*\s*/?)>\s*$"
)


class MarkdownBlockChunker(ChunkingStrategy):
    """Blocks of Markdown: headings, paragraphs, fences, lists, tables, quotes, HTML; none is cut while it is open.

    A block is complete when the line after it shows that it is: a fence with its last line, a list with the first line
    that is neither item nor content of one, so that a fence or a blank line in a list cuts nothing. A piece starts in
    the first column and ends with the last character of its last line; blank lines around blocks are dropped. The
    blocks are those of CommonMark at the top level with tables, except that a footnote or a front matter is taken for
    the blocks it looks like. Lines end at ``\\n`` only.
    """

    boundary = "block"

    def split(self, accumulated_text: str) -> list[str]:
        return _MarkdownScanner().feed(accumulated_text)

    def flush(self, accumulated_text: str) -> list[str]:
        """The open block; two of them if the last line, which has no end, begins another one."""
        scanner = _MarkdownScanner()
        scanner.feed(accumulated_text)
        return scanner.flush()

    def scanner(self) -> Scanner:
        return _MarkdownScanner()


class _MarkdownScanner(LineScanner):
    __slots__ = ("blank", "closes", "fence", "kind", "lines", "marker", "offset", "pieces")

    def __init__(self) -> None:
        super().__init__()  # parts: the line that has no end yet
        self.kind = ""  # of the open block, which has these `lines`
        self.lines: list[str] = []
        self.blank = False  # whether the last line leaves no paragraph open that could go on: of a list, a quote
        self.marker = ""  # of a list: its bullet, or what follows its numbers
        self.offset = 0  # the column where the content of its last item starts
        self.fence = ""  # the marks that opened a fence
        self.closes: re.Pattern[str] | None = None  # what ends HTML
        self.pieces: list[str] = []

    def complete(self) -> list[str]:
        self.pieces = []
        *lines, rest = "".join(self.parts).split("\n")
        self.parts = [rest]
        for line in lines:
            self._line(line + "\n")
        return self.pieces

    def flush(self) -> list[str]:
        self.pieces = []
        if rest := "".join(self.parts):
            self._line(rest)
        self._close()
        return self.pieces

    def _close(self) -> None:
        if self.lines:
            self.pieces.append("".join(self.lines).rstrip(_BLANK))
        self.kind = ""
        self.lines = []

    def _line(self, line: str) -> None:
        """Take one line: it goes on with the open block, or closes it, or both, or opens another one."""
        kind = self.kind
        content = line.lstrip(_SPACE)
        if kind == "fence":
            self.lines.append(line)
            mark = self.fence
            if content.startswith(mark) and not content.strip(mark[0]).strip(_BLANK) and _indent(line, content) < 4:
                self._close()
        elif kind == "html" and self.closes:
            self.lines.append(line)
            if self.closes.search(line):
                self._close()
        elif not content.strip(_BLANK):
            if kind in ("list", "code"):
                self.lines.append(line)
                self.blank = True
            else:
                self._close()
        elif kind == "paragraph" and content[0] in "=-" and _UNDERLINE.match(content) and _indent(line, content) < 4:
            self.lines.append(line)
            self._close()
        elif kind and self._goes_on(line, content):
            self.lines.append(line)
        else:
            self._close()
            self._open(line, content)

    def _goes_on(self, line: str, content: str) -> bool:
        """Whether a line with ``content`` belongs to the open block."""
        kind, lazy = self.kind, not self.blank
        self.blank = False
        if kind == "html" or (lazy and content[0].isalpha() and kind != "code"):
            return True
        indent = _indent(line, content)
        if kind == "code":
            return indent > 3
        if kind == "list":
            if indent >= self.offset:
                return True
            found = _ITEM.match(content) if indent < 4 and not _is_rule(content) else None
            if found and found[1][-1] == self.marker:
                self._item(content, indent, found)
                return True
        elif kind == "quote" and content[0] == ">":
            self.blank = _bare(content.lstrip("> \t"))
            return True
        elif kind == "paragraph" and "|" in self.lines[-1] and _DELIMITERS.match(content):
            return True
        return lazy and (indent > 3 or not _interrupts(content, kind == "paragraph"))

    def _open(self, line: str, content: str) -> None:
        """Begin a block with ``line``."""
        self.lines.append(line)
        self.blank = False
        indent = _indent(line, content)
        html = None
        if indent > 3:
            self.kind = "code"
        elif content[0].isalpha():
            self.kind = "paragraph"
        elif _HEADING.match(content) or _is_rule(content):
            self._close()
        elif found := _FENCE.match(content):
            self.kind, self.fence = "fence", found[0]
        elif content[0] == ">":
            self.kind, self.blank = "quote", _bare(content.lstrip("> \t"))
        elif found := _ITEM.match(content):
            self.kind = "list"
            self._item(content, indent, found)
        elif content[0] == "<" and ((html := _html(content)) or _compiled(_TAG).match(content)):
            self.kind, self.closes = "html", html and html[0]
            if self.closes and self.closes.search(content):
                self._close()
        else:
            self.kind = "paragraph"

    def _item(self, content: str, indent: int, found: re.Match[str]) -> None:
        """Note the marker of the item that starts with ``content`` at the column ``indent``, and where its text starts."""
        self.marker = found[1][-1]
        column = indent + found.end()
        after = content[found.end() :]
        text = after.lstrip(_SPACE)
        space = after[: len(after) - len(text)]
        width = len((" " * column + space).expandtabs(4)) - column
        self.offset = column + (width if text.strip(_BLANK) and width < 5 else 1)
        self.blank = width > 4 or _bare(text)


def _indent(line: str, content: str) -> int:
    """The column where ``content`` starts in ``line``; tab stops are 4 apart."""
    return len(line[: len(line) - len(content)].expandtabs(4))


def _bare(content: str) -> bool:
    """Whether what stands in an item or a quote is no paragraph that a line outside of it could go on."""
    return not content.strip(_BLANK) or _FENCE.match(content) is not None or _HEADING.match(content) is not None


def _is_rule(content: str) -> bool:
    """Whether a line is a thematic break."""
    if content[0] not in "*-_":
        return False
    marks = "".join(content.split())
    return len(marks) > 2 and not marks.strip(content[0])


def _html(content: str) -> tuple[re.Pattern[str] | None] | None:
    """What ends the HTML block, of a kind that may interrupt a paragraph, which ``content`` starts, if it does."""
    for start, end in _HTML:
        if _compiled(start).match(content):
            return (_compiled(end) if end else None,)
    return None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when the first ``<`` is seen, because that takes longer than importing all the rest."""
    return re.compile(pattern, re.ASCII | re.IGNORECASE)


def _interrupts(content: str, beside: bool) -> bool:
    """Whether a line, indented by less than four columns, ends a paragraph before it.

    ``beside``: that paragraph is at the top level, too; then some items cannot.
    """
    first = content[0]
    if first in "#`~>-+*_<" or first.isdigit():
        if first == ">" or _HEADING.match(content) or _FENCE.match(content) or _is_rule(content):
            return True
        if found := _ITEM.match(content):
            return not beside or (found["number"] in (None, "1") and content[found.end() :].strip(_BLANK) != "")
        return first == "<" and _html(content) is not None
    return False
