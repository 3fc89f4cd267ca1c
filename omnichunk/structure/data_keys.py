"""YAML, TOML and INI as nested entries, found line by line.

Comments above an entry are part of it. What is no entry of its own (a continuation line, the inside of a block scalar
or of a flow collection) belongs to the entry before it.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Structure
from omnichunk.structure.entries import ATOMIC, BOM, Outline, near

LINE = re.compile(r"\S[^\n]*")
DOUBLE = rf'"[^"\\\n]*(?:\\.[^"\\\n]*)*{ATOMIC}"'

YAML_KEY = re.compile(
    rf"""(?:[&!]\S*[ \t]+)*(?:({DOUBLE}|'[^'\n]*(?:''[^'\n]*)*')[ \t]*"""
    r"""|((?:[^\s\[\]{}#,|>"'&!?-]|[?-](?=\S))[^:\n]*(?::(?=\S)[^:\n]*)*)):(?=\s|\Z)"""
)
YAML_NOTHING = re.compile(r"(?:[&!]\S*(?:[ \t]+|\Z))*(?:#.*)?\Z")
YAML_MARK = re.compile(r"(---|\.\.\.)(?=\s|\Z)[ \t]*([|>])?")
YAML_FLOW = re.compile(rf"{BOM}?\s*[\[{{](?![{{%])")
DASH = re.compile(r"-(?:[ \t]+|(?=\s|\Z))")
DOCUMENT, NOWHERE = -2, 1 << 60
DASHES = 16

TOML_TABLE = re.compile(r"""(\[\[?)((?:"[^"\n]*"|'[^'\n]*'|[^\]"'\n#])+)\]""")
TOML_KEY = re.compile(r"""((?:"[^"\n]*"|'[^'\n]*'|[^="'\n#\[\]{}])+)=[ \t]*""")
TOML_TOKEN = re.compile(rf"""\"{{3}}()|'{{3}}()|{DOUBLE}|'[^'\n]*'|\#[^\n]*|\[()|\{{()|\]()|\}}()""")

INI_SECTION = re.compile(r"\[([^\n]*)\]")
INI_KEY = re.compile(r"(?:export[ \t]+)?([^=:\n]+)[=:]")


def yaml_structure(request: StructureRequest) -> Structure:
    """Keys and ``[i]`` of a document; of several documents, the documents. JSON in a YAML file is read as JSON."""
    text = request.text
    if YAML_FLOW.match(text):
        from omnichunk.structure.data_json import json_structure

        return json_structure(request)
    outline, tab = _yaml(text)
    documents = sum(1 for _ in outline.children(-1))
    spans = outline.spans(-1, -1) if documents > 1 else outline.spans(0, 0)
    return Structure(spans, errors=[near(text, tab, "YAML")] if tab >= 0 else [], backend="scanner:yaml")


def _yaml(text: str) -> tuple[Outline, int]:
    """The entries of ``text`` below one entry a document, and the first offset where a tab indents one, or -1.

    The level of a key is twice its column, of a dash one more: a list may stand in the column of its key. ``leaf`` is
    the column of the entry that has a scalar or a flow collection: all lines further right are its continuation.
    """
    outline = Outline(text)
    outline.add(0, DOCUMENT, None)
    tab = comment = -1
    comment_column = 0
    leaf = NOWHERE
    filled = waiting = False
    last = base = int(text.startswith(BOM))
    for line in LINE.finditer(text, base):
        at, end = line.span()
        start = text.rfind("\n", last, at) + 1 or base
        last = end
        column = at - start
        if column > leaf:
            continue
        if text[at] == "#":
            if comment < 0 or column < comment_column:
                comment, comment_column = start, column
            continue
        above, comment = comment, -1
        if not column and text[at] in "-." and (mark := YAML_MARK.match(text, at, end)):
            if mark[1] == "---" and filled:
                outline.add(start, DOCUMENT, None)
                filled = False
            leaf = -1 if mark[2] else NOWHERE
            waiting = False
            continue
        if not column and text[at] == "%":
            continue
        where = above if above >= 0 and comment_column <= column else start
        filled, leaf = True, NOWHERE
        inner = -1  # column of the innermost entry on this line
        value = at
        for _ in range(DASHES if text[at] == "-" else 0):
            found = DASH.match(text, value, end)
            if not found:
                break
            inner = value - start
            outline.add(where, 2 * inner + 1, None)
            value = found.end()
        key = YAML_KEY.match(text, value, end) if text.find(":", value, end) >= 0 else None
        if key and not (key[2] and " #" in key[2]):
            outline.add(where, 2 * (value - start), _unquoted(key[1]) if key[1] else key[2].rstrip())
            inner = value - start
            value = key.end()
        if inner >= 0:
            rest = text[value:end].strip()
            waiting = not rest or (rest[0] in "&!#" and YAML_NOTHING.match(rest) is not None)
            leaf = NOWHERE if waiting else inner
            if tab < 0 and column and text[start] == "\t":
                tab = start
        elif waiting and text[at] in "[{\"'|>" and not text.startswith("{{", at):
            leaf = column - 1
    outline.close(DOCUMENT)
    return outline, tab


def _unquoted(key: str) -> str:
    """The text of a quoted key."""
    if key[0] == "'":
        return key[1:-1].replace("''", "'") or "''"
    try:
        return str(json.loads(key)) or '""'
    except ValueError:
        return key[1:-1]


def toml_structure(request: StructureRequest) -> Structure:
    """Tables (``a.b``, ``a.b[0]`` for arrays of tables) and the keys inside; values of several lines stay together."""
    text = request.text
    outline = Outline(text)
    seen: Counter[str] = Counter()
    damage = comment = -1
    whole = True
    at = base = int(text.startswith(BOM))
    while line := LINE.search(text, at):
        start = text.rfind("\n", at, line.start()) + 1 or base
        at, end = line.span()
        if text[at] == "#":
            comment = start if comment < 0 else comment
            at = end
            continue
        where, comment = start if comment < 0 else comment, -1
        if table := TOML_TABLE.match(text, at, end):
            name = re.sub(r"""\s*\.\s*""", ".", re.sub(r"""["']""", "", table[2])).strip()
            if table[1] == "[[":
                seen[name] += 1
                name += f"[{seen[name] - 1}]"
            outline.add(where, 0, name)
        elif key := TOML_KEY.match(text, at, end):
            outline.add(where, 1, re.sub(r"""["']""", "", key[1]).strip())
            if whole:  # after a value that never ends, all others end with their line
                value_end = _toml_value(text, key.end(), end)
                whole = value_end >= 0
                if not whole and damage < 0:
                    damage = at
                end = max(end, value_end)
        elif damage < 0:
            damage = at
        at = end
    outline.close(0)
    return Structure(
        outline.spans(), errors=[near(text, damage, "TOML")] if damage >= 0 else [], backend="scanner:toml"
    )


def _toml_value(text: str, start: int, end: int) -> int:
    """The end of the line on which the value at ``start`` ends, or -1 if it never does; ``end`` is that of its line."""
    if text[start : start + 1] not in ("[", "{", '"', "'"):
        return end
    depth, at = 0, start
    while token := TOML_TOKEN.search(text, at, end if depth == 0 else len(text)):
        at = token.end()
        which = token.lastindex or 0
        if which in (1, 2):
            at = _closed(text, at, '"""' if which == 1 else "'''")
            if at < 0:
                return -1
            end = max(end, _line_end(text, at))
        elif which:
            depth += 1 if which < 5 else -1
            if depth <= 0:
                return max(end, _line_end(text, at))
    return end if depth == 0 else -1


def _closed(text: str, at: int, quotes: str) -> int:
    """After the closing ``quotes`` of the string whose text starts at ``at``, or -1."""
    while (found := text.find(quotes, at)) >= 0:
        at = found + 1
        if quotes[0] == "'" or text[found - 1] != "\\" or text[found - 2] == "\\":
            return found + 3
    return -1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def ini_structure(request: StructureRequest) -> Structure:
    """Sections and keys of ``.ini``, ``.cfg``, ``.properties`` and ``.env`` files.

    A line that is indented deeper than the key before it, follows a backslash at the end of a line, or has neither
    ``=`` nor ``:``, continues what precedes it.
    """
    text = request.text
    outline = Outline(text)
    comment = -1
    column = NOWHERE
    continued = False
    last = base = int(text.startswith(BOM))
    for line in LINE.finditer(text, base):
        at, end = line.span()
        start = text.rfind("\n", last, at) + 1 or base
        last = end
        if text[at] in "#;!" and not continued:
            comment = start if comment < 0 else comment
            continue
        where, comment = start if comment < 0 else comment, -1
        inside, continued = continued, text.endswith(("\\", "\\\r"), at, end)
        if inside or at - start > column:
            continue
        if section := INI_SECTION.match(text, at, end):
            outline.add(where, 0, section[1].strip())
            column = NOWHERE
        elif key := INI_KEY.match(text, at, end):
            outline.add(where, 1, key[1].strip())
            column = at - start
    outline.close(0)
    return Structure(outline.spans(), backend="scanner:ini")
