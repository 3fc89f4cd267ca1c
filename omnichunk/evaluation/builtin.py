"""The built-in retriever, declared as a plugin would."""

from __future__ import annotations

from collections.abc import Iterable

from omnichunk.evaluation.retrievers import Index, bm25
from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Retriever


def _bm25() -> Index:
    return bm25


@hookimpl
def omnichunk_retrievers() -> Iterable[Retriever]:
    return (Retriever("bm25", _bm25),)
