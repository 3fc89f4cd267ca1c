"""E-mail for omnichunk: .eml and .mbox files, their attachments read by whatever loader reads them.

Each message is a section under its subject: headers, body, then a section for each attachment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from email.policy import Compat32
from itertools import islice

from omnichunk import ChunkingError, DocumentBuilder, LoadedDocument, Loader, LoadError, Source, hookimpl, load_document

DEEPEST = 8
"""Messages attached to messages that are opened."""
LONGEST = 10_000
"""Characters of a header that are read."""
TOLD = 20
"""Different warnings of a mailbox that are told, and messages that each of them names."""
OPTIONS = {"email_attachments": True, "email_headers": "From, To, Cc, Date"}
UNREAD = ("application/pgp-", "application/pkcs7-", "application/x-pkcs7-", "audio/", "font/", "image/", "video/")
"""Beginnings of media types that hold no text."""

_ENVELOPE = re.compile(rb"^From [^\r\n]*\r?\n", re.MULTILINE)
_DATED = re.compile(rb"From .{0,200}\d\d:\d\d:\d\d.{0,20}\d{4}\s*\Z")
_NEXT = re.compile(rb"(?:>?From |[!-9;-~]+:)")
_HEADER = re.compile(rb"\s*(?:From |[!-9;-~]+:)")
_KNOWN = re.compile(rb"^(?:From|Received|Return-Path|Delivered-To|Message-ID|Date|Subject|MIME-Version): ", re.M | re.I)
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_BLANK = re.compile(r"\n[^\S\n]*\n")
_SURROGATES = re.compile("[\ud800-\udfff]")


class _Bounded(Compat32):
    """Headers as they are, up to a length beyond which the parser of their parameters would take forever."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:LONGEST]


def load_eml(source: Source) -> LoadedDocument:
    """One message. Raises LoadError when the source does not begin with headers."""
    builder = DocumentBuilder("eml")
    message = _parsed(source, _bytes(source))
    _add_message(builder, source, message, {}, 1)
    return builder.document(**_about(message))


def load_mbox(source: Source) -> LoadedDocument:
    """Every message of a mailbox, numbered from 1 in ``message``. Raises LoadError when it is none."""
    data = _bytes(source)
    starts = [
        m
        for m in _ENVELOPE.finditer(data)
        if m.start() == 0
        or (
            data.endswith((b"\n\n", b"\r\n\r\n"), 0, m.start())
            and (_DATED.match(m[0]) or _NEXT.match(data, m.end()))  # else a sentence that begins with "From"
        )
    ]
    if not starts or starts[0].start():
        raise LoadError(f'{source.name}: no mailbox begins like this. Pass loader="eml" for one message.')
    builder = DocumentBuilder("mbox")
    told: dict[str, list[int]] = {}
    for number, (start, following) in enumerate(zip(starts, [*starts[1:], None]), 1):
        content = data[start.end() : following.start() if following else len(data)]
        try:
            message = _parsed(source, _QUOTED.sub(rb"\1", content))
            _add_message(builder, source, message, {"message": number, **_about(message)}, 1)
        except LoadError as error:
            builder.warnings.append(str(error))
        for warning in dict.fromkeys(builder.warnings):
            told.setdefault(warning, []).append(number)
        builder.warnings.clear()
    builder.warnings.extend(f"{_listed(numbers)}: {warning}" for warning, numbers in islice(told.items(), TOLD))
    if len(told) > TOLD:
        builder.warnings.append(f"there are {len(told) - TOLD:,} more warnings")
    return builder.document(messages=len(starts))


def _listed(numbers: list[int]) -> str:
    """``message 3`` or ``messages 1, 2 and 40 more``."""
    named = ", ".join(map(str, numbers[:TOLD]))
    more = f" and {len(numbers) - TOLD:,} more" if len(numbers) > TOLD else ""
    return f"message{'s' if len(numbers) > 1 else ''} {named}{more}"


def _bytes(source: Source) -> bytes:
    return source.data.encode("utf-8") if isinstance(source.data, str) else source.data


def _parsed(source: Source, data: bytes) -> Message:
    if not _HEADER.match(data):
        raise LoadError(f'{source.name}: no message begins like this. Pass loader="text" to read it as it is.')
    try:
        return BytesParser(policy=_Bounded()).parsebytes(data)
    except (MessageError, RecursionError, ValueError, LookupError) as error:
        raise LoadError(f"{source.name}: cannot be parsed as a message: {error}.") from error


def _about(message: Message) -> dict[str, object]:
    names = {"subject": "Subject", "from": "From", "date": "Date", "message_id": "Message-ID"}
    return {key: value for key, name in names.items() if (value := _header(message, name))}


def _header(message: Message, name: str) -> str:
    """A header in plain words, on one line; empty if there is none."""
    value = message.get(name, "")
    try:
        value = str(make_header(decode_header(value)))
    except (MessageError, ValueError, LookupError):
        value = str(value)
    return " ".join(_SURROGATES.sub("\ufffd", value).split())


def _add_message(
    builder: DocumentBuilder, source: Source, message: Message, position: dict[str, object], level: int
) -> None:
    builder.at(**position)
    builder.add(_header(message, "Subject"), "heading", level=level)
    names = [name.strip() for name in str(source.options["email_headers"]).split(",")]
    builder.add("\n".join(f"{name}: {value}" for name in names if (value := _header(message, name))))
    attached = []
    for part in _leaves(message):
        if (
            part.get_filename()
            or part.get_content_disposition() == "attachment"
            or part.get_content_maintype() != "text"
        ):
            attached.append(part)
        elif part.get_content_subtype() == "html":
            builder.add_html(_text(builder, part), level=level)
        else:
            _add_paragraphs(builder, _unfolded(part, _text(builder, part)))
    for number, part in enumerate(attached, 1):
        if source.options["email_attachments"]:
            _add_attachment(builder, source, part, number, position, level + 1)


def _leaves(message: Message) -> Iterator[Message]:
    """The parts that are no containers, in order; of alternatives the plain text, or what comes nearest to it."""
    stack = [message]
    while stack:
        part = stack.pop()
        children = _inside(part)
        if part.get_content_maintype() != "multipart" or not children:
            yield part
        elif part.get_content_subtype() == "alternative":
            stack.append(min(children, key=_plainness))
        else:
            stack.extend(reversed(children))


def _plainness(part: Message) -> int:
    """0 for plain text that says something, 1 for HTML, alone or with its pictures, 2 for anything else."""
    kind = part.get_content_type()
    if kind == "text/plain":
        return 0 if _data(part).strip() else 3
    return 1 if kind == "text/html" or kind.startswith("multipart/") else 2


def _inside(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [child for child in payload if isinstance(child, Message)] if isinstance(payload, list) else []


def _data(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _text(builder: DocumentBuilder, part: Message) -> str:
    """The text of a part in the encoding it names, else in the one that omnichunk finds."""
    data = _data(part)
    named = part.get_content_charset() or "utf-8"
    try:
        text = data.decode(named)
    except (LookupError, ValueError):
        try:
            text = load_document(Source("body.txt", data), "text").text
        except ChunkingError:
            text = data.decode("utf-8", "replace")
            builder.warnings.append(f"a body is no {named}: what cannot be read is U+FFFD")
    return _SURROGATES.sub("\ufffd", text)


def _unfolded(part: Message, text: str) -> str:
    """``text`` with the paragraphs of ``format=flowed`` (RFC 3676) on one line each."""
    text = "\n".join(text.splitlines())
    if str(part.get_param("format", "")).lower() != "flowed":
        return text
    soft = "" if str(part.get_param("delsp", "")).lower() == "yes" else " "
    return re.sub(r"(?<!^--) \n(?![\s>])", soft, text, flags=re.MULTILINE)


def _add_paragraphs(builder: DocumentBuilder, text: str) -> None:
    for paragraph in _BLANK.split(text):
        builder.add(paragraph, "quote" if paragraph.lstrip().startswith(">") else "paragraph")


def _add_attachment(
    builder: DocumentBuilder, source: Source, part: Message, number: int, position: dict[str, object], level: int
) -> None:
    """What is attached, under its name, by the loader of its name or media type; a warning if none can read it."""
    kind = part.get_content_type()
    inside = _inside(part)
    name = " ".join(_SURROGATES.sub("\ufffd", part.get_filename() or "").split())
    name = name or (_header(inside[0], "Subject") if inside else "") or f"attachment {number}"
    position = {**position, "attachment": name}
    if inside and level > DEEPEST:
        builder.warnings.append(f"{name}: lies {level} messages deep and was left out")
    elif kind == "message/rfc822":
        for message in inside:
            _add_message(builder, source, message, position, level)
    elif inside:  # a report of delivery: groups of fields
        builder.at(**position)
        for group in inside:
            builder.add("\n".join(f"{field}: {_header(group, field)}" for field in group))
    elif kind.startswith(UNREAD):
        builder.warnings.append(f"{name}: {kind} holds no text and was left out")
    else:
        inner = replace(source, name=name, data=_data(part), encoding=part.get_content_charset())
        try:
            loaded = load_document(inner, media_type=kind)
        except ChunkingError as error:
            builder.warnings.append(f"attachment {name} was left out: {error}")
            return
        builder.at(**position)
        builder.add(name, "heading", level=level)
        before = len(builder.warnings)
        builder.append(loaded, level=level)
        builder.warnings[before:] = [f"{name}: {warning}" for warning in builder.warnings[before:]]


def _is_eml(head: bytes) -> bool:
    """Whether at least three well-known headers stand before the first blank line."""
    top = head.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    return _HEADER.match(top) is not None and not _ENVELOPE.match(top) and len(_KNOWN.findall(top)) > 2


def _is_mbox(head: bytes) -> bool:
    envelope = _ENVELOPE.match(head)
    return envelope is not None and _is_eml(head[envelope.end() :])


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """The loaders of single messages and of mailboxes."""
    return [
        Loader("mbox", load_mbox, (".mbox", ".mbx"), ("application/mbox",), _is_mbox, OPTIONS, binary=True),
        Loader("eml", load_eml, (".eml",), ("message/rfc822",), _is_eml, OPTIONS, binary=True),
    ]
