"""Evaluation: what the metrics are, what is refused, and that better configurations come out better."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import (
    Configuration,
    Corpus,
    Embedder,
    LoadError,
    MissingDependencyError,
    OptionError,
    PluginError,
    PluginRegistry,
    Retriever,
    embedding_retriever,
    evaluate,
    hookimpl,
    read_questions,
    tune,
)
from omnichunk.evaluation.bootstrap import intervals
from omnichunk.evaluation.metrics import Overlap, Span, overlap, shared, token_starts, tokens, union
from omnichunk.evaluation.retrievers import bm25, words
from omnichunk.evaluation.tune import candidates, halves
from support import odd_text

ANIMALS = [
    "ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibex", "jay", "koi", "lynx", "mole", "newt", "owl", "pig",
    "quail", "rat", "seal", "toad",
]  # fmt: skip


def made_corpus(documents=4, sections=5, registry=None):
    """Documents of sections that tell of one animal each, and a question for each section whose gold is its body."""
    texts, spans = {}, []
    for d in range(documents):
        text = f"# Book {d}\n\n"
        for s in range(sections):
            animal = ANIMALS[(d * sections + s) % len(ANIMALS)]
            text += f"## About the {animal}\n\n"
            start = len(text)
            text += "".join(f"Sentence {i} says größe and {'it'} again, number {d}{s}{i}. " for i in range(6)) + "\n\n"
            spans.append((f"book{d}.md", animal, start, len(text) - 2))
        texts[f"book{d}.md"] = text
    corpus = Corpus.of(texts, registry)
    return corpus, [corpus.question(f"what about the {a}", [(p, s, e)], id=a) for p, a, s, e in spans]


# Metrics


def test_tokens_of_any_script():
    assert list(token_starts("a_b 12, x")) == [0, 4, 6, 8]
    assert list(token_starts("é中文 b")) == [0, 2, 5, 9]
    assert list(token_starts(" \n")) == []


@given(odd_text())
def test_token_starts_are_bytes_of_the_text(text):
    raw = text.encode()
    starts = list(token_starts(text))
    assert starts == sorted(set(starts))
    for start in starts:
        assert not raw[start:].decode()[0].isspace()
    assert bool(starts) == bool(text.strip())


SPANS = st.lists(st.builds(lambda d, a, n: Span(d, a, a + n), st.integers(0, 1), st.integers(0, 30), st.integers(1, 9)))


@given(SPANS, SPANS)
def test_unions_and_what_they_share(some, others):
    def bytes_of(spans):
        return {(s.document, i) for s in spans for i in range(s.start, s.end)}

    one, other = union(some), union(others)
    assert bytes_of(one) == bytes_of(some)
    assert bytes_of(shared(one, other)) == bytes_of(some) & bytes_of(others)
    assert all((a.document, a.end) < (b.document, b.start) for a, b in pairwise(one))
    starts = [list(range(0, 40, 3)), list(range(40))]
    assert tokens(one, starts) == len([1 for d, i in bytes_of(some) if i in starts[d]])


def test_overlapping_spans_count_once():
    starts = [list(range(0, 100, 10))]
    measured = overlap([Span(0, 0, 30), Span(0, 20, 40)], [Span(0, 30, 60), Span(0, 30, 50), Span(0, 50, 60)], starts)
    assert measured == Overlap(gold=4, retrieved=3, both=1)
    assert (measured.recall, measured.precision, measured.iou) == (1 / 4, 1 / 3, 1 / 6)
    nothing = overlap([Span(0, 0, 30)], [], starts)
    assert (nothing.recall, nothing.precision, nothing.iou) == (0, 0, 0)


# Intervals


def test_intervals_of_means_and_differences():
    column = [float(i % 2) for i in range(100)]
    better = [value + 0.1 for value in column]
    found = intervals({"x": column, "y": better}, None, 500, 1)
    assert found["x"].mean == 0.5
    assert 0.35 < found["x"].low < 0.5 < found["x"].high < 0.65
    assert found == intervals({"x": column, "y": better}, None, 500, 1)
    assert found != intervals({"x": column, "y": better}, None, 500, 2)
    gain = intervals({"x": better}, {"x": column}, 500, 1)["x"]
    assert (round(gain.low, 9), round(gain.high, 9)) == (0.1, 0.1)  # paired: what varies in both is no doubt
    assert intervals({"x": [0.25]}, None, 500, 1)["x"] == (0.25, 0.25, 0.25)
    assert intervals({"x": [0.0, 1.0]}, None, 0, 1)["x"] == (0.5, 0.5, 0.5)


# Questions


def test_offsets_are_code_points_or_bytes():
    corpus = Corpus.of({"a.txt": "größe 中文 end\n"})
    assert corpus.span("a.txt", 0, 5) == Span(0, 0, 7)
    assert corpus.span("a.txt", 0, 7, "bytes") == Span(0, 0, 7)
    with pytest.raises(OptionError, match="cuts a character"):
        corpus.span("a.txt", 0, 3, "bytes")
    for start, end in [(0, 0), (3, 2), (-1, 2), (0, 99), (0, True), (0, 1.5)]:
        with pytest.raises(OptionError, match="is no range of a text of 13 chars"):
            corpus.span("a.txt", start, end)
    with pytest.raises(OptionError, match='choose "chars"'):
        corpus.span("a.txt", 0, 3, "lines")
    with pytest.raises(OptionError, match="the question is empty"):
        corpus.question(" ", [("a.txt", 0, 5)])
    for gold in ([], [("a.txt", 5, 6)]):
        with pytest.raises(OptionError, match="there is no gold"):
            corpus.question("why", gold)
    assert corpus.question("why", [("a.txt", 0, 4), ("a.txt", 2, 5)]).gold == (Span(0, 0, 7),)


def test_questions_are_read_from_lines(tmp_path):
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "a.md").write_text("# Trip\n\nWe left.\n", encoding="utf-8")
    (tmp_path / "docs" / "deep" / "b.md").write_text("größe\n", encoding="utf-8")
    (tmp_path / "docs" / "x.dat").write_bytes(bytes(range(256)))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.md").write_text("Other.\n", encoding="utf-8")
    corpus = Corpus.read([tmp_path / "docs"])
    assert [path for path, _ in corpus.left_out] == [str(tmp_path / "docs" / "x.dat")]
    file = tmp_path / "q.jsonl"
    file.write_text(
        '\ufeff{"question": "When?", "path": "a.md", "start": 8, "end": 16}\n\n'
        + json.dumps({"question": "How?", "gold": [{"path": "deep/b.md", "start": 0, "end": 5}], "id": 7, "by": "me"})
    )
    first, second = read_questions(file, corpus)
    assert (first.id, first.text, first.gold) == ("1", "When?", (Span(0, 8, 16),))
    assert (second.id, second.gold) == ("7", (Span(1, 0, 7),))
    both = Corpus.read([tmp_path / "docs", tmp_path / "more"])
    assert both.number("deep/b.md") == 1
    with pytest.raises(OptionError, match=r"may be .* and .*give the path in full"):
        both.number("a.md")
    with pytest.raises(OptionError, match="was left out: "):
        corpus.number(str(tmp_path / "docs" / "x.dat"))


@pytest.mark.parametrize(("line", "said"), [
    ("{", "q.jsonl:1: no JSON"),
    ("[" * 100_000, "q.jsonl:1: no JSON"),
    ("9" * 5000, "q.jsonl:1: "),
    ("[]", "q.jsonl:1: an object"),
    ('{"question": "x", "path": 1}', '"path" is 1; a path'),
    ('{"question": "x", "path": "b.md", "start": "0", "end": 2}', '"start" is "0"; a whole number'),
    ('{"question": "x", "path": "b.md", "start": 0, "end": 2}', 'no such document; did you mean "a.md"'),
    ('{"question": "x", "gold": {}}', '"gold" is no list'),
    ('{"path": "a.md", "start": 0, "end": 2}', "the question is empty"),
    ('{"question": 3, "path": "a.md", "start": 0, "end": 2}', "the question is empty"),
    ("", "holds no question"),
])  # fmt: skip
def test_lines_that_are_no_question(tmp_path, line, said):
    file = tmp_path / "q.jsonl"
    file.write_text(line, encoding="utf-8")
    with pytest.raises(OptionError, match=re.escape(said)):
        read_questions(file, Corpus.of({"a.md": "Words.\n"}))


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "q.jsonl").write_bytes(b"\xff")
    corpus = Corpus.of({"a.md": "Words.\n"})
    with pytest.raises(LoadError, match="is not UTF-8"):
        read_questions(tmp_path / "q.jsonl", corpus)
    with pytest.raises(LoadError, match="cannot be read"):
        Corpus.read([tmp_path / "none.md"])
    with pytest.raises(OptionError, match="no document in"):
        Corpus.read([tmp_path], glob="*.md")
    (tmp_path / "a.md").write_text("Words.\n")
    with pytest.raises(OptionError, match=r"no document in .*a\.md was left out: .*nonsense"):
        Corpus.read([tmp_path], glob="*.md", encoding="nonsense")


def test_a_path_alone_or_twice_is_one_path(tmp_path):
    (tmp_path / "a.md").write_text("Words.\n")
    for paths in (tmp_path, str(tmp_path), [tmp_path, f"{tmp_path}/", tmp_path / "a.md"]):
        corpus = Corpus.read(paths)
        assert len(corpus.documents) == 1
        assert corpus.number("a.md") == 0


# Evaluation


def test_what_answers_comes_out():
    corpus, questions = made_corpus()
    report = evaluate(
        corpus,
        questions,
        [Configuration("sections", {"max_chunk_size": 500}), Configuration("tiny", {"windows": 60})],
        budget=500,
    )
    sections, tiny = report.results
    assert sections.summary["recall"].mean == sections.summary["recall@1"].mean == 1.0
    assert tiny.summary["recall"].mean < 0.5
    assert tiny.difference["recall"].high < 0
    assert not sections.difference
    assert sections.chunks >= len(questions)
    assert sections.mean_read <= 500
    assert all(0 <= value <= 1 for result in report.results for values in result.values.values() for value in values)
    for low, high in pairwise(["recall@1", "recall@3", "recall@5", "recall@10"]):
        assert all(a <= b for a, b in zip(tiny.values[low], tiny.values[high]))
    assert report == evaluate(corpus, questions, [result.configuration for result in report.results], budget=500)


def test_metrics_agree_with_a_plain_count():
    """The values of every question, counted anew token by token."""
    corpus, questions = made_corpus(2, 3)

    def first_first(payloads):
        return lambda question, limit: [(i, 1.0 - i / 1000) for i in range(min(limit, len(payloads)))]

    windows = Configuration("w", {"windows": 90, "overlap": 30})
    found = evaluate(corpus, questions, [windows], retriever=first_first, budget=210, k=[2])
    text = corpus.documents[0].text
    end = len(text[:210].encode())  # windows at 0, 60 and 120, which overlap, are one passage that fills the budget
    read = {i for i in token_starts(text) if i < end}
    for number, question in enumerate(questions):
        gold = {i for s in question.gold if s.document == 0 for i in token_starts(text) if s.start <= i < s.end}
        of = len(gold) or 1
        assert found.results[0].values["recall"][number] == len(gold & read) / of
        assert found.results[0].values["precision"][number] == len(gold & read) / len(read)


def test_nothing_found_is_zero():
    corpus, questions = made_corpus(1, 2)
    asked = [replace(question, text="zzz") for question in questions]
    report = evaluate(corpus, asked)
    assert {interval.mean for interval in report.results[0].summary.values()} == {0.0}
    empty = evaluate(corpus, questions, [Configuration("none", split=lambda path, text: [])])
    assert (empty.results[0].chunks, empty.results[0].summary["iou"].mean) == (0, 0.0)


def test_other_splitters_take_part():
    corpus, questions = made_corpus(2, 2)

    def split(path, text):
        cuts = [0, *(match.start() for match in re.finditer("^## ", text, re.MULTILINE)), len(text)]
        return pairwise(cuts)

    report = evaluate(corpus, questions, [Configuration("mine", split=split)])
    assert report.results[0].summary["recall"].mean == 1.0
    assert report.results[0].chunks == 6
    with pytest.raises(OptionError, match=r"configuration mine: \[0, 9999\) is no range of book0.md"):
        evaluate(corpus, questions, [Configuration("mine", split=lambda path, text: [(0, 9999)])])


@pytest.mark.parametrize(("configuration", "said"), [
    (Configuration("x", {"max_chunk_sise": 3}), r'configuration x: unknown option "max_chunk_sise"; did you mean'),
    (Configuration("x", {"max_chunk_size": 0}), "configuration x: max_chunk_size=0"),
    (Configuration("x", {"language": "python"}), "configuration x: language concerns loading"),
    (Configuration("x", {"pdf_password": "s"}), "configuration x: pdf_password concerns loading"),
    (Configuration("x", {"windows": 0}), "configuration x: windows=0"),
    (Configuration("x", {"windows": 9, "overlap": 9}), "configuration x: windows=9, overlap=9"),
    (Configuration("x", {"windows": 9, "context_mode": "none"}), 'windows have no option "context_mode"'),
    (Configuration("x", {"overlap": 9}, split=lambda path, text: []), "exclude each other"),
    (Configuration("x", {"self": 1}), 'configuration x: unknown option "self"'),
    (Configuration("x", {"registry": 1}), 'configuration x: unknown option "registry"'),
    (Configuration("x", {"windows": 9, "name": 1}), 'windows have no option "name"'),
    (Configuration("x", split=lambda path, text: [(0.5, 2)]), r"its split gave \(0.5, 2\)"),
    (Configuration("x", split=lambda path, text: [3]), "its split gave 3"),
    ("x", "'x' is no Configuration"),
])  # fmt: skip
def test_configurations_that_cannot_work(configuration, said):
    corpus, questions = made_corpus(1, 1)
    with pytest.raises(OptionError, match=said):
        evaluate(corpus, questions, [configuration])


def test_values_that_cannot_work():
    corpus, questions = made_corpus(1, 2)
    for more, said in [
        ({"configurations": []}, "no configuration"),
        ({"configurations": [Configuration("a"), Configuration("a")]}, "two configurations are called a"),
        ({"k": []}, "k="),
        ({"k": [0]}, "k="),
        ({"k": 3}, "k="),
        ({"seed": [1]}, "seed="),
        ({"budget": -1}, "budget=-1"),
        ({"resamples": -1}, "resamples=-1"),
        ({"size_unit": "tokens"}, "needs a tokenizer"),
        ({"retriever": "bm52"}, 'none called "bm52"; did you mean "bm25"'),
        ({"retriever": bm25, "retriever_options": {"a": 1}}, "by name"),
    ]:
        with pytest.raises(OptionError, match=said):
            evaluate(corpus, questions, **more)
    for name, options in (("", {}), (3, {}), ("a", None), ("a", {3: 3})):
        with pytest.raises(OptionError, match=r"Configuration: name=|configuration a: options="):
            Configuration(name, options)
    assert evaluate(corpus, questions, k=[10**30]).results[0].values[f"recall@{10**30}"]
    with pytest.raises(OptionError, match="no question"):
        evaluate(corpus, [])
    with pytest.raises(OptionError, match="is no Question"):
        evaluate(corpus, ["ant?"])
    for gold in ((), (Span(7, 0, 9),)):
        with pytest.raises(OptionError, match="question 'ant': its gold is nothing of this corpus"):
            evaluate(corpus, [replace(questions[0], gold=gold)])
    with pytest.raises(OptionError, match="there twice"):
        Corpus([("a", corpus.documents[0].loaded)] * 2)


# Retrievers


def test_bm25_finds_words_of_any_script():
    search = bm25(["The quick fox", "東京の天気", "a slow mole", ""])
    assert [i for i, _ in search("FOX?", 3)] == [0]
    assert [i for i, _ in search("天気", 3)] == [1]
    assert search("nothing here", 3) == search("", 3) == []
    assert bm25(["", " "])("x", 3) == []
    assert len(search("the slow fox", 1)) == 1
    assert words("A big Straße x1 中!") == ["big", "straße", "x1", "中"]


def test_bm25_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    corpus, questions = made_corpus(1, 1)
    with pytest.raises(MissingDependencyError, match=r'pip install "omnichunk\[eval\]"'):
        evaluate(corpus, questions)


def test_the_embedding_retriever_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "omnichunk\[eval\]"'):
        embedding_retriever(letters)(["a payload"])


def letters(texts):
    return [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


def test_embeddings_retrieve():
    async def later(texts):
        return letters(texts)

    search = embedding_retriever(later)(["zzz", "abc", "abd", "-"])
    assert [i for i, _ in search("abc", 2)] == [1, 2]
    assert next(iter(search("cba", 9)))[0] == 1
    corpus, questions = made_corpus(1, 3)
    report = evaluate(corpus, questions, retriever=embedding_retriever(letters))
    assert report.retriever == "embeddings"
    with pytest.raises(ValueError, match=r"embedding_retriever\(\): "):
        embedding_retriever(lambda texts: [[1.0]])(["a", "b"])


class Plugin:
    @hookimpl
    def omnichunk_retrievers(self):
        def make(word="x", broken=False):
            if broken:
                raise KeyError("no model")

            def index(payloads):
                return lambda question, limit: ((i, 1.0) for i, text in enumerate(payloads) if word in text)

            return index

        return [Retriever("grep", make)]


def test_a_plugin_brings_a_retriever():
    registry = PluginRegistry()
    registry.register(Plugin(), "grepper")
    corpus, questions = made_corpus(1, 3, registry)
    report = evaluate(corpus, questions, retriever="grep", retriever_options={"word": "ant"}, budget=10_000)
    assert report.retriever == "grep"
    assert report.results[0].values["recall"][0] == 1.0
    for options in ({"broken": True}, {"wrong": 1}):
        with pytest.raises(PluginError, match=r"plugin grepper: the retriever grep raised (KeyError|TypeError)"):
            evaluate(corpus, questions, retriever="grep", retriever_options=options)


class Embedding:
    @hookimpl
    def omnichunk_embedders(self):
        return [Embedder("letters", lambda model: letters)]


def test_an_embedder_is_a_retriever_by_its_name():
    registry = PluginRegistry()
    registry.register(Embedding(), "letters")
    corpus, questions = made_corpus(1, 3, registry)
    report = evaluate(corpus, questions, retriever="letters", retriever_options={"model": "none"})
    assert report.retriever == "letters"
    assert (
        report.results[0].values
        == evaluate(corpus, questions, retriever=embedding_retriever(letters)).results[0].values
    )
    with pytest.raises(OptionError, match="letters needs a model"):
        evaluate(corpus, questions, retriever="letters")
    with pytest.raises(OptionError, match='did you mean "letters"'):
        evaluate(corpus, questions, retriever="lettres")
    for name in ("name", "registry"):
        with pytest.raises(OptionError, match=f"letters.*{name}"):
            evaluate(corpus, questions, retriever="letters", retriever_options={"model": "none", name: 1})


@pytest.mark.parametrize(
    "found",
    [[(99, 1.0)], [(0, 1.0), (0, 0.5)], [(0, float("nan"))], [0], [("a", 1.0)], [(-1, 1.0)], [(0.0, 1.0)], [(0,)]],
)
def test_what_no_retriever_can_have_found(found):
    corpus, questions = made_corpus(1, 1)
    with pytest.raises(PluginError, match="the retriever found"):
        evaluate(corpus, questions, retriever=lambda payloads: lambda question, limit: found)


# Tuning


def test_halves_share_no_document():
    corpus, questions = made_corpus(6, 3)
    one, other, split = halves(corpus, questions, 0.5, 3)
    assert split == "documents"
    assert len(one) == len(other) == 9
    assert not {q.gold[0].document for q in one} & {q.gold[0].document for q in other}
    assert sorted(q.id for q in one + other) == sorted(q.id for q in questions)
    assert (one, other) == halves(corpus, questions, 0.5, 3)[:2]
    single, rest, split = halves(corpus, questions[:3], 0.5, 0)
    assert (split, len(single), len(rest)) == ("questions", 1, 2)
    for share in (0.01, 0.99):
        parts = halves(corpus, questions, share, 0)
        assert parts[0]
        assert parts[1]


def test_tuning_proposes_what_is_better():
    corpus, questions = made_corpus(8, 5)
    tried = [Configuration("tiny", {"windows": 60}), Configuration("small", {"windows": 90}),
             Configuration("sections", {"max_chunk_size": 500})]  # fmt: skip
    report = tune(corpus, questions, tried, budget=500)
    assert report.proposed.name == "sections"
    assert [r.configuration.name for r in report.development.results] == ["tiny", "small", "sections"]
    assert [r.configuration.name for r in report.held_out.results] == ["tiny", "sections"]
    assert report.held_out.results[1].difference["recall"].low > 0
    assert len(report.development.questions) + len(report.held_out.questions) == len(questions)
    assert report.table().startswith("proposed: sections (max_chunk_size=500), for recall: +")
    kept = tune(corpus, questions, tried[::-1], budget=500)
    assert (kept.proposed.name, len(kept.held_out.results)) == ("sections", 1)
    assert "nothing was certain to be better" in kept.table()
    json.dumps(report.to_dict())


def test_tuning_that_cannot_work():
    corpus, questions = made_corpus(1, 2)
    with pytest.raises(OptionError, match="1 question cannot be divided"):
        tune(corpus, questions[:1])
    with pytest.raises(OptionError, match="development=1"):
        tune(corpus, questions, development=1)
    with pytest.raises(OptionError, match='no metric "recal"; did you mean "recall"'):
        tune(corpus, questions, [Configuration("a")], metric="recal")
    assert candidates()[0] == Configuration("default")
    assert len({configuration.name for configuration in candidates()}) == 17


# Reports


def test_reports_say_the_same():
    corpus, questions = made_corpus()
    corpus.left_out = (("<a>", "binary & more"),)
    asked = [replace(questions[0], text="<script>alert('é')</script>"), *questions[1:]]
    report = evaluate(
        corpus, asked, [Configuration("one & <two>", {"max_chunk_size": 300}), Configuration("w", {"windows": 80})]
    )
    data = report.to_dict()
    assert json.loads(json.dumps(data)) == data
    recall = data["configurations"][1]["summary"]["recall"]
    assert recall["low"] <= recall["mean"] <= recall["high"]
    assert len(data["configurations"][0]["values"]["recall@3"]) == len(asked) == len(data["questions"])
    table = report.table()
    assert f"{100 * recall['mean']:.1f} [{100 * recall['low']:.1f}, {100 * recall['high']:.1f}]" in table
    assert "left out: <a>: binary & more" in table
    page = report.html()
    assert page.count("<svg") == page.count("</svg>") == 5
    assert "<script" not in page
    assert not re.search(r"(src|href)=|url\(|@import|https?:", page)
    for text in ("one &amp; &lt;two&gt;", "&lt;script&gt;", "&lt;a&gt;: binary &amp; more", "max_chunk_size=300"):
        assert text in page
    assert not re.search(r'[xy][12]?="(nan|inf|-\d{4,})', page)


def test_a_page_of_many_configurations_and_no_difference():
    corpus, questions = made_corpus(2, 2)
    tried = [Configuration(f"c{i}", {"max_chunk_size": 500 + i}) for i in range(12)]
    page = evaluate(corpus, questions, tried, k=[1]).html()
    assert page.count("<polyline") == 8
    assert "c11" in page
