"""What a chunker is given: files, labels, bytes and documents, and what is said of those that are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnichunk import (
    Chunker,
    ChunkOptions,
    FormatSegment,
    LoadedDocument,
    LoadError,
    OptionError,
    chunk,
    chunk_directory,
    chunk_file,
    chunk_loaded_document,
)


def test_what_is_no_regular_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    for path in (tmp_path / "pipe.md", "/dev/zero"):
        with pytest.raises(LoadError, match=r"is not a regular file\. Read it, and use chunk_bytes"):
            Chunker().chunk_file(path)
    with pytest.raises(LoadError, match=r"is not a regular file\. To chunk a folder use chunk_directory"):
        chunk_file(tmp_path)


@pytest.mark.parametrize("path", ["a\0.md", "\ud800.md", "x" * 5000, "missing.md"])
def test_paths_that_cannot_be(path):
    with pytest.raises(LoadError, match="cannot be read: "):
        chunk_file(path)
    with pytest.raises(LoadError, match="cannot be read as a folder: "):
        chunk_directory(path)


def test_paths_as_bytes(tmp_path):
    (tmp_path / "a.md").write_text("words", encoding="utf-8")
    path = str(tmp_path / "a.md")
    assert chunk_file(os.fsencode(path)) == chunk_file(path)
    assert [r.filepath for r in chunk_directory(os.fsencode(tmp_path))] == [path]
    with pytest.raises(TypeError):
        chunk_file(0)


@pytest.mark.parametrize(
    ("loaded", "message"),
    [
        (None, "what was loaded is NoneType; a LoadedDocument is needed"),
        ("text", "what was loaded is str; a LoadedDocument is needed"),
        (LoadedDocument(b"text"), "the text is bytes; a str is needed"),
        (LoadedDocument(None), "the text is NoneType; a str is needed"),
        (LoadedDocument("text", None), "segments is NoneType; a tuple of FormatSegment is needed"),
        (LoadedDocument("text", iter(())), "segments is tuple_iterator; a tuple of FormatSegment is needed"),
        (LoadedDocument("text", "text"), "segment 0 is str; a FormatSegment is needed"),
        (LoadedDocument("text", ((0, 4),)), "segment 0 is tuple; a FormatSegment is needed"),
        (LoadedDocument("text", (FormatSegment(0.0, 4),)), "char_start of segment 0 is float; an int is needed"),
        (LoadedDocument("text", (FormatSegment(0, 1), FormatSegment(True, 4))), "char_start of segment 1 is bool; an"),
        (LoadedDocument("text", (FormatSegment(0, None),)), "char_end of segment 0 is NoneType; an int is needed"),
        (LoadedDocument("text", (FormatSegment(0, 4, None),)), "segment 0 has kind None"),
        (LoadedDocument("text", (FormatSegment(0, 4, "prose", None),)), "the metadata of segment 0 is NoneType; a map"),
        (LoadedDocument("text", metadata=[]), "the metadata of the document is list; a mapping is needed"),
    ],
)
def test_documents_that_are_none(loaded, message):
    with pytest.raises(LoadError, match=rf"^a\.txt: {message}"):
        chunk_loaded_document("a.txt", loaded)


def test_a_document_and_its_options():
    loaded = LoadedDocument("text", [FormatSegment(0, 4)])
    assert [c.text for c in chunk_loaded_document("a.txt", loaded, ChunkOptions(max_chunk_size=9))] == ["text"]
    for options in ({"max_chunk_size": 9}, 9, False):
        with pytest.raises(OptionError, match="a ChunkOptions is needed"):
            chunk_loaded_document("a.txt", loaded, options)


def test_labels_are_texts_or_paths():
    chunker, loaded = Chunker(), LoadedDocument("text")
    for call, content in (
        (chunk, "x = 1\n"),
        (chunker.chunk, "x = 1\n"),
        (lambda name, text: list(chunker.stream(name, text)), "x = 1\n"),
        (chunker.chunk_with_manifest, "x = 1\n"),
        (chunker.chunk_bytes, b"x = 1\n"),
        (chunker.chunk_loaded, loaded),
        (chunk_loaded_document, loaded),
    ):
        assert call(Path("a.py"), content) == call("a.py", content)
        for wrong in (None, 3, b"a.py", ["a.py"]):
            with pytest.raises(TypeError, match="the name of a source must be a str or a path"):
                call(wrong, content)


def test_contents_are_texts_or_bytes():
    chunker = Chunker()
    expected = chunker.chunk("a.md", "wörds")
    data = "wörds".encode()
    for same in (data, bytearray(data), memoryview(data)):
        assert chunker.chunk_bytes("a.md", same) == expected
    for wrong in ("words", None, 3, [1]):
        with pytest.raises(TypeError, match="data must be bytes"):
            chunker.chunk_bytes("a.md", wrong)
    for call in (chunker.chunk, chunker.stream, chunker.chunk_with_manifest):
        with pytest.raises(TypeError, match="content must be a str, not bytes; use chunk_bytes"):
            call("a.md", data)


def test_encodings_that_are_none(tmp_path):
    (tmp_path / "a.md").write_text("words", encoding="utf-8")
    chunker = Chunker()
    for call in (
        lambda encoding: chunker.chunk_file(tmp_path / "a.md", encoding),
        lambda encoding: chunker.stream_file(tmp_path / "a.md", encoding),
        lambda encoding: chunker.chunk_bytes("a.md", b"words", encoding),
        lambda encoding: chunker.iter_directory(tmp_path, encoding=encoding),
    ):
        for codec in ("rot13", "hex", "zlib_codec"):
            with pytest.raises(OptionError, match=f"encoding='{codec}' is a codec, but none that decodes text"):
                call(codec)
        with pytest.raises(OptionError, match="encoding=5; a name"):
            call(5)
        assert call("latin-1")
    with pytest.raises(OptionError, match=r'did you mean "latin-?_?1"'):
        chunker.chunk_file(tmp_path / "a.md", "latn1")
