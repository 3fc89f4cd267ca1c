"""A chunk with its embedding, and what every row says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, NamedTuple

from omnichunk.errors import OptionError
from omnichunk.model.chunk import Chunk
from omnichunk.model.ids import chunk_embedding_fingerprint, stable_chunk_id

Embed = Callable[[list[str]], Sequence[Any]]
"""The caller's function: payloads to vectors, as many and in the same order."""


class Point(NamedTuple):
    """A chunk on its way to a sink. ``id``: its stable id. ``vector``: ``None`` where the one there stays good."""

    id: str
    vector: list[float] | None
    chunk: Chunk


def embedded(chunks: Sequence[Chunk], embed_fn: Embed) -> list[Point]:
    """``chunks`` with the vectors of their payloads. Exceptions of ``embed_fn`` propagate.

    Raises OptionError when it does not return a vector of finite numbers for each payload, all of one length.
    """
    if not chunks:
        return []
    answer = embed_fn([chunk.contextualized_text for chunk in chunks])
    try:
        vectors = [[float(x) for x in (v.tolist() if hasattr(v, "tolist") else v)] for v in answer]
        if any(isinstance(v, (str, bytes)) for v in answer):
            raise TypeError("a text is no vector")
    except (TypeError, ValueError, OverflowError) as error:
        raise OptionError(f"embed_fn: a list of vectors, which are lists of numbers, is needed: {error}.") from None
    if len(vectors) != len(chunks):
        raise OptionError(f"embed_fn: {len(vectors)} vectors came for {len(chunks)} texts; one for each is needed.")
    sizes = {len(vector) for vector in vectors}
    if len(sizes) > 1 or 0 in sizes:
        raise OptionError(f"embed_fn: vectors of {sorted(sizes)} numbers came; all of one length are needed.")
    for number, vector in enumerate(vectors):
        if not all(map(isfinite, vector)):
            raise OptionError(f"embed_fn: vector {number} holds a number that is not finite.")
    return [Point(stable_chunk_id(chunk), vector, chunk) for chunk, vector in zip(chunks, vectors)]


def metadata(chunk: Chunk) -> dict[str, Any]:
    """What a row says of ``chunk`` beside id, vector and texts: flat, and of strings, numbers and truth values only.

    Ranges as in the chunk: bytes half open, lines from zero and inclusive. The position in a container (page, cell,
    sheet …) stands under its own name.
    """
    context = chunk.context
    said = {
        "source_id": chunk.source.source_id,
        "revision": chunk.source.revision,
        "fingerprint": chunk_embedding_fingerprint(chunk),
        "filepath": context.filepath,
        "language": context.language,
        "content_type": context.content_type,
        "breadcrumb": " > ".join(context.breadcrumb),
        "index": chunk.index,
        "byte_start": chunk.byte_range.start,
        "byte_end": chunk.byte_range.end,
        "line_start": chunk.line_range.start,
        "line_end": chunk.line_range.end,
    }
    place = {
        name: value
        for name, value in context.format_metadata.items()
        if isinstance(value, (str, int, float)) and name not in said and name != "parser_backend"
    }
    return {k: clean(v) if isinstance(v, str) else v for k, v in {**place, **said}.items()}


def clean(text: str) -> str:
    """``text`` as every database takes it: without NUL, and file names that are no UTF-8 with escapes."""
    return text.replace("\0", "\ufffd").encode("utf-8", "backslashreplace").decode()


def uuid_of(identifier: str) -> str:
    """The UUID that stands for an id where ids have to be UUIDs: always the same one."""
    from uuid import NAMESPACE_OID, uuid5

    return str(uuid5(NAMESPACE_OID, identifier))
