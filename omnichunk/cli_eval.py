"""``omnichunk eval``: what configurations bring to light for questions of one's own."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from omnichunk import Configuration, Corpus, EmbedFunction, EvaluationReport, TuneReport

_NAMED = re.compile(r"\s*([^:=,]*?)\s*(?::\s*(.*))?", re.DOTALL)
_PAIRS = re.compile(r"\s*(\w+)\s*=\s*(.*?)\s*(?:,(?=\s*\w+\s*=)|$)", re.DOTALL)


def eval_command(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files and folders that are searched.")],
    questions: Annotated[str, typer.Option("--questions", "-q", help="JSON Lines: question, path, start, end.")],
    config: Annotated[
        list[str] | None,
        typer.Option(help='"NAME: option=value, …" of Chunker, or "NAME: windows=400, overlap=40"; several.'),
    ] = None,
    offsets: Annotated[
        str, typer.Option(help="Unit of start and end: chars (code points) or bytes (UTF-8).")
    ] = "chars",
    retriever: Annotated[str, typer.Option(help='bm25, an embedder, "model2vec: model=DIR", or a plugin\'s.')] = "bm25",
    embedder: Annotated[
        str | None, typer.Option(help='Of configurations with semantic=true: "model2vec: model=DIR", or a plugin\'s.')
    ] = None,
    budget: Annotated[int, typer.Option(min=0, help="What is read for a question, at most.")] = 4000,
    size_unit: Annotated[str, typer.Option(help="Unit of the budget: chars, nws or tokens.")] = "chars",
    tokenizer: Annotated[str | None, typer.Option(help="A name, a tokenizer.json, or approximate.")] = None,
    k: Annotated[str, typer.Option(help="Numbers of chunks for recall@k.")] = "1,3,5,10",
    tune: Annotated[
        bool, typer.Option("--tune", help="Propose a configuration; the first is what it has to beat.")
    ] = False,
    metric: Annotated[str, typer.Option(help="What --tune looks for.")] = "recall",
    development: Annotated[float, typer.Option(help="Share of the questions that choose, with --tune.")] = 0.5,
    resamples: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the resamples, and of the halves of --tune.")] = 0,
    html: Annotated[str | None, typer.Option(help="Write a page with plots to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the table.")] = False,
    glob: Annotated[list[str] | None, typer.Option(help="Only such files of folders, as in .gitignore.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Not such files of folders.")] = None,
    include_hidden: Annotated[bool, typer.Option("--include-hidden", help="Names with a leading dot, too.")] = False,
    max_bytes: Annotated[int | None, typer.Option(min=1, help="Skip larger files of folders.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of text files; found out if not named.")] = None,
) -> None:
    """Measure what chunking is worth: recall, precision and IoU of what a retriever finds for your questions.

    Every --config is chunked, searched and measured beside the others; intervals say how far to trust a difference.
    """
    from omnichunk import ChunkingError, Corpus, evaluate, read_questions
    from omnichunk import tune as tuned
    from omnichunk.cli_output import unwritable
    from omnichunk.cli_run import STDIN, USAGE, in_flags

    if STDIN in paths:
        raise typer.BadParameter("questions name files; standard input has no name", param_hint="PATH")
    if offsets not in ("chars", "bytes"):
        raise typer.BadParameter("chars or bytes is needed", param_hint="--offsets")
    which: dict[str, Any] = {
        "glob": glob or "**/*",
        "exclude": exclude,
        "include_hidden": include_hidden,
        "max_bytes": max_bytes,
    }
    try:
        corpus = Corpus.read(paths, encoding=encoding, **which)
        asked = read_questions(questions, corpus, offsets)  # type: ignore[arg-type]
        name, options = named("--retriever", retriever)
        how: dict[str, Any] = {
            "retriever": name,
            "retriever_options": options,
            "budget": budget,
            "size_unit": size_unit,
            "tokenizer": tokenizer,
            "k": numbers(k),
            "resamples": resamples,
            "seed": seed,
        }
        compared = configurations(config or [], embedder)
        report: EvaluationReport | TuneReport
        if tune:
            report = tuned(corpus, asked, compared, metric=metric, development=development, **how)
        else:
            report = evaluate(corpus, asked, compared or configurations(["default"]), **how)
        written(report, html, as_json)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except OSError as error:
        raise typer.Exit(unwritable(error.filename2 or error.filename or "standard output", error)) from None
    except ChunkingError as error:
        said = str(error)
        sys.stderr.write(f"omnichunk: {said if said.startswith('configuration ') else in_flags(said)}\n")
        raise typer.Exit(USAGE) from None
    sys.stderr.write(told(corpus, len(asked)))


def configurations(given: list[str], embedder: str | None = None) -> list[Configuration]:
    """The configurations that ``--config`` names, each ``NAME: option=value, …``, or options alone.

    ``embedder``: what those with ``semantic`` embed with. Raises OptionError if it is given and nobody needs it.
    """
    from omnichunk import Configuration, OptionError

    asked = [named("--config", text) for text in given]
    if embedder is not None:
        embed = embedding(embedder)
        if not any(options.get("semantic") is True for _, options in asked):
            raise OptionError("--embedder: no --config has semantic=true.")
        asked = [(n, {**o, "semantic_embed_fn": embed} if o.get("semantic") is True else o) for n, o in asked]
    return [Configuration(*one) for one in asked]


def embedding(text: str) -> EmbedFunction:
    """The embedding function of ``--embedder``, as ``model2vec: model=DIR``."""
    from omnichunk import open_embedder

    name, options = named("--embedder", text)
    return open_embedder(name, **options)


def named(flag: str, text: str) -> tuple[str, Mapping[str, Any]]:
    """The name and the options of ``NAME: option=value, …``; options without a name are their own name.

    Values are JSON where they can be (``400``, ``0.65``, ``true``), else text. Raises OptionError for anything else.
    """
    from omnichunk import OptionError

    match = _NAMED.fullmatch(text)
    name, rest = (match[1], match[2] or "") if match else (text.strip(), text)
    rest = rest.strip()
    options: dict[str, Any] = {}
    at = 0
    while at < len(rest):
        pair = _PAIRS.match(rest, at)
        if pair is None or pair[1] in options:
            raise OptionError(f'{flag}: "{text}" is not of the form "NAME: option=value, option=value".')
        options[pair[1]] = _value(pair[2])
        at = pair.end()
    if not name:
        raise OptionError(f'{flag}: "{text}" has no name.')
    return name, options


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def numbers(text: str) -> list[int]:
    """The numbers of ``1,3,5``. Raises OptionError for what is none."""
    from omnichunk import OptionError

    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise OptionError(
            f"--k: {text!r:.60}; whole numbers with commas between them, such as 1,3,5, are needed."
        ) from None


def written(report: EvaluationReport | TuneReport, html: str | None, as_json: bool) -> None:
    """Print the report, and write its page."""
    from omnichunk.cli_output import destination

    if html is not None:
        try:
            with destination(html, lambda: True) as write:
                write(report.html())
        except OSError as error:
            raise OSError(error.errno, error.strerror, html) from None
    with destination(None, lambda: True) as write:
        write(json.dumps(report.to_dict(), ensure_ascii=False, indent=2) + "\n" if as_json else report.table())


def told(corpus: Corpus, questions: int) -> str:
    """A line for standard error on what was read."""
    left = f", {len(corpus.left_out)} left out" if corpus.left_out else ""
    files = len(corpus.documents)
    return f"{files} file{'s' * (files != 1)}{left}, {questions} question{'s' * (questions != 1)}\n"
