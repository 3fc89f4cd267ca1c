"""The PDF loader. What reads a document is imported when the first one is."""

from __future__ import annotations

from collections.abc import Iterable

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Loader
from omnichunk.model.document import LoadedDocument, Source

OPTIONS: dict[str, object] = {
    "pdf_password": "",
    "pdf_headers_footers": False,
    "pdf_dehyphenate": True,
    "pdf_annotations": True,
}
"""``pdf_password``: tried after the empty one. ``pdf_headers_footers``: keep every repetition of running headers and
footers. ``pdf_dehyphenate``: rejoin words broken at line ends. ``pdf_annotations``: comments after the page's text."""


def load(source: Source) -> LoadedDocument:
    """The pages of a PDF as one text, a segment a page with its number (from 1) and label; see ``OPTIONS``.

    Raises LoadError when the bytes are no PDF, beyond repair, or need a password; MissingDependencyError without pypdf,
    or without cryptography where AES needs it.
    """
    from omnichunk.loaders import pdf_document

    return pdf_document.load(source)


def _sniff(head: bytes) -> bool:
    return head.lstrip().startswith(b"%PDF-")


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """The loader for PDF files."""
    return [Loader("pdf", load, (".pdf",), ("application/pdf",), _sniff, OPTIONS, binary=True)]
