"""Runs of the command line over files, folders and standard input."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from omnichunk import (
    Chunk,
    Chunker,
    ChunkingError,
    FileResult,
    Formatter,
    LoadError,
    OptionError,
    PluginError,
    find_files,
)
from omnichunk.cli_output import (
    BY_SUFFIX,
    WRITERS,
    Done,
    Tally,
    Write,
    assembled,
    destination,
    drop_standard_output,
    progress,
    unwritable,
)
from omnichunk.cli_resume import JOURNAL, PART, Journal

Convert = Callable[[FileResult], Any]
STDIN = "-"
FAILED, USAGE, INTERRUPTED = 1, 2, 130
# How an option of the library is called here; only what was given is passed on, so the library's defaults hold.
FLAGS = {
    "max_chunk_size": "--max-size",
    "min_chunk_size": "--min-size",
    "size_unit": "--size-unit",
    "tokenizer": "--tokenizer",
    "context_mode": "--context-mode",
    "coverage_policy": "--coverage",
    "target_fill": "--target-fill",
    "overlap": "--overlap",
    "overlap_lines": "--overlap-lines",
    "language": "--language",
    "encoding": "--encoding",
    "concurrency": "--concurrency",
    "timeout_s": "--timeout",
}


@dataclass(frozen=True)
class Sources:
    """What to read and how: ``which`` are options of ``iter_directory`` that choose files, ``name`` that of standard input.

    ``concurrency``: worker processes, as many as processors if ``None``, with 0 everything in this process.
    """

    paths: list[str]
    which: dict[str, Any] = field(default_factory=dict)
    encoding: str | None = None
    name: str = "stdin"
    concurrency: int | None = None
    timeout: float | None = None

    def results(
        self, chunker: Chunker, convert: Convert, skip: Callable[[str], bool] | None = None
    ) -> Generator[Any, None, None]:
        """What ``convert`` makes of the result of every file, in order, each made when it is asked for."""
        for folder, group in groupby(self.paths, lambda path: path != STDIN and os.path.isdir(path)):
            if folder:
                for path in group:
                    yield from chunker.iter_directory(
                        path, encoding=self.encoding, report_ignored=True, convert=convert, skip=skip,
                        **self.which, **self._how(self.concurrency),
                    )  # fmt: skip
                continue
            for standard, named in groupby(group, lambda path: path == STDIN):
                if standard:
                    for _ in named:
                        yield from self._standard_input(chunker, convert)
                    continue
                wanted = []
                for path in named:
                    if skip is not None and skip(path):
                        yield convert(FileResult(path, error="not wanted", outcome="skipped"))
                    else:
                        wanted.append({"filepath": path, "encoding": self.encoding})
                yield from self._named(chunker, convert, wanted)

    def _named(self, chunker: Chunker, convert: Convert, items: list[dict[str, Any]]) -> Iterator[Any]:
        alone = len(items) == 1 and self.concurrency is None and self.timeout is None
        yield from chunker.iter_batch(items, convert=convert, **self._how(0 if alone else self.concurrency))

    def _how(self, concurrency: int | None) -> dict[str, Any]:
        count = processors() if concurrency is None else concurrency
        return {"concurrency": count, "timeout_s": self.timeout or 120.0} if count else {}

    def _standard_input(self, chunker: Chunker, convert: Convert) -> Iterator[Any]:
        try:
            data = sys.stdin.buffer.read()
        except OSError as error:
            message = f"{self.name}: standard input cannot be read: {error.strerror}."
            yield convert(FileResult(self.name, error=message, outcome="failed"))
        else:
            item = {"filepath": self.name, "data": data, "encoding": self.encoding}
            yield from self._named(chunker, convert, [item])

    def size(self) -> int:
        """Bytes of all files that will be found; files and folders that cannot be read count nothing."""
        total = 0
        for path in self.paths:
            with contextlib.suppress(OSError, ValueError, LoadError):
                if os.path.isdir(path):
                    total += sum(entry.size for entry in find_files(path, **self.which) if entry.verdict == "found")
                elif path != STDIN:
                    total += os.stat(path).st_size
        return total


@dataclass(frozen=True)
class Target:
    """Where chunks go: ``form`` is the format, ``output`` a file or standard output; with ``resume`` see ``Journal``."""

    form: str | None = None
    output: str | None = None
    stats: bool = False
    resume: bool = False


def chunk(sources: Sources, options: dict[str, Any], target: Target, keep_going: bool) -> int:
    """Chunk ``sources`` and write what was asked for; the status to leave with."""
    tally = Tally()
    output = target.output
    on_terminal = sys.stdout.isatty() and output is None and not target.stats
    try:
        with progress(sys.stderr.isatty() and not on_terminal) as show:
            if "overlap" in options:
                options["overlap"] = _number(options["overlap"])
            chunker = Chunker(**_with_topics(options))
            form = target.form or _usual_format(output)
            plugin = _formatter(chunker, form)
            if output is not None:
                own = [pattern for name in _files_of(target) for pattern in patterns_of(name, sources.paths)]
                which = {**sources.which, "exclude": [*(sources.which["exclude"] or []), *own]}
                sources = replace(sources, which=which)
            journal = _journal(sources, options, target, form)
            convert: Any = _with_chunks if plugin else Write("" if target.stats and output is None else form)
            skip = journal.holds if journal else None
            counter = _Counter(tally, show, sources.size() if sys.stderr.isatty() and not on_terminal else 0, journal)
            with contextlib.closing(sources.results(chunker, convert, skip)) as results:
                if journal is not None:
                    _resumable(journal, counter.counted(results), tally)
                elif target.stats and output is None:
                    for _ in counter.counted(results):
                        pass
                else:
                    with destination(output, lambda: not tally.failed or tally.files > 0) as write:
                        done = counter.counted(results)
                        pieces = _formatted(plugin, done) if plugin else assembled(form, (d.text for d in done))
                        for piece in pieces:
                            write(piece)
    except KeyboardInterrupt:
        again = " The same command goes on from here." if target.resume else ""
        sys.stderr.write(f"omnichunk: interrupted; {tally.line()}{'.' if again else ''}{again}\n")
        return INTERRUPTED
    except BrokenPipeError:
        drop_standard_output()  # the reader has seen enough
        return 0
    except OSError as error:
        return unwritable(error.filename2 or error.filename or output or "standard output", error)
    except ChunkingError as error:
        sys.stderr.write(f"omnichunk: {in_flags(str(error))}\n")
        return FAILED if isinstance(error, PluginError) else USAGE
    sys.stderr.write(tally.summary(full=target.stats or sys.stderr.isatty()))
    return FAILED if tally.failed and not keep_going else 0


@dataclass
class _Counter:
    """Counts what comes by, and shows it."""

    tally: Tally
    show: Callable[[Tally, int, int], object]
    total: int
    journal: Journal | None
    through: int = 0

    def counted(self, results: Iterator[Done]) -> Iterator[Done]:
        for done in results:
            earlier = self.journal.told(done.result.filepath) if self.journal else None
            self.tally.merge(earlier or done.tally)
            self.through += done.result.size
            self.show(self.tally, self.through, self.total)
            if earlier is None:
                yield done


def _with_chunks(result: FileResult) -> Done:
    tally = Tally()
    tally.add(result)
    return Done(result, "", tally)


def _formatted(plugin: Formatter, results: Iterator[Done]) -> Iterator[str]:
    chunks: Iterator[Chunk] = (chunk for done in results for chunk in done.result.chunks)
    try:
        text = plugin.format(chunks)
    except (ChunkingError, OSError):
        raise
    except Exception as error:
        raise PluginError(f"--format {plugin.name}: it raised {type(error).__name__}: {error}") from error
    if not isinstance(text, str):
        raise PluginError(f"--format {plugin.name}: it gave a {type(text).__name__}; a formatter gives a str.")
    yield text


def _journal(sources: Sources, options: dict[str, Any], target: Target, form: str) -> Journal | None:
    if not target.resume:
        return None
    if target.output is None or form != "jsonl":
        raise OptionError("--resume: it continues a file of JSON Lines; name one with --output.")
    if STDIN in sources.paths:
        raise OptionError("--resume: standard input cannot be read a second time; name files.")
    asked = {"paths": sources.paths, "which": sources.which, "encoding": sources.encoding, "options": options}
    return Journal(target.output, asked)


def _resumable(journal: Journal, results: Iterator[Done], tally: Tally) -> None:
    finished = False
    try:
        for done in results:
            journal.add(done)
        finished = not tally.failed or tally.files > 0
    finally:
        journal.close(finished)


def in_flags(message: str) -> str:
    """A message about options of the library in the words of this command line."""
    message = re.sub(r"^\w+\(\): ", "", message)
    for option, flag in FLAGS.items():
        message = re.sub(rf"(?<![\w-]){option}(?==)|^{option}(?=: )", flag, message)
    return message


def processors() -> int:
    """Processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _with_topics(options: dict[str, Any]) -> dict[str, Any]:
    """``options`` of a chunker, which cuts where the topic changes if they name an ``embedder``."""
    if "embedder" not in options:
        return options
    from omnichunk.cli_eval import embedding

    rest = {option: value for option, value in options.items() if option != "embedder"}
    return {**rest, "semantic": True, "semantic_embed_fn": embedding(options["embedder"])}


def _number(text: str) -> int | float:
    """A whole number of units, or a fraction."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise OptionError(f"overlap={text!r}; a whole number, or a fraction such as 0.1, is needed.") from None


def _usual_format(output: str | None) -> str:
    if output is None:
        return "text" if sys.stdout.isatty() else "jsonl"
    suffix = os.path.splitext(output)[1].lower()
    if suffix == ".parquet":
        raise OptionError(
            "--output: Parquet is written in Python: write_parquet(read_jsonl(FILE)). Name a .jsonl file here."
        )
    return BY_SUFFIX.get(suffix, "jsonl")


def _formatter(chunker: Chunker, form: str) -> Formatter | None:
    """A plugin's format; ``None`` for one of ours. Raises OptionError with the known names for any other."""
    if form in WRITERS:
        return None
    formatters = chunker.registry.formatters()
    if form not in formatters:
        known = ", ".join([*WRITERS, *formatters])
        raise OptionError(f'--format: there is none called "{form}"; there are {known}.')
    return formatters[form]


def read_from(output: str, paths: list[str]) -> str:
    """What of ``paths`` is the very file ``output``, under whatever name, or empty."""
    for path in paths:
        try:
            found = os.fstat(sys.stdin.fileno()) if path == STDIN else os.stat(path)
            if stat.S_ISREG(found.st_mode) and os.path.samestat(found, os.stat(output)):
                return "the standard input" if path == STDIN else path
        except OSError:
            continue  # one of them is not there, or no file at all: there is nothing to lose
    return ""


def _files_of(target: Target) -> list[str]:
    """The files a run writes."""
    output = target.output or ""
    return [output, output + PART, output + JOURNAL] if target.resume else [output]


def patterns_of(output: str, paths: list[str]) -> list[str]:
    """Patterns that keep the output of a run out of what it reads, when it lies in a folder of ``paths``."""
    target = os.path.realpath(output)
    roots = [os.path.join(os.path.realpath(path), "") for path in paths if os.path.isdir(path)]
    below = [target[len(root) - 1 :] for root in roots if target.startswith(root)]
    return [re.sub(r"([\\*?\[\] ])", r"\\\1", path) for path in below]
