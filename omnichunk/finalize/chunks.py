"""Ranges to chunks: the only place that constructs one, applies coverage and derives bytes and lines."""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from omnichunk.finalize.context import Contexts
from omnichunk.finalize.render import UNCOUNTED, Payload
from omnichunk.model.chunk import ByteRange, Chunk
from omnichunk.model.document import SourceDescriptor
from omnichunk.model.ids import stable_chunk_id
from omnichunk.model.options import ChunkOptions
from omnichunk.sizing import Sizer, nws


class Finisher:
    """Makes the chunks of one document, in order. ``parents``: levels of larger chunks they lie in, the largest first."""

    def __init__(
        self,
        text: str,
        source: SourceDescriptor,
        contexts: Contexts,
        sizer: Sizer,
        options: ChunkOptions,
        fingerprint: str,
        parents: Sequence[Sequence[Chunk]] = (),
    ) -> None:
        self.text = text
        self._parents = [
            ([p.byte_range.start for p in level], [stable_chunk_id(p) for p in level]) for level in parents
        ]
        self._source = source
        self.contexts = contexts
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
        text, source, fingerprint, late = self.text, self._source, self._fingerprint, self._late
        ascii_only = text.isascii()
        retrieval = self._options.coverage_policy == "retrieval"
        # What counts may raise; it does so here and not when somebody reads the chunk.
        counting = self._sizer.exact and self._options.size_unit != "tokens"
        # Keyed by the 64-bit hash, not by the text: a stream must not hold on to what it has yielded.
        seen: dict[int, int] = {}
        index = at = byte = 0
        for payload in payloads:
            start, end = payload.start, payload.end
            piece = text[start:end]
            if retrieval and piece.isspace():
                continue
            byte = start if ascii_only else byte + len(text[at:start].encode())
            at = start
            length = end - start if ascii_only else len(piece.encode())
            key = hash(piece)
            occurrence = seen.get(key, 0)
            seen[key] = occurrence + 1
            chunk = Chunk.deferred(
                late,
                payload,
                text=piece,
                contextualized_text=payload.rendered,
                byte_range=ByteRange(byte, byte + length),
                index=index,
                total_chunks=-1,
                char_count=end - start,
                source=source,
                config_fingerprint=fingerprint,
                occurrence=occurrence,
            )
            if counting:
                _ = chunk.token_count
            yield chunk
            index += 1

    def _late(self, chunk: Chunk, payload: Payload, name: str) -> dict[str, Any]:
        """The context of a chunk if ``name`` says so, else everything else that was not made with it."""
        start, end, rendered = payload.start, payload.end, payload.rendered
        if name == "context":
            return {"context": self.contexts.of(start, end, payload.place, payload.span)}
        raw_size = payload.raw_size if payload.raw_size != UNCOUNTED else self._sizer.count(chunk.text)
        unit, tokens_of = self._options.size_unit, self._sizer.tokens
        tokens = raw_size if unit == "tokens" else tokens_of(chunk.text)
        if unit == "tokens":
            rendered_tokens = payload.size
        else:
            rendered_tokens = tokens if rendered == chunk.text else tokens_of(rendered)
        return {
            "line_range": self.contexts.lines(start, end),
            "token_count": tokens,
            "nws_count": raw_size if unit == "nws" else nws(chunk.text),
            "metadata": self._metadata(chunk, payload, raw_size, rendered_tokens),
        }

    def _metadata(self, chunk: Chunk, payload: Payload, raw_size: int, tokens: int) -> dict[str, Any]:
        options, limit, size = self._options, self._options.max_chunk_size, payload.size
        metadata: dict[str, Any] = {
            "budget": {
                "unit": options.size_unit,
                "limit": limit,
                "size": size,
                "raw_size": raw_size,
                "overflow": max(0, size - limit),
                "policy": options.overflow_policy,
                "token_accuracy": "exact" if self._sizer.exact else "estimated",
                "rendered_token_count": tokens,
            }
        }
        if self._parents:
            at = chunk.byte_range.start
            metadata["parents"] = [ids[bisect_right(starts, at) - 1] for starts, ids in self._parents]
        if payload.repeated:
            metadata["overlap"] = payload.repeated
        if payload.omitted:
            metadata["context_omitted"] = True
        if payload.shortened:
            metadata["context_shortened"] = list(payload.shortened)
        if size > limit:
            metadata["overflow_reason"] = (
                f"the unit has no structure to cut at and takes {raw_size} {options.size_unit}; "
                'overflow_policy="preserve" keeps it whole'
            )
        return metadata


def counted(chunks: Iterable[Chunk]) -> list[Chunk]:
    """All ``chunks``, each knowing how many there are."""
    with _undisturbed():
        listed = list(chunks)
    for chunk in listed:
        # Nobody has seen these chunks yet; replacing them would cost as much as making them.
        chunk.__dict__["total_chunks"] = len(listed)
    return listed


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without the cyclic garbage collector while one document is worked on.

    All that is made is kept until the end, so a collector that looks at it again and again, about every 40 chunks, finds
    nothing and takes a sixth of the time. It goes on after each document, if it was on before.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
