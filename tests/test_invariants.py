"""The invariants over odd text in every format, and the quality rules a chunk must keep."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnichunk import Chunker
from support import check_invariants, odd_text, read_at_once

PATHS = (
    "a.txt", "a.md", "a.py", "a.js", "a.ts", "a.tsx", "a.rs", "a.go", "a.java", "a.c", "a.json", "a.jsonl", "a.yaml", "a.toml",
    "a.ini", "a.html", "a.xml", "a.csv", "a.tsv", "a.rst", "a.tex", "a.org", "a.unknown",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@given(text=odd_text(), limit=st.integers(3, 200), data=st.data())
@settings(max_examples=25)
def test_invariants_hold_for_odd_text(path, text, limit, data):
    check_invariants(
        path,
        text,
        max_chunk_size=limit,
        context_mode=data.draw(st.sampled_from(["none", "minimal", "full"])),
        coverage_policy=data.draw(st.sampled_from(["retrieval", "lossless"])),
        target_fill=data.draw(st.sampled_from([0.3, 0.65, 1.0])),
    )


LATE = {
    "a.js": "x();\n" * 900 + "register('name', () => {\n" + "  function f(x) {\n    return x * x - x;\n  }\n\n" * 9 + "});\n",
    "a.rst": "A\n=\n\n" + "Words.\n\n" * 600 + ".. table:: The table\n\n   ===== ===\n   1     2\n   ===== ===\n\n" * 3,
    "a.html": "<h1>a</h1>\n" + "<p>words</p>\n" * 300 + "<style>\n" + ".c { color: red; top: 1px }\n" * 9 + "</style>",
    "a.go": "package a\n" + "var _ = 1\n" * 400 + "\nconst (\n" + "\tname = 1\n" * 60 + ")\n\nfunc c() {}\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_a_context_does_not_depend_on_when_it_is_read(name, tmp_path):
    """What is opened only because it does not fit is no neighbour of what precedes it."""
    chunker = Chunker(max_chunk_size=80)
    path = tmp_path / name
    path.write_text(LATE[name], encoding="utf-8")
    chunks = chunker.chunk_file(path)
    assert len(chunks) > 3
    assert any(chunk.context.siblings for chunk in chunks)
    streamed = read_at_once(chunker.stream_file(path))
    assert [chunk.context for chunk in streamed] == [chunk.context for chunk in chunks]


def words(text: str) -> int:
    return len(text.split())


def lines(text: str) -> int:
    return text.count("\n") + 1


def pairs(text: str) -> int:
    """Neither additive nor monotone: a longer text may count less."""
    return max(0, len(text) - 2 * text.count("ab") - 3 * text.count("\n\n"))


@pytest.mark.parametrize("measure", [words, lines, pairs])
@given(text=odd_text(), limit=st.integers(2, 30), path=st.sampled_from(["a.txt", "a.md", "a.py", "a.json"]))
def test_budget_holds_for_any_counter(measure, text, limit, path):
    check_invariants(path, text, measure, max_chunk_size=limit, size_unit="tokens", tokenizer=measure)


@given(count=st.integers(1, 12), limit=st.integers(60, 400))
def test_units_that_fit_are_whole(count, limit):
    """I4 for prose: a paragraph that fits with its context lies in one chunk."""
    paragraphs = [f"Paragraph {i} says {'something ' * (i * 3 % 11)}here." for i in range(count)]
    text = "\n\n".join(paragraphs) + "\n"
    chunks = Chunker(max_chunk_size=limit, context_mode="none").chunk("a.txt", text)
    for paragraph in paragraphs:
        if len(paragraph) <= limit:
            assert any(paragraph in chunk.text for chunk in chunks)


@given(limit=st.integers(150, 900), fill=st.sampled_from([0.5, 0.65, 1.0]))
def test_definitions_that_fit_are_whole(limit, fill):
    """I4 for code: a function with its decorators and comments, if it and its context fit."""
    units = []
    for i in range(14):
        body = "".join(f"    x{j} = compute({j})\n" for j in range(1 + i * 5 % 17))
        lead = "# about it\n@decorated\n" if i % 3 == 0 else ""
        units.append(f"{lead}def function_{i}(a, b):\n{body}    return a\n")
    chunks = Chunker(max_chunk_size=limit, target_fill=fill).chunk("pkg/mod.py", "\n\n".join(units))
    for unit in units:
        if len(unit) + 20 <= limit:
            assert any(unit.strip() in chunk.text for chunk in chunks), unit


@given(limit=st.integers(80, 500))
def test_no_heading_is_left_behind(limit):
    """I5: no chunk ends with a heading whose content follows."""
    text = "".join(
        f"{'#' * (1 + i % 3)} Heading {i}\n\n{'Some words follow here. ' * (i % 5 + 1)}\n\n" for i in range(20)
    )
    for chunk in Chunker(max_chunk_size=limit).chunk("a.md", text):
        assert not chunk.text.strip().splitlines()[-1].startswith("#")


@given(index=st.integers(0, 39))
def test_an_edit_stays_local(index):
    """I8: inserting a line changes the chunk it touches and at most its neighbours."""
    functions = [f"def function_{i}():\n" + f"    work({i})\n" * (3 + i * 7 % 20) for i in range(40)]
    before = {c.text for c in Chunker(max_chunk_size=500).chunk("a.py", "\n\n".join(functions))}
    functions[index] += "    # one more line\n"
    after = {c.text for c in Chunker(max_chunk_size=500).chunk("a.py", "\n\n".join(functions))}
    assert len(before - after) <= 3


@pytest.mark.parametrize(("limit", "sentences"), [(100, 6), (256, 20), (20, 3), (50, 12)])
def test_an_only_child_that_costs_more_than_its_surroundings_is_divided(limit, sentences):
    """Estimates from cheap text nearby say that it fits; only counting tells, and an item holds but one paragraph."""
    cheap = "".join(f"- [word {i}](https://example.org/{i}) and more of it\n" for i in range(300))
    dear = "- " + "한국어 문장이 여기에 있습니다. " * sentences + "\n\n"
    text = cheap + dear * 4 + cheap
    made = Chunker(size_unit="tokens", tokenizer="approximate", max_chunk_size=limit).chunk("a.md", text)
    assert all(c.metadata["budget"]["size"] <= limit for c in made)
    assert "".join("".join(c.text for c in made).split()) == "".join(text.split())
