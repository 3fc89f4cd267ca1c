"""Every public value survives its versioned JSON form, and what is no such form is refused by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnichunk
from omnichunk import (
    Block,
    Chunk,
    ChunkContext,
    Chunker,
    ChunkingError,
    ChunkOptions,
    EntityInfo,
    Entry,
    FormatSegment,
    LoadedDocument,
    SchemaError,
    Source,
    SourceDescriptor,
    chunk_diff,
    chunk_from_dict,
    chunk_to_dict,
    from_dict,
    json_schema,
    to_dict,
)
from omnichunk.model import chunk as chunk_values
from omnichunk.model import document as document_values
from omnichunk.model.chunk import ByteRange, LineRange
from omnichunk.serialization.codec import KINDS, SCHEMA_VERSION
from omnichunk.serialization.convert import hints
from support import odd_text

PAGED = LoadedDocument(
    text="Title\n\nFirst page.\nA table\n",
    segments=(
        FormatSegment(0, 19, "prose", {"page": 1}),
        FormatSegment(19, 27, "code", {"page": 2, "language": "sql"}),
    ),
    format_name="pdf",
    warnings=("a font is missing",),
    metadata={"author": "Ünal", "nested": {"a": [1, None, 0.5, True]}},
    blocks=(Block(0, 5, "heading", 1, "Title"), Block(19, 27, "table", header=(19, 21))),
)


def through_json(value):
    return from_dict(type(value), json.loads(json.dumps(to_dict(value), allow_nan=False)))


def samples():
    """One value of every type, at least."""
    chunker = Chunker(max_chunk_size=120)
    text = "import os\n\n\nclass Box:\n    '''Holds.'''\n    def grow(self, by):\n        return by\n\n\ndef f():\n    pass\n"
    chunks = chunker.chunk("m.py", text, max_chunk_size=60)
    paged = chunker.chunk_loaded("a.pdf", PAGED)
    (result,) = chunker.batch([{"filepath": "m.py", "code": text}])
    context = chunks[-1].context
    return [
        *chunks, *paged, PAGED, *PAGED.segments, *PAGED.blocks, paged[0].source, paged[0].context,
        *paged[0].context.segments, context, *context.entities, *context.siblings, *context.imports, result,
        chunks[0].byte_range, chunks[0].line_range, paged[-1].locate(1), chunker.chunk_with_manifest("m.py", "\n\nx\n\n"),
        chunk_diff("m.py", text + "x = 1\n", previous_chunks=chunks, max_chunk_size=60), chunker.options,
        ChunkOptions(overlap=0.25, tokenizer="approximate", loader_options={"pages": (1, 2)}), Entry("a.py", size=3),
        *chunker.registry.plugins()[:2],
    ]  # fmt: skip


SAMPLES = samples()
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
FOREIGN = st.recursive(
    PLAIN | st.binary(max_size=4) | st.dates() | st.datetimes() | st.times() | st.decimals(allow_nan=False)
    | st.floats(allow_nan=False) | st.frozensets(st.integers() | st.text(), max_size=3)
    | st.datetimes(timezones=st.just(timezone.utc)),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.lists(inner, max_size=3)
    | st.dictionaries(st.integers() | st.sampled_from(["$tuple", "$map", "$", "a"]) | st.dates(), inner, max_size=3)
    | st.sets(st.integers(), max_size=3),
    max_leaves=8,
)  # fmt: skip


class TestEveryValue:
    def test_there_is_a_sample_of_every_type(self):
        assert {type(value) for value in SAMPLES} == KINDS

    def test_every_value_of_the_model_has_a_form(self):
        """But not the source, which is what comes in."""
        found = {
            value
            for module in (chunk_values, document_values)
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__ and value is not Source
        }
        assert found
        assert found <= KINDS

    @pytest.mark.parametrize("value", SAMPLES, ids=lambda value: type(value).__name__)
    def test_comes_back_equal(self, value):
        data = to_dict(value)
        assert data["schema_version"] == SCHEMA_VERSION
        assert through_json(value) == value
        assert from_dict(type(value), data) == value

    @pytest.mark.parametrize("value", SAMPLES, ids=lambda value: type(value).__name__)
    def test_conforms_to_the_published_schema(self, value):
        jsonschema = pytest.importorskip("jsonschema")
        schema = json_schema(type(value))
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(json.loads(json.dumps(to_dict(value))), schema, jsonschema.Draft202012Validator)

    @pytest.mark.parametrize("kind", sorted(KINDS, key=lambda kind: kind.__name__))
    def test_the_schema_knows_every_field(self, kind):
        described = json_schema(kind)["$defs"][kind.__name__]
        names = [name for name, _ in hints(kind)]
        assert ["schema_version", *names] == list(described["properties"])
        assert set(described["required"]) == set(names) - ({"min_chunk_size"} if kind is ChunkOptions else set())
        assert described["additionalProperties"] is False

    def test_the_schema_refuses_what_is_wrong(self):
        jsonschema = pytest.importorskip("jsonschema")
        check = partial(jsonschema.Draft202012Validator(json_schema()).is_valid)
        data = json.loads(json.dumps(chunk_to_dict(Chunker().chunk("a.txt", "text")[0])))
        assert check(data)
        without = {name: value for name, value in data.items() if name != "schema_version"}
        for wrong in (without, {**data, "schema_version": 2}, {**data, "text": 3}, {**data, "more": 1}):
            assert not check(wrong)

    @given(odd_text(), st.sampled_from(["a.md", "a.py", "a.html", "a.json", "a.csv"]))
    def test_chunks_of_any_text(self, text, path):
        for chunk in Chunker(max_chunk_size=60, sibling_detail="names").chunk(path, text):
            assert through_json(chunk) == chunk

    def test_chunk_to_dict_is_that_of_chunks(self):
        (chunk,) = Chunker().chunk("a.txt", "text")
        assert chunk_to_dict(chunk) == to_dict(chunk)
        assert list(chunk_to_dict(chunk)) == ["schema_version", *(f.name for f in fields(Chunk))]

    def test_strangers_are_refused(self):
        for call in (lambda: to_dict("text"), lambda: from_dict(str, {}), lambda: json_schema(dict)):
            with pytest.raises(TypeError, match=r"is none of Block, ByteRange, Chunk,"):
                call()


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Word(str):
    __slots__ = ()


class TestMetadata:
    @given(PLAIN)
    def test_plain_values_stay_as_they_are(self, value):
        """Unless an object looks like a mark."""
        descriptor = SourceDescriptor("a", "", metadata={"value": value, "other": 1})
        if "$" not in repr(value):
            assert to_dict(descriptor)["metadata"] == {"value": value, "other": 1}
        assert through_json(descriptor) == descriptor

    @given(FOREIGN)
    def test_foreign_values_come_back(self, value):
        descriptor = SourceDescriptor("a", "", metadata={"value": value})
        back = through_json(descriptor)
        assert back == descriptor
        kept = repr(back.metadata["value"]) == repr(value)
        assert kept or "set(" in repr(value) or "{" in repr(value) or "fold=" in repr(value)

    @pytest.mark.parametrize(
        ("value", "written"),
        [
            ((1, (2,)), {"$tuple": [1, {"$tuple": [2]}]}),
            ({3, 1}, {"$set": [1, 3]}),
            (b"\0", {"$bytes": "AA=="}),
            (date(2024, 1, 31), {"$date": "2024-01-31"}),
            (datetime(2024, 1, 31, 5), {"$datetime": "2024-01-31T05:00:00"}),
            (time(5), {"$time": "05:00:00"}),
            (Decimal("1.50"), {"$decimal": "1.50"}),
            (float("inf"), {"$float": "inf"}),
            ({4: "x"}, {"$map": [[4, "x"]]}),
            ({"$date": "x"}, {"$map": [["$date", "x"]]}),
            (Level.LOW, 1),
            (Word("w"), "w"),
        ],
        ids=str,
    )
    def test_the_marks_are_these(self, value, written):
        descriptor = SourceDescriptor("a", "", metadata={"value": value})
        assert json.loads(json.dumps(to_dict(descriptor)))["metadata"] == {"value": written}
        assert through_json(descriptor) == descriptor

    def test_nan(self):
        back = through_json(SourceDescriptor("a", "", metadata={"value": [float("nan")]}))
        assert repr(back.metadata) == "{'value': [nan]}"

    def test_numpy(self):
        np = pytest.importorskip("numpy")
        values = {"i": np.int64(3), "f": np.float32(0.5), "b": np.bool_(True), "s": np.str_("x"), "e": np.array(4)}
        back = through_json(SourceDescriptor("a", "", metadata=values)).metadata
        assert back == {"i": 3, "f": 0.5, "b": True, "s": "x", "e": 4}
        assert {type(v) for v in back.values()} == {int, float, bool, str}

    def test_an_object_is_left_to_the_encoder(self):
        descriptor = SourceDescriptor("a", "", metadata={"color": Color.RED, "half": Fraction(1, 2)})
        assert to_dict(descriptor)["metadata"] == descriptor.metadata
        with pytest.raises(TypeError):
            json.dumps(to_dict(descriptor))
        assert json.loads(json.dumps(to_dict(descriptor), default=str))["metadata"]["half"] == "1/2"

    def test_an_unknown_mark_is_a_plain_object(self):
        data = {"source_id": "a", "revision": "", "metadata": {"value": {"$new": [1]}}}
        assert from_dict(SourceDescriptor, data).metadata == {"value": {"$new": [1]}}

    @pytest.mark.parametrize(
        "mark",
        [{"$bytes": "?"}, {"$bytes": 3}, {"$date": "x"}, {"$decimal": "x"}, {"$float": []}, {"$map": 3}, {"$map": [[1]]},
         {"$tuple": 3}, {"$set": [[1]]}, {"$datetime": None}],
        ids=str,
    )  # fmt: skip
    def test_a_broken_mark_is_named(self, mark):
        data = {"source_id": "a", "revision": "", "metadata": {"value": mark}}
        with pytest.raises(SchemaError, match=r"\$"):
            from_dict(SourceDescriptor, data)

    def test_depth_is_no_crash(self):
        deep: list = []
        for _ in range(100_000):
            deep = [deep]
        cyclic: dict = {}
        cyclic["self"] = cyclic
        for value in (deep, cyclic):
            with pytest.raises(SchemaError, match="too deeply"):
                to_dict(SourceDescriptor("a", "", metadata={"value": value}))
        with pytest.raises(SchemaError, match="too deeply"):
            from_dict(SourceDescriptor, {"source_id": "a", "revision": "", "metadata": {"value": deep}})


LEGACY = {
    "text": "hé",
    "byte_range": {"start": 3, "end": 6},
    "line_range": {"start": 1, "end": 1},
    "context": {"filepath": "a.txt", "language": "plaintext"},
}


class TestVersions:
    @pytest.mark.parametrize("kind", sorted(KINDS, key=lambda kind: kind.__name__))
    @pytest.mark.parametrize("version", [0, 2, 99, -1, True, False, "1", 1.0, None, [1], {"major": 1}], ids=repr)
    def test_an_unsupported_one_is_refused_by_name(self, kind, version):
        sample = next(value for value in SAMPLES if type(value) is kind)
        with pytest.raises(ValueError, match="schema_version") as caught:
            from_dict(kind, {**to_dict(sample), "schema_version": version})
        assert repr(version) in str(caught.value)
        assert isinstance(caught.value, ChunkingError)

    @pytest.mark.parametrize("value", SAMPLES, ids=lambda value: type(value).__name__)
    def test_none_at_all_is_legacy(self, value):
        data = to_dict(value)
        del data["schema_version"]
        assert from_dict(type(value), data) == value

    def test_a_chunk_of_old_fields(self):
        chunk = chunk_from_dict(LEGACY)
        assert (chunk.contextualized_text, chunk.index, chunk.total_chunks, chunk.occurrence) == ("hé", 0, -1, 0)
        assert (chunk.byte_range, chunk.line_range) == (ByteRange(3, 6), LineRange(1, 1))
        assert (chunk.char_count, chunk.nws_count) == (2, 2)
        assert (chunk.source.source_id, chunk.source.revision, chunk.config_fingerprint) == ("a.txt", "", "")
        assert chunk.context == ChunkContext(filepath="a.txt", language="plaintext")
        assert chunk.metadata == {}
        assert omnichunk.stable_chunk_id(chunk) == omnichunk.stable_chunk_id(Chunker().chunk("a.txt", "hé")[0])

    @pytest.mark.parametrize(
        "change",
        [
            {"source": None}, {"source": {}}, {"context": {**LEGACY["context"], "scope": None, "imports": None}},
            {"metadata": None}, {"byte_range": [3, 6]}, {"embedding": [0.5]}, {"occurrence": None}, {"char_count": None},
        ],
        ids=str,
    )  # fmt: skip
    def test_nothing_stands_for_the_default(self, change):
        assert chunk_from_dict({**LEGACY, **change}) == chunk_from_dict(LEGACY)

    def test_what_is_there_is_kept(self):
        chunk = chunk_from_dict({**LEGACY, "char_count": 7, "token_count": 9, "source": {"source_id": "b"}})
        assert (chunk.char_count, chunk.token_count, chunk.source.source_id) == (7, 9, "b")

    def test_any_mapping_will_do(self):
        class Row(Mapping):
            def __init__(self, data):
                self.data = data

            def __getitem__(self, name):
                return self.data[name]

            def __iter__(self):
                return iter(self.data)

            def __len__(self):
                return len(self.data)

        (chunk,) = Chunker().chunk("a.txt", "text")
        assert chunk_from_dict(Row(chunk_to_dict(chunk))) == chunk
        assert chunk_from_dict(Row(LEGACY)) == chunk_from_dict(LEGACY)


class TestErrors:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"text": 3}, "Chunk.text: a string is needed, not 3"),
            ({"text": None}, "Chunk: the field text is missing|Chunk.text"),
            ({"index": "1"}, "Chunk.index: a whole number"),
            ({"index": True}, "Chunk.index: a whole number"),
            ({"index": 1.5}, "Chunk.index: a whole number"),
            ({"byte_range": {"start": 1}}, "ByteRange: the field end is missing"),
            ({"byte_range": "1-2"}, "ByteRange: an object"),
            ({"byte_range": [1]}, "ByteRange: an object"),
            ({"line_range": {"start": 1, "end": "2"}}, "LineRange.end: a whole number"),
            ({"context": []}, "ChunkContext: an object"),
            ({"context": {"scope": {}}}, "ChunkContext.scope: a list"),
            ({"context": {"scope": [3]}}, "EntityInfo: an object"),
            ({"context": {"scope": [{"name": "f"}]}}, "EntityInfo: the field type is missing"),
            (
                {"context": {"scope": [{"name": "f", "type": "x", "is_partial": 1}]}},
                "EntityInfo.is_partial: true or false",
            ),
            ({"context": {"breadcrumb": ["a", 1]}}, "ChunkContext.breadcrumb: a string"),
            ({"context": {"breadcrumb": "ab"}}, "ChunkContext.breadcrumb: a list"),
            ({"source": 3}, "SourceDescriptor: an object"),
            ({"metadata": [1]}, "Chunk.metadata: an object"),
        ],
        ids=str,
    )
    def test_say_what_is_wrong(self, change, said):
        for base in (LEGACY, json.loads(json.dumps(chunk_to_dict(Chunker().chunk("a.txt", "text")[0])))):
            with pytest.raises(SchemaError, match=said):
                chunk_from_dict({**base, **change})

    @pytest.mark.parametrize("data", [None, 3, "text", [], {}, {"schema_version": 1}, {"text": "a"}], ids=repr)
    def test_no_chunk_at_all(self, data):
        with pytest.raises(ValueError, match=r"needed|missing"):
            chunk_from_dict(data)

    def test_a_header_is_a_pair(self):
        with pytest.raises(SchemaError, match=r"Block.header: a list of 2 is needed"):
            from_dict(Block, {"char_start": 0, "char_end": 1, "header": [1, 2, 3]})


class TestOptions:
    def test_a_minimum_nobody_chose_still_follows_the_maximum(self):
        back = through_json(ChunkOptions())
        assert replace(back, max_chunk_size=20).min_chunk_size == 20
        assert "min_chunk_size" not in to_dict(ChunkOptions())
        assert to_dict(ChunkOptions(min_chunk_size=50))["min_chunk_size"] == 50

    def test_passwords_are_left_out(self):
        options = ChunkOptions(loader_options={"pdf_password": "secret", "pages": 3})
        assert "secret" not in json.dumps(to_dict(options))
        assert through_json(options).loader_options == {"pages": 3}

    def test_objects_have_no_form(self):
        for options in (ChunkOptions(tokenizer=len), ChunkOptions(loader_options={"hook": [len]})):
            with pytest.raises(SchemaError, match=r"ChunkOptions\.(tokenizer|loader_options): .*len"):
                to_dict(options)

    def test_a_path_is_its_text(self, tmp_path):
        assert through_json(ChunkOptions(tokenizer=tmp_path / "t.json")).tokenizer == str(tmp_path / "t.json")

    @pytest.mark.parametrize("change", [{"max_chunk_size": 0}, {"overlap": "x"}, {"size_unit": "lines"}], ids=str)
    def test_are_checked_when_they_are_read(self, change):
        with pytest.raises(ValueError, match=next(iter(change))):
            from_dict(ChunkOptions, {**to_dict(ChunkOptions()), **change})


def test_entities_keep_their_ranges():
    entity = EntityInfo("f", "function", byte_range=ByteRange(0, 2), line_range=None, parent="A", is_partial=True)
    assert through_json(entity) == entity
    assert type(through_json(entity).byte_range) is ByteRange
