"""What a chunk is called, what its embedding depends on, and what has changed between two states of a source.

An id says *which* chunk: the source, its text, and the how-many-eth of equal texts it is. It outlives edits elsewhere,
moves within the source and other options. An embedding fingerprint says *what was embedded*: text, rendered payload and
configuration. The two together tell an index what to delete, what to embed anew and what to leave.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, overload

from omnichunk.model.chunk import Chunk
from omnichunk.model.ids import chunk_embedding_fingerprint as chunk_embedding_fingerprint
from omnichunk.model.ids import stable_chunk_id as stable_chunk_id


@dataclass(frozen=True, slots=True)
class ChunkDiff:
    """What turns an index of one state of a source into an index of another: delete ``removed_ids``, then upsert ``added``.

    ``added``: new chunks, and those of ``updated``. ``removed_ids``: of old chunks that are gone, and of ``updated``.
    ``unchanged``: same id and embedding fingerprint, as they are now: refresh their location, keep their embedding.
    ``updated``: same id, another embedding fingerprint. ``moved``: those of ``unchanged`` that are elsewhere: another
    byte range, line range, index or position in the container. Chunks are in the order of the new state, ids in that of
    the old one.
    """

    added: tuple[Chunk, ...] = ()
    removed_ids: tuple[str, ...] = ()
    unchanged: tuple[Chunk, ...] = ()
    updated: tuple[Chunk, ...] = ()
    moved: tuple[Chunk, ...] = ()


@overload
def chunk_diff(filepath: Iterable[Chunk], new_content: Iterable[Chunk], /) -> ChunkDiff: ...


@overload
def chunk_diff(
    filepath: str | os.PathLike[str], new_content: str, previous_chunks: Iterable[Chunk] = ..., **options: Any
) -> ChunkDiff: ...


def chunk_diff(filepath: Any, new_content: Any, previous_chunks: Iterable[Chunk] = (), **options: Any) -> ChunkDiff:
    """What has changed since ``previous_chunks`` were made, now that the text of ``filepath`` is ``new_content``.

    ``options``: those of ``Chunker``, ``registry`` included. Give ``source_id`` again if the earlier chunks had one, and
    the chunks of one source only, since all that are not found again count as removed.

    ``chunk_diff(old, new)`` compares chunks that are there already, of any number of sources. Cost: linear in chunks;
    of the old ones only ids, digests and places are kept, so both may be iterators.
    """
    if isinstance(filepath, (str, os.PathLike)):
        from omnichunk.chunker import Chunker

        return _compared(previous_chunks, Chunker(**options).chunk(filepath, new_content))
    if isinstance(new_content, str) or previous_chunks != () or options:
        raise TypeError(
            "chunk_diff(): pass old and new chunks and nothing else, or a path, the new text and previous_chunks."
        )
    return _compared(filepath, new_content)


def _compared(old: Iterable[Chunk], new: Iterable[Chunk]) -> ChunkDiff:
    before = {stable_chunk_id(chunk): (chunk_embedding_fingerprint(chunk), _place(chunk)) for chunk in old}
    gone = dict.fromkeys(before)
    added: list[Chunk] = []
    unchanged: list[Chunk] = []
    updated: list[Chunk] = []
    moved: list[Chunk] = []
    for chunk in new:
        name = stable_chunk_id(chunk)
        embedded, place = before.get(name, ("", None))
        if embedded == chunk_embedding_fingerprint(chunk):
            unchanged.append(chunk)
            if place != _place(chunk):
                moved.append(chunk)
            gone.pop(name, None)
            continue
        added.append(chunk)
        if place is not None:
            updated.append(chunk)
    return ChunkDiff(tuple(added), tuple(gone), tuple(unchanged), tuple(updated), tuple(moved))


def _place(chunk: Chunk) -> tuple[Any, ...]:
    """Where a chunk is. Of text files the ranges say it; the context, which is dear to make, only of containers."""
    place = (chunk.byte_range, chunk.line_range, chunk.index)
    if chunk.source.normalization != "extracted":
        return place
    context = chunk.context
    return (*place, context.format_metadata, [(s.before, s.metadata) for s in context.segments])
