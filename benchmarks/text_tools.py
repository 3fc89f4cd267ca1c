"""What `omnichunk.text` and `omnichunk.streaming` cost: against one pass, against peers, and as the input grows.

usage: python benchmarks/text_tools.py [--size MB] [--rounds N]

Streaming: the text in deltas of 20 bytes through `IncrementalChunker.feed`, over one `split` of the whole (goal: at
most 3); "calls" is what handing over the same deltas to a method that does nothing takes, which no implementation can
fall below. Then both curves: `feed`, and `split` called with every delta. Text: MB/s for each mode, with offsets, beside
the packages that give offsets, as far as they are installed (tinychunk, nltk). CPU time: medians of N rounds (5) of
split and feed in turn, otherwise the best round.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from statistics import median
from time import process_time

from omnichunk.streaming import BudgetChunker, ChunkingStrategy, IncrementalChunker, ParagraphChunker, strategy
from omnichunk.text import chunk

MODES = ("chars", "words", "sentences", "paragraphs", "lines")
DELTA = 20


def prose(size: int) -> str:
    """ASCII text of about ``size`` characters: sentences, lines of 80, a blank line after every tenth."""
    draw = random.Random(7)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(1, 10))) for _ in range(3000)]
    paragraphs, length = [], 0
    while length < size:
        line, lines = "", []
        for _ in range(draw.randint(3, 8)):
            for word in draw.choices(words, k=draw.randint(6, 24)):
                line += word + " "
                if len(line) > 76:
                    lines.append(line[:-1])
                    line = ""
            line = line[:-1] + draw.choice(".!?") + " "
        paragraphs.append("\n".join([*lines, line[:-1]]))
        length += len(paragraphs[-1]) + 2
    return "\n\n".join(paragraphs)[:size]


def best(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


class Idle:
    def feed(self, delta: str) -> list[str]:
        return []


def fed(chunker: IncrementalChunker | Idle, deltas: list[str]) -> None:
    feed = chunker.feed
    for delta in deltas:
        feed(delta)


def parted(text: str) -> list[str]:
    return [text[i : i + DELTA] for i in range(0, len(text), DELTA)]


def streaming(text: str, rounds: int) -> None:
    deltas = parted(text)
    calls = best(lambda: fed(Idle(), deltas), rounds)
    size = len(text) / 1e6
    print(f"\nfeed over {size:.0f} MB in {len(deltas):,} deltas; calls alone {calls:.2f} s")
    print(f"{'strategy':<18}{'split':>9}{'feed':>9}{'ratio':>8}{'calls/split':>13}{'us a delta':>12}")
    kinds: list[tuple[str, ChunkingStrategy]] = [(n, strategy(n)) for n in ("sentence", "word", "paragraph", "line")]
    kinds += [("paragraph, crlf", ParagraphChunker(crlf=True)), ("jsonl", strategy("jsonl"))]
    kinds += [("markdown", strategy("markdown")), ("budget 1,500", BudgetChunker(1500))]
    kinds += [("budget 400 tokens", BudgetChunker(400, "tokens"))]
    for name, kind in kinds:
        times = [
            (
                best(lambda kind=kind: kind.split(text), 1),
                best(lambda kind=kind: fed(IncrementalChunker(kind), deltas), 1),
            )
            for _ in range(rounds)  # in turn, so that both see the same machine
        ]
        whole, feed = (median(pair[i] for pair in times) for i in (0, 1))
        each = 1e6 * feed / len(deltas)
        print(f"{name:<18}{whole:>7.2f} s{feed:>7.2f} s{feed / whole:>8.2f}{calls / whole:>13.2f}{each:>12.2f}")


def curves(text: str, rounds: int) -> None:
    kind = strategy("sentence")
    print(f"\n{'characters':>12}{'feed':>12}{'split a delta':>16}")
    rows = []
    for size in (10_000, 20_000, 40_000, 80_000, 160_000):
        deltas = parted(text[:size])

        def again(deltas: list[str] = deltas) -> None:
            whole = ""
            for delta in deltas:
                whole += delta
                kind.split(whole)

        feed = best(lambda deltas=deltas: fed(IncrementalChunker(kind), deltas), rounds)
        rows.append((size, feed, best(again, 1)))
        print(f"{size:>12,}{1000 * rows[-1][1]:>9.1f} ms{1000 * rows[-1][2]:>13.0f} ms")
    for size in (1_000_000, len(text)):
        deltas = parted(text[:size])
        rows.append((size, best(lambda deltas=deltas: fed(IncrementalChunker(kind), deltas), rounds), 0.0))
        print(f"{size:>12,}{1000 * rows[-1][1]:>9.1f} ms{'':>14}-")
    print(f"exponent: feed {slope(rows[0], rows[-1], 1):.2f}, split a delta {slope(rows[0], rows[4], 2):.2f}")


def slope(one: tuple[float, ...], other: tuple[float, ...], column: int) -> float:
    return math.log(other[column] / one[column]) / math.log(other[0] / one[0])


def modes(text: str, rounds: int) -> None:
    text = text[:1_000_000]
    print(f"\n{'MB/s, with offsets':<26}{'omnichunk':>10}  exponent  peers")
    for mode in MODES:
        for size in (1, 10, 100) if mode != "chars" else (100, 1000):
            once = best(lambda mode=mode, size=size: chunk(text, size, mode=mode, with_metadata=True), rounds)
            tenth = best(
                lambda mode=mode, size=size: chunk(text[:100_000], size, mode=mode, with_metadata=True), rounds
            )
            row = f"{f'{mode}, {size} a chunk':<26}{1 / once:>10.1f}{math.log10(once / tenth):>10.2f}"
            print(row, *(f" {n} {1 / best(work, 1):.1f}" for n, work in peers(text, mode, size)))
    unicode = best(lambda: chunk(text, 1, mode="sentences", sentence_rules="unicode", with_metadata=True), rounds)
    graphemes = best(lambda: chunk(text.replace("e", "é"), 100, graphemes=True, with_metadata=True), rounds)
    print(f"{'sentences, rules unicode':<26}{1 / unicode:>10.1f}\n{'chars, graphemes, 100':<26}{1 / graphemes:>10.1f}")


def peers(text: str, mode: str, size: int) -> list[tuple[str, Callable[[], object]]]:
    """Packages that give offsets in this mode; nltk has units only, so it stands beside chunks of one."""
    found: list[tuple[str, Callable[[], object]]] = []
    try:
        tinychunk = import_module("tinychunk")
        found.append(("tinychunk", lambda: tinychunk.chunk(text, size, mode=mode, with_metadata=True)))
    except ImportError:
        pass
    tokenizers = {"words": "WhitespaceTokenizer", "lines": "LineTokenizer", "paragraphs": "BlanklineTokenizer"}
    try:
        nltk = import_module("nltk.tokenize")
    except ImportError:
        return found
    if size == 1 and mode in tokenizers:
        tokenizer = getattr(nltk, tokenizers[mode])()
        found.append(("nltk", lambda: list(tokenizer.span_tokenize(text))))
    return found


def imports() -> None:
    code = "import sys, time; t = time.process_time(); import {0}; print(round(1000 * (time.process_time() - t), 1), "
    code += "sorted(m for m in sys.modules if m.startswith('omnichunk.')))"
    print()
    for module in ("dataclasses, re", "omnichunk.text", "omnichunk.streaming"):
        done = subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True, check=True)
        print(f"import {module}: ms, modules:", done.stdout.strip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10, metavar="MB")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    given = parser.parse_args()
    text = prose(given.size * 1_000_000)
    streaming(text, given.rounds)
    curves(text, given.rounds)
    modes(text, given.rounds)
    imports()


if __name__ == "__main__":
    main()
