"""JSON Lines: a value a line, written and read one after the other, so that a file may be larger than memory."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any, TypeVar

from omnichunk.errors import SchemaError
from omnichunk.model.chunk import Chunk
from omnichunk.serialization.codec import from_dict, to_dict

T = TypeVar("T")
Place = str | os.PathLike[str]

_ASCII = json.JSONEncoder(allow_nan=False, check_circular=False).encode
_READABLE = json.JSONEncoder(allow_nan=False, check_circular=False, ensure_ascii=False).encode


def dumps(value: Any) -> str:
    """``value``, one that ``to_dict`` takes, as one line of JSON without its end.

    Raises SchemaError when its metadata holds an object that JSON has no form for. Lone surrogates, from file names
    that are no UTF-8, are escaped.
    """
    return encoded(to_dict(value), value)


def encoded(data: Mapping[str, Any], value: Any) -> str:
    """``data`` as JSON; ``value``: what it is of, for the SchemaError that tells of an object without a form in JSON."""
    try:
        # The encoder for ASCII is twice as fast, and the text is most of a chunk.
        shown = data.get("contextualized_text", "")
        line = _ASCII(data) if shown.isascii() else _READABLE(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"{_name(value)}: its metadata cannot be written as JSON: {error}.") from None
    return line if line.isascii() else line.encode("utf-8", "backslashreplace").decode()


def write_jsonl(values: Iterable[Any], target: Place | IO[str] | IO[bytes]) -> int:
    """Write ``values``, such as chunks, as they come, a line each; returns how many.

    ``target``: a path, or an open file. A file at a path appears whole when all is written; until then, and if anything
    is raised, what was there before stays.
    """
    if not isinstance(target, (str, os.PathLike)):
        return _write(values, target)
    with replaced(target) as file:
        return _write(values, file)


@contextmanager
def replaced(path: Place) -> Iterator[IO[bytes]]:
    """A file to write, which takes the place of ``path`` when the block ends well and is gone when it does not.

    A link stays one, and a file keeps its permissions. What is no regular file, such as a pipe, is written as it comes.
    """
    name = os.path.realpath(os.fsdecode(path))
    mode = os.stat(name).st_mode if os.path.exists(name) else None
    if mode is not None and not stat.S_ISREG(mode):
        with open(name, "wb") as file:
            yield file
        return
    part = f"{name}.{os.getpid()}-{os.urandom(4).hex()}.part"
    try:
        with open(part, "xb") as file:
            if mode is not None:
                os.chmod(part, stat.S_IMODE(mode))
            yield file
        os.replace(part, name)
    finally:
        with suppress(OSError):
            os.unlink(part)


def read_jsonl(source: Place | Iterable[str] | Iterable[bytes], kind: type[T] = Chunk) -> Iterator[T]:  # type: ignore[assignment]
    """The values of type ``kind`` in JSON Lines, each read when it is asked for; blank lines are passed over.

    ``source``: a path, or lines, such as an open file gives. Raises SchemaError with the number of the line for one
    that breaks off, is no JSON, or holds no such value.
    """
    if not isinstance(source, (str, os.PathLike)):
        yield from _read(source, getattr(source, "name", None), kind)
        return
    with open(source, "rb") as file:
        yield from _read(file, os.fsdecode(source), kind)


def _write(values: Iterable[Any], file: Any) -> int:
    binary = not hasattr(file, "encoding")
    count = 0
    for value in values:
        line = dumps(value) + "\n"
        file.write(line.encode() if binary else line)
        count += 1
    return count


def _read(lines: Iterable[str | bytes], name: object, kind: type[T]) -> Iterator[T]:
    label = f"{name}:" if isinstance(name, str) else "line "
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode() if isinstance(line, bytes) else line
            if number == 1:
                text = text.removeprefix("\ufeff")
            if text and not text.isspace():
                value = from_dict(kind, _loaded(text))
            else:
                continue
        except UnicodeDecodeError as error:
            raise SchemaError(f"{label}{number}: is no UTF-8 at byte {error.start} of the line.") from None
        except SchemaError as error:
            raise SchemaError(f"{label}{number}: {error}") from None
        yield value


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise SchemaError("the JSON is nested too deeply.") from None
    except ValueError as error:
        told = f"{error.msg} at column {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else str(error)
        if text.endswith("\n"):
            raise SchemaError(f"is no JSON: {told}.") from None
        raise SchemaError(
            f"the line breaks off after {len(text)} characters: it has no end, and is no JSON ({told}). Whoever wrote it "
            "did not finish; write it again."
        ) from None


def _name(value: Any) -> str:
    if isinstance(value, Chunk):
        return f"{value.source.source_id}: chunk {value.index}"
    return type(value).__name__
