"""What plugins declare is foreign data: it is checked, and brought to the form it is looked up in, when it comes in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from omnichunk.errors import PluginError
from omnichunk.model.declarations import (
    Embedder,
    Formatter,
    Language,
    Loader,
    Parser,
    Renderer,
    Retriever,
    Sink,
    Strategy,
    StructureProvider,
    Tokenizer,
)
from omnichunk.model.options import ChunkOptions

KINDS: Mapping[str, type] = {
    "loaders": Loader,
    "languages": Language,
    "structure": StructureProvider,
    "parsers": Parser,
    "tokenizers": Tokenizer,
    "renderers": Renderer,
    "retrievers": Retriever,
    "formatters": Formatter,
    "sinks": Sink,
    "embedders": Embedder,
    "strategies": Strategy,
}
"""What a hook ``omnichunk_<kind>`` returns."""
RESERVED: Mapping[str, frozenset[str]] = {
    "tokenizers": frozenset({"approximate"}),
    "formatters": frozenset({"jsonl", "json", "csv", "text"}),
}
"""Names with a meaning of their own that no declaration stands for."""
CLAIMING = ("loaders", "languages", "structure")
"""Kinds whose declarations claim more than their name."""
_TAKEN = {f.name for f in fields(ChunkOptions)} | {"registry", "encoding"}


def key_of(kind: str, declaration: Any) -> str:
    """What a declaration is found by: the language of a parser, else its name."""
    return str(declaration.language if kind == "parsers" else declaration.name)


def claims_of(declaration: Any, strange: bool = True) -> frozenset[str]:
    """What else than its name can belong to one declaration only, as ``suffix '.srt'``.

    Languages may share a suffix when a ``sniff`` pattern tells them apart. What is not ``strange`` but built in yields
    its suffixes and the like to whoever claims them, and keeps its names.
    """
    if isinstance(declaration, Language):
        names = (declaration.name, *declaration.aliases)
        claimed = {"name": tuple({re.sub("[-_ ]", "", name.lower()) for name in names})}
        if strange:
            claimed["suffix"] = () if declaration.sniff else declaration.suffixes
            claimed["file name"] = tuple(map(str.lower, declaration.filenames))
            claimed["interpreter"] = declaration.shebangs
    elif isinstance(declaration, Loader) and strange:
        claimed = {"suffix": declaration.suffixes, "media type": declaration.media_types}
    elif isinstance(declaration, StructureProvider) and strange:
        claimed = {"language": declaration.kinds}
    else:
        return frozenset()
    return frozenset(f"{what} {value!r}" for what, values in claimed.items() for value in values)


def sound(declaration: Any) -> Any:
    """``declaration`` with its sequences as tuples and its suffixes in lower case.

    Raises PluginError naming the field that cannot work: ``Loader "srt": suffixes='.srt'; …``.
    """
    made = type(declaration).__name__
    changed = {}
    for field in fields(declaration):
        value = getattr(declaration, field.name)
        check = _CHECKS.get(f"{made}.{field.name}") or _CHECKS[field.name]
        try:
            form = check(value)
        except ValueError as error:
            name = getattr(declaration, "name", "") or getattr(declaration, "language", "")
            who = f'{made} "{name}"' if isinstance(name, str) and name else made
            raise PluginError(f"{who}: {field.name}={_short(value)}; {error}") from None
        if form is not value:
            changed[field.name] = form
    return replace(declaration, **changed) if changed else declaration


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a foreign value may raise anything
        return f"<a {type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _name(value: Any) -> Any:
    if not isinstance(value, str) or not value.isprintable() or not value or value != value.strip() or len(value) > 100:
        raise ValueError("a name of 1 to 100 printable characters is needed.")
    return value


def _function(value: Any) -> Any:
    if not callable(value):
        raise ValueError("a callable is needed.")
    return value


def _words(value: Any) -> Any:
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, frozenset, set)):
        raise ValueError("a tuple of strings is needed.")
    if not all(isinstance(word, str) and word for word in value):
        raise ValueError("each must be a non-empty string.")
    return value if isinstance(value, tuple) else tuple(sorted(value) if isinstance(value, (frozenset, set)) else value)


def _lower(value: Any) -> Any:
    words = _words(value)
    small = tuple(map(str.lower, words))
    return words if small == words else small


def _suffixes(value: Any) -> Any:
    found = _lower(value)
    if not all(suffix.startswith(".") and len(suffix) > 1 and not set(suffix) & {"/", "\\"} for suffix in found):
        raise ValueError('each must be like ".srt".')
    return found


def _options(value: Any) -> Any:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) and name.isidentifier() for name in value):
        raise ValueError("a mapping of option names to defaults is needed.")
    if taken := sorted(_TAKEN & set(value)):
        raise ValueError(f'"{taken[0]}" is an option already; call it by another name.')
    return value


def _folder(value: Any) -> Any:
    if not isinstance(value, str) or (value and not Path(value, "language.toml").is_file()):
        raise ValueError("the path of a directory with a language.toml is needed.")
    return value


def _pattern(value: Any) -> Any:
    try:
        re.compile(value, re.MULTILINE)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"a regular expression is needed: {error}.") from None
    if not isinstance(value, str):
        raise ValueError("a regular expression is needed, as a string.")
    return value


def _kind(value: Any) -> Any:
    if value not in ("code", "prose", "markup", "data"):
        raise ValueError('"code", "prose", "markup" or "data" is needed.')
    return value


def _flag(value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError("True or False is needed.")
    return value


def _by(check: Callable[[Any], Any], names: Iterable[str]) -> dict[str, Callable[[Any], Any]]:
    return dict.fromkeys(names, check)


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    **_by(_name, ("name", "language", "provider")),
    **_by(_function, ("load", "spans", "parse", "make", "render", "format", "open")),
    **_by(_words, ("kinds", "aliases", "filenames", "shebangs")),
    **_by(_suffixes, ("suffixes",)),
    **_by(_lower, ("media_types",)),
    **_by(_options, ("options",)),
    **_by(_flag, ("binary",)),
    **_by(_kind, ("kind",)),
    **_by(_folder, ("folder",)),
    "Loader.sniff": lambda value: value if value is None else _function(value),
    "Language.sniff": _pattern,
    "Sink.row": lambda value: value if value is None else _function(value),
}
"""Field of a declaration, where need be with its class, -> what checks it and brings it into form."""
