"""Which language a text is in: the folders of ``grammars/`` read once, and the lookups over them.

Every folder is one language; its name is the canonical name. ``language.toml`` begins with the keys that detection
needs (``kind provider aliases suffixes filenames shebangs sniff``); what follows the first ``[table]`` describes
the grammar and is read by ``grammar.py`` only when that language is parsed. Adding a language adds a folder.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from omnichunk.errors import OptionError, PluginError, suggestion
from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Language

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GRAMMARS = Path(__file__).parent.parent / "grammars"
PACK = "tree_sitter_language_pack"
HEAD = 4096
"""How many code points of a text are looked at to tell languages apart that share a suffix."""

_INTERPRETER = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z+_-]+)")


class Languages:
    """Declared languages with the lookups over them. A later declaration of the same name replaces the earlier one."""

    def __init__(self, declared: Iterable[Language]) -> None:
        by_name = {language.name: language for language in declared}
        self.by_name: Mapping[str, Language] = MappingProxyType(by_name)
        self._names: dict[str, str] = {}
        self._suffixes: dict[str, list[Language]] = {}
        self._files: dict[str, str] = {}
        self._prefixes: list[tuple[str, str]] = []
        self._shebangs: dict[str, str] = {}
        for language in by_name.values():
            for alias in language.aliases:
                self._names[_plain(alias)] = language.name
            for suffix in language.suffixes:
                self._suffixes.setdefault(suffix.lower(), []).append(language)
            for filename in language.filenames:
                if filename.endswith("*"):
                    self._prefixes.append((filename[:-1].lower(), language.name))
                else:
                    self._files[filename.lower()] = language.name
            for interpreter in language.shebangs:
                self._shebangs[interpreter] = language.name
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


@lru_cache(maxsize=1)
def builtin() -> Languages:
    """The languages of ``grammars/``, read once a process."""
    return Languages(
        read_folder(folder) for folder in sorted(GRAMMARS.iterdir()) if (folder / "language.toml").is_file()
    )


def read_folder(folder: Path) -> Language:
    """The declaration in ``folder/language.toml``. Raises PluginError when it is no such file."""
    head = (folder / "language.toml").read_text("utf-8")
    table = _toml(head.partition("\n[")[0] if not head.startswith("[") else "", folder)
    keys = ("aliases", "suffixes", "filenames", "shebangs")
    unknown = set(table) - {"kind", "provider", "sniff", *keys}
    if unknown:
        key = min(unknown)
        raise PluginError(
            f'{folder}/language.toml: unknown key "{key}"{suggestion(key, ("kind", "provider", *keys)) or "."}'
        )
    return Language(
        name=folder.name,
        kind=table.get("kind", "code"),
        provider=table.get("provider", "code"),
        sniff=table.get("sniff", ""),
        folder=str(folder),
        **{key: tuple(table.get(key, ())) for key in keys},
    )


def read_tables(language: Language) -> dict[str, Any]:
    """The tables of the ``language.toml`` of ``language``: ``grammar nodes fallback``; empty without a folder."""
    if not language.folder:
        return {}
    return _toml((Path(language.folder) / "language.toml").read_text("utf-8"), Path(language.folder))


def _toml(text: str, folder: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PluginError(f"{folder}/language.toml: {error}") from None


@lru_cache(maxsize=1)
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


def languages() -> Mapping[str, Language]:
    """The built-in languages by canonical name."""
    return builtin().by_name


def canonical(name: str) -> str:
    """The canonical name of a built-in language, see ``Languages.canonical``."""
    return builtin().canonical(name)


def detect(filepath: str, text_head: str = "") -> str:
    """The built-in language of a file, see ``Languages.detect``."""
    return builtin().detect(filepath, text_head)
