"""The kit for plugin authors: it passes what is right, the built-ins included, and names every fault."""

from __future__ import annotations

import json
from io import BytesIO
from itertools import count

import docx
import pypdf
import pytest

from omnichunk import (
    Block,
    FormatSegment,
    Language,
    LoadedDocument,
    Loader,
    LoadError,
    PluginRegistry,
    Span,
    Strength,
    Structure,
    StructureProvider,
)
from omnichunk.testing import KINDS, check_loader, check_structure

FILE = ("a.x", b"First line.\n\nSecond paragraph of some words.\n")
SAMPLES = {
    "markdown": "# A\n\nwords\n\n## B\n\n- one\n- two\n\n```py\nx = 1\n```\n",
    "python": '@deco\ndef f(a):\n    """Doc."""\n    return a\n\n\nclass A:\n    x = 1\n',
    "json": '{"a": [1, 2, {"b": null}], "c": "d"}\n',
    "html": "<h1>T</h1><p>words</p><table><tr><td>1</td></tr></table>",
    "csv": "a,b\n1,2\n3,4\n",
    "rst": "Title\n=====\n\nwords\n\n* one\n* two\n",
    "latex": "\\section{A}\nwords\n\\subsection{B}\nmore\n",
    "yaml": "a:\n  b: 1\nc: [2]\n",
    "text": "A sentence. Another one.\n\nA paragraph.\n",
}


def plain(source):
    """The file as text, as a stranger would write it."""
    try:
        return LoadedDocument(source.data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise LoadError(f"{source.name}: no UTF-8 at byte {error.start}.") from None


def faulty(**fields):
    """A loader's answer with something wrong, or odd."""
    return lambda source: LoadedDocument(**{"text": plain(source).text or " ", **fields})


def notebook():
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# Title\n\nwords"},
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": [], "source": ["x = 1\n", "x"]},
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells}).encode()


def saved(write):
    data = BytesIO()
    write(data)
    return data.getvalue()


def word():
    document = docx.Document()
    document.add_heading("Title", 1)
    document.add_paragraph("words " * 20)
    document.add_table(2, 2).cell(0, 0).text = "cell"
    return saved(document.save)


def blank_page():
    writer = pypdf.PdfWriter()
    writer.add_blank_page(200, 200)
    return saved(writer.write)


FILES = {
    "text": [(f"a.{name}", text.encode()) for name, text in SAMPLES.items()],
    "notebook": [("a.ipynb", notebook())],
    "docx": [("a.docx", word())],
    "pdf": [("a.pdf", blank_page())],
}


@pytest.mark.parametrize("name", sorted(PluginRegistry().loaders()))
def test_built_in_loaders_pass(name):
    check_loader(PluginRegistry().loaders()[name], FILES.get(name, []))


@pytest.mark.parametrize("language", SAMPLES)
def test_built_in_providers_pass(language):
    provider = PluginRegistry().provider_for(language)
    check_structure(StructureProvider(provider.name, (language,), provider.spans), [SAMPLES[language]])


def test_a_loader_that_is_right(tmp_path):
    path = tmp_path / "a.x"
    path.write_bytes(FILE[1])
    first, second = check_loader(Loader("x", plain, (".x",)), [FILE, path])
    assert first == second == LoadedDocument(FILE[1].decode())
    blocks = (Block(0, 11, "heading", 1), Block(13, 44))
    check_loader(Loader("x", faulty(blocks=blocks), (".x",)), [FILE], damage=False)


TICKS = count()


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (
            lambda source: LoadedDocument(source.data.decode("utf-8")),
            r"with 1 bytes.*|nothing but noise: UnicodeDecode",
        ),
        (lambda source: LoadedDocument(source.data.decode("latin-1")[9:].split()[1]), "IndexError was raised"),
        (lambda source: None, r"a file that must load was refused: a\.x: what was loaded is NoneType"),
        (faulty(segments=(FormatSegment(3, 2),)), r"refused: a\.x: segment 0 is \[3, 2\)"),
        (lambda source: LoadedDocument(f"{next(TICKS)}"), "two runs gave two documents. To do: use nothing but the so"),
        (faulty(segments=(FormatSegment(0, 1, "prose", {"cell": object()}),)), "cannot be written as JSON"),
    ],
)
def test_faults_of_loaders_are_named(load, message):
    with pytest.raises(AssertionError, match=message):
        check_loader(Loader("x", load, (".x",)), [FILE])


def test_errors_name_the_file():
    def load(source):
        if source.data != FILE[1]:
            raise LoadError("cannot be read")
        return plain(source)

    with pytest.raises(AssertionError, match=r"a\.x, empty: the error does not name the file: cannot be read"):
        check_loader(Loader("x", load, (".x",)), [FILE])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"suffixes": ("x",)}, r"suffixes=\('x',\); each must be like .* To do: declare what the message asks for"),
        ({"options": {"depth": {1}}}, "the default of an option is no JSON value"),
        ({"sniff": lambda head: head[0] == 7}, r"sniff\(b''\): IndexError was raised"),
    ],
)
def test_faults_of_declarations_are_named(fields, message):
    with pytest.raises(AssertionError, match=message):
        check_loader(Loader("x", plain, **fields), [])


def test_options_reach_the_loader_with_their_defaults():
    seen = []

    def load(source):
        seen.append(dict(source.options))
        return plain(source)

    loader = Loader("x", load, (".x",), options={"x_depth": 3, "x_name": ""})
    check_loader(loader, [FILE], damage=False, x_depth=5)
    assert all(options == {"x_depth": 5, "x_name": ""} for options in seen)


def test_a_language_of_its_own():
    """A provider and a language that no registry knows yet."""

    def spans(request):
        ends = [i + 1 for i, c in enumerate(request.text) if c == ";"]
        return Structure(
            [Span(a, b, "statement", Strength.ITEM) for a, b in zip([0, *ends], ends)], backend="semicolons"
        )

    provider = StructureProvider("semi", ("semi",), spans)
    (answer,) = check_structure(provider, ["a; b; c;\n"], language=Language("semi", provider="semi"))
    assert [(span.start, span.end) for span in answer.spans] == [(0, 2), (2, 5), (5, 8)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda text: [Span(0, len(text) + 1, "text")], r"does not follow 0 inside \[0, 3\)"),
        (lambda text: [Span(1, 2, "text"), Span(0, 1, "text")], "sort the spans"),
        (lambda text: [Span(0, 0, "text")], "not empty"),
        (lambda text: [Span(0, 1, "chapter")], "has an unknown kind. To do: choose one of"),
        (lambda text: [Span(0, 1, "text", 3)], "use a member of Strength"),
        (lambda text: ["text"], "'text' is no Span"),
        (lambda text: [Span(0, 1, "text", opener=lambda: [Span(0, 2, "text")])], r"inside \[0, 1\)"),
        (lambda text: [Span(0, 1, "text", opener=lambda: 1 / 0)], "ZeroDivisionError was raised"),
        (lambda text: [Span(0, 1, "text")] * (next(TICKS) % 2), "two runs gave two structures"),
        (lambda text: text.missing, "AttributeError was raised"),
    ],
)
def test_faults_of_providers_are_named(make, message):
    provider = StructureProvider("faulty", ("text",), lambda request: Structure(make(request.text)))
    with pytest.raises(AssertionError, match=message):
        check_structure(provider, ["a b"])


def test_providers_without_an_answer():
    with pytest.raises(AssertionError, match="serves no language"):
        check_structure(StructureProvider("none", (), lambda request: Structure()), [])
    with pytest.raises(AssertionError, match=r"returned list\. To do: return a Structure"):
        check_structure(StructureProvider("list", ("text",), lambda request: []), ["a"])


def test_kinds_are_those_of_spans():
    """Every kind the kit accepts is described where spans are."""
    assert all(kind in (Span.__doc__ or "") for kind in KINDS)
