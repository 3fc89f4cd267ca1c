"""Markdown: pulldown-cmark's blocks as nested spans.

One pass over the parser's events keeps a flat, ordered list of blocks; spans are cut from it only where somebody looks
inside. The parser is handed a *shadow* of the text: as long as the text, and ASCII, so that its byte offsets are code
points. Titles and info strings are read from the text itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import StructureProvider, StructureRequest
from omnichunk.model.span import Detail, Glue, Span, Strength, Structure

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
    "TableHead": "row",
    "TableRow": "row",
}

_LEVELS = {"H1": 1, "H2": 2, "H3": 3, "H4": 4, "H5": 5, "H6": 6}

_MASK = bytes.maketrans(b"?\x7f", b"x?")
_FALSE_TAG = re.compile(r"<(?<!\(<)(?=/?[A-Za-z0-9-]*[^\x00-\x7f])")
_LONE_CR = re.compile(r"\r(?!\n)")
_WORD = re.compile(r"[\w+#-]+(?![\w+#-]|\s*=\s*[\"'\w])")
_CLASS = re.compile(r"\.([\w+#-]+)")
_DIRECTIVE = re.compile(r"\{(?:code|code-block|code-cell|sourcecode)\}\s*([\w+#-]+)")
_ATTRIBUTES = re.compile(r"\s*\{:?\s*[#.][^{}]*\}$")
_YAML = re.compile(r"---[ \t]*\r?\n(?=---|[ \t]*(?:#|[-{\[]|[\w\"'][^\n:]*:(?:\s|$)))")
_YAML_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\r?\n(?=\+\+\+|[ \t]*(?:#|\[|[\w\"'][^\n=]*=))")
_TOML_END = re.compile(r"^\+\+\+[ \t]*(?:\r?\n|\Z)", re.MULTILINE)

_MARKER = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)]|\[\^[^\]]*\]:)?")
_BLANK = " \t\r\n>"
_INTRODUCED = frozenset(("list", "fence", "code", "table"))  # by a paragraph that ends with a colon

_NONE, _NEXT, _PREVIOUS = Glue.NONE, Glue.NEXT, Glue.PREVIOUS
_SECTION, _BLOCK, _ITEM = Strength.SECTION, Strength.BLOCK, Strength.ITEM


@hookimpl
def omnichunk_structure() -> Iterable[StructureProvider]:
    return [StructureProvider("markdown", ("markdown",), spans)]


def spans(request: StructureRequest) -> Structure:
    """The sections and blocks of a Markdown text; what is inside a span is made when the span is opened.

    Headings of the document open sections, nested by level; headings in quotes and lists do not. Text the parser keeps
    silent about (link reference definitions, the text of tight list items) becomes a paragraph. Lists, quotes,
    footnotes and tables are opened late, at a cost in proportion to their children.
    """
    text = request.text
    front = _front_matter(text)
    blocks = _Blocks(text, front.end if front else 0)
    found = blocks.children(0, front.end if front else 0, len(text), Strength.PART)
    return Structure([front, *found] if front else found, errors=blocks.errors(), backend="pyromark")


class _Blocks:
    """The blocks of one text in document order, a block before those inside it, as parallel lists.

    ``starts`` and ``ends``: code points; sections start at the line of their heading, other blocks behind their
    indentation and the markers of what encloses them. ``titles``: level, plain title and end of the headings; those
    that open a section are no block of their own.
    """

    __slots__ = ("ends", "kinds", "shadow", "starts", "text", "titles")

    def __init__(self, text: str, front: int) -> None:
        self.text = text
        self.shadow = _shadow(text, front)
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.kinds: list[str] = []
        self.titles: dict[int, tuple[int, str, int]] = {}
        self._read()

    def _read(self) -> None:
        """Fill the lists in one pass over the events."""
        shadow, starts, ends, kinds, titles = self.shadow, self.starts, self.ends, self.kinds, self.titles
        source = "" if self.text.isascii() else self.text
        sections: list[int] = []
        outside = 0  # end of the last block that is not in another one
        events = _events(shadow)
        for event, place in events:
            if "Start" in event:
                key = tag = event["Start"]
                if tag.__class__ is dict:
                    (key,) = tag
                kind = _KINDS.get(key)
                if kind is None:
                    continue
                start = place["start"]
                end = place["end"]
                if kind == "heading":
                    level = _LEVELS[tag[key]["level"]]
                    titles[len(starts)] = level, _title(events, source), end
                    if start >= outside:
                        start = shadow.rfind("\n", 0, start) + 1
                        while sections and titles[sections[-1]][0] >= level:
                            ends[sections.pop()] = start
                        sections.append(len(starts))
                        starts.append(start)
                        ends.append(len(shadow))
                        kinds.append("section")
                        outside = end
                        continue
                elif kind == "fence" and tag[key] == "Indented":
                    kind = "code"
            elif event == "Rule":
                kind = "rule"
                start = place["start"]
                end = place["end"]
            else:
                continue
            if end > outside:
                outside = end
            starts.append(start)
            ends.append(end)
            kinds.append(kind)
        starts.append(len(shadow) + 1)  # so that every block has a next one

    def children(self, first: int, begin: int, end: int, limit: Strength, heading: Span | None = None) -> list[Span]:
        """The spans directly inside ``[begin, end)``, the earliest of which is block ``first``, none above ``limit``.

        Sections, which begin with ``heading``, are described at once, because the context speaks of what they hold;
        the rest when it is opened.
        """
        shadow, starts, ends, kinds = self.shadow, self.starts, self.ends, self.kinds
        block = min(limit, _BLOCK)
        found = [heading] if heading else []
        at = heading.end if heading else begin
        i = first
        while (start := starts[i]) < end:
            if start and shadow[start - 1] != "\n":
                start = self._line(at, start, begin)
            if start - at > 2:
                self._silent(found, at, start, begin, limit)
            kind = kinds[i]
            at = ends[i]
            if at > end:
                at = end
            elif kind == "list" and at < end:  # its end may lie behind the indentation of what follows
                line = shadow.rfind("\n", starts[i], at) + 1
                if line and not shadow[line:at].strip(_BLANK):
                    at = line
            if start < 0:  # two footnotes in one line
                found[-1].end = at
            elif kind == "paragraph":  # a definition belongs to the term above it
                glue = _PREVIOUS if shadow[start] == ":" and shadow[start + 1 : start + 2].isspace() else _NONE
                found.append(Span(start, at, kind, block, "", None, glue))
            else:
                if kind in _INTRODUCED and found and found[-1].kind == "paragraph":
                    lead = self.text[max(found[-1].start, found[-1].end - 16) : found[-1].end]
                    if lead.rstrip(" \t\r\n*_").endswith((":", "：")):
                        found[-1].glue |= _NEXT
                found.append(self._span(i, start, at, limit))
            i += 1
            if starts[i] < at:
                i = bisect_left(starts, at, i)
        if end - at > 2:
            self._silent(found, at, end, begin, limit)
        return found

    def _line(self, at: int, start: int, begin: int) -> int:
        """Where the line of ``start`` begins; ``at``: end of what precedes, ``begin``: start of the parent.

        -1 where more than markers and white space stands before ``start`` in its line.
        """
        line = self.shadow.rfind("\n", at, start) + 1
        if line:
            return line
        return at if at == begin or self.shadow[at - 1] == "\n" else -1

    def _silent(self, found: list[Span], at: int, end: int, begin: int, limit: Strength) -> None:
        """Add ``[at, end)`` as a paragraph if it holds more than markers and white space."""
        gap = self.shadow[at:end]
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
        if kind == "section":
            level, name, stop = self.titles[i]
            heading = Span(start, stop, "heading", _SECTION, name, None, _NEXT)
            held = self.children(i + 1, start, end, _SECTION, heading)  # six levels at most
            return Span(start, end, kind, _SECTION, name, Detail("heading", level=level), _NONE, held)
        strength = min(limit, _BLOCK)
        if kind == "heading":
            level, name, _ = self.titles[i]
            return Span(start, end, kind, strength, name, Detail("heading", level=level), _NEXT)
        if kind == "fence":
            language, inner, _ = self._fence(i)
            return Span(start, end, "code", strength, "", Detail("", None, None, None, language, inner))
        if kind == "table":
            head = self._head(i)
            title = self.text[self.starts[i + 1] : self.ends[i + 1]].strip(" \t\r\n|")
            name = " | ".join(cell.strip() for cell in title.split("|"))
            rows = partial(self._rows, i, start, head, min(limit, _ITEM))
            return Span(start, end, kind, strength, name, Detail("table", carry=(start, head)), opener=rows)
        if kind == "rule":  # ends what precedes it
            return Span(start, end, "text", strength, glue=_PREVIOUS)
        if kind == "html":
            return Span(start, end, kind, strength, glue=_PREVIOUS if self.shadow.startswith("</", start) else _NONE)
        if kind == "code":
            return Span(start, end, kind, strength, detail=Detail())
        if kind == "item":
            strength = min(limit, _ITEM)
        opener = None
        if self.starts[i + 1] < end:
            opener = partial(self.children, i + 1, start, end, _ITEM if kind == "list" else strength)
        return Span(start, end, "paragraph" if kind == "footnote" else kind, strength, opener=opener)

    def _head(self, i: int) -> int:
        """Where the body of table ``i`` begins, the end of the table if it has none."""
        if self.starts[i + 2] < self.ends[i]:
            return self._line(self.ends[i + 1], self.starts[i + 2], self.starts[i])
        return self.ends[i]

    def _rows(self, i: int, start: int, head: int, strength: Strength) -> list[Span]:
        """The rows of table ``i``; its header and delimiter row, which end at ``head``, are one."""
        starts, ends = self.starts, self.ends
        rows = [Span(start, head, "row", strength, glue=_NEXT)]
        at = head
        for row in range(i + 2, bisect_left(starts, ends[i], i + 2)):
            rows.append(Span(self._line(at, starts[row], head), ends[row], "row", strength))
            at = ends[row]
        return rows

    def _fence(self, i: int) -> tuple[str, tuple[int, int] | None, bool]:
        """Language, range of the content, and whether there is a closing line, of fenced block ``i``.

        There is no such range where it is empty, or where a quote's markers stand in each line.
        """
        shadow, start, end = self.shadow, self.starts[i], self.ends[i]
        mark = shadow[start]
        content = shadow.find("\n", start, end) + 1 or end
        info = self.text[start:content].lstrip(mark)
        last = shadow.rfind("\n", content - 1, end) + 1
        closing = shadow[last:end].strip(" \t\r>")
        closed = len(closing) >= content - start - len(info) and not closing.strip(mark)
        stop = last if closed else end
        quoted = start > 0 and shadow[start - 1] != "\n" and ">" in shadow[shadow.rfind("\n", 0, start) + 1 : start]
        return _language(info), None if quoted or content >= stop else (content, stop), closed

    def errors(self) -> Sequence[str]:
        """A note if the text ends inside a fenced block."""
        if not self.kinds or self.kinds[-1] != "fence" or self._fence(len(self.kinds) - 1)[2]:
            return ()
        return (f"unclosed code fence, line {self.shadow.count(chr(10), 0, self.starts[-2]) + 1}",)


def _events(shadow: str) -> Iterator[tuple[Any, Any]]:
    """The parser's events, each with its range."""
    import pyromark  # here, because most runs of an import never meet Markdown

    options = pyromark.Options(0)
    for name in _EXTENSIONS:
        options |= pyromark.Options[f"ENABLE_{name}"]
    return pyromark.events_with_range(shadow, options=options)


def _shadow(text: str, front: int) -> str:
    """What the parser reads: as long as ``text``, in ASCII, blank before ``front`` and in place of a byte order mark.

    Every other code point stands as a letter, which no block rule tells from it but one: the name of an HTML tag is
    ASCII, so the ``<`` of such a name is masked too. A lone carriage return, a line end to Markdown, becomes ``\\n``.
    """
    shadow = text
    if not text.isascii():
        shadow = _FALSE_TAG.sub("x", shadow).replace("?", "\x7f")
        shadow = shadow.encode("ascii", "replace").translate(_MASK).decode("ascii")
    if "\r" in shadow:
        shadow = _LONE_CR.sub("\n", shadow)
    front = front or text.startswith("\ufeff")
    return "\n" * front + shadow[front:] if front else shadow


def _title(events: Iterator[tuple[Any, Any]], source: str) -> str:
    """The plain text of the heading whose start was just read, from its inline events, which are consumed.

    ``source``: the text where it differs from what the parser reads, else empty.
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
    title = " ".join("".join(pieces).split())
    return _ATTRIBUTES.sub("", title) if title.endswith("}") else title


@lru_cache(maxsize=256)
def _language(info: str) -> str:
    """The language an info string names, in lower case: ``python title="x"``, ``{.python}``, ``{code-block} py``."""
    info = info.strip()
    found = _DIRECTIVE.match(info) or (info.startswith("{") and _CLASS.search(info))
    if found:
        return found[1].lower()
    word = _WORD.match(info.lstrip("{=. "))
    return word[0].lower() if word else ""


def _front_matter(text: str) -> Span | None:
    """The metadata block a text begins with, a byte order mark before it allowed."""
    begin = int(text.startswith("\ufeff"))
    for language, opening, closing in (("yaml", _YAML, _YAML_END), ("toml", _TOML, _TOML_END)):
        first = opening.match(text, begin)
        last = closing.search(text, first.end()) if first else None
        if first and last:
            inner = (first.end(), last.start()) if last.start() > first.end() else None
            return Span(begin, last.end(), "code", Strength.BLOCK, detail=Detail(language=language, inner=inner))
    return None
