"""JSON Lines: streamed both ways, whole or not there, and what is wrong is told with its line."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given

from omnichunk import Chunker, FileResult, SchemaError, read_jsonl, write_jsonl
from omnichunk.serialization import dumps
from support import odd_text

CHUNKS = Chunker(max_chunk_size=40, min_chunk_size=1).chunk(
    "ü.md", "# Ü\n\nOne.\u2028Two\x85.\n\n# B\n\nThree \x1c four 🎉.\n"
)


def lines(chunks=CHUNKS):
    buffer = io.BytesIO()
    write_jsonl(chunks, buffer)
    return buffer.getvalue().splitlines(keepends=True) if chunks is not CHUNKS else buffer.getvalue().split(b"\n")[:-1]


class TestBothWays:
    @given(odd_text())
    def test_what_is_written_is_read(self, text):
        chunks = Chunker(max_chunk_size=30, min_chunk_size=1).chunk("a.md", text)
        for buffer in (io.BytesIO(), io.StringIO()):
            assert write_jsonl(chunks, buffer) == len(chunks)
            buffer.seek(0)
            assert list(read_jsonl(buffer)) == chunks

    def test_a_file(self, tmp_path):
        path = tmp_path / "chunks.jsonl"
        assert write_jsonl(iter(CHUNKS), path) == len(CHUNKS)
        assert list(read_jsonl(path)) == list(read_jsonl(str(path))) == CHUNKS
        assert path.read_bytes().count(b"\n") == len(CHUNKS)
        assert all(json.loads(line)["schema_version"] == 1 for line in path.read_bytes().splitlines())
        with open(path, encoding="utf-8") as file:
            assert list(read_jsonl(file)) == CHUNKS

    def test_nothing(self, tmp_path):
        path = tmp_path / "none.jsonl"
        assert write_jsonl([], path) == 0
        assert list(read_jsonl(path)) == []

    def test_other_values(self, tmp_path):
        results = Chunker().batch([{"filepath": "a.md", "code": "text"}, {"filepath": str(tmp_path / "gone.md")}])
        write_jsonl(results, tmp_path / "results.jsonl")
        assert list(read_jsonl(tmp_path / "results.jsonl", FileResult)) == results

    def test_blank_lines_a_mark_and_other_line_ends(self):
        text = b"\xef\xbb\xbf" + b"\r\n\r\n  \n".join(lines())
        assert list(read_jsonl(io.BytesIO(text))) == CHUNKS
        assert list(read_jsonl(["\ufeff" + lines()[0].decode()])) == CHUNKS[:1]

    def test_a_file_name_that_is_no_utf_8(self, tmp_path):
        name = os.fsdecode(b"caf\xe9.txt")
        chunks = [*Chunker().chunk(name, "text"), *Chunker().chunk(name, "Ünal")]
        write_jsonl(chunks, tmp_path / "c.jsonl")
        assert list(read_jsonl(tmp_path / "c.jsonl")) == chunks

    def test_what_the_command_line_writes(self, tmp_path):
        source, output = tmp_path / "a.md", tmp_path / "a.jsonl"
        source.write_text("# Ü\n\nOne.\n", encoding="utf-8")
        run = [sys.executable, "-m", "omnichunk", "chunk", str(source), "--output", str(output)]
        subprocess.run(run, check=True, capture_output=True)
        assert list(read_jsonl(output)) == Chunker().chunk_file(str(source))


class TestStreams:
    def test_one_after_the_other(self):
        """A line is read when its value is asked for, and written before the next one is made."""
        taken = []

        def source():
            for line in lines():
                taken.append(line)
                yield line

        reader = read_jsonl(source())
        assert not taken
        next(reader)
        assert len(taken) == 1
        buffer = io.BytesIO()

        def chunks():
            for number, chunk in enumerate(CHUNKS):
                assert buffer.getvalue().count(b"\n") == number
                yield chunk

        write_jsonl(chunks(), buffer)

    def test_a_broken_line_comes_after_the_good_ones(self):
        reader = read_jsonl([*lines()[:2], b"{\n"])
        assert [next(reader), next(reader)] == CHUNKS[:2]
        with pytest.raises(SchemaError, match="line 3: "):
            next(reader)


class TestWholeOrNotThere:
    def test_what_was_there_stays_when_something_is_raised(self, tmp_path):
        path = tmp_path / "c.jsonl"
        path.write_text("before")

        def broken():
            yield CHUNKS[0]
            raise RuntimeError("provider down")

        with pytest.raises(RuntimeError):
            write_jsonl(broken(), path)
        assert path.read_text() == "before"
        assert os.listdir(tmp_path) == ["c.jsonl"]

    def test_nobody_sees_half_of_it(self, tmp_path):
        path = tmp_path / "c.jsonl"
        write_jsonl((chunk for chunk in CHUNKS if not path.exists()), path)
        assert list(read_jsonl(path)) == CHUNKS

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only where there are named pipes and links")
    def test_what_stands_at_the_path_stays_what_it_is(self, tmp_path):
        """A link, permissions, and a named pipe, as a device would."""
        real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
        real.write_bytes(b"")
        real.chmod(0o640)
        link.symlink_to(real)
        write_jsonl(CHUNKS, link)
        assert link.is_symlink()
        assert real.stat().st_mode & 0o777 == 0o640
        assert list(read_jsonl(real)) == CHUNKS
        os.mkfifo(pipe)
        found = []
        reader = threading.Thread(target=lambda: found.extend(read_jsonl(pipe)))
        reader.start()
        write_jsonl(CHUNKS, pipe)
        reader.join()
        assert found == CHUNKS
        assert pipe.is_fifo()

    def test_several_write_the_same_file(self, tmp_path):
        """The last one stays, whole."""
        writers = [threading.Thread(target=write_jsonl, args=(CHUNKS * 20, tmp_path / "a")) for _ in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert list(read_jsonl(tmp_path / "a")) == CHUNKS * 20
        assert os.listdir(tmp_path) == ["a"]


class TestErrors:
    @pytest.mark.parametrize(
        ("line", "said"),
        [
            (b"{\n", "is no JSON: .* at column"),
            (b"nonsense\n", "is no JSON"),
            (b"[]\n", "an object with its fields"),
            (b"3\n", "an object with its fields"),
            (b'{"text": 3}\n', "is missing|is needed"),
            (b'"\xff"\n', "is no UTF-8 at byte 1"),
            (b"[" * 100_000 + b"\n", "too deeply"),
            (lines()[0].replace(b'"schema_version": 1', b'"schema_version": 7') + b"\n", "schema_version=7"),
            (lines()[0][:-40], r"breaks off after \d+ characters"),
        ],
        ids=lambda value: repr(value[:12]),
    )
    def test_are_told_with_file_and_line(self, line, said, tmp_path):
        path = tmp_path / "c.jsonl"
        path.write_bytes(lines()[0] + b"\n\n" + line)
        reader = read_jsonl(path)
        next(reader)
        with pytest.raises(SchemaError, match=said) as caught:
            next(reader)
        assert str(caught.value).startswith(f"{path}:3: ")
        reader = read_jsonl(io.BytesIO(path.read_bytes()))
        next(reader)
        with pytest.raises(SchemaError, match=r"^line 3: "):
            next(reader)

    def test_every_truncation_is_noticed(self):
        """Unless it is between two lines."""
        whole = lines()[0]
        for end in range(1, len(whole), 7):
            with pytest.raises(SchemaError, match=r"^line 1: "):
                list(read_jsonl(io.BytesIO(whole[:end])))
        assert list(read_jsonl(io.BytesIO(whole))) == CHUNKS[:1]

    def test_metadata_without_a_form_is_named(self, tmp_path):
        odd = replace(CHUNKS[0], metadata={"half": Fraction(1, 2)})
        with pytest.raises(SchemaError, match=r"ü\.md: chunk 0: its metadata cannot be written as JSON: .*Fraction"):
            dumps(odd)
        with pytest.raises(SchemaError, match="chunk 0"):
            write_jsonl([odd], tmp_path / "c.jsonl")
        assert not os.listdir(tmp_path)
