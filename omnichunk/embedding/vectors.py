"""Answers of embedding functions are foreign data: checked, and brought to one form, at this border."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnichunk.errors import EmbeddingError, missing

if TYPE_CHECKING:
    import numpy as np

    Rows = np.ndarray[tuple[int, int], np.dtype[np.float32]]


_LEAST = 1e-100  # squares of lengths from here to its inverse are exact enough


def numpy() -> Any:
    """The module. Raises MissingDependencyError: in pure Python comparing sentences takes longer than embedding them."""
    try:
        import numpy
    except ImportError:
        raise missing("semantic chunking", "numpy", "semantic") from None
    return numpy


def unit_rows(answer: Any, count: int, dimension: int = 0, asked: str = "semantic_embed_fn") -> Rows:
    """``answer`` as ``count`` rows of length 1 (zero vectors stay zero), 32-bit floats.

    So a row from the cache is bit for bit the row that was computed. Raises EmbeddingError unless ``answer`` is one vector
    of finite numbers for each text, all of the same dimension: ``dimension`` if it is known, any above 0 otherwise.
    ``asked``: whose answer it is, for messages.
    """
    np = numpy()
    try:
        if not isinstance(answer, np.ndarray):
            answer = [row.tolist() if hasattr(row, "tolist") else row for row in answer]
        rows = np.asarray(answer)
        if rows.dtype.kind not in "fiu":
            raise TypeError(f"of type {rows.dtype}")
        if rows.dtype.kind != "f" or rows.dtype.itemsize > 8:
            rows = rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(
            f"{asked}: what it returned is no table of numbers ({error}); a vector for each text, all of the same "
            "length, is needed."
        ) from None
    if rows.ndim != 2:
        raise EmbeddingError(f"{asked}: an array of {rows.ndim} dimensions came; one row for each text is needed.")
    if len(rows) != count:
        raise EmbeddingError(f"{asked}: {len(rows)} vectors came for {count} texts; one for each is needed.")
    width = rows.shape[1]
    if not width or (dimension and width != dimension):
        needed = f"{dimension}, as before," if dimension else "1 or more"
        raise EmbeddingError(f"{asked}: vectors of {width} numbers came; {needed} are needed.")
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    if not ((squares > _LEAST) & (squares < 1 / _LEAST)).all():
        wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(wrong):
            raise EmbeddingError(f"{asked}: vector {wrong[0]} of {count} holds a number that is not finite.")
        largest = np.abs(rows).max(axis=1, keepdims=True).astype(np.float64)
        rows = rows / np.where(largest > 0, largest, 1)  # squares overflow or vanish, or a vector is zero
        squares = np.einsum("ij,ij->i", rows, rows)
    unit: Rows = np.empty(rows.shape, np.float32)
    lengths = np.sqrt(np.where(squares > 0, squares, 1))
    np.divide(rows, lengths[:, np.newaxis], out=unit, casting="same_kind")
    return unit
