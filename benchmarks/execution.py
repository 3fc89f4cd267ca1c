"""What workers gain and cost, what becomes of a corpus with hostile files in it, and what cancelled streams leave.

usage: python benchmarks/execution.py [--check] [--only WORD ...] [--rounds N]

Made corpora: 2,000 small files (2 kB) and 200 large ones (60 kB) of Python and Markdown, 20 MB of source, and 100 files
with one in a hundred and a few more that crash, hang or exhaust what reads them. Wall times are medians of N rounds (3);
the two sides of a ratio are measured in turn. "CPU" is the time of this process and of its workers: on a machine that
does other work, half of the CPU time of all is what two processors could reach. --check: status 1 when a figure is short.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import resource
import shutil
import sys
import sysconfig
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import hostile
from omnichunk import Chunker, PluginRegistry
from omnichunk.cli_output import Write

Row = tuple[str, float, str, bool, str]
"""Figure, value, goal, whether it is reached, how it was measured."""


def cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    gc.collect()
    wall, used = perf_counter(), cpu()
    work()
    return perf_counter() - wall, cpu() - used


def against(first: Callable[[], object], second: Callable[[], object], rounds: int) -> list[tuple[float, float]]:
    """Medians of wall and CPU seconds of both, measured in turn."""
    pairs = [(timed(first), timed(second)) for _ in range(rounds)]
    return [(median(p[i][0] for p in pairs), median(p[i][1] for p in pairs)) for i in (0, 1)]


def sources(total: int) -> str:
    """So many characters of the standard library."""
    parts, size = [], 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        parts.append(text)
        size += len(text)
        if size >= total:
            break
    whole = "".join(parts)
    return (whole * (total // len(whole) + 1))[:total]


SECTION = "## Part {0}\n\nThe harbour lies north of the town. Ships of every size find room.\n\n- one\n- two\n\n"


def lay(folder: Path, count: int, size: int) -> Path:
    """``count`` files of ``size`` characters, every third of them Markdown."""
    folder.mkdir()
    text = sources(min(count * size, 4_000_000))
    for i in range(count):
        if i % 3 == 2:
            body = "# Guide\n\n" + "".join(SECTION.format(j) for j in range(size // len(SECTION)))
            (folder / f"f{i:04}.md").write_text(body, encoding="utf-8")
        else:
            start = i * size % (len(text) - size)
            (folder / f"f{i:04}.py").write_text(text[start : start + size], encoding="utf-8")
    return folder


def drain(folder: Path, **how: object) -> None:
    for _ in Chunker().iter_directory(folder, **how):
        pass


def workers(rounds: int, place: Path) -> Iterator[Row]:
    for name, folder in (
        ("2,000 small files", lay(place / "small", 2000, 2_000)),
        ("200 large files", lay(place / "large", 200, 60_000)),
    ):
        for what, more in (("results", {}), ("JSON Lines", {"convert": Write("jsonl")})):
            one, two = against(
                lambda folder=folder, more=more: drain(folder, timeout_s=120, **more),
                lambda folder=folder, more=more: drain(folder, concurrency=2, **more),
                rounds,
            )
            gain, possible = one[0] / two[0], one[1] / (two[1] / 2)
            how = f"wall {one[0]:.2f} s / {two[0]:.2f} s; CPU allows {possible:.2f}"
            yield f"two workers against one: {name}, {what}", gain, ">= 1.7", gain >= 1.7, how
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        yield f"largest worker so far, MB: {name}", children, "", True, "peak resident set"


def isolation(rounds: int, place: Path) -> Iterator[Row]:
    folder = lay(place / "source", 200, 100_000)
    for what, more in (("results", {}), ("JSON Lines", {"convert": Write("jsonl")})):
        here, there = against(
            lambda more=more: drain(folder, **more), lambda more=more: drain(folder, timeout_s=60, **more), rounds
        )
        how = f"wall {here[0]:.2f} s / {there[0]:.2f} s; CPU {here[1]:.2f} s / {there[1]:.2f} s"
        yield (
            f"one worker against this process, 20 MB, {what}",
            there[0] / here[0],
            "<= 1.1",
            there[0] <= 1.1 * here[0],
            how,
        )


def bad_files(folder: Path) -> int:
    """Files that hang, crash, explode or lie, beside those of ``folder``; how many."""
    (folder / "a-hang.hostile").write_text("hang")
    (folder / "b-crash.hostile").write_text("crash")
    (folder / "c-eat.worse").write_text("eat")
    (folder / "d-kill.worse").write_text("kill")
    (folder / "e-quotes.md").write_text("> " * 2000 + "deep\n")
    (folder / "f-line.txt").write_text("words of a line that does not end " * 1_500_000)
    with zipfile.ZipFile(folder / "g-bomb.docx", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("[Content_Types].xml", "<Types/>")
        with bomb.open("word/document.xml", "w") as member:
            for _ in range(400):
                member.write(b" " * 1_000_000)
    (folder / "h-cut.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Ki")
    return 8


def hostile_corpus(rounds: int, place: Path) -> Iterator[Row]:
    folder = lay(place / "mixed", 792, 4_000)
    chunker = Chunker(PluginRegistry(plugins=[hostile]))
    good = {r.filepath: r.chunks for r in chunker.iter_directory(folder)}
    count = bad_files(folder)
    started = perf_counter()
    results = list(chunker.iter_directory(folder, concurrency=2, timeout_s=20, memory_mb=1024))
    seconds = perf_counter() - started
    same = sum(good.get(r.filepath) == r.chunks for r in results)
    yield "good files with identical chunks, of 792", same, "792", same == 792, f"{seconds:.1f} s in all, timeout 20 s"
    rest = [r for r in results if r.filepath not in good]
    for r in rest:
        said = r.error or "; ".join(d for d in r.diagnostics if d.startswith("chunked as")) or "ok"
        print(f"    {os.path.basename(r.filepath):18} {r.outcome:8} {len(r.chunks):6} chunks  {said[-110:]}")
    yield "hostile files reported, of 8", len(rest), "8", len(rest) == count, ""


def cancelled(rounds: int, place: Path) -> Iterator[Row]:
    chunker = Chunker(max_chunk_size=100)
    text = sources(300_000)

    async def consume() -> None:
        async with aclosing(chunker.astream("a.py", text)) as stream:
            async for _ in stream:
                await asyncio.sleep(0)

    async def cancel(times: int) -> None:
        for i in range(times):
            task = asyncio.create_task(consume())
            await asyncio.sleep(0.001 * (i % 20))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert len(asyncio.all_tasks()) == 1

    def held() -> tuple[int, int, int]:
        gc.collect()
        return threading.active_count(), len(os.listdir("/proc/self/fd")), len(gc.get_objects())

    asyncio.run(cancel(20))
    before, size = held(), resident()
    asyncio.run(cancel(100))
    after = held()
    left = sum(b - a for a, b in zip(before[:2], after[:2]))
    grown = f"{after[2] - before[2]:+} objects, {resident() - size:+.1f} MB resident"
    yield "threads and descriptors left of 100 cancelled streams", left, "0", left == 0, grown


def resident() -> float:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


def first(rounds: int, place: Path) -> Iterator[Row]:
    text = "The harbour lies north of the town, behind a long wall of stone. Ships find room there.\n\n" * 112_000
    chunker = Chunker()
    chunker.chunk("a.txt", text[:1000])
    times = []
    for _ in range(max(rounds, 5)):
        started = cpu()
        stream = chunker.stream("a.txt", text)
        next(stream)
        times.append(1000 * (cpu() - started))
        stream.close()
    yield "first chunk of 10 MB of text, ms", median(times), "<= 50", median(times) <= 50, "CPU; most is its SHA-256"


GROUPS = (workers, isolation, hostile_corpus, cancelled, first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    short = 0
    for group in GROUPS:
        if any(word in group.__name__ for word in given.only):
            place = Path(tempfile.mkdtemp(prefix="omnichunk-"))
            try:
                for name, value, goal, reached, how in group(given.rounds, place):
                    short += not reached
                    print(f"{name:66} {value:8.2f} {goal:>7} {'' if reached else '<-- short':9} {how}", flush=True)
            finally:
                shutil.rmtree(place)
    if given.check and short:
        sys.exit(f"{short} short of the goal")


if __name__ == "__main__":
    main()
