"""The ``omnichunk`` command."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from omnichunk import __version__
from omnichunk.cli_check import check_command
from omnichunk.cli_diff import diff_command
from omnichunk.cli_eval import eval_command
from omnichunk.cli_inspect import add_commands
from omnichunk.cli_options import (
    Concurrency,
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
    Timeout,
    Tokenizer,
    given,
)
from omnichunk.cli_serve import serve_command
from omnichunk.cli_store import add_store_commands


class Commands(TyperGroup):
    """The commands; a path in the place of one is answered with the command it was meant for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that ``args`` begin with. Raises typer's usage error."""
        if args and args[0] not in self.commands and os.path.exists(args[0]):
            ctx.fail(f"{args[0]!r} is a path and no command. To chunk it: omnichunk chunk {args[0]}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Turn repositories and document collections into exact, structured, budgeted chunks for retrieval.",
)


def main() -> NoReturn:
    """Run the command line of this process and leave with its status: 0, 1 files failed, 2 usage, 130 interrupted."""
    _occupy_closed_streams()
    try:
        try:
            app(prog_name="omnichunk")
        finally:
            sys.stdout.flush()
    except OSError as error:  # of what is short; a run of ``chunk`` tells its own
        from omnichunk.cli_output import unwritable

        raise SystemExit(unwritable("standard output", error)) from None
    raise SystemExit(0)


def _occupy_closed_streams() -> None:
    """Open the null device for closed standard streams, lest a file get their number; the wrong way, so use fails."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


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
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders, or - for standard input.")],
    max_size: MaxSize = None,
    min_size: MinSize = None,
    size_unit: SizeUnit = None,
    tokenizer: Tokenizer = None,
    context_mode: ContextMode = None,
    coverage: Annotated[
        str | None, typer.Option(help="retrieval, or lossless to keep every byte.", show_default="retrieval")
    ] = None,
    target_fill: Annotated[
        float | None, typer.Option(help="Share of the maximum to aim at, up to 1.", show_default="0.65")
    ] = None,
    overlap: Annotated[str | None, typer.Option(help="Text to repeat: units, or a fraction such as 0.1.")] = None,
    overlap_lines: Annotated[int | None, typer.Option(help="Lines to repeat as context.")] = None,
    language: Annotated[str | None, typer.Option(help="Instead of the one the name tells.")] = None,
    embedder: Annotated[
        str | None, typer.Option(help='Cut where the topic changes, by "model2vec: model=DIR" or a plugin\'s.')
    ] = None,
    option: Others = None,
    glob: Glob = None,
    exclude: Exclude = None,
    include_hidden: IncludeHidden = False,
    max_bytes: MaxBytes = None,
    encoding: Encoding = None,
    name: Annotated[str | None, typer.Option(help="What standard input is called; tells its format.")] = None,
    format: Annotated[
        str | None,
        typer.Option(help="jsonl, json, csv, text, or a plugin's.", show_default="as --output ends, else jsonl"),
    ] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write chunks to this file, or nothing.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the --output of an interrupted run.")] = False,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    stats: Annotated[bool, typer.Option("--stats", help="The full summary, and no chunks but to --output.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Status 0 even if files failed.")] = False,
) -> None:
    """Chunk files and folders.

    Chunks go to standard output: JSON Lines, or text on a terminal. Progress and the summary go to standard error.
    Folders are walked in order of names; .gitignore and .ignore are honoured, and every file left out is counted.
    """
    from omnichunk.cli_run import STDIN, Sources, Target, chunk, read_from

    flags = {
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
        "embedder": embedder,
    }
    options = given(flags, option)
    which = {"glob": glob or "**/*", "exclude": exclude, "include_hidden": include_hidden, "max_bytes": max_bytes}
    if name is not None and STDIN not in paths:
        raise typer.BadParameter("it names standard input, and no PATH is -", param_hint="--name")
    if output is not None and (read := read_from(output, paths)):
        what = f"{output} is to be chunked" if output == read else f"{output} is {read}, which is to be chunked"
        raise typer.BadParameter(f"{what}; name another file", param_hint="--output")
    sources = Sources(paths, which, encoding, name or "stdin", concurrency, timeout)
    raise typer.Exit(chunk(sources, options, Target(format, output, stats, resume), keep_going))


# Help lists commands in this order, what most come for first.
app.command("check")(check_command)
add_store_commands(app)
app.command("diff")(diff_command)
app.command("eval")(eval_command)
app.command("serve")(serve_command)
add_commands(app)
