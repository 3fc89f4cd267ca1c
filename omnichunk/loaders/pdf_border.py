"""The border to pypdf: which exceptions it lets out, what it logs, and what it has decoded."""

from __future__ import annotations

import logging
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

NOTES = 3
"""Different messages of pypdf that become warnings; the rest is counted."""


@cache
def foreign() -> tuple[type[Exception], ...]:
    """Everything pypdf is known to raise over a damaged or hostile file, besides what Python itself reserves."""
    from pypdf import errors

    return (
        errors.PyPdfError,
        errors.DependencyError,
        errors.DeprecationError,
        ArithmeticError,
        AssertionError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        OSError,
        RuntimeError,
        StopIteration,
        TypeError,
        ValueError,
        Warning,
        struct.error,
        zlib.error,
    )


class _Notes(logging.Handler):
    """Keeps the warnings of one thread."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.thread = threading.get_ident()
        self.seen: dict[str, None] = {}
        self.more = 0

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread != self.thread:
            return
        message = record.getMessage()[:200]
        if len(self.seen) < NOTES:
            self.seen[message] = None
        elif message not in self.seen:
            self.more += 1


@contextmanager
def listening(warnings: list[str]) -> Iterator[None]:
    """Add what pypdf logs in this thread meanwhile to ``warnings``, ``NOTES`` messages and the number of others.

    A handler of our own also keeps Python from printing them when the caller has not set up logging.
    """
    logger = logging.getLogger("pypdf")
    notes = _Notes()
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)
        warnings += [f"pypdf: {message}" for message in notes.seen]
        if notes.more:
            warnings.append(f"pypdf: {notes.more} more messages.")


def said(error: Exception) -> str:
    """An exception of pypdf in one short line."""
    message = " ".join(str(error).split())[:200].rstrip(".")
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
