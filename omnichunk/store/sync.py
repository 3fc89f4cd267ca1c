"""One scan: what has changed below a root, written in one transaction that holds it all or nothing."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from time import perf_counter, time_ns
from typing import Any, NamedTuple

from omnichunk import Chunker, LoadError, OptionError, StoreError
from omnichunk.store.database import Session
from omnichunk.store.results import Change, Diffs, SyncResult
from omnichunk.store.rows import Outcome, decoded, encodable, hash_of, outcome, stamp_of

RECENT = 2_000_000_000
"""Nanoseconds after a write during which another might leave the same time; a file so young is known by its hash."""

FAILURES = 20
"""Files that cannot be chunked, after which a scan looks for no more."""

Progress = Callable[[str, str], object]
"""Told a path, and what became of it: ``unchanged``, ``updated``, ``deleted``, ``left out`` or ``failed``."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What is to be scanned. ``which``: the filters of ``iter_directory``; ``how``: its other arguments.

    ``deletes``: whether files that are missing are deleted. ``force``: chunk unchanged files, too. ``keep_going``: whether
    files that fail stay as they are stored, while all others are brought up to date.
    """

    root: str
    which: dict[str, Any]
    encoding: str | None
    chunker: Chunker
    how: dict[str, Any]
    deletes: bool = True
    force: bool = False
    keep_going: bool = False

    @property
    def filters(self) -> str:
        """The filters in one form, however they were given."""
        if not os.path.isdir(self.root):
            return "file"
        lists = {name: [v] if isinstance(v := self.which[name], str) else list(v or ()) for name in ("glob", "exclude")}
        return json.dumps({**self.which, **lists}, sort_keys=True)

    @property
    def config(self) -> str:
        """What decides, beside the bytes of a file, what becomes of it."""
        whose = encodable(self.chunker.options.source_id or "")
        return json.dumps([self.chunker.config_fingerprint, self.encoding or "", whose])

    def outcomes(self, skip: Callable[[str], bool]) -> Generator[Outcome, None, None]:
        """What becomes of each file that was asked for and that ``skip`` is not true for."""
        if os.path.isdir(self.root):
            yield from self.chunker.iter_directory(
                self.root, **self.which, encoding=self.encoding, skip=skip, convert=outcome, **self.how
            )
        elif not skip(self.root):
            item = {"filepath": self.root, "encoding": self.encoding}
            yield from self.chunker.iter_batch([item], convert=outcome, **self.how)


class Known(NamedTuple):
    """A file as it was when it was stored."""

    id: int
    path: str
    stamp: str
    hash: str
    config: str
    chunks: int


class Before(NamedTuple):
    """A file just before it is chunked; ``hash`` only where its times alone would not show that it was written to."""

    stamp: str
    hash: str


_KNOWN = "SELECT id, path, stamp, hash, config, chunks FROM source WHERE collection = ?"


@dataclass
class _Sync:
    """The state of a scan that is going on, inside its transaction."""

    session: Session
    collection: int
    scan: Scan
    keep_diffs: bool
    progress: Progress | None
    known: dict[str, Known] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    before: dict[str, Before] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    diagnostics: dict[str, tuple[str, ...]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    altered: bool = False

    def __post_init__(self) -> None:
        self.config = self.scan.config
        self.identified = not self.scan.chunker.config_fingerprint.startswith("unknown:")
        self.inside = os.path.join(self.scan.root, "")
        for row in self.session.rows(_KNOWN, self.collection):
            self.known[row[1]] = Known(*row)

    def run(self) -> None:
        failures, keep_going = self.failures, self.scan.keep_going
        with closing(self.scan.outcomes(self.unchanged)) as outcomes:
            for done in outcomes:
                if done.outcome == "failed":
                    self.fail(done)
                    if len(failures) == FAILURES and not keep_going:
                        break
                elif failures and not keep_going:
                    continue  # looked at for more that fails: one run names all there is to repair
                elif done.outcome == "ok":
                    self.write(done)
                elif done.error != "not wanted":
                    self.leave_out(done)
        if failures and not keep_going:
            one = len(failures) == 1
            what = "Nothing of this sync was stored; repair or exclude " + ("the file." if one else "these files.")
            raise StoreError((" " if one else "\n").join([*failures.values(), what]))
        self.own()
        if self.altered:
            self.session.rows("UPDATE collection SET generation = generation + 1 WHERE id = ?", self.collection)

    def unchanged(self, path: str) -> bool:
        """Whether a file is as it was when it was stored, and would become the same chunks."""
        try:
            status = os.stat(path)
            stamp = stamp_of(status)
            recent = time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < RECENT
            known = self.known.get(encodable(path))
            same = known is not None and self.identified and not self.scan.force and known.config == self.config
            if known and same and known.stamp == stamp:
                self.skipped(path, known)
                return True
            digest = hash_of(path) if recent or (same and known and known.hash) else ""
        except OSError:
            return False  # reading it says what is wrong
        if known and same and digest and known.hash == digest:
            kept = "" if recent else stamp
            if kept != known.stamp:
                self.session.rows("UPDATE source SET stamp = ? WHERE id = ?", kept, known.id)
            self.skipped(path, known)
            return True
        self.before[path] = Before(stamp, digest if recent else "")
        return False

    def fail(self, done: Outcome) -> None:
        """A file that cannot be chunked; what is stored of it stays."""
        self.failures[done.path] = str(done.error)
        self.before.pop(done.path, None)
        known = self.known.get(encodable(done.path))
        if known is not None:
            self.seen.add(known.id)
        self.tell(done.path, "failed")

    def skipped(self, path: str, known: Known) -> None:
        self.seen.add(known.id)
        self.count("files_skipped")
        self.tell(path, "unchanged")

    def leave_out(self, done: Outcome) -> None:
        """A file that has no chunks in this scan; those it had when it was another kind of file go."""
        if os.path.islink(done.path) and not os.path.realpath(done.path).startswith(self.inside):
            raise StoreError(
                f"{done.path}: is a link that leaves {self.scan.root}. Exclude it, or sync what it leads to."
            )
        self.count("files_left_out")
        known = self.known.get(encodable(done.path))
        if known is not None and known.chunks and done.error != "too large":
            self.before.pop(done.path, None)
            self.seen.add(known.id)
            self.store(known, done, "", "")
        self.tell(done.path, "left out")

    def write(self, done: Outcome) -> None:
        before = self.before.pop(done.path, Before("", ""))
        stamp, digest = (done.stamp, done.hash) if done.stamp == before.stamp else ("", "")
        if before.hash:
            stamp, digest = "", digest if digest == before.hash else ""
        self.store(self.previous(done), done, stamp, digest)
        self.count("files_updated")
        if done.diagnostics:
            self.diagnostics[done.path] = done.diagnostics
        self.tell(done.path, "updated")

    def previous(self, done: Outcome) -> Known | None:
        """What is stored of a file; a document that has a name of its own brings its state from where it was before."""
        path, name = encodable(done.path), encodable(done.source_id or self.scan.chunker.options.source_id or done.path)
        known = self.known.get(path)
        held = self.session.one(f"{_KNOWN} AND source_id = ? AND path <> ?", self.collection, name, path)
        if held is None:
            return known
        elsewhere = Known(*held)
        if not missing(decoded(elsewhere.path)):
            raise StoreError(
                f'{done.path}: its source_id "{name}" is that of {elsewhere.path}, which is still there. '
                "Every document of a collection needs one of its own."
            )
        if known is not None:
            self.delete(known)
        self.session.rows("UPDATE source SET path = ? WHERE id = ?", path, elsewhere.id)
        return elsewhere._replace(path=path)

    def store(self, known: Known | None, done: Outcome, stamp: str, digest: str) -> None:
        """Put the rows of a file in the place of those there are."""
        name = encodable(done.source_id or self.scan.chunker.options.source_id or done.path)
        (source,) = self.session.rows(
            "INSERT INTO source (collection, path, source_id, revision, format, size, stamp, hash, config, chunks, "
            "characters, languages, shared) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (collection, path) DO UPDATE SET "
            "source_id = excluded.source_id, revision = excluded.revision, format = excluded.format, "
            "size = excluded.size, stamp = excluded.stamp, hash = excluded.hash, config = excluded.config, "
            "chunks = excluded.chunks, characters = excluded.characters, languages = excluded.languages, "
            "shared = excluded.shared RETURNING id",
            self.collection, encodable(done.path), name, done.revision, done.format, done.size, stamp, digest,
            self.config, len(done.rows), sum(len(row.text) for row in done.rows),
            json.dumps(Counter(row.language for row in done.rows)), done.shared,
        )[0]  # fmt: skip
        self.seen.add(source)
        old = []
        if known is not None and known.chunks:
            old = self.session.rows(
                "SELECT chunk_id, fingerprint, place, position, digest FROM chunk WHERE source = ? ORDER BY position",
                source,
            )
        self.compare(done, old)
        if [(row[0], row[1], row[4]) for row in old] == [(r.chunk_id, r.fingerprint, r.digest) for r in done.rows]:
            return
        self.altered = True
        if old:
            self.session.drop_words(self.collection, source)
            self.session.rows("DELETE FROM chunk WHERE source = ?", source)
        self.session.many(
            "INSERT INTO chunk (collection, source, position, chunk_id, fingerprint, place, digest, language, text, record) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((self.collection, source, *row) for row in done.rows),
        )
        numbers = self.session.rows("SELECT id FROM chunk WHERE source = ? ORDER BY position", source)
        self.session.put_words(self.collection, ((number, held) for (number,), held in zip(numbers, done.words)))

    def compare(self, done: Outcome, old: list[tuple[Any, ...]]) -> None:
        """Count what has changed of a file, and keep what an index has to be told."""
        before = {row[0]: row[1:4] for row in old}
        added, updated, moved = set(), set(), set()
        kept = set()
        for number, row in enumerate(done.rows):
            fingerprint, *place = before.get(row.chunk_id, ("", None, None))
            if fingerprint == row.fingerprint:
                kept.add(row.chunk_id)
                if place != [row.place, row.position]:
                    moved.add(number)
            else:
                added.add(number)
                if row.chunk_id in before:
                    updated.add(number)
        removed = tuple(name for name in before if name not in kept)
        self.removed += removed
        self.count("chunks_added", len(added))
        self.count("chunks_updated", len(updated))
        self.count("chunks_unchanged", len(kept))
        self.count("chunks_moved", len(moved))
        if self.keep_diffs:
            sets = frozenset(added), frozenset(updated), frozenset(moved)
            self.changes.append(Change(done.path, removed, done.shared, done.rows, *sets))

    def delete(self, known: Known) -> None:
        """Delete a file and all that is stored of it."""
        rows = self.session.rows("SELECT chunk_id FROM chunk WHERE source = ? ORDER BY position", known.id)
        removed = tuple(name for (name,) in rows)
        self.removed += removed
        self.session.drop_words(self.collection, known.id)
        self.session.rows("DELETE FROM source WHERE id = ?", known.id)
        self.altered = True
        if self.keep_diffs:
            self.changes.append(Change(decoded(known.path), removed))

    def own(self) -> None:
        """Record which files this scan has found, and delete those that an earlier one found and that are missing now."""
        (scan,) = self.session.rows(
            "INSERT INTO scan (collection, root, filters) VALUES (?, ?, ?) "
            "ON CONFLICT (collection, root, filters) DO UPDATE SET root = excluded.root RETURNING id",
            self.collection, encodable(self.scan.root), self.scan.filters,
        )[0]  # fmt: skip
        owned = {source for (source,) in self.session.rows("SELECT source FROM owned WHERE scan = ?", scan)}
        if self.scan.deletes and owned - self.seen:
            for known in self.known.values():
                if known.id in owned and known.id not in self.seen and missing(path := decoded(known.path)):
                    self.delete(known)
                    self.count("files_deleted")
                    self.tell(path, "deleted")
        self.session.many(
            "INSERT INTO owned (scan, source) VALUES (?, ?)", ((scan, source) for source in sorted(self.seen - owned))
        )

    def count(self, what: str, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number

    def tell(self, path: str, what: str) -> None:
        if self.progress is not None:
            self.progress(path, what)


def sync(session: Session, name: str, scan: Scan, keep_diffs: bool, progress: Progress | None) -> SyncResult:
    """Bring the collection ``name`` to the state of the files; on any exception it stays as it was."""
    started = perf_counter()
    with session.writing(name):
        state = _Sync(session, session.collection(name), scan, keep_diffs, progress)
        state.run()
    counts = state.counts
    scanned = counts.get("files_skipped", 0) + counts.get("files_updated", 0)
    return SyncResult(
        files_scanned=scanned,
        removed_chunk_ids=tuple(state.removed),
        diffs=Diffs(state.changes),
        diagnostics=state.diagnostics,
        failures=state.failures,
        seconds=perf_counter() - started,
        **counts,
    )


def missing(path: str) -> bool:
    """Whether there is no such file any more."""
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False  # it cannot be looked at, which does not say that it is gone


def resolved(root: str | os.PathLike[str]) -> str:
    """The one path of a root. Raises LoadError when there is none, TypeError for what is no path."""
    path = os.fsdecode(root)
    try:
        path = os.path.realpath(path)
        there = os.path.exists(path)
    except ValueError:  # a name that no file can have
        there = False
    if not there:
        raise LoadError(f"{path}: there is no such file or folder, so nothing can be synced and nothing is deleted.")
    return path


def chunker_of(chunker: Chunker | None, options: dict[str, Any], folder: bool) -> Chunker:
    """The chunker of a sync: ``chunker`` with ``options`` over its own, or one of these alone."""
    if chunker is not None and not isinstance(chunker, Chunker):
        raise OptionError(f"sync(): chunker is {type(chunker).__name__}; a Chunker, or None, is needed.")
    if chunker is None:
        chunker = Chunker(**options)
    elif options:
        chunker = chunker.with_options(**options)
    if folder and chunker.options.source_id is not None:
        raise OptionError("sync(): source_id names a single source; files of a folder are named by their paths.")
    return chunker


def names(paths: Iterable[tuple[str]]) -> list[str]:
    """Paths of rows that hold nothing else."""
    return [decoded(path) for (path,) in paths]
