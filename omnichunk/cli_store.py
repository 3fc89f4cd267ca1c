"""Stores on the command line: ``index`` a folder, ``search`` it, and what else there is to a ``store``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from omnichunk import ChunkingError, OptionError
from omnichunk.cli_options import (
    ContextMode,
    Encoding,
    Exclude,
    Glob,
    IncludeHidden,
    MaxBytes,
    MaxSize,
    MinSize,
    Others,
    SizeUnit,
    Tokenizer,
    given,
)

if TYPE_CHECKING:
    from omnichunk import ChunkStore
    from omnichunk.store.results import SearchHit, SyncResult

SHOWN = 6
"""Lines of a chunk that are shown of a hit; the one with the first match is among them."""

STORE = Annotated[str, typer.Option("--store", metavar="STORE", help="A file, or postgresql://…")]
COLLECTION = Annotated[str, typer.Option(help="One of several in a store.")]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add_store_commands(app: typer.Typer) -> None:
    """Give ``app`` the commands ``index``, ``search`` and ``store``."""
    app.command("index")(index_command)
    app.command("search")(search_command)
    store = typer.Typer(
        help="Look into a store of chunks.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    store.command("stats")(stats_command)
    store.command("export")(export_command)
    store.command("check")(check_command)
    app.add_typer(store, name="store")


def index_command(
    root: Annotated[str, typer.Argument(metavar="PATH", help="A folder, or a file.")],
    store: STORE = "chunks.db",
    collection: COLLECTION = "default",
    max_size: MaxSize = None,
    min_size: MinSize = None,
    size_unit: SizeUnit = None,
    tokenizer: Tokenizer = None,
    context_mode: ContextMode = None,
    option: Others = None,
    glob: Glob = None,
    exclude: Exclude = None,
    include_hidden: IncludeHidden = False,
    max_bytes: MaxBytes = None,
    encoding: Encoding = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Worker processes.", show_default="one a processor")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Chunk unchanged files, too.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Delete nothing that is missing.")] = False,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="Store what can be chunked; files that failed stay as they were stored."),
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on whenever a file changes, until interrupted.")] = False,
    as_json: JSON = False,
) -> None:
    """Bring a store to the state of the files: new and changed ones are chunked, missing ones deleted.

    All of it happens or nothing: when a file cannot be chunked, the store stays as it was and the status is 1, unless
    --keep-going is given.
    """
    from omnichunk.cli_run import processors

    flags = {
        "max_chunk_size": max_size,
        "min_chunk_size": min_size,
        "size_unit": size_unit,
        "tokenizer": tokenizer,
        "context_mode": context_mode,
    }
    how: dict[str, Any] = {
        "glob": glob or "**/*",
        "exclude": exclude,
        "include_hidden": include_hidden,
        "max_bytes": max_bytes,
        "encoding": encoding,
        "concurrency": concurrency or processors(),
        "deletes": not keep,
        "keep_going": keep_going,
        **given(flags, option),
    }

    def once(force: bool) -> None:
        with _shown() as progress:
            result = opened.sync(root, keep_diffs=False, force=force, progress=progress, **how)
        sys.stderr.write(summary(result))
        if as_json:
            told = asdict(result)
            del told["diffs"]
            put(json.dumps(told) + "\n")
            sys.stdout.flush()

    with _told(), _opened(store, collection, create=True) as opened:
        if not watch:
            once(force)
            return
        for number, _ in enumerate(_changes(root)):
            try:
                once(force and not number)
            except OptionError:
                raise
            except ChunkingError as error:  # the next change may mend it
                sys.stderr.write(f"omnichunk: {error}\n")


def search_command(
    query: Annotated[str, typer.Argument(metavar="QUERY", help='Words, "several words", begin*.')],
    store: STORE = "chunks.db",
    collection: COLLECTION = "default",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Most hits.")] = 10,
    path: Annotated[str | None, typer.Option(help="Only this file, or files below this folder.")] = None,
    language: Annotated[str | None, typer.Option(help="Only chunks in it.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Show chunks as a whole.")] = False,
    as_json: JSON = False,
) -> None:
    """Search the chunks of a store by words."""
    from omnichunk import chunk_to_dict

    with _told(), _opened(store, collection) as opened:
        hits = opened.search(query, limit, path=path, language=language)
        if as_json:
            told = [{"chunk_id": h.chunk_id, "score": h.score, "matches": h.matches, "chunk": chunk_to_dict(h.chunk)}
                    for h in hits]  # fmt: skip
            put(json.dumps(told) + "\n")
            return
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        for hit in hits:
            put("\n".join(_lines(hit, full, color)) + "\n\n")
        if not hits:
            sys.stderr.write("omnichunk: nothing found.\n")


def stats_command(store: STORE = "chunks.db", collection: COLLECTION = "default", as_json: JSON = False) -> None:
    """Tell what is in a store."""
    from omnichunk.cli_output import counted

    with _told(), _opened(store, collection) as opened:
        stats = opened.stats()
        if as_json:
            put(json.dumps(asdict(stats)) + "\n")
            return
        sums = (stats.files, "file"), (stats.chunks, "chunk"), (stats.characters, "character")
        put(", ".join(counted(*each) for each in sums) + "\n")
        for language, count in stats.languages.items():
            put(f"{count:>12,}  {language or '-'}\n")
        for name, count in stats.pending.items():
            put(f"{name}: {count:,} chunks wait to be delivered\n")
        put(f"{stats.bytes / 1e6:,.1f} MB, schema version {stats.schema_version}\n")


def export_command(store: STORE = "chunks.db", collection: COLLECTION = "default") -> None:
    """Write all chunks of a store to standard output, as JSON Lines in the order of paths."""
    from omnichunk.cli_output import jsonl

    with _told(), _opened(store, collection) as opened:
        for line in jsonl(opened.export()):
            put(line)


def check_command(store: STORE = "chunks.db", collection: COLLECTION = "default") -> None:
    """Check that a store is sound; status 1 when it is not."""
    with _told(), _opened(store, collection) as opened:
        problems = opened.check()
        for problem in problems:
            put(f"{problem}\n")
        if problems:
            raise typer.Exit(1)
        sys.stderr.write("omnichunk: the store is sound.\n")


def put(text: str) -> None:
    """Write ``text`` to standard output: UTF-8 whatever the locale is, file names that are none with escapes."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))


def summary(result: SyncResult) -> str:
    """What a sync did, in one line, and what failed."""
    from omnichunk.cli_output import failed

    parts = [
        f"{result.files_updated:,} updated",
        f"{result.files_skipped:,} unchanged",
        *([f"{result.files_deleted:,} deleted"] if result.files_deleted else []),
        *([f"{result.files_left_out:,} left out"] if result.files_left_out else []),
        *([f"{len(result.diagnostics):,} with diagnostics"] if result.diagnostics else []),
        *([f"{len(result.failures):,} failed"] if result.failures else []),
    ]
    updated = result.chunks_updated
    chunks = [f"{result.chunks_added - updated:,} added", f"{updated:,} changed", f"{result.chunks_moved:,} moved",
              f"{len(result.removed_chunk_ids) - updated:,} removed"]  # fmt: skip
    line = f"files: {', '.join(parts)}; chunks: {', '.join(chunks)}; {result.seconds:.1f} s"
    return "\n".join([line, *failed(result.failures.values(), len(result.failures))]) + "\n"


def _changes(root: str) -> Iterator[None]:
    """Once at the start, and then after each change below ``root``."""
    from omnichunk import LoadError, MissingDependencyError

    try:
        from watchfiles import watch
    except ImportError:
        raise MissingDependencyError(
            '--watch needs watchfiles, which is not installed. Run: pip install "omnichunk[watch]"'
        ) from None
    changes = watch(root, raise_interrupt=True, yield_on_timeout=True, rust_timeout=1, debounce=200)
    try:
        next(changes)  # from here on nothing is missed
    except OSError as error:
        raise LoadError(f"{root}: cannot be watched: {error.strerror or error}") from None
    yield
    for changed in changes:
        if changed:
            yield


def _lines(hit: SearchHit, full: bool, color: bool) -> Iterator[str]:
    """Where a hit is, and its lines with numbers, matches in colour."""
    chunk = hit.chunk
    path = chunk.context.filepath
    here = os.path.join(os.getcwd(), "")
    first = chunk.line_range.start
    place = f"{path.removeprefix(here)}:{first + 1}-{chunk.line_range.end + 1}"
    yield " · ".join(part for part in (place, " > ".join(chunk.context.breadcrumb)) if part)
    on, off = ("\x1b[1;33m", "\x1b[0m") if color else ("", "")
    text, parts, at = chunk.text, [], 0
    for start, end in hit.matches if color else ():
        parts += [text[at:start], on, text[start:end], off]
        at = end
    shown = "".join((*parts, text[at:])).removesuffix("\n").split("\n")
    start = 0
    if not full and len(shown) > SHOWN:
        matched = text.count("\n", 0, hit.matches[0][0]) if hit.matches else 0
        start = max(0, min(matched - 1, len(shown) - SHOWN))
        shown = shown[start : start + SHOWN]
    for number, line in enumerate(shown, first + start + 1):
        yield f"{number:>6}  {line}"


@contextmanager
def _opened(place: str, collection: str, create: bool = False) -> Iterator[ChunkStore]:
    from omnichunk import ChunkStore

    with ChunkStore(place, collection, create=create) as store:
        yield store


@contextmanager
def _shown() -> Iterator[Callable[[str, str], Any] | None]:
    """A function that shows on a terminal how far a sync has come."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    count = 0

    def tell(path: str, what: str) -> None:
        nonlocal count
        count += 1
        status.update(f"{count:,} files", spinner=None)

    with console.status("starting") as status:
        yield tell


@contextmanager
def _told() -> Iterator[None]:
    """Turn what goes wrong into a message and a status."""
    from omnichunk.cli_output import drop_standard_output, unwritable
    from omnichunk.cli_run import INTERRUPTED, USAGE, in_flags

    def leave(status: int, message: str = "") -> NoReturn:
        sys.stderr.write(message)
        raise typer.Exit(status)

    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        leave(INTERRUPTED, "omnichunk: interrupted; the store is as it was after the last complete sync.\n")
    except BrokenPipeError:
        drop_standard_output()
        leave(0)
    except OSError as error:
        leave(unwritable("standard output", error))
    except OptionError as error:
        leave(USAGE, f"omnichunk: {in_flags(str(error))}\n")
    except ChunkingError as error:
        leave(1, f"omnichunk: {error}\n")
