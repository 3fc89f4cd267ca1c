"""Chunks as rows of Arrow tables and Parquet files, and back. Needs pyarrow, which the extra ``arrow`` installs.

A row is a chunk: a column a field, nested values as structs and lists of structs, and first ``id``, the stable id.
``metadata`` is a struct of ``budget``, a struct as well, and ``more``. What loaders tell may be of any shape, so those
fields (``more``, ``format_metadata``, the ``metadata`` of sources and segments) are JSON text, null for nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from omnichunk.errors import OptionError, SchemaError, missing
from omnichunk.identity import stable_chunk_id
from omnichunk.model.chunk import Chunk
from omnichunk.serialization.codec import KINDS, SCHEMA_VERSION, check_version, chunk_from_dict, chunk_to_dict
from omnichunk.serialization.convert import hints, without_none
from omnichunk.serialization.jsonl import encoded, replaced

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1024
"""Rows of a batch, if not asked for otherwise."""
_MOST = 1 << 26
"""Code points of a batch after which the next one begins; a column of a batch holds 2 GiB at most."""
_VERSION = b"omnichunk_schema_version"
_BUDGET = {"unit": str, "limit": int, "size": int, "raw_size": int, "overflow": int, "policy": str,
           "token_accuracy": str, "rendered_token_count": int}  # fmt: skip


def arrow_schema() -> pa.Schema:
    """The columns of a chunk; the version of the form is in the schema's metadata. Raises MissingDependencyError."""
    pa = _pyarrow("arrow_schema()")
    budget = pa.struct([(name, pa.string() if kind is str else pa.int64()) for name, kind in _BUDGET.items()])
    columns = [pa.field("id", pa.string())]
    for name, hint in hints(Chunk):
        kind = pa.struct([("budget", budget), ("more", pa.string())]) if name == "metadata" else _type(pa, hint)
        columns.append(pa.field(name, kind))
    return pa.schema(columns, {_VERSION: str(SCHEMA_VERSION)})


def arrow_batches(chunks: Iterable[Chunk], batch_size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """``chunks`` as record batches of at most ``batch_size`` rows, fewer of long ones, made as they are asked for.

    Raises SchemaError for a chunk whose metadata has no form in JSON, or that holds a lone surrogate (from a file name
    that is no UTF-8), which no string of Arrow can; MissingDependencyError without pyarrow.
    """
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1:
        raise OptionError(f"batch_size={batch_size!r}; a whole number of at least 1 is needed.")
    return _batches(arrow_schema(), chunks, batch_size)


def to_arrow(chunks: Iterable[Chunk]) -> pa.Table:
    """``chunks`` as one table; see ``arrow_batches``."""
    pa = _pyarrow("to_arrow()")
    return pa.Table.from_batches(list(arrow_batches(chunks)), arrow_schema())


def from_arrow(data: pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch]) -> Iterator[Chunk]:
    """The chunks of a table, a batch or a reader of batches, one after the other; other columns are passed over.

    Raises SchemaError with the number of the row, from zero, for one that is no chunk, and for a version of the form
    that this code does not read.
    """
    if hasattr(data, "to_batches"):
        data = data.to_batches()
    elif hasattr(data, "to_pylist"):
        data = [data]
    number = 0
    for batch in data:
        _check(batch.schema)
        for start in range(0, batch.num_rows, BATCH):
            for row in batch.slice(start, BATCH).to_pylist():
                try:
                    yield _chunk(row)
                except SchemaError as error:
                    raise SchemaError(f"row {number}: {error}") from None
                number += 1


def write_parquet(chunks: Iterable[Chunk], path: str | os.PathLike[str], batch_size: int = BATCH) -> int:
    """Write ``chunks`` to a Parquet file as they come; returns how many.

    The file appears whole when all is written; until then, and if anything is raised, what was there before stays.
    """
    _pyarrow("write_parquet()")
    from pyarrow import parquet

    count = 0
    batches = arrow_batches(chunks, batch_size)
    with replaced(path) as file, parquet.ParquetWriter(file, arrow_schema(), compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def read_parquet(path: str | os.PathLike[str]) -> Iterator[Chunk]:
    """The chunks of a Parquet file, batch by batch; see ``from_arrow``. Raises SchemaError if it is none."""
    pa = _pyarrow("read_parquet()")
    from pyarrow import parquet

    name = os.fsdecode(path)
    with open(path, "rb") as opened:
        try:
            with parquet.ParquetFile(opened) as file:
                yield from from_arrow(file.iter_batches(BATCH))
        except SchemaError as error:
            raise SchemaError(f"{name}: {error}") from None
        except pa.ArrowException as error:
            raise SchemaError(f"{name}: is no Parquet file that can be read: {error}") from None


@cache
def _pyarrow(who: str) -> ModuleType:
    try:
        import pyarrow
    except ImportError:
        raise missing(who, "pyarrow", "arrow") from None
    module: ModuleType = pyarrow
    return module


def _type(pa: Any, hint: Any) -> Any:
    """The Arrow type of a field."""
    hint, _ = without_none(hint)
    if hint in KINDS:
        return pa.struct([(name, _type(pa, inner)) for name, inner in hints(hint)])
    if get_origin(hint) is tuple:
        return pa.list_(_type(pa, get_args(hint)[0]))
    return {int: pa.int64(), bool: pa.bool_()}.get(hint, pa.string())


def _batches(schema: Any, chunks: Iterable[Chunk], batch_size: int) -> Iterator[Any]:
    waiting: list[Chunk] = []
    size = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk.contextualized_text)
        if len(waiting) == batch_size or size > _MOST:
            yield _batch(schema, waiting)
            waiting, size = [], 0
    if waiting:
        yield _batch(schema, waiting)


def _batch(schema: Any, chunks: list[Chunk]) -> Any:
    pa = _pyarrow("arrow_batches()")
    rows = [_row(chunk) for chunk in chunks]
    try:
        return pa.RecordBatch.from_pylist(rows, schema)
    except UnicodeEncodeError as error:
        for chunk, row in zip(chunks, rows):
            if not _encodable(row):
                raise SchemaError(
                    f"{chunk.source.source_id!a}: chunk {chunk.index} holds the lone surrogate "
                    f"U+{ord(error.object[error.start]):04X}, which no Arrow string can. Name its source in UTF-8, or "
                    "use JSON Lines."
                ) from None
        raise


def _encodable(row: dict[str, Any]) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _row(chunk: Chunk) -> dict[str, Any]:
    row = chunk_to_dict(chunk)
    row["id"] = stable_chunk_id(chunk)
    context, source, metadata = row["context"], row["source"], row["metadata"]
    budget = metadata.get("budget")
    if isinstance(budget, dict) and {name: type(value) for name, value in budget.items()} == _BUDGET:
        del metadata["budget"]
    else:
        budget = None
    row["metadata"] = {"budget": budget, "more": _text(chunk, metadata)}
    source["metadata"] = _text(chunk, source["metadata"])
    context["format_metadata"] = _text(chunk, context["format_metadata"])
    for segment in context["segments"]:
        segment["metadata"] = _text(chunk, segment["metadata"])
    return row


def _chunk(row: dict[str, Any]) -> Chunk:
    metadata, source, context = row.get("metadata"), row.get("source"), row.get("context")
    if isinstance(metadata, dict) and "more" in metadata:
        budget = metadata.get("budget")
        row["metadata"] = {**({} if budget is None else {"budget": budget}), **_mapping(metadata["more"])}
    if isinstance(source, dict):
        source["metadata"] = _mapping(source.get("metadata"))
    if isinstance(context, dict):
        context["format_metadata"] = _mapping(context.get("format_metadata"))
        for segment in context.get("segments") or ():
            segment["metadata"] = _mapping(segment.get("metadata"))
    return chunk_from_dict(row)


def _text(chunk: Chunk, data: Mapping[str, Any]) -> str | None:
    return encoded(data, chunk) if data else None


def _mapping(text: Any) -> Any:
    if text is None:
        return {}
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"metadata that is no JSON: {error}.") from None


def _check(schema: Any) -> None:
    """Raise SchemaError for a version that is none of ours; a schema without one is of another maker, and tried."""
    version = (schema.metadata or {}).get(_VERSION)
    if version is not None:
        check_version(int(version) if version.isdigit() else version.decode("utf-8", "replace"))
