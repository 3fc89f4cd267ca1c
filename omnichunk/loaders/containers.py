"""Containers this version knows and cannot read: a clear refusal instead of their bytes as text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NoReturn

from omnichunk.errors import UnsupportedFormatError
from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Loader
from omnichunk.model.document import Source

_OFFICE = "application/vnd.openxmlformats-officedocument."
_REMEDY = "Extract its text first and chunk that, or install a plugin that reads it (omnichunk plugins lists them)."
# name, what it is called, suffixes, media types, first bytes
_CONTAINERS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...], bytes], ...] = (
    ("notebook", "Jupyter notebooks", (".ipynb",), ("application/x-ipynb+json",), b""),
    ("pdf", "PDF files", (".pdf",), ("application/pdf",), b"%PDF-"),
    ("docx", "Word documents", (".docx", ".docm", ".dotx"), (_OFFICE + "wordprocessingml.document",), b""),
    ("pptx", "PowerPoint files", (".pptx", ".pptm"), (_OFFICE + "presentationml.presentation",), b""),
    ("xlsx", "Excel workbooks", (".xlsx", ".xlsm"), (_OFFICE + "spreadsheetml.sheet",), b""),
    (
        "ole",
        "binary Office files",
        (".doc", ".dot", ".ppt", ".xls", ".msg"),
        ("application/msword",),
        b"\xd0\xcf\x11\xe0",
    ),
    ("odf", "OpenDocument files", (".odt", ".ods", ".odp"), ("application/vnd.oasis.opendocument.text",), b""),
    ("epub", "EPUB books", (".epub",), ("application/epub+zip",), b""),
    ("zip", "zip archives", (".zip", ".jar", ".whl"), ("application/zip",), b"PK\x03\x04"),
    (
        "archive",
        "compressed archives",
        (".gz", ".tgz", ".xz", ".bz2", ".zst", ".7z", ".tar"),
        ("application/gzip",),
        b"\x1f\x8b",
    ),
)


def _refuse(what: str, source: Source) -> NoReturn:
    raise UnsupportedFormatError(f"{source.name}: this version of omnichunk cannot read {what}. {_REMEDY}")


def _starts(magic: bytes, head: bytes) -> bool:
    return head.startswith(magic)


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """A loader for each container that says it cannot be read."""
    for name, what, suffixes, media_types, magic in _CONTAINERS:
        sniff = partial(_starts, magic) if magic else None
        yield Loader(name, partial(_refuse, what), suffixes, media_types, sniff, binary=True)
