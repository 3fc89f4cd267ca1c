"""Arrow and Parquet: a row a chunk, read back equal."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings

from omnichunk import (
    Chunker,
    MissingDependencyError,
    OptionError,
    SchemaError,
    from_arrow,
    read_parquet,
    stable_chunk_id,
    to_arrow,
    write_parquet,
)
from support import odd_text
from test_serialization import PAGED

pa = pytest.importorskip("pyarrow")

from omnichunk import arrow  # noqa: E402

TEXT = "import os\n\n\nclass Box:\n    '''Holds.'''\n    def grow(self, by):\n        return by\n\n\ndef last():\n    pass\n"


@pytest.fixture(scope="module")
def chunks():
    chunker = Chunker(max_chunk_size=60, min_chunk_size=1)
    odd = replace(
        chunker.chunk("a.txt", "x")[0],
        metadata={"budget": {"unit": "chars", "limit": None}, "when": date(2024, 1, 31), "pages": (1, 2)},
    )
    return [*chunker.chunk("m.py", TEXT), *chunker.chunk_loaded("a.pdf", PAGED), odd, replace(odd, metadata={})]


class TestBothWays:
    def test_a_table(self, chunks):
        table = to_arrow(chunks)
        assert table.num_rows == len(chunks)
        assert list(from_arrow(table)) == chunks
        assert list(from_arrow(table.to_batches()[0])) == chunks
        assert list(from_arrow(table.to_reader(max_chunksize=2))) == chunks

    def test_a_file(self, chunks, tmp_path):
        path = tmp_path / "c.parquet"
        assert write_parquet(iter(chunks), path, batch_size=2) == len(chunks)
        assert list(read_parquet(path)) == list(read_parquet(str(path))) == chunks
        assert os.listdir(tmp_path) == ["c.parquet"]

    def test_nothing(self, tmp_path):
        assert write_parquet([], tmp_path / "c.parquet") == 0
        assert list(read_parquet(tmp_path / "c.parquet")) == []
        assert to_arrow([]).schema == arrow.arrow_schema()

    @settings(max_examples=15)
    @given(odd_text())
    def test_any_text(self, text):
        chunks = Chunker(max_chunk_size=40, min_chunk_size=1, sibling_detail="names").chunk("a.md", text)
        assert list(from_arrow(to_arrow(chunks))) == chunks

    def test_other_columns_and_no_version_are_no_hindrance(self, chunks):
        table = to_arrow(chunks).append_column("embedding", [[[0.5]] * len(chunks)]).drop_columns(["id"])
        assert list(from_arrow(table.replace_schema_metadata(None))) == chunks


class TestColumns:
    def test_are_the_fields_and_the_id(self, chunks):
        table = to_arrow(chunks)
        assert table.column_names[0] == "id"
        assert table.column("id").to_pylist() == [stable_chunk_id(c) for c in chunks]
        assert table.column_names[1:] == list(chunks[0].__dataclass_fields__)

    def test_nested_values_can_be_asked_for(self, chunks):
        """Structs, so a query reaches into them without a parser of JSON."""
        import pyarrow.compute as pc

        table = to_arrow(chunks)
        starts = pc.struct_field(table["byte_range"], ["start"]).to_pylist()
        assert starts == [c.byte_range.start for c in chunks]
        names = [[e["name"] for e in row] for row in pc.struct_field(table["context"], ["entities"]).to_pylist()]
        assert names == [[e.name for e in c.context.entities] for c in chunks]
        sizes = pc.struct_field(table["metadata"], ["budget", "size"]).to_pylist()
        assert sizes == [c.metadata.get("budget", {}).get("size") for c in chunks]

    def test_the_version_is_in_the_schema(self, chunks):
        table = to_arrow(chunks)
        assert table.schema.metadata[b"omnichunk_schema_version"] == b"1"
        for version in (b"2", b"0", b"x", b"", b"\xff"):
            other = table.replace_schema_metadata({b"omnichunk_schema_version": version})
            with pytest.raises(SchemaError, match="schema_version="):
                list(from_arrow(other))


class TestStreams:
    def test_batches_are_made_as_they_are_asked_for(self, chunks):
        taken = []
        batches = arrow.arrow_batches((taken.append(1) or c for c in chunks), batch_size=2)
        assert not taken
        assert next(batches).num_rows == len(taken) == 2

    def test_long_chunks_make_small_batches(self, chunks, monkeypatch):
        monkeypatch.setattr(arrow, "_MOST", 1)
        assert [b.num_rows for b in arrow.arrow_batches(chunks)] == [1] * len(chunks)

    @pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2"], ids=repr)
    def test_the_size_of_a_batch_is_checked_at_once(self, wrong):
        with pytest.raises(OptionError, match="batch_size"):
            arrow.arrow_batches([], batch_size=wrong)


class TestErrors:
    def test_a_row_that_is_no_chunk(self, chunks):
        table = to_arrow(chunks).drop_columns(["text"])
        with pytest.raises(SchemaError, match="row 0: Chunk: the field text is missing"):
            list(from_arrow(table))
        nothing = pa.Table.from_pylist([{**to_arrow(chunks[:1]).to_pylist()[0], "metadata": {"more": "{"}}])
        with pytest.raises(SchemaError, match="row 0: metadata that is no JSON"):
            list(from_arrow(nothing))

    def test_a_lone_surrogate(self, chunks):
        (bad,) = Chunker().chunk(os.fsdecode(b"caf\xe9.txt"), "text")
        with pytest.raises(SchemaError, match=r"caf\\udce9\.txt': chunk 0 holds the lone surrogate U\+DCE9"):
            to_arrow([*chunks, bad])

    def test_metadata_without_a_form(self, chunks, tmp_path):
        path = tmp_path / "c.parquet"
        path.write_bytes(b"before")
        with pytest.raises(SchemaError, match=r"m\.py: chunk 0: .*Fraction"):
            write_parquet([replace(chunks[0], metadata={"half": Fraction(1, 2)})], path)
        assert path.read_bytes() == b"before"
        assert os.listdir(tmp_path) == ["c.parquet"]

    @pytest.mark.parametrize("damage", [lambda data: b"", lambda data: b"text\n", lambda data: data[:-20]])
    def test_a_file_that_is_no_parquet(self, chunks, tmp_path, damage):
        path = tmp_path / "c.parquet"
        write_parquet(chunks, path)
        path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(SchemaError, match=r"c\.parquet: is no Parquet file"):
            list(read_parquet(path))

    def test_without_pyarrow(self, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        arrow._pyarrow.cache_clear()
        for call in (
            lambda: to_arrow([]), lambda: write_parquet([], tmp_path / "c"), lambda: next(read_parquet(tmp_path / "c"))
        ):  # fmt: skip
            with pytest.raises(MissingDependencyError, match=r"omnichunk\[arrow\]"):
                call()
