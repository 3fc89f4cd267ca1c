"""What semantic boundaries cost beside the embedding calls, and what a second run embeds.

usage: python benchmarks/semantic.py [--check] [--milliseconds N] [--embedder SPEC] [--rounds N] [FILE ...]

Overhead: CPU time of chunking with boundaries by topic, less that of chunking without and of the embedding calls, over that
of the embedding calls. Without --embedder these take N milliseconds a text (2; a small transformer takes 2 to 10 on a
processor), which are added and not waited for. --embedder: a real one, as "model2vec: model=DIR". Files: Markdown or
text, else the documents of this project. --check: status 1 when a figure is short of its goal.
"""

from __future__ import annotations

import argparse
import sys
from hashlib import blake2b
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from omnichunk import Chunker
from omnichunk.cli_eval import embedding

ROOT = Path(__file__).parent.parent


class Counting:
    """An embedding function that knows how many texts it was given, and how long it took."""

    def __init__(self, embedder: str | None, milliseconds: float) -> None:
        self._embed = embedding(embedder) if embedder else None
        self._each = milliseconds / 1000
        self.texts = 0
        self.real = self.counted = 0.0

    def __call__(self, texts: list[str]) -> Any:
        start = process_time()
        if self._embed is not None:
            rows = self._embed(texts)
        else:
            seeds = [int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") for text in texts]
            rows = np.stack([np.random.default_rng(seed).standard_normal(384, np.float32) for seed in seeds])
        taken = process_time() - start
        self.texts += len(texts)
        self.real += taken
        self.counted += taken if self._embed is not None else self._each * len(texts)
        return rows


def run(chunker: Chunker, documents: list[tuple[str, str]]) -> tuple[float, int]:
    start = process_time()
    chunks = sum(len(chunker.chunk(name, text)) for name, text in documents)
    return process_time() - start, chunks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--milliseconds", type=float, default=2.0)
    parser.add_argument("--embedder")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    paths = arguments.files or [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    documents = [(path.name, path.read_text(encoding="utf-8", errors="replace")) for path in paths]

    embed = Counting(arguments.embedder, arguments.milliseconds)
    plain = Chunker()
    uncached = Chunker(semantic=True, semantic_embed_fn=embed, semantic_embed_cache_size=0)
    run(plain, documents), run(uncached, documents)
    shares = []
    for _ in range(arguments.rounds):
        embed.texts, embed.real, embed.counted = 0, 0.0, 0.0
        without, _ = run(plain, documents)
        taken, chunks = run(uncached, documents)
        shares.append((taken - embed.real - without) / embed.counted)
        told = f"{1000 * (taken - embed.real - without):.0f} ms beside {1000 * embed.counted:.0f} ms for {embed.texts} texts"

    cached = Chunker(semantic=True, semantic_embed_fn=embed)
    run(cached, documents)
    embed.texts = 0
    name, text = max(documents, key=lambda document: len(document[1]))
    middle = text.find("\n\n") + 2
    run(cached, [(name, text[:middle] + "This sentence is new.\n\n" + text[middle:])])
    rows = [
        ("overhead beyond the embedding calls", median(shares), 0.10, f"{told}, {chunks} chunks"),
        ("texts embedded again after one inserted sentence", float(embed.texts), 2.0, "those that were touched"),
    ]
    failed = False
    for what, value, goal, how in rows:
        failed |= value > goal
        print(f"{what:50} {value:8.3f}  goal <= {goal:<5} {how}")
    return int(failed and arguments.check)


if __name__ == "__main__":
    sys.exit(main())
