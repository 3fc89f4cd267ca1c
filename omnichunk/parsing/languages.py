"""Which language a text is in: the folders of ``grammars/`` read once, and the lookups over them.

Every folder is one language; its name is the canonical name. ``language.toml`` begins with the keys that detection
needs (``kind provider aliases suffixes filenames shebangs sniff``); what follows the first ``[table]`` describes
the grammar and is read by ``grammar.py`` only when that language is parsed. Adding a language adds a folder.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from omnichunk.errors import OptionError, PluginError, suggestion
from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Language

GRAMMARS = str(Path(__file__).parent.parent / "grammars")
PACK = "tree_sitter_language_pack"
HEAD = 4096
"""How many code points of a text are looked at to tell languages apart that share a suffix."""

A = TypeVar("A")
B = TypeVar("B")

_INTERPRETER = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z+_-]+)")


class Languages:
    """Declared languages with the lookups over them. Of several that claim a name, or what else, the first is found."""

    def __init__(self, declared: Iterable[Language]) -> None:
        by_name: dict[str, Language] = {}
        for language in declared:
            by_name.setdefault(language.name, language)
        self.by_name: Mapping[str, Language] = MappingProxyType(by_name)
        self._names: dict[str, str] = {}
        self._suffixes: dict[str, list[Language]] = {}
        self._files: dict[str, str] = {}
        self._prefixes: list[tuple[str, str]] = []
        self._shebangs: dict[str, str] = {}
        for language in by_name.values():
            for alias in language.aliases:
                self._names.setdefault(_plain(alias), language.name)
            for suffix in language.suffixes:
                self._suffixes.setdefault(suffix.lower(), []).append(language)
            for filename in language.filenames:
                if filename.endswith("*"):
                    self._prefixes.append((filename[:-1].lower(), language.name))
                else:
                    self._files.setdefault(filename.lower(), language.name)
            for interpreter in language.shebangs:
                self._shebangs.setdefault(interpreter, language.name)
        self._names.update({_plain(name): name for name in by_name})

    def canonical(self, name: str) -> str:
        """The canonical name for ``name`` or one of its aliases; case, ``-`` and ``_`` make no difference.

        Raises OptionError with a suggestion for a name nobody declares.
        """
        found = self._names.get(_plain(name))
        if found is None and name.lower() in pack_names():
            found = name.lower()
        if found is None:
            hint = suggestion(name, [*self._names, *pack_names()])
            raise OptionError(f'language: unknown language "{name}"{hint or "."}')
        return found

    def get(self, name: str) -> Language:
        """The declaration of a canonical name; a grammar that only the language pack knows gets a bare one."""
        found = self.by_name.get(name)
        return found if found is not None else Language(name)

    def detect(self, filepath: str, text_head: str = "") -> str:
        """The canonical language of a file, or an empty string when nothing tells.

        Decided by file name, then by the longest listed suffix (whatever its case), then by a ``#!`` line.
        ``text_head``: the first ``HEAD`` code points; where languages share a suffix their ``sniff`` patterns decide,
        in the order of names, and the one without a pattern is the default.
        """
        name = filepath.replace("\\", "/").rsplit("/", 1)[-1].lower()
        found = self._files.get(name)
        if found is not None:
            return found
        dot = name.find(".")
        while dot >= 0:
            sharing = self._suffixes.get(name[dot:])
            if sharing:
                return sharing[0].name if len(sharing) == 1 else _sniffed(sharing, text_head[:HEAD]).name
            dot = name.find(".", dot + 1)
        for prefix, language in self._prefixes:
            if name.startswith(prefix):
                return language
        shebang = _INTERPRETER.match(text_head[:256].lstrip("\ufeff"))
        return self._shebangs.get(shebang[1].lower(), "") if shebang else ""


def _sniffed(sharing: list[Language], head: str) -> Language:
    default = next((language for language in sharing if not language.sniff), sharing[0])
    for language in sharing:
        if language.sniff and re.search(language.sniff, head, re.MULTILINE):
            return language
    return default


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "").replace("_", "").replace(" ", "")


@cache
def builtin() -> Languages:
    """The languages of ``grammars/``, read once a process (about 10 ms)."""
    with os.scandir(GRAMMARS) as entries:
        folders = sorted(entry.path for entry in entries if not entry.name.startswith("."))
    return Languages(map(read_folder, folders))


def read_folder(folder: str) -> Language:
    """The declaration in ``folder/language.toml``. Raises PluginError when it is no such file."""
    with open(f"{folder}/language.toml", encoding="utf-8") as file:
        head, _, _ = ("\n" + file.read()).partition("\n[")
    table = _plain_head(head) or _toml(head, folder)
    unknown = set(table) - {"kind", "provider", "sniff", *_LISTS}
    if unknown:
        key = min(unknown)
        hint = suggestion(key, ("kind", "provider", "sniff", *_LISTS)) or "."
        raise PluginError(f'{folder}/language.toml: unknown key "{key}"{hint}')
    return Language(
        name=os.path.basename(folder),
        kind=table.get("kind", "code"),
        provider=table.get("provider", "code"),
        sniff=table.get("sniff", ""),
        folder=folder,
        **{key: tuple(table.get(key, ())) for key in _LISTS},
    )


_LISTS = ("aliases", "suffixes", "filenames", "shebangs")


def _plain_head(head: str) -> dict[str, Any]:
    """The keys of a head of one-line values, which but for literal strings are JSON; empty when it holds anything else.

    tomllib would take five times as long over all folders, and this is what a process waits for at its first file.
    """
    table: dict[str, Any] = {}
    for line in head.splitlines():
        key, _, value = line.partition(" = ")
        if not line or line.startswith("#"):
            continue
        if value.startswith("'''") and value.endswith("'''", 3):
            table[key] = value[3:-3]
            continue
        try:
            table[key] = json.loads(value)
        except ValueError:
            return {}
    return table


@cache
def read_tables(language: Language) -> dict[str, Any]:
    """The tables of the ``language.toml`` of ``language``: ``grammar nodes only fallback``; empty without a folder.

    What ``inherits`` in ``[grammar]`` names lends its tables, ``[grammar]`` apart, key by key.
    """
    *above, own = [_tables(inherited) for inherited in reversed(lineage(language))]
    lent: dict[str, Any] = {}
    for tables in above:
        for name, table in tables.items():
            if isinstance(table, dict) and name != "grammar":
                lent[name] = {**lent.get(name, {}), **table}
    return {**lent, **{k: {**lent.get(k, {}), **v} if isinstance(v, dict) else v for k, v in own.items()}}


def lineage(language: Language) -> tuple[Language, ...]:
    """``language``, the one it inherits from, the one that inherits from, and so on.

    Raises PluginError when the line leads back to itself or to a language that has no folder.
    """
    line = [language]
    while above := _tables(line[-1]).get("grammar", {}).get("inherits"):
        found = lookup(above)
        if not found.folder or found in line:
            why = "inherits from itself" if found in line else "has no folder to inherit from"
            raise PluginError(f'{line[-1].folder}/language.toml: inherits = "{above}": {above} {why}.')
        line.append(found)
    return tuple(line)


@cache
def _tables(language: Language) -> dict[str, Any]:
    """The ``language.toml`` of ``language`` alone."""
    if not language.folder:
        return {}
    return _toml(Path(language.folder, "language.toml").read_text("utf-8"), language.folder)


def _toml(text: str, folder: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PluginError(f"{folder}/language.toml: {error}") from None


@cache
def pack_names() -> frozenset[str]:
    """Names of the grammars in the installed language pack, found without importing it; empty when it is absent."""
    spec = find_spec(PACK)
    places = spec.submodule_search_locations if spec else None
    if not places:
        return frozenset()
    files = (file.name for place in places for file in Path(place, "bindings").glob("*.*"))
    names = {name.partition(".")[0] for name in files if name.endswith((".so", ".pyd", ".dylib"))}
    return frozenset(names | {"csharp", "embeddedtemplate", "yaml"})


@hookimpl
def omnichunk_languages() -> Iterable[Language]:
    """The folders of ``grammars/``."""
    return builtin().by_name.values()


_active: ContextVar[Languages | None] = ContextVar("omnichunk_languages", default=None)


def current() -> Languages:
    """The languages of the registry at whose request this runs; the built-in ones where there is none."""
    return _active.get() or builtin()


def using(languages: Languages, function: Callable[[A], B], argument: A) -> B:
    """``function(argument)``, with ``languages`` as the ``current`` ones for as long as it takes."""
    token = _active.set(languages)
    try:
        return function(argument)
    finally:
        _active.reset(token)


def lookup(name: str) -> Language:
    """The declaration of a canonical name: a plugin's, a built-in one, or a bare one for the language pack."""
    return current().get(name)


def languages() -> Mapping[str, Language]:
    """The built-in languages by canonical name."""
    return builtin().by_name


def canonical(name: str) -> str:
    """The canonical name of a built-in language, see ``Languages.canonical``."""
    return builtin().canonical(name)


def detect(filepath: str, text_head: str = "") -> str:
    """The built-in language of a file, see ``Languages.detect``."""
    return builtin().detect(filepath, text_head)
