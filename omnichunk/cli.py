"""The ``omnichunk`` command."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from omnichunk import ChunkingError, LoadError, OptionError, __version__
from omnichunk.cli_inspect import add_commands

if TYPE_CHECKING:
    from omnichunk import Chunk, Chunker, FileResult
    from omnichunk.cli_output import Tally, Writer

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
}

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Turn repositories and document collections into exact, structured, budgeted chunks for retrieval.",
)
add_commands(app)


def main() -> NoReturn:
    """Run the command line of this process and leave with its status: 0, 1 files failed, 2 usage, 130 interrupted."""
    _occupy_closed_streams()
    try:
        app(prog_name="omnichunk")
    except OSError as error:  # of --help and --version; a run tells its own
        raise SystemExit(_unwritable("standard output", error)) from None
    raise SystemExit(0)


def _occupy_closed_streams() -> None:
    """Open the null device for closed standard streams, lest a file get their number; the wrong way, so use fails."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _unwritable(where: str, error: OSError) -> int:
    """Say that ``where`` cannot be written, and what Python would still flush on its way out has nowhere to go."""
    sys.stderr.write(f"omnichunk: {where}: cannot be written: {error.strerror}.\n")
    if where == "standard output":
        _drop_standard_output()
    return FAILED


def _drop_standard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Answer ``--version`` and a bare ``omnichunk``."""
    if version:
        typer.echo(f"omnichunk {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("chunk")
def chunk_command(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders, or - for standard input.")],
    max_size: Annotated[int | None, typer.Option(help="Most a chunk may measure, context included.")] = None,
    min_size: Annotated[int | None, typer.Option(help="Merge neighbours smaller than this, if they fit.")] = None,
    size_unit: Annotated[str | None, typer.Option(help="chars, nws (without white space) or tokens.")] = None,
    tokenizer: Annotated[str | None, typer.Option(help="A name, a tokenizer.json, or approximate.")] = None,
    context_mode: Annotated[str | None, typer.Option(help="Context in the payload: full, minimal or none.")] = None,
    coverage: Annotated[str | None, typer.Option(help="retrieval, or lossless to keep every byte.")] = None,
    target_fill: Annotated[float | None, typer.Option(help="Share of the maximum to aim at, up to 1.")] = None,
    overlap: Annotated[str | None, typer.Option(help="Text to repeat: units, or a fraction such as 0.1.")] = None,
    overlap_lines: Annotated[int | None, typer.Option(help="Lines to repeat as context.")] = None,
    language: Annotated[str | None, typer.Option(help="Instead of the one the name tells.")] = None,
    glob: Annotated[list[str] | None, typer.Option(help="Only such files of folders, as in .gitignore.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Not such files of folders.")] = None,
    include_hidden: Annotated[bool, typer.Option("--include-hidden", help="Names with a leading dot, too.")] = False,
    max_bytes: Annotated[int | None, typer.Option(min=1, help="Skip larger files of folders.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of text files; found out if not named.")] = None,
    name: Annotated[str | None, typer.Option(help="What standard input is called; tells its format.")] = None,
    format: Annotated[str | None, typer.Option(help="jsonl, json, csv, text, or a plugin's.")] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write chunks to this file, or nothing.")] = None,
    stats: Annotated[bool, typer.Option("--stats", help="The full summary, and no chunks but to --output.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Status 0 even if files failed.")] = False,
) -> None:
    """Chunk files and folders.

    Chunks go to standard output: JSON Lines, or text on a terminal. Progress and the summary go to standard error.
    Folders are walked in order of names; .gitignore and .ignore are honoured, and every file left out is counted.
    """
    given = {
        "max_chunk_size": max_size,
        "min_chunk_size": min_size,
        "size_unit": size_unit,
        "tokenizer": tokenizer,
        "context_mode": context_mode,
        "coverage_policy": coverage,
        "target_fill": target_fill,
        "overlap": overlap,
        "overlap_lines": overlap_lines,
        "language": language,
    }
    options = {option: value for option, value in given.items() if value is not None}
    which = {"glob": glob or "**/*", "exclude": exclude, "include_hidden": include_hidden, "max_bytes": max_bytes}
    if name is not None and STDIN not in paths:
        raise typer.BadParameter("it names standard input, and no PATH is -", param_hint="--name")
    if output is not None and (read := _read_from(output, paths)):
        raise typer.BadParameter(
            f"{output} is {read}, which is to be chunked; name another file", param_hint="--output"
        )
    raise typer.Exit(_run(paths, options, which, encoding, name or "stdin", format, output, stats, keep_going))


def _run(
    paths: list[str],
    options: dict[str, Any],
    which: dict[str, Any],
    encoding: str | None,
    name: str,
    form: str | None,
    output: str | None,
    stats: bool,
    keep_going: bool,
) -> int:
    """Chunk ``paths`` and write what was asked for; the status to leave with."""
    from omnichunk.cli_output import Tally, destination, progress

    tally = Tally()
    chunks_on_terminal = sys.stdout.isatty() and output is None and not stats
    try:
        # The bar comes first: it is there before the engine has been imported.
        with progress(sys.stderr.isatty() and not chunks_on_terminal) as show:
            from omnichunk import Chunker

            if "overlap" in options:
                options["overlap"] = _number(options["overlap"])
            chunker = Chunker(**options)
            writer = _writer(chunker, form or _usual_format(output))
            if output is not None:
                which["exclude"] = [*(which["exclude"] or []), *_patterns_of(output, paths)]
            results = _counted(_results(chunker, paths, which, encoding, name), tally, show)
            chunks = (chunk for result in results for chunk in result.chunks)
            if stats and output is None:
                for _ in chunks:
                    pass
            else:
                with destination(output, lambda: not tally.failed or tally.files > 0) as write:
                    for piece in writer(chunks):
                        write(piece)
    except KeyboardInterrupt:
        sys.stderr.write(f"omnichunk: interrupted; {tally.line()}\n")
        return INTERRUPTED
    except BrokenPipeError:
        _drop_standard_output()  # the reader has seen enough
        return 0
    except OSError as error:
        return _unwritable(error.filename2 or error.filename or output or "standard output", error)
    except ChunkingError as error:
        sys.stderr.write(f"omnichunk: {_in_flags(str(error))}\n")
        return USAGE
    sys.stderr.write(tally.summary(full=stats or sys.stderr.isatty()))
    return FAILED if tally.failed and not keep_going else 0


def _in_flags(message: str) -> str:
    """A message about options of the library in the words of this command line."""
    message = re.sub(r"^\w+\(\): ", "", message)
    for option, flag in FLAGS.items():
        message = re.sub(rf"(?<![\w-]){option}(?==)", flag, message)
    return message


def _number(text: str) -> int | float:
    """A whole number of units, or a fraction."""
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise OptionError(f"overlap={text!r}; a whole number, or a fraction such as 0.1, is needed.") from None


def _usual_format(output: str | None) -> str:
    from omnichunk.cli_output import BY_SUFFIX

    if output is None:
        return "text" if sys.stdout.isatty() else "jsonl"
    return BY_SUFFIX.get(os.path.splitext(output)[1].lower(), "jsonl")


def _writer(chunker: Chunker, form: str) -> Writer:
    """The writer of a format, a plugin's included. Raises OptionError with the known names for any other."""
    from omnichunk.cli_output import WRITERS

    if form in WRITERS:
        return WRITERS[form]
    formatters = chunker.registry.formatters()
    if form not in formatters:
        known = ", ".join([*WRITERS, *formatters])
        raise OptionError(f'--format: there is none called "{form}"; there are {known}.')
    made = formatters[form].format
    return lambda chunks: iter([made(chunks)])


def _read_from(output: str, paths: list[str]) -> str:
    """What of ``paths`` is the very file ``output``, under whatever name, or empty."""
    for path in paths:
        try:
            found = os.fstat(sys.stdin.fileno()) if path == STDIN else os.stat(path)
            if stat.S_ISREG(found.st_mode) and os.path.samestat(found, os.stat(output)):
                return "the standard input" if path == STDIN else path
        except OSError:
            continue  # one of them is not there, or no file at all: there is nothing to lose
    return ""


def _patterns_of(output: str, paths: list[str]) -> list[str]:
    """Patterns that keep the output of a run out of what it reads, when it lies in a folder of ``paths``."""
    target = os.path.realpath(output)
    roots = [os.path.join(os.path.realpath(path), "") for path in paths if os.path.isdir(path)]
    below = [target[len(root) - 1 :] for root in roots if target.startswith(root)]
    return [re.sub(r"([\\*?\[\] ])", r"\\\1", path) for path in below]


def _counted(results: Iterable[FileResult], tally: Tally, show: Any) -> Iterator[FileResult]:
    for result in results:
        tally.add(result)
        show(tally)
        yield result


def _standard_input(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise LoadError(f"{name}: standard input cannot be read: {error.strerror}.") from error


def _results(
    chunker: Chunker, paths: list[str], which: dict[str, Any], encoding: str | None, name: str
) -> Iterator[FileResult]:
    """A result for every file of ``paths``, in order, each made when it is asked for."""
    from omnichunk import FileResult

    for path in paths:
        chunks: list[Chunk] = []
        size = 0
        try:
            if path == STDIN:
                data = _standard_input(name)
                size, chunks = len(data), chunker.chunk_bytes(name, data, encoding)
            elif os.path.isdir(path):
                yield from chunker.iter_directory(path, encoding=encoding, report_ignored=True, **which)
                continue
            else:
                chunks = chunker.chunk_file(path, encoding)
                size = os.stat(path).st_size
        except OptionError:
            raise
        except ChunkingError as error:
            yield FileResult(name if path == STDIN else path, error=str(error), outcome="failed")
        else:
            notes = chunks[0].context.parse_errors if chunks else ()
            yield FileResult(name if path == STDIN else path, tuple(chunks), diagnostics=notes, size=size)
