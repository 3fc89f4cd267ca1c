"""The plugins of one registry: how they come in, what each declares, where they collide, what identifies them.

Built-ins are named here as strings and come in through the same hooks as strangers, each imported when something it
declares is first asked for. Every set has its own plugin manager for strangers; nothing of them is shared between two.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from threading import RLock
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pluggy

from omnichunk import hookspecs
from omnichunk.collect import Declared, PluginInfo, collected, label, row_of, text_of, told
from omnichunk.declared import CLAIMING, KINDS, RESERVED, claims_of, key_of, sound
from omnichunk.errors import ChunkingError, OptionError, PluginError, suggestion

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "omnichunk"
DISABLE = "OMNICHUNK_DISABLE_PLUGINS"
LANGUAGES = "omnichunk.parsing.languages"
BUILTIN_PROVIDERS: Mapping[str, str] = {
    "code": "omnichunk.structure.code",
    "markdown": "omnichunk.structure.markdown",
    **dict.fromkeys(("text", "rst", "latex", "org", "asciidoc", "log"), "omnichunk.structure.prose"),
    **dict.fromkeys(("html", "xml"), "omnichunk.structure.markup"),
    **dict.fromkeys(("json", "jsonl", "yaml", "toml", "ini", "csv", "tsv"), "omnichunk.structure.data"),
}
"""Provider a built-in language names -> the one built-in plugin to import for it."""
BUILTINS: Mapping[str, tuple[str, ...]] = {
    "languages": (LANGUAGES,),
    "loaders": (
        "omnichunk.loaders.notebook",
        "omnichunk.loaders.pdf",
        "omnichunk.loaders.docx",
        "omnichunk.loaders.containers",
        "omnichunk.loaders.page",
        "omnichunk.loaders.text",
    ),
    "structure": tuple(dict.fromkeys(BUILTIN_PROVIDERS.values())),
    "retrievers": ("omnichunk.evaluation.builtin",),
    "strategies": ("omnichunk.streaming.builtin",),
    "embedders": ("omnichunk.embedding.builtin",),
    "sinks": ("omnichunk.sinks.builtin",),
}
"""Kind of declaration -> the built-in plugins that add some, in the order they are asked."""

VERSION: str = import_module(__package__).__version__

S = TypeVar("S", bound="PluginSet")


class ConflictError(PluginError, ValueError):
    """Two plugins declare the same thing; ``overwrite=True`` says that the later one is meant."""


class Step(NamedTuple):
    """One thing that was registered: its row, the plugin (or its module's name in a tuple), and what calls declared."""

    info: PluginInfo
    plugin: Any
    calls: list[Declared]


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
        if not isinstance(plugins, Iterable) or isinstance(plugins, (str, bytes)):
            raise OptionError("PluginRegistry(): plugins takes several modules or objects; put the one into a list.")
        self.revision = revision
        self.allow = None if allow is None else _names("allow", allow)
        self.block = _names("block", block)
        self._lock = RLock()
        self._infos: dict[str, PluginInfo] = {}
        self._plugins: dict[str, object] = {}
        self._builtin: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self._strange: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self._owner: dict[tuple[str, str], str] = {}
        self._revised = 0
        self._identity: tuple[object, str, bool] = None, "", False
        for plugin in plugins:
            self.register(plugin)

    @cached_property
    def _manager(self) -> pluggy.PluginManager:
        manager = _new_manager()
        for name, plugin in self._plugins.items():
            manager.register(plugin, name)
        return manager

    def _forget(self, name: str) -> None:
        if self._manager.has_plugin(name):
            self._manager.unregister(name=name)

    def register(self, plugin: object, name: str | None = None, *, overwrite: bool = False) -> str:
        """Add a plugin, a module or object with hook implementations, and return the name it goes by.

        Raises ConflictError when something it declares is declared already and ``overwrite`` is false, PluginError when
        a hook raises, returns anything but sound declarations, or is no hook; the plugin is then not added at all.
        """
        name = name or text_of(plugin, "__name__") or type(plugin).__qualname__
        if not isinstance(name, str):
            raise OptionError(f"register(): the name of a plugin is a string, not {type(name).__name__}.")
        info = PluginInfo(name, text_of(plugin, "__version__"))
        with self._lock:
            if self._permitted(name):
                self._admit(plugin, info, self._declared_by(plugin, info), overwrite)
            else:
                self._infos.setdefault(name, replace(info, state="blocked"))
        return name

    def load_entry_points(self) -> tuple[PluginInfo, ...]:
        """Load the installed plugins of the group ``omnichunk``, each on its own; a broken one becomes a failed row.

        Does nothing when the environment variable ``OMNICHUNK_DISABLE_PLUGINS`` is set. Returns their rows. Plugins are
        taken in the order of their names, those that declare languages before those that may refer to them.
        """
        rows: dict[str, PluginInfo] = {}
        ready: list[tuple[PluginInfo, Any, list[Declared]]] = []
        with self._lock:
            for entry in () if os.environ.get(DISABLE) else _entry_points():
                info = self._row_of(entry)
                rows[info.name] = info
                if info.name in self._infos:
                    continue
                if not self._permitted(entry.name):
                    self._infos[info.name] = replace(info, state="blocked")
                    continue
                try:
                    plugin = entry.load()
                    if self._name_of(plugin):
                        rows[info.name] = replace(info, name=self._name_of(plugin))
                        continue  # it was registered by hand
                    ready.append((info, plugin, self._declared_by(plugin, info)))
                    self._infos[info.name] = info
                except (Exception, SystemExit) as error:  # noqa: BLE001 - importing foreign code may raise anything
                    self._failed(info, error)
            for info, plugin, declared in sorted(ready, key=lambda r: all(d.kind != "languages" for d in r[2])):
                try:
                    self._admit(plugin, info, declared, overwrite=False)
                except ChunkingError as error:
                    self._failed(info, error)
            return tuple(self._infos[info.name] for info in rows.values())

    def _row_of(self, entry: EntryPoint) -> PluginInfo:
        """The row an entry point has or shall have; where its name is taken by another, it has a longer one."""
        info = row_of(entry)
        for name in (info.name, f"{info.name} ({info.distribution})", f"{info.name} ({info.target})"):
            there = self._infos.get(name)
            if name in _BUILTIN_NAMES:
                continue
            if there is None or (there.origin, there.distribution, there.target) == (
                info.origin,
                info.distribution,
                info.target,
            ):
                break
        return replace(info, name=name)

    def _failed(self, info: PluginInfo, error: BaseException) -> None:
        self._infos[info.name] = replace(info, state="failed", error=_message(error))

    def _permitted(self, name: str) -> bool:
        return name not in self.block and (self.allow is None or name in self.allow)

    def _name_of(self, plugin: object) -> str:
        return next((name for name, known in self._plugins.items() if known is plugin), "")

    def _declared_by(self, plugin: object, info: PluginInfo) -> list[Declared]:
        """What the hooks of a stranger return, checked and in the form it is looked up in. Raises PluginError."""
        if info.name in self._plugins or info.name in _BUILTIN_NAMES or self._manager.has_plugin(info.name):
            raise ConflictError(f'plugin "{info.name}" is registered already; give this one another name.')
        if name := self._name_of(plugin):
            raise ConflictError(f'{label(info)}: the same plugin is registered already, as "{name}".')
        try:
            return [d._replace(value=sound(d.value)) for d in collected(self._manager, plugin, info.name)]
        except (Exception, SystemExit) as error:
            self._forget(info.name)
            raise PluginError(f"{label(info)}: {_message(error)}") from error

    def _resolved(self, declared: list[Declared], who: str) -> list[Declared]:
        """``declared`` with languages under their canonical names, where it refers to some."""
        return declared

    def _admit(self, plugin: object, info: PluginInfo, declared: list[Declared], overwrite: bool) -> None:
        """Take over all that a plugin declares, or raise and leave everything as it was."""
        try:
            declared = self._resolved(declared, label(info))
            self._check(declared, label(info), overwrite)
        except PluginError:
            self._forget(info.name)
            raise
        self._take(declared, info.name)
        self._plugins[info.name] = plugin
        self._infos[info.name] = replace(info, adds=_adds(declared))

    def _check(self, declared: list[Declared], who: str, overwrite: bool) -> None:
        """Raise ConflictError if one takes a name, or what else can have one owner, from another."""
        claimed: dict[tuple[str, str], str] = {}
        for kind in {d.kind for d in declared}:
            self._need(kind)
            if kind in CLAIMING:
                there = [*self._builtin[kind].items(), *self._strange[kind].items()]
                for key, value in there:
                    claims = claims_of(value, strange=key in self._strange[kind])
                    claimed.update(((kind, claim), self._owner[kind, key]) for claim in claims)
        own: dict[tuple[str, str], str] = {}
        for d in declared:
            thing = type(d.value).__name__
            if d.key in RESERVED.get(d.kind, ()):
                raise ConflictError(f'{who}: {thing} "{d.key}" has a meaning of its own; choose another name.')
            for claim in (f"{d.key!r}", *sorted(claims_of(d.value))):
                at = d.kind, claim
                if at in own:
                    raise ConflictError(f"{who}: it declares {thing} {claim} twice.")
                own[at] = d.key
                holder = claimed.get(at) or (claim == f"{d.key!r}" and self._owner.get((d.kind, d.key)))
                if holder and not overwrite:
                    raise ConflictError(
                        f"{who}: {thing} {claim} is declared by {holder} already; overwrite=True replaces it."
                    )

    def _take(self, declared: list[Declared], owner: str) -> None:
        """Make ``declared`` what is found from now on; who is reading the old tables goes on reading them."""
        for kind in {d.kind for d in declared}:
            ours = {d.key: d.value for d in declared if d.kind == kind}
            kept = {key: value for key, value in self._strange[kind].items() if key not in ours}
            self._strange[kind] = {**kept, **ours}
            self._owner.update(((kind, key), owner) for key in ours)
        self._revised += 1

    def _call(self, kind: str, declaration: Any, overwrite: bool) -> None:
        name = f"register_{kind.removesuffix('s')}({key_of(kind, declaration)!r})"
        try:
            declared = [Declared(kind, sound(declaration))]
        except PluginError as error:
            raise OptionError(f"register_{kind.removesuffix('s')}(): {error}") from None
        with self._lock:
            self._check(declared, name, overwrite)
            self._take(declared, name)
            self._infos.pop(name, None)
            self._infos[name] = PluginInfo(name, origin="call", adds=_adds(declared))

    def _need(self, kind: str, module: str = "") -> None:
        """Import the built-in plugins that declare ``kind``, or only ``module`` of them."""
        for name in (module,) if module else BUILTINS.get(kind, ()):
            if name in self._infos:
                continue
            with self._lock:
                info = PluginInfo(name, VERSION, "built-in")
                if name in self.block:
                    self._infos[name] = replace(info, state="blocked")
                elif name not in self._infos:
                    declared = _builtin(name)
                    for d in declared:
                        self._builtin[d.kind][d.key] = d.value
                        self._owner.setdefault((d.kind, d.key), name)
                    self._infos[name] = replace(info, adds=_adds(declared))

    def plugins(self) -> tuple[PluginInfo, ...]:
        """All plugins, built-ins first: where they came from, what they add, why they failed."""
        for kind in BUILTINS:
            self._need(kind)
        with self._lock:
            infos = [*self._infos.values()]
        return tuple(sorted(infos, key=lambda info: info.origin != "built-in"))

    def declared(self, kind: str) -> Mapping[str, Any]:
        """All declarations of a kind (a key of ``KINDS``) by name, parsers by language; strangers replace built-ins."""
        if kind not in KINDS:
            raise OptionError(f'declared(): there is no kind "{kind}"{suggestion(str(kind), KINDS) or "."}')
        self._need(kind)
        return MappingProxyType({**self._builtin[kind], **self._strange[kind]})

    def provenance(self, kind: str, name: str) -> PluginInfo:
        """The plugin whose declaration of ``kind`` called ``name`` is the one in use, with its version.

        Raises OptionError with a suggestion when there is none.
        """
        if name not in self.declared(kind):
            raise OptionError(f'{kind}: there is none called "{name}"{suggestion(name, self.declared(kind)) or "."}')
        return self._infos[self._owner[kind, name]]

    # Identity and copies

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the revision and the identity of every plugin and parser that is not built in.

        Plugins enter in the order in which they are asked, and so do built-ins that are blocked.
        """
        return self._identified()[1]

    @property
    def identified(self) -> bool:
        """Whether ``fingerprint`` may be relied on later: it tells apart whatever could change a result.

        True when a revision is named, or when every plugin has a version and every parser a ``fingerprint`` attribute.
        """
        return self._identified()[2]

    def _identified(self) -> tuple[object, str, bool]:
        """What identifies this set, its digest, and whether that is all; worked out anew when the first has changed."""
        plugins, parsers = self._identities()
        identity = ["omnichunk-registry", 2, self.revision, sorted(self.block & _BUILTIN_NAMES), plugins, parsers]
        if self._identity[0] != identity:
            known = bool(self.revision) or all(version or given for _, version, given in (*plugins, *parsers))
            self._identity = identity, sha256(json.dumps(identity).encode()).hexdigest(), known
        return self._identity

    def _identities(self) -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
        infos = list(self._infos.values())
        plugins = [
            (info.name, info.version, text_of(self._plugins[info.name], "fingerprint"))
            for info in infos
            if info.name in self._plugins
        ]
        parsers = [
            (self._owner["parsers", key], "", text_of(parser.parse, "fingerprint"))
            for key, parser in self._strange["parsers"].items()
            if self._infos[self._owner["parsers", key]].origin == "call"
        ]
        return plugins, sorted(parsers)

    def snapshot(self: S) -> S:
        """A registry that declares the same and goes its own way from here. No hook is called again."""
        with self._lock:
            copy = type(self)(self.revision, allow=self.allow, block=self.block)
            copy._infos = {**self._infos}
            copy._plugins = {**self._plugins}
            copy._builtin = {kind: {**found} for kind, found in self._builtin.items()}
            copy._strange = {kind: {**found} for kind, found in self._strange.items()}
            copy._owner = {**self._owner}
            copy._revised = self._revised
            return copy

    def __reduce__(self) -> tuple[Any, ...]:
        journal = [
            step._replace(plugin=(step.plugin.__name__,) if isinstance(step.plugin, ModuleType) else step.plugin)
            for step in self._journal()
        ]
        return _rebuild, (type(self), self.revision, self.allow, self.block, journal)

    def _journal(self) -> list[Step]:
        with self._lock:
            calls: dict[str, list[Declared]] = {}
            for (kind, key), owner in self._owner.items():
                if self._infos[owner].origin == "call":
                    calls.setdefault(owner, []).append(Declared(kind, self._strange[kind][key]))
            return [
                Step(info, self._plugins.get(info.name), calls.get(info.name, []))
                for info in self._infos.values()
                if info.origin != "built-in"
            ]


_BUILTIN_NAMES = frozenset(name for names in BUILTINS.values() for name in names)


def _rebuild(
    cls: type[S], revision: str, allow: frozenset[str] | None, block: frozenset[str], journal: list[Step]
) -> S:
    registry = cls(revision, allow=allow, block=block)
    for info, plugin, calls in journal:
        if info.state == "loaded" and info.origin != "call":
            found = import_module(plugin[0]) if isinstance(plugin, tuple) else plugin
            registry._admit(found, info, registry._declared_by(found, info), overwrite=True)
        registry._take(calls, info.name)
        registry._infos[info.name] = info
    return registry


def _new_manager() -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


@cache
def _builtin(name: str) -> tuple[Declared, ...]:
    """What a built-in plugin declares, which is the same in all registries of a process."""
    return tuple(collected(_new_manager(), import_module(name), name))


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)))


def _names(what: str, names: Iterable[str]) -> frozenset[str]:
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise OptionError(f"PluginRegistry(): {what} takes several names; put the one name into a list.")
    found = frozenset(names)
    if not all(isinstance(name, str) for name in found):
        raise OptionError(f"PluginRegistry(): {what} takes names of plugins, which are strings.")
    return found


def _message(error: BaseException) -> str:
    return str(error) if isinstance(error, ChunkingError) else told(error)


def _adds(declared: Iterable[Declared]) -> tuple[str, ...]:
    return tuple(f"{d.kind}:{d.key}" for d in declared)
