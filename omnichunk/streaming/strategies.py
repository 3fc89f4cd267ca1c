"""Sentences, words, paragraphs, lines, JSON Lines: strategies whose boundaries one expression or `str` method finds.

Each comes in two forms that give the same pieces: ``split`` and ``flush`` over a whole text, written to be read, and a
scanner over deltas, written to look at no character twice unless a boundary may lie astride two deltas.
"""

from __future__ import annotations

import re

from omnichunk.streaming.protocol import ChunkingStrategy, LineScanner, Scanner, not_text

_SENTENCE_END = re.compile(r"[.!?][\"'”’)]?\s+")
_PARAGRAPH_ENDS = re.compile(r"\n\n+"), re.compile(r"\n\r?\n(?:\r?\n)*")
_LINE_ENDS = re.compile(r"\n+"), re.compile(r"(?:\r?\n)+")
_LONG = 256
_JSON_SPACE = " \t\r\n\x1e\ufeff"  # with the record separator of RFC 7464 and the byte order mark


class SentenceChunker(ChunkingStrategy):
    """Sentences: up to ``.``, ``!`` or ``?``, perhaps one closing quote or parenthesis, before white space.

    White space around sentences is dropped. Abbreviations end a sentence, as the rule has it.
    """

    boundary = "sentence"

    def split(self, accumulated_text: str) -> list[str]:
        return _sentences(accumulated_text)[0]

    def flush(self, accumulated_text: str) -> list[str]:
        """The rest, without white space around it."""
        rest = accumulated_text[_sentences(accumulated_text)[1] :].strip()
        return [rest] if rest else []

    def scanner(self) -> Scanner:
        return _SentenceScanner()


def _sentences(text: str) -> tuple[list[str], int]:
    """The complete sentences of ``text``, and where the next one starts."""
    pieces = []
    start = 0
    for found in _SENTENCE_END.finditer(text):
        end = found.end()
        pieces.append(text[start:end].strip())
        start = end
    return pieces, start


class _SentenceScanner(Scanner):
    __slots__ = ("tail",)
    strict = True

    def __init__(self) -> None:
        super().__init__()
        self.tail = ""  # the last two code points, if a mark is among them

    def feed(self, delta: str) -> list[str]:
        if not isinstance(delta, str):
            raise not_text(delta)
        self.parts.append(delta)
        if not (self.tail or "." in delta or "!" in delta or "?" in delta):
            return []
        pieces: list[str] = []
        window = self.tail + delta
        found = _SENTENCE_END.search(window)
        if found:
            text = "".join(self.parts)
            skipped = len(text) - len(window)
            start = 0
            while found:
                end = skipped + found.end()
                pieces.append(text[start:end].strip())
                start, skipped = end, 0
                found = _SENTENCE_END.search(text, start)
            window = text[start:]
            self.parts = [window] if window else []
        last = window[-2:]
        self.tail = last if "." in last or "!" in last or "?" in last else ""
        return pieces

    def flush(self) -> list[str]:
        rest = "".join(self.parts).strip()
        return [rest] if rest else []


class WordChunker(ChunkingStrategy):
    """Words: what lies between white space."""

    boundary = "word"

    def split(self, accumulated_text: str) -> list[str]:
        words = accumulated_text.split()
        if words and not accumulated_text[-1].isspace():
            words.pop()
        return words

    def flush(self, accumulated_text: str) -> list[str]:
        """The last word, if no white space follows it."""
        return [] if accumulated_text[-1:].isspace() else accumulated_text.rsplit(None, 1)[-1:]

    def scanner(self) -> Scanner:
        return _WordScanner()


class _WordScanner(Scanner):
    __slots__ = ("word",)
    strict = True

    def __init__(self) -> None:
        super().__init__()  # parts: of a word that has become long
        self.word = ""  # the pending word otherwise

    def feed(self, delta: str) -> list[str]:
        if not isinstance(delta, str):
            raise not_text(delta)
        if self.parts:
            self.parts.append(delta)
            if len(delta.split()) < 2 and not (delta[:1].isspace() or delta[-1:].isspace()):
                return []
            delta, self.parts = "".join(self.parts), []
        words = (self.word + delta).split()
        self.word = ""
        if words and not delta[-1:].isspace():
            word = words.pop()
            if len(word) < _LONG:
                self.word = word
            else:
                self.parts = [word]
        return words

    def flush(self) -> list[str]:
        word = self.word or "".join(self.parts)
        return [word] if word else []


class ParagraphChunker(ChunkingStrategy):
    """Paragraphs: what lies between two or more line feeds, to the character. ``crlf``: those after CR count as well."""

    boundary = "paragraph"

    def __init__(self, crlf: bool = False) -> None:
        if not isinstance(crlf, bool):
            raise TypeError(f"ParagraphChunker(): crlf must be bool, not {type(crlf).__name__}.")
        self.crlf = crlf
        self._ends = _PARAGRAPH_ENDS[crlf]

    def split(self, accumulated_text: str) -> list[str]:
        return self._complete(self._ends.split(accumulated_text)[:-1])

    def flush(self, accumulated_text: str) -> list[str]:
        """The rest as it is, unless the text ends in a boundary, or, with ``crlf``, perhaps within one."""
        return self._last(self._ends.split(accumulated_text)[-1])

    def _complete(self, parts: list[str]) -> list[str]:
        if self.crlf:
            return [text for part in parts if (text := part.rstrip("\r"))]
        return [*filter(None, parts)]

    def _last(self, rest: str) -> list[str]:
        return [rest] if (rest.strip("\r") if self.crlf else rest) else []

    def scanner(self) -> Scanner:
        return _ParagraphScanner(self)


class _ParagraphScanner(LineScanner):
    __slots__ = ("ends", "follows", "strategy")

    def __init__(self, strategy: ParagraphChunker) -> None:
        super().__init__()
        self.strategy = strategy
        self.ends = strategy._ends
        self.follows = False  # whether what is pending follows a boundary, which line ends at its start belong to

    def complete(self) -> list[str]:
        parts = self.parts
        delta = parts[-1]
        if not ("\n\n" in delta or delta[0] in "\r\n" or "\n\r\n" in delta):
            return []
        before, i = "", len(parts) - 1
        while i and len(before) < 2:  # as much of a boundary as may have come before the delta
            i -= 1
            before = parts[i][-2:] + before
        window = before + delta
        whole = self.ends.split(window)
        if len(whole) == 1:
            return []
        text = "".join(parts)
        whole[0] = text[self._start(text) : len(text) - len(window) + len(whole[0])]
        self.parts = [whole.pop()]
        self.follows = True
        return self.strategy._complete(whole)

    def flush(self) -> list[str]:
        text = "".join(self.parts)
        return self.strategy._last(text[self._start(text) :])

    def _start(self, text: str) -> int:
        """Where the paragraph starts in what is pending."""
        ends = _LINE_ENDS[self.strategy.crlf].match(text) if self.follows and text[:1] in "\r\n" else None
        return ends.end() if ends else 0


class LineChunker(ChunkingStrategy):
    """Lines, which end at ``\\n`` only: without their line end and without empty ones, or, with ``keep_ends``, as is."""

    boundary = "line"

    def __init__(self, keep_ends: bool = False) -> None:
        if not isinstance(keep_ends, bool):
            raise TypeError(f"LineChunker(): keep_ends must be bool, not {type(keep_ends).__name__}.")
        self.keep_ends = keep_ends

    def split(self, accumulated_text: str) -> list[str]:
        return self._cleaned(accumulated_text.split("\n")[:-1])

    def flush(self, accumulated_text: str) -> list[str]:
        """The line that has no end yet; a CR at its end is taken for half of one."""
        return self._last(accumulated_text[accumulated_text.rfind("\n") + 1 :])

    def scanner(self) -> Scanner:
        return _LineScanner(self, plain=not self.keep_ends)

    def _cleaned(self, lines: list[str]) -> list[str]:
        if self.keep_ends:
            return [line + "\n" for line in lines]
        return [text for line in lines if (text := line.rstrip("\r"))]

    def _last(self, line: str) -> list[str]:
        text = line if self.keep_ends else line.rstrip("\r")
        return [text] if text else []


class JSONLinesChunker(LineChunker):
    """Records of JSON Lines (or of RFC 7464): every line that is not blank, without white space around it.

    The records are whole, but not parsed: whether they are JSON shows when they are read.
    """

    boundary = "record"

    def __init__(self) -> None:
        super().__init__()

    def scanner(self) -> Scanner:
        return _LineScanner(self, plain=False)

    def _cleaned(self, lines: list[str]) -> list[str]:
        return [text for line in lines if (text := line.strip(_JSON_SPACE))]

    def _last(self, line: str) -> list[str]:
        return self._cleaned([line])


class _LineScanner(LineScanner):
    __slots__ = ("plain", "strategy")

    def __init__(self, strategy: LineChunker, plain: bool) -> None:
        super().__init__()
        self.strategy = strategy
        self.plain = plain  # whether there is nothing to clean in lines without CR, none of which is empty

    def complete(self) -> list[str]:
        text = "".join(self.parts)
        lines = text.split("\n")
        self.parts = [lines.pop()]
        if self.plain and "\r" not in text and "" not in lines:
            return lines
        return self.strategy._cleaned(lines)

    def flush(self) -> list[str]:
        return self.strategy._last("".join(self.parts))
