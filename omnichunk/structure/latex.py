"""LaTeX to spans: sections by command, environments as blocks, paragraphs by blank lines. Nothing is expanded."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from unicodedata import normalize

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Detail, Glue, Span, Strength, Structure
from omnichunk.structure.nesting import TITLE, Nest, Node, damage, outlined
from omnichunk.structure.paragraphs import paragraphs, pieces

_TOKEN = re.compile(
    r"\\(?:(begin|end)[ \t]*\{([^{}\n]{1,60})\}"
    r"|(part|chapter|(?:sub){0,2}section|(?:sub)?paragraph|item|frametitle)(?![A-Za-z@])\*?"
    r"|verb\*?([^A-Za-z\s*])[^\n]{0,500}?\4"
    r"|[^A-Za-z])"
    r"|%[^\n]*"
)
_LEVELS = {
    "part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6, "subparagraph": 7,
}  # fmt: skip
_FRAME = 5  # a slide lies below a subsection
_LISTS = frozenset(
    ("itemize", "enumerate", "description", "compactitem", "compactenum", "inparaenum", "thebibliography")
)
_VERBATIM = frozenset(("verbatim", "Verbatim", "lstlisting", "minted", "comment", "alltt", "filecontents", "BVerbatim"))
_MATH = frozenset(
    ("equation", "align", "gather", "multline", "eqnarray", "displaymath", "alignat", "flalign", "math", "split")
)
_TABULAR = frozenset(("tabular", "tabularx", "longtable", "tabulary", "supertabular", "tabu", "array"))
_TRANSPARENT = frozenset(("document", "appendices", "refsection", "spacing", "CJK", "multicols", "center", "sloppypar"))
_BRACE = re.compile(r"\\.|[{}]|%[^\n]*", re.S)
_OPTION = re.compile(r"(?:\s*(?:<[^<>\n]{0,60}>|\[(?:[^\[\]{}]|\{[^{}]{0,300}\}){0,300}\]))*\s*")
_RULE = re.compile(r"\\\\[^\n]{0,60}\n?[ \t]*(?:\\midrule|\\hline|\\endhead)(?![A-Za-z])[^\n]*\n?")
_ROW = re.compile(
    r"\\\\(?:\[[^\]\n]{0,40}\])?(?:[ \t]*\\(?:hline|midrule|bottomrule|toprule|cline\{[\d-]+\}))*[ \t\r]*\n"
)
_ENDS = re.compile(r"(?:\s*\\end\{[^{}\n]{1,60}\})+")
_BEGINS = re.compile(r"\s*(?:\\begin\{[^{}\n]{1,60}\}(?:\[[^\]\n]{0,100}\]|\{[^{}\n]{0,100}\})*\s*)+")
_CAPTION = re.compile(r"\\caption(?:\[[^\]\n]{0,300}\])?\{")
_CODE_LANGUAGE = re.compile(
    r"\s*(?:\[[^\]\n]*?language\s*=\s*\{?(?:\[[^\]\n]*\])?([\w+#-]+)|(?:\[[^\]\n]*\])?\{([\w+#-]+)\})"
)
_PARAMETER = re.compile(r"(?<!\\)#\d")
_DEEP = 8  # braces in braces: more is damage, and would be read once for each brace

_DROPPED = re.compile(
    r"\\(?:label|footnote|footnotemark|thanks|index|vspace|hspace|cite[a-z]*)\*?(?:\[[^\]]*\])?\{[^{}]*\}"
)
_PDF = re.compile(r"\\texorpdfstring\s*\{((?:[^{}]|\{[^{}]*\})*)\}\s*\{(?:[^{}]|\{[^{}]*\})*\}")
_ACCENT = re.compile(r"""\\(?:(['`^"~=.])\s*|([cvHukrd])(?:\s+|(?=\{)))\{?\s*(?:\\?([A-Za-z]))\}?""")
_MARKS = dict(
    zip("'`^\"~=.cvHukrd", "\u0301\u0300\u0302\u0308\u0303\u0304\u0307\u0327\u030c\u030b\u0306\u0328\u030a\u0323")
)
_LETTERS = {
    "ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å",
    "LaTeX": "LaTeX", "TeX": "TeX", "LaTeXe": "LaTeX2e", "BibTeX": "BibTeX", "ldots": "…", "dots": "…",
}  # fmt: skip
_LETTER = re.compile(r"\\(" + "|".join(sorted(_LETTERS, key=len, reverse=True)) + r")(?![A-Za-z])(?:\{\}|[ \t]*)")
_COMMAND = re.compile(r"\\(?:[A-Za-z@]+\*?[ \t]*(?:\[[^\]\n]*\])?|[,;:!>/ ])|[{}$]")


def plain(title: str) -> str:
    """The words of a title: commands, braces and notes dropped, accents and ligatures composed."""
    title = re.sub(r"(?<!\\)%[^\n]*\n?[ \t]*", "", title)
    title = _DROPPED.sub("", _PDF.sub(r"\1", title))
    title = _ACCENT.sub(lambda m: m[3] + _MARKS[m[1] or m[2]], title)
    title = _LETTER.sub(lambda m: _LETTERS[m[1]], title)
    title = re.sub(r"\\\\(?:\[[^\]]*\])?|~|\\quad|\\newline", " ", title)
    title = _COMMAND.sub("", title)
    title = title.replace("---", "—").replace("--", "–").replace("\\", "")
    return normalize("NFC", " ".join(title.split()))


def group(text: str, start: int, limit: int) -> int:
    """Position behind the brace group that opens at ``start``; -1 if it ends beyond ``limit`` or nests too deep."""
    depth = 0
    for m in _BRACE.finditer(text, start, limit):
        token = m[0]
        if token == "{":
            depth += 1
            if depth > _DEEP:
                return -1
        elif token == "}":
            depth -= 1
            if not depth:
                return m.end()
    return -1


class _Scanner:
    """The stack of open environments and the nodes found so far. A node without kind is transparent."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes: list[Node] = []
        self.damage: list[tuple[int, str]] = []
        self.stack: list[tuple[str, Node]] = []
        self.open: defaultdict[str, int] = defaultdict(int)

    def scan(self) -> None:
        """Read all commands that matter."""
        text = self.text
        hopeless: set[str] = set()
        at = 0
        while at >= 0:
            tokens = _TOKEN.finditer(text, at)
            at = -1
            for m in tokens:
                if m[1] == "begin":
                    at = self.begin(m[2], m.start(), m.end(), hopeless)
                elif m[1]:
                    self.end(m[2], m.start(), m.end())
                elif m[3] == "item":
                    self.item(m.start())
                elif m[3]:
                    at = self.title(m[3], m.start(), m.end())
                if at >= 0:
                    break
        while self.stack:
            name, node = self.stack.pop()
            node.end = len(text)
            if name not in ("document", "\\item"):
                self.damage.append((node.start, f"\\begin{{{name}}} is never ended"))
        self.damage.sort()

    def begin(self, name: str, start: int, inside: int, hopeless: set[str]) -> int:
        """Open an environment; gives the position to go on from if its content is not LaTeX."""
        text = self.text
        bare = name.rstrip("*")
        if bare in _VERBATIM and name not in hopeless:
            ending = f"\\end{{{name}}}"
            end = text.find(ending, inside)
            if end >= 0:
                end += len(ending)
                self.nodes.append(Node(start, end, "comment" if bare == "comment" else "code"))
                if bare in ("lstlisting", "minted") and (m := _CODE_LANGUAGE.match(text, inside, inside + 200)):
                    body = text.find("\n", m.end()) + 1
                    code = (body, end - len(ending))
                    self.nodes[-1].detail = Detail(
                        language=(m[1] or m[2]).lower(), inner=code if 0 < body < code[1] else None
                    )
                return end
            hopeless.add(name)
            self.damage.append((start, f"\\begin{{{name}}} is never ended"))
            return -1
        node = Node(start, start, _kind(bare))
        if bare == "frame":
            node.level = _FRAME
            self.frame(node, inside)
        elif bare in _MATH and start and "\n\n" not in text[max(0, start - 3) : start]:
            node.glue = Glue.PREVIOUS
        self.nodes.append(node)
        self.stack.append((name, node))
        self.open[name] += 1
        return -1

    def end(self, name: str, start: int, end: int) -> None:
        """Close an environment and those inside, or nothing if none is open."""
        if not self.open[name]:
            if name != "document":
                self.damage.append((start, f"\\end{{{name}}} ends nothing"))
            return
        while True:
            opened, node = self.stack.pop()
            self.open[opened] -= 1
            if opened == name:
                node.end = end
                return
            node.end = start
            if opened != "\\item":
                self.damage.append((node.start, f"\\begin{{{opened}}} is never ended"))

    def item(self, start: int) -> None:
        """An item of the innermost list ends the one before it."""
        if not self.stack:
            return
        if self.stack[-1][0] == "\\item":
            self.stack.pop()[1].end = start
        elif self.stack[-1][1].kind != "list":
            return
        else:
            self.open["\\item"] += 1
        node = Node(start, start, "item", Strength.ITEM)
        self.nodes.append(node)
        self.stack.append(("\\item", node))

    def frame(self, node: Node, inside: int) -> None:
        """The title a slide has behind its ``\\begin``."""
        opening = _OPTION.match(self.text, inside, inside + 400)
        at = opening.end() if opening else inside
        if self.text[at : at + 1] == "{" and "\n" not in self.text[inside:at]:
            end = group(self.text, at, at + TITLE)
            if end >= 0:
                _slide(node, plain(self.text[at + 1 : end - 1]))

    def title(self, command: str, start: int, inside: int) -> int:
        """A sectioning command; gives the position behind its title."""
        text = self.text
        option = _OPTION.match(text, inside, inside + TITLE)
        at = option.end() if option else inside
        if text[at : at + 1] != "{":
            return -1
        end = group(text, at, at + TITLE)
        if end < 0:
            self.damage.append((start, f"the brace after \\{command} is never closed"))
            return -1
        name = plain(text[at + 1 : end - 1])
        if not name or _PARAMETER.search(text, at, end):
            return end  # with a parameter it belongs to the definition of a command
        if command == "frametitle":
            frame = next((node for _, node in reversed(self.stack[-8:]) if node.level == _FRAME), None)
            if frame is not None and frame.kind != "section":
                _slide(frame, name)
            return end
        node = Node(start, end, "heading", name=name, level=_LEVELS[command])
        if any(opened in _LISTS or opened.startswith("tabular") for opened, _ in self.stack[-3:]):
            return end  # a command in a definition or a table is no heading of the document
        self.nodes.append(node)
        for _, outer in reversed(self.stack):
            if not outer.kind:
                break
            outer.kind = ""
        return end


def _slide(node: Node, title: str) -> None:
    if title:
        node.kind, node.strength, node.name = "section", Strength.SECTION, title
        node.detail = Detail(label="heading", level=_FRAME)


def _kind(name: str) -> str:
    """The kind of span an environment becomes, empty for one that is no unit."""
    if name in _TRANSPARENT:
        return ""
    if name in _LISTS:
        return "list"
    if name in _TABULAR or name == "table":
        return "table"
    return "quote" if name in ("quote", "quotation", "verse") else "block"


def _gap(text: str, start: int, end: int) -> tuple[list[Span], int]:
    """The paragraphs between two nodes; the ``\\end`` and ``\\begin`` lines of what encloses them are none."""
    closed = _ENDS.match(text, start, end)
    spans, begin = paragraphs(text, closed.end() if closed else start, end)
    if len(spans) == 1 and _BEGINS.fullmatch(text, spans[0].start, spans[0].end):
        return [], begin
    return spans, begin


class _LatexNest(Nest):
    """Knows rows and headers of tables, and that a leaf consists of paragraphs."""

    def __init__(self, text: str, nodes: Sequence[Node]) -> None:
        super().__init__(text, nodes, lambda start, end: _gap(text, start, end))

    def _span(self, i: int, start: int) -> Span:
        node = self.nodes[i]
        if node.kind == "table":
            header = _RULE.search(self.text, node.start, min(node.end, node.start + TITLE))
            caption = _CAPTION.search(self.text, node.start, node.end)
            if caption is not None:
                end = group(self.text, caption.end() - 1, caption.end() + TITLE)
                node.name = plain(self.text[caption.end() : end - 1]) if end > 0 else ""
            if header is not None or node.name:
                inner = self.after[i] > i + 1  # a float; the table inside repeats its header itself
                carry = None if header is None or inner else (start, header.end())
                node.detail = Detail(label="table" if node.name else "", carry=carry)
        return super()._span(i, start)

    def opens(self, node: Node) -> bool:
        return node.kind != "heading" and node.kind != "code"

    def opened(self, i: int, start: int) -> Sequence[Span]:
        node = self.nodes[i]
        if node.kind != "table" or self.after[i] > i + 1:
            children = super().opened(i, start)
            return children if len(children) > 1 or node.kind == "section" else ()
        cuts = (m.end() for m in _ROW.finditer(self.text, start, node.end))
        carry = node.detail.carry if node.detail else None
        return pieces(self.text, start, node.end, cuts, "row", carry=carry)


def latex_spans(request: StructureRequest) -> Structure:
    """The outline and blocks of a LaTeX file."""
    text = request.text
    scanner = _Scanner(text)
    scanner.scan()
    nodes = outlined([node for node in scanner.nodes if node.kind], len(text))
    return Structure(spans=_LatexNest(text, nodes).spans(), errors=damage(text, scanner.damage))
