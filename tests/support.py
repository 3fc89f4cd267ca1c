"""The invariants, and the odd texts they are tried on."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from omnichunk import Chunker

SPICE = [
    "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\ufeff", "👩‍👩‍👧", "e\u0301", "\u200d", "\t", "   ", ". ", "! ", "İ", "ﬁ",
    "中文字。", "กขค", "\x00", "\x0c", "\u2028", "\u00a0", "# ", "## b\n", "```\n", "```py\n", "- ", "> ",
    "| a | b |\n|---|---|\n",
    "def f():\n    pass\n", "class A:\n", "@x\n", '{"k": [1, 2]}', "<p>", "</p>", "<h2>t</h2>", "key: value\n", "[t]\n",
    "𝔘", "🇹🇷", "(((((", "}}}", "word word word ", "===\n", "---\n", "\\section{x}\n", "a,b\n", "שלום ", "\u202e",
]  # fmt: skip


def odd_text(most: int = 24) -> st.SearchStrategy[str]:
    """Arbitrary text without lone surrogates, spiced with what breaks chunkers."""
    piece = st.one_of(st.text(st.characters(exclude_categories=("Cs",)), max_size=12), st.sampled_from(SPICE))
    return st.lists(piece, max_size=most).map("".join)


def check_invariants(path, text, measure=len, **options):
    """I1-I3 and I7 for one text under one configuration; returns the chunks."""
    chunker = Chunker(**options)
    result = chunker.chunk_with_manifest(path, text) if not path.endswith((".rst", ".tex")) else None
    chunks = list(result.chunks) if result else chunker.chunk(path, text)
    raw = text.encode("utf-8")
    limit = chunker.options.max_chunk_size
    union = bytearray(len(raw))
    for i, chunk in enumerate(chunks):
        a, b = chunk.byte_range.start, chunk.byte_range.end
        assert raw[a:b].decode("utf-8") == chunk.text
        assert (chunk.line_range.start, chunk.line_range.end) == (raw[:a].count(b"\n"), raw[: b - 1].count(b"\n"))
        assert chunk.index == i
        assert chunk.total_chunks == len(chunks)
        budget = chunk.metadata["budget"]
        assert budget["size"] == measure(chunk.contextualized_text)
        assert budget["raw_size"] == measure(chunk.text)
        assert budget["size"] <= limit
        assert chunk.text in chunk.contextualized_text
        assert not union[a:b].strip(b"\0")
        union[a:b] = b"\1" * (b - a)
    if result:
        for gap in result.skipped_ranges:
            assert not union[gap.start : gap.end].strip(b"\0")
            assert raw[gap.start : gap.end].decode("utf-8").isspace()
            union[gap.start : gap.end] = b"\1" * (gap.end - gap.start)
        assert b"\0" not in union
    if options.get("coverage_policy") == "lossless":
        assert "".join(chunk.text for chunk in chunks) == text
    else:
        assert all(chunk.text.strip() for chunk in chunks)
    assert [replace(chunk, total_chunks=-1) for chunk in chunks] == read_at_once(chunker.stream(path, text))
    return chunks


def read_at_once(stream):
    """The chunks of a stream, each with its context read before the next one is made."""
    return [chunk for chunk in stream if chunk.context]
