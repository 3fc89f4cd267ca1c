"""XML to spans: an entry for each element, named by its tag, so that a continuation knows its path.

Parts of a book that begin with a title (DocBook, JATS, DITA) are sections. Nothing is resolved or fetched: entities
and declarations are text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Detail, Glue, Span, Strength, Structure
from omnichunk.structure.html import ATTRIBUTES, plain, tag_gap
from omnichunk.structure.nesting import Nest, Node, begins_line, damage

_TOKEN = re.compile(rf"<(?:(/?)([^\s<>/!?=\"']+){ATTRIBUTES}|!--|!\[CDATA\[|!DOCTYPE|[!?])")
_ENDINGS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_DOCTYPE = re.compile(r"[\[>]")
_SECTIONS = frozenset((
    "book", "part", "chapter", "appendix", "preface", "article", "section", "sect1", "sect2", "sect3", "sect4", "sect5",
    "simplesect", "sec", "topic", "concept", "task", "reference", "refentry", "refsect1", "refsect2", "refsect3",
    "glossary", "bibliography",
))  # fmt: skip


class _Element:
    """An open element: its tag, its node, where its content begins, how many nodes there were before that."""

    __slots__ = ("before", "inside", "name", "node")

    def __init__(self, name: str, node: Node, inside: int, before: int) -> None:
        self.name = name
        self.node = node
        self.inside = inside
        self.before = before


class _Scanner:
    """The stack of open elements, the nodes found so far, and what was wrong with them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes: list[Node] = []
        self.damage: list[tuple[int, str]] = []
        self.stack: list[_Element] = []
        self.open: defaultdict[str, int] = defaultdict(int)  # how many elements of a name are open
        self.level = 0  # how many sections are open

    def scan(self) -> None:
        """Read all tags."""
        text, nodes, stack = self.text, self.nodes, self.stack
        limit = text.rfind(">") + 1
        hopeless: set[str] = set()  # what was looked for in vain up to the end
        at = 0
        while at >= 0:
            tokens = _TOKEN.finditer(text, at, limit)
            at = -1
            for m in tokens:
                name = m[2]
                start, end = m.span()
                if name is None:
                    at = self.aside(m[0], start, end, hopeless)
                    if at >= 0:
                        break
                elif m[1]:
                    self.close(name, start, end)
                else:
                    node = Node(start, end, "entry", Strength.ITEM, name)
                    nodes.append(node)
                    if text[end - 2] != "/":
                        self.open[name] += 1
                        stack.append(_Element(name, node, end, len(nodes)))
        while stack:
            self.damage.append((stack[-1].node.start, f"<{stack[-1].name}> is never closed"))
            self.pop(len(text), len(text))
        self.damage.sort()

    def close(self, name: str, start: int, end: int) -> None:
        """An end tag: closes its element and those inside, or nothing if none is open."""
        if not self.open[name]:
            self.damage.append((start, f"</{name}> closes nothing"))
            return
        while self.stack[-1].name != name:
            self.damage.append((self.stack[-1].node.start, f"<{self.stack[-1].name}> is never closed"))
            self.pop(start, start)
        self.pop(start, end)

    def pop(self, start: int, end: int) -> None:
        """Close the innermost element, whose content ends at ``start`` and which ends at ``end``."""
        element = self.stack.pop()
        node = element.node
        node.end = end
        self.open[element.name] -= 1
        if node.kind == "section":
            self.level -= 1
        if element.name == "title" and self.stack:
            outer = self.stack[-1]
            title = plain(self.text, element.inside, start)
            if title and outer.name in _SECTIONS and self.nodes[outer.before] is node:
                self.level += 1
                node.kind, node.name, node.glue, node.strength = "heading", title, Glue.NEXT, Strength.BLOCK
                section = outer.node
                section.kind, section.name, section.strength = "section", title, Strength.SECTION
                section.detail = Detail(label="heading", level=self.level)

    def aside(self, opening: str, start: int, inside: int, hopeless: set[str]) -> int:
        """Position behind a comment, CDATA section, instruction or declaration; -1 if it is not closed."""
        if opening == "<!DOCTYPE" and opening not in hopeless:
            mark = _DOCTYPE.search(self.text, inside)
            ending = "]" if mark and mark[0] == "[" else ">"
        else:
            ending = _ENDINGS.get(opening, ">")
        end = -1 if opening in hopeless else self.text.find(ending, inside)
        if end < 0:
            if opening not in hopeless:
                what = {"<!--": "comment", "<![CDATA[": "CDATA section", "<?": "instruction"}.get(
                    opening, "declaration"
                )
                self.damage.append((start, f"{what} is never closed"))
            hopeless.add(opening)
            return -1
        end += len(ending)
        if opening == "<!--" and begins_line(self.text, start):
            self.nodes.append(Node(start, end, "comment"))
        return end


class _XmlNest(Nest):
    """Leaves elements inside a sentence alone: in mixed content only what begins a line is a child."""

    def __init__(self, text: str, nodes: Sequence[Node]) -> None:
        super().__init__(text, nodes, lambda start, end: tag_gap(text, start, end))

    def opened(self, i: int, start: int) -> Sequence[Span]:
        children = super().opened(i, start)
        text = self.text
        if any(child.kind == "text" for child in children):
            children = [child for child in children if begins_line(text, child.start)]
            return children if len(children) > 1 else ()
        return children


def xml_spans(request: StructureRequest) -> Structure:
    """The elements of an XML document, and the sections of those that are books."""
    text = request.text
    scanner = _Scanner(text)
    scanner.scan()
    return Structure(spans=_XmlNest(text, scanner.nodes).spans(), errors=damage(text, scanner.damage))
