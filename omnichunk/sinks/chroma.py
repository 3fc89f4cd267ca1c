"""Chroma, in a folder or on a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from omnichunk.errors import missing
from omnichunk.sinks import rows
from omnichunk.sinks.point import Point


class ChromaSink:
    """Records of one ``collection``, made if need be; the document of a record is the text of its chunk.

    ``url``: ``http…`` of a server, or a folder. ``space``: ``cosine``, ``l2`` or ``ip``, of a new collection. Nothing is
    embedded by Chroma, and nothing reported home.
    """

    def __init__(self, url: str, collection: str = "chunks", space: str = "cosine") -> None:
        try:
            chromadb = import_module("chromadb")
        except ImportError:
            raise missing("the chroma sink", "chromadb", "chroma") from None
        settings = chromadb.Settings(anonymized_telemetry=False)
        if url.startswith(("http://", "https://")):
            at = urlsplit(url)
            secure = at.scheme == "https"
            port = at.port or (443 if secure else 8000)
            self._client = chromadb.HttpClient(host=at.hostname or "", port=port, ssl=secure, settings=settings)
        else:
            self._client = chromadb.PersistentClient(path=url, settings=settings)
        how = {"hnsw": {"space": space}}
        self._collection = self._client.get_or_create_collection(collection, configuration=how, embedding_function=None)
        self._most = self._client.get_max_batch_size()

    def apply(self, removed: Sequence[str], points: Sequence[Point]) -> list[str]:
        """Delete ``removed``, then write ``points``; the ids of those that should keep a vector that is not there."""
        for start in range(0, len(removed), self._most):
            self._collection.delete(ids=list(removed[start : start + self._most]))
        made = [rows.chroma(point) for point in points]
        self._write(self._collection.upsert, [row for row in made if row["embedding"] is not None], documents=True)
        kept = [row for row in made if row["embedding"] is None]
        there: set[str] = set()
        for start in range(0, len(kept), self._most):
            asked = [row["id"] for row in kept[start : start + self._most]]
            there.update(self._collection.get(ids=asked, include=[])["ids"])
        self._write(self._collection.update, [row for row in kept if row["id"] in there], documents=False)
        return [row["id"] for row in kept if row["id"] not in there]

    def _write(self, write: Callable[..., Any], made: list[dict[str, Any]], documents: bool) -> None:
        for start in range(0, len(made), self._most):
            part = made[start : start + self._most]
            columns = {"ids": [row["id"] for row in part], "metadatas": [row["metadata"] for row in part]}
            if documents:
                columns["embeddings"] = [row["embedding"] for row in part]
                columns["documents"] = [row["document"] for row in part]
            write(**columns)

    def close(self) -> None:
        """Let go of the client."""
        self._client.close()
