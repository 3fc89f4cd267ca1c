"""What a chunker is given: files, labels, bytes and documents, and what is said of those that are none."""

from __future__ import annotations

import os

import pytest

from omnichunk import Chunker, LoadError, chunk_directory, chunk_file


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
