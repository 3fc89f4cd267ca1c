"""reStructuredText to spans: sections by their adornments, blocks by indentation. No directive is carried out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from unicodedata import east_asian_width

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Detail, Glue, Span, Strength, Structure
from omnichunk.structure.nesting import TITLE, Nest, Node, outlined
from omnichunk.structure.paragraphs import pieces

_ADORNMENT = re.compile(r"^([!-/:-@\[-`{-~])\1*[ \t]*\r?$", re.MULTILINE)
_NO_TITLE = re.compile(r"(?:[-+*•] |\.\. |>>> |\| )")
_EXPLICIT = re.compile(r"(?:\.\.|__)(?=\s|$)")
_TRAIL = re.compile(r"(?<=\w)__?(?!\w)")

_INK = re.compile(r"\S")
_TOP = re.compile(r"^\S[^\n]*", re.MULTILINE)
_DIRECTIVE = re.compile(
    r"\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([A-Za-z][\w.:+-]*?)::(?:[ \t]+([^\n]*?))?[ \t\r]*$", re.MULTILINE
)
_TARGET = re.compile(r"\.\.[ \t]+(?:_|\[|\|)|__[ \t]")
_MARKS = (
    ("explicit", _EXPLICIT),
    ("bullet", re.compile(r"[-+*•‣⁃][ \t\r\n]")),
    ("number", re.compile(r"\(?(?:\d{1,9}|[A-Za-z]|[ivxlcdm]{1,8}|[IVXLCDM]{1,8}|#)[.)](?:[ \t]|$)")),
    ("field", re.compile(r":(?![:\s])(?:[^\n:\\]|\\.|:(?!\s)){1,200}:(?:\s|$)")),
    ("option", re.compile(r"(?:--?[A-Za-z?]|/[A-Z])[\w-]*(?:[ =][^\s,]+)?(?:, |\s|$)")),
    ("line", re.compile(r"\|(?:\s|$)")),
)
_GRID = re.compile(r"\+(?:[-=]+\+)+[ \t\r]*$", re.MULTILINE)
_SIMPLE = re.compile(r"=+(?:[ \t]+=+)+[ \t\r]*$", re.MULTILINE)
_HEADER_RULE = re.compile(r"^[ \t]*\+(?:=+\+)+[ \t\r]*\n", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*\+(?:[-=]+\+)+[ \t\r]*\n", re.MULTILINE)
_LINE = re.compile(r"\S[^\n]*(?:\n|\Z)")
_OPTIONS = re.compile(r"(?:[ \t]+:[^\n]*\n|[ \t]*\r?\n)*")
_CODE = frozenset(("code", "code-block", "sourcecode", "literalinclude", "highlight", "parsed-literal", "doctest",
                   "testcode", "raw", "math", "productionlist", "graphviz", "mermaid", "prompt"))  # fmt: skip
_NAMED = frozenset(("code", "code-block", "sourcecode", "raw"))
_TABLES = frozenset(("table", "csv-table", "list-table", "flat-table"))
_LISTED = re.compile(r"^[ \t]*\*[ \t]", re.MULTILINE)
_LONGEST = 100_000  # characters between two borders of a simple table
_DEPTH = 8  # indented blocks deeper than this are left to the text ladder, which keeps the cost linear


def plain(title: str) -> str:
    """The words of a title without inline markup."""
    title = re.sub(r":[\w:.+-]{1,80}:(?=`)", "", title[:TITLE])
    title = re.sub(r"`([^`<]*?)[ \t]*<[^`>]*>`__?", r"\1", title)
    title = re.sub(r"`([^`<]*?)[ \t]+<[^`>]*>`", r"\1", title)
    title = re.sub(r"\|([^|\s][^|]*)\|_{0,2}", r"\1", title)
    title = re.sub(r"(``?)([^`]+)\1_{0,2}", r"\2", title)
    title = re.sub(r"(?<![\w\\])(\*\*?)(?=\S)([^*]+)(?<=\S)\1(?!\w)", r"\2", title)
    title = _TRAIL.sub("", title)
    return " ".join(re.sub(r"\\(.)", r"\1", title).split())


def width(line: str) -> int:
    """Columns of a line in a fixed-width font."""
    return len(line) if line.isascii() else sum(1 + (east_asian_width(c) in "WF") for c in line)


def _titles(text: str) -> list[Node]:
    """The section titles with their adornments; levels in the order in which the styles appear."""
    nodes: list[Node] = []
    levels: dict[tuple[str, bool], int] = {}
    done = 0  # end of the last title: its underline starts or ends nothing else
    for m in _ADORNMENT.finditer(text):
        start, end = m.span()
        if start < done:
            continue
        mark, length = m[1], len(m[0].rstrip())
        before = text.rfind("\n", 0, max(start - 1, 0)) + 1 if start else 0
        above = "" if start <= done else text[before : max(start - 1, 0)].rstrip()
        if above:
            if not _opens(text, before, done) or above[0] in " \t" or _NO_TITLE.match(above):
                continue
            if length < min(4, width(above)):
                continue
            first, name, style = before, above, (mark, False)
        else:
            middle = text.find("\n", end) + 1
            last = text.find("\n", middle) + 1 if middle else 0
            if not last:
                continue
            name = text[middle:last].strip()
            close = text.find("\n", last)
            close = len(text) if close < 0 else close
            if not name or text[last:close].rstrip() != m[0].rstrip() or length < min(4, width(name)):
                continue
            if len(name) > 3 and _ADORNMENT.fullmatch(name):
                continue
            first, end, style = start, close, (mark, True)
        name = plain(name)
        if not name:
            continue
        done = min(end + 1, len(text))
        level = levels.setdefault(style, len(levels) + 1)
        nodes.append(Node(first, done, "heading", name=name, level=level))
    return nodes


def _opens(text: str, start: int, done: int) -> bool:
    """Whether a paragraph can begin on the line at ``start``: after a blank or indented line, markup or a title."""
    if start <= done:
        return True
    line = text[text.rfind("\n", 0, start - 1) + 1 : start]
    return not line.strip() or line[0] in " \t" or _EXPLICIT.match(line) is not None


class _Blocks:
    """Finds the blocks of a range whose text is indented by ``prefix``; ``depth`` counts the ranges around it."""

    def __init__(self, text: str, start: int, end: int, prefix: str = "", depth: int = 0) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.depth = depth
        self.top = re.compile(rf"^{prefix}\S[^\n]*", re.MULTILINE) if prefix else _TOP
        self.prefix = len(prefix)
        self.spans: list[Span] = []
        self.items: list[Span] = []
        self.mark = ""

    def find(self) -> list[Span]:
        """The blocks in order; blank lines belong to the block before them."""
        text, end, prefix = self.text, self.end, self.prefix
        begin = last = table = -1  # the block at hand, the end of its last head line, the end of a simple table
        mark = ""  # of the block at hand
        for m in self.top.finditer(text, self.start, end):
            line = m.start()
            if line < table:
                last = m.end()
                continue
            found = _mark(text[line + prefix : m.end()])
            if begin >= 0 and line == last + 1 and table < 0 and mark != "explicit" and found not in (mark, "explicit"):
                found = ""  # directly below, an item begins a block only below its like
            if begin >= 0 and line == last + 1 and table < 0 and not found and mark != "explicit":
                last = m.end()
                continue
            if begin >= 0:
                self._block(mark, begin, last, line)
            else:
                self._indented(self.start, line)
            begin, last, mark = line, m.end(), found
            table = self._simple(line, m.end())
        if begin >= 0:
            self._block(mark, begin, last, end)
        else:
            self._indented(self.start, end)
        self._flush()
        return self.spans

    def _simple(self, start: int, end: int) -> int:
        """End of the simple table that starts here, -1 if none: the third border, or one above a blank line."""
        text = self.text
        if not _SIMPLE.fullmatch(text, start + self.prefix, end):
            return -1
        border = "\n" + text[start:end].rstrip()
        limit = min(self.end, end + _LONGEST)
        at = end - 1
        for last in (False, True):
            at = text.find(border, at + 1, limit)
            if at < 0:
                return -1
            stop = text.find("\n", at + 1, self.end) + 1 or self.end
            below = text.find("\n", stop, self.end) + 1 or self.end
            if last or not text[stop:below].strip():
                return stop
        return -1

    def _block(self, mark: str, start: int, head: int, end: int) -> None:
        """The block that starts here, whose head ends at ``head`` and whose indented rest ends at ``end``."""
        text = self.text
        if mark and mark != "explicit":
            if mark != self.mark:
                self._flush()
                self.mark = mark
            self.items.append(Span(start, end, "item", Strength.ITEM))
            self._late(self.items[-1], text.find("\n", start, end) + 1)
            return
        self._flush()
        inside = start + self.prefix
        if mark:
            self.spans.append(self._explicit(start, end))
        elif _GRID.match(text, inside, end) or _SIMPLE.match(text, inside, end):
            self.spans.append(_table(text, start, end))
        elif text.startswith(">>>", inside):
            self.spans.append(Span(start, end, "code", detail=Detail(language="python")))
        else:
            self._paragraph(start, head, end)

    def _paragraph(self, start: int, head: int, end: int) -> None:
        """A paragraph, and what is indented below it: its definition, a literal block or a quote."""
        text = self.text
        below = _INK.search(text, head, end)
        if below is None:
            self.spans.append(Span(start, end, "paragraph"))
            return
        body = text.rfind("\n", head, below.start()) + 1
        if text.count("\n", head, body) == 1:  # a term and its definition
            self.spans.append(Span(start, end, "item"))
            self._late(self.spans[-1], body)
        elif text[max(start, head - 3) : head].rstrip().endswith("::"):
            self.spans.append(Span(start, body, "paragraph", glue=Glue.NEXT))
            self.spans.append(Span(body, end, "code"))
        else:
            self.spans.append(Span(start, body, "paragraph"))
            self._indented(body, end)

    def _explicit(self, start: int, end: int) -> Span:
        """A directive, a target, a footnote or a comment."""
        text = self.text
        m = _DIRECTIVE.match(text, start + self.prefix, end)
        if m is None:
            return Span(start, end, "text" if _TARGET.match(text, start + self.prefix, end) else "comment")
        name = m[1].lower().rsplit(":", 1)[-1]
        content = _OPTIONS.match(text, min(m.end() + 1, end), end)
        body = content.end() if content else end
        body = text.rfind("\n", start, body) + 1 or body
        if name in _CODE:
            detail = None
            if name in _NAMED and m[2] and start < body < end:
                detail = Detail(language=m[2].split()[0].lower(), inner=(body, end))
            return Span(start, end, "code", detail=detail)
        if name in _TABLES:
            return self._directive_table(start, m.end(), body, end, name, m[2] or "")
        span = Span(start, end, "block")
        self._late(span, min(m.end() + 1, end))
        return span

    def _directive_table(self, start: int, opened: int, body: int, end: int, name: str, title: str) -> Span:
        """A table directive; one of comma-separated values or lists repeats its options and header rows."""
        text = self.text
        if name == "table":
            inside = _table(text, body, end)
            carry = inside.detail.carry if inside.detail else None
            span = Span(start, end, "table", name=plain(title), opener=inside.opener)
        else:
            options = text[opened:body]
            rows = re.search(r":header-rows:[ \t]*(\d+)", options)
            stop, headers = body, min(int(rows[1]), 5) if rows and len(rows[1]) < 3 else 0
            listed = _LISTED.search(text, body, end) if name != "csv-table" else None
            if listed is not None:
                item = re.compile("^" + re.escape(listed[0]), re.MULTILINE)
                cuts = [m.start() for m in islice(item.finditer(text, body, end), headers + 1)]
                stop = cuts[headers] if headers and len(cuts) > headers else body
            for _ in range(headers if name == "csv-table" else 0):
                stop = text.find("\n", stop, end) + 1 or end
            named = stop > body or ":header:" in options
            carry = (start, stop) if named and stop < end else None
            span = Span(start, end, "table", name=plain(title))
            if name == "csv-table":
                span.opener = lambda: _rows(text, start, max(stop, body), end, _LINE)
            elif listed is not None:
                span.opener = lambda: pieces(
                    text, start, end, (m.start() for m in item.finditer(text, max(stop, body), end)), "row", carry=carry
                )
        if carry or span.name:
            span.detail = Detail(label="table" if span.name else "", carry=carry)
        return span

    def _indented(self, start: int, end: int) -> None:
        """Text that is indented below nothing: a quote."""
        first = _INK.search(self.text, start, end)
        if first is not None:
            begin = self.text.rfind("\n", start, first.start()) + 1 or start
            self._flush()
            self.spans.append(Span(begin, end, "quote"))
            self._late(self.spans[-1], begin)

    def _late(self, span: Span, body: int) -> None:
        """Let ``span`` be opened into the blocks below its first line, whose text starts at ``body``."""
        text, start, end, depth = self.text, span.start, span.end, self.depth + 1
        if depth > _DEPTH or not start <= body < end:
            return

        def opened() -> Sequence[Span]:
            first = _INK.search(text, body, end)
            if first is None:
                return ()
            line = max(text.rfind("\n", 0, first.start()) + 1, body)
            prefix = text[line : first.start()]
            found = _Blocks(text, line, end, prefix, depth).find() if prefix else []
            if found and start < found[0].start:
                if line == body:  # the first line goes on here
                    found[0].start = start
                else:
                    found.insert(0, Span(start, found[0].start, "text", Strength.LINE, glue=Glue.NEXT))
            return found if len(found) > 1 else ()

        span.opener = opened

    def _flush(self) -> None:
        """Make a list of the items at hand; a lone field or option is none."""
        items = self.items
        if len(items) > 1 or self.mark in ("bullet", "number"):
            self.spans.append(Span(items[0].start, items[-1].end, "list", children=items))
        else:
            self.spans += items
        self.items = []
        self.mark = ""


def _mark(line: str) -> str:
    """What a line starts: explicit markup or a kind of list item; empty if neither."""
    if line[0].isalpha() and line[1:2].isalnum():
        return ""
    return next((name for name, pattern in _MARKS if pattern.match(line)), "")


def _table(text: str, start: int, end: int) -> Span:
    """A grid or simple table with its header, which ends at a rule, and its rows."""
    line = text[start : text.find("\n", start, end) + 1 or end]
    grid = line.lstrip().startswith("+")
    if grid:
        rule = _HEADER_RULE.search(text, start, end)
        stop = rule.end() if rule and rule.start() > start else -1
    else:
        second = text.find(line.strip(), start + len(line), end)
        stop = text.find("\n", second, end) + 1 if second >= 0 else -1
        if not stop or not text[stop:end].strip() or text.find(line.strip(), max(stop, 0), end) < 0:
            stop = -1
    span = Span(start, end, "table")
    if stop > 0:
        span.detail = Detail(carry=(start, stop))
    body = stop if stop > 0 else start + len(line)
    span.opener = lambda: _rows(text, start, body, end, _RULE if grid else _LINE)
    return span


def _rows(text: str, start: int, body: int, end: int, row: re.Pattern[str]) -> Sequence[Span]:
    """Header and rows: in a grid a row ends with the rule below it, elsewhere with its line."""
    cuts = [body, *(m.end() for m in row.finditer(text, body, end))]
    return pieces(text, start, end, cuts, "row", carry=(start, body))


def rst_spans(request: StructureRequest) -> Structure:
    """The outline and blocks of a reStructuredText document."""
    text = request.text

    def gap(start: int, end: int) -> tuple[list[Span], int]:
        return _Blocks(text, start, end).find(), end

    return Structure(spans=Nest(text, outlined(_titles(text), len(text)), gap).spans())
