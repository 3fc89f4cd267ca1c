"""The one table of methods that RPC and MCP share: what each takes, gives and does.

A method is work on a ``Desk``, in a worker process. What it raises is mapped to an error for clients in ``failure``.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from omnichunk import (
    Chunk,
    Chunker,
    ChunkingError,
    OptionError,
    Source,
    StoreError,
    UnsupportedFormatError,
    chunk_to_dict,
    language_capabilities,
)
from omnichunk.serve import uri
from omnichunk.serve.folder import EVERYTHING, files
from omnichunk.serve.roots import NoSuchPath, RefusedPath, Roots
from omnichunk.serve.schema import Schema, check, object_of, option_schemas, patterns, string, whole

if TYPE_CHECKING:
    from omnichunk import ChunkStore

INVALID_PARAMS, METHOD_NOT_FOUND, INTERNAL_ERROR, FAILED = -32602, -32601, -32603, -32000
WENT_WRONG = "Something went wrong here; the log of the service names it."
_WHOLE = {"max_chunk_size": 10**9, "min_chunk_size": 0, "target_fill": 1.0, "context_mode": "none"}
"""Options under which a document is one chunk, that knows all definitions."""


class Desk:
    """What the methods work with: the roots, a chunker, the most bytes of a file that are read, and perhaps a store."""

    def __init__(self, roots: Roots, max_file_bytes: int, store: str = "", collection: str = "default") -> None:
        self.roots = roots
        self.max_file_bytes = max_file_bytes
        self._where = store, collection
        self.chunker = Chunker()
        self.options = object_of({"encoding": _ENCODING, **option_schemas(self.chunker.registry.loader_options())})

    @cached_property
    def store(self) -> ChunkStore:
        """The store that is searched. Raises StoreError when there is none."""
        from omnichunk import ChunkStore

        return ChunkStore(self._where[0], self._where[1], create=False)

    def address(self, text: str, more: Mapping[str, Any]) -> uri.Address:
        """What the address of a chunk says, its options checked as those of any call."""
        asked = uri.parsed(text, more, self.options["properties"])
        check("uri", asked.options, self.options)
        _known_encoding(asked.options)
        return asked

    def chunks(self, path: str, options: Mapping[str, Any]) -> tuple[str, list[Chunk]]:
        """What a file is called here, and its chunks."""
        label, data = self.roots.read(path, self.max_file_bytes)
        return label, self.chunker.chunk_bytes(label, data, **options)


@dataclass(frozen=True)
class Method:
    """``params``, ``result``: schemas. ``work(desk, params)``: the result, of plain values.

    ``each``: the method that is called for every file of a folder, at several workers; ``work`` then lists the files.
    """

    name: str
    summary: str
    params: Schema
    result: Schema
    work: Callable[[Desk, dict[str, Any]], Any]
    each: str = ""
    hidden: bool = False


class Table(Mapping[str, Method]):
    """The methods by name, with the options that the chunker here declares; ``search`` if there is a store."""

    def __init__(self, searchable: bool = False) -> None:
        declared = _methods(option_schemas(Chunker().registry.loader_options()))
        self._methods = {method.name: method for method in declared if searchable or method.work is not _search}

    def __getitem__(self, name: str) -> Method:
        return self._methods[name]

    def __iter__(self) -> Any:
        return iter(self._methods)

    def __len__(self) -> int:
        return len(self._methods)

    @property
    def public(self) -> list[Method]:
        """Those for clients."""
        return [method for method in self.values() if not method.hidden]


def failure(error: BaseException, roots: Roots) -> tuple[int, str, str]:
    """Code, message and reason of the error a client gets for ``error``: nothing of a program, nothing outside a root."""
    if isinstance(error, OptionError):
        return INVALID_PARAMS, _told(error, roots), "option"
    if isinstance(error, (RefusedPath, NoSuchPath)):
        return FAILED, _told(error, roots), "path"
    if isinstance(error, StoreError):
        return FAILED, "The store cannot be searched now; the log of the service says why.", "store"
    if isinstance(error, ChunkingError):
        return FAILED, _told(error, roots), "source"
    if isinstance(error, (MemoryError, RecursionError)):
        return FAILED, "This needs more memory than a worker may have.", "memory"
    return INTERNAL_ERROR, WENT_WRONG, "internal"


def _told(error: BaseException, roots: Roots) -> str:
    message = roots.without_roots(str(error))
    for name in ("chunk_bytes(): ", "Chunker(): "):
        message = message.removeprefix(name)
    return message


# What methods do


def _chunk_file(desk: Desk, params: dict[str, Any]) -> Any:
    path, detail = params.pop("path"), params.pop("detail", "full")
    _known_encoding(params)
    _, chunks = desk.chunks(path, params)
    return [_shown(chunk, detail, params) for chunk in chunks]


def _file_of_folder(desk: Desk, params: dict[str, Any]) -> Any:
    """The row of one file: failures are part of it."""
    path, detail = params.pop("path"), params.pop("detail", "full")
    try:
        label, data = desk.roots.read(path, desk.max_file_bytes)
        if _is_binary(desk.chunker, label, data, params.get("encoding") or "utf-8"):
            return row_of(path, "skipped", "binary")
        chunks = desk.chunker.chunk_bytes(label, data, **params)
    except OptionError:
        raise
    except UnsupportedFormatError:
        return row_of(path, "skipped", "format not supported")
    except ChunkingError as error:
        return row_of(path, "failed", _told(error, desk.roots))
    row = row_of(path, "ok", None)
    row["chunks"] = [_shown(chunk, detail, params) for chunk in chunks]
    row["diagnostics"] = list(chunks[0].context.parse_errors) if chunks else []
    return row


def _is_binary(chunker: Chunker, name: str, data: bytes, encoding: str) -> bool:
    head = data[:8192]
    if b"\0" not in head or head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        return False
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        return False
    return not chunker.registry.loader_for(Source(name, head)).binary


def _chunk_directory(desk: Desk, params: dict[str, Any]) -> Any:
    """The rows of what no file is, and the files that ``each`` is to be called for, in their order.

    Options are checked before, since they are wrong for all or for none.
    """
    own = {name: params.pop(name) for name in ("path", "glob", "exclude", "include_hidden") if name in params}
    shared = {name: value for name, value in params.items() if name not in ("concurrency", "detail")}
    if "source_id" in shared:
        raise OptionError("source_id names a single source; files of a folder are named by their paths.")
    _known_encoding(shared)
    registry = desk.chunker.registry
    Chunker(registry, **{name: value for name, value in shared.items() if name != "encoding"})
    registry.loader_for(Source("a.txt", b""), shared.get("loader"))
    found = files(desk.roots, own.get("path", "."), own.get("glob", EVERYTHING), own.get("exclude", []),
                  own.get("include_hidden", False))  # fmt: skip
    return [entry.path if entry.verdict == "found" else row_of(entry.path, entry.verdict, entry.reason)
            for entry in found if entry.verdict != "ignored"]  # fmt: skip


def row_of(path: str, outcome: str, error: str | None) -> dict[str, Any]:
    """The row of one file of a folder, without chunks."""
    return {"filepath": path, "chunks": [], "outcome": outcome, "error": error, "diagnostics": []}


def _list_files(desk: Desk, params: dict[str, Any]) -> Any:
    found = files(desk.roots, params.get("path", "."))
    return [[entry.path, entry.size] for entry in found if entry.verdict == "found"]


def _outline(desk: Desk, params: dict[str, Any]) -> Any:
    path = params.pop("path")
    label, chunks = desk.chunks(path, {**params, **_WHOLE})
    rows: list[dict[str, Any]] = []
    around: list[int] = []
    for entity in (entity for chunk in chunks for entity in chunk.context.entities):
        if entity.byte_range is None or entity.line_range is None:
            continue
        while around and around[-1] <= entity.byte_range.start:
            around.pop()
        row = {"name": entity.name, "type": entity.type, "depth": len(around), "signature": entity.signature,
               "parent": entity.parent, "start_line": entity.line_range.start + 1,
               "end_line": entity.line_range.end + 1}  # fmt: skip
        rows.append(row)
        around.append(entity.byte_range.end)
    context = chunks[0].context if chunks else None
    return {
        "filepath": label, "language": context.language if context else "", "entries": rows,
        "diagnostics": list(context.parse_errors) if context else [],
    }  # fmt: skip


def _read_around(desk: Desk, params: dict[str, Any]) -> Any:
    before, after = params.pop("before", 1), params.pop("after", 1)
    line, index, address = params.pop("line", None), params.pop("index", None), params.pop("uri", None)
    if (address is None) is ("path" not in params) or (address is None and (line is None) is (index is None)):
        raise OptionError("read_around: either uri, or path with line or with index, is needed.")
    revision = ""
    if address is not None:
        asked = desk.address(address, params)
        params, index, revision = {"path": asked.path, **asked.options}, asked.index, asked.revision
    path = params.pop("path")
    _known_encoding(params)
    label, chunks = desk.chunks(path, params)
    _same_revision(label, chunks, revision)
    if index is None and line is not None:
        holding = (chunk.index for chunk in chunks if chunk.line_range.end >= line - 1)
        index = next(holding, len(chunks) - 1)
    at = _existing(label, chunks, index or 0)
    around = chunks[max(0, at - before) : at + after + 1]
    return {"filepath": label, "index": at, "total_chunks": len(chunks),
            "chunks": [_shown(chunk, "text", params) for chunk in around]}  # fmt: skip


def _read_resource(desk: Desk, params: dict[str, Any]) -> Any:
    asked = desk.address(params["uri"], {})
    label, chunks = desk.chunks(asked.path, asked.options)
    _same_revision(label, chunks, asked.revision)
    if asked.index is not None:
        chunks = [chunks[_existing(label, chunks, asked.index)]]
    return [{"uri": uri.made(chunk, asked.options), "text": chunk.contextualized_text} for chunk in chunks]


def _same_revision(label: str, chunks: list[Chunk], revision: str) -> None:
    if revision and chunks and not chunks[0].source.revision.startswith(revision):
        raise NoSuchPath(f"{label}: has changed since this address was made. Chunk it again.")


def _existing(label: str, chunks: list[Chunk], index: int) -> int:
    if index >= len(chunks):
        raise NoSuchPath(f"{label}: has {len(chunks)} chunks, counted from 0; there is no chunk {index}.")
    return index


def _search(desk: Desk, params: dict[str, Any]) -> Any:
    """Every root is searched by itself, so that what the store holds of other folders is never found."""
    query, limit, path = params.pop("query"), params.pop("limit", 10), params.pop("path", None)
    folders = desk.roots.folders if path is None else desk.roots.located(path)
    hits = [hit for folder in folders for hit in desk.store.search(query, limit, path=folder, **params)]
    rows = []
    for hit in sorted(hits, key=lambda hit: -hit.score)[:limit]:
        row = _shown(hit.chunk, "text", {})
        row["filepath"] = desk.roots.label(hit.chunk.context.filepath)
        if hit.chunk.config_fingerprint != desk.chunker.config_fingerprint:
            del row["uri"]  # it would be that of another chunk
        else:
            row["uri"] = uri.made(hit.chunk, {}, row["filepath"])
        rows.append({**row, "score": hit.score})
    return rows


def _capabilities(desk: Desk, params: dict[str, Any]) -> Any:
    registry = desk.chunker.registry
    rows = [
        {"language": row.language, "extensions": list(row.extensions), "grammar_registered": row.grammar_registered,
         "grammar_available": row.grammar_available, "parser_available": row.parser_available,
         "query_available": row.query_available, "extraction": row.extraction}
        for row in language_capabilities(registry.languages())
    ]  # fmt: skip
    loaders = [{"name": loader.name, "suffixes": list(loader.suffixes)} for loader in registry.loaders().values()]
    return {"languages": rows, "loaders": loaders}


def _known_encoding(params: Mapping[str, Any]) -> None:
    """Refuse a name that Python's codecs do not know before anything is read, as an argument that is wrong."""
    try:
        codecs.lookup(params.get("encoding") or "utf-8")
    except (LookupError, ValueError):
        raise OptionError('encoding: no such encoding. Name one such as "utf-8" or "cp1252".') from None


def _shown(chunk: Chunk, detail: str, options: Mapping[str, Any]) -> dict[str, Any]:
    if detail == "full":
        return chunk_to_dict(chunk)
    lines, context = chunk.line_range, chunk.context
    row = {
        "uri": uri.made(chunk, options), "filepath": context.filepath, "index": chunk.index,
        "total_chunks": chunk.total_chunks, "start_line": lines.start + 1, "end_line": lines.end + 1,
        "language": context.language, "breadcrumb": list(context.breadcrumb), "size": chunk.metadata["budget"]["size"],
    }  # fmt: skip
    return row | {"text": chunk.contextualized_text} if detail == "text" else row


# What they take and give


_PATH = string("A file below an allowed root, relative to it.")
_ENCODING: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "description": "Of a text file; found out if not named.",
}
_DETAIL: Schema = {
    "type": "string", "enum": ["full", "text", "brief"], "default": "full",
    "description": "What is told of a chunk: everything, the payload and where it is, or only where it is.",
}  # fmt: skip
_CHUNK: Schema = {"type": "object", "description": "A chunk; with detail=full all its fields, and schema_version."}
_CHUNKS: Schema = {"type": "array", "items": _CHUNK}
_FILES: Schema = {"type": "array", "items": {"type": "array"}}


def _methods(options: dict[str, Schema]) -> list[Method]:
    folder = {
        "path": string("A folder below an allowed root; the root itself if not named.", default="."),
        "glob": patterns("Only such files, as in a .gitignore.", default=EVERYTHING),
        "exclude": patterns("Not such files."),
        "include_hidden": {"type": "boolean", "default": False, "description": "Names with a leading dot, too."},
        "concurrency": whole("Files at once; never more than the service has workers.", 1, 64, default=1),
    }
    chunking = {"encoding": _ENCODING, "detail": _DETAIL, **options}
    around = {
        "uri": string("The address of a chunk, as chunk_file gives it; instead of path and index."),
        "line": whole("A line of the file, counted from 1, instead of index.", 1),
        "index": whole("The number of a chunk, counted from 0."),
        "before": whole("Chunks to read before it.", 0, 100, default=1),
        "after": whole("Chunks to read after it.", 0, 100, default=1),
    }
    row = object_of(
        {"filepath": {"type": "string"}, "chunks": _CHUNKS, "outcome": {"enum": ["ok", "skipped", "failed"]},
         "error": {"anyOf": [{"type": "string"}, {"type": "null"}]},
         "diagnostics": {"type": "array", "items": {"type": "string"}}},
        ("filepath", "chunks", "outcome", "error", "diagnostics"),
    )  # fmt: skip
    per_file = Method(
        "file_of_folder", "One file of a folder.", object_of({"path": _PATH, **chunking}, ("path",)), row,
        _file_of_folder, hidden=True,
    )  # fmt: skip
    return [
        Method(
            "chunk_file", "Chunk a file: exact slices within a budget, with where they are and what they belong to.",
            object_of({"path": _PATH, **chunking}, ("path",)), _CHUNKS, _chunk_file,
        ),
        Method(
            "chunk_directory", "Chunk the files of a folder; ignore files are honoured. One row a file.",
            object_of({**folder, **chunking}), {"type": "array", "items": row}, _chunk_directory, per_file.name,
        ),
        Method(
            "outline", "The definitions, headings and tables of a file, with their lines counted from 1.",
            object_of({"path": _PATH, "encoding": _ENCODING}, ("path",)),
            {"type": "object", "properties": {"filepath": {"type": "string"}, "language": {"type": "string"},
                                              "entries": {"type": "array", "items": {"type": "object"}},
                                              "diagnostics": {"type": "array", "items": {"type": "string"}}}},
            _outline,
        ),
        Method(
            "read_around", "Read a chunk with its neighbours: by its address, or by path and line or index.",
            object_of({"path": _PATH, **around, "encoding": _ENCODING, **options}),
            {"type": "object", "properties": {"filepath": {"type": "string"}, "index": {"type": "integer"},
                                              "total_chunks": {"type": "integer"}, "chunks": _CHUNKS}},
            _read_around,
        ),
        Method(
            "capabilities", "Which languages have outlines here and how they are found, and which formats are read.",
            object_of({}),
            {"type": "object", "properties": {name: {"type": "array", "items": {"type": "object"}}
                                              for name in ("languages", "loaders")}},
            _capabilities,
        ),
        Method(
            "search",
            "Search the store for words, best first; read on with read_around by path and line.",
            object_of(
                {
                    "query": string('Words; "several words" follow each other, begin* need only begin so.', minLength=1),
                    "limit": whole("Chunks at most.", 1, 100, default=10),
                    "path": string("Only below this file or folder."),
                    "language": string("Only chunks in it."),
                },
                ("query",),
            ),
            _CHUNKS,
            _search,
        ),
        per_file,
        replace(per_file, name="list_files", summary="Names and sizes.", params=object_of({"path": folder["path"]}),
                result=_FILES, work=_list_files),
        replace(per_file, name="read_resource", summary="Chunks by address.",
                params=object_of({"uri": string("An address.")}, ("uri",)), result=_CHUNKS, work=_read_resource),
    ]  # fmt: skip
