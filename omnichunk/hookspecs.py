"""Every hook a plugin can implement.

A hook takes nothing and returns declarations; it is called once per registry and should import nothing heavy: what a
declaration points to is called when it is first used. A plugin is a module or object with functions of these names
marked ``@hookimpl``; it joins through an entry point of the group ``omnichunk`` or ``PluginRegistry.register``.
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

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

PROJECT = "omnichunk"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def omnichunk_loaders() -> Iterable[Loader]:  # type: ignore[empty-body]
    """Return the loaders this plugin adds: how the bytes of a format become text with segments."""


@hookspec
def omnichunk_languages() -> Iterable[Language]:  # type: ignore[empty-body]
    """Return the languages this plugin adds, with the names and suffixes they are recognized by.

    ``folder`` names a directory with ``language.toml`` and queries, laid out like ``grammars/<language>``.
    """


@hookspec
def omnichunk_structure() -> Iterable[StructureProvider]:  # type: ignore[empty-body]
    """Return the structure providers this plugin adds: how a segment of a language becomes nested spans."""


@hookspec
def omnichunk_parsers() -> Iterable[Parser]:  # type: ignore[empty-body]
    """Return parsers that replace the bundled grammar of a language; they give a tree-sitter-like tree or ``None``."""


@hookspec
def omnichunk_tokenizers() -> Iterable[Tokenizer]:  # type: ignore[empty-body]
    """Return named tokenizers, to be chosen with ``tokenizer="name"``."""


@hookspec
def omnichunk_renderers() -> Iterable[Renderer]:  # type: ignore[empty-body]
    """Return renderers: how context and slice become the payload that is measured and embedded."""


@hookspec
def omnichunk_formatters() -> Iterable[Formatter]:  # type: ignore[empty-body]
    """Return output formats of the command line: how finished chunks are printed."""


@hookspec
def omnichunk_sinks() -> Iterable[Sink]:  # type: ignore[empty-body]
    """Return sinks: where chunks with their embeddings are written, by the scheme of a URL."""


@hookspec
def omnichunk_embedders() -> Iterable[Embedder]:  # type: ignore[empty-body]
    """Return embedders: functions from texts to vectors, to be opened with ``open_embedder("name", model)``."""


@hookspec
def omnichunk_retrievers() -> Iterable[Retriever]:  # type: ignore[empty-body]
    """Return retrievers: what finds the payloads that answer a question, for ``omnichunk eval --retriever name``."""


@hookspec
def omnichunk_strategies() -> Iterable[Strategy]:  # type: ignore[empty-body]
    """Return strategies that cut a stream of text into pieces, to be chosen with ``chunk_stream(deltas, "name")``."""
