"""Retrievers: what finds the payloads that answer a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from math import isfinite
from operator import index as whole
from typing import TYPE_CHECKING, Any

from omnichunk.collect import label, told
from omnichunk.embedding.calling import call
from omnichunk.embedding.opening import open_embedder
from omnichunk.embedding.vectors import unit_rows
from omnichunk.errors import ChunkingError, OptionError, PluginError, missing, suggestion
from omnichunk.source.words import WORD

if TYPE_CHECKING:
    from omnichunk.model.declarations import Retriever
    from omnichunk.registry import PluginRegistry

Found = tuple[int, float]
"""The number of a payload and its score; higher is better."""
Search = Callable[[str, int], Iterable[Found]]
"""``search(question, limit)``: the best payloads, best first, ``limit`` at most."""
Index = Callable[[Sequence[str]], Search]
"""``index(payloads)``: makes payloads searchable. This is what a retriever is."""

BATCH = 256


def words(text: str) -> list[str]:
    """What BM25 matches: words of two characters or more in lower case, and single ones of scripts without spaces."""
    return [word for word in WORD.findall(text.lower()) if len(word) > 1 or not word.isascii()]


def bm25(payloads: Sequence[str]) -> Search:
    """BM25 (k1 = 1.5, b = 0.75, the idf of Lucene) over ``words``, by bm25s. Payloads that share no word are not found.

    Raises MissingDependencyError without bm25s.
    """
    try:
        from bm25s import BM25
    except ImportError:
        raise missing("the retriever bm25", "bm25s", "eval") from None

    known: dict[str, int] = {}
    rows = [[known.setdefault(word, len(known)) for word in words(payload)] for payload in payloads]
    model = BM25()
    if known:
        model.index((rows, known), show_progress=False)

    def search(question: str, limit: int) -> list[Found]:
        asked = [known[word] for word in words(question) if word in known]
        return _best(model.get_scores(asked), limit) if asked else []

    return search


def embedding_retriever(embed: Callable[[list[str]], Any]) -> Index:
    """Cosine similarity of vectors: ``embed(texts)``, sync or async, gives one for each text.

    Payloads are embedded in batches of ``BATCH``, questions one by one. Exceptions of ``embed`` propagate; raises
    EmbeddingError for what is no vector for each text, MissingDependencyError without numpy.
    """

    def rows(texts: Sequence[str], dimension: int = 0) -> Any:
        return unit_rows(call(embed, list(texts)), len(texts), dimension, "embedding_retriever()")

    def embeddings(payloads: Sequence[str]) -> Search:
        try:
            import numpy as np
        except ImportError:
            raise missing("embedding_retriever()", "numpy", "eval") from None
        table = np.concatenate([rows(payloads[at : at + BATCH]) for at in range(0, len(payloads), BATCH)])

        def search(question: str, limit: int) -> list[Found]:
            return _best(table @ rows([question], table.shape[1])[0], limit, least=-2.0)

        return search

    return embeddings


def _best(scores: Any, limit: int, least: float = 0.0) -> list[Found]:
    """The best of an array of scores that are above ``least``; of equal ones the first."""
    above = (scores > least).nonzero()[0]
    best = above[(-scores[above]).argsort(kind="stable")[:limit]]
    return list(zip(best.tolist(), scores[best].tolist()))


def named(registry: PluginRegistry, name: str, options: Mapping[str, Any]) -> Index:
    """The retriever that is declared as ``name``, made with ``options``; or that of the embedder called so, see
    ``open_embedder``, one of whose options is ``model``.

    Raises OptionError with a suggestion when there is none. What a declared one raises becomes a PluginError that names it.
    """
    declared: Mapping[str, Retriever] = registry.declared("retrievers")
    embedders = registry.embedders()
    if name not in declared and name in embedders:
        if "registry" in options:
            raise OptionError(f'retriever: the embedder {name} has no option "registry".')
        return embedding_retriever(open_embedder(name, registry=registry, **options))
    if name not in declared:
        known = [*declared, *embedders]
        hint = suggestion(name, known) or f"; there are {', '.join(known)}."
        raise OptionError(f'retriever: there is none called "{name}"{hint}')
    who = f"{label(registry.provenance('retrievers', name))}: the retriever {name}"
    index = _guarded(declared[name].make, who)(**options)

    def guarded(payloads: Sequence[str]) -> Search:
        search = _guarded(index, who)(payloads)
        return _guarded(lambda question, limit: list(islice(search(question, limit), limit)), who)

    return guarded


def _guarded(function: Callable[..., Any], who: str) -> Callable[..., Any]:
    def called(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except ChunkingError:
            raise
        except Exception as error:
            raise PluginError(f"{who} raised {told(error)}") from error

    return called


def ranked(search: Search, question: str, limit: int, count: int) -> list[Found]:
    """What ``search`` finds, checked: PluginError unless it is ``limit`` numbers of ``count`` payloads at most, each once."""
    found: dict[int, float] = {}
    for item in islice(search(question, limit), limit):
        try:
            number, score = whole(item[0]), float(item[1])
            usable = len(item) == 2 and 0 <= number < count and number not in found and isfinite(score)
        except (TypeError, ValueError, LookupError, OverflowError):
            usable = False
        if not usable:
            raise PluginError(
                f"the retriever found {item!r:.60}; it gives pairs of the number of a payload, of {count}, each once, and "
                "a finite score."
            )
        found[number] = score
    return list(found.items())
