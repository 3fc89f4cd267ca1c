"""From a plugin to its declarations: which installed plugins there are, what their hooks return, what a row says."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from omnichunk.declared import KINDS, key_of
from omnichunk.errors import PluginError, suggestion

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MOST = 10_000
"""Declarations a hook may return; a generator without end is stopped there."""


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """One row of ``PluginRegistry.plugins()``.

    ``origin``: ``built-in``, ``entry point``, ``registered`` or ``call`` (``register_parser`` and the like). ``adds``:
    declarations as ``kind:name``. ``state``: ``loaded``, ``blocked`` or ``failed``; ``error`` says why it failed.
    ``version``: of the ``distribution`` an entry point belongs to, else the plugin's own ``__version__``. ``target``:
    what an entry point names, ``module`` or ``module:object``.
    """

    name: str
    version: str = ""
    origin: str = "registered"
    adds: tuple[str, ...] = ()
    state: str = "loaded"
    error: str = ""
    distribution: str = ""
    target: str = ""


class Declared(NamedTuple):
    """A declaration and its kind, a key of ``KINDS``."""

    kind: str
    value: Any

    @property
    def key(self) -> str:
        return key_of(self.kind, self.value)


def label(info: PluginInfo) -> str:
    """What a message calls a plugin: ``plugin srt (omnichunk-srt 0.2)``."""
    if info.distribution:
        return f"plugin {info.name} ({info.distribution} {info.version})".replace(" )", ")")
    return f"plugin {info.name}" + (f" {info.version}" if info.version else "")


def collected(manager: pluggy.PluginManager, plugin: object, name: str) -> list[Declared]:
    """Register ``plugin`` with ``manager`` and return what its hooks declare, in the order of the hooks' names.

    Raises PluginError for a hook that is none, is not marked, raises, or returns anything but declarations of its kind;
    whatever looking at a foreign object raises passes.
    """
    try:
        manager.register(plugin, name)
    except pluggy.PluginValidationError as error:
        raise PluginError(f"hooks take no arguments: {' '.join(str(error).split())}") from error
    callers = {caller.name: caller for caller in manager.get_hookcallers(plugin) or ()}
    for kind in KINDS:
        if f"omnichunk_{kind}" not in callers and callable(getattr(plugin, f"omnichunk_{kind}", None)):
            raise PluginError(f"omnichunk_{kind} is not marked @hookimpl.")
    if not callers:
        raise PluginError("it declares nothing: no function of it is marked @hookimpl.")
    declared: list[Declared] = []
    for hook, caller in sorted(callers.items()):
        kind = hook.removeprefix("omnichunk_")
        if kind not in KINDS:
            known = suggestion(hook, [f"omnichunk_{k}" for k in KINDS])
            raise PluginError(f'there is no hook "{hook}"{known or "."}')
        functions = [impl.function for impl in reversed(caller.get_hookimpls()) if impl.plugin is plugin]
        declared += [Declared(kind, value) for f in functions for value in _returned(hook, f, KINDS[kind])]
    return declared


def _returned(name: str, function: Any, kind: type) -> list[Any]:
    """What a hook returns, checked for being declarations of its kind and not too many."""
    try:
        answer = function()
        found = [answer] if isinstance(answer, kind) else list(islice(answer, MOST + 1))
    except (Exception, SystemExit) as error:
        hint = " Register an instance of it." if isinstance(error, TypeError) and "'self'" in str(error) else ""
        raise PluginError(f"{name} raised {told(error)}{hint}") from error
    if found and found[0] is answer:
        raise PluginError(f"{name} returned one {kind.__name__}; it returns a list of them.")
    if len(found) > MOST:
        raise PluginError(f"{name} returned more than {MOST:,} declarations.")
    for value in found:
        if not isinstance(value, kind):
            raise PluginError(f"{name} returned a {type(value).__name__}; it returns {kind.__name__} declarations.")
    return found


def row_of(entry: EntryPoint) -> PluginInfo:
    """The row of an entry point, as far as the metadata of its distribution tells."""
    try:
        distribution = text_of(entry.dist, "name"), text_of(entry.dist, "version")
    except Exception:  # noqa: BLE001 - damaged metadata of a plugin
        distribution = "", ""
    return PluginInfo(entry.name, distribution[1], "entry point", distribution=distribution[0], target=entry.value)


def text_of(value: object, name: str) -> str:
    """An attribute of a foreign object if it has it and it is a string, else an empty one."""
    try:
        found = getattr(value, name, "")
    except Exception:  # noqa: BLE001 - a foreign property may raise anything
        return ""
    return found if isinstance(found, str) else ""


def told(error: BaseException) -> str:
    """``error`` as a message shows it."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - a foreign exception may be unable to say what it is
        return type(error).__name__
