"""HTML pages as a reader sees them: headings, text, lists and tables, no markup, no scripts.

As source, markup included, a page is text like any other; this loader is asked for by name, ``loader="page"``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from omnichunk.builder.document import DocumentBuilder
from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Loader
from omnichunk.model.document import LoadedDocument, Source
from omnichunk.source.decode import decode


def load(source: Source) -> LoadedDocument:
    """What ``DocumentBuilder.add_html`` reads in the decoded page; byte ranges count in that text.

    Raises LoadError when the bytes are no text in the encoding named or found.
    """
    builder = DocumentBuilder("html")
    if isinstance(source.data, str):
        builder.add_html(source.data)
        return builder.document()
    decoded = decode(source.data, source.name, source.encoding, "markup")
    builder.warnings.extend(decoded.warnings)
    builder.add_html(decoded.text)
    return replace(builder.document(), encoding=decoded.encoding)


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """One loader that claims no file by itself."""
    return [Loader("page", load)]
