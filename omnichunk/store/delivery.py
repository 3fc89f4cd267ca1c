"""From the store to a sink, with a journal that lets an interrupted run go on without loss or duplicate.

The journal holds, of each sink, every chunk id that may be in it. An id is entered before the sink is given the chunk,
with an empty fingerprint, and gets the true one afterwards. So whatever happens in between, the next run writes the
chunk again, under the same id, or deletes it when it has gone from the store.
"""

from __future__ import annotations

from typing import Any

from omnichunk import Point, embedded
from omnichunk.store.database import Session
from omnichunk.store.results import Delivery
from omnichunk.store.rows import chunk_of


class Journal:
    """What of one collection has been delivered to one sink; every method is a transaction of its own."""

    def __init__(self, session: Session, collection: str, name: str, model: str) -> None:
        self.session = session
        self.name = collection
        with self.writing():
            self.collection = session.collection(collection)
            session.rows(
                "INSERT INTO target (collection, name, model, reached) VALUES (?, ?, ?, 0) "
                "ON CONFLICT (collection, name) DO NOTHING",
                self.collection, name, model,
            )  # fmt: skip
            ((self.target, before),) = session.rows(
                "SELECT id, model FROM target WHERE collection = ? AND name = ?", self.collection, name
            )
            if before != model:
                session.rows("UPDATE target SET model = ?, reached = 0 WHERE id = ?", model, self.target)
                session.rows("UPDATE delivered SET fingerprint = '' WHERE target = ?", self.target)

    def writing(self) -> Any:
        return self.session.writing(self.name)

    def generation(self) -> int:
        """Changes with every sync that changes anything."""
        return int(self.session.rows("SELECT generation FROM collection WHERE id = ?", self.collection)[0][0])

    def gone(self, after: str, limit: int) -> list[str]:
        """Ids behind ``after``, in order, that may be in the sink and are not in the store."""
        rows = self.session.rows(
            "SELECT d.chunk_id FROM delivered d WHERE d.target = ? AND d.chunk_id > ? AND NOT EXISTS "
            "(SELECT 1 FROM chunk c WHERE c.collection = ? AND c.chunk_id = d.chunk_id) ORDER BY d.chunk_id LIMIT ?",
            self.target, after, self.collection, limit,
        )  # fmt: skip
        return [name for (name,) in rows]

    def forget(self, ids: list[str]) -> None:
        """The sink holds ``ids`` no more."""
        with self.writing():
            self.session.many(
                "DELETE FROM delivered WHERE target = ? AND chunk_id = ?", ((self.target, name) for name in ids)
            )

    def waiting(self, limit: int) -> list[tuple[Any, ...]]:
        """The next rows: number, id, fingerprint, digest, text, record, what is shared, and what of them was delivered."""
        return self.session.rows(
            "SELECT c.id, c.chunk_id, c.fingerprint, c.digest, c.text, c.record, s.shared, d.fingerprint, d.digest "
            "FROM chunk c JOIN source s ON s.id = c.source LEFT JOIN delivered d ON d.target = ? AND d.chunk_id = c.chunk_id "
            # The plus keeps SQLite from sorting the whole collection for every batch: the ids are in order already.
            "WHERE +c.collection = ? AND c.id > (SELECT reached FROM target WHERE id = ?) ORDER BY c.id LIMIT ?",
            self.target, self.collection, self.target, limit,
        )  # fmt: skip

    def intend(self, ids: list[str]) -> None:
        """The sink is about to be given ``ids``."""
        with self.writing():
            self._enter((name, "", "") for name in ids)

    def reached(self, rows: list[tuple[Any, ...]]) -> None:
        """The sink holds ``rows`` as they are."""
        with self.writing():
            self._enter((row[1], row[2], row[3]) for row in rows)
            self.session.rows("UPDATE target SET reached = ? WHERE id = ?", rows[-1][0], self.target)

    def _enter(self, rows: Any) -> None:
        self.session.many(
            "INSERT INTO delivered (target, chunk_id, fingerprint, digest) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (target, chunk_id) DO UPDATE SET fingerprint = excluded.fingerprint, digest = excluded.digest",
            ((self.target, *row) for row in rows),
        )


def deliver(journal: Journal, sink: Any, embed_fn: Any, batch_size: int) -> Delivery:
    """Make the sink hold what the store holds: deletes first, then ``batch_size`` chunks at a time.

    A sync that commits meanwhile is delivered, too. Exceptions of ``embed_fn`` and of the sink propagate.
    """
    deleted = upserted = refreshed = 0
    while True:
        generation = journal.generation()
        last = ""
        while ids := journal.gone(last, max(batch_size, 1000)):
            sink.apply(ids, ())
            journal.forget(ids)
            deleted += len(ids)
            last = ids[-1]
        while rows := journal.waiting(batch_size):
            fresh = [row for row in rows if row[7] != row[2]]
            placed = [row for row in rows if row[7] == row[2] and row[8] != row[3]]
            if fresh:
                journal.intend([row[1] for row in fresh])
            points = embedded([chunk_of(*row[4:7]) for row in fresh], embed_fn)
            points += [Point(row[1], None, chunk_of(*row[4:7])) for row in placed]
            lost = set(sink.apply((), points) or ()) if points else set()
            if lost:  # the sink was emptied behind the journal's back
                chunks = [point.chunk for point in points if point.id in lost]
                sink.apply((), embedded(chunks, embed_fn))
            journal.reached(rows)
            upserted += len(fresh) + len(lost)
            refreshed += len(placed) - len(lost)
        if journal.generation() == generation:
            return Delivery(deleted, upserted, refreshed)
