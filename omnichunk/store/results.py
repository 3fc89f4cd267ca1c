"""What a store answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

from omnichunk import Chunk, ChunkDiff
from omnichunk.store.rows import Row, chunk_of


@dataclass(frozen=True, slots=True)
class FileDiff(ChunkDiff):
    """What a sync changed of one file; see ``ChunkDiff``."""

    filepath: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A ``FileDiff`` in rows: chunks are made of it when somebody looks."""

    filepath: str
    removed_ids: tuple[str, ...] = ()
    shared: str = "{}"
    rows: tuple[Row, ...] = ()
    added: frozenset[int] = frozenset()
    updated: frozenset[int] = frozenset()
    moved: frozenset[int] = frozenset()

    def made(self) -> FileDiff:
        chunks = [chunk_of(row.text, row.record, self.shared) for row in self.rows]

        def those(chosen: Callable[[int], bool]) -> tuple[Chunk, ...]:
            return tuple(chunk for number, chunk in enumerate(chunks) if chosen(number))

        return FileDiff(
            those(self.added.__contains__),
            self.removed_ids,
            those(lambda number: number not in self.added),
            those(self.updated.__contains__),
            those(self.moved.__contains__),
            self.filepath,
        )


class Diffs(Sequence[FileDiff]):
    """The differences of all files a sync touched, each made when it is asked for."""

    __slots__ = ("_changes",)

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = tuple(changes)

    def __len__(self) -> int:
        return len(self._changes)

    @overload
    def __getitem__(self, at: int) -> FileDiff: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[FileDiff]: ...
    def __getitem__(self, at: int | slice) -> FileDiff | Sequence[FileDiff]:
        return Diffs(self._changes[at]) if isinstance(at, slice) else self._changes[at].made()

    def __iter__(self) -> Iterator[FileDiff]:
        return (change.made() for change in self._changes)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<differences of {len(self)} files>"


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What a sync did.

    ``files_scanned``: files that have chunks, or could have: those skipped because they are unchanged, and those
    updated. ``files_left_out``: binary files, formats nobody reads, links. ``removed_chunk_ids``: to delete from an
    index before what was added is written; those of ``chunks_updated`` are among them. ``chunks_…``: as in `ChunkDiff`,
    of the files updated and deleted. ``diagnostics``: by path. ``failures``: why a file could not be chunked, by path.
    """

    files_scanned: int = 0
    files_skipped: int = 0
    files_updated: int = 0
    files_deleted: int = 0
    files_left_out: int = 0
    removed_chunk_ids: tuple[str, ...] = ()
    diffs: Sequence[FileDiff] = ()
    chunks_added: int = 0
    chunks_updated: int = 0
    chunks_unchanged: int = 0
    chunks_moved: int = 0
    diagnostics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A chunk that was found. ``score``: higher is better. ``matches``: of the words, in code points of its text."""

    chunk: Chunk
    chunk_id: str
    score: float
    matches: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What is in a collection. ``bytes``: of the whole database. ``pending``: of each sink, chunks that wait for it."""

    collection: str
    files: int
    chunks: int
    characters: int
    languages: Mapping[str, int]
    schema_version: int
    bytes: int
    pending: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What was done to a sink: points ``deleted``, written with a new vector, and written with the place alone."""

    deleted: int = 0
    upserted: int = 0
    refreshed: int = 0
