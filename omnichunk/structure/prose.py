"""The structure providers of prose: plain text, reStructuredText, LaTeX, Org and AsciiDoc."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import StructureProvider, StructureRequest
from omnichunk.model.span import Detail, Structure
from omnichunk.structure.blocks import Blocks
from omnichunk.structure.latex import latex_spans
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
    ]


def text_spans(request: StructureRequest) -> Structure:
    """Nothing: the ladder of blank lines, lines and sentences is all the structure plain text has."""
    return Structure()


_ORG = re.compile(
    r"^(?:(\*+)[ \t]+(\S[^\n]*)|[ \t]*#\+begin_(\w+)([^\n]*)|[ \t]*\|[^\n]*\n?(?:[ \t]*\|[^\n]*\n?)*)",
    re.MULTILINE | re.IGNORECASE,
)
_ORG_END = re.compile(r"^(?:\*+[ \t]+\S|[ \t]*#\+end_(\w+)[^\n]*\n?)", re.MULTILINE | re.IGNORECASE)
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
    r"|(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|[|,:!]===|--|```)([\w-]*)[ \t\r]*$)",
    re.MULTILINE,
)
_ADOC_KINDS = {"-": "code", ".": "code", "`": "code", "+": "code", "/": "comment", "_": "quote", "|": "table",
               ",": "table", ":": "table", "!": "table"}  # fmt: skip
_ADOC_ABOVE = re.compile(r"(?:\[[^\n]*\]|\.[^\s.][^\n]*)[ \t\r]*")
_ADOC_SOURCE = re.compile(r"\[(?:source|,)[%\w]*,? *([\w+#-]+)")
_ADOC_HEADER = re.compile(r"[^\n]*\n[^\n]*\S[^\n]*\n(?=[ \t\r]*\n)")


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
            nodes.append(Node(start, _line_end(text, end), "heading", name=name, level=len(m[1]) if name else 0))
        elif m[3] is None:
            rule = _ORG_RULE.search(text, start, end)
            nodes.append(Node(start, end, "table"))
            if rule and start < rule.start():
                nodes[-1].detail = Detail(carry=(start, rule.end()))
        else:
            named = m[3].lower()
            at = bisect_left(places, end)
            closing = next((e for e in ends[at : at + _ORG_INSIDE] if not e[1] or e[1].lower() == named), None)
            if closing is None or not closing[1]:
                unclosed.append((start, f"#+begin_{m[3]} is never ended"))
                continue
            done = closing.end()
            node = Node(start, done, _ORG_KINDS.get(named, "element"))
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
        at = bisect_left(places, end)
        if at == len(places):
            unclosed.append((start, f"block {mark} is never closed"))
            continue
        closing = places[at]
        node = Node(start, _line_end(text, closing), _ADOC_KINDS.get(mark[0] if mark != "--" else "", "element"))
        node.start = _above(text, done, start)
        done = node.end
        if node.kind == "code":
            source = _ADOC_SOURCE.search(text, node.start, start)
            language = m[4] or (source[1] if source else "")
            if language and end < closing:
                node.detail = Detail(language=language.lower(), inner=(end, closing))
        elif node.kind == "table":
            header = _ADOC_HEADER.match(text, start, done)
            node.detail = Detail(carry=(start, header.end())) if header else None
        nodes.append(node)
    return Structure(spans=Blocks(text, nodes).spans(), errors=damage(text, unclosed))


def _above(text: str, low: int, start: int) -> int:
    """Where the title and the attributes of the block at ``start`` begin, which stand in lines above it."""
    while start > low:
        line = text.rfind("\n", low, start - 1) + 1 or low
        if not _ADOC_ABOVE.fullmatch(text, line, start - 1):
            break
        start = line
    return start


def _line_end(text: str, position: int) -> int:
    """Position behind the line break at or after ``position``."""
    return text.find("\n", position) + 1 or len(text)


def plain(title: str) -> str:
    """The words of a title without marks of emphasis."""
    return " ".join(_EMPHASIS.sub(r"\2", title[:TITLE]).split())
