"""The options of semantic boundaries; `ChunkOptions` has them with all others."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Protocol

from omnichunk.errors import OptionError


class EmbedFunction(Protocol):
    """Texts to vectors, as many and in the same order: a sequence of sequences of numbers, an array, or an awaitable of one."""

    def __call__(self, texts: list[str], /) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticOptions:
    """How a change of topic becomes a boundary. Nothing of it counts, or enters a fingerprint, unless ``semantic`` is true.

    ``semantic_embed_fn``: the caller's function, sync or async, from a list of texts to a vector for each.
    ``semantic_window``: sentences on each side of a boundary that are compared. ``semantic_threshold``: cosine similarity
    (-1 to 1) below which the topic has changed; found for each document when ``None``. ``semantic_min_sentences``: fewest
    sentences between two changes. ``semantic_sentence_splitter(text)``: the sentences of a text, in order and verbatim;
    built in when ``None``.

    ``semantic_embed_cache_size``: vectors kept in memory, the least recently used go first; 0 keeps none.
    ``semantic_cache_path``: a file that keeps them for other processes. ``semantic_cache_namespace``,
    ``semantic_model_revision``, ``semantic_preprocessing``: what else, beside the function, vectors depend on; each tells
    cached vectors apart and enters the fingerprint.
    """

    semantic: bool = False
    semantic_embed_fn: EmbedFunction | None = field(default=None, hash=False)
    semantic_window: int = 3
    semantic_threshold: float | None = None
    semantic_min_sentences: int = 2
    semantic_sentence_splitter: Callable[[str], Any] | None = field(default=None, hash=False)
    semantic_embed_cache_size: int = 10_000
    semantic_cache_path: str | os.PathLike[str] | None = None
    semantic_cache_namespace: str | None = None
    semantic_model_revision: str | None = None
    semantic_preprocessing: str | None = None

    def check_semantic(self) -> None:
        """Raise OptionError for a value, or a combination, that cannot work."""
        if not isinstance(self.semantic, bool):
            raise OptionError(f"semantic={self.semantic!r}; True or False is needed.")
        for name in ("semantic_embed_fn", "semantic_sentence_splitter"):
            if (value := getattr(self, name)) is not None and not callable(value):
                raise OptionError(f"{name}={value!r:.80}; a callable is needed.")
        for name, least in (
            ("semantic_window", 1), ("semantic_min_sentences", 1), ("semantic_embed_cache_size", 0),
        ):  # fmt: skip
            if type(value := getattr(self, name)) is not int or value < least:
                raise OptionError(f"{name}={value!r}; a whole number of at least {least} is needed.")
        threshold = self.semantic_threshold
        if threshold is not None and not (
            type(threshold) in (int, float) and isfinite(threshold) and -1 <= threshold <= 1
        ):
            raise OptionError(f"semantic_threshold={threshold!r}; a number from -1 to 1, or None, is needed.")
        for name in ("semantic_cache_namespace", "semantic_model_revision", "semantic_preprocessing"):
            if (value := getattr(self, name)) is not None and not (isinstance(value, str) and value):
                raise OptionError(f"{name}={value!r}; a non-empty string or None is needed.")
        path = self.semantic_cache_path
        if path is not None and not (
            isinstance(path, (str, os.PathLike)) and os.fspath(path) and "\0" not in os.fsdecode(path)
        ):
            raise OptionError(f"semantic_cache_path={path!r}; the path of a file, or None, is needed.")
        if self.semantic and self.semantic_embed_fn is None:
            raise OptionError(
                "semantic=True needs semantic_embed_fn: a function from a list of texts to their vectors, "
                "such as open_embedder(…) gives."
            )
        if self.semantic and path is not None and not self.identified:
            raise OptionError(
                f"semantic_cache_path={os.fspath(path)!r} outlives this process, so what made its vectors must be known: "
                "give semantic_embed_fn an attribute fingerprint, or set both semantic_cache_namespace and "
                "semantic_model_revision."
            )

    @property
    def identified(self) -> bool:
        """Whether vectors made later, or elsewhere, are known to be the same."""
        declared = getattr(self.semantic_embed_fn, "fingerprint", None)
        return (isinstance(declared, str) and bool(declared)) or bool(
            self.semantic_cache_namespace and self.semantic_model_revision
        )

    def semantic_record(self) -> dict[str, object]:
        """What of these options changes chunks, for the fingerprint; nothing when they are not in use."""
        if not self.semantic:
            return {}
        names = ("semantic_embed_fn", "semantic_window", "semantic_min_sentences", "semantic_sentence_splitter",
                 "semantic_cache_namespace", "semantic_model_revision", "semantic_preprocessing")  # fmt: skip
        threshold = self.semantic_threshold
        return {
            "semantic_threshold": None if threshold is None else float(threshold),
            **{name: getattr(self, name) for name in names},
        }
