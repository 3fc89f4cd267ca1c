"""Chunks of many files as batches of rows for a database, to be gone on with where a run was interrupted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from omnichunk.errors import OptionError
from omnichunk.model.chunk import Chunk, FileResult
from omnichunk.sinks.point import Embed, Point, embedded


@dataclass(frozen=True, slots=True)
class UpsertBatch:
    """Rows for a database, and the ``chunks`` they are made of, in the order of the files.

    ``cursor``: hand it to ``stream_upsert(after=…)`` to go on behind this batch, once its rows are written. ``failed``:
    files since the batch before that could not be chunked, with the reason.
    """

    rows: tuple[Any, ...]
    chunks: tuple[Chunk, ...]
    cursor: str
    failed: tuple[FileResult, ...] = ()


class Cursor(NamedTuple):
    """How far a run has come: the file, how many of its chunks are done, and what its text was then."""

    filepath: str
    done: int
    revision: str

    @classmethod
    def read(cls, text: str | None) -> Cursor | None:
        """The cursor a batch carried. Raises OptionError for anything else."""
        if text is None:
            return None
        try:
            filepath, done, revision = json.loads(text)
            if not (isinstance(filepath, str) and type(done) is int and done >= 0 and isinstance(revision, str)):
                raise ValueError
        except (TypeError, ValueError):
            raise OptionError(f"stream_upsert(): after={text!r:.80} is no cursor; take that of a batch.") from None
        return cls(filepath, done, revision)

    def passed(self, path: str) -> bool:
        """Whether ``path`` comes before this file in the order of a walk."""
        return _order(path) < _order(self.filepath)


def check(batch_size: int, embed_fn: object) -> None:
    """Raise OptionError for what cannot work."""
    if type(batch_size) is not int or batch_size < 1:
        raise OptionError(f"stream_upsert(): batch_size={batch_size!r}; a whole number of at least 1 is needed.")
    if not callable(embed_fn):
        raise OptionError("stream_upsert(): embed_fn must be callable: a list of texts to a list of vectors.")


def batches(
    results: Iterable[FileResult],
    embed_fn: Embed,
    row: Callable[[Point], Any],
    batch_size: int,
    after: Cursor | None,
) -> Iterator[UpsertBatch]:
    """Batches of ``batch_size`` rows, the last one smaller; one without rows only where files failed at the end.

    A file that has changed since ``after`` was made begins anew: its rows have the same ids, or new ones.
    """
    waiting: list[tuple[Chunk, int]] = []
    failed: list[FileResult] = []
    last = after or Cursor("", 0, "")

    def batch(taken: list[tuple[Chunk, int]]) -> UpsertBatch:
        nonlocal last
        chunks = tuple(chunk for chunk, _ in taken)
        rows = tuple(row(point) for point in embedded(chunks, embed_fn))
        if taken:
            chunk, number = taken[-1]
            last = Cursor(chunk.context.filepath, number + 1, chunk.source.revision)
        told = tuple(failed)
        failed.clear()
        return UpsertBatch(rows, chunks, json.dumps(last), told)

    for result in results:
        if result.outcome == "failed":
            failed.append(result)
        done = 0
        if after and result.chunks:
            chunk = result.chunks[0]
            same = (chunk.context.filepath, chunk.source.revision) == (after.filepath, after.revision)
            done = after.done if same else 0
        for number, chunk in enumerate(result.chunks[done:], done):
            waiting.append((chunk, number))
            if len(waiting) == batch_size:
                yield batch(waiting)
                waiting.clear()
    if waiting or failed:
        yield batch(waiting)


def _order(path: str) -> list[str]:
    return re.split(r"[\\/]", path)
