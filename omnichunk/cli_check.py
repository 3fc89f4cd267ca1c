"""``omnichunk check``: what the library promises, proved on the user's own files."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnichunk.cli_options import (
    Concurrency,
    ContextMode,
    Encoding,
    Exclude,
    Glob,
    IncludeHidden,
    MaxBytes,
    MaxSize,
    Others,
    SizeUnit,
    Timeout,
    Tokenizer,
    given,
)

if TYPE_CHECKING:
    from omnichunk import Chunk, Chunker, FileResult

WORST = 10
"""Files that are listed by name."""
PROOFS = {
    "slices": "every chunk is the exact slice of its source at its byte range, with the right lines",
    "coverage": "the chunks, and white space between them, are all there is",
    "budget": "no payload measures more than the maximum, counted afresh",
    "context": "a payload holds its chunk, and says so where its context was left out",
    "stream": "stream_file gives what chunk_file gives",
}


@dataclass
class Findings:
    """What was found in one file. ``broken``: proof -> the first place where it fails."""

    path: str
    outcome: str = "ok"
    error: str = ""
    chunks: int = 0
    size: int = 0
    omitted: int = 0
    fill: float = 0.0
    broken: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Prove:
    """Proves what was promised of a result, where it was made. ``options``: of the chunker, by name."""

    options: tuple[tuple[str, Any], ...]
    encoding: str | None

    def __call__(self, result: FileResult) -> Findings:
        found = Findings(result.filepath, result.outcome, result.error or "", len(result.chunks), result.size)
        if not result.chunks:
            return found
        chunker, chunks = _chunker(self.options), result.chunks
        found.omitted = sum("context_omitted" in chunk.metadata for chunk in chunks)
        sizes = [chunk.metadata["budget"] for chunk in chunks]
        found.fill = sum(budget["size"] / budget["limit"] for budget in sizes)
        if any(note.startswith("chunked as plain text") for note in result.diagnostics):
            found.error = result.diagnostics[-1]
            return found  # whatever made its worker fail is not tried again
        lossless = chunker.chunk_file(
            result.filepath, self.encoding, coverage_policy="lossless", overlap=0, context_mode="none", overlap_lines=0
        )
        raw = "".join(chunk.text for chunk in lossless).encode()
        proofs = (_slices(chunks, raw), _coverage(chunks, raw), _budget(chunks, chunker), _context(chunks))
        streamed = chunker.stream_file(result.filepath, self.encoding)
        same = all(
            chunk == replace(other, total_chunks=len(chunks)) for chunk, other in zip(chunks, streamed)
        ) and not next(streamed, None)
        for name, place in zip(PROOFS, (*proofs, "" if same else "the two differ")):
            if place:
                found.broken[name] = place
        return found


@lru_cache(maxsize=1)
def _chunker(options: tuple[tuple[str, Any], ...]) -> Chunker:
    """One for all files: a tokenizer may take long to load."""
    from omnichunk import Chunker

    return Chunker(**dict(options))


def _slices(chunks: tuple[Chunk, ...], raw: bytes) -> str:
    line = at = 0
    for chunk in chunks:
        start, end = chunk.byte_range
        line += raw.count(b"\n", at, start) if start >= at else -raw.count(b"\n", start, at)
        at = start
        lines = line, line + raw.count(b"\n", start, end - 1)
        if raw[start:end] != chunk.text.encode() or lines != tuple(chunk.line_range):
            return _place(chunk)
    return ""


def _coverage(chunks: tuple[Chunk, ...], raw: bytes) -> str:
    from hashlib import sha256

    if sha256(raw).hexdigest() != chunks[0].source.revision:
        return "all chunks together are not the source"
    at = 0
    for start, end in [*(chunk.byte_range for chunk in chunks), (len(raw), len(raw))]:
        if start > at and raw[at:start].decode().lstrip("\ufeff").strip():
            return f"bytes {at} to {start} are in no chunk"
        at = max(at, end)
    return ""


def _budget(chunks: tuple[Chunk, ...], chunker: Chunker) -> str:
    for chunk in chunks:
        budget, size = chunk.metadata["budget"], chunker.measure(chunk.contextualized_text)
        allowed = budget["limit"] + (budget["overflow"] if budget["policy"] == "preserve" else 0)
        if size > allowed or size != budget["size"]:
            return f"{_place(chunk)} measures {size} of {budget['limit']} {budget['unit']}"
    return ""


def _context(chunks: tuple[Chunk, ...]) -> str:
    for chunk in chunks:
        bare = chunk.contextualized_text == chunk.text
        if chunk.text not in chunk.contextualized_text or ("context_omitted" in chunk.metadata and not bare):
            return _place(chunk)
    return ""


def _place(chunk: Chunk) -> str:
    return f"chunk {chunk.index} in line {chunk.line_range.start + 1}"


def check_command(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files and folders.")],
    max_size: MaxSize = None,
    size_unit: SizeUnit = None,
    tokenizer: Tokenizer = None,
    context_mode: ContextMode = None,
    option: Others = None,
    min_context: Annotated[float, typer.Option(min=0, max=100, help="Least % of payloads with context.")] = 0.0,
    glob: Glob = None,
    exclude: Exclude = None,
    include_hidden: IncludeHidden = False,
    max_bytes: MaxBytes = None,
    encoding: Encoding = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
) -> None:
    """Prove on your own files that chunks are exact, complete and within budget; status 1 if one is not.

    Prints what was proved and the worst files: broken promises first, then those that failed, then those whose context
    was left out most often.
    """
    from omnichunk import Chunker, ChunkingError
    from omnichunk.cli_output import Tally, progress
    from omnichunk.cli_run import STDIN, USAGE, Sources, in_flags

    if STDIN in paths:
        raise typer.BadParameter("standard input cannot be read twice; name files", param_hint="PATH")
    flags = {"max_chunk_size": max_size, "size_unit": size_unit, "tokenizer": tokenizer, "context_mode": context_mode}
    options = given(flags, option)
    which = {"glob": glob or "**/*", "exclude": exclude, "include_hidden": include_hidden, "max_bytes": max_bytes}
    sources = Sources(paths, which, encoding, concurrency=concurrency, timeout=timeout)
    found: list[Findings] = []
    tally, through = Tally(), 0
    shown = sys.stderr.isatty()
    try:
        chunker = Chunker(**options)
        with progress(shown) as show:
            total = sources.size() if shown else 0
            for findings in sources.results(chunker, Prove(tuple(options.items()), encoding)):
                found.append(findings)
                through += findings.size
                tally.files += 1
                tally.chunks += findings.chunks
                tally.bytes += findings.size
                show(tally, through, total)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except ChunkingError as error:
        sys.stderr.write(f"omnichunk: {in_flags(str(error))}\n")
        raise typer.Exit(USAGE) from None
    text, bad = report(found, min_context)
    sys.stdout.write(text)
    raise typer.Exit(int(bad))


def report(found: list[Findings], min_context: float) -> tuple[str, bool]:
    """The table, and whether something is wrong."""
    from omnichunk.cli_output import counted

    read = [findings for findings in found if findings.outcome == "ok"]
    chunks = sum(findings.chunks for findings in read)
    skipped = Counter(findings.error for findings in found if findings.outcome == "skipped")
    failed = [findings for findings in found if findings.outcome == "failed"]
    kept = 100 * (1 - sum(findings.omitted for findings in read) / chunks) if chunks else 100.0
    lines = [
        f"{counted(len(read), 'file')}, {counted(chunks, 'chunk')}, {len(failed)} failed, {skipped.total()} skipped"
    ]
    for name, promise in PROOFS.items():
        broken = sum(name in findings.broken for findings in read)
        where = f" ({counted(broken, 'file')})" if broken else ""
        lines.append(f"  {'BROKEN' if broken else 'ok':7} {name:9} {promise}{where}")
    short = kept < min_context
    fill = 100 * sum(findings.fill for findings in read) / chunks if chunks else 0.0
    lines.append(
        f"  {'SHORT' if short else 'ok':7} {'share':9} context is kept in {kept:.1f} % of the payloads; mean fill {fill:.0f} %"
    )
    worst = sorted(
        (f for f in found if f.broken or f.outcome == "failed" or f.omitted or (f.outcome == "ok" and f.error)),
        key=lambda f: (-len(f.broken), f.outcome != "failed", not f.error, -f.omitted / max(f.chunks, 1), f.path),
    )
    if worst:
        lines.append("worst files:")
        for f in worst[:WORST]:
            what = [f"{name}: {place}" for name, place in f.broken.items()]
            what += [re.sub(r"^(\d+): ", r"line \1: ", f.error.removeprefix(f"{f.path}:").lstrip())] if f.error else []
            what += [f"context left out of {f.omitted} of {f.chunks} chunks"] if f.omitted else []
            lines.append(f"  {os.path.normpath(f.path)}: {'; '.join(what)}")
        if len(worst) > WORST:
            lines.append(f"  and {len(worst) - WORST} more")
    if skipped:
        lines.append("skipped: " + ", ".join(f"{number} {reason}" for reason, number in skipped.most_common()))
    text = "\n".join(lines).encode("utf-8", "backslashreplace").decode()
    return text + "\n", bool(failed or short or any(findings.broken for findings in read))
