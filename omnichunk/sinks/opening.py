"""From a name to a sink that is open."""

from __future__ import annotations

from typing import Any

from omnichunk.errors import OptionError, suggestion
from omnichunk.model.declarations import Sink
from omnichunk.registry import PluginRegistry, default_registry


def named_sink(where: str, name: str, registry: PluginRegistry | None = None) -> Sink:
    """The sink called ``name``. Raises OptionError with a suggestion when there is none."""
    sinks = (registry or default_registry()).sinks()
    if name not in sinks:
        hint = suggestion(str(name), sinks) or f"; there are {', '.join(sinks)}."
        raise OptionError(f'{where}: there is no sink called "{name}"{hint}')
    return sinks[name]


def open_sink(url: str, registry: PluginRegistry | None = None, **options: Any) -> Any:
    """The open sink that ``url`` names: ``lancedb:PATH``, ``qdrant:PATH``, ``chroma:PATH``, ``pgvector:CONNECTION``.

    What precedes the first colon is the name of the sink, what follows is its own affair: a folder, or the address of
    a server. ``options``: see the sink. Raises OptionError for an unknown name, MissingDependencyError when its client
    is not installed.
    """
    name, colon, rest = url.partition(":") if isinstance(url, str) else ("", "", "")
    if not colon or not rest:
        raise OptionError(f'open_sink(): {url!r}; a name and a place, such as "lancedb:./vectors", is needed.')
    return named_sink("open_sink()", name, registry).open(rest, **options)
