"""PDF for omnichunk through PDFium: fast, mends damaged files, and tells the box of every line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

from omnichunk import Block, FormatSegment, LoadedDocument, Loader, LoadError, MissingDependencyError, Source, hookimpl

_LOCK = Lock()
"""PDFium may be called from one thread at a time."""
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st"})
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\uffff]")
"""What PDFium gives for glyphs whose font does not say which characters they are."""
_LINE = re.compile("[^\r\n\ufffe]+\ufffe?")
_HYPHENATED = re.compile(r"[^\W\d_]\ufffe$")
_ENDS = (".", "!", "?", ":", "。", "”", '"')


@dataclass
class Line:
    """A line of a page: text, a line-end hyphen as U+FFFE, and its box: left, bottom, right, top in points from below."""

    text: str
    box: tuple[float, float, float, float]

    @property
    def height(self) -> float:
        return self.box[3] - self.box[1]


def load_pdf(source: Source) -> LoadedDocument:
    """Every page; each line is a segment with ``page`` (from 1), ``page_label`` and ``box``, lines form paragraphs.

    Entries of the outline that stand on their page are headings. A page without text is a warning. Raises LoadError for
    what PDFium cannot open, with the name of the option when a password is missing.
    """
    try:
        import pypdfium2
    except ImportError as error:
        raise MissingDependencyError(
            f"{source.name}: the loader pdfium needs pypdfium2, which cannot be imported: {error}. "
            "Run: pip install pypdfium2"
        ) from error
    if isinstance(source.data, str):
        raise LoadError(f"{source.name}: a PDF is bytes, not text. Pass its bytes.")
    password = str(source.options["pdf_password"]) or None
    with _LOCK:
        try:
            document = pypdfium2.PdfDocument(source.data, password=password)
        except pypdfium2.PdfiumError as error:
            remedy = "Pass pdf_password." if "assword" in str(error) else "Fetch the file again, or repair it."
            raise LoadError(f"{source.name}: PDFium cannot open it: {error} {remedy}") from error
        try:
            return _document(document, pypdfium2)
        finally:
            document.close()


def _document(document: Any, pypdfium2: Any) -> LoadedDocument:
    text = _Text()
    warnings = []
    titles = _outline(document)
    for number in range(1, len(document) + 1):
        where: dict[str, object] = {"page": number}
        if (label := document.get_page_label(number - 1)) not in ("", str(number)):
            where["page_label"] = label
        try:
            lines = _lines(document[number - 1], pypdfium2.raw)
        except pypdfium2.PdfiumError as error:
            warnings.append(f"page {number}: cannot be read: {error}")
            continue
        if not lines:
            warnings.append(f"page {number}: has no text; if it is a picture of one, it needs OCR")
        if sum(line.text.count("\ufffd") for line in lines) * 10 > sum(len(line.text) for line in lines):
            warnings.append(f"page {number}: its fonts do not say which characters they show (U+FFFD)")
        for level, paragraph in _sections(lines, titles.get(number, [])):
            text.add(paragraph, level, where)
    about = {
        key.lower(): value
        for key, value in document.get_metadata_dict().items()
        if value and key in ("Title", "Author")
    }
    pages: dict[str, object] = {"pages": len(document), **about}
    return LoadedDocument(
        "".join(text.parts), tuple(text.segments), "pdf", tuple(warnings), pages, blocks=tuple(text.blocks)
    )


def _outline(document: Any) -> dict[int, list[tuple[str, int]]]:
    """The titles of the outline, without white space, and their levels, 1 outermost, by page."""
    found: dict[int, list[tuple[str, int]]] = {}
    for mark in document.get_toc():
        dest = mark.get_dest()
        index = dest.get_index() if dest is not None else None
        if index is not None and (title := _squeezed(mark.get_title())):
            found.setdefault(index + 1, []).append((title, mark.level + 1))
    return found


def _squeezed(text: str) -> str:
    return "".join(text.translate(_LIGATURES).split()).replace("\ufffe", "-").casefold()


def _lines(page: Any, raw: Any) -> list[Line]:
    """The lines of a page in the order of the file, which for most producers is that of reading."""
    reader = page.get_textpage()
    try:
        text = reader.get_text_range()
        lines = []
        ahead = 0  # UTF-16 units that characters before this one take beyond one each
        for match in _LINE.finditer(text):
            words = _NO_TEXT.sub("\ufffd", match[0].translate(_LIGATURES)).strip()
            more = len(match[0].encode("utf-16-le", "surrogatepass")) // 2
            first = raw.FPDFText_GetCharIndexFromTextIndex(reader, match.start() + ahead)
            last = raw.FPDFText_GetCharIndexFromTextIndex(reader, match.start() + ahead + more - 1)
            ahead += more - len(match[0])
            if words:
                boxes = [reader.get_rect(i) for i in range(reader.count_rects(first, last - first + 1))]
                left, bottom, right, top = zip(*boxes) if boxes else ((0.0,),) * 4
                lines.append(Line(words, (min(left), min(bottom), max(right), max(top))))
        return lines
    finally:
        reader.close()
        page.close()


def _sections(lines: list[Line], titles: list[tuple[str, int]]) -> Iterator[tuple[int, list[Line]]]:
    """Headings, with their level, and paragraphs, with level 0."""
    waiting = list(titles)
    paragraph: list[Line] = []
    at = 0
    while at < len(lines):
        level, size = _heading(lines[at : at + 3], waiting)
        if level:
            yield from [(0, paragraph)] if paragraph else []
            yield level, lines[at : at + size]
            paragraph = []
        else:
            if paragraph and _parted(paragraph, lines[at]):
                yield 0, paragraph
                paragraph = []
            paragraph.append(lines[at])
        at += size
    if paragraph:
        yield 0, paragraph


def _heading(lines: list[Line], waiting: list[tuple[str, int]]) -> tuple[int, int]:
    """Level of the title that these lines begin with, and how many they are; 0 and 1 for none. Removes the title."""
    words = ""
    for size, line in enumerate(lines, 1):
        words += _squeezed(line.text)
        for i, (title, level) in enumerate(waiting):
            bare = words.lstrip("0123456789.")
            if words == title or bare == title or bare == title.lstrip("0123456789."):
                del waiting[i]
                return level, size
    return 0, 1


def _parted(paragraph: list[Line], line: Line) -> bool:
    """Whether ``line`` begins another paragraph: after a gap, in another size, or indented after a full stop."""
    last = paragraph[-1]
    height = max(last.height, line.height, 1.0)
    if last.text.endswith("\ufffe"):
        return False
    if line.box[1] > last.box[3]:  # further up: another column
        return last.text.endswith(_ENDS)
    if last.box[1] - line.box[3] > 0.8 * height or min(last.height, line.height) < 0.6 * height:
        return True
    return last.text.endswith(_ENDS) and line.box[0] > last.box[0] + 0.5 * height


class _Text:
    """The text so far, with its segments and blocks."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.segments: list[FormatSegment] = []
        self.blocks: list[Block] = []

    def add(self, lines: list[Line], level: int, where: dict[str, object]) -> None:
        """Add a block, a line of text for each line; words that a hyphen parts are whole again on the first of them."""
        begin = self.length
        for i, line in enumerate(lines):
            text, end = line.text, "\n"
            if text.endswith("\ufffe"):
                follows = lines[i + 1].text[0] if i + 1 < len(lines) else ""
                soft = follows.islower() and _HYPHENATED.search(text) and text[-2].islower()
                text, end = (text[:-1], "") if soft else (text[:-1] + "-", "" if follows else "\n")
            text += end if i + 1 < len(lines) else "\n\n"
            box = [round(edge, 1) for edge in line.box]
            self.segments.append(FormatSegment(self.length, self.length + len(text), "prose", {**where, "box": box}))
            self.parts.append(text)
            self.length += len(text)
        self.blocks.append(Block(begin, self.length - 2, "heading" if level else "paragraph", level))


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """The loader of PDF files, in the place of the built-in one."""
    options = {"pdf_password": ""}
    return [Loader("pdfium", load_pdf, (".pdf",), ("application/pdf",), _is_pdf, options, binary=True)]


def _is_pdf(head: bytes) -> bool:
    return b"%PDF-" in head[:1024]
