"""Syntax trees after the chunks are made: kept for contexts that nobody has asked for yet, as far as memory allows.

Half of the spans of a document may serve contexts alone. They are made when the first context is read, and never if none
is; until then the syntax tree is needed. It goes when the chunks do, and that of the oldest document when there are too
many: what its contexts need is made then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from omnichunk.finalize.context import Contexts

KEPT = 2_000_000
"""Code points of text whose trees are kept, in about 50 MB."""
LEAST = 10_000
"""Code points that a text counts for, however short: no more than ``KEPT / LEAST`` documents wait."""

_kept: dict[ref[Contexts], int] = {}


def keep(contexts: Contexts, size: int, seal: Callable[[], None]) -> None:
    """Keep the tree of ``size`` code points of text that ``contexts`` are made from; ``seal`` lets go of it."""

    def gone(dead: ref[Contexts]) -> None:
        _kept.pop(dead, None)
        seal()

    _kept[ref(contexts, gone)] = max(size, LEAST)
    # Steps that need no lock: other threads, and the end of other contexts, may come between any two of them.
    for oldest in [*_kept]:
        if sum([*_kept.values()]) <= KEPT:
            break
        _kept.pop(oldest, None)
        waiting = oldest()
        if waiting is not None:
            waiting.finish()


def forget(contexts: Contexts) -> None:
    """``contexts`` need their tree no more."""
    _kept.pop(ref(contexts), None)
