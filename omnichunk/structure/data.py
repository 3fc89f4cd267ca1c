"""The structure providers for data files. Each scanner is imported when its first file comes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import StructureProvider

if TYPE_CHECKING:
    from omnichunk.model.declarations import StructureRequest
    from omnichunk.model.span import Structure

ROOMS = {
    "json": "data_json",
    "jsonl": "data_json",
    "yaml": "data_keys",
    "toml": "data_keys",
    "ini": "data_keys",
    "csv": "tables",
    "tsv": "tables",
}


def _spans(language: str) -> Callable[[StructureRequest], Structure]:
    def spans(request: StructureRequest) -> Structure:
        room = import_module(f"omnichunk.structure.{ROOMS[language]}")
        structure: Structure = getattr(room, f"{language}_structure")(request)
        return structure

    return spans


@hookimpl
def omnichunk_structure() -> list[StructureProvider]:
    """JSON, JSON Lines, YAML, TOML, INI, CSV and TSV."""
    return [StructureProvider(name=language, kinds=(language,), spans=_spans(language)) for language in ROOMS]
