"""A second chance for a damaged PDF: a new cross-reference table, made from the objects its bytes still hold."""

from __future__ import annotations

import re

_OBJECT = re.compile(rb"(?<!\d)(\d{1,9})\s{1,4}(\d{1,5})\s{1,4}obj\b")
_CATALOG = re.compile(rb"/Type\s{0,4}/Catalog\b")
_PAGE = re.compile(rb"/Type\s{0,4}/Page\b")
_PAGES = re.compile(rb"/Pages\s{1,4}\d")
_ENCRYPT = re.compile(rb"/Encrypt\s{1,4}\d{1,9}\s{1,4}\d{1,5}\s{1,4}R")
_ID = re.compile(rb"/ID\s{0,4}\[[^\]]{0,300}\]")
OBJECTS = 1_000_000
"""Objects a damaged file may have; the table would not be worth its memory."""


def rebuilt(data: bytes) -> bytes | None:
    """``data`` with a cross-reference table and trailer of our own behind it, or ``None`` if it holds no page.

    One pass: the last definition of an object counts. Where the catalog is lost, one is made that lists the pages found.
    Objects inside compressed object streams are not seen.
    """
    found: dict[int, tuple[int, int]] = {}
    root = b""
    pages: list[bytes] = []
    last = None
    for match in _OBJECT.finditer(data):
        if last is not None:
            root, pages = _kind(data, last, match.start(), root, pages)
        found[int(match[1])] = (match.start(), int(match[2]))
        last = match
        if len(found) > OBJECTS:
            return None
    if last is None:
        return None
    root, pages = _kind(data, last, len(data), root, pages)
    if not root and not pages:
        return None
    out = [data, b"\n"]
    length = len(data) + 1
    number = max(found) + 1
    if not root:
        kids = b" ".join(pages)
        tree = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(pages), kids)
        for body in (tree, b"<</Type/Catalog/Pages %d 0 R>>" % number):
            found[number] = (length, 0)
            out.append(b"%d 0 obj%s endobj\n" % (number, body))
            length += len(out[-1])
            number += 1
        root = b"%d 0 R" % (number - 1)
    out.append(b"xref\n0 1\n0000000000 65535 f \n")
    out += [b"%d 1\n%010d %05d n \n" % (n, offset, generation) for n, (offset, generation) in sorted(found.items())]
    extra = b"".join(match[0] for match in (_ENCRYPT.search(data), _ID.search(data)) if match)
    out.append(b"trailer<</Size %d/Root %s%s>>\nstartxref\n%d\n%%%%EOF\n" % (number, root, extra, length))
    return b"".join(out)


def _kind(data: bytes, match: re.Match[bytes], end: int, root: bytes, pages: list[bytes]) -> tuple[bytes, list[bytes]]:
    """``root`` and ``pages`` after a look at the dictionary of the object at ``match``, which ends before ``end``."""
    end = min(end, match.end() + 4000)
    reference = b"%s %s R" % (match[1], match[2])
    if _CATALOG.search(data, match.end(), end) and _PAGES.search(data, match.end(), end):
        return reference, pages
    if _PAGE.search(data, match.end(), end):
        pages.append(reference)
    return root, pages
