"""What every chunk of your format must keep, as checks for the tests of a plugin.

    from omnichunk.testing import check_loader, check_structure

    def test_loader():
        check_loader(MY_LOADER, ["tests/plain.srt", ("empty.srt", b"")])

Both raise AssertionError with what is wrong, where, and what to do; they need no test framework. A file that your
loader should refuse belongs into a test of yours: ``pytest.raises(LoadError)``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import Any, NoReturn, TypeVar
from unicodedata import combining

from omnichunk import (
    Chunk,
    Chunker,
    ChunkingError,
    ChunkOptions,
    FormatSegment,
    Language,
    LoadedDocument,
    Loader,
    PluginError,
    PluginRegistry,
    Source,
    Span,
    Strength,
    Structure,
    StructureProvider,
    StructureRequest,
    chunk_from_dict,
    chunk_to_dict,
    hookimpl,
)

__all__ = ["ODD_TEXTS", "check_loader", "check_structure"]

CONFIGURATIONS: tuple[Mapping[str, Any], ...] = (
    {"max_chunk_size": 1500},
    {"max_chunk_size": 400, "context_mode": "none", "coverage_policy": "lossless"},
    {"max_chunk_size": 60, "target_fill": 1.0, "coverage_policy": "lossless"},
)
"""The options every document is chunked with."""
KINDS = (
    "definition", "section", "heading", "entry", "element", "block", "paragraph", "list", "item", "quote", "table", "row",
    "code", "html", "comment", "import", "statement", "text",
)  # fmt: skip
"""What a span of a provider can be."""
ODD_TEXTS = (
    "", " ", "\n", "\n\n\n", "\r\n \r\n", "x", "\ufeffx\n", "e\u0301\u200d👩‍👩‍👧\r\n", "\x00\x0c\u2028", "((((((((((\n" * 50,
    "}\n]\n)\n", '"' * 99, "'''\n", "# \n## a\n# b", "a" * 5000, "İﬁ中文字。กขค שלום\u202e\n", "\\\n\t\\", "<a><b", "- \n" * 40,
)  # fmt: skip
"""Texts that break parsers; ``check_structure`` tries them on every provider."""

T = TypeVar("T")
File = str | os.PathLike[str] | tuple[str, bytes]


def check_loader(
    loader: Loader,
    files: Iterable[File],
    *,
    registry: PluginRegistry | None = None,
    damage: bool = True,
    **options: Any,
) -> list[LoadedDocument]:
    """Load and chunk each of ``files``, and return the documents for further assertions.

    ``files``: paths, or pairs of a name and bytes, that the loader must read. ``registry``: with the other plugins it
    needs, if any. ``damage``: truncate and corrupt the files too; the loader may read the result or raise LoadError,
    and nothing else. ``options``: those that the loader declares.
    """
    chosen = _registry(registry, "omnichunk_loaders", loader)
    _check_declaration(loader)
    documents = []
    for file in files:
        name, data = (file[0], file[1]) if isinstance(file, tuple) else (os.fspath(file), _read(file))
        where = f"loader {loader.name}: {name}"
        load = partial(_load, where, chosen, Source(name, data, options=options), loader.name)
        loaded = load()
        if loaded != load():
            _fail(where, "two runs gave two documents", "use nothing but the source: no clock, no id(), no set order")
        for configuration in CONFIGURATIONS:
            chunker = Chunker(chosen, loader=loader.name, **configuration, **options)
            _check_chunks(where, loaded, chunker.options, partial(chunker.chunk_bytes, name, data))
        for what, spoilt in _damaged(data) if damage else ():
            _check_damaged(f"{where}, {what}", chosen, Source(name, spoilt, options=options), loader.name)
        documents.append(loaded)
    return documents


def check_structure(
    provider: StructureProvider,
    texts: Iterable[str],
    *,
    language: Language | None = None,
    registry: PluginRegistry | None = None,
) -> list[Structure]:
    """Ask ``provider`` for the spans of each of ``texts``, and return the answers for further assertions.

    ``language``: the plugin's own language that the provider serves; not needed when one of ``provider.kinds`` is
    built in. Each text is tried truncated as well, and ``ODD_TEXTS`` after them: no text may raise.
    """
    chosen = _registry(registry, "omnichunk_structure", provider)
    if language is not None and language.name not in chosen.languages():
        chosen = _registry(chosen, "omnichunk_languages", language)
    where = f"provider {provider.name}"
    if not provider.kinds:
        _fail(where, "it serves no language", "name the canonical languages in kinds=(…)")
    kind = language.name if language is not None else provider.kinds[0]
    content = "code" if chosen.languages()[kind].kind == "code" else "prose"
    given = list(texts)
    answers = []
    for i, text in enumerate([*given, *_cut_short(given), *ODD_TEXTS]):
        here = f"{where}: text {i} ({text[:30]!r})"
        ask = partial(_call, here, partial(provider.spans, StructureRequest(text, kind, f"text {i}")))
        if _check_spans(here, text, ask()) != _check_spans(here, text, ask()):
            _fail(here, "two runs gave two structures", "keep no state between calls; every call makes new spans")
        if text:
            loaded = LoadedDocument(text, (FormatSegment(0, len(text), content, {"language": kind}),))
            for configuration in CONFIGURATIONS:
                chunker = Chunker(chosen, **configuration)
                _check_chunks(here, loaded, chunker.options, partial(chunker.chunk_loaded, "text", loaded))
        if i < len(given):
            answers.append(ask())
    return answers


# Loaders


def _check_declaration(loader: Loader) -> None:
    where = f"loader {loader.name}"
    try:
        json.dumps(dict(loader.options))
    except (TypeError, ValueError) as error:
        _fail(where, f"the default of an option is no JSON value ({error})", "use str, int, float, bool or None")
    if loader.sniff is not None:
        for head in (b"", b"\x00", b"\xff\xfe" * 50):
            _call(f"{where}: sniff({head[:4]!r})", partial(loader.sniff, head))


def _load(where: str, registry: PluginRegistry, source: Source, name: str) -> LoadedDocument:
    try:
        return registry.load(source, name)
    except ChunkingError as error:
        _fail(
            where, f"a file that must load was refused: {error}", "mend the loader, or leave the file out of the list"
        )


def _check_damaged(where: str, registry: PluginRegistry, source: Source, name: str) -> None:
    """A damaged source is a document or a ChunkingError that names it; ``PluginRegistry.load`` wraps what else is raised."""
    try:
        registry.load(source, name)
    except ChunkingError as error:
        if isinstance(error, PluginError) and error.__cause__ is not None:
            raised = type(error.__cause__).__name__
            _fail(where, f"{raised} was raised: {error.__cause__}", "raise LoadError(…) for what cannot be read")
        if source.name not in str(error):
            _fail(where, f"the error does not name the file: {error}", "begin its message with source.name")


def _damaged(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Nothing, noise, every eighth of ``data``, and copies with some bytes overwritten; the same in every run."""
    random = Random(len(data))
    yield "empty", b""
    yield "nothing but noise", random.randbytes(300)
    for part in range(1, 8):
        yield f"cut after {len(data) * part // 8} bytes", data[: len(data) * part // 8]
    for turn in range(8 if data else 0):
        spoilt = bytearray(data)
        for _ in range(1 + turn * 2):
            spoilt[random.randrange(len(data))] = random.randrange(256)
        yield f"with {1 + turn * 2} bytes overwritten (variant {turn})", bytes(spoilt)


# Structure


def _check_spans(where: str, text: str, structure: Structure) -> list[tuple[int, int, str, str]]:
    """The rules of ``omnichunk.Span`` for a provider's answer; returns what it says, to compare."""
    if not isinstance(structure, Structure):
        _fail(where, f"spans() returned {type(structure).__name__}", "return a Structure")
    outline: list[tuple[int, int, str, str]] = []
    stack: list[tuple[Iterable[Span], int, int]] = [(structure.spans, 0, len(text))]
    while stack:
        spans, start, end = stack.pop()
        last = start
        for span in spans:
            if not isinstance(span, Span):
                _fail(where, f"{span!r} is no Span", "return Structure(spans=[Span(…), …])")
            if not last <= span.start < span.end <= end:
                _fail(
                    where,
                    f"{span!r} does not follow {last} inside [{start}, {end})",
                    "sort the spans, keep them apart, inside their parent and not empty; offsets are those of request.text",
                )
            if span.kind not in KINDS:
                _fail(where, f"{span!r} has an unknown kind", f"choose one of {', '.join(sorted(KINDS))}")
            if not isinstance(span.strength, Strength):
                _fail(where, f"the strength of {span!r} is {span.strength!r}", "use a member of Strength")
            last = span.end
            outline.append((span.start, span.end, span.kind, span.name))
            stack.append((_call(where, partial(getattr, span, "children")), span.start, span.end))
    return outline


def _cut_short(texts: list[str]) -> list[str]:
    return [text[: len(text) * part // 3] for text in texts for part in (1, 2) if text]


# Chunks


def _check_chunks(where: str, loaded: LoadedDocument, options: ChunkOptions, run: Callable[[], list[Chunk]]) -> None:
    """Slices, coverage, budget and identity of the chunks of one document under one configuration."""
    lossless = options.coverage_policy == "lossless"
    where = f"{where}: max_chunk_size={options.max_chunk_size}, coverage_policy={options.coverage_policy}"
    try:
        chunks, again = run(), run()
    except ChunkingError as error:
        _fail(where, f"chunking failed: {error}", "return the document that the message asks for")
    raw = loaded.text.encode("utf-8")
    at = line = 0
    for chunk in chunks:
        here = f"{where}: chunk {chunk.index}"
        start, end = chunk.byte_range
        if raw[start:end].decode("utf-8", "replace") != chunk.text:
            _fail(here, "its text is not the slice of the document at its byte range", _ENGINE)
        _check_gap(here, raw[at:start] if start >= at else raw[start:at], lossless)
        line += raw.count(b"\n", at, start)
        last = line + raw.count(b"\n", start, end - 1)
        if chunk.line_range != (line, last):
            _fail(here, f"its lines are {tuple(chunk.line_range)}, its bytes lie on {line} to {last}", _ENGINE)
        budget = chunk.metadata["budget"]
        if not budget["size"] == len(chunk.contextualized_text) <= options.max_chunk_size:
            _fail(here, f"its payload measures {len(chunk.contextualized_text)}, its budget says {budget}", _ENGINE)
        before = raw[max(0, start - 4) : start].decode("utf-8", "ignore")[-1:]
        if (before == "\r" and chunk.text[0] == "\n") or (before.isalpha() and combining(chunk.text[0])):
            _fail(here, "it begins inside a character that takes several code points", _ENGINE)
        _check_travels(here, chunk)
        line += raw.count(b"\n", start, end)
        at = end
    _check_gap(f"{where}: after the last chunk", raw[at:], lossless)
    if chunks != again:
        _fail(where, "two runs gave different chunks", "use plain values for metadata, and no clock, id() or set order")
    if lossless and options.context_mode == "none":
        _check_headings(where, loaded, chunks, options.max_chunk_size)


def _check_gap(where: str, gap: bytes, lossless: bool) -> None:
    if gap and (lossless or gap.decode("utf-8", "replace").strip("\ufeff").strip()):
        _fail(where, f"{gap[:40]!r} lies in no chunk, or in two", _ENGINE)


def _check_travels(where: str, chunk: Chunk) -> None:
    try:
        back = chunk_from_dict(json.loads(json.dumps(chunk_to_dict(chunk))))
    except (TypeError, ValueError) as error:
        _fail(where, f"it cannot be written as JSON: {error}", _PLAIN)
    if back != chunk:
        changed = [name for name in ("context", "source", "metadata") if getattr(back, name) != getattr(chunk, name)]
        _fail(where, f"JSON changes its {', '.join(changed) or 'values'}", _PLAIN)


def _check_headings(where: str, loaded: LoadedDocument, chunks: list[Chunk], limit: int) -> None:
    """No chunk ends with a heading of the loader's whose first unit would have fitted beside it."""
    headings = {
        b.char_start + len(loaded.text[b.char_start : b.char_end].rstrip()): b.char_start
        for b in loaded.blocks
        if b.kind == "heading"
    }
    units = {b.char_start: b.char_end for b in loaded.blocks if b.kind != "heading"}  # innermost of those at one place
    at = 0
    for chunk, follower in pairwise(chunks):  # they are lossless, so each begins where the one before it ends
        start = headings.get(at + len(chunk.text.rstrip()))
        at += len(chunk.text)
        end = units.get(at + len(follower.text) - len(follower.text.lstrip()))
        if start is not None and end is not None and end - start <= limit:
            _fail(f"{where}: chunk {chunk.index}", f"it ends with the heading {chunk.text[-60:]!r}", _ENGINE)


_ENGINE = "nothing a plugin returns should cause this: please report it to omnichunk with the file"
_PLAIN = "use only str, int, float, bool, None, lists and dicts with str keys for metadata"


# Common


def _registry(
    registry: PluginRegistry | None, hook: str, declaration: Loader | StructureProvider | Language
) -> PluginRegistry:
    """A registry of its own with what is tested in it, in front of all that is there."""
    chosen = registry.snapshot() if registry is not None else PluginRegistry()
    plugin = SimpleNamespace(**{hook: hookimpl(lambda: [declaration])})
    try:
        chosen.register(plugin, f"{hook}: {declaration.name}", overwrite=True)
    except PluginError as error:
        _fail(declaration.name, str(error), "declare what the message asks for")
    return chosen


def _read(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _call(where: str, function: Callable[[], T]) -> T:
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - what a plugin raises is what is looked for
        _fail(
            where,
            f"{type(error).__name__} was raised: {error}",
            "accept any text; say what is broken in Structure.errors",
        )


def _fail(where: str, what: str, remedy: str) -> NoReturn:
    raise AssertionError(f"{where}: {what}. To do: {remedy}.")
