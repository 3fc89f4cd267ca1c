"""What a payload says beyond its slice: breadcrumbs, key paths, table headers, renderers, and what gives way first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnichunk import (
    BudgetError,
    Chunker,
    ChunkOptions,
    FormatSegment,
    LoadedDocument,
    PluginRegistry,
    chunk_loaded_document,
    hookimpl,
)
from omnichunk.model.declarations import Renderer

CODE = "import os\nimport sys\n\n\nclass Service:\n" + "".join(
    f"    def step_{i}(self):\n        value = os.path.join('a', str({i}))\n        return value\n\n" for i in range(6)
)
GUIDE = "# Guide\n\n" + "Opening words. " * 10 + "\n\n## Tuning\n\n" + "Turn the screw a little and listen. " * 20


def test_code_says_path_scope_and_signature():
    chunk = Chunker(max_chunk_size=200).chunk("deep/pkg/mod.py", CODE)[-1]
    assert chunk.contextualized_text.startswith("pkg/mod.py > class Service")
    assert [e.name for e in chunk.context.scope] == ["Service"]


def test_prose_says_headings_the_text_does_not_show():
    chunks = Chunker(max_chunk_size=200).chunk("a.md", GUIDE)
    assert chunks[0].contextualized_text == chunks[0].text
    assert chunks[-1].contextualized_text.startswith("Guide > Tuning\n\n")
    assert chunks[-1].context.heading_hierarchy == ("Guide", "Tuning")


def test_minimal_says_the_innermost_name():
    chunks = Chunker(max_chunk_size=200, context_mode="minimal").chunk("a.md", GUIDE)
    assert chunks[-1].contextualized_text.startswith("Tuning\n\n")


def test_a_table_repeats_its_header_and_data_its_key_path():
    table = "| id | name |\n|----|------|\n" + "".join(f"| {i} | person {i} |\n" for i in range(30))
    for chunk in Chunker(max_chunk_size=120).chunk("a.md", table):
        assert "| id | name |\n|----|------|\n| " in chunk.contextualized_text
    data = '{"service": {"limits": {' + ", ".join(f'"key{i}": {i}' for i in range(40)) + "}}}"
    assert any("service.limits\n" in c.contextualized_text for c in Chunker(max_chunk_size=90).chunk("a.json", data))


def test_imports_and_siblings_are_shown_on_request_and_give_way_first():
    shown = Chunker(max_chunk_size=300, include_imports=True, sibling_detail="names").chunk("mod.py", CODE)
    assert "imports: os, sys" in shown[1].contextualized_text
    assert "siblings: " in shown[1].contextualized_text
    tight = Chunker(max_chunk_size=130, include_imports=True, sibling_detail="names").chunk("mod.py", CODE)
    assert any("siblings" in c.metadata.get("context_shortened", ()) for c in tight)
    assert all(len(c.contextualized_text) <= 130 for c in tight)


class Shout:
    @hookimpl
    def omnichunk_renderers(self):
        return [
            Renderer("shout", lambda context, text: f"<{context.filepath.upper()}>\n{text}"),
            Renderer("broken", lambda context, text: text.upper()),
        ]


def test_a_renderer_plugin_makes_the_payload_within_the_budget():
    registry = PluginRegistry()
    registry.register(Shout())
    chunks = Chunker(registry=registry, renderer="shout", max_chunk_size=150).chunk("mod.py", CODE)
    assert all(c.contextualized_text == f"<MOD.PY>\n{c.text}" for c in chunks if not c.metadata.get("context_omitted"))
    assert all(len(c.contextualized_text) <= 150 for c in chunks)
    with pytest.raises(Exception, match="renderer changed the text"):
        Chunker(registry=registry, renderer="broken").chunk("mod.py", CODE)
    with pytest.raises(ValueError, match="shout"):
        Chunker(registry=registry, renderer="shot").chunk("mod.py", CODE)


@pytest.mark.parametrize(
    ("name", "text", "limit", "slices"),
    [
        ("name.unknown", "some text\r\nmore text\r\n", 12, ["some text\r\n", "more text\r\n"]),
        ("a.txt", "T\u0301h\u0301i\u0301s\u0301", 8, ["T\u0301h\u0301i\u0301s\u0301"]),
    ],
)
def test_what_is_never_shown_takes_no_room(name, text, limit, slices):
    chunks = Chunker(max_chunk_size=limit).chunk(name, text)
    assert [chunk.contextualized_text for chunk in chunks] == slices


def test_context_that_must_fit_is_an_error_where_it_does_not():
    with pytest.raises(BudgetError, match="context_overflow"):
        Chunker(max_chunk_size=8, context_overflow="error").chunk("very/long/name_of_a_module.py", CODE)


def test_contexts_are_the_same_whenever_they_are_read():
    early = [replace(c, index=0) for c in Chunker(max_chunk_size=200).chunk("mod.py", CODE)]
    late = Chunker(max_chunk_size=200).chunk("mod.py", CODE)
    assert [c.context for c in early] == [c.context for c in late]


def test_a_chunk_over_several_segments_names_them_all():
    text = "First page.\nSecond page.\nThird page.\n"
    pages = tuple(
        FormatSegment(a, b, "prose", {"page": i}) for i, (a, b) in enumerate([(0, 12), (12, 25), (25, 37)], 1)
    )
    (chunk,) = chunk_loaded_document("a.scan", LoadedDocument(text, pages, "scan"), ChunkOptions())
    assert chunk.context.format_metadata["page"] == 1
    assert chunk.context.format_metadata["pages"] == [1, 2, 3]
    code = (
        FormatSegment(0, 12, "prose", {"cell": 1}),
        FormatSegment(12, 37, "code", {"cell": 2, "language": "python"}),
    )
    first, second = chunk_loaded_document("a.book", LoadedDocument(text, code, "book"), ChunkOptions())
    assert "cells" not in first.context.format_metadata
    assert second.context.format_metadata["cell"] == 2
