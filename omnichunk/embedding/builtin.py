"""The embedders that come with the package; what they need is imported when they are called."""

from __future__ import annotations

from collections.abc import Iterable

from omnichunk.embedding.endpoint import Endpoint
from omnichunk.embedding.models import SentenceTransformer, StaticModel
from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Embedder


@hookimpl
def omnichunk_embedders() -> Iterable[Embedder]:
    """Models on this machine, and endpoints that speak as that of OpenAI does."""
    return [
        Embedder("sentence-transformers", SentenceTransformer),
        Embedder("model2vec", StaticModel),
        Embedder("openai", Endpoint),
    ]
