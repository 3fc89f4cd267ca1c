"""HTML to spans: one pass over the tags, tolerant of everything browsers tolerate, linear on any input.

Headings open sections wherever they stand, so wrappers that reach over a heading (a ``div``, a layout table) are
transparent. Headings in navigation, footers, asides, templates and hidden elements open none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from itertools import groupby

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Detail, Glue, Span, Strength, Structure
from omnichunk.structure.nesting import TITLE, Nest, Node, begins_line, damage, line_start, outlined
from omnichunk.structure.paragraphs import pieces

# Searched only up to the last ">", where it cannot fail once a name has matched: each attribute is passed once.
ATTRIBUTES = r"""[^>=]*(?:=(?:\s*"[^"]*"|\s*'[^']*')?[^>=]*)*>"""
_TOKEN = re.compile(rf"<(?:(/?)([A-Za-z][^\s/>]*){ATTRIBUTES}|!--|!\[CDATA\[|[!?])")
_TAG = re.compile(r"<(/?)[^<>]*>\s*|[^<]+|<")
_BREAK = re.compile(r"<br\s*/?\s*>[ \t\r]*\n?", re.I)
_HIDDEN = re.compile(r"""\shidden(?=[\s=/]|$)|display\s*:\s*none|aria-hidden\s*=\s*["']?true""", re.I)
_TYPE = re.compile(r"""\stype\s*=\s*["']?([^\s"'>;]+)""", re.I)
_LANG = re.compile(r"""\slang\s*=\s*["']?([\w+#-]+)""", re.I)
_LANGUAGE = re.compile(r"""\sclass\s*=\s*["']?[^"'>]*?\b(?:language|lang|highlight-source)-([\w+#-]+)""", re.I)
_UNSEEN = re.compile(r"<!--.*?-->|<(script|style|template|svg)\b.*?</\1[^>]*>", re.I | re.S)
_SPACE = re.compile(r"<(?:/?(?:br|hr|p|div|li|td|tr|img)\b)[^>]*>", re.I)
_CAPTION = re.compile(r"<caption\b[^>]*>([^<]{1,400})", re.I)
_HEADER = re.compile(r"<thead\b|<tr\b", re.I)
_HEADER_END = {"<thead": re.compile(r"</thead[^>]*>|<tbody\b", re.I), "<tr": re.compile(r"</tr[^>]*>|<tr\b", re.I)}
_CELL = re.compile(r"<t([hd])\b", re.I)
_HEAD = 20_000  # characters of a table in which its header is looked for
_COMMENT = 80  # a shorter comment inside a line is part of that line


@dataclass(frozen=True, slots=True)
class Tag:
    """What a start tag does: the span it opens, whom it closes, whether its content is markup at all."""

    name: str
    kind: str
    strength: Strength = Strength.BLOCK
    closes: tuple[str, ...] = ()  # open elements that end where this one starts …
    within: tuple[str, ...] = ()  # … unless one of these was opened after them
    raw: bool = False
    mutes: bool = False
    level: int = 0


def _tags() -> dict[str, Tag]:
    tags: dict[str, Tag] = {}

    def add(names: str, kind: str, strength: Strength = Strength.BLOCK, **more: object) -> None:
        tags.update((name, Tag(name, kind, strength, **more)) for name in names.split())  # type: ignore[arg-type]

    add("div section article main header hgroup center figure form fieldset details noscript dialog", "element")
    add("nav footer aside template", "element", mutes=True)
    add("blockquote", "quote", mutes=True)
    add("p address figcaption legend summary caption", "paragraph")
    add("ul ol dl menu dir", "list")
    lists, cells = ("ul", "ol", "dl", "menu", "dir"), ("table",)
    add("li", "item", Strength.ITEM, closes=("li",), within=(*lists, "td", "th"))
    add("dt dd", "item", Strength.ITEM, closes=("dt", "dd"), within=(*lists, "td", "th"))
    add("table", "table")
    add("tr", "row", Strength.ITEM, closes=("tr", "caption"), within=cells)
    add("td th", "element", Strength.LINE, closes=("td", "th"), within=cells)
    add("pre listing", "code")
    add("script style xmp", "code", raw=True)
    add("svg iframe noframes noembed", "element", raw=True)
    add("textarea title", "paragraph", raw=True)
    for level in range(1, 7):
        add(f"h{level}", "heading", closes=tuple(f"h{n}" for n in range(1, 7)), within=("td", "th"), level=level)
    return tags


_TAGS = _tags()
_LEADS = frozenset({"dt", "summary", "legend"})  # say what the element after them is about
_WALLS = frozenset({"table", "td", "th", "template"})  # a stray end tag inside closes nothing outside
_TABLE = frozenset({"table", "tr", "td", "th"})
_RAW_END = {name: re.compile(rf"</(?i:{name})(?=[\s/>])[^>]*>") for name, tag in _TAGS.items() if tag.raw}


def plain(text: str, start: int, end: int) -> str:
    """The words of the title ``[start, end)``: tags dropped, entities decoded, white space folded."""
    markup = _SPACE.sub(" ", _UNSEEN.sub("", text[start : min(end, start + TITLE)]))
    return " ".join(unescape(re.sub(r"<[^>]*>|<[^>]*$", "", markup)).split())


class _Scanner:
    """The stack of open elements and the nodes found so far. A node without kind is transparent."""

    def __init__(self, text: str, component: bool = False) -> None:
        self.text = text
        self.component = component  # its outermost scripts and styles are parts of their own, its headings no sections
        self.nodes: list[Node] = []
        self.damage: list[tuple[int, str]] = []
        self.stack: list[tuple[Tag, Node, int]] = []  # with the end of the start tag
        self.at: defaultdict[str, list[int]] = defaultdict(list)  # name -> its places in the stack
        self.walls = [-1]
        self.muted = (
            1 << 30 if component else -1
        )  # place in the stack of the outermost element whose headings do not count

    def innermost(self, names: Sequence[str]) -> int:
        """Place in the stack of the innermost open element of these names, -1 if there is none."""
        at = self.at
        return max([at[name][-1] for name in names if at[name]], default=-1)

    def push(self, tag: Tag, start: int, inside: int, attributes: str) -> None:
        """Open an element, after closing those its start tag implies."""
        stack = self.stack
        if stack:
            top, _, content = stack[-1]
            if top.name == "p" or (top.level and not tag.level and plain(self.text, content, start)):
                self.pop_to(len(stack) - 1, start)
        if tag.closes and stack:
            place = len(stack) - 1 if stack[-1][0].name in tag.closes else self.innermost(tag.closes)
            if place >= 0 and place > self.innermost(tag.within):
                self.pop_to(place, start)
        node = Node(start, start, tag.kind, tag.strength)
        if self.muted < 0 and (tag.mutes or (attributes and _HIDDEN.search(attributes))):
            self.muted = len(stack)
        if tag.name in _LEADS:
            node.glue = Glue.NEXT
        if tag.kind == "code" and attributes and (named := _LANGUAGE.search(attributes)):
            node.detail = Detail(language=named[1].lower())
        if tag.name in _WALLS:
            self.walls.append(len(stack))
        self.at[tag.name].append(len(stack))
        stack.append((tag, node, inside))
        self.nodes.append(node)

    def pop_to(self, place: int, end: int) -> Node:
        """Close the open elements from ``place`` on, which all end at ``end``; gives the outermost of them."""
        stack = self.stack
        while True:
            tag, node, inside = stack.pop()
            depth = len(stack)
            node.end = end
            self.at[tag.name].pop()
            if self.walls[-1] == depth:
                self.walls.pop()
            if tag.level:
                self.heading(tag, node, inside)
            if self.muted == depth:
                self.muted = -1
            if depth == place:
                return node

    def heading(self, tag: Tag, node: Node, inside: int) -> None:
        """Decide whether a heading that just ended opens a section; what it stands in becomes transparent then."""
        node.name = plain(self.text, inside, node.end)
        node.glue = Glue.NEXT
        if not node.name or self.muted >= 0:
            return
        node.level = tag.level
        for _, outer, _ in reversed(self.stack):
            if not outer.kind:
                break
            outer.kind = ""

    def close(self, name: str, start: int, end: int) -> None:
        """An end tag: closes its element and those inside, or nothing if none is open on this side of a wall."""
        places = self.at[name]
        if not places and name[0] == "h" and name in _TAGS:
            places = self.at[f"h{_TAGS[name].level}"] or next((p for n in "123456" if (p := self.at["h" + n])), places)
        wall = self.at["table"][-1] if name in _TABLE and self.at["table"] else self.walls[-1]
        if places and places[-1] >= wall:
            self.pop_to(places[-1], start).end = end

    def raw(self, tag: Tag, start: int, inside: int, attributes: str) -> int:
        """An element without markup inside; gives the position behind it, or behind its start tag if it never ends."""
        found = _RAW_END[tag.name].search(self.text, inside)
        if found is None:
            self.damage.append((start, f"<{tag.name}> is never closed"))
            return -1
        node = Node(start, found.end(), tag.kind)
        named = _LANG.search(attributes)
        language = _script(attributes) if tag.name == "script" else "css" if tag.name == "style" else ""
        if language and named:
            language = named[1].lower()
        if language and inside < found.start():
            node.detail = Detail(language=language, inner=(inside, found.start()))
            if self.component and not self.stack:
                node.kind, node.strength = "part", Strength.PART
        self.nodes.append(node)
        return found.end()

    def scan(self) -> None:
        """Read all tags."""
        text = self.text
        limit = text.rfind(">") + 1
        hopeless: set[str] = set()  # what was looked for in vain up to the end
        get = _TAGS.get
        at = 0
        while at >= 0:
            tokens = _TOKEN.finditer(text, at, limit)
            at = -1
            for m in tokens:
                name = m[2]
                if name is None:
                    at = self.aside(m[0], m.start(), m.end(), hopeless)
                    if at >= 0:
                        break
                    continue
                tag = get(name)
                if tag is None and (name.islower() or (tag := get(name.lower())) is None):
                    continue
                if m[1]:
                    self.close(tag.name, m.start(), m.end())
                elif not tag.raw:
                    self.push(tag, m.start(), m.end(), text[m.end(2) : m.end() - 1])
                elif tag.name not in hopeless:
                    at = self.raw(tag, m.start(), m.end(), text[m.end(2) : m.end() - 1])
                    if at >= 0:
                        break
                    hopeless.add(tag.name)
        if self.stack:
            self.pop_to(0, len(text))

    def aside(self, opening: str, start: int, inside: int, hopeless: set[str]) -> int:
        """Position behind a comment, CDATA section, declaration or instruction; -1 if it is not closed."""
        text = self.text
        ending = {"<!--": "-->", "<![CDATA[": "]]>"}.get(opening, ">")
        end = -1 if opening in hopeless else text.find(ending, inside)
        if end < 0:
            if opening not in hopeless and opening == "<!--":
                self.damage.append((start, "comment is never closed"))
            hopeless.add(opening)
            return -1
        end += len(ending)
        if opening == "<!--" and (end - start > _COMMENT or begins_line(text, start)):
            self.nodes.append(Node(start, end, "comment"))
        return end


def _script(attributes: str) -> str:
    """The language of a script with these attributes, empty if it is none we could name."""
    named = _TYPE.search(attributes)
    kind = named[1].lower() if named else "module"
    if "json" in kind or kind in ("importmap", "speculationrules"):
        return "json"
    if "html" in kind or "template" in kind:
        return "html"
    return "typescript" if "typescript" in kind else "javascript" if "script" in kind or kind == "module" else ""


def tag_gap(text: str, start: int, end: int) -> tuple[list[Span], int]:
    """The text between two elements: end tags belong to what precedes, start tags at its end to what follows."""
    body = lead = -1
    words = False
    for m in _TAG.finditer(text, start, end):
        token = m[0]
        if token[0] == "<" and token != "<":
            if m[1]:
                lead = -1
                continue
            if lead < 0:
                lead = m.start()
        elif token.isspace():
            continue
        else:
            words, lead = True, -1
        if body < 0:
            body = m.end() - len(token.lstrip())
    if not words:
        return [], line_start(text, start, body if body >= 0 else end)
    stop = line_start(text, body, lead if lead >= 0 else end)
    return [Span(line_start(text, start, body), stop, "text")], stop


class _HtmlNest(Nest):
    """Knows the header of a table, the lines of a leaf, and that a section starts at the tag of its heading."""

    def __init__(self, text: str, nodes: Sequence[Node]) -> None:
        super().__init__(text, nodes, lambda start, end: tag_gap(text, start, end))

    def _span(self, i: int, start: int) -> Span:
        node = self.nodes[i]
        if node.kind in ("section", "heading"):
            start = node.start
        elif node.kind == "table":
            node.name, node.detail = _table(self.text, node)
        return super()._span(i, start)

    def opens(self, node: Node) -> bool:
        return node.kind in ("section", "paragraph", "item", "element", "quote")

    def opened(self, i: int, start: int) -> Sequence[Span]:
        node = self.nodes[i]
        if self.after[i] == i + 1 and node.kind != "section":
            return self._lines(start, node.end)
        children = super().opened(i, start)
        carry = node.detail and node.detail.carry
        if carry:
            for child in children:
                if child.end > carry[1]:
                    break
                child.glue |= Glue.NEXT
        return children

    def _lines(self, start: int, end: int) -> Sequence[Span]:
        """The lines of a leaf that is broken by ``<br>``."""
        cuts = (m.end() for m in _BREAK.finditer(self.text, start, end))
        lines = pieces(self.text, start, end, cuts, "text", Strength.LINE)
        return lines if len(lines) > 1 else ()


def _table(text: str, table: Node) -> tuple[str, Detail | None]:
    """Caption of a table, and what continuations repeat: its ``thead``, or a first row of nothing but ``th``."""
    end = min(table.end, table.start + _HEAD)
    captioned = _CAPTION.search(text, table.start, end)
    carry = None
    first = _HEADER.search(text, table.start, end)
    if first is not None:
        kind = first[0].lower()
        last = _HEADER_END[kind].search(text, first.end(), end)
        if last is not None:
            stop = last.end() if last[0][1] == "/" else last.start()
            if kind == "<thead" or {m[1].lower() for m in _CELL.finditer(text, first.start(), stop)} == {"h"}:
                carry = (first.start(), stop)
    name = plain(text, *captioned.span(1)) if captioned else ""
    return name, Detail(label="table" if name else "", carry=carry) if name or carry else None


def html_spans(request: StructureRequest) -> Structure:
    """The outline and blocks of an HTML page or fragment, or of a component written like one (Vue, Svelte)."""
    text = request.text
    scanner = _Scanner(text, component=request.language != "html")
    scanner.scan()
    nodes = outlined([node for node in scanner.nodes if node.kind], len(text))
    spans = _HtmlNest(text, nodes).spans()
    if scanner.component:
        spans = _parts(spans, request.language)
    return Structure(spans=spans, errors=damage(text, scanner.damage))


def _parts(spans: Sequence[Span], language: str) -> list[Span]:
    """``spans`` with parts in ``language`` around those that are no parts in a language of their own."""
    parts: list[Span] = []
    for apart, group in groupby(spans, key=lambda span: span.kind == "part"):
        run = [*group]
        if apart:
            parts += run
        else:
            parts.append(
                Span(run[0].start, run[-1].end, "part", Strength.PART, "", Detail(language=language), children=run)
            )
    return parts
