"""Sinks: where chunks with their embeddings are written, and the rows each of them takes.

``open_sink("lancedb:./vectors")`` gives an object with ``apply(removed, points)``, which deletes before it upserts and
may be called again with the same, and ``close()``. ``ChunkStore.deliver`` feeds it; `Point` is what it takes.
"""

from __future__ import annotations

from omnichunk.sinks.opening import open_sink
from omnichunk.sinks.point import Point, embedded, metadata

__all__ = ["Point", "embedded", "metadata", "open_sink"]
