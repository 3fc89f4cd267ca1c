"""What kind of document a zip archive is: formats that share its first bytes are told apart by what it holds."""

from __future__ import annotations

from struct import unpack_from

MAGIC = b"PK\x03\x04"
_FOLDERS = {b"word/": "docx", b"ppt/": "pptx", b"xl/": "xlsx"}
_MEDIA = {b"application/epub+zip": "epub", b"application/vnd.oasis.opendocument": "odf"}
_HEADER = 30
_STREAMED = 0x08
"""The flag of an entry whose length stands behind it, unknown to whoever reads on."""


def zip_kind(head: bytes) -> str:
    """``docx``, ``pptx``, ``xlsx``, ``epub`` or ``odf``, else ``zip``; an empty string for what is no archive.

    ``head``: the first bytes of a file; 4,096 are enough for what common programs write. An archive that merely holds
    such a document is a ``zip``.
    """
    if not head.startswith(MAGIC):
        return ""
    at = 0
    while head.startswith(MAGIC, at) and at + _HEADER <= len(head):
        flags, length, name_length, extra_length = (
            *unpack_from("<H", head, at + 6),
            *unpack_from("<I4xHH", head, at + 18),
        )
        start = at + _HEADER + name_length + extra_length
        name = head[at + _HEADER : at + _HEADER + name_length]
        kinds = _MEDIA if name == b"mimetype" else _FOLDERS
        content = head[start : start + 50] if name == b"mimetype" else name
        for beginning, kind in kinds.items():
            if content.startswith(beginning):
                return kind
        at = head.find(MAGIC, start) if flags & _STREAMED else start + length
        if at < 0:
            break
    return "zip"
