"""What a store costs: first sync, sync of an unchanged and of a little changed tree, search.

    python benchmarks/store.py [--files 2000] [--million] [--url postgresql://…]

``--million``: a store of a million small chunks instead, with one file that changes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from omnichunk import ChunkStore

WORDS = [f"{a}{b}" for a in ("get", "set", "make", "find", "read") for b in ("Node", "Tree", "Page", "Row", "Key")]


def source(dice: random.Random, functions: int) -> str:
    """A module of small functions over a few hundred words."""
    return "\n\n".join(
        f"def {dice.choice(WORDS)}_{dice.randrange(9999)}(value):\n    {dice.choice(WORDS)} = value + {i}\n"
        f"    return {dice.choice(WORDS)} * {dice.randrange(99)}\n"
        for i in range(functions)
    )


def timed(what: str, work: Callable[[], object], repeat: int = 1) -> float:
    times = []
    for _ in range(repeat):
        start = perf_counter()
        result = work()
        times.append(perf_counter() - start)
    seconds = statistics.median(times)
    print(f"{what:<46} {seconds * 1000:>12,.1f} ms", getattr(result, "chunks_added", ""))
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--url")
    given = parser.parse_args()
    dice = random.Random(1)
    files, functions = (2500, 400) if given.million else (given.files, 20)
    options = {"max_chunk_size": 160 if given.million else 1500, "min_chunk_size": 1, "keep_diffs": False}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "tree")
        for number in range(files):
            path = root / f"d{number % 50}" / f"m{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source(dice, functions))
        with ChunkStore(given.url or Path(folder, "chunks.db")) as store:
            first = timed(f"first sync of {files:,} files", lambda: store.sync(root, concurrency=2, **options))
            unchanged = timed("unchanged", lambda: store.sync(root, **options), 3)
            print(f"{'unchanged / first':<46} {100 * unchanged / first:>12.1f} %")

            def edit() -> object:
                path = root / "d7" / "m7.py"
                path.write_text(path.read_text().replace("value", "values", 1))
                return store.sync(root, **options)

            timed("one file changed", edit, 3)
            stats = store.stats()
            print(
                f"{stats.chunks:,} chunks, {stats.characters / 1e6:,.0f} MB of text, {stats.bytes / 1e6:,.0f} MB in the store"
            )
            for query in ("getNode_77", "find tree 42", "makePage readRow", '"value 17"', "getN*", "return value"):
                timed(f"search {query}", lambda query=query: store.search(query), 5)


if __name__ == "__main__":
    main()
