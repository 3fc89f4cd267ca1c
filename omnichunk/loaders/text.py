"""The text loader: every source that is already the text, whatever its language."""

from __future__ import annotations

from collections.abc import Iterable

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Loader
from omnichunk.model.document import FormatSegment, LoadedDocument, Source
from omnichunk.parsing.languages import HEAD, current
from omnichunk.source.decode import decode


def load(source: Source) -> LoadedDocument:
    """The decoded source as one segment; a byte order mark stays in the text and outside the segment.

    Text is taken as it is. The language is the one named, else detected by name and head, else ``text``. Raises
    LoadError when the bytes are no text in the encoding named or found.
    """
    known = current()
    data = source.data
    head = data[:HEAD] if isinstance(data, str) else data[:HEAD].decode("latin-1")
    named = known.canonical(source.language) if source.language else known.detect(source.name, head)
    language = known.get(named or "text")
    kind = "code" if language.kind == "code" else "prose"
    if isinstance(data, str):
        text, start, encoding, normalization = data, 0, "utf-8", "none"
        warnings: tuple[str, ...] = ()
    else:
        decoded = decode(data, source.name, source.encoding, language.kind)
        text, encoding, normalization = decoded.text, decoded.encoding, decoded.normalization
        start, warnings = int(decoded.bom), decoded.warnings
    segments = (FormatSegment(start, len(text), kind, {"language": language.name}),) if start < len(text) else ()
    return LoadedDocument(text, segments, language.name, warnings, {}, encoding, normalization)


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """The loader that serves what no other claims."""
    return [Loader("text", load, media_types=("text/plain",))]
