"""Markdown that needs a parser: pulldown-cmark's blocks as a flat list, from which spans are cut where somebody looks.

The parser is handed a region of the text in ASCII, so that its byte offsets are code points, and behind it a thematic
break: where that is seen, the region left nothing open.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

from omnichunk.model.span import Detail, Glue, Span, Strength

# Extensions that decide where a block ends (tables, footnotes) or what a title says (strikethrough). The others are
# off on purpose: task lists, maths, alerts, wiki links and scripts move no boundary; metadata blocks would be
# recognized between any two rules; heading attributes would eat ``GET /users/{id}``; definition lists take ``:::``
# for a marker, and their ranges overlap the paragraph that follows.
_EXTENSIONS = ("TABLES", "FOOTNOTES", "STRIKETHROUGH")

_KINDS = {
    "Paragraph": "paragraph",
    "Heading": "heading",
    "BlockQuote": "quote",
    "CodeBlock": "fence",
    "HtmlBlock": "html",
    "List": "list",
    "Item": "item",
    "FootnoteDefinition": "footnote",
    "Table": "table",
}

# By level; shared, because nobody writes to the detail of a heading.
HEADINGS = {level: Detail("heading", level=level) for level in range(1, 7)}
_LEVELS = {f"H{level}": level for level in HEADINGS}

_BREAK = "***\n"
_MASK = bytes.maketrans(b"?\x7f", b"x?")
_FALSE_TAG = re.compile(r"<(?<!\(<)(?=/?[A-Za-z0-9-]*[^\x00-\x7f])")
_LONE_CR = re.compile(r"\r(?!\n)")
_REFERENCE = re.compile(r"!?\[([^\[\]]*)\](?:\[([^\[\]]*)\])?")
_DEFINED = re.compile(r"\n(?:[ >]|[-+*] |[0-9]{1,9}[.)] )*\[([^\[\]\n]+)\]:[ \t]*(?:\n[ >]*(?=[\w./<]))?\S")
_WORD = re.compile(r"[\w+#-]+(?![\w+#-]|\s*=\s*[\"'\w])")
_CLASS = re.compile(r"\.([\w+#-]+)")
_DIRECTIVE = re.compile(r"\{(?:code|code-block|code-cell|sourcecode)\}\s*([\w+#-]+)")
_ATTRIBUTES = re.compile(r"\s*\{:?\s*[#.][^{}]*\}$")

_MARKER = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)]|\[\^[^\]]*\]:)?")
_BLANK = " \t\r\n\v\f>"
_DEFINES = (": ", ":\t", ":\n", ":\r")
_COLONS = (":", "：")
_INTRODUCED = frozenset(("list", "code", "table"))

_NONE, _NEXT, _PREVIOUS = Glue.NONE, Glue.NEXT, Glue.PREVIOUS
_BOTH = _NEXT | _PREVIOUS  # made once: an operation on flags costs as much as making two spans
_BLOCK, _ITEM = Strength.BLOCK, Strength.ITEM


class Page:
    """A text and what all of its regions share.

    ``lines``: the text with ``\\n`` for every line end, of equal length. ``source``: it with ``\\n`` or ``\\r\\n``, as
    the parser wants it, for which white space before a line end may matter. ``stop``: where only white space follows.
    """

    __slots__ = ("_labels", "lines", "source", "stop", "text", "unicode")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = self.source = text
        if "\r" in text:
            self.source = _LONE_CR.sub("\n", text)
            self.lines = self.source.replace("\r", " ")
        self.stop = len(self.lines.rstrip(" \t\n"))
        self.unicode = not text.isascii()
        self._labels: frozenset[str] | None = None

    def resolved(self, title: str) -> str:
        """``title`` with the text alone where it has a reference that a region elsewhere defines."""
        if self._labels is None:
            self._labels = frozenset(map(_folded, _DEFINED.findall("\n" + self.lines)))
        return _REFERENCE.sub(self._spoken, title) if self._labels else title

    def _spoken(self, reference: re.Match[str]) -> str:
        label = reference[2] or reference[1]
        if _folded(label) not in (self._labels or ()):
            return reference[0]
        return "" if label.startswith("^") else reference[1]


def _folded(label: str) -> str:
    return " ".join(label.split()).casefold()


class Blocks:
    """The blocks of a region of a page in document order, a block before those inside it, as parallel lists.

    ``[start, end)``: begins and ends at a line. ``starts``, ``ends``: code points of the text, behind the indentation
    of the block and the markers of what encloses it. ``titles``: level and plain title of the headings. ``closed``: the
    region leaves nothing open that text at the margin would not end.
    """

    __slots__ = ("closed", "ends", "kinds", "lines", "starts", "text", "titles")

    def __init__(self, page: Page, start: int, end: int) -> None:
        self.text = page.text
        self.lines = page.lines
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.kinds: list[str] = []
        self.titles: dict[int, tuple[int, str]] = {}
        self.closed = self._read(page, start, end)
        self.starts.append(len(page.text) + 1)  # so that every block has a next one

    def _read(self, page: Page, first: int, limit: int) -> bool:
        """Fill the lists in one pass over the events, up to the break behind the region, if that is seen."""
        starts, ends, kinds, titles = self.starts, self.ends, self.kinds, self.titles
        piece = page.source[first:limit]
        if not piece.endswith("\n"):
            piece += "\n"
        at_break = len(piece)
        source = self.text[first:limit] if page.unicode else ""
        events = _parser()(_shadow(piece) + _BREAK)
        for event, place in events:
            if event.__class__ is dict:
                tag = event.get("Start")
                if tag is None:
                    continue
                key = tag
                if tag.__class__ is dict:
                    (key,) = tag
                kind = _KINDS.get(key)
                if kind is None:
                    continue
                if kind == "heading":
                    title = _title(events, source)
                    titles[len(starts)] = _LEVELS[tag[key]["level"]], page.resolved(title) if "[" in title else title
                elif kind == "fence" and tag[key] == "Indented":
                    kind = "code"
            elif event == "Rule":
                if place["start"] == at_break:
                    return True
                kind = "rule"
            else:
                continue
            starts.append(place["start"] + first)
            ends.append(min(place["end"] + first, limit))
            kinds.append(kind)
        return False

    def children(self, first: int, begin: int, end: int, limit: Strength) -> list[Span]:
        """The spans directly inside ``[begin, end)``, the earliest of which is block ``first``, none above ``limit``.

        Text the parser keeps silent about (link reference definitions, the text of tight list items) is a paragraph.
        What is inside the spans is made when they are opened.
        """
        lines, starts, ends, kinds = self.lines, self.starts, self.ends, self.kinds
        block = min(limit, _BLOCK)
        found: list[Span] = []
        at = begin
        i = first
        while (start := starts[i]) < end:
            if start and lines[start - 1] != "\n":
                start = self._line(at, start, begin)
            if start - at > 2:
                self._silent(found, at, start, begin, limit)
            kind = kinds[i]
            at = ends[i]
            if at > end:
                at = end
            elif kind == "list" and at < end:  # its end may lie behind the indentation of what follows
                line = lines.rfind("\n", starts[i], at) + 1
                if line and not lines[line:at].strip(_BLANK):
                    at = line
            if start < 0:  # two footnotes in one line
                found[-1].end = at
            elif kind == "paragraph":
                found.append(Span(start, at, kind, block))
            else:
                found.append(self._span(i, start, at, limit))
            i += 1
            if starts[i] < at:
                i = bisect_left(starts, at, i)
        if end - at > 2:
            self._silent(found, at, end, begin, limit)
        tie(self.text, found)
        return found

    def _line(self, at: int, start: int, begin: int) -> int:
        """Where the line of ``start`` begins; ``at``: end of what precedes, ``begin``: start of the parent.

        -1 where more than markers and white space stands before ``start`` in its line.
        """
        line = self.lines.rfind("\n", at, start) + 1
        if line:
            return line
        return at if at == begin or self.lines[at - 1] == "\n" else -1

    def _silent(self, found: list[Span], at: int, end: int, begin: int, limit: Strength) -> None:
        """Add ``[at, end)`` as a paragraph if it holds more than markers and white space."""
        gap = self.lines[at:end]
        if _MARKER.fullmatch(gap.strip(_BLANK)):
            return
        start = self._line(at, at + len(gap) - len(gap.lstrip(_BLANK)), begin)
        if start < 0:
            return
        glue = _NONE if found or limit > _ITEM else _NEXT
        found.append(Span(start, end, "paragraph", min(limit, _BLOCK), glue=glue))

    def _span(self, i: int, start: int, end: int, limit: Strength) -> Span:
        """Block ``i``, which is no simple paragraph, as the span ``[start, end)``."""
        kind = self.kinds[i]
        strength = min(limit, _BLOCK)
        if kind == "heading":
            level, name = self.titles[i]
            return Span(start, end, kind, strength, name, HEADINGS[level], _NEXT)
        if kind == "fence":
            info, inner, _ = self._fence(i)
            return Span(start, end, "code", strength, "", Detail("", None, None, None, language(info), inner))
        if kind == "table":
            header = self.lines.find("\n", self.starts[i]) + 1
            head = self.lines.find("\n", header, end) + 1 or end
            return table(self.text, self.lines, start, end, self.text[self.starts[i] : header], head, limit)
        if kind == "rule":  # ends what precedes it
            return Span(start, end, "text", strength, glue=_PREVIOUS)
        if kind == "html":
            return Span(start, end, kind, strength, glue=_PREVIOUS if self.lines.startswith("</", start) else _NONE)
        if kind == "code":
            return Span(start, end, kind, strength, detail=Detail())
        if kind == "item":
            strength = min(limit, _ITEM)
        opener = None
        if self.starts[i + 1] < end:
            opener = partial(self.children, i + 1, start, end, _ITEM if kind == "list" else strength)
        return Span(start, end, "paragraph" if kind == "footnote" else kind, strength, opener=opener)

    def _fence(self, i: int) -> tuple[str, tuple[int, int] | None, bool]:
        """Info string, range of the content, and whether there is a closing line, of fenced block ``i``.

        There is no such range where it is empty, or where a quote's markers stand in each line.
        """
        lines, start, end = self.lines, self.starts[i], self.ends[i]
        mark = lines[start]
        content = lines.find("\n", start, end) + 1 or end
        info = self.text[start:content].lstrip(mark)
        last = lines.rfind("\n", content - 1, end) + 1
        closing = lines[last:end].strip(" \t\r>")
        closed = len(closing) >= content - start - len(info) and not closing.strip(mark)
        stop = last if closed else end
        quoted = start > 0 and lines[start - 1] != "\n" and ">" in lines[lines.rfind("\n", 0, start) + 1 : start]
        return info, None if quoted or content >= stop else (content, stop), closed

    def unclosed(self) -> int:
        """Where the fenced block starts that is open at the end of the regions, -1 if there is none."""
        if not self.kinds or self.kinds[-1] != "fence" or self._fence(len(self.kinds) - 1)[2]:
            return -1
        return self.starts[-2]


def opened(page: Page, start: int, end: int, limit: Strength) -> list[Span]:
    """The children of a list or quote that is all of ``[start, end)``; ``limit`` as in ``Blocks.children``."""
    return Blocks(page, start, end).children(1, start, end, limit)


def table(text: str, lines: str, start: int, end: int, header: str, head: int, limit: Strength) -> Span:
    """A table whose ``header`` row and delimiter row end at ``head``; they are one row of it."""
    name = " | ".join(cell.strip() for cell in header.strip(" \t\r\n|").split("|"))
    rows = partial(_rows, lines, start, head, end, min(limit, _ITEM))
    return Span(start, end, "table", min(limit, _BLOCK), name, Detail("table", carry=(start, head)), opener=rows)


def _rows(lines: str, start: int, head: int, end: int, strength: Strength) -> list[Span]:
    rows = [Span(start, head, "row", strength, glue=_NEXT)]
    at = head
    while at < end:
        stop = lines.find("\n", at, end) + 1 or end
        rows.append(Span(at, stop, "row", strength))
        at = stop
    return rows


def tie(text: str, spans: Sequence[Span]) -> None:
    """Glue a paragraph that ends with a colon to the list, code or table after it, a definition to its term above."""
    before = None
    for span in spans:
        if span.kind == "paragraph":
            before = span
            if span.glue is _NONE and text.startswith(_DEFINES, span.start):
                span.glue = _PREVIOUS
        elif before is not None:
            if span.kind in _INTRODUCED:
                start, end = max(before.start, before.end - 16), before.end
                if text[start:end].rstrip(" \t\r\n*_").endswith(_COLONS):
                    before.glue = _NEXT if before.glue in (_NONE, _NEXT) else _BOTH
            before = None


@lru_cache(maxsize=1)
def _parser() -> Callable[[str], Iterator[tuple[Any, Any]]]:
    import pyromark  # here, because most runs of an import never meet Markdown

    options = pyromark.Options(0)
    for name in _EXTENSIONS:
        options |= pyromark.Options[f"ENABLE_{name}"]
    return partial(pyromark.events_with_range, options=options)


def _shadow(lines: str) -> str:
    """``lines`` in ASCII, as long as before.

    Every other code point stands as a letter, which no block rule tells from it but one: the name of an HTML tag is
    ASCII, so the ``<`` of such a name is masked too.
    """
    if lines.isascii():
        return lines
    shadow = _FALSE_TAG.sub("x", lines).replace("?", "\x7f")
    return shadow.encode("ascii", "replace").translate(_MASK).decode("ascii")


def _title(events: Iterator[tuple[Any, Any]], source: str) -> str:
    """The plain text of the heading whose start was just read, from its inline events, which are consumed.

    ``source``: the text of the region where it is not ASCII, else empty.
    """
    pieces: list[str] = []
    for event, place in events:
        if "Text" in event or "Code" in event:
            (piece,) = event.values()
            if source:
                original = source[place["start"] : place["end"]]
                if not original.isascii():
                    piece = original.strip("`") if "Code" in event else original
            pieces.append(piece)
        elif "End" in event:
            if event["End"].__class__ is dict:
                break
        elif event.__class__ is str:  # a line break
            pieces.append(" ")
    return plain("".join(pieces))


def plain(title: str) -> str:
    """A title without attributes and superfluous white space."""
    title = " ".join(title.split())
    return _ATTRIBUTES.sub("", title) if title.endswith("}") else title


@lru_cache(maxsize=256)
def language(info: str) -> str:
    """The language an info string names, in lower case: ``python title="x"``, ``{.python}``, ``{code-block} py``."""
    info = info.strip()
    found = _DIRECTIVE.match(info) or (info.startswith("{") and _CLASS.search(info))
    if found:
        return found[1].lower()
    word = _WORD.match(info.lstrip("{=. "))
    return word[0].lower() if word else ""
