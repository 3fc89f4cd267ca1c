"""The structure providers of prose: plain text, reStructuredText, LaTeX, Org, AsciiDoc and log files."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import StructureProvider, StructureRequest
from omnichunk.model.span import Detail, Glue, Strength, Structure
from omnichunk.structure.blocks import Blocks
from omnichunk.structure.latex import latex_spans
from omnichunk.structure.logs import log_spans
from omnichunk.structure.nesting import TITLE, Node, damage
from omnichunk.structure.rst import rst_spans


@hookimpl
def omnichunk_structure() -> Iterable[StructureProvider]:
    """One provider a markup."""
    return [
        StructureProvider("text", ("text",), text_spans),
        StructureProvider("rst", ("rst",), rst_spans),
        StructureProvider("latex", ("latex",), latex_spans),
        StructureProvider("org", ("org",), org_spans),
        StructureProvider("asciidoc", ("asciidoc",), asciidoc_spans),
        StructureProvider("log", ("log",), log_spans),
    ]


def text_spans(request: StructureRequest) -> Structure:
    """Nothing: the ladder of blank lines, lines and sentences is all the structure plain text has."""
    return Structure()


_ORG = re.compile(
    r"^(?:(\*+)[ \t]+(\S[^\n]*)|[ \t]*#\+begin_(\w+)([^\n]*)"
    r"|[ \t]*\|[^\n]*\n?(?:[ \t]*\|[^\n]*\n?)*(?:[ \t]*#\+tblfm:[^\n]*\n?)*)",
    re.MULTILINE | re.IGNORECASE,
)
_ORG_END = re.compile(r"^(?:\*+[ \t]+\S|[ \t]*#\+end_(\w+)[^\n]*\n?)", re.MULTILINE | re.IGNORECASE)
_ORG_ABOVE = re.compile(r"[ \t]*#\+(?:name|caption|header|headers|results|attr_\w+)(?:\[[^\]\n]*\])?:[^\n]*", re.I)
_ORG_BELOW = re.compile(  # a headline: when it is due, and its properties
    r"(?:[ \t]*(?:SCHEDULED|DEADLINE|CLOSED):[^\n]*\n)?"
    r"(?:[ \t]*:PROPERTIES:[ \t\r]*\n(?:[ \t]*:(?!END:)[^\s:][^\n]*\n)*[ \t]*:END:[ \t\r]*(?:\n|\Z))?"
)
_ORG_RULE = re.compile(r"^[ \t]*\|-[^\n]*\n", re.MULTILINE)
_ORG_NOISE = re.compile(
    r"^(?:TODO|DONE|NEXT|WAITING|HOLD|CANCELLED|CANCELED|STARTED|COMMENT)(?=\s)"
    r"|\[#\w\]|\[\d*(?:/\d*|%)\]|[ \t]:[\w@#%:]+:[ \t\r]*$"
)
_ORG_INSIDE = 16  # ends of inner blocks that are passed over to find that of the outer one
_ORG_KINDS = {
    "src": "code",
    "example": "code",
    "export": "code",
    "comment": "comment",
    "quote": "quote",
    "verse": "quote",
}
_ORG_LINK = re.compile(r"\[\[(?:[^\[\]]*\]\[)?([^\[\]]*)\]\]")
_EMPHASIS = re.compile(r"(?<!\w)([*/_=~+`#]{1,2})(?=\S)([^\n]*?\S)\1(?!\w)")

_ADOC = re.compile(
    r"^(?:(={1,6}|\#{1,6})[ \t]+(\S[^\n]*)"
    r"|(-{3,}|\.{4,}|={3,}|\*{4,}|_{4,}|\+{3,}|/{4,}|~{3,}|\^{3,}|[|,:!]===|--|```)([\w-]*)[ \t\r]*$)",
    re.MULTILINE,
)
_ADOC_KINDS = {"-": "code", ".": "code", "`": "code", "+": "code", "/": "comment", "_": "quote", "|": "table",
               ",": "table", ":": "table", "!": "table"}  # fmt: skip
_ADOC_LEVELS = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
"""What underlines a title -> its level."""
_ADOC_ABOVE = re.compile(r"(?:\[[^\n]*\]|\.[^\s.][^\n]*)[ \t\r]*")
_ADOC_SOURCE = re.compile(r"\[(?:source|,)[%\w]*,? *([\w+#-]+)")
_ADOC_CELL = re.compile(r"^[\w.+*<^>]{0,12}\|", re.MULTILINE)
_ADOC_COLUMNS = re.compile(r"cols=(?:\"([^\"\n]{1,300})\"|(\d{1,3}))")
_ADOC_HEADER = re.compile(r"[^\n]*\n(?=[ \t\r]*\S)[^\n]*\n(?=[ \t\r]*\n)")


def org_spans(request: StructureRequest) -> Structure:
    """Headlines, blocks, tables and paragraphs of an Org file."""
    text = request.text
    nodes: list[Node] = []
    unclosed: list[tuple[int, str]] = []
    ends = list(_ORG_END.finditer(text))  # and headlines, which end every block
    places = [m.start() for m in ends]
    done = 0
    for m in _ORG.finditer(text):
        start, end = m.span()
        if start < done:
            continue
        if m[1]:
            name = plain(_ORG_LINK.sub(r"\1", _ORG_NOISE.sub("", m[2][:TITLE]).strip()))
            below = _ORG_BELOW.match(text, _line_end(text, end))
            done = below.end() if below else end
            nodes.append(Node(start, done, "heading", name=name, level=len(m[1]) if name else 0))
        elif m[3] is None:
            rule = _ORG_RULE.search(text, start, end)
            nodes.append(Node(_above(text, done, start, _ORG_ABOVE), end, "table"))
            done = end
            if rule and start < rule.start():
                nodes[-1].detail = Detail(carry=(start, rule.end()))
        else:
            named = m[3].lower()
            at = bisect_left(places, end)
            closing = next((e for e in ends[at : at + _ORG_INSIDE] if not e[1] or e[1].lower() == named), None)
            if closing is None or not closing[1]:
                unclosed.append((start, f"#+begin_{m[3]} is never ended"))
                continue
            node = Node(_above(text, done, start, _ORG_ABOVE), closing.end(), _ORG_KINDS.get(named, "block"))
            done = node.end
            inside = _line_end(text, end)
            if named == "src" and (words := m[4].split()) and inside < closing.start():
                node.detail = Detail(language=words[0].lower(), inner=(inside, closing.start()))
            nodes.append(node)
    return Structure(spans=Blocks(text, nodes).spans(), errors=damage(text, unclosed))


def asciidoc_spans(request: StructureRequest) -> Structure:
    """Section titles, delimited blocks and paragraphs of an AsciiDoc file."""
    text = request.text
    nodes: list[Node] = []
    unclosed: list[tuple[int, str]] = []
    marks = list(_ADOC.finditer(text))
    lines: defaultdict[str, list[int]] = defaultdict(list)  # where each mark stands alone on a line
    for m in marks:
        if m[3] and not m[4]:
            lines[m[3]].append(m.start())
    done = 0
    for m in marks:
        start, end = m.start(), _line_end(text, m.end())
        if start < done:
            continue
        if m[1]:
            name = plain(re.sub(r"\[\[[^\]]*\]\]|[ \t]=+[ \t\r]*$", "", m[2][:TITLE]))
            nodes.append(Node(start, end, "heading", name=name, level=len(m[1]) if name else 0))
            done = end
            continue
        mark, places = m[3], lines[m[3]]
        title = -1 if m[4] else _underlined(text, done, start, mark)
        if title >= 0:
            nodes.append(Node(title, end, "heading", name=plain(text[title:start]), level=_ADOC_LEVELS[mark[0]]))
            done = end
            continue
        if mark[0] in "~^" or mark in ("---", "===", "+++"):
            continue
        at = bisect_left(places, end)
        if at == len(places):
            unclosed.append((start, f"block {mark} is never closed"))
            continue
        closing = places[at]
        node = Node(start, _line_end(text, closing), _ADOC_KINDS.get(mark[0] if mark != "--" else "", "block"))
        node.start = _above(text, done, start, _ADOC_ABOVE)
        done = node.end
        if node.kind == "code":
            source = _ADOC_SOURCE.search(text, node.start, start)
            language = m[4] or (source[1] if source else "")
            if language and end < closing:
                node.detail = Detail(language=language.lower(), inner=(end, closing))
        elif node.kind == "table":
            header = _ADOC_HEADER.match(text, start, done)
            node.detail = Detail(carry=(start, header.end())) if header else None
            nodes += [node, *_rows(text, node, start, closing)]
            continue
        nodes.append(node)
    return Structure(spans=Blocks(text, nodes).spans(), errors=damage(text, unclosed))


def _underlined(text: str, low: int, start: int, mark: str) -> int:
    """Where the title begins that the line ``mark`` at ``start`` underlines, as long as it, below a blank line; else -1."""
    line = text.rfind("\n", low, max(start - 1, low)) + 1 or low
    title = text[line:start].rstrip()
    if mark[0] not in _ADOC_LEVELS or len(mark) < 3 or not title[:1].isalnum() or abs(len(title) - len(mark)) > 1:
        return -1
    above = text[text.rfind("\n", low, max(line - 1, low)) + 1 or low : line].strip()
    return line if not above or above.startswith("//") or _ADOC_ABOVE.fullmatch(above) else -1


def _rows(text: str, table: Node, start: int, closing: int) -> Iterator[Node]:
    """The rows of a table whose cells stand on lines of their own: set apart by blank lines, else counted.

    ``start``: of its first mark; ``closing``: of its last. Nothing if every line is a row.
    """
    carry = table.detail.carry if table.detail else None
    body = carry[1] if carry else _line_end(text, start)
    cells = [m.start() for m in _ADOC_CELL.finditer(text, body, closing)]
    cuts = [at for at in cells[1:] if text[text.rfind("\n", body, at - 1) + 1 : at].isspace()]
    columns = text.count("|", *carry) - 1 if carry else _columns(text[table.start : start])
    if not cuts and columns > 1:
        found = 0
        for at, following in pairwise([*cells, closing]):
            if found >= columns:
                cuts.append(at)
                found = 0
            found += text.count("|", at, following)
    if not cuts:
        return
    if carry:
        yield Node(table.start, cells[0], "row", Strength.ITEM, glue=Glue.NEXT)
    for at, following in pairwise([cells[0] if carry else table.start, *cuts, table.end]):
        yield Node(at, following, "row", Strength.ITEM)


def _columns(attributes: str) -> int:
    """How many columns ``cols=…`` in the lines above a table says it has; 0 if it does not say."""
    named = _ADOC_COLUMNS.search(attributes)
    if named is None:
        return 0
    parts = re.split("[,;]", named[1] or f"{named[2]}*")
    return sum(int(part.split("*")[0]) if re.match(r"\s*\d{1,3}\*", part) else 1 for part in parts)


def _above(text: str, low: int, start: int, mark: re.Pattern[str]) -> int:
    """Where the title and the attributes (``mark``) of the block at ``start`` begin, which stand in lines above it."""
    while start > low:
        line = text.rfind("\n", low, start - 1) + 1 or low
        if not mark.fullmatch(text, line, start - 1):
            break
        start = line
    return start


def _line_end(text: str, position: int) -> int:
    """Position behind the line break at or after ``position``."""
    return text.find("\n", position) + 1 or len(text)


def plain(title: str) -> str:
    """The words of a title without marks of emphasis."""
    return " ".join(_EMPHASIS.sub(r"\2", title[:TITLE]).split())
