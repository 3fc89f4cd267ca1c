"""The ladder of breaks: blank line, line, sentence, clause, word, grapheme cluster, code point.

`pieces` cuts a range that is too large at the highest rung that helps, and only as far down as it must. A rung is a
strength and a function ``after(text, start, step, stop)``: the first break at or after ``start + step``, at most
``stop`` (which always counts as one), where ``start`` is itself a break. All of them are one search by a compiled
expression or `str.find`; white space after a unit belongs to the unit, but the indentation of a line to that line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

from omnichunk.model.span import Strength
from omnichunk.source.graphemes import cluster_end, cluster_start, joined

__all__ = [
    "BLANK_LINE",
    "NOT_SPACE",
    "blank",
    "cluster_start",
    "last_break",
    "pieces",
    "sentence_ends",
    "sentence_pattern",
]

After = Callable[[str, int, int, int], int]
Ladder = tuple[tuple[Strength, After], ...]

BLANK_LINE = re.compile(r"\n\s*\n")
"""One or more blank lines with the end of the line before them; ends at the first column of the next line."""

NOT_SPACE = re.compile(r"\S")
"""A code point that is not white space in the sense of `str.isspace`."""

_SPACE_LINES = re.compile(r"\s*\n")
_BLANK_LINE_OR_FEED = re.compile(r"\n\s*\n|\f(?:[^\S\f]*\n)?")

# White space after a unit: up to its last newline if there is one, so that indentation stays with its line. Every
# expression below starts with a set (a search for a set is several times faster than for a repetition) and takes only
# the last of a run of marks, which keeps a run of a million of them linear.
_GAP = r"\s(?:\s*\n|(?<=\n)|\s*)"
_STOPS = ".!?…"
_FULL_STOPS = "。！？｡‼⁇⁈⁉؟۔।॥։።፧።។៕။᠃᠉꓿︒﹒﹖﹗"  # end a sentence without white space
_LINE_ENDS = tuple(".!?:;…。！？：；।؟۔")
_CLOSERS = r"\"'”’»)\]}*_"
_CJK_CLOSERS = "」』）】〉》〕〗〙〛｣］｝"
_CJK_PAUSES = "，、；：､﹐﹑﹔﹕"
_CJK = (  # ideographs, kana, bopomofo, fullwidth letters: a line may break between any two
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\uff10-\uff3a\uff41-\uff5a\uff66-\uff9d\U00020000-\U0003ffff"
)
_NOT_FIRST = "。．｡！？‼⁇⁈⁉…‥・･ーｰ々〻ゝゞヽヾぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶ"
_NOT_FIRST += _CJK_PAUSES + _CJK_CLOSERS

# What a full stop after it does not end, by length, because a look-behind has a fixed width.
_ABBREVIATIONS = (
    r"[^\W\d_]",
    "Mr|Dr|Ms|St|Jr|Sr|No|Nr|vs|cf|al|pp|ed|eq|ca|Mt|Lt|Hr|Fr|Co",
    "Mrs|Fig|fig|etc|Vol|vol|Sec|Eqs|Nos|Gen|Col|Sgt|Rev|Hon|Ref|Tab|Abb|bzw|usw|ggf|vgl|Inc|Ltd|Mme",
    "Prof|Capt|Dept|Univ|Figs|Sept|Mlle",
)


@cache
def sentence_pattern(ascii_only: bool) -> re.Pattern[str]:
    """The end of a sentence: its last mark, closing quotes or brackets, and the white space after them.

    Not after an abbreviation, a single letter or an enumerator ("1." where a line or sentence starts), and not when the
    next word starts in lower case after a full stop or a closing quote. The end of a text is no match.
    """
    full = "" if ascii_only else _FULL_STOPS
    lower = "a-z" if ascii_only else "a-z" + "".join(c for c in map(chr, range(0x80, 0x590)) if c.islower())
    marks = f"[{_STOPS}{full}]" if full else "[.!?]"
    closers = f"[{_CLOSERS}{_CJK_CLOSERS}]" if full else f"[{_CLOSERS}]"
    abbreviations = "".join(rf"(?<!\b(?:{words})\.)" for words in _ABBREVIATIONS)
    enumerators = "".join(rf"(?<!^{n}\.)(?<!\s\s{n}\.)(?<![.:;!?)]\s{n}\.)" for n in (r"\d", r"\d\d"))
    spaced = rf"{abbreviations}{enumerators}(?:(?<=[!?])(?=\s)|{closers}*(?=\s+[^\s{lower}])){_GAP}"
    fullwidth = rf"(?<=[{full}])[{_CJK_CLOSERS}”’»)]*(?:{_GAP})?|" if full else ""
    return re.compile(rf"{marks}(?!{marks})(?:{fullwidth}{spaced})", re.MULTILINE)


def blank(text: str, start: int, end: int) -> bool:
    """Whether ``text[start:end]`` is empty or only white space; copies nothing."""
    return NOT_SPACE.search(text, start, end) is None


def sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    """The ends of the sentences of ``text[start:end]``, each after its trailing white space; the last one is ``end``.

    A blank line ends a sentence too. Code points of ``text``.
    """
    after = _searched(sentence_pattern(text.isascii()), text.isascii())
    block = _block(text, start, end)
    while start < end:
        paragraph = block(text, start, 1, end)
        while start < paragraph:
            start = after(text, start, 1, paragraph)
            yield start


def last_break(text: str, lower: int, stop: int) -> tuple[int, Strength]:
    """The last break of ``text`` in ``[lower, stop)`` on the highest rung that has one there, and its strength.

    For prose; code points, ``0 < lower < stop <= len(text)``; ``text[stop:]`` changes nothing. Without a break there,
    the last one before; without any, the start of the last cluster, or, inside a single one, ``stop - 1``.
    """
    ladder = _ladder(text[:stop].isascii(), "wrapped" if _wrapped(text, 0, stop) else "lines")
    rungs = (Strength.BLOCK, _block(text, 0, stop)), *ladder[:-2]
    for first in (lower, 1):
        for strength, after in rungs:
            end = after(text, 0, first, stop)
            if end < stop:
                while (following := after(text, end, 1, stop)) < stop:
                    end = following
                return end, strength
    end = cluster_start(text, stop - 1, 0)
    return (end, Strength.CLUSTER) if end else (stop - 1, Strength.CODE_POINT)


def pieces(
    text: str, start: int, end: int, fits: Callable[[int, int], bool], floor: int, prose: bool = True
) -> Iterator[tuple[int, int, Strength]]:
    """Yield ``(a, b, strength)``: consecutive pieces of ``[start, end)``, each with the strength of the cut before it.

    ``fits(a, b)``: whether a range is within budget; it may be any function, but is assumed to be nearly monotone.
    ``floor``: width in code points, about an eighth of the budget; narrower neighbours are joined up to it, and at most
    to twice of it, if they fit. Every piece fits, except a single code point that does not; that one has CODE_POINT.

    A unit that fits is never divided: with ``prose`` paragraph, line, sentence, clause, word, cluster; otherwise block
    of lines, line, statement (``;{}``), item (``,``), word, cluster. In a hard-wrapped paragraph (see `_wrapped`) the
    end of a line is only white space. A unit that fits only without its trailing white space is followed by that white
    space as a piece of its own. The strength of the first piece is BLOCK.

    Lazy, and linear in the range: no more than some budgets are looked at ahead. A paragraph that ends further away is
    cut within that reach, at the strongest lower break near its end; what remains of it counts as a paragraph.
    """
    ascii_only = text.isascii()
    block = (Strength.BLOCK, _block(text, start, end))
    ladder = (block, *_ladder(ascii_only, "lines" if prose else "code"))
    stops = [(end, Strength.BLOCK)]  # ends of the oversized units around `position`, each with the strength there
    position, before = start, Strength.BLOCK
    step = floor = max(floor, 1)
    reach = max(1 << 16, 16 * floor)
    while position < end:
        depth = len(stops) - 1
        strength, after = ladder[depth]
        outer = stops[-1][0]
        while position < outer:
            stop = outer if depth else min(outer, position + reach)
            first = after(text, position, 1, stop)
            unit = first if first - position >= step else _several(text, position, first, step, stop, after)
            cut = strength
            if unit == stop < outer:  # no end within reach
                if fits(position, position + reach // 4):
                    reach *= 4
                    continue
                if prose:
                    ladder = block, *_ladder(ascii_only, "wrapped" if _wrapped(text, position, stop) else "lines")
                unit, cut = _within(text, position, stop, ladder)
            elif fits(position, unit):
                yield position, unit, before
                position, before, step = unit, strength, min(floor, 2 * step)
                continue
            elif first < unit:
                step = max(step // 4, 1)
                continue
            elif strength == Strength.CODE_POINT:
                yield position, unit, Strength.CODE_POINT
                position, before = unit, strength
                continue
            content = position + len(text[position:unit].rstrip())
            line = text.find("\n", content, unit) + 1
            if not prose and line:  # such white space starts a line, as all code does, unless one line is too long
                content = line if fits(position, line) or text.find("\n", position, content) >= 0 else content
            if position < content < unit and fits(position, content) and not joined(text, content, position):
                yield position, content, before
                position, before = content, cut
                if fits(content, unit):
                    yield content, unit, cut
                    position = unit
                    continue
            if prose and not depth:
                ladder = block, *_ladder(ascii_only, "wrapped" if _wrapped(text, position, unit) else "lines")
            stops.append((unit, cut))
            break
        while stops and position == stops[-1][0]:
            before = stops.pop()[1]


def _several(text: str, start: int, first: int, step: int, stop: int, after: After) -> int:
    """The end of the units from ``start``, the first of which ends at ``first``, that together come close to ``step``.

    That is the first break at or past ``step`` if it is within twice of it, otherwise the last one before.
    """
    limit = min(stop, start + 2 * step + 1)
    end = after(text, start, step, limit)
    if end < limit or limit == stop:
        return end
    while (following := after(text, first, 1, stop)) < start + step:
        first = following
    return first


def _within(text: str, start: int, stop: int, ladder: Ladder) -> tuple[int, Strength]:
    """A cut in the last quarter of ``[start, stop)``, which is wider than the budget, and its strength.

    A rung without a break there has one oversized unit there, so a break of the next rung divides nothing that fits.
    """
    step = (stop - start) * 3 // 4
    for strength, after in ladder:
        end = after(text, start, step, stop)
        if end < stop:
            return end, strength
    return stop, Strength.CODE_POINT


def _wrapped(text: str, start: int, end: int) -> bool:
    """Whether the paragraph is hard-wrapped, so that its line ends mean no more than white space.

    Judged by its first 32 lines (4,096 code points), quote marks aside: in two of three the first word of the next line
    would not have fitted any more (the width, 30 or more, is the upper quartile), two of three end in mid-sentence, and
    two of five next lines begin with a letter not in upper case. Verse, lists, logs, one sentence a line fail there.
    """
    lines = [line.strip().lstrip("> ") for line in text[start : min(end, start + 4096)].split("\n", 32)[:32]]
    if end - start <= 4096 and not lines[-1]:
        lines.pop()
    pairs = len(lines) - 1
    if pairs < 2:
        return False
    width = sorted(map(len, lines[:-1]))[-1 - pairs // 4]
    full = unfinished = running = 0
    for line, following in pairwise(lines):
        full += len(line) + 1 + len((following.split(None, 1) or [""])[0]) > width
        unfinished += not line.endswith(_LINE_ENDS)
        running += following[:1].isalpha() and not following[:1].isupper()
    return width >= 30 and 3 * min(full, unfinished) >= 2 * pairs and 5 * running >= 2 * pairs


def _line(text: str, start: int, step: int, stop: int) -> int:
    """After a line feed and the blank lines that follow; blank lines alone are lines."""
    end = text.find("\n", start + step - 1, stop) + 1
    if not end:
        return stop
    more = None if blank(text, start, end) else _SPACE_LINES.match(text, end, stop)
    return more.end() if more else end


def _cluster(text: str, start: int, step: int, stop: int) -> int:
    return cluster_end(text, start + step, start, stop)


def _code_point(text: str, start: int, step: int, stop: int) -> int:
    return min(start + step, stop)


def _searched(pattern: re.Pattern[str], ascii_only: bool) -> After:
    """The rung of an expression whose matches end at the breaks; a match that ends inside a cluster is none."""
    search = pattern.search

    def after(text: str, start: int, step: int, stop: int) -> int:
        found = search(text, start + step - 1, stop)
        return found.end() if found else stop

    def after_cluster(text: str, start: int, step: int, stop: int) -> int:
        found = search(text, start + step - 1, stop)
        while found:
            end = found.end()
            if end >= stop or text[end] < "\u0300" or not joined(text, end, start):
                return end
            found = search(text, end, stop)
        return stop

    return after if ascii_only else after_cluster


def _block(text: str, start: int, end: int) -> After:
    """The rung of blank lines and form feeds; the search for both is slower by half, so a text without has its own."""
    feed = text.find("\f", start, end) >= 0
    return _searched(_BLANK_LINE_OR_FEED if feed else BLANK_LINE, True)


@cache
def _ladder(ascii_only: bool, kind: str) -> Ladder:
    """The rungs below the blank line for prose in ``lines`` or ``wrapped``, or for ``code``; for ASCII smaller sets."""

    def rung(strength: Strength, pattern: str) -> tuple[Strength, After]:
        return strength, _searched(re.compile(pattern), ascii_only)

    pauses = "" if ascii_only else f"—{_CJK_PAUSES}{_CJK_CLOSERS}"
    joints = r"-/_.,:;=&?|+@#~\\" + ("" if ascii_only else "\xa0\u2007\u200b\u202f\u2010")
    space = rf"(?:{_GAP})?"
    weak = rung(Strength.WORD, rf"[{joints}a-z](?:(?<![a-z])(?![{joints}])|(?<=[a-z])(?=[A-Z]))")
    last = (weak, (Strength.CLUSTER, _cluster), (Strength.CODE_POINT, _code_point))
    line = (Strength.LINE, _line)
    if kind == "code":
        statement = rung(Strength.SENTENCE, rf"[;{{}}](?![;{{}})\],]){space}")
        return line, statement, rung(Strength.CLAUSE, f",{space}"), rung(Strength.WORD, _GAP), *last
    sentence = (Strength.SENTENCE, _searched(sentence_pattern(ascii_only), ascii_only))
    if ascii_only:
        clause, word = rf"[,;:)\]}}\"](?:{_GAP})", _GAP
    else:
        clause = rf"[,;:)\]}}\"”»–{pauses}](?:(?<=[{pauses}])(?![{pauses}]){space}|{_GAP})"
        word = rf"[^\S\xa0\u2007\u202f](?:\s*\n|(?<=\n)|\s*)|[{_CJK}](?![{_NOT_FIRST}]){space}"
    lines = () if kind == "wrapped" else (line,)
    return *lines, sentence, rung(Strength.CLAUSE, clause), rung(Strength.WORD, word), *last
