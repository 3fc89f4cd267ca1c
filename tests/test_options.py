"""ChunkOptions: values, combinations, where a minimum comes from, names, fingerprints."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk.errors import ChunkingError, OptionError, UnknownOptionError
from omnichunk.model.options import ChunkOptions, build, fingerprint

LOADER_OPTIONS = {"include_notebook_outputs": False, "pdf_password": None, "max_pages": 10, "zoom": 1.0}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_chunk_size": 0}, "max_chunk_size=0"),
        ({"max_chunk_size": 10.5}, "10.5"),
        ({"max_chunk_size": True}, "True"),
        ({"max_chunk_size": "80"}, "'80'"),
        ({"min_chunk_size": -1}, "min_chunk_size=-1"),
        ({"min_chunk_size": None}, "None"),
        ({"min_chunk_size": 2000}, "above max_chunk_size=1500"),
        ({"max_chunk_size": 10, "min_chunk_size": 11}, "above max_chunk_size=10"),
        ({"max_chunk_size": 7, "min_chunk_size": 50}, "above max_chunk_size=7"),
        ({"size_unit": "bytes"}, '"chars", "nws" or "tokens"'),
        ({"size_unit": ["chars"]}, "size_unit"),
        ({"size_unit": "tokens"}, "needs a tokenizer"),
        ({"tokenizer": ""}, "tokenizer"),
        ({"tokenizer": 3}, "tokenizer=3"),
        ({"coverage_policy": "all"}, "coverage_policy='all'"),
        ({"overflow_policy": "drop"}, '"split", "error" or "preserve"'),
        ({"context_overflow": "truncate"}, '"omit" or "error"'),
        ({"context_mode": "verbose"}, "context_mode"),
        ({"algorithm_version": "2.0"}, '"2.1"'),
        ({"sibling_detail": "all"}, "sibling_detail"),
        ({"target_fill": 0}, "target_fill=0"),
        ({"target_fill": 1.01}, "target_fill"),
        ({"target_fill": float("nan")}, "nan"),
        ({"target_fill": True}, "target_fill=True"),
        ({"overlap": -1}, "overlap=-1"),
        ({"overlap": True}, "overlap=True"),
        ({"overlap": "5"}, "overlap='5'"),
        ({"overlap": 1500}, "less than max_chunk_size=1500"),
        ({"overlap": 1.0}, "overlap=1.0"),
        ({"overlap": -0.1}, "overlap=-0.1"),
        ({"overlap": float("nan")}, "nan"),
        ({"overlap_lines": -1}, "overlap_lines"),
        ({"overlap_lines": 1.0}, "overlap_lines"),
        ({"overlap": 5, "overlap_lines": 1}, "exclude each other"),
        ({"overlap": 0.1, "overlap_lines": 1}, "exclude each other"),
        ({"overlap_lines": 1, "context_mode": "none"}, 'context_mode="none"'),
        ({"preserve_decorators": False}, "can only be True"),
        ({"preserve_comments": 1}, "can only be True"),
        ({"include_header_in_sections": False}, "can only be True"),
        ({"include_imports": "yes"}, "include_imports"),
        ({"language": None}, "language=None"),
        ({"source_id": ""}, "source_id=''"),
        ({"renderer": 1}, "renderer=1"),
        ({"loader": b"pdf"}, "loader"),
        ({"loader_options": [1]}, "loader_options"),
    ],
    ids=str,
)
def test_refused(options, said):
    """A wrong value is refused by the constructor, by replace and by build, and the message names it."""
    for make in (
        lambda: ChunkOptions(**options),
        lambda: dataclasses.replace(ChunkOptions(), **options),
        lambda: build("Chunker()", None, options),
        lambda: build("Chunker()", ChunkOptions(), options),
    ):
        with pytest.raises(OptionError) as caught:
            make()
        assert said in str(caught.value)
    assert str(caught.value).startswith("Chunker(): ")
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ChunkingError)


def test_accepted():
    """Values at the edge of what is allowed."""
    ChunkOptions(max_chunk_size=1, min_chunk_size=1)
    ChunkOptions(min_chunk_size=0, target_fill=1, overlap=0.0, overlap_lines=2)
    ChunkOptions(overlap=1499)
    ChunkOptions(size_unit="tokens", tokenizer=len)
    ChunkOptions(overlap_lines=1, context_mode="minimal")


class TestMinimum:
    def test_default_gives_way(self):
        assert ChunkOptions().min_chunk_size == 50
        assert ChunkOptions(max_chunk_size=7).min_chunk_size == 7
        assert dataclasses.replace(ChunkOptions(), max_chunk_size=7).min_chunk_size == 7
        assert build("chunk()", ChunkOptions(), {"max_chunk_size": 7}).min_chunk_size == 7

    def test_default_comes_back(self):
        small = pickle.loads(pickle.dumps(ChunkOptions(max_chunk_size=7)))
        assert dataclasses.replace(small, max_chunk_size=40).min_chunk_size == 40
        assert dataclasses.replace(small, max_chunk_size=400).min_chunk_size == 50

    @pytest.mark.parametrize("minimum", [20, 50])
    def test_explicit_stays(self, minimum):
        chosen = ChunkOptions(min_chunk_size=minimum)
        assert build("chunk()", chosen, {"max_chunk_size": minimum}).min_chunk_size == minimum
        with pytest.raises(OptionError, match="above max_chunk_size=7"):
            dataclasses.replace(chosen, max_chunk_size=7)
        with pytest.raises(OptionError, match=r"chunk\(\): min_chunk_size"):
            build("chunk()", chosen, {"max_chunk_size": 7})

    @given(st.lists(st.integers(1, 200), min_size=1, max_size=5))
    def test_only_the_last_maximum_counts(self, maxima):
        options = ChunkOptions()
        for maximum in maxima:
            options = dataclasses.replace(options, max_chunk_size=maximum)
        assert options == ChunkOptions(max_chunk_size=maxima[-1])
        assert options.min_chunk_size == min(50, maxima[-1])


@pytest.mark.parametrize(
    ("overlap", "maximum", "units"),
    [(20, 100, 20), (0, 100, 0), (0.1, 100, 10), (0.25, 7, 1), (0.29, 100, 29), (0.58, 100, 58), (0.999, 10, 9)],
)
def test_overlap_size(overlap, maximum, units):
    """A fraction is rounded down, as a decimal fraction and not as its binary neighbour."""
    assert ChunkOptions(max_chunk_size=maximum, overlap=overlap).overlap_size == units


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 10_000))
def test_overlap_is_less_than_the_maximum(overlap, maximum):
    assert 0 <= ChunkOptions(max_chunk_size=maximum, overlap=overlap).overlap_size <= maximum


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("max_chunk_sise", 'did you mean "max_chunk_size"?'),
        ("chunk_size", 'did you mean "max_chunk_size"?'),
        ("chunk_overlap", 'did you mean "overlap"?'),
        ("pdf_pasword", 'did you mean "pdf_password"?'),
        ("_precomputed_nws_cumsum", "fields of ChunkOptions"),
        ("semantic_threshold_k", 'did you mean "semantic_threshold"?'),
    ],
)
@pytest.mark.parametrize("base", [None, ChunkOptions()])
def test_unknown_name(name, hint, base):
    with pytest.raises(UnknownOptionError) as caught:
        build("Chunker()", base, {name: None}, LOADER_OPTIONS)
    assert str(caught.value).startswith(f'Chunker(): unknown option "{name}"; ')
    assert hint in str(caught.value)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


class TestLoaderOptions:
    def test_collected_over_the_base(self):
        base = build("Chunker()", None, {"pdf_password": "x", "max_pages": 3}, LOADER_OPTIONS)
        assert base.loader_options == {"pdf_password": "x", "max_pages": 3}
        given = {"max_pages": 4, "loader_options": {"include_notebook_outputs": True}}
        options = build("chunk()", base, given, LOADER_OPTIONS)
        assert options.loader_options == {"pdf_password": "x", "max_pages": 4, "include_notebook_outputs": True}
        assert base.loader_options == {"pdf_password": "x", "max_pages": 3}

    def test_copied_and_read_only(self):
        mine = {"max_pages": 3}
        options = ChunkOptions(loader_options=mine)
        mine["max_pages"] = 4
        assert options.loader_options["max_pages"] == 3
        assert not hasattr(options.loader_options, "__setitem__")

    @pytest.mark.parametrize(
        "given",
        [{"include_notebook_outputs": "yes"}, {"include_notebook_outputs": 1}, {"max_pages": True}, {"zoom": "1"}],
    )
    def test_wrong_type(self, given):
        (name,) = given
        with pytest.raises(OptionError, match=rf"Chunker\(\): {name}=.*a value of type"):
            build("Chunker()", None, given, LOADER_OPTIONS)

    def test_right_type(self):
        given = {"pdf_password": b"x", "zoom": 2, "max_pages": 1}
        assert build("Chunker()", None, given, LOADER_OPTIONS).loader_options == given

    def test_undeclared(self):
        with pytest.raises(UnknownOptionError, match='"max_page"; did you mean "max_pages"'):
            build("Chunker()", None, {"loader_options": {"max_page": 3}}, LOADER_OPTIONS)


def test_a_value_among_values():
    """Options are frozen, compared by value, hashable, picklable and can be copied, callables and all."""
    options = ChunkOptions(max_chunk_size=30, tokenizer=len, loader_options={"a": [1]})
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.max_chunk_size = 10
    for same in (pickle.loads(pickle.dumps(options)), copy.deepcopy(options), dataclasses.replace(options)):
        assert same == options
        assert hash(same) == hash(options)
        assert fingerprint(same) == fingerprint(options)
    assert dataclasses.asdict(options)["loader_options"] == {"a": [1]}


class Words:
    """A counting callable that may declare who it is."""

    def __init__(self, fingerprint=None):
        if fingerprint is not None:
            self.fingerprint = fingerprint
        self.version = "not an identity"

    def __call__(self, text):
        return len(text.split())


class TestFingerprint:
    @pytest.mark.parametrize(
        "change",
        [
            {"max_chunk_size": 1000}, {"min_chunk_size": 49}, {"size_unit": "nws"}, {"tokenizer": "cl100k_base"},
            {"coverage_policy": "lossless"}, {"overflow_policy": "error"}, {"context_overflow": "error"},
            {"context_mode": "none"}, {"target_fill": 1}, {"overlap": 1}, {"overlap_lines": 1},
            {"include_imports": True}, {"sibling_detail": "names"}, {"language": "python"}, {"renderer": "x"},
            {"loader": "text"}, {"loader_options": {"max_pages": 3}},
        ],
        ids=str,
    )  # fmt: skip
    def test_sees_what_changes_chunks(self, change):
        assert fingerprint(ChunkOptions(**change)) != fingerprint(ChunkOptions())

    @pytest.mark.parametrize(
        "same",
        [{"source_id": "guide"}, {"min_chunk_size": 50}, {"overlap": 0.0}, {"loader_options": {"pdf_password": "x"}}],
        ids=str,
    )
    def test_overlooks_identity_spelling_and_secrets(self, same):
        assert fingerprint(ChunkOptions(**same)) == fingerprint(ChunkOptions())

    def test_number_of_units_equals_fraction(self):
        assert fingerprint(ChunkOptions(overlap=0.1)) == fingerprint(ChunkOptions(overlap=150))

    def test_callables_by_what_they_declare(self):
        one, two, same = (fingerprint(ChunkOptions(tokenizer=Words(name))) for name in ("one", "two", "one"))
        assert one == same != two
        assert len(one) == 64

    @pytest.mark.parametrize("unknown", [Words(), Words(""), Words(3), len, lambda text: 1])
    def test_unknown_identity_is_marked(self, unknown):
        assert fingerprint(ChunkOptions(tokenizer=unknown)).startswith("unknown:")
        assert fingerprint(ChunkOptions(loader_options={"hook": unknown})).startswith("unknown:")

    def test_values_of_loader_options(self, tmp_path):
        """Bytes and paths are known; a tokenizer file counts by its content, wherever it lies."""
        marks = {fingerprint(ChunkOptions(loader_options={"a": value})) for value in (b"a", b"b", tmp_path, "a", None)}
        assert len(marks) == 5
        assert not any(mark.startswith("unknown:") for mark in marks)
        for name, content in (("one.json", "{}"), ("two.json", "{}"), ("three.json", "[]")):
            (tmp_path / name).write_text(content)
        one, two, three = (
            fingerprint(ChunkOptions(tokenizer=t))
            for t in (tmp_path / "one.json", str(tmp_path / "two.json"), tmp_path / "three.json")
        )
        assert one == two != three
