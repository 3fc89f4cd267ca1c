"""Pieces that never exceed a budget, for answers without a structure one could rely on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from omnichunk.streaming.protocol import ChunkingStrategy, Scanner

_UNITS = ("chars", "nws", "tokens")


class BudgetChunker(ChunkingStrategy):
    """Pieces of at most ``max_size`` that together are the text, each cut at the best boundary seen when it is full.

    That is the last one of the strongest kind in the second half of what fits: a blank line, the end of a line, a
    sentence, a clause, a word, a grapheme cluster; white space after a unit belongs to it. ``unit``: ``"chars"`` (code
    points), ``"nws"`` (those that are not white space) or ``"tokens"``. ``tokenizer``: as in `ChunkOptions`, for
    tokens; without one their number is estimated.

    Raises TypeError or ValueError for arguments that cannot work; ``split`` and ``flush``, BudgetError for a code point
    that has more tokens than ``max_size``.
    """

    boundary = "budget"

    def __init__(
        self, max_size: int, unit: Literal["chars", "nws", "tokens"] = "chars", tokenizer: object = None
    ) -> None:
        if not isinstance(max_size, int) or isinstance(max_size, bool):
            raise TypeError(f"BudgetChunker(): max_size must be int, not {type(max_size).__name__}.")
        if max_size < 1 or unit not in _UNITS or (tokenizer is not None and unit != "tokens"):
            raise _wrong(max_size, unit)
        self.max_size = max_size
        self.unit = unit
        self.tokenizer = tokenizer
        self._count = _counter(unit, tokenizer)

    def __reduce__(self) -> tuple[type[BudgetChunker], tuple[int, str, object]]:
        return type(self), (self.max_size, self.unit, self.tokenizer)  # what counts is made again

    def split(self, accumulated_text: str) -> list[str]:
        return self.scanner().feed(accumulated_text)

    def flush(self, accumulated_text: str) -> list[str]:
        """The rest; in several pieces if tokens are counted and it is only now that they are."""
        scanner = self.scanner()
        scanner.feed(accumulated_text)
        return scanner.flush()

    def scanner(self) -> Scanner:
        return _BudgetScanner(self)


def _wrong(max_size: int, unit: str) -> ValueError:
    from omnichunk.errors import OptionError, suggestion

    if max_size < 1:
        return OptionError(f"BudgetChunker(): max_size={max_size}; it must be at least 1.")
    if unit not in _UNITS:
        return OptionError(
            f"BudgetChunker(): unit={unit!r}; it is chars, nws or tokens{suggestion(str(unit), _UNITS) or '.'}"
        )
    return OptionError(f'BudgetChunker(): a tokenizer needs unit="tokens", not unit="{unit}".')


def _counter(unit: str, tokenizer: object) -> Callable[[str], int]:
    if unit == "chars":
        return len
    from omnichunk.sizing import estimate, nws

    if unit == "nws":
        return nws
    if tokenizer is None:
        return estimate
    from omnichunk.registry import default_registry
    from omnichunk.sizing.tokenizers import token_counter

    return token_counter(tokenizer, default_registry().tokenizers() if isinstance(tokenizer, str) else {})[0]


class _BudgetScanner(Scanner):
    """Decides about a piece once that many code points are pending that they may exceed the budget.

    When that is depends on the text alone: at ``due`` code points, which grow by a quarter as long as they fit. So the
    pieces do, too.
    """

    __slots__ = ("due", "pending", "strategy")

    def __init__(self, strategy: BudgetChunker) -> None:
        super().__init__()
        self.strategy = strategy
        self.due = strategy.max_size + 1
        self.pending = 0
        self.reasons = []

    def feed(self, delta: str) -> list[str]:
        self.parts.append(delta)
        self.pending += len(delta)
        self.reasons = reasons = []
        if self.pending < self.due:
            return []
        pieces = []
        text = "".join(self.parts)
        start = 0
        while len(text) - start >= self.due:
            window = text[start : start + self.due]
            cut, reason = self._cut(window)
            if cut == len(window):
                self.due += max(self.due // 4, 1)
                continue
            pieces.append(window[:cut])
            reasons.append(reason)
            start += cut
            self.due = self.strategy.max_size + 1
        self.parts = [text[start:]]
        self.pending = len(text) - start
        return pieces

    def flush(self) -> list[str]:
        pieces, self.reasons = [], reasons = [], []
        text = "".join(self.parts)
        while text:
            cut, reason = self._cut(text)
            pieces.append(text[:cut])
            reasons.append(reason)
            text = text[cut:]
        return pieces

    def _cut(self, text: str) -> tuple[int, str]:
        """Where to cut ``text``, and why: at its end if it fits."""
        count, limit = self.strategy._count, self.strategy.max_size
        size = count(text)
        if size <= limit:
            return len(text), "end"
        from omnichunk.source.breaks import last_break

        fits, over = 0, len(text)  # the number of code points that fit is looked for; roughly, because it guides only
        guess = min(limit if count is len else len(text) * limit // size, over - 1)
        while over - fits > max(1, fits // 16):
            if count(text[:guess]) <= limit:
                fits = guess
            else:
                over = guess
            guess = (fits + over) // 2
        stop = fits + 1
        while stop > 1:
            cut, strength = last_break(text, (stop + 1) // 2, stop)
            if count(text[:cut]) <= limit:
                return cut, strength.name.lower().replace("_", " ")
            stop = cut
        from omnichunk.errors import BudgetError

        raise BudgetError(
            f"BudgetChunker(): max_size={limit} cannot hold {text[0]!r}, which takes {count(text[0])}. Use that or more."
        )
