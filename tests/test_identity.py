"""Ids, fingerprints, and what has changed between two states of a source."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import (
    Chunker,
    FormatSegment,
    LoadedDocument,
    PluginRegistry,
    UnknownOptionError,
    chunk_diff,
    chunk_embedding_fingerprint,
    hookimpl,
    stable_chunk_id,
)
from omnichunk.execution import engine
from omnichunk.model import options as model_options
from support import odd_text

SMALL = {"max_chunk_size": 30, "min_chunk_size": 1, "context_mode": "none"}
LINES = {"max_chunk_size": 12, "min_chunk_size": 1, "context_mode": "none", "target_fill": 1.0}


def sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def ids(chunks):
    return [stable_chunk_id(chunk) for chunk in chunks]


def lines(*texts):
    return "".join(f"{text:11}\n" for text in texts)


class TestIds:
    def test_is_what_the_specification_says(self):
        """SHA-256 over a tagged JSON list of source id, SHA-256 of the text, occurrence."""
        for chunk in Chunker(**LINES).chunk("a.txt", lines("one", "two", "one"), source_id='ü "q"'):
            parts = ["omnichunk-chunk", 1, 'ü "q"', sha(chunk.text), chunk.occurrence]
            assert stable_chunk_id(chunk) == sha(json.dumps(parts))

    @pytest.mark.parametrize(
        "change",
        [
            {"context_mode": "none"}, {"max_chunk_size": 900}, {"size_unit": "nws"}, {"tokenizer": len},
            {"coverage_policy": "lossless"}, {"include_imports": True}, {"language": "markdown"},
        ],
        ids=str,
    )  # fmt: skip
    def test_no_option_enters(self, change):
        assert ids(Chunker(**change).chunk("a.txt", "text")) == ids(Chunker().chunk("a.txt", "text"))

    def test_everything_else_does(self):
        (chunk,) = Chunker().chunk("a.txt", "text")
        others = [
            replace(chunk, text="texT"),
            replace(chunk, occurrence=1),
            replace(chunk, source=replace(chunk.source, source_id="b")),
        ]
        assert len({stable_chunk_id(c) for c in [chunk, *others]}) == 4
        same = replace(chunk, index=3, total_chunks=9, contextualized_text="x", config_fingerprint="", metadata={})
        assert stable_chunk_id(same) == stable_chunk_id(chunk)

    def test_occurrences_are_numbered_in_source_order(self):
        chunks = Chunker(**LINES).chunk("a.txt", lines("a", "b", "a", "c", "a", "b"))
        assert [(c.text.strip(), c.occurrence) for c in chunks] == [
            ("a", 0), ("b", 0), ("a", 1), ("c", 0), ("a", 2), ("b", 1)
        ]  # fmt: skip

    @given(odd_text())
    def test_are_unique_within_a_source(self, text):
        for path in ("a.txt", "a.md", "a.py"):
            chunks = Chunker(max_chunk_size=9, min_chunk_size=1, context_mode="none").chunk(path, text)
            assert len(set(ids(chunks))) == len(chunks)

    def test_a_name_that_is_no_utf_8(self):
        """Such a file name holds a lone surrogate, and its payload may show it."""
        name = os.fsdecode(b"caf\xe9.txt")
        (chunk,) = Chunker().chunk(name, "text")
        shown = replace(chunk, contextualized_text=f"{name}\n\ntext")
        assert len({stable_chunk_id(chunk), *ids(Chunker().chunk("caf.txt", "text"))}) == 2
        assert chunk_embedding_fingerprint(shown) != chunk_embedding_fingerprint(chunk)

    def test_are_the_same_in_another_process(self):
        """Nothing depends on the seed of hashes."""
        code = (
            "from omnichunk import Chunker, chunk_embedding_fingerprint, stable_chunk_id; "
            "t = 'def f():\\n    return 1\\n\\n\\n' * 9; "
            "print([(stable_chunk_id(c), chunk_embedding_fingerprint(c)) for c in "
            "Chunker(max_chunk_size=30).chunk('m.py', t)])"
        )
        outputs = {
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True,
                env={**os.environ, "PYTHONHASHSEED": seed},
            ).stdout
            for seed in ("1", "2")
        }  # fmt: skip
        assert len(outputs) == 1


class TestEmbeddingFingerprint:
    def test_sees_text_payload_and_configuration_and_nothing_else(self):
        (chunk,) = Chunker().chunk("a.md", "# T\n\ntext")
        others = [
            replace(chunk, text="x"),
            replace(chunk, contextualized_text="x"),
            replace(chunk, config_fingerprint="x"),
        ]
        assert len({chunk_embedding_fingerprint(c) for c in [chunk, *others]}) == 4
        same = replace(chunk, index=7, total_chunks=9, occurrence=3, metadata={}, token_count=99)
        assert chunk_embedding_fingerprint(same) == chunk_embedding_fingerprint(chunk)

    def test_is_found_in_serialization_too(self):
        from omnichunk import serialization

        assert serialization.chunk_embedding_fingerprint is chunk_embedding_fingerprint


class Counter:
    def __init__(self, fingerprint=None):
        if fingerprint is not None:
            self.fingerprint = fingerprint

    def __call__(self, text):
        return len(text.split())


class Plugin:
    __name__ = "plugin"

    def __init__(self, version):
        self.__version__ = version

    @hookimpl
    def omnichunk_loaders(self):
        return []


class TestConfiguration:
    def test_is_what_chunks_carry(self):
        chunker = Chunker(max_chunk_size=80)
        (chunk,) = chunker.chunk("a.txt", "text")
        assert chunk.config_fingerprint == chunker.config_fingerprint
        assert len(chunker.config_fingerprint) == 64
        (chunk,) = chunker.chunk("a.txt", "text", max_chunk_size=90)
        assert chunk.config_fingerprint == Chunker(max_chunk_size=90).config_fingerprint != chunker.config_fingerprint
        assert next(chunker.stream("a.txt", "text")).config_fingerprint == chunker.config_fingerprint

    def test_source_id_is_no_configuration(self):
        assert Chunker(source_id="x").config_fingerprint == Chunker().config_fingerprint

    def test_is_made_once(self, monkeypatch):
        made = []
        real = engine.fingerprint_and_hold
        monkeypatch.setattr(engine, "fingerprint_and_hold", lambda given: made.append(given) or real(given))
        chunker = Chunker()
        for _ in range(5):
            chunker.chunk("a.txt", "text")
        assert len(made) == 1
        assert chunker._engine.config is chunker._engine.config

    def test_notices_a_plugin_that_comes_later(self):
        chunker = Chunker(registry=PluginRegistry(revision="1"))
        before = chunker.config_fingerprint
        chunker.registry.register_parser("python", lambda path, text: None)
        after = chunker.config_fingerprint
        assert before != after == chunker.chunk("a.py", "x = 1\n")[0].config_fingerprint

    def test_notices_that_an_object_declares_another_identity(self):
        counter = Counter("one")
        chunker = Chunker(tokenizer=counter)
        before = chunker.config_fingerprint
        counter.fingerprint = "two"
        assert chunker.config_fingerprint == Chunker(tokenizer=Counter("two")).config_fingerprint != before
        parse = Counter("p1")
        registry = PluginRegistry()
        registry.register_parser("python", parse)
        chunker = Chunker(registry=registry)
        before = chunker.config_fingerprint
        parse.fingerprint = "p2"
        assert chunker.config_fingerprint != before

    def test_of_another_revision_of_the_algorithm(self, monkeypatch):
        before = Chunker().config_fingerprint
        monkeypatch.setattr(model_options, "ALGORITHM_REVISION", model_options.ALGORITHM_REVISION + 1)
        assert Chunker().config_fingerprint != before

    def test_a_tokenizer_file_counts_as_it_was_when_it_was_read(self, tmp_path):
        from tokenizers import Tokenizer, models

        def write(*words):
            model = models.WordLevel({word: i for i, word in enumerate(["[UNK]", *words])}, unk_token="[UNK]")
            Tokenizer(model).save(str(path))

        path = tmp_path / "tokenizer.json"
        write("one")
        chunker = Chunker(tokenizer=str(path))
        first = chunker.config_fingerprint
        write("one", "two")
        assert chunker.config_fingerprint == first != Chunker(tokenizer=str(path)).config_fingerprint
        (chunk,) = chunker.chunk("a.txt", "text", context_mode="none")
        assert chunk.config_fingerprint == Chunker(tokenizer=str(path), context_mode="none").config_fingerprint

    @pytest.mark.parametrize(
        ("unknown", "known"),
        [
            (Chunker(tokenizer=Counter()), Chunker(tokenizer=Counter("words-1"))),
            (
                Chunker(registry=PluginRegistry(plugins=[Plugin("")])),
                Chunker(registry=PluginRegistry(plugins=[Plugin("1")])),
            ),
            (
                Chunker(registry=PluginRegistry(plugins=[Plugin("")])),
                Chunker(registry=PluginRegistry("1", plugins=[Plugin("")])),
            ),
        ],
    )
    def test_is_marked_where_it_cannot_be_relied_on(self, unknown, known):
        assert unknown.config_fingerprint.startswith("unknown:")
        assert not known.config_fingerprint.startswith("unknown:")


def check(diff, old, new):
    """What holds of every difference."""
    by_id = {stable_chunk_id(c): c for c in old}
    index = {name: chunk_embedding_fingerprint(c) for name, c in by_id.items()}
    assert len(set(diff.removed_ids)) == len(diff.removed_ids)
    for gone in diff.removed_ids:
        del index[gone]
    index.update({stable_chunk_id(c): chunk_embedding_fingerprint(c) for c in diff.added})
    assert index == {stable_chunk_id(c): chunk_embedding_fingerprint(c) for c in new}
    assert sorted([*diff.added, *diff.unchanged], key=lambda c: c.index) == list(new)
    assert set(ids(diff.updated)) == set(ids(diff.added)) & set(by_id) <= set(diff.removed_ids)
    assert [c for c in diff.unchanged if by_id[stable_chunk_id(c)].byte_range != c.byte_range] == [
        c for c in diff.moved if by_id[stable_chunk_id(c)].byte_range != c.byte_range
    ]
    assert set(ids(diff.moved)) <= set(ids(diff.unchanged))


class TestDiff:
    @given(odd_text(), odd_text(), st.sampled_from(["a.txt", "a.md", "a.py", "a.json"]), st.booleans())
    def test_applied_deletes_first_it_gives_the_new_state(self, before, after, path, other):
        both = before + after, after + before
        old = Chunker(**SMALL).chunk(path, both[0])
        options = {**SMALL, "context_mode": "full"} if other else SMALL
        new = Chunker(**options).chunk(path, both[1])
        diff = chunk_diff(path, both[1], previous_chunks=old, **options)
        check(diff, old, new)
        assert diff == chunk_diff(iter(old), iter(new))

    def test_of_nothing_new(self):
        chunks = Chunker(**LINES).chunk("a.txt", lines("a", "b", "a"))
        diff = chunk_diff(chunks, chunks)
        assert diff.unchanged == tuple(chunks)
        assert not (diff.added)
        assert not (diff.removed_ids)
        assert not (diff.updated)
        assert not (diff.moved)

    def test_everything_is_new_the_first_time_and_gone_the_last(self):
        chunks = Chunker(**LINES).chunk("a.txt", lines("a", "b"))
        assert chunk_diff("a.txt", lines("a", "b"), **LINES).added == tuple(chunks)
        diff = chunk_diff("a.txt", "", previous_chunks=chunks, **LINES)
        assert diff.removed_ids == tuple(ids(chunks))
        assert not diff.added

    def test_moved_chunks_carry_their_new_place(self):
        old = Chunker(**LINES).chunk("a.txt", lines("a", "b", "c"))
        diff = chunk_diff("a.txt", lines("new", "a", "b", "c"), previous_chunks=old, **LINES)
        assert [c.text.strip() for c in diff.added] == ["new"]
        assert [(c.text.strip(), c.byte_range.start, c.line_range.start, c.index) for c in diff.moved] == [
            ("a", 12, 1, 1), ("b", 24, 2, 2), ("c", 36, 3, 3)
        ]  # fmt: skip
        diff = chunk_diff("a.txt", lines("a", "b", "c", "new"), previous_chunks=old, **LINES)
        assert len(diff.unchanged) == 3
        assert not diff.moved

    def test_repeated_blocks_may_change_their_numbers(self):
        old = Chunker(**LINES).chunk("a.txt", lines("x", "same", "same"))
        diff = chunk_diff("a.txt", lines("same", "x", "same", "same"), previous_chunks=old, **LINES)
        assert [(c.text.strip(), c.occurrence) for c in diff.added] == [("same", 2)]
        assert not diff.removed_ids

    def test_another_payload_or_configuration_is_an_update(self):
        (old,) = Chunker(context_mode="none").chunk("m.py", "def f():\n    return 1\n")
        for change in ({"context_mode": "full"}, {"context_mode": "none", "max_chunk_size": 99}):
            diff = chunk_diff("m.py", "def f():\n    return 1\n", previous_chunks=[old], **change)
            assert ids(diff.updated) == ids(diff.added) == list(diff.removed_ids) == [stable_chunk_id(old)]
            assert not diff.unchanged

    def test_another_page_is_another_place(self):
        def chunks(page):
            segments = (FormatSegment(0, 4, "prose", {"page": page}),)
            return Chunker().chunk_loaded("a.pdf", LoadedDocument("text", segments, "pdf"))

        assert chunk_diff(chunks(1), chunks(1)).moved == ()
        diff = chunk_diff(chunks(1), chunks(2))
        assert diff.moved == diff.unchanged != ()

    def test_contexts_of_text_files_are_not_made(self):
        """They take as long as all the rest of chunking."""
        text = lines("a", "b", "c")
        old, new = (Chunker(**LINES).chunk("a.txt", text) for _ in range(2))
        chunk_diff(old, new)
        assert not any("context" in chunk.__dict__ for chunk in [*old, *new])

    def test_source_id_is_given_again(self):
        old = Chunker(context_mode="none").chunk("old.txt", "text", source_id="doc")
        same = chunk_diff("new.txt", "text", previous_chunks=old, source_id="doc", context_mode="none")
        assert not same.added
        diff = chunk_diff("new.txt", "text", previous_chunks=old, context_mode="none")
        assert len(diff.added) == len(diff.removed_ids) == 1

    def test_takes_a_registry_and_refuses_unknown_options(self):
        registry = PluginRegistry(revision="7")
        old = Chunker(registry=registry).chunk("a.txt", "text")
        assert chunk_diff("a.txt", "text", previous_chunks=old, registry=registry).unchanged
        assert chunk_diff("a.txt", "text", previous_chunks=old).updated
        with pytest.raises(UnknownOptionError, match="max_chunk_size"):
            chunk_diff("a.txt", "text", previous_chunks=old, max_chunk_sise=3)
        with pytest.raises(TypeError, match="content"):
            chunk_diff("a.txt", old)
        for wrong in (lambda: chunk_diff(old, "text"), lambda: chunk_diff(old, old, old)):
            with pytest.raises(TypeError, match="old and new chunks"):
                wrong()

    def test_chunks_of_many_sources(self):
        def both(text):
            return [c for name in ("a.txt", "b.txt") for c in Chunker(**LINES).chunk(name, lines(name, text))]

        diff = chunk_diff(both("one"), both("two"))
        assert len(diff.added) == len(diff.removed_ids) == len(diff.unchanged) == 2

    def test_cost_is_linear(self, monkeypatch):
        """One id and one fingerprint a chunk, whatever they have in common."""
        from omnichunk.model import ids

        (chunk,) = Chunker().chunk("a.txt", "text")
        chunks = [replace(chunk, occurrence=i) for i in range(500)]
        hashed = []
        real = ids._sha256
        monkeypatch.setattr(ids, "_sha256", lambda text: hashed.append(1) or real(text))
        chunk_diff(chunks, chunks)
        assert len(hashed) <= 6 * len(chunks) * 2
