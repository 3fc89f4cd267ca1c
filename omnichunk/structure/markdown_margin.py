"""Markdown that needs no parser: blocks whose lines say at the left margin what they are and where they end.

Most of what people write is of that kind, and reading it costs a fraction of parsing it.

=========  ========================================================================================================
paragraph  lines that begin with what begins no other block, until a blank line or one that interrupts any paragraph
heading    ``#`` to ``######`` and a title without markup
fence      until its closing fence
list       items at the margin with one kind of marker, what is indented to their text, until something else follows
quote      lines that begin with ``>``, until a blank line
html       a tag that always begins HTML, until a blank line
table      header and delimiter row with as many pipes, until a blank line
rule       ``***``, ``---``, ``___``
=========  ========================================================================================================

The patterns are narrow: what they refuse is not lost, the parser reads it. They hold where a block may begin and
nothing is open, so behind each of these blocks and behind what the parser finds closed. A region for the parser goes to
the next line at the margin that follows a blank line and continues no list; if something is still open there (a fence,
raw HTML), it is doubled.

A ``#`` at the margin begins a heading wherever no fence and no raw HTML is open. So where neither begins, and no line
could underline a heading, what stands between two headings is read when somebody looks.
"""

from __future__ import annotations

import re
from functools import partial

from omnichunk.model.span import Detail, Glue, Span, Strength
from omnichunk.structure.markdown_blocks import HEADINGS, Blocks, Page, language, opened, plain, table, tie

# What a line begins with that begins a block of its own, or may: not a letter, most punctuation, emphasis, a code span,
# a number that is no marker, or a link whose label is not that of a definition.
_BEGINS = (
    r"[\x00-\x20#+\-<=>|~]|:[:| \t]*-|[0-9][0-9]*[.)]|\*(?!\*{0,2}[^\W_])|_(?!_{0,2}[^\W_])|`(?!`?[^`\s])"
    r"|\[(?!!\[|[^\[\]\\\n^][^\[\]\\\n]*\](?!:))"
)
_TITLE = r"[^\n*_`\[<&\\~#]*"  # no markup; ``snake_case`` and ``a & b`` are none either
# How the text of a list item may begin: so that its line is neither a thematic break nor holds an item in the item.
_ITEM = r"(?:[^\s*+\-_]|\*{1,2}[^\s*]|_{1,2}[^\s_])"
# Tags that begin HTML wherever they begin a line; the most frequent of those that the specification lists.
_TAGS = "details|summary|div|p|table|center|h[1-6]|ul|ol|li|dl|dt|dd|section|article|aside|figure|figcaption|iframe"
_BLOCK = re.compile(
    rf"""(?:
    (?P<paragraph> (?!{_BEGINS}).+\n? (?:[ \t]*(?!{_BEGINS}).+\n?)* )
    | (?P<heading> \#{{1,6}} (?:[ \t]+ {_TITLE} (?:(?:(?<=[^\W_])_(?=[^\W_])|&(?=\s)) {_TITLE})* )? (?:\n|\Z) )
    | (?P<marked> \#{{1,6}} [ \t].*\n? )
    | (?P<code> ```(?!`)(?P<info>[^`\n]*)\n (?P<content>(?:(?![ ]{{0,3}}```).*\n)*) [ ]{{0,3}}`{{3,}}[ \t]*(?:\n|\Z) )
    | (?P<fence> (?P<mark>`{{3,}}(?=[^`\n]*(?:\n|\Z)) | ~{{3,}}).*\n? )
    | (?P<rule> (?P<r>[-*_])(?:[ \t]*(?P=r)){{2,}}[ \t]*(?:\n|\Z) )
    | (?P<list>
        (?P<m>[-+*])[ ]{_ITEM}.*\n? (?:(?:[ \t]*\n)*(?:(?P=m)[ ]{_ITEM}|[ ]{{2,}}\S).*\n?)*
      | [0-9](?P<n>[.)])[ ]{_ITEM}.*\n? (?:(?:[ \t]*\n)*(?:[0-9](?P=n)[ ]{_ITEM}|[ ]{{3,}}\S).*\n?)*
        (?:(?:[ \t]*\n)*[0-9][0-9](?P=n)[ ]{_ITEM}.*\n? (?:(?:[ \t]*\n)*[ ]{{4,}}\S.*\n?)*)* )
    | (?P<html> </?(?i:{_TAGS})(?=[ \t\n>]|/>).*\n? (?:[ \t]*\S.*\n?)* )
    | (?P<quote> (?:>.*\n?)+ )
    | (?P<table>
        (?P<header>\|[^\n\\]*\|[ \t]*\n) (?P<delimiter>\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?:\n|\Z))
        (?:\|.*[^\s|].*\n?)* )
    )\n*(?:[ \t]+\n+)*""",
    re.VERBOSE,
)
_BLANK = re.compile(r"\n*(?:[ \t]+\n+)*")
# What stands between two headings: blank lines, closed fences, lines that begin neither HTML nor a heading. Not more
# of them than might share a chunk: what is longer is looked into anyway.
_UNDER = re.compile(
    r"""(?: [ \t]*\n
    | ```(?!`)[^`\n]*\n (?:(?![ ]{0,3}```).*\n)* [ ]{0,3}`{3,}[ \t]*\n
    | (?![ ]{0,3}(?:[<\#\x00-\x08\x0b-\x1f]|```|~~~|(?:=+|-+)[ \t\x0b\x0c]*\n)) [ \t]*\S.*\n
    ){1,500} (?=\#{1,6}(?:[ \t\n]|\Z))""",
    re.VERBOSE,
)
_CLOSING = {mark: re.compile(rf"\n {{0,3}}({mark}{{3,}})[ \t]*(?:\n|\Z)") for mark in "`~"}
_INTERRUPTS = re.compile(r"\#{1,6}(?:[ \t\n]|\Z)|`{3,}[^`\n]*(?:\n|\Z)|~{3,}|[-+*] [^\s\-+*_|:]|1[.)] \S|>")
_MARGIN = re.compile(r"\n[ \t]*\n(?!\s|[-+*](?:\s|\Z)|[0-9]{1,9}[.)])")

_NONE, _NEXT, _PREVIOUS = Glue.NONE, Glue.NEXT, Glue.PREVIOUS
_SECTION, _ITEMS = Strength.SECTION, Strength.ITEM


def read(page: Page, at: int, limit: int) -> tuple[list[Span], int]:
    """The blocks of ``page`` in ``[at, limit)``, which may begin there and end there: each heading beside what it heads.

    A heading opens to the blocks up to the next one if these have not been read yet. Also where the fenced block starts
    that is open at the end of the text, else -1.
    """
    text, lines = page.text, page.lines
    spans: list[Span] = []
    unclosed = -1
    stop = page.stop
    at = _past_blank(lines, at)
    match, add, strength = _BLOCK.match, spans.append, Strength.BLOCK
    while at < stop and at < limit:
        found = match(lines, at)
        span = None
        known = 0  # end of what only the parser can read
        if found:
            kind = found.lastgroup or ""
            end = found.end(kind)
            after = found.end()
            apart = after > end or after >= stop  # from what follows, by a blank line
            if kind == "paragraph":
                if apart or _INTERRUPTS.match(lines, after):
                    span = Span(at, end, kind, strength)
            elif kind == "heading":
                title = text[at:end]
                name = title.lstrip("#")
                span = Span(at, end, kind, _SECTION, plain(name), HEADINGS[len(title) - len(name)], _NEXT)
                under = _UNDER.match(lines, after)
                if under:
                    span.opener = partial(_under, page, after, under.end())
                    after = under.end()
            elif kind == "code":
                inner = found.span("content")
                detail = Detail("", None, None, None, language(found["info"]), inner if inner[0] < inner[1] else None)
                span = Span(at, end, kind, strength, "", detail)
            elif kind == "list" or kind == "quote":
                if apart and _alone(lines, at, after, stop):
                    end, inside = (after, _ITEMS) if kind == "list" else (end, strength)
                    span = Span(at, end, kind, strength, opener=partial(opened, page, at, end, inside))
            elif kind == "html":
                if apart:
                    span = Span(at, end, kind, strength, "", None, _PREVIOUS if lines[at + 1] == "/" else _NONE)
            elif kind == "table":
                header, head = found.end("header"), found.end("delimiter")
                if apart and lines.count("|", at, header) == lines.count("|", header, head):
                    span = table(text, lines, at, end, text[at:header], head, strength)
            elif kind == "rule":
                span = Span(at, end, "text", strength, "", None, _PREVIOUS)
            elif kind == "fence":
                mark = found.end("mark")
                content, after = _closing(lines, lines[at], mark - at, end)
                if after < 0:
                    unclosed, after = at, len(lines)
                detail = Detail(
                    "", None, None, None, language(text[mark:end]), (end, content) if end < content else None
                )
                span = Span(at, after, "code", strength, "", detail)
                after = _past_blank(lines, after)
            else:  # a heading with markup
                known = after
        if span:
            add(span)
        else:
            blocks, after = _parsed(page, at, known, limit)
            spans += blocks.children(0, at, after, Strength.PART)
            if after == len(lines):
                unclosed = blocks.unclosed()
        at = after
    return spans, unclosed


def _under(page: Page, start: int, end: int) -> list[Span]:
    """The blocks between two headings."""
    spans, _ = read(page, start, end)
    tie(page.text, spans)
    return spans


def _past_blank(lines: str, at: int) -> int:
    blank = _BLANK.match(lines, at)
    return blank.end() if blank else at


def _closing(lines: str, mark: str, size: int, content: int) -> tuple[int, int]:
    """Where the content of a fence ends and where its closing line does, -1 if there is none.

    ``content``: where its content begins; ``mark``, ``size``: the fence is ``size`` times ``mark``.
    """
    closing = _CLOSING[mark]
    found = closing.search(lines, content - 1)
    while found and found.end(1) - found.start(1) < size:
        found = closing.search(lines, found.end(1))
    return (found.start() + 1, found.end()) if found else (len(lines), -1)


def _alone(lines: str, start: int, end: int, stop: int) -> bool:
    """Whether the list or quote in ``[start, end)`` is all there is of it, and concerns nothing outside."""
    if lines.find("]:", start, end) >= 0:
        return False  # a definition
    if end >= stop:
        return lines.find("```", start) < 0 and lines.find("~~~", start) < 0  # one may be open at the end
    mark, following = lines[start], lines[end]
    if mark == ">":
        return True
    if mark.isdigit():
        return not following.isdigit() and not following.isspace()
    return not following.isspace() and (following != mark or lines[end + 1 : end + 2].strip() != "")


def _parsed(page: Page, start: int, end: int, limit: int) -> tuple[Blocks, int]:
    """The parser's blocks from ``start`` to ``end`` or, if that is 0 or something is open there, to a later line.

    None reaches beyond ``limit``.
    """
    lines = page.lines
    least = start
    while True:
        if not end:
            following = _MARGIN.search(lines, least, limit)
            end = following.end() if following else limit
        blocks = Blocks(page, start, end)
        if blocks.closed or end == limit:
            return blocks, end
        least = 2 * end - start
        end = 0
