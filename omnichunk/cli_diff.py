"""``omnichunk diff``: what changed between two runs that were written as JSON Lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from omnichunk import Chunk

_REMEDY = "Name what omnichunk chunk --output FILE.jsonl has written."
_MARKS = {"added": "+", "removed": "-", "updated": "*", "moved": ">"}


def diff_command(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Chunks as they were, JSON Lines.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Chunks as they are, JSON Lines.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Status 1 when anything differs.")] = False,
) -> None:
    """Tell which chunks of NEW are added, updated or moved against OLD, and which are gone.

    Updated: the same text with other context or configuration, to be embedded again. Moved: the same chunk elsewhere.
    """
    from omnichunk import Chunk, chunk_diff, read_jsonl, stable_chunk_id
    from omnichunk.cli_output import unwritable
    from omnichunk.cli_store import put

    places: dict[str, dict[str, Any]] = {}

    def remembered() -> Iterator[Chunk]:
        for chunk in read_jsonl(old, Chunk):
            places[stable_chunk_id(chunk)] = _place(chunk)
            yield chunk

    try:
        found = chunk_diff(remembered(), read_jsonl(new, Chunk))
    except OSError as error:
        told = f"{error.filename}: cannot be read: {error.strerror}. {_REMEDY}"
        raise typer.BadParameter(told, param_hint="OLD, NEW") from None
    except ValueError as error:
        raise typer.BadParameter(f"{error} {_REMEDY}", param_hint="OLD, NEW") from None
    fresh = {stable_chunk_id(chunk): _place(chunk) for chunk in found.added}
    updated = {stable_chunk_id(chunk) for chunk in found.updated}
    rows = {
        "added": [{"id": key, **place} for key, place in fresh.items() if key not in updated],
        "removed": [{"id": key, **places[key]} for key in found.removed_ids if key not in updated],
        "updated": [{"id": key, **fresh[key]} for key in fresh if key in updated],
        "moved": [{"id": stable_chunk_id(chunk), **_place(chunk)} for chunk in found.moved],
    }
    counts = {**{name: len(listed) for name, listed in rows.items()}, "unchanged": len(found.unchanged)}
    try:
        if as_json:
            put(json.dumps({**rows, "counts": counts}) + "\n")
        else:
            for name, listed in rows.items():
                for row in listed:
                    lines = f"{row['lines'][0] + 1}-{row['lines'][1] + 1}"
                    put(f"{_MARKS[name]} {row['path']}:{lines}  {row['says']}\n")
        sys.stdout.flush()
    except OSError as error:
        raise typer.Exit(unwritable("standard output", error)) from None
    typer.echo(", ".join(f"{count:,} {name}" for name, count in counts.items()), err=True)
    if exit_code and any(rows.values()):
        raise typer.Exit(1)


def _place(chunk: Chunk) -> dict[str, Any]:
    """Where a chunk is, and what it says: its path, else its first words."""
    words = " ".join(chunk.text[:200].split())[:60]
    says = " > ".join(chunk.context.breadcrumb) or words
    return {"path": chunk.context.filepath, "lines": list(chunk.line_range), "says": " ".join(says.split())}
