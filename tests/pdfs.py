"""Small PDFs, written by hand: objects, a cross-reference table, and pages of positioned lines."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

HELVETICA = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"


def show(x: float, y: float, text: str, size: float = 11) -> bytes:
    """One line of text at a place, in points from the lower left corner."""
    raw = text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
    return b"BT /F1 %g Tf %g %g Td (%s) Tj ET\n" % (size, x, y, raw)


def page(*lines: str, x: float = 72, y: float = 720, size: float = 11) -> bytes:
    """Lines below one another."""
    return b"".join(show(x, y - i * size * 1.2, line, size) for i, line in enumerate(lines))


def pdf(
    pages: Sequence[bytes],
    *,
    font: bytes = HELVETICA,
    catalog: bytes = b"",
    on_page: bytes = b"",
    extra: Sequence[bytes] = (),
    trailer: bytes = b"",
    compress: bool = False,
) -> bytes:
    """A PDF of content streams. Object 1 is the catalog, 2 the page tree, 3 the font, ``extra`` follows from 4 on."""
    first = 4 + len(extra)
    kids = b" ".join(b"%d 0 R" % (first + 2 * i) for i in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog,
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(pages)),
        font,
        *extra,
    ]
    for i, stream in enumerate(pages):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R%s>>"
            % (first + 2 * i + 1, on_page)
        )
        coded = zlib.compress(stream) if compress else stream
        how = b"/Filter/FlateDecode" if compress else b""
        objects.append(b"<</Length %d%s>>\nstream\n%s\nendstream" % (len(coded), how, coded))
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (
        size,
        table,
        size,
        trailer,
        len(out),
    )
