"""Qdrant: a server, or its local mode in a folder or in memory."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from inspect import signature
from typing import Any

from omnichunk.errors import OptionError, StoreError, UnknownOptionError, missing, suggestion
from omnichunk.sinks import rows
from omnichunk.sinks.point import Point, uuid_of


class QdrantSink:
    """Points of one ``collection``, made when the first vector comes. Ids are UUIDs made of the chunks' ids.

    ``url``: ``http…`` of a server, ``:memory:``, or a folder. ``distance``: ``Cosine``, ``Dot``, ``Euclid`` or
    ``Manhattan``. ``client``: options of ``QdrantClient``, such as ``api_key``. Raises StoreError when the vectors in the
    collection are of another length.
    """

    def __init__(self, url: str, collection: str = "chunks", distance: str = "Cosine", **client: Any) -> None:
        try:
            client_of = import_module("qdrant_client")
        except ImportError:
            raise missing("the qdrant sink", "qdrant-client", "qdrant") from None
        models = client_of.models
        if distance not in (known := [d.value for d in models.Distance]):
            raise OptionError(f"the qdrant sink: distance={distance!r}; one of {', '.join(known)} is needed.")
        self._models: Any = models
        self._name = collection
        self._distance = models.Distance(distance)
        options = signature(client_of.QdrantClient).parameters
        for name in client:
            if name not in options:
                raise UnknownOptionError(f'QdrantSink: there is no option "{name}"{suggestion(name, options)}')
        place = "location" if url == ":memory:" else "url" if url.startswith(("http://", "https://")) else "path"
        self._client = client_of.QdrantClient(**{place: url}, **client)
        self._size = 0
        if self._client.collection_exists(collection):
            self._size = self._client.get_collection(collection).config.params.vectors.size

    def apply(self, removed: Sequence[str], points: Sequence[Point]) -> list[str]:
        """Delete ``removed``, then write ``points``; the ids of those that should keep a vector that is not there."""
        models = self._models
        made = [rows.qdrant(point) for point in points]
        fresh = [row for row in made if row["vector"] is not None]
        if fresh:
            self._make(len(fresh[0]["vector"]))
        steps: list[Any] = []
        if removed:
            selected = models.PointIdsList(points=[uuid_of(identifier) for identifier in removed])
            steps.append(models.DeleteOperation(delete=selected))
        if fresh:
            listed = models.PointsList(points=[models.PointStruct(**row) for row in fresh])
            steps.append(models.UpsertOperation(upsert=listed))
        kept = {row["id"] for row in made if row["vector"] is None}
        there = self._there(kept)
        for row in made:
            if row["id"] in there:
                payload = models.SetPayload(payload=row["payload"], points=[row["id"]])
                steps.append(models.OverwritePayloadOperation(overwrite_payload=payload))
        if steps and self._size:
            self._client.batch_update_points(self._name, steps, wait=True)
        return [row["payload"]["chunk_id"] for row in made if row["id"] in kept - there]

    def close(self) -> None:
        """Close the client, which lets go of the folder."""
        self._client.close()

    def _there(self, ids: set[str]) -> set[str]:
        if not ids or not self._size:
            return set()
        return {str(record.id) for record in self._client.retrieve(self._name, list(ids), with_payload=False)}

    def _make(self, size: int) -> None:
        if not self._size:
            vectors = self._models.VectorParams(size=size, distance=self._distance)
            self._client.create_collection(self._name, vectors_config=vectors)
            self._size = size
        if self._size != size:
            raise StoreError(
                f"qdrant: the collection {self._name} holds vectors of {self._size} numbers, and these have {size}. "
                "Name another collection for another embedding model."
            )
