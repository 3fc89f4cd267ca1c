"""Options: every choice a caller has, checked once, when the value is made.

Option names come from callers, so they go through `build`, which knows who asks (``Chunker()``, ``chunk()``), tells
loader options from its own and answers an unknown name with a suggestion. `ChunkOptions` itself checks values and
combinations, however it is made: `dataclasses.replace` is as safe as the constructor.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from itertools import pairwise
from math import floor
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from omnichunk.errors import OptionError, UnknownOptionError, suggestion
from omnichunk.model.semantic import SemanticOptions

SizeUnit = Literal["chars", "nws", "tokens"]
CoveragePolicy = Literal["retrieval", "lossless"]
OverflowPolicy = Literal["split", "error", "preserve"]
ContextOverflow = Literal["omit", "error"]
ContextMode = Literal["full", "minimal", "none"]
AlgorithmVersion = Literal["2.1"]
SiblingDetail = Literal["none", "names"]

ALGORITHM_VERSION: AlgorithmVersion = "2.1"
"""The behaviour this code implements, as the option of that name and every record of it call it."""
ALGORITHM_REVISION = 1
"""Raised with every release that cuts or renders some source in another way; by it indexes know that they are old."""

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "size_unit": get_args(SizeUnit),
    "coverage_policy": get_args(CoveragePolicy),
    "overflow_policy": get_args(OverflowPolicy),
    "context_overflow": get_args(ContextOverflow),
    "context_mode": get_args(ContextMode),
    "algorithm_version": get_args(AlgorithmVersion),
    "sibling_detail": get_args(SiblingDetail),
}
_ALWAYS_TRUE = ("preserve_decorators", "preserve_comments", "include_header_in_sections")
_NAMES = ("source_id", "renderer", "loader")  # a non-empty string or None


class _DefaultMinimum(int):
    """A minimum nobody asked for: it gives way to a smaller maximum and grows back with a larger one.

    The type remembers what a plain 50 could not: whether the caller chose it. It survives `dataclasses.replace`.
    """

    __slots__ = ()


_DEFAULT_MINIMUM = _DefaultMinimum(50)


def is_default_minimum(value: int) -> bool:
    """Whether a ``min_chunk_size`` is one that nobody asked for."""
    return isinstance(value, _DefaultMinimum)


class FrozenOptions(Mapping[str, object]):
    """A read-only copy of a mapping that, unlike a mapping proxy, can be pickled and deep-copied."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, object] = MappingProxyType({})) -> None:
        self._items = dict(items)

    def __getitem__(self, name: str) -> object:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions(SemanticOptions):
    """How to chunk. Sizes are in units of ``size_unit``: code points, non-white-space code points or tokens.

    ``max_chunk_size``: limit of the final rendered payload. ``min_chunk_size``: a preference of packing; the default
    of 50 is lowered to a smaller maximum, a minimum that was asked for is not. ``tokenizer``: a name (of a plugin, a
    tiktoken encoding or model, or ``"approximate"``), the path of a ``tokenizer.json``, a tokenizer object, or a
    callable that counts; needed for ``size_unit="tokens"``. ``coverage_policy``: ``retrieval`` drops chunks of white
    space only, ``lossless`` keeps every byte. ``overflow_policy``: what to do with a unit above the maximum: ``split``,
    ``error`` or ``preserve``. ``context_overflow``: context that does not fit is left out (``omit``) or an ``error``.
    ``context_mode``: what the payload says beyond its text: ``full``, ``minimal`` or ``none``.

    ``target_fill``: share of the maximum that packing aims at, above 0 and at most 1. ``overlap``: raw text repeated
    from the chunk before, in units (int) or as a fraction of the maximum (float), always less than the maximum.
    ``overlap_lines``: lines before the chunk that its rendered context repeats. ``include_imports``,
    ``sibling_detail``: show imports, names of neighbouring entities. ``renderer``, ``loader``: by name, instead of
    the usual ones. ``language``: name or alias; empty means recognized from the file name. ``source_id``: the source's
    stable identity; its label if not given. ``loader_options``: what loaders declare, such as ``pdf_password``.

    ``parent_sizes``: maxima of larger chunks, largest first, that each chunk lies in; see ``Chunker.hierarchical_chunk``.
    ``semantic`` and what begins with it: boundaries where the topic changes, see ``SemanticOptions``.

    ``preserve_decorators``, ``preserve_comments`` and ``include_header_in_sections`` are always true.
    Raises OptionError for a value or a combination that cannot work.
    """

    max_chunk_size: int = 1500
    min_chunk_size: int = _DEFAULT_MINIMUM
    size_unit: SizeUnit = "chars"
    tokenizer: object = field(default=None, hash=False)
    coverage_policy: CoveragePolicy = "retrieval"
    overflow_policy: OverflowPolicy = "split"
    context_overflow: ContextOverflow = "omit"
    context_mode: ContextMode = "full"
    algorithm_version: AlgorithmVersion = ALGORITHM_VERSION
    target_fill: float = 0.65
    overlap: int | float = 0
    overlap_lines: int = 0
    include_imports: bool = False
    sibling_detail: SiblingDetail = "none"
    language: str = ""
    source_id: str | None = None
    renderer: str | None = None
    loader: str | None = None
    loader_options: Mapping[str, object] = field(default_factory=FrozenOptions, hash=False)
    parent_sizes: tuple[int, ...] = ()
    preserve_decorators: bool = True
    preserve_comments: bool = True
    include_header_in_sections: bool = True

    def __post_init__(self) -> None:
        _whole("max_chunk_size", self.max_chunk_size, 1)
        if isinstance(self.min_chunk_size, _DefaultMinimum):
            object.__setattr__(self, "min_chunk_size", _DefaultMinimum(min(_DEFAULT_MINIMUM, self.max_chunk_size)))
        self._check_sizes()
        self._check_words()
        self._check_parents()
        self.check_semantic()
        if not isinstance(self.loader_options, FrozenOptions):
            if not isinstance(self.loader_options, Mapping):
                raise OptionError(f"loader_options={self.loader_options!r}; a mapping of names to values is needed.")
            object.__setattr__(self, "loader_options", FrozenOptions(self.loader_options))

    def _check_sizes(self) -> None:
        _whole("min_chunk_size", self.min_chunk_size, 0)
        if self.min_chunk_size > self.max_chunk_size:
            raise OptionError(
                f"min_chunk_size={self.min_chunk_size} is above max_chunk_size={self.max_chunk_size}. "
                "Lower the minimum or raise the maximum."
            )
        if type(self.target_fill) not in (int, float) or not 0 < self.target_fill <= 1:
            raise OptionError(f"target_fill={self.target_fill!r}; a number above 0 and up to 1 is needed.")
        if not isinstance(self.overlap, float):
            _whole("overlap", self.overlap, 0)
            if self.overlap >= self.max_chunk_size:
                raise OptionError(
                    f"overlap={self.overlap} leaves no room for new text; it must be less than "
                    f"max_chunk_size={self.max_chunk_size}."
                )
        elif not 0 <= self.overlap < 1:
            raise OptionError(
                f"overlap={self.overlap!r}; as a fraction of the maximum it must be at least 0.0 and below 1.0. "
                "For a number of units pass an int."
            )
        _whole("overlap_lines", self.overlap_lines, 0)
        if self.overlap and self.overlap_lines:
            raise OptionError(
                f"overlap={self.overlap!r} and overlap_lines={self.overlap_lines} exclude each other. Set one to 0."
            )
        if self.overlap_lines and self.context_mode == "none":
            raise OptionError(
                f'overlap_lines={self.overlap_lines} is rendered context, and context_mode="none" renders none. '
                'Use context_mode="minimal", or overlap.'
            )

    def _check_parents(self) -> None:
        sizes = self.parent_sizes
        if not isinstance(sizes, (tuple, list)):
            raise OptionError(f"parent_sizes={sizes!r:.80}; a tuple of sizes is needed.")
        for size in sizes:
            _whole("parent_sizes", size, 1)
        if any(larger <= smaller for larger, smaller in pairwise([*sizes, self.max_chunk_size])):
            raise OptionError(
                f"parent_sizes={tuple(sizes)!r} with max_chunk_size={self.max_chunk_size}; each must be larger than the "
                "one that follows, and all larger than the maximum."
            )
        if sizes and self.overlap:
            raise OptionError(f"overlap={self.overlap!r} would reach out of the parents; parent_sizes needs overlap=0.")
        object.__setattr__(self, "parent_sizes", tuple(sizes))

    def _check_words(self) -> None:
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                raise OptionError(f"{name}={value!r}; choose {_listed(choices)}.")
        for name in _ALWAYS_TRUE:
            if (value := getattr(self, name)) is not True:
                raise OptionError(f"{name}={value!r}; it is kept for compatibility and can only be True.")
        if not isinstance(self.include_imports, bool):
            raise OptionError(f"include_imports={self.include_imports!r}; True or False is needed.")
        for name in _NAMES:
            if (value := getattr(self, name)) is not None and not (isinstance(value, str) and value):
                raise OptionError(f"{name}={value!r}; a non-empty string or None is needed.")
        if not isinstance(self.language, str):
            raise OptionError(f"language={self.language!r}; the name of a language, or an empty string, is needed.")
        if self.tokenizer is None:
            if self.size_unit == "tokens":
                raise OptionError(
                    'size_unit="tokens" needs a tokenizer: a name such as "cl100k_base", a tokenizer.json, '
                    'a counting callable, or "approximate".'
                )
        elif not _may_count(self.tokenizer):
            raise OptionError(
                f"tokenizer={self.tokenizer!r}; a name, a path, a tokenizer object or a counting callable is needed."
            )

    @property
    def overlap_size(self) -> int:
        """The overlap asked for, in units; a fraction of the maximum is rounded down."""
        if isinstance(self.overlap, int):
            return self.overlap
        return floor(round(self.overlap * self.max_chunk_size, 6))  # 0.29 of 100 is 29, not 28.999999999999996


_OWN = frozenset(f.name for f in fields(ChunkOptions))
_SEMANTIC = frozenset(f.name for f in fields(SemanticOptions))
_OFTEN_MEANT = {"chunk_size": "max_chunk_size", "max_size": "max_chunk_size", "chunk_overlap": "overlap"}


def build(
    where: str,
    base: ChunkOptions | None,
    given: Mapping[str, object],
    loader_options: Mapping[str, object] = MappingProxyType({}),
) -> ChunkOptions:
    """``base`` (or the defaults) with what was ``given`` by name.

    ``where``: who asks, for messages: ``Chunker()``. ``loader_options``: names that loaders declare, with defaults;
    given ones are collected in ``ChunkOptions.loader_options`` over those of ``base``, and must have the type of their
    default unless that is ``None``. Raises UnknownOptionError for any other name, OptionError for a wrong value.
    """
    own: dict[str, Any] = {}
    extra: dict[str, object] = {}
    for name, value in given.items():
        (own if name in _OWN else extra)[name] = value
    collected = own.pop("loader_options", {})
    if not isinstance(collected, Mapping):
        raise OptionError(f"{where}: loader_options={collected!r}; a mapping of names to values is needed.")
    extra = {**collected, **extra}
    for name, value in extra.items():
        if name not in loader_options:
            hint = suggestion(_OFTEN_MEANT.get(name, name), sorted([*_OWN, *loader_options]))
            hint = hint or "; the options are the fields of ChunkOptions."
            raise UnknownOptionError(f'{where}: unknown option "{name}"{hint}')
        _same_type(where, name, value, loader_options[name])
    if extra:
        own["loader_options"] = {**(base.loader_options if base else {}), **extra}
    try:
        return replace(base, **own) if base else ChunkOptions(**own)
    except OptionError as error:
        raise type(error)(f"{where}: {error}") from None


def tokenizer_path(tokenizer: object) -> Path | None:
    """The file a tokenizer is read from, if it is given as a path or as a string that ends in ``.json``."""
    if isinstance(tokenizer, str):
        return Path(tokenizer) if tokenizer.endswith(".json") else None
    return Path(tokenizer) if isinstance(tokenizer, os.PathLike) else None


def fingerprint(options: ChunkOptions) -> str:
    """SHA-256, hexadecimal, of every option that changes chunks; preceded by ``unknown:`` if one has no known identity.

    All options that are in use enter, and the revision of the algorithm; except ``source_id``, which says whose chunks
    they are and not what they are, where embeddings are cached, and loader options named ``…password``, since a digest
    must not help to guess a secret. An overlap enters as units, so 0.1 of 1,000 equals 100. A ``tokenizer.json`` enters
    by content, not by path. An object or callable enters by its attribute ``fingerprint`` (a non-empty string); without
    one two of them cannot be told apart, hence the mark. An embedding function is known by its namespace and model
    revision, too, if both are given.
    """
    return fingerprint_and_hold(options)[0]


def fingerprint_and_hold(options: ChunkOptions) -> tuple[str, bool]:
    """``fingerprint``, and whether it holds for good: no object entered it that may come to declare another identity."""
    known = plain = True

    def described(value: object) -> object:
        nonlocal known, plain
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        declared = getattr(value, "fingerprint", None)
        if isinstance(declared, str) and declared:
            plain = False
            return {"fingerprint": declared}
        if isinstance(value, os.PathLike):
            return {"path": os.fspath(value)}
        known, plain = known and value is options.semantic_embed_fn and options.identified, False
        return "unknown"

    record = {
        name: getattr(options, name) for name in _OWN - _SEMANTIC - {"source_id", "loader_options", *_ALWAYS_TRUE}
    }
    record |= options.semantic_record()
    if not record["parent_sizes"]:
        del record["parent_sizes"]
    record["algorithm_revision"] = ALGORITHM_REVISION
    record["overlap"] = options.overlap_size
    record["target_fill"] = float(options.target_fill)
    record["loader_options"] = {k: v for k, v in options.loader_options.items() if not k.endswith("password")}
    if (path := tokenizer_path(options.tokenizer)) is not None and path.is_file():
        record["tokenizer"] = {"file": sha256(path.read_bytes()).hexdigest()}
    digest = sha256(json.dumps(record, sort_keys=True, default=described).encode()).hexdigest()
    return digest if known else f"unknown:{digest}", plain


def _whole(name: str, value: object, least: int) -> None:
    """Raise OptionError unless ``value`` is an int, no bool, of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise OptionError(f"{name}={value!r}; a whole number of at least {least} is needed.")


def _may_count(tokenizer: object) -> bool:
    """Whether ``tokenizer`` is of a kind that can name or be a tokenizer; which one is looked up by the sizer."""
    if isinstance(tokenizer, str):
        return bool(tokenizer)
    return isinstance(tokenizer, os.PathLike) or callable(tokenizer) or hasattr(tokenizer, "encode")


def _same_type(where: str, name: str, value: object, default: object) -> None:
    """Raise OptionError unless ``value`` has the type of its ``default``; a default of ``None`` admits anything."""
    expected = (int, float) if isinstance(default, float) else type(default)
    if default is None or (isinstance(value, expected) and isinstance(value, bool) is isinstance(default, bool)):
        return
    raise OptionError(f"{where}: {name}={value!r}; a value of type {type(default).__name__} is needed.")


def _listed(words: tuple[str, ...]) -> str:
    """``"a", "b" or "c"``."""
    quoted = [f'"{word}"' for word in words]
    return " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
