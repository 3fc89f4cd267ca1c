"""Positions of one text in three coordinates: code points, UTF-8 bytes, lines.

Code points are what Python slices by and what every room works in; bytes and lines appear in parsers and in finished
chunks. For ASCII text bytes and code points are the same number and cost nothing. Otherwise checkpoints every ``STEP``
code points, made once on first use, bound the cost of any question by one slice; questions that come in order
continue from the last answer and cost only the way between. The index of 10 MB takes 160 kB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate

STEP = 1024  # code points between two checkpoints


class PositionIndex:
    """Conversions for ``text``, which holds no lone surrogates. Not for use by two threads at once.

    Positions outside the text raise IndexError. ``len(text)`` and the number of bytes are inside: they end ranges.
    """

    __slots__ = ("_at_byte", "_at_line", "_blocks", "_lines", "_text", "ascii")

    def __init__(self, text: str) -> None:
        self._text = text
        self.ascii = text.isascii()
        self._blocks: array[int] | None = None  # bytes before each checkpoint, and before the end
        self._lines: array[int] | None = None  # newlines before each checkpoint, and before the end
        self._at_byte = (0, 0)  # last code point asked for and its byte
        self._at_line = (0, 0)  # last code point asked for and its line

    def byte(self, char: int) -> int:
        """UTF-8 bytes before the code point ``char``."""
        if not 0 <= char <= len(self._text):
            raise IndexError(f"code point {char} is outside a text of {len(self._text)}")
        if self.ascii:
            return char
        start, byte = self._at_byte
        if not 0 <= char - start <= STEP:
            block = char // STEP
            start, byte = block * STEP, self._byte_blocks()[block]
        byte += len(self._text[start:char].encode())
        self._at_byte = char, byte
        return byte

    def char(self, byte: int) -> int:
        """The code point at ``byte``; a byte inside a code point gives the one it belongs to."""
        if self.ascii:
            if not 0 <= byte <= len(self._text):
                raise IndexError(f"byte {byte} is outside a text of {len(self._text)}")
            return byte
        blocks = self._byte_blocks()
        if not 0 <= byte <= blocks[-1]:
            raise IndexError(f"byte {byte} is outside a text of {blocks[-1]}")
        start, before = self._at_byte
        if not 0 <= byte - before <= STEP:
            block = bisect_right(blocks, byte, 0, len(blocks) - 1) - 1
            start, before = block * STEP, blocks[block]
        wanted = byte - before
        head = self._text[start : start + wanted].encode()[:wanted]
        try:
            char = start + len(head.decode())
        except UnicodeDecodeError as inside:  # of the last code point
            byte = before + inside.start
            char = start + len(head[: inside.start].decode())
        self._at_byte = char, byte
        return char

    def line(self, char: int) -> int:
        """Newlines before the code point ``char``: its zero-based line."""
        if not 0 <= char <= len(self._text):
            raise IndexError(f"code point {char} is outside a text of {len(self._text)}")
        start, line = self._at_line
        if not 0 <= char - start <= STEP:
            block = char // STEP
            start, line = block * STEP, self._line_blocks()[block]
        line += self._text.count("\n", start, char)
        self._at_line = char, line
        return line

    def line_start(self, line: int) -> int:
        """The first code point of the zero-based ``line``; after a final newline there is one more, empty line."""
        if line == 0:
            return 0
        lines = self._line_blocks()
        if not 0 <= line <= lines[-1]:
            raise IndexError(f"line {line} is outside a text of {lines[-1] + 1} lines")
        block = bisect_left(lines, line) - 1
        low, high, missing = block * STEP, min(len(self._text), (block + 1) * STEP), line - lines[block]
        while high - low > 1:
            middle = (low + high) // 2
            found = self._text.count("\n", low, middle)
            if found < missing:
                low, missing = middle, missing - found
            else:
                high = middle
        return high

    def _byte_blocks(self) -> array[int]:
        if self._blocks is None:
            text = self._text
            sizes = (len(text[start : start + STEP].encode()) for start in range(0, len(text), STEP))
            self._blocks = array("Q", accumulate(sizes, initial=0))
        return self._blocks

    def _line_blocks(self) -> array[int]:
        if self._lines is None:
            text = self._text
            counts = (text.count("\n", start, start + STEP) for start in range(0, len(text), STEP))
            self._lines = array("Q", accumulate(counts, initial=0))
        return self._lines
