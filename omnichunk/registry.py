"""The registry: which declaration serves a name, a source or a language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from omnichunk import guard
from omnichunk.collect import Declared, PluginInfo, label
from omnichunk.errors import ChunkingError, LoadError, OptionError, PluginError, suggestion
from omnichunk.model.declarations import (
    Embedder,
    Formatter,
    Language,
    Loader,
    Parser,
    Renderer,
    Sink,
    Strategy,
    StructureProvider,
    Tokenizer,
)
from omnichunk.model.document import LoadedDocument, Source, checked
from omnichunk.plugins import BUILTIN_PROVIDERS, LANGUAGES, PluginSet
from omnichunk.source.zipped import zip_media_type

if TYPE_CHECKING:
    from omnichunk.model.chunk import Chunk
    from omnichunk.parsing.languages import Languages

__all__ = ["PluginInfo", "PluginRegistry", "default_registry", "load_document", "register_formatter", "register_parser"]

DEFAULT_LOADER = "text"
HEAD = 4096
"""Bytes of a source that a loader's ``sniff`` is shown."""
DEEPEST = 8
"""Containers within containers that are opened, as a message that is attached to a message."""

Parse = Callable[[str, str], Any]
D = TypeVar("D")


class PluginRegistry(PluginSet):
    """The plugins of a chunker and the lookups over what they declare; see ``PluginSet`` for its arguments."""

    _lookup: tuple[int, Languages] | None = None
    _asked: tuple[int, Sequence[Loader], Mapping[str, Loader]] | None = None

    def register_parser(self, language: str, fn: Parse, overwrite: bool = False) -> None:
        """Parse ``language`` (any of its names) with ``fn(filepath, content)``: a tree-sitter-like tree, or ``None``.

        Raises OptionError for an unknown language, ConflictError when it has a parser and ``overwrite`` is false.
        """
        self._call("parsers", Parser(self.canonical(language), _callable(fn, "register_parser")), overwrite)

    def register_formatter(self, name: str, fn: Callable[[Iterable[Chunk]], str], overwrite: bool = False) -> None:
        """Let the command line print chunks in the format ``name``; ``fn(chunks)`` gives the text."""
        self._call("formatters", Formatter(name, _callable(fn, "register_formatter")), overwrite)

    def loaders(self) -> Mapping[str, Loader]:
        """All loaders by name."""
        return self.declared("loaders")

    def languages(self) -> Mapping[str, Language]:
        """All languages by canonical name."""
        return self.declared("languages")

    def tokenizers(self) -> Mapping[str, Tokenizer]:
        """The tokenizers plugins add, by name."""
        return self.declared("tokenizers")

    def formatters(self) -> Mapping[str, Formatter]:
        """The output formats plugins add, by name."""
        return self.declared("formatters")

    def sinks(self) -> Mapping[str, Sink]:
        """The sinks plugins add, by name."""
        return self.declared("sinks")

    def embedders(self) -> Mapping[str, Embedder]:
        """The embedders, by name."""
        return self.declared("embedders")

    def strategies(self) -> Mapping[str, Strategy]:
        """The strategies for streams of text, by name."""
        return self.declared("strategies")

    def renderer(self, name: str) -> Renderer:
        """The renderer called ``name``. Raises OptionError with a suggestion when there is none.

        What its function raises becomes a PluginError that names file and plugin.
        """
        renderer: Renderer = _named(self.declared("renderers"), name, "renderer")
        who = f"{label(self.provenance('renderers', name))}: the renderer {name}"
        return replace(renderer, render=partial(guard.render, renderer.render, who))

    def parser_for(self, language: str) -> Parser | None:
        """The parser registered for a canonical language, if any; the bundled grammar serves otherwise."""
        return self._strange["parsers"].get(language)

    def canonical(self, name: str) -> str:
        """The canonical name for a language name or alias. Raises OptionError with a suggestion for an unknown one."""
        return self._languages().canonical(name)

    def detect(self, filepath: str, text_head: str = "") -> str:
        """The canonical language of a file, or an empty string; see ``Languages.detect``."""
        return self._languages().detect(filepath, text_head)

    def kind_of(self, language: str) -> str:
        """``code``, ``prose`` or ``markup`` (data included): what the context calls the content type."""
        kind = self._languages().get(language).kind
        return "markup" if kind == "data" else kind

    def _languages(self) -> Languages:
        """The lookups over all languages: strangers, the latest first, then built-in ones."""
        lookup = self._lookup
        if lookup is None or lookup[0] != self._revised:
            module = import_module(LANGUAGES)
            strange = self._strange["languages"]
            lookup = self._revised, module.builtin()
            if strange or LANGUAGES in self.block:
                self._need("languages")
                found = [*reversed(strange.values()), *self._builtin["languages"].values()]
                lookup = self._revised, module.Languages(found)
            self._lookup = lookup
        return lookup[1]

    def _resolved(self, declared: list[Declared], who: str) -> list[Declared]:
        """``declared`` with parsers and providers under canonical names, languages declared beside them included.

        Raises PluginError with a suggestion for a parser of a language that is unknown.
        """
        if all(d.kind not in ("parsers", "structure") for d in declared):
            return declared
        new = [d.value for d in declared if d.kind == "languages"]
        known = self._languages()
        if new:
            known = import_module(LANGUAGES).Languages([*new, *self.languages().values()])

        def canonical(name: str) -> str:
            try:
                return known.canonical(name)
            except OptionError:
                return name  # a plugin that comes later may declare it

        resolved = []
        for kind, value in declared:
            if kind == "parsers":
                try:
                    value = replace(value, language=known.canonical(value.language))
                except OptionError as error:
                    raise PluginError(f"{who}: parser: {error}") from None
            elif kind == "structure":
                value = replace(value, kinds=tuple(map(canonical, value.kinds)))
            resolved.append(Declared(kind, value))
        return resolved

    def provider_for(self, language: str) -> StructureProvider:
        """The structure provider of a canonical language: a stranger that lists it, else the one the language names.

        A stranger that fails finds nothing, and says so in ``errors``. Raises PluginError when the language names a
        provider that nobody declares.
        """
        provider = self._provider_for(language)
        strange = self._strange
        if strange["structure"].get(provider.name) is provider:
            who = label(self._infos[self._owner["structure", provider.name]])
            provider = replace(provider, spans=partial(guard.spans, provider.spans, who))
        if strange["languages"]:
            using = import_module(LANGUAGES).using
            provider = replace(provider, spans=partial(using, self._languages(), provider.spans))
        return provider

    def _provider_for(self, language: str) -> StructureProvider:
        strange: dict[str, StructureProvider] = self._strange["structure"]
        for provider in reversed(strange.values()):
            if language in provider.kinds:
                return provider
        wanted = self._languages().get(language).provider
        self._need("structure", BUILTIN_PROVIDERS.get(wanted, ""))
        builtin: dict[str, StructureProvider] = self._builtin["structure"]
        named = strange.get(wanted) or builtin.get(wanted)
        if named is not None:
            return named
        known = {**builtin, **strange}
        for provider in known.values():
            if language in provider.kinds:
                return provider
        hint = suggestion(wanted, known) or "."
        raise PluginError(f'language {language}: no plugin declares the structure provider "{wanted}"{hint}')

    def loader_for(self, source: Source, explicit: str | None = None, media_type: str = "") -> Loader:
        """The loader of ``source``: the one named, else by suffix, else by media type, else by content, else ``text``.

        Strangers are asked before built-ins, the latest first. A name that is a language's is text by suffix. By content
        means that ``sniff`` says so, or that it is a zip archive that holds what has one of the loader's media types.
        Raises OptionError with a suggestion when there is no loader called ``explicit``.
        """
        if explicit is not None:
            return _named(self.loaders(), explicit, "loader")
        order, claimed = self._ranked()
        name = source.name.replace("\\", "/").rsplit("/", 1)[-1].lower()
        dot = name.find(".")
        while dot >= 0:
            if (claiming := claimed.get(name[dot:])) is not None:
                return claiming
            dot = name.find(".", dot + 1)
        loaders = self.loaders()
        if self.detect(name):
            return _named(loaders, DEFAULT_LOADER, "loader")
        media_type = media_type.partition(";")[0].strip().lower()
        head = source.data[:HEAD] if isinstance(source.data, bytes) else b""
        for loader in order:
            if media_type and media_type in loader.media_types:
                return loader
        inside = zip_media_type(head)
        for loader in order:
            if (inside and inside in loader.media_types) or (head and loader.sniff and self._sniffs(loader, head)):
                return loader
        return _named(loaders, DEFAULT_LOADER, "loader")

    def _ranked(self) -> tuple[Sequence[Loader], Mapping[str, Loader]]:
        """The loaders in the order they are asked, and for each suffix the first that claims it."""
        asked = self._asked
        if asked is None or asked[0] != self._revised:
            self._need("loaders")
            order = (*reversed(self._strange["loaders"].values()), *self._builtin["loaders"].values())
            asked = self._revised, order, {suffix: loader for loader in order[::-1] for suffix in loader.suffixes}
            self._asked = asked
        return asked[1:]

    def load(self, source: Source, explicit: str | None = None, media_type: str = "") -> LoadedDocument:
        """What the loader of ``source``, or the one called ``explicit``, makes of it, checked; see ``load_document``."""
        loader = self.loader_for(source, explicit, media_type)
        _, depth = _running.get() or (self, 0)
        if depth >= DEEPEST:
            raise LoadError(f"{source.name}: lies {depth} containers deep, and no more are opened. Unpack it first.")
        token = _running.set((self, depth + 1))
        try:
            asked = replace(source, options={**loader.options, **source.options}) if loader.options else source
            loaded = import_module(LANGUAGES).using(self._languages(), loader.load, asked)
        except ChunkingError:
            raise
        except Exception as error:
            owner = label(self._infos[self._owner["loaders", loader.name]])
            raise PluginError(
                f"{source.name}: {owner}: the loader {loader.name} raised {type(error).__name__}: {error}. "
                "That is a fault of the loader; report it there, or choose another loader by name."
            ) from error
        finally:
            _running.reset(token)
        return checked(loaded, source.name)

    def _sniffs(self, loader: Loader, head: bytes) -> bool:
        try:
            return bool(loader.sniff and loader.sniff(head))
        except Exception as error:
            owner = label(self._infos[self._owner["loaders", loader.name]])
            raise PluginError(f"{owner}: sniff of {loader.name} raised {type(error).__name__}: {error}") from error

    def loader_options(self) -> Mapping[str, object]:
        """The options all loaders declare, with their defaults."""
        return {name: default for loader in self.loaders().values() for name, default in loader.options.items()}


_making = RLock()
_default: PluginRegistry | None = None


def default_registry() -> PluginRegistry:
    """The registry of this process with the installed plugins; a chunker that is given none takes a snapshot of it."""
    global _default
    with _making:
        if _default is None:
            _default = PluginRegistry()  # a plugin that asks for it while it is being loaded gets it as it is then
            _default.load_entry_points()
        return _default


_running: ContextVar[tuple[PluginRegistry, int] | None] = ContextVar("omnichunk_running", default=None)
"""The registry whose loader is running, and how many containers deep it is."""


def load_document(source: Source, loader: str | None = None, media_type: str = "") -> LoadedDocument:
    """What the loader of ``source`` makes of it: the one called ``loader``, else by name, media type and content.

    For loaders of containers: what lies inside (an attachment, a file of an archive) is read by the registry that is
    reading the container, ``dataclasses.replace(source, name=…, data=…)`` keeping the caller's options; elsewhere by
    that of the process. ``loader="text"`` decodes bytes as any text file is. Raises LoadError for what cannot be read
    or lies too deep, other ChunkingErrors as loaders do.
    """
    running = _running.get()
    return (running[0] if running else default_registry()).load(source, loader, media_type)


def register_parser(language: str, fn: Parse, overwrite: bool = False) -> None:
    """``PluginRegistry.register_parser`` on the registry of this process; chunkers made later see it."""
    default_registry().register_parser(language, fn, overwrite)


def register_formatter(name: str, fn: Callable[[Iterable[Chunk]], str], overwrite: bool = False) -> None:
    """``PluginRegistry.register_formatter`` on the registry of this process."""
    default_registry().register_formatter(name, fn, overwrite)


def _callable(fn: Any, where: str) -> Any:
    if not callable(fn):
        raise OptionError(f"{where}(): needs a callable, not {type(fn).__name__}.")
    return fn


def _named(declared: Mapping[str, D], name: str, what: str) -> D:
    if name not in declared:
        raise OptionError(f'{what}: there is none called "{name}"{suggestion(name, declared) or "."}')
    return declared[name]
