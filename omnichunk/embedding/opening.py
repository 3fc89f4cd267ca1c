"""Embedding functions by name."""

from __future__ import annotations

import inspect
from typing import Any

from omnichunk.collect import label, told
from omnichunk.errors import ChunkingError, OptionError, PluginError, suggestion
from omnichunk.model.semantic import EmbedFunction
from omnichunk.registry import PluginRegistry, default_registry


def open_embedder(
    name: str, /, model: str = "", *, registry: PluginRegistry | None = None, **options: Any
) -> EmbedFunction:
    """The embedder called ``name`` with a ``model``, for ``semantic_embed_fn`` and everything else that embeds.

    ``model``: for ``sentence-transformers`` and ``model2vec`` a folder, or the name of a model that has been downloaded
    before (``download=True`` fetches it); for ``openai`` a name that the endpoint ``url=…`` knows. ``options``: what else
    the embedder takes. It loads its model when it is first called, can be sent to workers, and has a ``fingerprint``.
    Raises OptionError for a name or an option that is unknown, PluginError for an embedder that cannot be made.
    """
    registry = default_registry() if registry is None else registry
    if not isinstance(registry, PluginRegistry):
        raise OptionError(f"open_embedder(): registry={registry!r:.60}; a PluginRegistry is needed.")
    known = registry.embedders()
    if name not in known:
        listed = suggestion(str(name), known) or f"; there are {', '.join(known)}."
        raise OptionError(f'open_embedder(): there is no embedder "{name}"{listed}')
    if not model:
        raise OptionError(f"open_embedder(): {name} needs a model, such as a folder or the name of one.")
    make = known[name].make
    try:
        inspect.signature(make).bind(model, **options)
    except TypeError as error:
        raise OptionError(f"open_embedder(): {name}: {error}.") from None
    except ValueError:  # it does not tell what it takes
        pass
    try:
        made: Any = make(model, **options)
    except ChunkingError:
        raise
    except Exception as error:
        plugin = label(registry.provenance("embedders", name))
        raise PluginError(f"{plugin}: the embedder {name} raised {told(error)}") from error
    if not callable(made):
        plugin = label(registry.provenance("embedders", name))
        raise PluginError(f"{plugin}: the embedder {name} made {made!r:.60}, which cannot be called.")
    embed: EmbedFunction = made
    return embed
