"""Containers this version knows and cannot read: a clear refusal instead of their bytes as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from omnichunk.errors import UnsupportedFormatError
from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import Loader
from omnichunk.model.document import Source
from omnichunk.source.zipped import zip_kind

HEAD = 4096
_OFFICE = "application/vnd.openxmlformats-officedocument."
_PLUGINS = {"pptx": "omnichunk-office", "xlsx": "omnichunk-office", "epub": "omnichunk-epub"}
# name, what it is called, suffixes, media types, first bytes (zip archives are told apart by what they hold)
_CONTAINERS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...], bytes], ...] = (
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
    ("zip", "zip archives", (".zip", ".jar", ".whl"), ("application/zip",), b""),
    (
        "archive",
        "compressed archives",
        (".gz", ".tgz", ".xz", ".bz2", ".zst", ".7z", ".tar"),
        ("application/gzip",),
        b"\x1f\x8b",
    ),
)


def _kind(head: bytes) -> str:
    """The name of the container that begins with ``head``, or an empty string."""
    kind = zip_kind(head)
    return next(
        (name for name, _, _, _, magic in _CONTAINERS if name == kind or (magic and head.startswith(magic))), ""
    )


def _is_container(head: bytes) -> bool:
    return bool(_kind(head))


def _refuse(source: Source) -> NoReturn:
    by_name = (name for name, _, suffixes, _, _ in _CONTAINERS if source.name.lower().endswith(suffixes))
    kind = _kind(source.data[:HEAD]) if isinstance(source.data, bytes) else ""
    if kind in ("", "zip"):
        kind = next(by_name, kind)
    what = next((what for name, what, *_ in _CONTAINERS if name == kind), "files of this type")
    plugin = f"the plugin {_PLUGINS[kind]}" if kind in _PLUGINS else "a plugin that does"
    raise UnsupportedFormatError(
        f"{source.name}: this version of omnichunk cannot read {what} by itself. Install {plugin}, or extract the text "
        "and chunk that."
    )


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """One loader for all of them, so that their names are left to plugins that read them."""
    suffixes = tuple(suffix for _, _, listed, _, _ in _CONTAINERS for suffix in listed)
    media_types = tuple(media_type for _, _, _, listed, _ in _CONTAINERS for media_type in listed)
    return [Loader("unsupported", _refuse, suffixes, media_types, _is_container, binary=True)]
