"""Markdown as nested sections and blocks: what the left margin explains is read from there, the rest is parsed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import StructureProvider, StructureRequest
from omnichunk.model.span import Detail, Glue, Span, Strength, Structure
from omnichunk.structure.markdown_blocks import Page, tie
from omnichunk.structure.markdown_margin import read

_YAML = re.compile(r"---[ \t]*\r?\n(?=---|[ \t]*(?:#|[-{\[]|[\w\"'][^\n:]*:(?:\s|$)))")
_YAML_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\r?\n(?=\+\+\+|[ \t]*(?:#|\[|[\w\"'][^\n=]*=))")
_TOML_END = re.compile(r"^\+\+\+[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


@hookimpl
def omnichunk_structure() -> Iterable[StructureProvider]:
    return [StructureProvider("markdown", ("markdown",), spans)]


def spans(request: StructureRequest) -> Structure:
    """The sections and blocks of a Markdown text; what is inside a block is made when the block is opened.

    Headings of the document open sections, nested by level; headings in quotes and lists do not. Sections, lists,
    quotes, footnotes and tables are opened late, at a cost in proportion to their length.
    """
    text = request.text
    page = Page(text)
    front = _front_matter(text)
    blocks, unclosed = read(page, front.end if front else int(text.startswith("\ufeff")), len(text))
    tie(text, blocks)
    late: list[Span] = []
    sections = _nested(blocks, len(text), late)
    errors = () if unclosed < 0 else (f"unclosed code fence, line {page.lines.count(chr(10), 0, unclosed) + 1}",)
    return Structure(
        [front, *sections] if front else sections, errors=errors, backend="pyromark",
        rest=partial(_made, late) if late else None,
    )  # fmt: skip


def _nested(blocks: list[Span], end: int, late: list[Span]) -> list[Span]:
    """``blocks`` with a section around each heading and all under it, which ends at ``end`` at the latest.

    Sections whose blocks have not been read yet are added to ``late``.
    """
    top: list[Span] = []
    held, parent = top, None
    sections: list[tuple[int, Span, list[Span]]] = []  # the open ones: level, section, children
    for span in blocks:
        if span.kind != "heading" or span.detail is None:
            span.parent = parent
            held.append(span)
            continue
        level = span.detail.level
        while sections and sections[-1][0] >= level:
            sections.pop()[1].end = span.start
        parent, held = sections[-1][1:] if sections else (None, top)
        children = [span]
        opener = None
        if span.opener is not None:
            opener, span.opener = partial(_around, children, span.opener), None
        section = Span(
            span.start, end, "section", Strength.SECTION, span.name, span.detail,
            children=None if opener else children, opener=opener,
        )  # fmt: skip
        if opener:
            late.append(section)
        section.parent = parent
        held.append(section)
        span.detail = None
        span.strength = Strength.SECTION
        sections.append((level, section, children))
        parent, held = section, children
    return top


def _around(children: Sequence[Span], blocks: Callable[[], Sequence[Span]]) -> list[Span]:
    """``children`` of a section, a heading and subsections, with the blocks in between."""
    return [children[0], *blocks(), *children[1:]]


def _made(late: Sequence[Span]) -> Sequence[tuple[str, str]]:
    """Have all blocks read; Markdown imports nothing."""
    for section in late:
        _ = section.children
    return ()


def _front_matter(text: str) -> Span | None:
    """The metadata block a text begins with, a byte order mark before it allowed."""
    begin = int(text.startswith("\ufeff"))
    for language, opening, closing in (("yaml", _YAML, _YAML_END), ("toml", _TOML, _TOML_END)):
        first = opening.match(text, begin)
        last = closing.search(text, first.end()) if first else None
        if first and last:
            inner = (first.end(), last.start()) if last.start() > first.end() else None
            detail = Detail(language=language, inner=inner)
            return Span(begin, last.end(), "code", Strength.BLOCK, detail=detail, glue=Glue.NEXT)
    return None
