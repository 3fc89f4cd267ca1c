"""Ranges to chunks: the only place that constructs one, applies coverage and derives bytes and lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from omnichunk.finalize.context import Contexts
from omnichunk.finalize.render import Payload
from omnichunk.model.chunk import ByteRange, Chunk, LineRange
from omnichunk.model.document import SourceDescriptor
from omnichunk.model.options import ChunkOptions
from omnichunk.sizing import Sizer, nws
from omnichunk.source.positions import PositionIndex


class Finisher:
    """Makes the chunks of one document, in order."""

    def __init__(
        self,
        text: str,
        source: SourceDescriptor,
        contexts: Contexts,
        positions: PositionIndex,
        sizer: Sizer,
        options: ChunkOptions,
        fingerprint: str,
    ) -> None:
        self._text = text
        self._source = source
        self._contexts = contexts
        self._positions = positions
        self._sizer = sizer
        self._options = options
        self._fingerprint = fingerprint

    def chunks(self, payloads: Iterable[Payload]) -> Iterator[Chunk]:
        """One chunk a payload, except for white space under retrieval coverage; ``total_chunks`` is -1."""
        text, positions, options = self._text, self._positions, self._options
        retrieval = options.coverage_policy == "retrieval"
        # Keyed by the 64-bit hash, not by the text: a stream must not hold on to what it has yielded.
        seen: dict[int, int] = {}
        index = 0
        for payload in payloads:
            start, end = payload.start, payload.end
            piece = text[start:end]
            if retrieval and piece.isspace():
                continue
            key = hash(piece)
            occurrence = seen.get(key, 0)
            seen[key] = occurrence + 1
            yield Chunk(
                piece,
                payload.rendered if payload.rendered != piece else piece,
                ByteRange(positions.byte(start), positions.byte(end)),
                LineRange(positions.line(start), positions.line(end - 1)),
                index,
                -1,
                self._contexts.of(start, end, payload.place, payload.span),
                payload.raw_size if options.size_unit == "tokens" else self._sizer.tokens(piece),
                end - start,
                payload.raw_size if options.size_unit == "nws" else nws(piece),
                self._source,
                self._fingerprint,
                occurrence,
                self._metadata(payload),
            )
            index += 1

    def _metadata(self, payload: Payload) -> dict[str, Any]:
        options, limit, size = self._options, self._options.max_chunk_size, payload.size
        tokens = size if options.size_unit == "tokens" else self._sizer.tokens(payload.rendered)
        metadata: dict[str, Any] = {
            "budget": {
                "unit": options.size_unit,
                "limit": limit,
                "size": size,
                "raw_size": payload.raw_size,
                "overflow": max(0, size - limit),
                "policy": options.overflow_policy,
                "token_accuracy": "exact" if self._sizer.exact else "estimated",
                "rendered_token_count": tokens,
            }
        }
        if payload.omitted:
            metadata["context_omitted"] = True
        if payload.shortened:
            metadata["context_shortened"] = list(payload.shortened)
        if size > limit:
            metadata["overflow_reason"] = (
                f"the unit has no structure to cut at and takes {payload.raw_size} {options.size_unit}; "
                'overflow_policy="preserve" keeps it whole'
            )
        return metadata


def counted(chunks: Iterable[Chunk]) -> list[Chunk]:
    """All ``chunks``, each knowing how many there are."""
    listed = list(chunks)
    for chunk in listed:
        # Nobody has seen these chunks yet; replacing 16 fields a chunk would cost as much as making it.
        object.__setattr__(chunk, "total_chunks", len(listed))
    return listed


def skipped_ranges(chunks: Sequence[Chunk], size: int) -> tuple[ByteRange, ...]:
    """The exact complement of the chunks' byte ranges in ``[0, size)``; overlapping ranges count once."""
    gaps: list[ByteRange] = []
    at = 0
    for chunk in chunks:
        if chunk.byte_range.start > at:
            gaps.append(ByteRange(at, chunk.byte_range.start))
        at = max(at, chunk.byte_range.end)
    if at < size:
        gaps.append(ByteRange(at, size))
    return tuple(gaps)
