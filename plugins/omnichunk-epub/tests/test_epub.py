"""Books made on the spot, whole and damaged."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

import omnichunk_epub
from omnichunk import Chunker, LoadError, PluginRegistry, Source
from omnichunk.testing import check_loader

REGISTRY = PluginRegistry(plugins=[omnichunk_epub])
(LOADER,) = omnichunk_epub.omnichunk_loaders()
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>The  Book</dc:title><dc:creator>Ada</dc:creator><dc:creator>Bo</dc:creator></metadata>
<manifest><item id="b" href="b%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/a.xhtml" media-type="application/xhtml+xml"/>
<item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>
<item id="t" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="p" href="cover.svg" media-type="image/svg+xml"/></manifest>
<spine toc="t"><itemref idref="p"/><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/></spine></package>"""
NAV = """<html><body><nav epub:type="landmarks"><a href="x">no</a></nav><nav epub:type="toc"><ol>
<li><a href="text/a.xhtml">First</a><ol><li><a href="b%20b.xhtml#x">Second <b>&amp;</b> last</a></li>
<li><a href="b%20b.xhtml">Other</a></li></ol></li></ol></nav></body></html>"""
NCX = """<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>First</text></navLabel>
<content src="text/a.xhtml"/><navPoint><navLabel><text>Second &amp; last</text></navLabel><content src="b%20b.xhtml#x"/>
</navPoint></navPoint></navMap></ncx>"""
A = "<html><head><title>no</title></head><body><h1>One</h1><p>Words of a.</p><ul><li>x</li></ul></body></html>"
B = '<?xml version="1.0" encoding="iso-8859-1"?><html><body><p>W\xf6rds of b.</p><table><tr><th>k</th></tr>' \
    "<tr><td>v</td></tr></table></body></html>"  # fmt: skip
FILES = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OPS/book.opf": PACKAGE,
    "OPS/nav.xhtml": NAV,
    "OPS/toc.ncx": NCX,
    "OPS/text/a.xhtml": A,
    "OPS/b b.xhtml": B.encode("latin-1"),
}


def book(**changed):
    """The archive with some of its files replaced, or left out where the value is ``None``."""
    data = BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**FILES, **changed}.items():
            if content is not None:
                archive.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return data.getvalue()


def load(data, **options):
    return REGISTRY.load(Source("a.epub", data, options=options))


def test_the_kit():
    check_loader(LOADER, [("a.epub", book()), ("b.epub", book(**{"OPS/nav.xhtml": None}))])


def test_a_book():
    """Spine order; a title of the contents where a page has no heading, at its depth; encodings as declared."""
    loaded = load(book())
    assert loaded.text == "One\n\nWords of a.\n\n- x\n\nSecond & last\n\nWörds of b.\n\n| k |\n| --- |\n| v |\n"
    assert [(b.level, loaded.text[b.char_start : b.char_end]) for b in loaded.blocks if b.level] == [
        (1, "One"),
        (2, "Second & last"),
    ]
    first, second = loaded.segments
    assert first.metadata == {"chapter": 1, "file": "OPS/text/a.xhtml", "title": "First"}
    assert second.metadata["title"] == "Second & last"
    assert loaded.metadata == {"title": "The Book", "creator": ["Ada", "Bo"]}
    assert loaded.warnings == ()
    chunk = Chunker(REGISTRY, max_chunk_size=50).chunk_bytes("a.epub", book())[-1]
    assert chunk.context.heading_hierarchy == ("One", "Second & last")


def test_older_contents():
    """Without ``nav`` the NCX tells the titles; without either there are none."""
    package = PACKAGE.replace('properties="nav" ', "").replace('<itemref idref="n"/>', "")
    assert "Second & last" in load(book(**{"OPS/book.opf": package})).text
    package = package.replace("application/x-dtbncx+xml", "text/plain")
    assert "Second" not in load(book(**{"OPS/book.opf": package})).text


def test_what_is_missing_is_told():
    loaded = load(book(**{"OPS/nav.xhtml": None, "OPS/text/a.xhtml": None}))
    assert loaded.warnings == (
        "the table of contents was left out: a.epub: has no file 'OPS/nav.xhtml', which an EPUB of its kind needs.",
        "chapter 1 was left out: a.epub: has no file 'OPS/text/a.xhtml', which an EPUB of its kind needs.",
    )
    package = PACKAGE.replace('idref="a"', 'idref="none"')
    assert load(book(**{"OPS/book.opf": package})).warnings == (
        "the spine names a page that the manifest does not list",
    )


CIPHER = '<encryption><EncryptedData><CipherData><CipherReference URI="{}"/></CipherData></EncryptedData></encryption>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK", "is no zip archive, or a damaged one"),
        ("text", "is a zip archive, not text"),
        (book(**{"META-INF/container.xml": None}), "has no file 'META-INF/container.xml'"),
        (book(**{"META-INF/container.xml": "<a>"}), "is no well-formed XML"),
        (book(**{"META-INF/container.xml": "<a/>"}), "has no file ''"),
        (book(**{"OPS/book.opf": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}), "declares XML entities"),
        (book(**{"OPS/book.opf": "<package/>"}), "has no page in its spine"),
        (book(**{"META-INF/encryption.xml": CIPHER.format("OPS/b%20b.xhtml")}), "is encrypted"),
        (book(**{"OPS/text/a.xhtml": b"<p>" + b" " * 3_000_000}), "unpacks to more than epub_max_bytes"),
    ],
)
def test_what_cannot_be_read_is_refused(data, message):
    with pytest.raises(LoadError, match=rf"^a\.epub: .*{message}"):
        load(data, epub_max_bytes=1_000_000)


def test_encrypted_fonts_do_no_harm():
    assert load(book(**{"META-INF/encryption.xml": CIPHER.format("OPS/font.otf")})).text.startswith("One")


def test_content_tells_the_format():
    assert REGISTRY.loader_for(Source("book", book())).name == "epub-book"
    assert REGISTRY.loader_for(Source("a.epub", b"")).name == "epub-book"
