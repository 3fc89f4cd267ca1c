"""The plugins of one registry: how they come in, what each declares, where they collide, what identifies them.

Built-ins are named here as strings and come in through the same hooks as strangers, each imported when something it
declares is first asked for. Every set has its own plugin manager; nothing is shared between two of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from omnichunk import hookspecs
from omnichunk.errors import ChunkingError, OptionError, PluginError, suggestion
from omnichunk.model.declarations import (
    Formatter,
    Language,
    Loader,
    Parser,
    Renderer,
    Sink,
    StructureProvider,
    Tokenizer,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "omnichunk"
DISABLE = "OMNICHUNK_DISABLE_PLUGINS"
LANGUAGES = "omnichunk.parsing.languages"
BUILTIN_PROVIDERS: Mapping[str, str] = {
    "code": "omnichunk.structure.code",
    "markdown": "omnichunk.structure.markdown",
    **dict.fromkeys(("text", "rst", "latex", "org", "asciidoc"), "omnichunk.structure.prose"),
    **dict.fromkeys(("html", "xml"), "omnichunk.structure.markup"),
    **dict.fromkeys(("json", "jsonl", "yaml", "toml", "ini", "csv", "tsv"), "omnichunk.structure.data"),
}
"""Provider a built-in language names -> the one built-in plugin to import for it."""
BUILTINS: Mapping[str, tuple[str, ...]] = {
    "languages": (LANGUAGES,),
    "loaders": ("omnichunk.loaders.containers", "omnichunk.loaders.text"),
    "structure": tuple(dict.fromkeys(BUILTIN_PROVIDERS.values())),
}
"""Kind of declaration -> the built-in plugins that add some, in the order they are asked."""

KINDS: Mapping[str, type] = {
    "loaders": Loader,
    "languages": Language,
    "structure": StructureProvider,
    "parsers": Parser,
    "tokenizers": Tokenizer,
    "renderers": Renderer,
    "formatters": Formatter,
    "sinks": Sink,
}


S = TypeVar("S", bound="PluginSet")


class ConflictError(PluginError, ValueError):
    """Two plugins declare the same thing; ``overwrite=True`` says that the later one is meant."""


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """One row of ``PluginRegistry.plugins()``.

    ``origin``: ``built-in``, ``entry point``, ``registered`` or ``call`` (``register_parser`` and the like). ``adds``:
    declarations as ``kind:name``. ``state``: ``loaded``, ``blocked`` or ``failed``; ``error`` says why it failed.
    """

    name: str
    version: str = ""
    origin: str = "registered"
    adds: tuple[str, ...] = ()
    state: str = "loaded"
    error: str = ""


Step = tuple[PluginInfo, Any, list[tuple[str, Any]]]
"""One thing that was registered: its row, the plugin (or its module's name in a tuple), and what calls declared."""


class PluginSet:
    """Plugins and their declarations; ``PluginRegistry`` adds what is asked of them.

    ``revision``: names the versions of callables registered by hand; it enters ``fingerprint``. ``plugins``: modules or
    objects to register. ``allow``: names of the plugins that may be loaded, ``None`` for all; ``block``: those that may
    not, built-ins included. Pickled by declaration: modules by name, other plugins and callables as pickle does it.
    """

    def __init__(
        self,
        revision: str = "",
        plugins: Iterable[object] = (),
        allow: Iterable[str] | None = None,
        block: Iterable[str] = (),
    ) -> None:
        if not isinstance(revision, str):
            raise OptionError(f"PluginRegistry(): revision must be a string, not {type(revision).__name__}.")
        if isinstance(allow, str) or isinstance(block, str):
            raise OptionError("PluginRegistry(): allow and block take several names; put the one name into a list.")
        self.revision = revision
        self.allow = None if allow is None else frozenset(allow)
        self.block = frozenset(block)
        self._lock = RLock()
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._infos: dict[str, PluginInfo] = {}
        self._builtin: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self._strange: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self._owner: dict[tuple[str, str], str] = {}
        self._revised = 0
        for plugin in plugins:
            self.register(plugin)

    def register(self, plugin: object, name: str | None = None, *, overwrite: bool = False) -> str:
        """Add a plugin, a module or object with hook implementations, and return the name it goes by.

        Raises ConflictError when something it declares is declared already and ``overwrite`` is false, PluginError when
        a hook raises, returns anything but declarations, or is no hook; the plugin is then not added at all.
        """
        name = name or getattr(plugin, "__name__", "") or type(plugin).__qualname__
        self._admit(plugin, PluginInfo(name, _text(plugin, "__version__")), overwrite)
        return name

    def load_entry_points(self) -> tuple[PluginInfo, ...]:
        """Load the installed plugins of the group ``omnichunk``, each on its own; a broken one becomes a failed row.

        Does nothing when the environment variable ``OMNICHUNK_DISABLE_PLUGINS`` is set. Returns their rows.
        """
        found = () if os.environ.get(DISABLE) else _entry_points()
        for entry in found:
            if entry.name in self._infos:
                continue
            info = PluginInfo(entry.name, entry.dist.version if entry.dist else "", "entry point")
            try:
                self._admit(entry.load() if self._permitted(info.name) else None, info, overwrite=False)
            except Exception as error:  # noqa: BLE001 - importing foreign code may raise anything
                message = str(error) if isinstance(error, ChunkingError) else f"{type(error).__name__}: {error}"
                self._infos[info.name] = replace(info, state="failed", error=message)
        return tuple(self._infos[entry.name] for entry in found)

    def _permitted(self, name: str) -> bool:
        return name not in self.block and (self.allow is None or name in self.allow)

    def _admit(self, plugin: object, info: PluginInfo, overwrite: bool) -> None:
        """Register ``plugin`` and take over all it declares, or raise and leave everything as it was."""
        with self._lock:
            if not self._permitted(info.name):
                self._infos[info.name] = replace(info, state="blocked")
                return
            if self._manager.has_plugin(info.name):
                raise ConflictError(f'plugin "{info.name}" is registered already; give this one another name.')
            self._manager.register(plugin, info.name)
            try:
                declared = self._collect(plugin, info)
                for kind, declaration in declared:
                    self._check(kind, declaration, info.name, overwrite)
            except ChunkingError:
                self._manager.unregister(plugin)
                raise
            for kind, declaration in declared:
                self._take(kind, declaration, info.name)
            self._infos[info.name] = replace(info, adds=_adds(declared))

    def _collect(self, plugin: object, info: PluginInfo) -> list[tuple[str, Any]]:
        declared = []
        for caller in self._manager.get_hookcallers(plugin) or ():
            kind = caller.name.removeprefix("omnichunk_")
            if kind not in KINDS:
                known = suggestion(caller.name, [f"omnichunk_{k}" for k in KINDS])
                raise PluginError(f'{label(info)}: there is no hook "{caller.name}"{known or "."}')
            function: Any = next(impl.function for impl in caller.get_hookimpls() if impl.plugin is plugin)
            try:
                returned = list(function())
            except Exception as error:
                raise PluginError(f"{label(info)}: {caller.name} raised {type(error).__name__}: {error}") from error
            for declaration in returned:
                if not isinstance(declaration, KINDS[kind]):
                    raise PluginError(
                        f"{label(info)}: {caller.name} returned a {type(declaration).__name__}; "
                        f"it returns {KINDS[kind].__name__} declarations."
                    )
                declared.append((kind, declaration))
        return declared

    def _check(self, kind: str, declaration: Any, owner: str, overwrite: bool) -> None:
        """Raise ConflictError if ``declaration`` takes a name, or a suffix or language from another stranger."""
        if overwrite:
            return
        self._need(kind)
        key, claims = _key(kind, declaration), _claims(declaration)
        if key in self._builtin[kind] or key in self._strange[kind]:
            holder, what = self._owner[kind, key], repr(key)
        else:
            for other, theirs in self._strange[kind].items():
                if claims & _claims(theirs):
                    holder, what = self._owner[kind, other], f"for {min(claims & _claims(theirs))!r}"
                    break
            else:
                return
        raise ConflictError(
            f"{owner}: {kind.removesuffix('s')} {what} is declared by {holder} already; overwrite=True replaces it."
        )

    def _take(self, kind: str, declaration: Any, owner: str) -> None:
        key = _key(kind, declaration)
        self._strange[kind].pop(key, None)
        self._strange[kind][key] = declaration
        self._owner[kind, key] = owner
        self._revised += 1

    def _call(self, kind: str, declaration: Any, overwrite: bool) -> None:
        with self._lock:
            name = f"register_{kind.removesuffix('s')}({_key(kind, declaration)!r})"
            self._check(kind, declaration, name, overwrite)
            self._take(kind, declaration, name)
            self._infos[name] = PluginInfo(name, origin="call", adds=_adds([(kind, declaration)]))

    def _need(self, kind: str, module: str = "") -> None:
        """Import the built-in plugins that declare ``kind``, or only ``module`` of them."""
        for name in (module,) if module else BUILTINS.get(kind, ()):
            if name in self._infos:
                continue
            with self._lock:
                info = PluginInfo(name, origin="built-in")
                if name in self.block:
                    self._infos[name] = replace(info, state="blocked")
                elif name not in self._infos:
                    plugin = import_module(name)
                    self._manager.register(plugin, name)
                    declared = self._collect(plugin, info)
                    for added, declaration in declared:
                        self._builtin[added][_key(added, declaration)] = declaration
                        self._owner.setdefault((added, _key(added, declaration)), name)
                    self._infos[name] = replace(info, adds=_adds(declared))

    def plugins(self) -> tuple[PluginInfo, ...]:
        """All plugins, built-ins first: where they came from, what they add, why they failed."""
        for kind in BUILTINS:
            self._need(kind)
        return tuple(sorted(self._infos.values(), key=lambda info: info.origin != "built-in"))

    def declared(self, kind: str) -> Mapping[str, Any]:
        """All declarations of a kind (a key of ``KINDS``) by name, parsers by language; strangers replace built-ins."""
        self._need(kind)
        strange = self._strange[kind]
        return {**self._builtin[kind], **strange} if strange else self._builtin[kind]

    # Identity and copies

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the revision and the identity of every plugin and parser that is not built in."""
        identity = ["omnichunk-registry", 1, self.revision, sorted(self._identities())]
        return sha256(json.dumps(identity).encode()).hexdigest()

    @property
    def identified(self) -> bool:
        """Whether ``fingerprint`` may be relied on later: it tells apart whatever could change a result.

        True when a revision is named, or when every plugin has a version and every parser a ``fingerprint`` attribute.
        """
        return bool(self.revision) or all(version or given for _, version, given in self._identities())

    def _identities(self) -> list[tuple[str, str, str]]:
        plugins = [
            (info.name, info.version, _text(self._manager.get_plugin(info.name), "fingerprint"))
            for info in self._infos.values()
            if info.state == "loaded" and info.origin in ("entry point", "registered")
        ]
        parsers = [
            (owner, "", _text(self._strange[kind][key].parse, "fingerprint"))
            for (kind, key), owner in self._owner.items()
            if kind == "parsers" and self._infos[owner].origin == "call"
        ]
        return plugins + parsers

    def snapshot(self: S) -> S:
        """A registry that declares the same and goes its own way from here."""
        return _rebuild(type(self), self.revision, self.allow, self.block, self._journal())

    def __reduce__(self) -> tuple[Any, ...]:
        journal = [(i, (p.__name__,) if isinstance(p, ModuleType) else p, calls) for i, p, calls in self._journal()]
        return _rebuild, (type(self), self.revision, self.allow, self.block, journal)

    def _journal(self) -> list[Step]:
        with self._lock:
            calls: dict[str, list[tuple[str, Any]]] = {}
            for (kind, key), owner in self._owner.items():
                if self._infos[owner].origin == "call":
                    calls.setdefault(owner, []).append((kind, self._strange[kind][key]))
            return [
                (info, self._manager.get_plugin(info.name), calls.get(info.name, []))
                for info in self._infos.values()
                if info.origin != "built-in"
            ]


def _rebuild(
    cls: type[S], revision: str, allow: frozenset[str] | None, block: frozenset[str], journal: list[Step]
) -> S:
    registry = cls(revision, allow=allow, block=block)
    for info, plugin, calls in journal:
        if info.state == "loaded" and info.origin != "call":
            found = import_module(plugin[0]) if isinstance(plugin, tuple) else plugin
            registry._admit(found, info, overwrite=True)
        for kind, declaration in calls:
            registry._take(kind, declaration, info.name)
        registry._infos[info.name] = info
    return registry


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)))


def _key(kind: str, declaration: Any) -> str:
    return str(declaration.language if kind == "parsers" else declaration.name)


def _claims(declaration: Any) -> frozenset[str]:
    if isinstance(declaration, Loader):
        return frozenset(declaration.suffixes)
    return frozenset(declaration.kinds if isinstance(declaration, StructureProvider) else ())


def _text(value: object, name: str) -> str:
    found = getattr(value, name, "")
    return found if isinstance(found, str) else ""


def _adds(declared: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    return tuple(f"{kind}:{_key(kind, declaration)}" for kind, declaration in declared)


def label(info: PluginInfo) -> str:
    return f"plugin {info.name}" + (f" {info.version}" if info.version else "")
