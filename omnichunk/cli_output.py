"""What the command line writes: chunks in a format, a summary, progress, and a file that is whole or not there."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import os
import re
import signal
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any

from omnichunk import chunk_to_dict

if TYPE_CHECKING:
    from omnichunk import Chunk, FileResult

Writer = Callable[[Iterable["Chunk"]], Iterator[str]]
"""Turns chunks into pieces of text, one after the other, holding none back."""
SHOWN = 20
"""Failures listed one by one, of more only the number is told; diagnostics of a file that are counted by kind."""
KINDS = 8
"""Kinds of diagnostics that are told; what differs in numbers alone is of one kind."""
_NUMBER = re.compile(r"\d+")
_REMEDIES = {errno.ENOENT: " Make its folder first.", errno.EISDIR: " Name a file in it."}
_COLUMNS = ("filepath", "index", "total_chunks", "byte_start", "byte_end", "line_start", "line_end", "language",
            "content_type", "breadcrumb", "size", "text", "contextualized_text")  # fmt: skip


def jsonl(chunks: Iterable[Chunk]) -> Iterator[str]:
    """A JSON object a line, in ASCII where the payload is; the encoder for that is twice as fast."""
    ascii_only, readable_too = (
        json.JSONEncoder(ensure_ascii=e, check_circular=False, default=str).encode for e in (True, False)
    )
    for chunk in chunks:
        encode = ascii_only if chunk.contextualized_text.isascii() else readable_too
        yield encode(chunk_to_dict(chunk)) + "\n"


def csv_rows(chunks: Iterable[Chunk]) -> Iterator[str]:
    """A row a chunk; ranges as in the data: bytes half open, lines from zero and inclusive."""
    for chunk in chunks:
        context, where, lines = chunk.context, chunk.byte_range, chunk.line_range
        yield _csv(
            (context.filepath, chunk.index, chunk.total_chunks, where.start, where.end, lines.start, lines.end,
             context.language, context.content_type, " > ".join(context.breadcrumb), chunk.metadata["budget"]["size"],
             chunk.text, chunk.contextualized_text)
        )  # fmt: skip


def _csv(values: Iterable[object]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(values)
    return buffer.getvalue()


def readable(chunks: Iterable[Chunk]) -> Iterator[str]:
    """For eyes: a rule with file, lines counted from one, and size; then the payload."""
    for chunk in chunks:
        context, budget, lines = chunk.context, chunk.metadata["budget"], chunk.line_range
        size = f"{budget['size']}/{budget['limit']} {budget['unit']}"
        where = f"{context.filepath}:{lines.start + 1}-{lines.end + 1}"
        body = chunk.contextualized_text
        yield f"──── {where} · {context.language} · {size}\n{body}{'' if body.endswith(chr(10)) else chr(10)}\n"


WRITERS: dict[str, Writer] = {"jsonl": jsonl, "json": jsonl, "csv": csv_rows, "text": readable}
BY_SUFFIX = {".json": "json", ".csv": "csv", ".txt": "text"}


@dataclass(frozen=True)
class Done:
    """What a run keeps of one file: its result without the chunks, these as they are written, and what they count."""

    result: FileResult
    text: str
    tally: Tally


@dataclass(frozen=True)
class Write:
    """Turns a result into what is written of it, where it was made. ``form``: of ``WRITERS``, empty for nothing."""

    form: str

    def __call__(self, result: FileResult) -> Done:
        text = "".join(WRITERS[self.form](result.chunks)) if self.form else ""
        tally = Tally()
        tally.add(result)
        return Done(replace(result, chunks=()), text, tally)


def assembled(form: str, texts: Iterable[str]) -> Iterator[str]:
    """What ``Write`` made of the files, one after the other, as one text of the format."""
    if form == "csv":
        yield _csv(_COLUMNS)
    if form != "json":
        yield from texts
        return
    before = "[\n"
    for text in texts:
        if text:
            yield before + text[:-1].replace("\n", ",\n")  # in JSON Lines only their ends are line ends
            before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


@contextlib.contextmanager
def destination(output: str | None, wanted: Callable[[], bool]) -> Iterator[Callable[[str], object]]:
    """A function that writes text to ``output``, or to standard output.

    A regular file appears whole when the block ends well and the result is ``wanted`` then, and not at all otherwise,
    SIGTERM and SIGHUP included; what it held before stays until then. Anything else, such as a named pipe, is written as it
    comes. Lone surrogates, from file names that are no UTF-8, become escapes that JSON reads back.
    """

    def into(file: IO[bytes]) -> Callable[[str], object]:
        return lambda text: file.write(text.encode("utf-8", "backslashreplace"))

    if output is None:
        yield into(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    target = os.path.realpath(output)
    mode = os.stat(target).st_mode if os.path.exists(target) else None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as file:
            yield into(file)
        return
    folder, name = os.path.split(target)
    with _termination_raised():
        temporary = os.path.join(folder, f".{name}.{os.getpid()}-{os.urandom(4).hex()}.part")
        try:  # named before it is made: a signal may come in between
            with open(_made(temporary, output), "wb") as file:
                yield into(file)
            if wanted():
                os.chmod(temporary, 0o666 & ~_umask() if mode is None else stat.S_IMODE(mode))
                os.replace(temporary, target)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _made(temporary: str, output: str) -> int:
    """A new file, open for writing; errors name what is to be written in the end."""
    try:
        return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        error.filename = output
        raise


@contextlib.contextmanager
def _termination_raised() -> Iterator[None]:
    """SIGTERM and SIGHUP, unless ignored or handled already, raise SystemExit here, so that cleaning up takes place."""
    ends = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ends = [number for number in ends if signal.getsignal(number) is signal.SIG_DFL]
    for number in ends:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        for number in ends:
            signal.signal(number, signal.SIG_DFL)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@dataclass
class Tally:
    """What a run has done so far, counted result by result."""

    started: float = field(default_factory=perf_counter)
    languages: dict[str, list[int]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    failed: int = 0
    files: int = 0
    chunks: int = 0
    bytes: int = 0
    fill: float = 0.0
    noted: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    """Files with each kind of diagnostic."""

    def add(self, result: FileResult) -> None:
        """Count one result."""
        if result.outcome == "skipped":
            self.skipped[result.error or "skipped"] += 1
        elif result.outcome == "failed":
            self.failed += 1
            if len(self.failures) < SHOWN:
                self.failures.append(result.error or result.filepath)
        else:
            chunks = result.chunks
            language = chunks[0].source.format_name if chunks else "(empty)"
            counts = self.languages.setdefault(language, [0, 0, 0])
            for i, number in enumerate((1, len(chunks), result.size)):
                counts[i] += number
            self.files += 1
            self.chunks += len(chunks)
            self.bytes += result.size
            self.noted += bool(result.diagnostics)
            self.notes.update({_NUMBER.sub("N", note) for note in result.diagnostics[:SHOWN]})
            self.fill += sum(c.metadata["budget"]["size"] / c.metadata["budget"]["limit"] for c in chunks)

    def merge(self, other: Tally) -> None:
        """Count what ``other`` has counted."""
        for language, numbers in other.languages.items():
            counts = self.languages.setdefault(language, [0, 0, 0])
            for i, number in enumerate(numbers):
                counts[i] += number
        self.skipped += other.skipped
        self.notes += other.notes
        self.failures += other.failures[: SHOWN - len(self.failures)]
        for name in ("failed", "files", "chunks", "bytes", "fill", "noted"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def line(self) -> str:
        """The run in one line."""
        seconds = max(perf_counter() - self.started, 1e-9)
        parts = [
            counted(self.files, "file"),
            counted(self.chunks, "chunk"),
            f"{_size(self.bytes)} in {seconds:.1f} s ({_size(self.bytes / seconds)}/s)",
        ]
        if self.chunks:
            parts.append(f"mean fill {100 * self.fill / self.chunks:.0f} %")
        if self.noted:
            parts.append(f"{self.noted} with diagnostics")
        if self.skipped:
            parts.append(f"{self.skipped.total()} skipped")
        if self.failed:
            parts.append(f"{self.failed} failed")
        return ", ".join(parts)

    def table(self) -> str:
        """Files by language, most chunks first, what was skipped and why, the most frequent diagnostics."""
        rows = sorted(self.languages.items(), key=lambda item: (-item[1][1], item[0]))
        width = max((len(name) for name, _ in rows), default=0)
        lines = [
            f"  {name:{width}} {counted(files, 'file'):>12} {counted(chunks, 'chunk'):>14} {_size(size):>10}"
            for name, (files, chunks, size) in rows
        ]
        if self.skipped:
            reasons = ", ".join(f"{number} {reason}" for reason, number in self.skipped.most_common())
            lines.append(f"  skipped: {reasons}")
        for note, number in self.notes.most_common(KINDS):
            lines.append(f"  {counted(number, 'file')}: {note}")
        if (more := len(self.notes) - KINDS) > 0:
            lines.append(f"  and {counted(more, 'other kind')} of diagnostics")
        return "\n".join(lines)

    def summary(self, full: bool) -> str:
        """What a run ends with; failures are always part of it, the table only when ``full``."""
        lines = [self.line()]
        if full and (table := self.table()):
            lines.append(table)
        return "\n".join([*lines, *failed(self.failures, self.failed)]) + "\n"


@contextlib.contextmanager
def progress(shown: bool) -> Iterator[Callable[[Tally, int, int], object]]:
    """A function that shows how far a run has come, on standard error; it does nothing unless ``shown``.

    It is told the tally, the bytes of all files that are through, and of all there are, 0 if that is not known.
    """
    if not shown:
        yield lambda tally, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    columns: Any = (
        SpinnerColumn(),
        BarColumn(10),
        TimeRemainingColumn(),
        TextColumn("left;"),
        # The one that is cut where it is narrow.
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda tally, done, total: bar.update(
            task, description=tally.line(), completed=done, total=max(done, total) if total else None
        )


def unwritable(where: str, error: OSError) -> int:
    """Say that ``where`` cannot be written, and what Python would still flush on its way out has nowhere to go."""
    remedy = _REMEDIES.get(error.errno or 0, "")
    sys.stderr.write(f"omnichunk: {where}: cannot be written: {error.strerror}.{remedy}\n")
    if where == "standard output":
        drop_standard_output()
    return 1


def failed(messages: Iterable[str], number: int) -> Iterator[str]:
    """A line for each of the first ``SHOWN`` of ``messages``, and how many more of the ``number`` there are."""
    for message in islice(messages, SHOWN):
        yield f"failed: {message}"
    if number > SHOWN:
        yield f"failed: and {number - SHOWN:,} more"


def drop_standard_output() -> None:
    """Let what is still to be written to standard output vanish."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def counted(number: int, noun: str) -> str:
    """``1 file``, ``1,000 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(number: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= factor:
            return f"{number / factor:.1f} {unit}"
    return f"{number:.0f} B"
