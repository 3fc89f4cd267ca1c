"""Bytes to canonical text. Never silently wrong: what is not certain is recorded as a warning or refused.

Without a named encoding, the first of these that speaks decides:

1.  a byte order mark of UTF-8, UTF-16 or UTF-32, or the pattern of NULs that UTF-16 and UTF-32 have without one;
2.  escape sequences of ISO 2022, if the bytes are text in it;
3.  a declaration: ``coding:`` or ``@charset`` in the first two lines, an XML declaration, an HTML ``meta``. It yields
    to UTF-8 where the bytes are UTF-8, because a wrong declaration is common and legacy text that is UTF-8 by chance
    is not; only a multi-byte encoding keeps up to three such characters. What the bytes contradict is ignored;
4.  strict UTF-8;
5.  for all but code, UTF-8 with damages: not more than 1 % of the bytes, and four good characters for each bad byte,
    since ASCII with a few bad bytes is legacy text. Each becomes U+FFFD;
6.  for all but code, ``detect``.

Everything else is refused, with the offset of the first byte that is not UTF-8. Line ends are kept as they are.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass
from typing import NoReturn
from unicodedata import category

from omnichunk.errors import LoadError, OptionError, suggestion

HEAD = 4096  # bytes that declarations, signatures and patterns of NULs are looked for in
DAMAGE = 100  # bytes for each damaged one
TRUST = 4  # characters of valid UTF-8 that are no accident
NULS = 50  # bytes for each NUL in what is still text

_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGNATURES = {
    b"%PDF-": "a PDF file",
    b"PK\x03\x04": "a ZIP container (DOCX, XLSX, EPUB, JAR, ...)",
    b"PK\x05\x06": "an empty ZIP container",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an OLE container (DOC, XLS, MSG, ...)",
    b"\x89PNG\r\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"II*\0": "a TIFF image",
    b"MM\0*": "a TIFF image",
    b"\x7fELF": "an ELF program",
    b"\xca\xfe\xba\xbe": "a Java class or Mach-O program",
    b"\xcf\xfa\xed\xfe": "a Mach-O program",
    b"\0asm": "a WebAssembly module",
    b"\x1f\x8b": "gzip-compressed data",
    b"BZh91AY&SY": "bzip2-compressed data",
    b"\xfd7zXZ\0": "xz-compressed data",
    b"\x28\xb5\x2f\xfd": "zstd-compressed data",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"!<arch>\n": "a library archive",
    b"SQLite format 3\0": "an SQLite database",
    b"OggS\0": "Ogg media",
    b"fLaC\0": "FLAC audio",
    b"ID3\x03": "MP3 audio",
    b"ID3\x04": "MP3 audio",
    b"wOFF\0": "a web font",
    b"wOF2\0": "a web font",
}
_STARTS = tuple(_SIGNATURES)
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1b") + b"\x7f"
_SEVERAL = ("gb", "big5", "cp932", "cp949", "cp950", "euc", "shift", "johab", "hz", "iso2022")  # bytes a character
_WIDER = {  # what is meant in practice; where both are valid they agree
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
}

_SCRIPTS = b"\3\4\5\6\7\x0e\x0f\x10\x12\x16\x17"  # upper bytes of UTF-16 that are not white space in ASCII

_ISO_2022 = re.compile(rb"\x1b\$(?:[@B]|\([@-G]|\)([CAEG]))")
_CODING = re.compile(
    rb"\A(?:[^\r\n]{0,400}(?:\r\n?|\n))?"
    rb'[ \t\f]*(?:#|//|/?\*|;|--|%|"|@char(?=set)|<!--)[^\r\n]{0,400}?(?:coding[:=][ \t]*|set[ \t]+["\'])([-\w.]+)'
)
_XML = re.compile(rb"\A\s*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*[\"']([-\w.:]+)")
_META = re.compile(rb"<meta\s[^>]{0,400}?\bcharset\s*=\s*[\"']?\s*([-\w.:]+)", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A canonical text and where it comes from.

    ``encoding``: as the caller named it, else as found. ``normalization``: ``none`` when the text as UTF-8 is the file
    itself, else ``decoded:<encoding>``. ``bom``: the text begins with U+FEFF, the byte order mark of a UTF-8 file,
    which stays so that offsets are offsets into the file; those of UTF-16 and UTF-32 are gone.
    """

    text: str
    encoding: str
    normalization: str
    bom: bool
    warnings: tuple[str, ...] = ()


def decode(data: bytes, name: str, encoding: str | None = None, kind: str = "prose") -> Decoded:
    """The text of ``data``, in the encoding named or else in the one found as told above.

    ``kind``: of the language, ``code prose markup data``; code is never guessed at. ``name`` labels the messages.
    Raises OptionError for an unknown encoding, LoadError for bytes that are none of it, for binaries and for bytes
    whose encoding is uncertain. Costs one decoding and a few searches when the bytes are UTF-8.
    """
    if encoding is not None:
        return _named(data, name, encoding)
    for mark, codec in _WIDE_MARKS:
        if data.startswith(mark):
            return _wide(data, len(mark), name, codec)
    if 0 in data:
        pattern = _wide_pattern(data[:HEAD])
        if pattern:
            return _wide(data, 0, name, pattern)
    what = looks_binary(data[:HEAD]) or _nul_laden(data)
    if what:
        raise LoadError(f"{name}: this is {what}, not text. Rename it, or pass loader=... to read it as what it is.")
    if data.startswith(codecs.BOM_UTF8):
        return _utf8(data, name, kind, [])
    if b"\x1b$" in data and data.isascii() and (escape := _ISO_2022.search(data)):
        return _escaped(data, name, escape)
    warnings: list[str] = []
    label = _declared(data[:HEAD], kind)
    return (_as_declared(data, label, warnings) if label else None) or _utf8(data, name, kind, warnings)


def looks_binary(head: bytes, encoding: str | None = None) -> str:
    """What ``head``, the first bytes of a file, is if it is no text ("a PDF file"); empty if it may be text.

    NULs make it binary unless it is UTF-16 or UTF-32, or they are rare (one in ``NULS`` bytes, or a single one) in
    valid UTF-8; so do other control characters when they are more than one in 20 bytes that are no UTF-8.
    What is text in the ``encoding`` named, or cannot be told because there is none of that name, is not binary.
    """
    if encoding is not None and _is_text_in(head, encoding):
        return ""
    if head.startswith(_STARTS):
        return next(what for start, what in _SIGNATURES.items() if head.startswith(start))
    if any(head.startswith(mark) for mark, _ in _WIDE_MARKS) or _wide_pattern(head):
        return ""
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if (0 in head or controls * 20 > len(head)) and not _begins_utf8(head):
        return "binary data (control characters, and no UTF-8)"
    return _nul_laden(head)


def _nul_laden(data: bytes) -> str:
    return "binary data (many NUL bytes)" if 0 in data and data.count(0) > max(1, len(data) // NULS) else ""


def _is_text_in(head: bytes, encoding: str) -> bool:
    try:
        return _plausible(head.decode(encoding, "ignore"))
    except (LookupError, ValueError):
        return True  # decoding the whole says what is wrong


def _begins_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _refuse(data: bytes, name: str, offset: int, what: str, remedy: str) -> NoReturn:
    line = data.count(b"\n", 0, offset) + 1
    raise LoadError(f"{name}:{line}: {what} at offset {offset} {remedy}") from None


def _named(data: bytes, name: str, encoding: str) -> Decoded:
    try:
        codec = codecs.lookup(encoding).name
        text = data.decode("utf-8" if codec == "utf-8-sig" else encoding)
    except UnicodeDecodeError as error:
        what = f"byte 0x{data[error.start]:02X}" if error.start < len(data) else "the end"
        remedy = f"is not valid in {encoding}. Name the encoding it is in, or none to have it found."
        _refuse(data, name, error.start, what, remedy)
    except (LookupError, ValueError):
        from encodings.aliases import aliases

        known = {alias: codec for alias, codec in aliases.items() if codec != "rot_13" and not codec.endswith("_codec")}
        hint = suggestion(encoding, {*known, *(codec.replace("_", "-") for codec in known.values())}) or "."
        raise OptionError(f"{name}: encoding={encoding!r} is no text encoding Python knows{hint}") from None
    if codec in ("utf-8", "utf-8-sig"):
        return Decoded(text, encoding, "none", text.startswith("\ufeff"))
    if codec.startswith(("utf-16", "utf-32")):
        text = text.removeprefix("\ufeff")
    return Decoded(text, encoding, f"decoded:{encoding}", text.startswith("\ufeff"))


def _wide(data: bytes, mark: int, name: str, codec: str) -> Decoded:
    """UTF-16 or UTF-32 after a byte order mark of ``mark`` bytes, or without one."""
    encoding = codec[:6] if mark else codec
    try:
        text = data[mark:].decode(codec)
    except UnicodeDecodeError as error:
        what = f"{error.reason} in {codec.upper()}"
        remedy = f"(the {'byte order mark says' if mark else 'NULs say'} so). Name its encoding if it is another."
        _refuse(data, name, mark + error.start, what, remedy)
    if not _plausible(text):
        raise LoadError(f"{name}: the byte order mark says {codec.upper()}, but that gives no text. Name its encoding.")
    return Decoded(text, encoding, f"decoded:{encoding}", text.startswith("\ufeff"))


def _wide_pattern(head: bytes) -> str:
    """The form of UTF-16 or UTF-32 that ``head`` must be in for its NULs to stand where they do, or empty.

    In UTF-16 that has NULs, eight of ten upper bytes are NUL, or nine of ten are NUL or that of one script.
    """
    if len(head) < 4 or 0 not in head:
        return ""
    found = ""
    columns = [head[column : len(head) // 4 * 4 : 4] for column in range(4)]
    empty = [not any(column) for column in columns]
    if empty[3] and max(columns[2]) <= 0x10 and any(columns[0]):
        found = "utf-32-le"
    elif empty[0] and max(columns[1]) <= 0x10 and any(columns[3]):
        found = "utf-32-be"
    else:
        for codec, high, low in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
            uppers = Counter(high)
            nuls, script = uppers.pop(0, 0), max((uppers[byte] for byte in _SCRIPTS), default=0)
            if 0 not in low and nuls and max(nuls / 0.8, (nuls + script) / 0.9) >= len(high):
                found = codec
    try:
        return found if found and _plausible(codecs.getincrementaldecoder(found)().decode(head)) else ""
    except UnicodeDecodeError:
        return ""


def _plausible(text: str) -> bool:
    """Whether ``text`` begins like text: at most 1 % of controls, unassigned and private characters."""
    start = text[:HEAD]
    odd = sum(category(char) in ("Cc", "Cn", "Co") and char not in "\t\n\v\f\r\x1b" for char in start)
    return odd * 100 <= len(start)


def _escaped(data: bytes, name: str, escape: re.Match[bytes]) -> Decoded:
    """ASCII bytes with the escape sequences of ISO 2022."""
    for codec in {b"C": ("iso2022_kr",), None: ("iso2022_jp", "iso2022_jp_ext", "iso2022_jp_2004")}.get(escape[1], ()):
        try:
            return Decoded(data.decode(codec), codec, f"decoded:{codec}", False)
        except UnicodeDecodeError:
            continue
    line = data.count(b"\n", 0, escape.start()) + 1
    warning = f"the escape sequence of ISO 2022 in line {line} was kept: the bytes are in no known encoding that has it"
    return Decoded(data.decode("ascii"), "utf-8", "none", False, (warning,))


def _declared(head: bytes, kind: str) -> str:
    """The encoding a file declares, as it spells it, or empty."""
    found = _CODING.match(head) if kind == "code" else _XML.match(head)
    if found is None and kind == "markup" and b"charset" in head.lower():
        found = _META.search(_COMMENT.sub(b"", head))
    return found[1].decode("ascii", "replace") if found else ""


def _as_declared(data: bytes, label: str, warnings: list[str]) -> Decoded | None:
    """The text in the encoding ``label``, or ``None`` with the reason in ``warnings`` when UTF-8 must be tried."""
    try:
        codec = codecs.lookup(label).name
        if codec.startswith("utf") or codec.endswith("escape") or (data.isascii() and codec != "hz"):
            return None  # declared in bytes of ASCII, UTF-16 means UTF-8
        b"    ".decode(codec)
    except (LookupError, ValueError):
        warnings.append(f"the declared encoding {label!r} is unknown and was ignored")
        return None
    try:
        good = len(data.decode()) - len(data.decode("ascii", "ignore"))
    except UnicodeDecodeError:
        good = 0
    if good >= (TRUST if codec.startswith(_SEVERAL) else 1):
        warnings.append(f"the declared encoding {label!r} was ignored: the bytes are UTF-8")
        return None
    for attempt in (_WIDER.get(codec, codec), codec):
        try:
            return Decoded(data.decode(attempt), attempt, f"decoded:{attempt}", False)
        except UnicodeDecodeError as error:
            offset = error.start
    warnings.append(f"the declared encoding {label!r} was ignored: the byte at offset {offset} is not valid in it")
    return None


def _utf8(data: bytes, name: str, kind: str, warnings: list[str]) -> Decoded:
    bom = data.startswith(codecs.BOM_UTF8)
    try:
        return Decoded(data.decode(), "utf-8", "none", bom, tuple(warnings))
    except UnicodeDecodeError as error:
        offset = error.start
    if kind != "code":
        text = data.decode("utf-8", "replace")
        bad = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
        good = len(text) - len(text.encode("ascii", "ignore")) - bad
        if bad * DAMAGE <= len(data) and (bom or good >= TRUST * bad):
            line = data.count(b"\n", 0, offset) + 1
            warnings.append(
                f"byte 0x{data[offset]:02X} at offset {offset} (line {line}) is not valid UTF-8; "
                f"U+FFFD stands for it and {bad - 1} more"
            )
            return Decoded(text, "utf-8", "decoded:utf-8", bom, tuple(warnings))
        from omnichunk.source.detect import detect  # its tables take 15 ms

        found = None if bom or 0 in data else detect(data)
        if found is not None:
            encoding, text = found
            warnings.append(f"the encoding was taken to be {encoding}, which no declaration says")
            return Decoded(text, encoding, f"decoded:{encoding}", False, tuple(warnings))
    remedy = 'is not valid UTF-8, and no other encoding is certain. Name it, as in encoding="cp1252".'
    _refuse(data, name, offset, f"byte 0x{data[offset]:02X}", remedy)
