"""What kind of document a zip archive is: formats that share its first bytes are told apart by what it holds."""

from __future__ import annotations

from struct import unpack_from

MAGIC = b"PK\x03\x04"
ZIP = "application/zip"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_FOLDERS = {
    b"word/": f"{_OFFICE}wordprocessingml.document",
    b"ppt/": f"{_OFFICE}presentationml.presentation",
    b"xl/": f"{_OFFICE}spreadsheetml.sheet",
}
_KINDS = {
    _FOLDERS[b"word/"]: "docx",
    _FOLDERS[b"ppt/"]: "pptx",
    _FOLDERS[b"xl/"]: "xlsx",
    "application/epub+zip": "epub",
    ZIP: "zip",
    "": "",
}
_HEADER = 30
_STREAMED = 0x08
"""The flag of an entry whose length stands behind it, unknown to whoever reads on."""


def zip_media_type(head: bytes) -> str:
    """The media type of the document in a zip archive, else ``application/zip``; empty for what is no archive.

    ``head``: the first bytes of a file; 4,096 are enough for what common programs write. An archive that merely holds
    such a document is an archive.
    """
    if not head.startswith(MAGIC):
        return ""
    at = 0
    while head.startswith(MAGIC, at) and at + _HEADER <= len(head):
        (flags,) = unpack_from("<H", head, at + 6)
        length, name_length, extra_length = unpack_from("<I4xHH", head, at + 18)
        start = at + _HEADER + name_length + extra_length
        name = head[at + _HEADER : at + _HEADER + name_length]
        if name == b"mimetype":  # of EPUB and OpenDocument, stored as it is
            content = head[start : start + min(length, 100)].decode("ascii", "replace").strip().lower()
            if content.startswith("application/") and content.isprintable():
                return content
        for folder, media_type in _FOLDERS.items():
            if name.startswith(folder):
                return media_type
        at = head.find(MAGIC, start) if flags & _STREAMED else start + length
        if at < 0:
            break
    return ZIP


def zip_kind(head: bytes) -> str:
    """``docx``, ``pptx``, ``xlsx``, ``epub`` or ``odf``, else ``zip``; an empty string for what is no archive."""
    media_type = zip_media_type(head)
    return _KINDS.get(media_type) or ("odf" if "opendocument" in media_type else "zip" if media_type else "")
