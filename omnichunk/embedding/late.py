"""Late chunking: the document is embedded before it is cut, so the vector of each chunk knows what is around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from omnichunk.embedding.calling import call
from omnichunk.embedding.vectors import numpy, unit_rows
from omnichunk.errors import EmbeddingError, OptionError
from omnichunk.model.chunk import Chunk
from omnichunk.source.positions import PositionIndex

if TYPE_CHECKING:
    from omnichunk.embedding.vectors import Rows

EmbedTokens = Callable[[str], Any]
"""A text to ``(offsets, vectors)`` of its tokens, or an awaitable of that: ``offsets`` are pairs of code points, half open,
in the text; tokens that stand for none of it (such as ``[CLS]``) have empty ones and count nowhere."""


def late_embeddings(
    chunks: Sequence[Chunk], text: str, embed_tokens: EmbedTokens, *, most: int = 20_000, around: int = 2_000
) -> Rows:
    """A row of unit length for each of ``chunks``: the mean of the vectors of its tokens, embedded within ``text``.

    ``text``: the canonical text that the chunks are slices of. ``most``: code points that ``embed_tokens`` is given at
    once, as far as its model reads; a longer text is embedded in stretches that begin and end with chunks, and have up to
    ``around`` code points more on each side, a quarter of ``most`` at most. Only a chunk that is longer than ``most`` is
    given as it is. A chunk that has no token has a zero row. Needs numpy. Raises OptionError for chunks of another text,
    EmbeddingError for what are no tokens.
    """
    np = numpy()
    for name, value, least in (("most", most, 1), ("around", around, 0)):
        if type(value) is not int or value < least:
            raise OptionError(f"late_embeddings(): {name}={value!r}; a whole number of at least {least} is needed.")
    ranges = _ranges(chunks, text)
    found: list[Any] = []
    around = min(around, most // 4)
    for first, last in _stretches(ranges, most - 2 * around):
        begin, end = ranges[first][0], max(stop for _, stop in ranges[first:last])
        margin = max(0, min(around, (most - (end - begin)) // 2))
        begin, end = max(0, begin - margin), min(len(text), end + margin)
        starts, ends, vectors = _tokens(call(embed_tokens, text[begin:end]), end - begin)
        if found and len(found[0]) != vectors.shape[1]:
            raise EmbeddingError(
                "late_embeddings(): embed_tokens gave vectors of different lengths for parts of one text."
            )
        reached = np.maximum.accumulate(ends)
        for start, stop in ranges[first:last]:
            low, high = np.searchsorted(reached, start - begin, "right"), np.searchsorted(starts, stop - begin)
            inside = vectors[low:high][ends[low:high] > start - begin]
            found.append(inside.mean(axis=0, dtype=np.float64) if len(inside) else np.zeros(vectors.shape[1]))
    return unit_rows(np.array(found), len(chunks)) if found else np.zeros((0, 0), np.float32)


def _ranges(chunks: Sequence[Chunk], text: str) -> list[tuple[int, int]]:
    """Where the chunks are, in code points."""
    char = PositionIndex(text).char
    ranges = []
    for chunk in chunks:
        try:
            start, end = map(char, chunk.byte_range)
        except IndexError:
            start = end = 0
        if text[start:end] != chunk.text:
            raise OptionError(
                f"late_embeddings(): chunk {chunk.index} is no slice of this text; give the one it was cut from."
            )
        ranges.append((start, end))
    if any(after < before for (before, _), (after, _) in pairwise(ranges)):
        raise OptionError("late_embeddings(): the chunks are not in the order of the text.")
    return ranges


def _stretches(ranges: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Indices, half open, of neighbours that together take at most ``most``, and of those that take more alone."""
    first = 0
    for i in range(1, len(ranges) + 1):
        if i == len(ranges) or ranges[i][1] - ranges[first][0] > most:
            yield first, i
            first = i


def _tokens(answer: Any, length: int) -> tuple[Any, Any, Any]:
    """What ``embed_tokens`` returned: where tokens that stand for text start, rising, and end, and their vectors."""
    np = numpy()
    try:
        offsets, vectors = (np.asarray(part) for part in answer)
        if offsets.ndim != 2 or vectors.ndim != 2 or offsets.shape != (len(vectors), 2):
            raise ValueError(f"arrays of {offsets.shape} and {vectors.shape}")
        if not vectors.shape[1]:
            raise ValueError("vectors of 0 numbers")
        if offsets.dtype.kind not in "iu" or vectors.dtype.kind not in "fiu" or not np.isfinite(vectors).all():
            raise ValueError("offsets are whole numbers, vectors finite ones")
        if len(offsets) and (offsets.min() < 0 or offsets.max() > length):
            raise ValueError("offsets outside of the text")
    except (TypeError, ValueError) as error:
        raise EmbeddingError(
            f"late_embeddings(): embed_tokens must return a pair of offsets and a vector for each token: {error}."
        ) from None
    offsets = offsets.astype(np.int64)
    order = np.argsort(offsets[:, 0], kind="stable")
    order = order[offsets[order, 0] < offsets[order, 1]]
    return offsets[order, 0], offsets[order, 1], vectors[order]
