"""Embedding functions by name."""

from __future__ import annotations

import inspect
from typing import Any

from omnichunk.errors import OptionError, suggestion
from omnichunk.model.semantic import EmbedFunction
from omnichunk.registry import PluginRegistry, default_registry


def open_embedder(name: str, model: str, *, registry: PluginRegistry | None = None, **options: Any) -> EmbedFunction:
    """The embedder called ``name`` with a ``model``, for ``semantic_embed_fn`` and everything else that embeds.

    ``model``: for ``sentence-transformers`` and ``model2vec`` a folder, or the name of a model that has been downloaded
    before (``download=True`` fetches it); for ``openai`` a name that the endpoint ``url=…`` knows. ``options``: what else
    the embedder takes. It loads its model when it is first called, can be sent to workers, and has a ``fingerprint``.
    Raises OptionError for a name or an option that is unknown.
    """
    known = (registry or default_registry()).embedders()
    if name not in known:
        listed = suggestion(str(name), known) or f"; there are {', '.join(known)}."
        raise OptionError(f'open_embedder(): there is no embedder "{name}"{listed}')
    make = known[name].make
    try:
        inspect.signature(make).bind(model, **options)
    except TypeError as error:
        raise OptionError(f"open_embedder(): {name}: {error}.") from None
    embed: EmbedFunction = make(model, **options)
    return embed
