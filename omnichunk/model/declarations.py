"""Declarations: what plugins return from their hooks. Plain values; nothing is loaded until one is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from omnichunk.model.chunk import Chunk, ChunkContext
    from omnichunk.model.document import LoadedDocument, Source
    from omnichunk.model.span import Structure
    from omnichunk.streaming.protocol import ChunkingStrategy


@dataclass(frozen=True, slots=True)
class Loader:
    """Turns a source into a document. Chosen by explicit name, else suffix, else media type, else ``sniff``.

    ``load(source)``: raises LoadError when the bytes are not of its format. ``suffixes``: with the dot, lower case.
    ``sniff(head)``: told the first 4,096 bytes. ``options``: names and defaults, handed over as ``source.options``.
    ``binary``: the source is a container whose bytes are not its text.
    """

    name: str
    load: Callable[[Source], LoadedDocument]
    suffixes: tuple[str, ...] = ()
    media_types: tuple[str, ...] = ()
    sniff: Callable[[bytes], bool] | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    binary: bool = False


@dataclass(frozen=True, slots=True)
class Language:
    """A language and how it is recognized and described.

    ``kind``: ``code``, ``prose``, ``markup`` or ``data``. ``provider``: name of the structure provider (``code`` for
    everything that goes through a grammar). ``folder``: directory with ``language.toml`` and queries, if any.
    ``sniff``: regular expression (multi-line) over the head of the text; it decides when several languages list a suffix.
    """

    name: str
    kind: str = "code"
    provider: str = "code"
    aliases: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    shebangs: tuple[str, ...] = ()
    folder: str = ""
    sniff: str = ""


@dataclass(frozen=True, slots=True)
class StructureRequest:
    """What a structure provider is asked: describe ``text``, which is in ``language``.

    ``filepath``: the label of the source, for messages. ``parser``: what a plugin registered for the language. Spans in
    the answer are relative to ``text``.
    """

    text: str
    language: str
    filepath: str = ""
    parser: Callable[[str, str], Any] | None = None


@dataclass(frozen=True, slots=True)
class StructureProvider:
    """``spans(request)`` describes a segment; ``kinds``: canonical languages it serves."""

    name: str
    kinds: tuple[str, ...]
    spans: Callable[[StructureRequest], Structure]


@dataclass(frozen=True, slots=True)
class Parser:
    """``parse(filepath, content)`` gives a tree-sitter-like tree for ``language``, or ``None`` to decline."""

    language: str
    parse: Callable[[str, str], Any]


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """``make()`` gives a callable that counts the tokens of a string."""

    name: str
    make: Callable[[], Callable[[str], int]]


class Render(Protocol):
    """Turns context and slice into the payload."""

    def __call__(self, context: ChunkContext, text: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Renderer:
    """``render(context, text)`` gives the payload; it must contain ``text`` unchanged."""

    name: str
    render: Render


@dataclass(frozen=True, slots=True)
class Retriever:
    """``make(**options)`` gives a function that makes payloads searchable.

    ``index(payloads)`` gives ``search(question, limit)``, which gives at most ``limit`` pairs of the number of a payload
    and its score, best first.
    """

    name: str
    make: Callable[..., Callable[[Sequence[str]], Callable[[str, int], Iterable[tuple[int, float]]]]]


@dataclass(frozen=True, slots=True)
class Formatter:
    """``format(chunks)`` gives the text an output format of the command line prints."""

    name: str
    format: Callable[[Iterable[Chunk]], str]


@dataclass(frozen=True, slots=True)
class Sink:
    """``open(url, **options)`` gives an object with ``apply(removed, points)`` and ``close()``.

    ``apply`` deletes the ids ``removed``, then writes ``points`` (``omnichunk.sinks.Point``); called again with the same
    it changes nothing. A point whose vector is ``None`` keeps the vector that is there; its place has changed. ``apply``
    returns the ids of those it has no vector for, or ``None``. ``row``: what ``Chunker.stream_upsert(adapter=name)``
    makes of a point; the point itself if ``None``.
    """

    name: str
    open: Callable[..., Any]
    row: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Embedder:
    """``make(model, **options)`` gives a function from a list of texts to their vectors, with an attribute ``fingerprint``.

    It is called by ``open_embedder(name, model, **options)``, and should load nothing before its function is called.
    """

    name: str
    make: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Strategy:
    """``make(**options)`` gives a `ChunkingStrategy` for streams of text, to be chosen by name."""

    name: str
    make: Callable[..., ChunkingStrategy]
