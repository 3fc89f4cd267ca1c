"""Texts to vectors, asking the embedding function only for texts it was not asked for before.

Vectors are told apart by the function itself (the object, not its name), what it declares as ``fingerprint``, namespace,
model revision and preprocessing. Nothing of the text is kept but a digest.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count, islice
from threading import RLock
from types import MethodType
from typing import TYPE_CHECKING

from omnichunk.embedding.vectors import numpy, unit_rows
from omnichunk.model.semantic import SemanticOptions

if TYPE_CHECKING:
    from omnichunk.embedding.disk import Disk
    from omnichunk.embedding.vectors import Rows

BATCH = 256
"""Texts an embedding function is given at once."""
SPACES = 64
"""Functions, with their identities, that are remembered; the one that was asked longest ago is forgotten."""


@dataclass(slots=True)
class _Space:
    """Vectors that may be compared. Holds on to the function, so that no other can come to have its address."""

    embed: object
    number: int = field(default_factory=count().__next__)
    dimension: int = 0


class VectorCache:
    """What has been embedded, the least recently used going first. Shared by the threads of a chunker.

    While one thread asks a function for what is missing, the others wait, and find it then.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._spaces: OrderedDict[tuple[object, ...], _Space] = OrderedDict()
        self._rows: OrderedDict[tuple[int, bytes], bytes] = OrderedDict()
        self._disks: dict[tuple[str, str], Disk] = {}

    def rows(self, texts: Sequence[str], options: SemanticOptions) -> Rows:
        """A row of unit length for each of ``texts``, see ``unit_rows``. Exceptions of the function propagate.

        Each different text is asked for once. Raises EmbeddingError for what is no answer, StoreError for a file that
        cannot serve as cache.
        """
        from omnichunk.embedding.calling import beside_a_loop  # and with it asyncio

        numpy()  # before anything is embedded in vain
        keys = [blake2b(text.encode(), digest_size=16).digest() for text in texts]
        wanted = dict(zip(keys, texts))
        # A loop must not wait for a thread that may be waiting for it; what it needs is computed apart then.
        if self._lock.acquire(blocking=not beside_a_loop()):
            try:
                found = self._found(wanted, options)
            finally:
                self._lock.release()
        else:
            found = dict(_asked(wanted, options, _Space(None)))
        return _table([found[key] for key in keys])

    def _found(self, wanted: dict[bytes, str], options: SemanticOptions) -> dict[bytes, bytes]:
        space, most = self._space(options), options.semantic_embed_cache_size
        kept = self._rows
        found = {}
        if most:
            for key in wanted:
                row = kept.get((space.number, key))
                if row is not None:
                    found[key] = row
                    kept.move_to_end((space.number, key))
        disk = self._disk(options)
        lacking = [key for key in wanted if key not in found]
        if disk is not None and lacking:
            stored = disk.read(lacking, space.dimension)
            found |= stored
            self._keep(space, stored.items(), most)
            lacking = [key for key in lacking if key not in stored]
        for batch in _batches(lacking):
            fresh = list(_asked({key: wanted[key] for key in batch}, options, space))
            found.update(fresh)
            self._keep(space, fresh, most)
            if disk is not None:
                disk.write(fresh)
        return found

    def _keep(self, space: _Space, rows: Iterable[tuple[bytes, bytes]], most: int) -> None:
        if not most:
            return
        for key, row in rows:
            space.dimension = len(row) // 4
            self._rows[space.number, key] = row
        while len(self._rows) > most:
            self._rows.popitem(last=False)

    def _space(self, options: SemanticOptions) -> _Space:
        embed = options.semantic_embed_fn
        # The bound methods of one object are made anew each time they are read.
        who = (id(embed.__self__), id(embed.__func__)) if isinstance(embed, MethodType) else (id(embed), 0)
        key = (*who, identity(options))
        space = self._spaces.setdefault(key, _Space(embed))
        self._spaces.move_to_end(key)
        while len(self._spaces) > SPACES:
            self._spaces.popitem(last=False)
        return space

    def _disk(self, options: SemanticOptions) -> Disk | None:
        if options.semantic_cache_path is None:
            return None
        from omnichunk.embedding.disk import Disk

        name = os.fsdecode(options.semantic_cache_path), identity(options)
        if name not in self._disks:
            self._disks[name] = Disk(*name)
        return self._disks[name]


def identity(options: SemanticOptions) -> str:
    """What is the same for vectors that may stand for each other, as far as the caller declares it."""
    declared = getattr(options.semantic_embed_fn, "fingerprint", None)
    names = options.semantic_cache_namespace, options.semantic_model_revision, options.semantic_preprocessing
    return json.dumps([declared if isinstance(declared, str) else "", *names])


def _asked(wanted: dict[bytes, str], options: SemanticOptions, space: _Space) -> Iterator[tuple[bytes, bytes]]:
    """The rows of ``wanted`` by the embedding function, checked against the dimension of its other vectors."""
    from omnichunk.embedding.calling import call

    embed = options.semantic_embed_fn
    assert embed is not None
    for keys in _batches(list(wanted)):
        texts = [wanted[key] for key in keys]
        rows = unit_rows(call(embed, texts), len(keys), space.dimension)
        space.dimension = rows.shape[1]
        for key, row in zip(keys, rows):
            yield key, row.tobytes()


def _batches(keys: list[bytes]) -> Iterator[list[bytes]]:
    waiting = iter(keys)
    while batch := list(islice(waiting, BATCH)):
        yield batch


def _table(rows: list[bytes]) -> Rows:
    np = numpy()
    table: Rows = np.frombuffer(b"".join(rows), dtype=np.float32).reshape(len(rows), -1)
    return table
