"""Messages and mailboxes, made with the standard library or written out where it would refuse."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

import omnichunk_email
from omnichunk import Chunker, LoadError, PluginRegistry, Source
from omnichunk.testing import check_loader

EML = next(loader for loader in omnichunk_email.omnichunk_loaders() if loader.name == "eml")
MBOX = next(loader for loader in omnichunk_email.omnichunk_loaders() if loader.name == "mbox")
REGISTRY = PluginRegistry(plugins=[omnichunk_email])


def message(subject="Größe der Kästen", body="Dear all,\n\nthe boxes grow.\n\n> How much?\n\nBy two.\n"):
    mail = EmailMessage()
    mail["Subject"] = subject
    mail["From"] = "Ada <ada@example.org>"
    mail["To"] = "team@example.org"
    mail["Date"] = "Mon, 02 Mar 2026 10:00:00 +0000"
    mail["Message-ID"] = "<1@example.org>"
    mail.set_content(body)
    return mail


def load(data, name="a.eml", **options):
    return REGISTRY.load(Source(name, bytes(data), options=options))


def mailbox(*messages):
    return b"\n".join(b"From ada@example.org Mon Mar  2 10:00:00 2026\n" + bytes(m) for m in messages)


@pytest.fixture
def full():
    """HTML beside plain text, a table, a picture, a program, and a message with an attachment of its own."""
    mail = message()
    mail.add_alternative("<p>Not this.</p>", subtype="html")
    mail.add_attachment("a,b\n1,2\n", subtype="csv", filename="sums.csv")
    mail.add_attachment(b"\x89PNG", "image", "png", filename="box.png")
    mail.add_attachment("def grow(by):\n    return by\n", subtype="x-python", filename="grow.py")
    inner = message("Inner", "Inside.\n")
    inner.add_attachment("# Notes\n\nDeep words.\n", subtype="markdown", filename="notes.md")
    mail.add_attachment(inner)
    mail.add_attachment(b"\x00\x01\x02\xff\xfe" * 20, "application", "octet-stream", filename="unknown.bin")
    return mail


def test_the_kit(full):
    html = message()
    html.set_content("<h1>Title</h1><p>Words</p><ul><li>one</ul>", subtype="html")
    check_loader(EML, [("a.eml", bytes(full)), ("b.eml", bytes(html)), ("c.eml", b"Subject: x\n")], registry=REGISTRY)
    check_loader(MBOX, [("a.mbox", mailbox(message(), full, html))], registry=REGISTRY)


def test_a_message():
    loaded = load(message())
    assert loaded.text == (
        "Größe der Kästen\n\nFrom: Ada <ada@example.org>\nTo: team@example.org\nDate: Mon, 02 Mar 2026 10:00:00 +0000\n\n"
        "Dear all,\n\nthe boxes grow.\n\n> How much?\n\nBy two.\n"
    )
    assert [b.kind for b in loaded.blocks] == ["heading", "paragraph", "paragraph", "paragraph", "quote", "paragraph"]
    assert loaded.metadata["subject"] == "Größe der Kästen"
    assert loaded.metadata["message_id"] == "<1@example.org>"
    assert load(message(), email_headers="Date").text.count(": ") == 1


def test_attachments_go_to_other_loaders(full):
    loaded = load(full)
    assert "Not this" not in loaded.text
    headings = [(b.level, loaded.text[b.char_start : b.char_end]) for b in loaded.blocks if b.kind == "heading"]
    assert headings == [(1, "Größe der Kästen"), (2, "sums.csv"), (2, "grow.py"), (2, "Inner"), (3, "notes.md")]
    attached = {s.metadata.get("attachment"): s.metadata.get("language") for s in loaded.segments}
    assert attached["sums.csv"] == "csv" or attached["sums.csv"] is None
    assert {s.metadata.get("language") for s in loaded.segments} >= {"csv", "python", "markdown"}
    picture, unknown = loaded.warnings
    assert picture == "box.png: image/png holds no text and was left out"
    assert unknown.startswith("attachment unknown.bin was left out: unknown.bin")
    chunks = Chunker(REGISTRY, max_chunk_size=200).chunk_bytes("a.eml", bytes(full))
    deep = next(chunk for chunk in chunks if "Deep words" in chunk.text)
    assert deep.context.heading_hierarchy[:2] == ("Größe der Kästen", "Inner")
    assert deep.context.format_metadata["attachments"] == ["Inner", "notes.md"]
    assert "sums.csv" not in load(full, email_attachments=False).text


def test_a_mailbox():
    """Numbered messages; a quoted "From " is unquoted, a broken message costs only itself."""
    data = mailbox(message("One", ">From the start\n"), b"not a message\n", message("Two"))
    loaded = load(data, "a.mbox")
    assert [s.metadata["message"] for s in loaded.segments] == [1, 3]
    assert "\nFrom the start" in loaded.text
    assert loaded.warnings[0].startswith("message 2: a.mbox: no message begins like this")
    assert loaded.metadata == {"messages": 3}


def test_content_tells_the_format():
    assert REGISTRY.loader_for(Source("mail", bytes(message()))).name == "eml"
    assert REGISTRY.loader_for(Source("mail", mailbox(message()))).name == "mbox"
    assert REGISTRY.loader_for(Source("notes", b"Subject: none\n\nwords\n")).name == "text"


@pytest.mark.parametrize(("name", "data"), [("a.eml", b""), ("a.eml", b"\x00\xff"), ("a.mbox", b"Subject: x\n\ny\n")])
def test_what_is_no_message_is_refused(name, data):
    with pytest.raises(LoadError, match=rf"^{name}: no (message|mailbox) begins like this. Pass loader="):
        load(data, name)


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        (b"Content-Type: text/plain; charset=no-such\n", "wörds".encode(), "wörds"),
        (b"Content-Type: text/plain; charset=us-ascii\n", "wörds".encode(), "wörds"),
        (b"Content-Type: text/plain; charset=utf-7\n", b"a+2AA-b", "a\ufffdb"),
        (b"Content-Transfer-Encoding: base64\n", b"d29yZHM", "words"),
        (
            b"Content-Type: text/plain; format=flowed\n",
            b"one \ntwo\nthree \n> q \n> r\n-- \nname",
            "one two\nthree \n> q",
        ),
        (b"Content-Type: multipart/mixed\n", b"no boundary", "no boundary"),
    ],
)
def test_bodies_that_are_not_what_they_say(head, body, expected):
    assert expected in load(b"Subject: x\n" + head + b"\n" + body).text


def test_deep_and_long_messages_are_bounded():
    data = b"Subject: last\n\nend\n"
    for level in range(40):
        edge = b"b%d" % level
        head = b'Subject: s\nContent-Type: multipart/mixed; boundary="%s"\n\n--%s\nContent-Type: message/rfc822\n\n' % (
            edge,
            edge,
        )
        data = head + data + b"\n--" + edge + b"--\n"
    loaded = load(data)
    assert len(loaded.blocks) == 8
    assert "lies 9 messages deep" in loaded.warnings[0]
    assert "x" in load(b"Subject: x\nContent-Type: text/plain" + b";" * 200_000 + b"\n\nx").text
    assert "x" in load(b"Subject: " + b"=?a?q?" * 30_000 + b"\n\nx").text
    nested = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (i, i) for i in range(1500))
    with pytest.raises(LoadError, match="cannot be parsed as a message"):
        load(b"Subject: x\n" + nested)


def test_warnings_of_a_mailbox_name_its_messages_and_do_not_grow_with_it():
    pictured = message()
    for _ in range(2):
        pictured.add_attachment(b"\x89PNG", "image", "png", filename="box.png")
    loaded = load(mailbox(message(), pictured, pictured), "a.mbox")
    assert loaded.warnings == ("messages 2, 3: box.png: image/png holds no text and was left out",)
    many = [message() for _ in range(60)]
    for number, mail in enumerate(many):
        mail.add_attachment(b"\x89PNG", "image", "png", filename="box.png")
        mail.add_attachment(b"\x89PNG", "image", "png", filename=f"{number}.png")
    warnings = load(mailbox(*many), "a.mbox").warnings
    assert warnings[0].startswith("messages 1, 2, 3, 4")
    assert " 20 and 40 more: box.png" in warnings[0]
    assert len(warnings) == 21
    assert warnings[-1] == "there are 41 more warnings"


def test_a_warning_of_an_attachment_names_it():
    mail = message()
    inner = message("Inner")
    inner.add_attachment(b"\x89PNG", "image", "png", filename="box.png")
    mail.add_attachment(mailbox(inner), "application", "mbox", filename="old.mbox")
    assert load(mail).warnings == ("old.mbox: message 1: box.png: image/png holds no text and was left out",)


def test_a_sentence_that_begins_with_from_begins_no_message():
    body = "First.\n\nFrom the beginning it grew.\nThen it stopped.\n\nFrom 10:00 to 11:00 in 2026 it rained.\n"
    loaded = load(mailbox(message(body=body), message("Second")), "a.mbox")
    assert loaded.metadata["messages"] == 2
    assert "From the beginning it grew." in loaded.text
    assert "11:00 in 2026 it rained." in loaded.text
