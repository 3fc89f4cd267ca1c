"""EPUB books for omnichunk: the pages of the spine in reading order, with their headings and the titles of the contents."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from io import BytesIO
from lzma import LZMAError
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from xml.etree import ElementTree

from omnichunk import ChunkingError, DocumentBuilder, LoadedDocument, Loader, LoadError, Source, hookimpl, load_document

OPTIONS = {"epub_max_bytes": 200_000_000}
PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_DAMAGE = (zipfile.BadZipFile, zlib.error, LZMAError, NotImplementedError, RuntimeError, EOFError, OSError, ValueError)
"""What ``zipfile`` raises for archives that are damaged, encrypted or of a kind it does not know."""
_HEADING = re.compile(r"<h[1-6]\b", re.IGNORECASE)
_NAV = re.compile(r"""<nav\b[^<>]*\btype\s*=\s*["']toc["'][^<>]*>""", re.IGNORECASE)
_ENTRY = re.compile(r"""<(?:(?P<up>/ol)|(?P<down>ol)|a\b[^<>]*?\bhref\s*=\s*["'](?P<href>[^"'<>]*)["'])[^<>]*>""", re.I)
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True)
class Item:
    """A file of the book's manifest; ``path`` is its name in the archive."""

    path: str
    media_type: str
    nav: bool


class Book:
    """The archive of a book, opened. Raises LoadError for what is no EPUB, is damaged, or unpacks to too much."""

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self.room = int(str(source.options["epub_max_bytes"]))
        if isinstance(source.data, str):
            raise LoadError(f"{self.name}: an EPUB is a zip archive, not text. Pass its bytes.")
        try:
            self.archive = zipfile.ZipFile(BytesIO(source.data))
        except _DAMAGE as error:
            raise LoadError(f"{self.name}: is no zip archive, or a damaged one: {error}. Fetch it again.") from error
        container = self.xml("META-INF/container.xml")
        root = next((e.get("full-path", "") for e in container.iter() if _tag(e) == "rootfile"), "")
        self.folder = dirname(root)
        self.package = self.xml(root)
        self.items = {
            e.get("id", ""): Item(
                self.path(e.get("href", "")), e.get("media-type", ""), "nav" in e.get("properties", "")
            )
            for e in self.package.iter()
            if _tag(e) == "item"
        }

    def path(self, href: str, folder: str | None = None) -> str:
        """The name in the archive of what a file in ``folder`` refers to; fragments are cut off."""
        return normpath(join(self.folder if folder is None else folder, unquote(href.partition("#")[0])))

    def read(self, path: str) -> bytes:
        """A file of the archive, as long as all that is read has fewer bytes than the option allows."""
        try:
            with self.archive.open(path) as file:
                data = file.read(self.room + 1)
        except KeyError:
            raise LoadError(f"{self.name}: has no file {path!r}, which an EPUB of its kind needs.") from None
        except _DAMAGE as error:
            raise LoadError(f"{self.name}: {path} cannot be unpacked: {error}. Fetch the book again.") from error
        self.room -= len(data)
        if self.room < 0:
            raise LoadError(
                f"{self.name}: unpacks to more than epub_max_bytes. Raise that option if you trust the file."
            )
        return data

    def xml(self, path: str) -> ElementTree.Element:
        data = self.read(path)
        if b"<!ENTITY" in data:
            raise LoadError(f"{self.name}: {path} declares XML entities, which no EPUB needs. It is not read.")
        try:
            return ElementTree.fromstring(data)
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            raise LoadError(f"{self.name}: {path} is no well-formed XML: {error}.") from error

    def text(self, path: str) -> str:
        """A page, decoded as it declares."""
        return load_document(Source(f"{self.name}/{path}", self.read(path)), "text").text

    def spine(self) -> Iterator[Item | None]:
        """The files in reading order; ``None`` for what the manifest does not list."""
        for element in self.package.iter():
            if _tag(element) == "itemref":
                yield self.items.get(element.get("idref", ""))

    def contents(self) -> dict[str, tuple[str, int]]:
        """The title and depth, 1 outermost, of each file that the table of contents names, by its first entry."""
        nav = next((item for item in self.items.values() if item.nav), None)
        ncx = next((item for item in self.items.values() if item.media_type == "application/x-dtbncx+xml"), None)
        entries = self._nav(nav.path) if nav else self._ncx(ncx.path) if ncx else iter(())
        found: dict[str, tuple[str, int]] = {}
        for path, title, depth in entries:
            if title and path not in found:
                found[path] = title, depth
        return found

    def _nav(self, path: str) -> Iterator[tuple[str, str, int]]:
        page = self.text(path)
        toc = _NAV.search(page)
        start = toc.end() if toc else 0
        end = page.find("</nav", start)
        depth = 0
        for entry in _ENTRY.finditer(page, start, len(page) if end < 0 else end):
            depth += (entry["down"] is not None) - (entry["up"] is not None)
            if entry["href"] is not None:
                close = page.find("</a", entry.end(), entry.end() + 2000)
                title = _TAG.sub("", page[entry.end() : close]) if close >= 0 else ""
                yield (
                    self.path(unescape(entry["href"]), dirname(path)),
                    " ".join(unescape(title).split()),
                    max(1, depth),
                )

    def _ncx(self, path: str) -> Iterator[tuple[str, str, int]]:
        stack = [(element, 0) for element in reversed(self.xml(path))]
        while stack:
            element, depth = stack.pop()
            if _tag(element) == "navPoint":
                depth += 1
                title = next(("".join(e.itertext()) for e in element if _tag(e) == "navLabel"), "")
                src = next((e.get("src", "") for e in element if _tag(e) == "content"), "")
                yield self.path(src, dirname(path)), " ".join(title.split()), depth
            if _tag(element) in ("navMap", "navPoint"):
                stack.extend((child, depth) for child in reversed(element))

    def about(self) -> Mapping[str, object]:
        """Title, authors, language and identifier, where the package names them."""
        found: dict[str, list[str]] = {}
        for element in self.package.iter():
            if _tag(element) in ("title", "creator", "language", "identifier") and (
                words := (element.text or "").split()
            ):
                found.setdefault(_tag(element), []).append(" ".join(words))
        return {name: values if name == "creator" else values[0] for name, values in found.items()}

    def protected(self) -> frozenset[str]:
        """The files that are encrypted."""
        if "META-INF/encryption.xml" not in self.archive.namelist():
            return frozenset()
        listed = self.xml("META-INF/encryption.xml").iter()
        return frozenset(normpath(unquote(e.get("URI", ""))) for e in listed if _tag(e) == "CipherReference")


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def load_epub(source: Source) -> LoadedDocument:
    """The pages of a book; each segment names its ``chapter`` (from 1), ``file`` and ``title``."""
    book = Book(source)
    builder = DocumentBuilder("epub")
    try:
        contents = book.contents()
    except ChunkingError as error:
        contents = {}
        builder.warnings.append(f"the table of contents was left out: {error}")
    protected = book.protected()
    chapter = 0
    seen = set()
    for item in book.spine():
        if item is None or item.nav or item.media_type not in PAGES or item.path in seen:
            if item is None:
                builder.warnings.append("the spine names a page that the manifest does not list")
            continue
        seen.add(item.path)
        if item.path in protected:
            raise LoadError(f"{source.name}: {item.path} is encrypted (DRM). Use a copy without protection.")
        chapter += 1
        title, depth = contents.get(item.path, ("", 1))
        builder.at(chapter=chapter, file=item.path, **({"title": title} if title else {}))
        try:
            page = book.text(item.path)
        except ChunkingError as error:
            if book.room < 0:
                raise
            builder.warnings.append(f"chapter {chapter} was left out: {error}")
            continue
        if title and not _HEADING.search(page):
            builder.add(title, "heading", level=depth)
        builder.add_html(page)
    if not chapter:
        raise LoadError(f"{source.name}: has no page in its spine. If it is a book of pictures, read them by OCR.")
    return builder.document(**book.about())


def _is_epub(head: bytes) -> bool:
    return head.startswith(b"PK") and b"mimetypeapplication/epub+zip" in head[:120]


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """The loader of EPUB 2 and 3."""
    return [Loader("epub-book", load_epub, (".epub",), ("application/epub+zip",), _is_epub, OPTIONS, binary=True)]
