"""Sources and loaded documents: what comes in, before any structure is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from omnichunk.errors import LoadError


@dataclass(frozen=True, slots=True)
class SourceDescriptor:
    """Names the canonical text that chunk ranges refer to.

    ``revision``: SHA-256 of the canonical text as UTF-8, hexadecimal. ``encoding``: of the original bytes.
    ``normalization``: ``none``, ``decoded:<encoding>`` or ``extracted``. ``metadata``: of the loader, warnings included.
    """

    source_id: str
    revision: str
    encoding: str = "utf-8"
    normalization: str = "none"
    format_name: str = "text"
    metadata: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FormatSegment:
    """A flat part of a loaded document: ``[char_start, char_end)`` in code points of its text.

    ``kind``: ``prose`` or ``code``. ``metadata["language"]`` names the language of code, or of prose that has a markup
    (``markdown``); everything else (page, cell, row …) is carried into ``context.format_metadata``.
    """

    char_start: int
    char_end: int
    kind: str = "prose"
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A loader's answer: the canonical text and its segments, sorted and disjoint.

    ``warnings`` are nonfatal; they reach ``context.parse_errors`` and the source descriptor. ``metadata`` describes the
    whole document. ``encoding`` and ``normalization`` as in ``SourceDescriptor``.
    """

    text: str
    segments: tuple[FormatSegment, ...] = ()
    format_name: str = "text"
    warnings: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    encoding: str = "utf-8"
    normalization: str = "extracted"


@dataclass(frozen=True, slots=True)
class Source:
    """What a loader is given: a name and either bytes or text.

    ``data``: the file's bytes, or a ``str`` that is already canonical. ``encoding``: what the caller named, or ``None``.
    ``options``: the loader's own declared options. ``language``: what the caller named, or empty.
    """

    name: str
    data: bytes | str
    encoding: str | None = None
    language: str = ""
    options: Mapping[str, object] = field(default_factory=dict)


def checked(loaded: LoadedDocument, name: str) -> LoadedDocument:
    """``loaded`` itself if it keeps its promises; it is foreign data, so it is checked once at this border.

    Raises LoadError naming the field that has another type, the segment that is out of range, unsorted or overlapping,
    or the lone surrogate that the text holds.
    """

    def need(kind: type, value: object, what: str, wanted: str) -> None:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise LoadError(f"{name}: {what} is {type(value).__name__}; {wanted} is needed.")

    need(LoadedDocument, loaded, "what was loaded", "a LoadedDocument")
    need(str, loaded.text, "the text", "a str")
    need(Sequence, loaded.segments, "segments", "a tuple of FormatSegment")
    need(Mapping, loaded.metadata, "the metadata of the document", "a mapping")
    refuse_surrogates(loaded.text, name)
    last = 0
    for i, s in enumerate(loaded.segments):
        need(FormatSegment, s, f"segment {i}", "a FormatSegment")
        need(int, s.char_start, f"char_start of segment {i}", "an int")
        need(int, s.char_end, f"char_end of segment {i}", "an int")
        need(Mapping, s.metadata, f"the metadata of segment {i}", "a mapping")
        if not 0 <= s.char_start < s.char_end <= len(loaded.text):
            raise LoadError(
                f"{name}: segment {i} is [{s.char_start}, {s.char_end}) in a text of {len(loaded.text)}; "
                "a segment needs 0 <= char_start < char_end <= len(text)."
            )
        if s.char_start < last:
            raise LoadError(
                f"{name}: segment {i} starts at {s.char_start}, before the end of the previous one at {last}; "
                "segments must be sorted and must not overlap."
            )
        if s.kind not in ("prose", "code"):
            raise LoadError(f'{name}: segment {i} has kind {s.kind!r}; a segment is "prose" or "code".')
        last = s.char_end
    return loaded


def refuse_surrogates(text: str, name: str) -> None:
    """Raise LoadError when ``text`` holds a lone surrogate, which has no UTF-8 form and so no byte range."""
    try:
        text.isascii() or text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise LoadError(
            f"{name}:{line}: the text has a lone surrogate U+{ord(text[error.start]):04X} at offset {error.start}, which "
            'no UTF-8 text can hold. Decode the source with errors="replace", or remove it.'
        ) from None


def revision(text: str) -> str:
    """SHA-256 of ``text`` as UTF-8, hexadecimal; encodes a megabyte at a time, so a large text is not held twice."""
    digest = sha256()
    for start in range(0, len(text), 1 << 20):
        digest.update(text[start : start + (1 << 20)].encode("utf-8"))
    return digest.hexdigest()
