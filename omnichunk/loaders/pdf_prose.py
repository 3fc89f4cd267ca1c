"""From lines to paragraphs: where one begins, how its lines are joined, which hyphens go."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from omnichunk.loaders.pdf_text import Line

_BULLET = re.compile(r"(?:[•‣▪▫■□●○◦·∙–—*➢➤✓-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]|\[\d{1,3}\])\s")
_SENTENCE_END = re.compile(r"""[.!?:;。！？：…؟۔][)\]"'”’»]*$""")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_BROKEN = re.compile(r"([^\W\d_]+)[-\u2010\u00ad]$")
_RANGE = re.compile(r"\d[-\u2010\u2013]$")
_TAIL = re.compile(r"[^\W\d_]+")
_CLOSE = re.compile("[\u2e80-\ua4cf\uf900-\ufaff\uff00-\uff60]")
_HANGUL = re.compile("[\u1100-\u11ff\uac00-\ud7a3]")
# "pre- and post-war": the hyphen stands for the word left out.
_SUSPENDED = frozenset(("and", "or", "to", "und", "oder", "bis", "et", "ou", "y", "o", "e", "en", "of"))
# First parts of compounds that are written with a hyphen; all others are taken for a word broken at the line's end.
_HEADS = re.compile(
    "well|self|non|ill|half|high|low|long|short|cross|ex|full|real|hard|soft|left|right|old|new|so|off|multi|semi|"
    "one|two|three|four|five|six|seven|eight|nine|ten|first|second|third|state|all|anti|pre|post|user|time"
)


@dataclass(slots=True)
class Paragraph:
    """Lines that belong together; ``kind`` as in ``Block``. ``right``: where its column ends."""

    lines: list[Line]
    kind: str = "paragraph"
    right: float = 0.0
    header: bool = False


@dataclass(slots=True)
class Words:
    """What a document tells about its own spelling."""

    whole: Counter[str]
    hyphenated: frozenset[str]
    spaced: bool
    dehyphenate: bool = True

    @classmethod
    def of(cls, lines: Iterable[Line], dehyphenate: bool) -> Words:
        """``spaced``: whether Korean lines that end between two words say so by a space."""
        whole: Counter[str] = Counter()
        hyphenated: set[str] = set()
        korean = spaces = 0
        for line in lines:
            text = line.text
            if dehyphenate and text:
                whole.update(_WORD.findall(text.lower()))
                if "-" in text:
                    hyphenated.update(_HYPHENATED.findall(text.lower()))
            if not text.isascii() and _HANGUL.match(text[-1]):
                korean += 1
                spaces += line.spaced
        return cls(whole, frozenset(hyphenated), spaces * 10 > korean, dehyphenate)

    def keeps_hyphen(self, head: str, tail: str) -> bool:
        """Whether ``head-tail`` at a line's end is a compound rather than one word."""
        head, tail = head.lower(), tail.lower()
        if self.whole[head + tail]:
            return False
        if f"{head}-{tail}" in self.hyphenated or _HEADS.fullmatch(head):
            return True
        # Each broken part is counted once where it stands; a word of its own occurs elsewhere too.
        return len(head) > 2 and len(tail) > 3 and self.whole[head] > 1 and self.whole[tail] > 1


def joined(before: str, line: Line, after: str, words: Words) -> str:
    """``before`` with what separates it from ``after`` on the next line of the same paragraph: "", " ", or no hyphen."""
    broken = _BROKEN.search(before)
    if broken and not line.spaced:
        tail = _TAIL.match(after)
        if tail and tail[0].lower() in _SUSPENDED and before[-1] != "\u00ad":
            return before + " "
        if not tail or not words.dehyphenate:
            return before + ("" if tail or after[:1].isdigit() else " ")
        if before[-1] == "\u00ad":
            return before[:-1]
        compound = before[broken.start() - 1 : broken.start()] == "-"
        if compound or tail[0][0].isupper() or words.keeps_hyphen(broken[1], tail[0]):
            return before
        return before[:-1]
    if not line.spaced and after[:1].isdigit() and _RANGE.search(before):
        return before
    if before.isascii() or line.spaced:
        return before + " "
    last, first = before[-1], after[:1]
    if _CLOSE.match(last) and (_CLOSE.match(first) or _HANGUL.match(first)):
        return before
    return before if _HANGUL.match(last) and _HANGUL.match(first) and words.spaced else before + " "


def text_of(paragraph: Paragraph, words: Words) -> str:
    """The paragraph in one string: line ends become spaces, except where the next word would have fitted on the line."""
    lines = paragraph.lines
    if paragraph.kind == "table":
        return "\n".join(line.text for line in lines)
    text = lines[0].text
    for line, following in pairwise(lines):
        if _is_full(line, following, paragraph.right) or paragraph.kind == "heading":
            text = joined(text, line, following.text, words) + following.text
        else:
            text += "\n" + following.text
    return text


def _is_full(line: Line, following: Line, right: float) -> bool:
    if line.text[-1] in "-\u2010\u00ad":
        return True
    room = right - line.u1
    width = max(line.u1 - line.u0, 1.0)
    first = following.text.split(None, 1)[0][:30]
    need = width / len(line.text) * (len(first) + 1)
    return room < need + 0.1 * width


def continues(last: Paragraph, first: Paragraph) -> bool:
    """Whether ``first``, on the next page or in the next column, goes on with the sentence that ``last`` breaks off."""
    if last.kind != "paragraph" or first.kind != "paragraph":
        return False
    end, start = last.lines[-1], first.lines[0]
    if abs(end.size - start.size) > 0.1 * end.size or end.bold != start.bold or end.turn != start.turn:
        return False
    if _BULLET.match(start.text) or _SENTENCE_END.search(end.text):
        return False
    return start.text[0].islower() or (bool(_BROKEN.search(end.text)) and start.text[0].isalpha())


def paragraphs(lines: list[Line]) -> Iterator[Paragraph]:
    """The paragraphs of ordered lines of one page; a column or a heading ends one."""
    for column in _columns(lines):
        left = min(line.u0 for line in column)
        right = sorted(line.u1 for line in column)[-1 - len(column) // 10]
        steps = [b.v - a.v for a, b in pairwise(column) if b.v > a.v]
        step = median(steps) if steps else 0.0
        current = [column[0]]
        for last, line in pairwise(column):
            if _begins(current, last, line, left, right, step):
                yield _paragraph(current, right)
                current = []
            current.append(line)
        yield _paragraph(current, right)


def _paragraph(lines: list[Line], right: float) -> Paragraph:
    kind = "heading" if lines[0].level else lines[0].kind or "paragraph"
    return Paragraph(lines, kind, right)


def _columns(lines: list[Line]) -> Iterator[list[Line]]:
    """Stretches of lines that stand below one another."""
    current: list[Line] = []
    for line in lines:
        if current:
            last = current[-1]
            below = -0.3 * line.size < line.v - last.v < 4 * max(line.size, last.size)
            if not (below and line.turn == last.turn and line.u0 < last.u1 and last.u0 < line.u1):
                yield current
                current = []
        current.append(line)
    if current:
        yield current


def _begins(current: list[Line], last: Line, line: Line, left: float, right: float, step: float) -> bool:
    """Whether ``line`` begins a paragraph after ``last``, the end of ``current``."""
    if line.level or last.level or line.kind or last.kind:
        return not (line.level and line.level == last.level and not line.title and line.v - last.v < 1.8 * line.size)
    size = max(last.size, line.size)
    if abs(last.size - line.size) > 0.15 * size or line.v - last.v > max(1.3 * step, 1.3 * size):
        return True
    if last.bold != line.bold and (last.bold or line.bold):
        return last.bold or len(current) > 1
    if _BULLET.match(line.text):
        return True
    shift = line.u0 - last.u0
    if len(current) > 1 and current[1].u0 - current[0].u0 > 0.8 * size and line.u0 - current[0].u0 < 0.5 * size:
        return True  # back from a hanging indent
    ragged = right - last.u1 > 0.15 * (right - left)
    if shift > 0.8 * size and (ragged or (len(current) > 1 and abs(last.u0 - left) < 0.5 * size)):
        return not _BULLET.match(current[0].text)
    return ragged and bool(_SENTENCE_END.search(last.text))
