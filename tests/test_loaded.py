"""Documents that loaders make: sections over several segments, blocks, and where a position is in the container."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import Block, Chunk, Chunker, FormatSegment, LoadedDocument, LoadError, chunk_from_dict, chunk_to_dict

MARKDOWN, PYTHON = {"language": "markdown"}, {"language": "python"}


def joined(*cells: tuple[str, str]) -> LoadedDocument:
    """A document of cells: language and text each."""
    text, segments = "", []
    for i, (language, cell) in enumerate(cells):
        kind = "code" if language == "python" else "prose"
        segments.append(FormatSegment(len(text), len(text) + len(cell), kind, {"language": language, "cell": i}))
        text += cell
    return LoadedDocument(text, tuple(segments), "cells")


def chunks(loaded: LoadedDocument, **options: object) -> list[Chunk]:
    made = Chunker(min_chunk_size=0, **options).chunk_loaded("doc", loaded)
    assert "".join(c.text for c in Chunker(coverage_policy="lossless").chunk_loaded("doc", loaded)) == loaded.text
    return made


def heading_of(made: list[Chunk], words: str) -> tuple[str, ...]:
    (found,) = (c for c in made if words in c.text)
    return found.context.heading_hierarchy


def test_a_section_goes_on_over_the_segments_that_follow():
    loaded = joined(
        ("markdown", "Before.\n"),
        ("markdown", "# One\n\nIntro.\n\n## Two\n\nPlot.\n"),
        ("python", "draw = 1\n"),
        ("markdown", "Still in two.\n\n### Three\n\nDeep.\n"),
        ("python", "deep = 1\n"),
        ("markdown", "## Four\n\nNext.\n"),
        ("python", "four = 1\n"),
        ("markdown", "# Five\n"),
        ("python", "five = 1\n"),
    )
    made = chunks(loaded, max_chunk_size=60)
    assert heading_of(made, "Before") == ()
    assert heading_of(made, "draw") == ("One", "Two")
    assert heading_of(made, "Still") == ("One", "Two")
    assert heading_of(made, "deep") == ("One", "Two", "Three")
    assert heading_of(made, "Next") == ("One", "Four")
    assert heading_of(made, "four") == ("One", "Four")
    assert heading_of(made, "five") == ("Five",)
    assert next(c for c in made if "five" in c.text).text.startswith("# Five"), "a heading stays with what follows"


def test_content_of_a_chunk_over_prose_and_code_is_hybrid():
    made = chunks(joined(("markdown", "# Plot\n"), ("python", "draw = 1\n")), max_chunk_size=200)
    assert [c.context.content_type for c in made] == ["hybrid"]
    assert made[0].context.format_metadata["cells"] == [0, 1]


WORDS = st.sampled_from(["# A\n", "## B\n", "### C\n", "x\n", "\n", "```\nq\n```\n", "- i\n", "> # D\n"])
CELL = st.tuples(st.sampled_from(["markdown", "python", "text"]), st.lists(WORDS, min_size=1, max_size=5).map("".join))


@given(st.lists(CELL, max_size=8), st.sampled_from([20, 60, 1500]))
def test_cells_are_rebuilt_and_located(cells: list[tuple[str, str]], limit: int):
    loaded = joined(*cells)
    made = Chunker(max_chunk_size=limit, min_chunk_size=0, coverage_policy="lossless").chunk_loaded("doc", loaded)
    assert "".join(c.text for c in made) == loaded.text
    assert all(len(c.contextualized_text) <= limit for c in made)
    at = 0
    for chunk in made:
        for offset in range(len(chunk.text)):
            there = chunk.locate(offset)
            segment = next(s for s in loaded.segments if s.char_start <= at + offset < s.char_end)
            assert there.position == {
                k: v for k, v in [*segment.metadata.items(), *backend(there.position)] if k != "language"
            }
            assert there.offset == at + offset - segment.char_start
            assert there.byte == len(loaded.text[: at + offset].encode())
            assert there.line == loaded.text.count("\n", 0, at + offset)
        at += len(chunk.text)


def backend(position: dict[str, object]) -> list[tuple[str, object]]:
    return [(k, v) for k, v in position.items() if k == "parser_backend"]


def test_a_plain_text_is_located_by_byte_and_line():
    (chunk,) = Chunker().chunk("a.txt", "ä\nb")
    there = chunk.locate(2)
    assert (there.byte, there.line, there.position, there.offset) == (3, 1, {}, 2)
    assert chunk.locate(3).byte == 4
    with pytest.raises(IndexError, match="offset 4 is outside"):
        chunk.locate(4)


def test_positions_survive_serialization():
    (chunk,) = chunks(joined(("markdown", "One.\n"), ("markdown", "Two.\n")))
    again = chunk_from_dict(chunk_to_dict(chunk))
    assert again == chunk
    assert again.locate(6).position["cell"] == 1


TITLE, BODY, TABLE = "Report\n", "Words of the first.\n", "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n"


def report() -> LoadedDocument:
    text = TITLE + BODY + "Part\n" + TABLE + "Loose end.\n"
    at = text.index(TABLE)
    part = text.index("Part")
    rows = [Block(at + i, at + j, "row") for i, j in ((0, 10), (10, 24), (24, 34), (34, 44))]
    blocks = (
        Block(0, len(TITLE), "heading", 1),
        Block(len(TITLE), part, "paragraph"),
        Block(part, part + 5, "heading", 2, "Part II"),
        Block(at, at + len(TABLE), "table", header=(at, at + 24)),
        *rows,
    )
    return LoadedDocument(
        text, (FormatSegment(0, part, "prose", {"page": 1}), FormatSegment(part, len(text), "prose", {"page": 2})),
        "report", blocks=blocks,
    )  # fmt: skip


def test_blocks_are_the_structure():
    made = chunks(report(), max_chunk_size=50)
    assert heading_of(made, "first") == ("Report",)
    assert heading_of(made, "Loose") == ("Report", "Part II")
    tables = [c for c in made if "|" in c.text]
    assert len(tables) > 1
    assert all("| a | b |\n| --- | --- |\n" in c.contextualized_text for c in tables)
    assert made[0].context.format_metadata["page"] == 1
    assert tables[-1].locate().position == {"page": 2}


def test_a_heading_inside_a_table_opens_no_section():
    loaded = LoadedDocument("ab\ncd\n", blocks=(Block(0, 6, "table"), Block(3, 6, "heading", 1)))
    assert chunks(loaded)[0].context.heading_hierarchy == ()


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([Block(0, 9)], r"block 0 is \[0, 9\) in a text of 6"),
        ([Block(3, 4), Block(0, 2)], "before the block that precedes it"),
        ([Block(0, 4), Block(2, 6)], "reaches over the end of the block around it at 4"),
        ([Block(0, 4, "title")], "a block is one of heading"),
        ([Block(0, 4, "heading")], "heading of level 0"),
        ([Block(0, 4, "table", header=(3, 6))], "a header lies inside its block"),
        (["x"], "block 0 is str"),
    ],
)
def test_blocks_are_checked_at_the_border(blocks: list[Block], message: str):
    with pytest.raises(LoadError, match=message):
        Chunker().chunk_loaded("doc", LoadedDocument("ab\ncd\n", blocks=tuple(blocks)))


def test_a_diagnostic_names_the_cell_or_counts_lines_of_the_document():
    text = "Words.\n\ndef f(:\n"
    cells = (FormatSegment(0, 8, "prose", {"cell": 1}), FormatSegment(8, len(text), "code", {"cell": 2, **PYTHON}))
    (chunk, *_) = Chunker().chunk_loaded("a", LoadedDocument(text, cells))
    assert chunk.context.parse_errors == ("cell 2: syntax error near line 1",)
    bare = (FormatSegment(0, 8, "prose"), FormatSegment(8, len(text), "code", PYTHON))
    (chunk, *_) = Chunker().chunk_loaded("a", LoadedDocument(text, bare))
    assert chunk.context.parse_errors == ("syntax error near line 3",)


def test_many_segments_cost_no_more_than_their_number():
    line = "word word\n"
    segments = tuple(FormatSegment(i * 10, i * 10 + 10, "prose", {"row": i}) for i in range(20_000))
    made = Chunker().chunk_loaded("a", LoadedDocument(line * 20_000, segments))
    assert made[-1].locate(len(made[-1].text) - 1).position == {"row": 19_999}


def test_diagnostics_are_not_repeated_without_end():
    loaded = LoadedDocument("Words. " * 900, warnings=tuple(f"page {i} is empty" for i in range(500)))
    made = Chunker(max_chunk_size=100).chunk_loaded("a", loaded)
    assert made[-1].context.parse_errors[-1] == "and 480 more diagnostics"
    assert len(made[-1].context.parse_errors) == len(made[-1].source.metadata["warnings"]) == 21
