"""Sizers: how large a string is, in the unit the caller chose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from omnichunk.sizing.tokenizers import estimate, token_counter

if TYPE_CHECKING:
    from omnichunk.model.declarations import Tokenizer
    from omnichunk.model.options import ChunkOptions, SizeUnit
    from omnichunk.sizing.tokenizers import Count

_ASCII_SPACE = bytes(c for c in range(128) if chr(c).isspace())
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Sizer:
    """Measures strings. The functions are attributes, so a call costs no more than the function itself.

    ``count(text)``: size in ``unit``; for tokens without a real tokenizer an estimate. ``tokens(text)``: number of
    tokens, whatever the unit. ``exact``: token numbers come from a tokenizer and are no estimates. ``additive``: the
    unit whose sizes add up code point by code point (``chars`` or ``nws``), or ``None``: then only a count of the
    whole string is its size.
    """

    unit: SizeUnit
    count: Count
    tokens: Count
    exact: bool
    additive: Literal["chars", "nws"] | None


def make_sizer(options: ChunkOptions, tokenizers: Mapping[str, Tokenizer] = MappingProxyType({})) -> Sizer:
    """The sizer that ``options`` ask for; ``tokenizers`` are those that plugins declare, by name.

    Raises OptionError for a tokenizer nobody knows or a file that holds none, MissingDependencyError when its package
    or its vocabulary is not installed, PluginError when a factory fails. Nothing is ever downloaded.
    Reading a tokenizer.json takes up to a second, so keep the sizer for as long as ``tokenizer`` stays the same.
    """
    tokens, exact = (estimate, False) if options.tokenizer is None else token_counter(options.tokenizer, tokenizers)
    if options.size_unit == "chars":
        return Sizer("chars", len, tokens, exact, "chars")
    if options.size_unit == "nws":
        return Sizer("nws", nws, tokens, exact, "nws")
    return Sizer("tokens", tokens, tokens, exact, None)


def nws(text: str) -> int:
    """Number of code points that are not white space by ``str.isspace``, which is what ``str.split`` splits at.

    Per code point about 2 ns in ASCII and 10 to 20 ns elsewhere; memory is bounded by working in blocks.
    """
    if text.isascii():
        return len(text.encode().translate(None, _ASCII_SPACE))
    if len(text) <= _BLOCK:
        return len("".join(text.split()))
    return sum(nws(text[start : start + _BLOCK]) for start in range(0, len(text), _BLOCK))
