"""How many ids outlive an edit, and what identity and stored forms cost. See README.md."""

from __future__ import annotations

import argparse
import io
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

from omnichunk import (
    Chunk,
    Chunker,
    ChunkingError,
    chunk_diff,
    chunk_embedding_fingerprint,
    chunk_to_dict,
    find_files,
    read_jsonl,
    read_parquet,
    stable_chunk_id,
    write_jsonl,
    write_parquet,
)

HERE = Path(__file__).parent.parent
FILES, EDITS = 50, 1000


def sources(folder: Path) -> list[tuple[str, str]]:
    """Up to ``FILES`` texts of several chunks each, spread over the folder."""
    found = []
    for entry in find_files(folder):
        path = Path(entry.path)
        if entry.verdict != "found" or not 4_000 < entry.size < 200_000:
            continue
        try:
            text = path.read_text(encoding="utf-8")
            name = path.relative_to(folder).as_posix()
            if text.count("\n") > 50 and len(Chunker().chunk(name, text)) > 4:
                found.append((name, text))
        except (UnicodeDecodeError, ChunkingError):
            continue
    return random.Random(1).sample(found, min(FILES, len(found)))


def edited(text: str, rng: random.Random) -> tuple[str, int, int]:
    """``text`` with one line inserted, removed or replaced, and the range of the old text that this concerns."""
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    start = len("".join(lines[:at]).encode())
    kind = rng.choice(("insert", "remove", "replace"))
    end = start if kind == "insert" else start + len(lines[at].encode())
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())].rstrip("\n")
    new = [] if kind == "remove" else [f"{indent}changed = {rng.randrange(10**9)}\n"]
    return "".join([*lines[:at], *new, *lines[at + (kind != "insert") :]]), start, end


def kept(texts: list[tuple[str, str]], **options: object) -> list[float]:
    """Shares of ids that are still there after an edit, over ``EDITS`` of them.

    Of all chunks, of those the edit does not touch, and of those that are not next to one it touches either.
    """
    rng = random.Random(2)
    chunker = Chunker(**options)
    before = {name: chunker.chunk(name, text) for name, text in texts}
    seen, stayed = [0, 0, 0], [0, 0, 0]
    for _ in range(EDITS):
        name, text = rng.choice(texts)
        new, start, end = edited(text, rng)
        ids = {stable_chunk_id(chunk) for chunk in chunker.chunk(name, new)}
        chunks = before[name]
        first = sum(chunk.byte_range.end < start for chunk in chunks)
        last = sum(chunk.byte_range.start <= end for chunk in chunks) - 1
        for chunk in chunks:
            same = stable_chunk_id(chunk) in ids
            for i, counts in enumerate(
                (True, not first <= chunk.index <= last, not first - 1 <= chunk.index <= last + 1)
            ):
                seen[i] += counts
                stayed[i] += same and counts
    return [part / whole for part, whole in zip(stayed, seen)]


def micros(work: Callable[[], object], count: int) -> float:
    """CPU time of ``work`` in microseconds a chunk, the least of three."""
    times = []
    for _ in range(3):
        started = process_time()
        work()
        times.append(process_time() - started)
    return min(times) / count * 1e6


def costs(texts: list[tuple[str, str]]) -> list[tuple[str, float]]:
    """What each operation takes, in microseconds a chunk."""
    chunker = Chunker()

    def chunked() -> list[Chunk]:
        return [chunk for name, text in texts for chunk in chunker.chunk(name, text)]

    def read_through() -> list[Chunk]:
        chunks = chunked()
        for chunk in chunks:
            _ = chunk.context, chunk.metadata
        return chunks

    chunks = read_through()
    count = len(chunks)
    buffer = io.BytesIO()
    write_jsonl(chunks, buffer)
    lines = buffer.getvalue().splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chunks.parquet"
        write_parquet(chunks, file)
        return [
            ("chunk", micros(chunked, count)),
            ("chunk, and read context and metadata", micros(read_through, count)),
            ("stable_chunk_id", micros(lambda: [stable_chunk_id(c) for c in chunks], count)),
            ("chunk_embedding_fingerprint", micros(lambda: [chunk_embedding_fingerprint(c) for c in chunks], count)),
            ("chunk_diff(old, new)", micros(lambda: chunk_diff(chunks, chunks), count)),
            ("chunk_to_dict", micros(lambda: [chunk_to_dict(c) for c in chunks], count)),
            ("write_jsonl", micros(lambda: write_jsonl(chunks, io.BytesIO()), count)),
            ("read_jsonl", micros(lambda: list(read_jsonl(lines)), count)),
            ("write_parquet", micros(lambda: write_parquet(chunks, file), count)),
            ("read_parquet", micros(lambda: list(read_parquet(file)), count)),
        ]


def exponent() -> float:
    """How the cost of a difference grows with the number of chunks: 1 is linear."""
    from dataclasses import replace
    from math import log

    (chunk,) = Chunker().chunk("a.txt", "text")
    times = []
    for size in (10_000, 80_000):
        old = [replace(chunk, occurrence=i) for i in range(size)]
        new = old[size // 2 :] + [replace(chunk, occurrence=size + i) for i in range(size // 2)]
        times.append(micros(lambda old=old, new=new: chunk_diff(old, new), 1))
    return log(times[1] / times[0]) / log(8)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=HERE, help="folder to take texts from")
    parser.add_argument("--check", action="store_true", help="end with status 1 when a goal is missed")
    asked = parser.parse_args()
    texts = sources(asked.corpus)
    missed = 0
    print(f"{len(texts)} files, {sum(len(text) for _, text in texts):,} characters, {EDITS} edits of one line")
    for what, options, goal in (
        ("default", {}, 0.99),
        ("no context", {"context_mode": "none"}, 0.99),
        ("target_fill=1.0", {"target_fill": 1.0}, 0.0),
        ("tokens", {"size_unit": "tokens", "tokenizer": "approximate", "max_chunk_size": 256}, 0.0),
    ):
        everything, apart, far = kept(texts, **options)
        missed += far < goal
        aim = f"   goal {goal:.0%}" if goal else ""
        print(
            f"  ids kept, {what:<16} {everything:7.2%} of all {apart:7.2%} of untouched {far:7.2%} beyond neighbours{aim}"
        )
    for what, cost in costs(texts):
        print(f"  {what:<38} {cost:8.1f} µs a chunk")
    grows = exponent()
    missed += grows > 1.15
    print(f"  chunk_diff, exponent in chunks         {grows:8.2f}   goal 1.15")
    return int(asked.check and missed > 0)


if __name__ == "__main__":
    sys.exit(main())
