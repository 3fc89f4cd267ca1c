"""The loader of Word documents. What reads one is imported when the first one is."""

from __future__ import annotations

from collections.abc import Iterable

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Loader
from omnichunk.model.document import LoadedDocument, Source

_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml."
_MACRO = "application/vnd.ms-word."
OPTIONS = {
    "docx_comments": False,
    "docx_headers": False,
    "docx_deletions": False,
    "docx_hidden": False,
}
"""Comments, headers and footers, deleted text, and text formatted as hidden: whether each is read."""


def load(source: Source) -> LoadedDocument:
    """The text of a Word document with a segment for each paragraph (``paragraph``) or row (``table``, ``row``).

    All three count from 1. Raises LoadError when the bytes are no Word document, are damaged, encrypted or inflate to
    more than a document can need; MissingDependencyError without lxml. What can be done without becomes a warning.
    """
    from omnichunk.loaders import docx_document

    return docx_document.load(source)


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """The loader of Word documents, with and without macros, and of templates."""
    return [
        Loader(
            "docx",
            load,
            suffixes=(".docx", ".docm", ".dotx", ".dotm"),
            media_types=(
                f"{_WORD}document",
                f"{_WORD}template",
                f"{_MACRO}document.macroenabled.12",
                f"{_MACRO}template.macroenabled.12",
            ),
            options=OPTIONS,
            binary=True,
        )
    ]
