"""Topics as boundaries: where they are found, what structure has to say, and what stays as it is."""

from __future__ import annotations

import asyncio
import pickle
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import Chunker, EmbeddingError, MissingDependencyError, OptionError
from omnichunk.model.options import ChunkOptions, fingerprint
from support import check_invariants, odd_text

np = pytest.importorskip("numpy")

TOPICS = [("cat", "kitten", "purr"), ("stock", "bond", "market"), ("rain", "cloud", "wind")]
CATS = "The cat sleeps. A kitten plays. They purr at night. "
MONEY = "The stock fell. A bond rose. The market closed. "
RAIN = "Then rain came. A cloud hung low. The wind blew. "


def by_topic(texts):
    """A vector a text: how often it names each topic, and a little of everything."""
    return [[0.01 + sum(text.lower().count(word) for word in topic) for topic in TOPICS] for text in texts]


def by_digest(texts):
    """Vectors without any meaning, always the same for a text."""
    return [[byte - 127.5 for byte in blake2b(text.encode(), digest_size=8).digest()] for text in texts]


by_topic.fingerprint = "topics 1"


def chunks_of(text, path="a.txt", embed=by_topic, **options):
    options = {"context_mode": "none", "semantic_window": 1, **options}
    return Chunker(semantic=True, semantic_embed_fn=embed, **options).chunk(path, text)


def texts_of(*args, **options):
    return [chunk.text for chunk in chunks_of(*args, **options)]


@pytest.mark.parametrize("window", [1, 2, 3, 50])
def test_chunks_end_where_the_topic_changes(window):
    assert texts_of(CATS + MONEY + RAIN, semantic_window=window) == [CATS, MONEY, RAIN]


def test_one_topic_is_one_chunk():
    assert texts_of(CATS * 4) == [CATS * 4]
    assert texts_of("Something. Something else. Nothing at all. Whatever. ") == [
        "Something. Something else. Nothing at all. Whatever. "
    ]


def test_the_same_topic_in_neighbouring_paragraphs_shares_a_chunk():
    text = f"{CATS}\n\n{CATS}\n\n{MONEY}\n\n{MONEY}\n"
    assert texts_of(text) == [f"{CATS}\n\n{CATS}\n\n", f"{MONEY}\n\n{MONEY}\n"]


def test_a_change_near_a_paragraph_is_at_the_paragraph():
    """The sentence before the blank line speaks of both topics; structure decides."""
    text = f"{CATS}A cat and a stock.\n\n{MONEY}"
    assert texts_of(text) == [f"{CATS}A cat and a stock.\n\n", MONEY]


def test_a_single_sentence_is_not_cut_off_its_paragraph():
    text = f"{CATS}The stock fell.\n\n{MONEY}"
    assert texts_of(text) == [f"{CATS}The stock fell.\n\n", MONEY]


def test_a_topic_larger_than_the_budget_is_packed_as_always():
    text = CATS * 12 + MONEY * 12
    pieces = texts_of(text, max_chunk_size=120)
    assert "".join(pieces) == text
    assert not any("cat" in piece and "stock" in piece for piece in pieces)
    assert all(len(piece) <= 120 for piece in pieces)
    assert min(map(len, pieces)) > 40


def test_an_explicit_threshold_is_a_similarity():
    text = CATS + MONEY
    assert texts_of(text, semantic_threshold=0.5) == [CATS, MONEY]
    assert texts_of(text, semantic_threshold=-1) == [text]
    assert len(texts_of(text, semantic_threshold=1, semantic_min_sentences=3)) == 2


def test_changes_keep_their_distance():
    text = "A cat. A stock. " * 6
    assert texts_of(text, semantic_threshold=0.9, semantic_min_sentences=1) == ["A cat. ", "A stock. "] * 6
    pieces = texts_of(text, semantic_threshold=0.9, semantic_min_sentences=4)
    assert all(piece.count(".") >= 4 for piece in pieces)


def test_a_heading_outweighs_a_topic():
    """What is left of a section that was parted at a topic shares no chunk with the next section."""
    text = f"# One\n\n{CATS}{MONEY}\n\n# Two\n\n{MONEY}\n\n# Three\n\n{MONEY}\n"
    pieces = texts_of(text, "a.md")
    assert pieces == [f"# One\n\n{CATS}", f"{MONEY}\n\n", f"# Two\n\n{MONEY}\n\n# Three\n\n{MONEY}\n"]


def test_a_heading_stays_with_what_follows_it():
    text = f"{CATS}\n\n# Money\n\n{MONEY}\n\n## Weather\n\n{RAIN}\n"
    assert texts_of(text, "a.md") == [f"{CATS}\n\n", f"# Money\n\n{MONEY}\n\n", f"## Weather\n\n{RAIN}\n"]


def test_tables_and_fences_are_not_embedded_and_not_divided():
    asked = []

    def embed(texts):
        asked.extend(texts)
        return by_topic(texts)

    table = "| cat | stock |\n|---|---|\n| rain | wind |\n"
    fence = "```python\ncat = 1\n\nstock = 2\n```\n"
    text = f"{CATS}\n\n{table}\n{fence}\n{MONEY}\n"
    pieces = texts_of(text, "a.md", embed)
    assert any(table in piece for piece in pieces)
    assert any(fence in piece for piece in pieces)
    assert not any("|" in text or "```" in text for text in asked)
    assert pieces[-1].startswith("The stock fell")


@pytest.mark.parametrize(
    ("path", "text"), [("a.py", "def cat():\n    pass\n\n\ndef stock():\n    pass\n"), ("a.json", '{"cat": ["stock"]}')]
)
def test_code_and_data_are_chunked_as_without(path, text):
    def embed(texts):
        raise AssertionError(texts)

    assert texts_of(text, path, embed) == [c.text for c in Chunker(context_mode="none").chunk(path, text)]


def test_html_and_lists_are_prose():
    text = f"<html><body><p>{CATS}</p>\n<p>{CATS}</p>\n<p>{MONEY}</p>\n<p>{MONEY}</p>\n</body></html>\n"
    assert any(piece.startswith(f"<p>{MONEY}") for piece in texts_of(text, "a.html"))
    items = "".join(f"- {s.strip()}.\n" for part in (CATS, MONEY) for s in part.split(".") if s.strip())
    assert texts_of(items, "a.md")[1].startswith("- The stock")


def test_a_splitter_of_the_caller_is_used():
    text = "cat kitten|purr cat|stock bond|market stock"
    options = {"semantic_sentence_splitter": lambda text: text.split("|"), "semantic_threshold": 0.5}
    assert texts_of(text, semantic_min_sentences=1, **options) == ["cat kitten|purr cat|", "stock bond|market stock"]
    with pytest.raises(EmbeddingError, match=r"a\.txt.*'nowhere'.*verbatim"):
        chunks_of(text, semantic_sentence_splitter=lambda text: ["cat", "nowhere"])


def test_nothing_is_embedded_where_there_is_nothing_to_compare():
    def embed(texts):
        raise AssertionError(texts)

    for text in ("", " \n", "One sentence.", "One. Two. Three."):
        assert texts_of(text, embed=embed, semantic_min_sentences=2) == ([text] if text.strip() else [])


def test_an_async_function_is_awaited():
    async def embed(texts):
        await asyncio.sleep(0)
        return by_topic(texts)

    assert texts_of(CATS + MONEY, embed=embed) == [CATS, MONEY]

    async def main():
        loops = []

        async def here(texts):
            loops.append(asyncio.get_running_loop())
            return by_topic(texts)

        chunker = Chunker(semantic=True, semantic_embed_fn=here, semantic_window=1)
        assert [c.text for c in await chunker.achunk("a.txt", CATS + MONEY)] == [CATS, MONEY]
        assert [c.text async for c in chunker.astream("a.txt", MONEY + RAIN)] == [MONEY, RAIN]
        assert loops == [asyncio.get_running_loop()] * 2
        assert len(chunker.chunk("a.txt", "No cats. " + CATS + RAIN)) == 2  # and does not wait for itself
        assert loops[2:]
        assert loops[2] is not loops[0]
        items = [{"filepath": "a.txt", "code": f"{i} dogs bark. {MONEY}{RAIN}"} for i in range(4)]
        assert all(result.outcome == "ok" for result in await chunker.abatch(items, concurrency=2))
        assert set(loops[3:]) == {loops[0]}

    asyncio.run(main())


def test_exceptions_of_the_function_propagate():
    class Broken(Exception):
        pass

    def embed(texts):
        raise Broken(len(texts))

    with pytest.raises(Broken):
        chunks_of(CATS + MONEY, embed=embed)


def test_semantic_chunk_takes_the_function():
    chunker = Chunker(context_mode="none", semantic_window=1)
    pieces = [CATS, MONEY]
    assert [c.text for c in chunker.semantic_chunk("a.txt", CATS + MONEY, by_topic)] == pieces
    with pytest.raises(OptionError, match=r"semantic_chunk\(\): semantic=True needs semantic_embed_fn"):
        chunker.semantic_chunk("a.txt", CATS)
    kept = Chunker(semantic_embed_fn=by_topic, semantic_window=1, context_mode="none")
    assert [c.text for c in kept.semantic_chunk("a.txt", CATS + MONEY)] == pieces
    assert len(kept.chunk("a.txt", CATS + MONEY)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"semantic": 1},
        {"semantic": True},
        {"semantic_embed_fn": "model"},
        {"semantic_window": 0},
        {"semantic_window": True},
        {"semantic_threshold": 1.5},
        {"semantic_threshold": float("nan")},
        {"semantic_threshold": "0.5"},
        {"semantic_min_sentences": 0},
        {"semantic_sentence_splitter": "."},
        {"semantic_embed_cache_size": -1},
        {"semantic_cache_namespace": ""},
        {"semantic_model_revision": 3},
        {"semantic_preprocessing": lambda text: text},
        {"semantic_cache_path": 3},
        {"semantic_cache_path": "a\0b"},
        {"semantic": True, "semantic_embed_fn": len, "semantic_cache_path": "x"},
    ],
    ids=str,
)
def test_wrong_options_are_refused_at_once(wrong):
    with pytest.raises(OptionError):
        Chunker(**wrong)


def test_identities_enter_the_fingerprint():
    base = {"semantic": True, "semantic_embed_fn": by_topic}
    changes = [
        {},
        {"semantic_window": 2},
        {"semantic_threshold": 0.5},
        {"semantic_min_sentences": 3},
        {"semantic_cache_namespace": "n"},
        {"semantic_model_revision": "r"},
        {"semantic_preprocessing": "p"},
    ]
    told = {fingerprint(ChunkOptions(**base, **change)) for change in changes}
    assert len(told) == len(changes)
    assert not any(one.startswith("unknown:") for one in told)
    same = fingerprint(ChunkOptions(**base))
    assert fingerprint(ChunkOptions(**base, semantic_embed_cache_size=3, semantic_cache_path="c")) == same


def test_a_function_without_identity_makes_the_fingerprint_unknown():
    def embed(texts):
        return by_topic(texts)

    base = {"semantic": True, "semantic_embed_fn": embed}
    both = {"semantic_cache_namespace": "n", "semantic_model_revision": "r"}
    assert fingerprint(ChunkOptions(**base)).startswith("unknown:")
    assert fingerprint(ChunkOptions(**base, semantic_cache_namespace="n")).startswith("unknown:")
    assert not fingerprint(ChunkOptions(**base, **both)).startswith("unknown:")
    assert fingerprint(ChunkOptions(**base, **both, semantic_sentence_splitter=str.split)).startswith("unknown:")
    chunker = Chunker(**base)
    assert chunker.config_fingerprint.startswith("unknown:")
    embed.fingerprint = "later"
    assert not chunker.config_fingerprint.startswith("unknown:")


def test_options_that_are_not_in_use_do_not_enter_the_fingerprint():
    assert fingerprint(ChunkOptions(semantic_embed_fn=len, semantic_window=9)) == fingerprint(ChunkOptions())


def test_numpy_is_asked_for_by_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    with pytest.raises(MissingDependencyError, match=r"omnichunk\[semantic\]"):
        chunks_of(CATS + MONEY)


def test_a_chunker_with_a_function_of_a_module_can_be_pickled():
    chunker = Chunker(semantic=True, semantic_embed_fn=by_topic, semantic_window=1, context_mode="none")
    again = pickle.loads(pickle.dumps(chunker))
    assert [c.text for c in again.chunk("a.txt", CATS + MONEY)] == [CATS, MONEY]


def test_workers_embed(tmp_path):
    (tmp_path / "a.txt").write_text(CATS + MONEY)
    (tmp_path / "b.txt").write_text(MONEY + RAIN)
    chunker = Chunker(semantic=True, semantic_embed_fn=by_topic, semantic_window=1)
    results = chunker.chunk_directory(tmp_path, concurrency=2)
    assert [[c.text for c in result.chunks] for result in results] == [[CATS, MONEY], [MONEY, RAIN]]


def test_a_broken_answer_costs_its_file_and_no_other(tmp_path):
    (tmp_path / "a.txt").write_text(CATS + MONEY)
    (tmp_path / "b.txt").write_text("Short.")
    chunker = Chunker(semantic=True, semantic_embed_fn=lambda texts: [[float("nan")]] * len(texts))
    results = chunker.chunk_directory(tmp_path)
    assert [result.outcome for result in results] == ["failed", "ok"]
    assert results[0].error.startswith(f"{tmp_path / 'a.txt'}: semantic_embed_fn: ")
    assert "not finite" in results[0].error


@given(
    odd_text(),
    st.sampled_from(["a.txt", "a.md", "a.html", "a.py", "a.json", "a.rst.txt", "a.org"]),
    st.sampled_from([5, 40, 400]),
    st.sampled_from([None, 0.3]),
    st.sampled_from(["retrieval", "lossless"]),
    st.sampled_from(["none", "full"]),
)
def test_invariants_hold(text, path, size, threshold, coverage, mode):
    check_invariants(
        path, text, max_chunk_size=size, coverage_policy=coverage, context_mode=mode, semantic=True,
        semantic_embed_fn=by_digest, semantic_window=1, semantic_min_sentences=1, semantic_threshold=threshold,
    )  # fmt: skip


@given(odd_text())
def test_a_function_that_says_nothing_changes_nothing(text):
    """With vectors that are all alike the chunks are those of a chunker without."""
    alike = chunks_of(text, "a.md", lambda texts: [[1.0, 2.0]] * len(texts), max_chunk_size=60)
    plain = Chunker(context_mode="none", max_chunk_size=60).chunk("a.md", text)
    assert [c.text for c in alike] == [c.text for c in plain]
