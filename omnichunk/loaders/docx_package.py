"""The package of a Word document: a zip of XML parts that anybody may have built to do harm.

Nothing is read but the parts that are asked for, each with its size checked before it is inflated; XML is parsed
without a document type (the standard forbids one), so there are no entities and nothing is fetched.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from io import BytesIO
from itertools import pairwise
from posixpath import dirname, normpath
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from omnichunk.errors import LoadError
from omnichunk.loaders.docx_names import Element, W

MAX_PARTS = 20_000
MAX_BYTES = 256 << 20
"""Of all parts that are read, inflated. A document of 100,000 paragraphs has about 40 MB."""
MAX_TAGS = 10_000_000
"""Angle brackets in one part: an element costs about 200 bytes of memory."""
MAX_RATIO = 500
"""Inflated to packed, for a part above ``RATIO_FROM`` bytes. Real documents reach 20, one repeated paragraph 350."""
RATIO_FROM = 16 << 20
_HEAD = 1 << 16
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BROKEN = (BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError, struct.error)
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
_ROOT = re.compile(rb"<[^!?<>][^<>]*>")
_REMEDY = "Open it in a word processor and save it again as .docx."


class Relation(NamedTuple):
    """Where a part points to. ``kind``: last word of its type; ``target``: name of a part, or a URL if ``external``."""

    kind: str
    target: str
    external: bool


class Package:
    """The parts of one document, by name and case-insensitively.

    Raises LoadError when ``data`` is no zip archive, is encrypted, or has more parts than a document can need.
    """

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self._warnings: dict[str, None] = {}
        self._left = MAX_BYTES
        if data.startswith(_OLE):
            raise LoadError(
                f"{name}: is an encrypted document or one of the old binary format. "
                "Remove the password, or save it as .docx, in a word processor."
            )
        try:
            self._archive = ZipFile(BytesIO(data))
        except _BROKEN as error:
            raise LoadError(f"{name}: is no Word document, or cut off: {_said(error)}. {_REMEDY}") from error
        found = self._archive.infolist()
        if len(found) > MAX_PARTS:
            raise LoadError(f"{name}: has {len(found)} parts; a Word document has at most {MAX_PARTS}.")
        self._parts = {_plain(info.filename): info for info in found}

    def warn(self, message: str) -> None:
        """Add to ``warnings``; the same thing is said once."""
        self._warnings[message] = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out or could not be read."""
        return tuple(self._warnings)

    def has(self, part: str) -> bool:
        """Whether there is such a part."""
        return _plain(part) in self._parts

    def count(self, folder: str) -> int:
        """The number of parts under ``folder``."""
        return sum(name.startswith(folder) for name in self._parts)

    def read(self, part: str) -> bytes:
        """The bytes of a part. Raises LoadError when it is missing, damaged, encrypted or larger than allowed."""
        info = self._parts.get(_plain(part))
        if info is None:
            raise LoadError(f"{self.name}: has no part {part}. {_REMEDY}")
        self._allow(part, info)
        try:
            with self._archive.open(info) as file:
                data = file.read(info.file_size + 1)  # read() alone would inflate past a size that lies
        except _BROKEN as error:
            raise LoadError(f"{self.name}: {part} is damaged: {_said(error)}. {_REMEDY}") from error
        self._left -= len(data)
        return data

    def _allow(self, part: str, info: ZipInfo) -> None:
        size = info.file_size
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise LoadError(f"{self.name}: {part} is packed with a method no Word document uses. {_REMEDY}")
        if size > self._left or (size > RATIO_FROM and size > MAX_RATIO * info.compress_size):
            raise LoadError(
                f"{self.name}: {part} has {size} bytes inflated from {info.compress_size}, more than a document can "
                f"need (at most {MAX_BYTES} in all, and {MAX_RATIO} times the packed size). Split the document."
            )

    def xml(self, part: str) -> Element:
        """The root element of a part, its namespaces those of the transitional standard. Raises LoadError."""
        from lxml import etree

        data = self.read(part)
        if data.count(b"<") > MAX_TAGS:
            raise LoadError(f"{self.name}: {part} has more than {MAX_TAGS} tags. Split the document.")
        safe = {"resolve_entities": False, "no_network": True, "remove_comments": True, "remove_pis": True}
        begun, data = _transitional(data)
        try:
            # Without huge_tree the parser limits itself, but refuses long texts; so first the prolog, then all of it.
            prolog = etree.XMLPullParser(events=("start",), **safe)
            root = None
            for start, end in pairwise((0, *range(begun, len(data) + _HEAD, _HEAD))):
                prolog.feed(data[start:end])
                root = next(iter(prolog.read_events()), None)
                if root is not None:
                    break
            if root is not None and root[1].getroottree().docinfo.internalDTD is not None:
                raise LoadError(f"{self.name}: {part} declares a document type, which no Word document may. {_REMEDY}")
            return etree.fromstring(data, etree.XMLParser(huge_tree=True, collect_ids=False, **safe))
        except (etree.LxmlError, ValueError) as error:
            raise LoadError(f"{self.name}: {part} is damaged: {_said(error)}. {_REMEDY}") from error

    def optional(self, part: str, what: str) -> Element | None:
        """The root element of a part the text can do without, or ``None``; a damaged one adds to ``warnings``."""
        if not self.has(part):
            return None
        try:
            return self.xml(part)
        except LoadError as error:
            self.warn(f"{str(error).removeprefix(self.name + ': ')} Read without {what}.")
            return None

    def relations(self, part: str) -> dict[str, Relation]:
        """Where ``part`` (empty for the package) points to, by relation id."""
        folder = dirname(part)
        listed = f"{folder}/_rels/{part.rsplit('/', 1)[-1]}.rels".lstrip("/")
        root = self.optional(listed, "what it points to")
        found: dict[str, Relation] = {}
        for element in () if root is None else root:
            target, kind = element.get("Target") or "", (element.get("Type") or "").rsplit("/", 1)[-1]
            external = element.get("TargetMode") == "External"
            if not external:
                target = normpath(target if target.startswith("/") else f"{folder}/{target}").lstrip("/")
            found[element.get("Id") or ""] = Relation(kind, target, external)
        return found

    def related(self, relations: Mapping[str, Relation], kind: str, what: str) -> Element | None:
        """``optional`` for the part a relation of this kind points to, or the one that has its usual name."""
        targets = (r.target for r in relations.values() if r.kind == kind and not r.external)
        return self.optional(next(targets, f"word/{kind}.xml"), what)

    def main(self) -> tuple[str, Element]:
        """Name and root element of the main part. Raises LoadError when it is missing or no Word document."""
        named = (r.target for r in self.relations("").values() if r.kind == "officeDocument" and not r.external)
        part = next((target for target in (*named, "word/document.xml") if self.has(target)), None)
        if part is None:
            raise LoadError(f"{self.name}: is a zip archive without word/document.xml, so no Word document. {_REMEDY}")
        root = self.xml(part)
        if root.tag != f"{W}document":
            kind = str(root.tag).rsplit("}", 1)[-1]
            raise LoadError(
                f"{self.name}: is no Word document; its main part {part} is a <{kind}>. Give it the suffix of its format."
            )
        return part, root


def _transitional(data: bytes) -> tuple[int, bytes]:
    """Where the root tag ends, or what to read to find it, and ``data`` with the names of strict documents replaced."""
    tag = _ROOT.search(data)
    end = tag.end() if tag else _HEAD
    head = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2", data[:end])
    return (len(head), head + data[end:]) if len(head) != min(end, len(data)) else (end, data)


def _plain(part: str) -> str:
    return part.replace("\\", "/").lstrip("/").lower()


def _said(error: BaseException) -> str:
    text = str(getattr(error, "msg", None) or error)
    return " ".join(text.rstrip(".").split()) or type(error).__name__
