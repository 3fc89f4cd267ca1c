"""Ranges to chunks: the only place that constructs one, applies coverage and derives bytes and lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from omnichunk.finalize.context import Contexts
from omnichunk.finalize.render import Payload
from omnichunk.model.chunk import ByteRange, Chunk, LineRange
from omnichunk.model.document import SourceDescriptor
from omnichunk.model.options import ChunkOptions
from omnichunk.sizing import Sizer, nws


class Finisher:
    """Makes the chunks of one document, in order."""

    def __init__(
        self,
        text: str,
        source: SourceDescriptor,
        contexts: Contexts,
        sizer: Sizer,
        options: ChunkOptions,
        fingerprint: str,
    ) -> None:
        self._text = text
        self._source = source
        self._contexts = contexts
        self._sizer = sizer
        self._options = options
        self._fingerprint = fingerprint

    def chunks(self, payloads: Iterable[Payload], done: Callable[[], None]) -> Iterator[Chunk]:
        """One chunk a payload, except for white space under retrieval coverage; ``total_chunks`` is -1.

        ``done`` is called when the last one has been made, or the iterator is closed.
        """
        try:
            yield from self._chunks(payloads)
        finally:
            done()

    def _chunks(self, payloads: Iterable[Payload]) -> Iterator[Chunk]:
        text, options, sizer = self._text, self._options, self._sizer
        ascii_only = text.isascii()
        retrieval = options.coverage_policy == "retrieval"
        unit, context, tokens_of = options.size_unit, self._contexts.of, sizer.tokens
        # Keyed by the 64-bit hash, not by the text: a stream must not hold on to what it has yielded.
        seen: dict[int, int] = {}
        index = at = byte = line = 0
        for payload in payloads:
            start, end, rendered, raw_size = payload.start, payload.end, payload.rendered, payload.raw_size
            piece = text[start:end]
            if retrieval and piece.isspace():
                continue
            line += text.count("\n", at, start)
            byte = start if ascii_only else byte + len(text[at:start].encode())
            at = start
            length = end - start if ascii_only else len(piece.encode())
            tokens = raw_size if unit == "tokens" else tokens_of(piece)
            if unit == "tokens":
                rendered_tokens = payload.size
            else:
                rendered_tokens = tokens if rendered == piece else tokens_of(rendered)
            key = hash(piece)
            occurrence = seen.get(key, 0)
            seen[key] = occurrence + 1
            chunk = object.__new__(Chunk)
            # A frozen dataclass sets its 14 fields one by one, which takes 2 µs; a chunk should cost 10 in all.
            chunk.__dict__.update(
                text=piece,
                contextualized_text=rendered,
                byte_range=ByteRange(byte, byte + length),
                line_range=LineRange(line, line + piece.count("\n", 0, -1)),
                index=index,
                total_chunks=-1,
                context=context(start, end, payload.place, payload.span),
                token_count=tokens,
                char_count=end - start,
                nws_count=raw_size if unit == "nws" else nws(piece),
                source=self._source,
                config_fingerprint=self._fingerprint,
                occurrence=occurrence,
                metadata=self._metadata(payload, rendered_tokens),
            )
            yield chunk
            index += 1

    def _metadata(self, payload: Payload, tokens: int) -> dict[str, Any]:
        options, limit, size = self._options, self._options.max_chunk_size, payload.size
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
        if payload.repeated:
            metadata["overlap"] = payload.repeated
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
        # Nobody has seen these chunks yet; replacing them would cost as much as making them.
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
