"""The options that several commands take, each with its help and its limits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Annotated, Any

import typer

MaxSize = Annotated[
    int | None, typer.Option("--max-size", help="Most a chunk may measure, context included.", show_default="1500")
]
MinSize = Annotated[
    int | None, typer.Option("--min-size", help="Merge neighbours smaller than this, if they fit.", show_default="50")
]
SizeUnit = Annotated[
    str | None, typer.Option("--size-unit", help="chars, nws (without white space) or tokens.", show_default="chars")
]
Tokenizer = Annotated[
    str | None,
    typer.Option("--tokenizer", help="A name, a tokenizer.json, or approximate; sizes need --size-unit tokens, too."),
]
ContextMode = Annotated[
    str | None,
    typer.Option("--context-mode", help="Context in the payload: full, minimal or none.", show_default="full"),
]
Glob = Annotated[list[str] | None, typer.Option("--glob", help="Only such files of folders, as in .gitignore.")]
Exclude = Annotated[list[str] | None, typer.Option("--exclude", help="Not such files of folders.")]
IncludeHidden = Annotated[bool, typer.Option("--include-hidden", help="Names with a leading dot, too.")]
MaxBytes = Annotated[int | None, typer.Option("--max-bytes", min=1, help="Skip larger files of folders.")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of text files; found out if not named.")]
Concurrency = Annotated[
    int | None,
    typer.Option("--concurrency", min=0, help="Worker processes; 0: none.", show_default="one a processor"),
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", min=0.001, help="Seconds a file may take.", show_default="120")
]
Others = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="Any other option of Chunker(), of loaders and plugins too: overflow_policy=preserve.",
    ),
]


def given(flags: Mapping[str, object], others: Iterable[str] | None) -> dict[str, Any]:
    """The options of flags that were used, and those of ``--option``, named as ``Chunker()`` names them.

    A value is JSON, unless the default is a string or none: then it is the text itself. Raises typer.BadParameter for
    what is no such option or given twice; what values may be, ``Chunker()`` knows.
    """
    options = {name: value for name, value in flags.items() if value is not None}
    for other in others or ():
        name, equals, value = other.partition("=")
        name = name.strip().replace("-", "_")
        if not name or not equals:
            raise typer.BadParameter(f"{other!r} is not NAME=VALUE", param_hint="--option")
        if name in options:
            raise typer.BadParameter(f"{name} is given twice", param_hint="--option")
        options[name] = _value(name, value)
    return options


def _value(name: str, value: str) -> Any:
    from omnichunk import Chunker, ChunkOptions, OptionError

    usual = {field.name: field.default for field in fields(ChunkOptions)} | dict(Chunker().registry.loader_options())
    del usual["loader_options"]  # each is named by itself
    if name not in usual:
        wrong: dict[str, Any] = {name: value}
        try:
            Chunker(**wrong)
        except OptionError as error:
            raise typer.BadParameter(str(error).removeprefix("Chunker(): "), param_hint="--option") from None
    if usual[name] is None or isinstance(usual[name], str):
        return value
    try:
        read = json.loads(value)
    except ValueError:
        return value
    return tuple(read) if isinstance(read, list) else read
