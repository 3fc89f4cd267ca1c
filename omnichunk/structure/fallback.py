"""Code without a parser: definitions are found by regular expressions, line by line, and nested by indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from omnichunk.model.span import Detail, Span, Strength, Structure
from omnichunk.parsing.grammar import fallback

REACH = 400
"""Code points of a line that are looked at."""
HOLDS = ("class", "interface", "struct", "trait", "enum")

_BLANK = re.compile(r"\n(?:[ \t\r]*\n)+")
_LEAD = re.compile(r"[ \t]*(?:#|//|/\*|\*|--|;|@|\[|%)")
_LINE = re.compile(r"[^\n]+")
_INDENT = re.compile(r"[ \t]*")


def outlined(text: str, language: str, why: str) -> Structure:
    """The definitions of ``text`` by the ``[fallback]`` of its language, blocks between blank lines otherwise."""
    patterns = fallback(language)
    how = "regular expressions" if patterns else "blank lines"
    backend = "regex" if patterns else "lines"
    found = [*_definitions(text, language)] if patterns else []
    return Structure(_nested(text, found), (), [f"{language}: {why}; structure by {how}"], backend, fallback=True)


def recovered(text: str, language: str, outline: list[Span], damaged: Sequence[Span]) -> list[Span]:
    """``outline``, where spans that swallowed later definitions because of a syntax error give way to those.

    ``damaged``: the spans of the outline that hold errors, outer ones before what is in them.
    """
    if not fallback(language):
        return outline
    reached = 0
    for span in damaged:
        if span.start < reached or not _runs_on(text, span.start, span.end):
            continue
        found = outlined(text[span.start : span.end], language, "").spans
        if all(inner.kind != "definition" or inner.name == span.name for inner in found):
            continue
        reached = span.end
        for inner in found:
            inner.shift(span.start)
        head, detail = found[0], span.detail
        if head.kind == "statement" and detail is not None and detail.signature and detail.signature[1] <= head.end:
            head.kind, head.name, head.detail = span.kind, span.name, Detail(detail.label, detail.signature)
        above = span.parent
        row = outline if above is None else [*above.known]
        at = row.index(span)
        row[at : at + 1] = found
        if above is not None:
            above.adopt(row)
    return outline


def _runs_on(text: str, start: int, end: int) -> bool:
    """Whether a line in ``[start, end)`` that closes nothing stands no further right than the first."""
    first = _INDENT.match(text, start, end)
    column = 0 if first is None else len(first[0])
    at = text.find("\n", start, end)
    while at >= 0:
        indent = _INDENT.match(text, at + 1, end)
        inner = at + 1 if indent is None else indent.end()
        if inner - at - 1 <= column and inner < end and text[inner] not in "\r\n})]":
            return True
        at = text.find("\n", at + 1, end)
    return False


def _definitions(text: str, language: str) -> Iterator[tuple[int, int, Span]]:
    """``(indentation, start of what belongs to it, span)`` of each line that begins a definition or may end one."""
    patterns = [*fallback(language).items()]
    lead = -1  # where the comments directly above begin
    after_blank = False
    for line in _LINE.finditer(text):
        start, head = line.start(), line[0][:REACH]
        indent = len(head) - len(head.lstrip())
        if head.isspace() or text.startswith("\n", start - 2):
            lead, after_blank = -1, True
            if head.isspace():
                continue
        label, match = next(((kind, m) for kind, p in patterns if (m := p.match(head))), ("", None))
        if match is not None:
            end = start + len(line[0].rstrip())
            span = Span(start if lead < 0 else lead, end, "definition", Strength.SECTION, match["name"])
            span.detail = Detail(label=label, signature=(start + indent, end))
            yield indent, span.start, span
            lead = -1
        elif _LEAD.match(head):
            lead = start if lead < 0 else lead
            continue
        else:
            if after_blank and head.lstrip()[:1] not in "})]":
                yield indent, start, Span(start, start + len(line[0]), "statement", Strength.BLOCK)
            lead = -1
        after_blank = False


def _nested(text: str, found: list[tuple[int, int, Span]]) -> list[Span]:
    """All spans of the text; a definition reaches to the next one that is indented as much or less."""
    top: list[Span] = []
    inside: dict[int, list[Span]] = {}
    opened: list[tuple[int, Span]] = []

    def close(indent: int, at: int) -> None:
        while opened and opened[-1][0] >= indent:
            span = opened.pop()[1]
            span.end = max(span.end, at)
            kids = inside.pop(id(span), [])
            if kids:
                span.opener = [*_blocks(text, span.start, kids[0].start), *kids].copy
                span.children  # noqa: B018  adopts what was made
            else:
                span.opener = _Blocks(text, span.start, span.end)

    for indent, start, span in found:
        if span.kind == "statement" and not (opened and opened[-1][0] >= indent):
            continue
        close(indent, start)
        above = opened[-1][1] if opened else None
        if above is None:
            top += _blocks(text, 0, start) if not top else ()
        elif span.detail is not None and above.detail is not None and above.detail.label in HOLDS:
            span.detail.label = "method" if span.detail.label == "function" else span.detail.label
        (top if above is None else inside.setdefault(id(above), [])).append(span)
        if span.kind == "definition":
            opened.append((indent, span))
    close(0, len(text))
    return top or _blocks(text, 0, len(text))


class _Blocks:
    """The blocks of a definition, made when it is opened."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._range = (text, start, end)

    def __call__(self) -> list[Span]:
        blocks = _blocks(*self._range)
        return blocks if len(blocks) > 1 else []


def _blocks(text: str, start: int, end: int) -> list[Span]:
    """What lies between blank lines in ``[start, end)``, each a statement."""
    spans: list[Span] = []
    at = start
    for gap in _BLANK.finditer(text, start, end):
        if gap.start() > at:
            spans.append(Span(at, gap.start(), "statement", Strength.BLOCK))
        at = gap.end()
    if at < end and not text[at:end].isspace():
        spans.append(Span(at, end, "statement", Strength.BLOCK))
    return spans
