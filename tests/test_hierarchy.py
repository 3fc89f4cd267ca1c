"""Chunks of several sizes: each inside one of the next, the same as chunks of their own, found again in a store."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import Chunker, ChunkStore, OptionError, chunk_from_dict, chunk_to_dict, stable_chunk_id
from support import check_invariants, odd_text

PROSE = "".join(f"# Part {i}\n\n" + "".join(f"Sentence {i}.{j} says little.\n\n" for j in range(12)) for i in range(6))
CODE = "".join(
    f"class C{i}:\n" + "".join(f"    def m{j}(self):\n        return {j}\n\n" for j in range(5)) for i in range(6)
)
LEVELS = [60, 240, 900]


@pytest.fixture(params=[("a.md", PROSE), ("a.py", CODE)], ids=["prose", "code"])
def source(request):
    return request.param


@pytest.fixture
def tree(source):
    return Chunker().hierarchical_chunk(*source, levels=LEVELS)


def test_each_level_is_within_its_budget_and_has_all_of_the_text(tree, source):
    assert tree.level_count == 3
    assert tree.sizes == (60, 240, 900)
    for level, size in enumerate(LEVELS):
        chunks = tree.at_level(level)
        assert "".join(chunk.text for chunk in chunks) == source[1]
        assert all(len(chunk.contextualized_text) <= size for chunk in chunks)
        assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
        assert {chunk.total_chunks for chunk in chunks} == {len(chunks)}
    assert len(tree.leaves()) > len(tree.at_level(1)) > len(tree.roots())
    with pytest.raises(IndexError):
        tree.at_level(3)


def test_children_tile_their_parent(tree):
    for level in (1, 2):
        for chunk in tree.at_level(level):
            children = tree.children(chunk)
            assert "".join(child.text for child in children) == chunk.text
            assert all(tree.parent(child) == chunk for child in children)
    for leaf in tree.leaves():
        above = tree.ancestors(leaf)
        assert [stable_chunk_id(chunk) for chunk in above[::-1]] == leaf.metadata["parents"]
        assert all(leaf.text in chunk.text for chunk in above)
        assert tree.children(leaf) == []
    assert all(tree.parent(root) is None and "parents" not in root.metadata for root in tree.roots())


def test_nodes_tell_ids(tree):
    assert len(tree.nodes) == sum(len(tree.at_level(level)) for level in range(3))
    assert [node.level for node in tree.nodes] == sorted((node.level for node in tree.nodes), reverse=True)
    by_place = {(node.level, node.id): node for node in tree.nodes}
    for node in tree.nodes:
        assert node.id == stable_chunk_id(node.chunk)
        assert all(by_place[node.level - 1, child].parent == node.id for child in node.children)
        assert tree.get(node.id).text == node.chunk.text
    assert tree.get("nothing") is None


def test_a_level_is_what_chunk_gives(tree, source):
    chunker = Chunker()
    for level, size in enumerate(LEVELS):
        larger = tuple(LEVELS[:level:-1])
        assert chunker.chunk(*source, max_chunk_size=size, parent_sizes=larger) == tree.at_level(level)
        first = next(chunker.stream(*source, max_chunk_size=size, parent_sizes=larger))
        assert first.metadata == tree.at_level(level)[0].metadata


def test_two_runs_are_equal_and_an_edit_changes_few_ids(source):
    path, text = source
    chunker = Chunker()
    before = chunker.hierarchical_chunk(path, text, levels=LEVELS)
    assert chunker.hierarchical_chunk(path, text, LEVELS).nodes == before.nodes
    at = text.index("\n\n", len(text) // 2) + 2
    after = chunker.hierarchical_chunk(path, text[:at] + "# Inserted\n\n" + text[at:], levels=LEVELS)
    gone = {node.id for node in before.nodes if node.level == 0} - {node.id for node in after.nodes}
    assert len(gone) <= len(before.at_level(1)[0].text) / 20


def test_small_to_big(tree):
    leaves = tree.leaves()
    assert tree.merged(leaves) == tree.roots()
    assert tree.merged([]) == []
    assert tree.merged(leaves[3:4], share=1.0) == leaves[3:4] or len(tree.children(tree.parent(leaves[3]))) == 1
    middle = next(chunk for chunk in tree.at_level(1) if len(tree.children(chunk)) > 2)
    children = tree.children(middle)
    assert middle in (tree.merged(children, share=1.0)[0], *tree.children(tree.merged(children, share=1.0)[0]))
    assert tree.merged([*children[1:], children[1]], share=1.0) == children[1:]
    found = tree.merged([children[0], leaves[-1]], share=0.9)
    assert found == sorted(found, key=lambda chunk: chunk.byte_range)
    assert tree.merged([middle, *children]) == tree.merged([middle])
    for share in (0, 1.5, True, "0.5"):
        with pytest.raises(OptionError):
            tree.merged(leaves, share=share)


def test_chunks_are_known_again_after_a_journey(tree):
    leaf = tree.leaves()[5]
    for copy in (pickle.loads(pickle.dumps(leaf)), chunk_from_dict(chunk_to_dict(leaf))):
        assert tree.parent(copy) == tree.parent(leaf)
    stranger = Chunker(max_chunk_size=60).chunk("other.md", "text " * 3)[0]
    with pytest.raises(ValueError, match=r"other\.md.*none of this tree"):
        tree.parent(stranger)


@pytest.mark.parametrize("levels", [[64], [], [256, 64], [64, 64], [0, 5], [True, 5], "12", None, [10.0, 20], {1: 2}])
def test_levels_that_cannot_work_are_refused(levels):
    with pytest.raises(OptionError, match="levels"):
        Chunker().hierarchical_chunk("a.md", "x", levels=levels)


@pytest.mark.parametrize(
    "wrong",
    [{"overlap": 5}, {"overlap": 0.1}, {"max_chunk_size": 10}, {"parent_sizes": (100,)}, {"min_chunk_size": 70}],
    ids=str,
)
def test_options_that_contradict_levels_are_refused(wrong):
    with pytest.raises(OptionError):
        Chunker().hierarchical_chunk("a.md", "x", levels=[60, 240], **wrong)


@pytest.mark.parametrize("sizes", [(100,), (50,), (300, 300), (300, 500), 500, (500.0,), (True,)])
def test_parent_sizes_are_checked(sizes):
    with pytest.raises(OptionError, match="parent_sizes"):
        Chunker(max_chunk_size=100, parent_sizes=sizes)


def test_parent_sizes_enter_the_fingerprint():
    plain, one, two = (Chunker(max_chunk_size=60, parent_sizes=sizes) for sizes in ((), (240,), [900, 240]))
    assert len({plain.config_fingerprint, one.config_fingerprint, two.config_fingerprint}) == 3
    assert two.options.parent_sizes == (900, 240)


def test_empty_sources_and_files(tmp_path):
    tree = Chunker().hierarchical_chunk("a.md", "", levels=[32, 128])
    assert tree.leaves() == tree.roots() == list(tree.nodes) == []
    path = tmp_path / "a.md"
    path.write_text(PROSE, encoding="utf-16")
    tree = Chunker().hierarchical_chunk(path, levels=LEVELS, encoding="utf-16")
    assert "".join(chunk.text for chunk in tree.leaves()) == PROSE


def test_topics_part_leaves_and_not_parents():
    pytest.importorskip("numpy")
    from test_semantic import CATS, MONEY, by_topic

    text = CATS + MONEY
    options = {"semantic": True, "semantic_embed_fn": by_topic, "semantic_window": 1}
    tree = Chunker(**options).hierarchical_chunk("a.txt", text, levels=[400, 800])
    assert [chunk.text for chunk in tree.leaves()] == [CATS, MONEY]
    assert [chunk.text for chunk in tree.roots()] == [text]


def test_parents_are_found_in_a_store(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(PROSE)
    with ChunkStore(tmp_path / "db", "large") as large, ChunkStore(tmp_path / "db", "small") as small:
        large.sync(tmp_path / "docs", max_chunk_size=900)
        small.sync(tmp_path / "docs", max_chunk_size=60, parent_sizes=(900,))
        hit = small.search('"Sentence 3.7"')[0].chunk
        parent = large.get(hit.metadata["parents"][-1])
        assert hit.text in parent.text
        tree = Chunker().hierarchical_chunk(tmp_path / "docs" / "a.md", levels=[60, 900])
        assert tree.parent(hit).text == parent.text


@given(
    odd_text(),
    st.sampled_from(["a.txt", "a.md", "a.py", "a.json", "a.html", "a.csv"]),
    st.sampled_from([5, 20]),
    st.sampled_from(["retrieval", "lossless"]),
    st.sampled_from(["none", "full"]),
)
def test_chunks_of_any_text_nest(text, path, size, coverage, mode):
    options = {"coverage_policy": coverage, "context_mode": mode}
    larger = check_invariants(path, text, max_chunk_size=4 * size, **options)
    smaller = check_invariants(path, text, max_chunk_size=size, parent_sizes=(4 * size,), **options)
    around = {stable_chunk_id(chunk): chunk.byte_range for chunk in larger}
    for chunk in smaller:
        start, end = around[chunk.metadata["parents"][0]]
        assert start <= chunk.byte_range.start
        assert chunk.byte_range.end <= end
