"""Which files below a folder a client may have: those that ``find_files`` finds, over folders that are opened safely.

Nothing above the root counts, ignore files neither, and every folder is reached through ``Roots``.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from omnichunk import Entry, find_files
from omnichunk.serve.roots import Item, NoSuchPath, RefusedPath, Roots

EVERYTHING = "**/*"
_LONGEST = 1 << 18
"""Bytes of an ignore file; the rules of a larger one do not count."""


def files(
    roots: Roots,
    path: str,
    glob: str | list[str] = EVERYTHING,
    exclude: str | list[str] = (),  # type: ignore[assignment]
    include_hidden: bool = False,
) -> Iterator[Entry]:
    """What ``find_files`` finds below the folder ``path``, by the names that things have here.

    Raises RefusedPath, NoSuchPath for the folder itself and OptionError for a pattern that is none.
    """
    top, _ = roots.scan(path)
    return find_files(top, glob, exclude, include_hidden, opener=_Below(roots))


class _Below:
    """Opens what lies below the roots."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def listing(self, folder: str) -> list[Item]:
        try:
            return self._roots.scan(folder)[1]
        except (NoSuchPath, RefusedPath) as error:
            raise OSError(0, str(error).removeprefix(f"{folder}: ").rstrip(".")) from None

    def text(self, path: str) -> str:
        try:
            return self._roots.read(path, _LONGEST)[1].decode("utf-8-sig", "surrogateescape")
        except (NoSuchPath, RefusedPath):
            raise OSError from None

    def above(self, top: str) -> list[tuple[str, str]]:
        """As far as the root that ``top`` lies in."""
        names = [] if top == "." else top.split("/")
        first = 0 if len(self._roots.roots) == 1 else 1
        return [
            (posixpath.join(*names[:n]) if n else ".", "/".join(names[n:]) + "/")
            for n in range(len(names) - 1, first - 1, -1)
        ]

    def link(self, path: str) -> str:
        """The same wherever it leads: whether something is there is not for clients to know."""
        return "link"
