"""The options that several commands take, each with its help and its limits."""

from __future__ import annotations

from typing import Annotated

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
Tokenizer = Annotated[str | None, typer.Option("--tokenizer", help="A name, a tokenizer.json, or approximate.")]
ContextMode = Annotated[
    str | None,
    typer.Option("--context-mode", help="Context in the payload: full, minimal or none.", show_default="full"),
]
Glob = Annotated[list[str] | None, typer.Option("--glob", help="Only such files of folders, as in .gitignore.")]
Exclude = Annotated[list[str] | None, typer.Option("--exclude", help="Not such files of folders.")]
IncludeHidden = Annotated[bool, typer.Option("--include-hidden", help="Names with a leading dot, too.")]
MaxBytes = Annotated[int | None, typer.Option("--max-bytes", min=1, help="Skip larger files of folders.")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of text files; found out if not named.")]
Concurrency = Annotated[int | None, typer.Option("--concurrency", min=0, help="Workers; as processors. 0: no worker.")]
Timeout = Annotated[
    float | None, typer.Option("--timeout", min=0.001, help="Seconds a file may take.", show_default="120")
]
