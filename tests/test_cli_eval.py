"""``omnichunk eval``: what it prints and writes, and how it reads configurations."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace

import pytest

from omnichunk import OptionError
from omnichunk.cli_eval import configurations, named, numbers
from test_cli import run  # noqa: F401  the fixture

ANIMALS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two documents of four sections, and a question with its gold for each."""
    (tmp_path / "docs").mkdir()
    rows = []
    for d in range(2):
        text = ""
        for animal in ANIMALS[d * 4 : d * 4 + 4]:
            text += f"# The {animal}\n\n"
            body = "It says größe. " * 8 + "\n\n"
            rows.append(
                {"question": animal, "path": f"d{d}.md", "start": len(text), "end": len(text) + 110, "id": animal}
            )
            text += body
        (tmp_path / "docs" / f"d{d}.md").write_text(text, encoding="utf-8", newline="")
    (tmp_path / "docs" / "x.dat").write_bytes(bytes(range(256)))
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_and_a_page(run, folder):  # noqa: F811
    status, out, err = run(
        "eval", "docs", "-q", "q.jsonl", "--config", "sections: max_chunk_size=200", "--config", "w: windows=50",
        "--budget", 200, "--k", "1,2", "--html", "out.html",
    )  # fmt: skip
    assert (status, err) == (0, "2 files, 1 left out, 8 questions\n")
    assert out.startswith("8 questions about 2 documents; retriever bm25; read: 200 chars; ")
    assert "\nsections " in out
    assert "difference to sections, paired by question" in out
    assert out.splitlines()[3].split()[4:6] == ["100.0", "[100.0,"]
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "w</text>" in page
    assert run("eval", "docs", "-q", "q.jsonl", "--config", "sections: max_chunk_size=200", "--config", "w: windows=50",
               "--budget", 200, "--k", "1,2")[1] == out  # fmt: skip


def test_json(run, folder):  # noqa: F811
    status, out, _ = run("eval", "docs", "-q", "q.jsonl", "--json", "--resamples", 10, "--size-unit", "tokens",
                         "--tokenizer", "approximate", "--budget", 80)  # fmt: skip
    assert status == 0
    data = json.loads(out)
    assert [c["name"] for c in data["configurations"]] == ["default"]
    assert (data["unit"], data["budget"], data["resamples"]) == ("tokens", 80, 10)
    assert [q["id"] for q in data["questions"]] == ANIMALS
    assert data["left_out"][0]["path"].endswith("x.dat")


def test_tuning(run, folder):  # noqa: F811
    status, out, _ = run("eval", "docs", "-q", "q.jsonl", "--tune", "--config", "w: windows=50", "--config",
                         "max_chunk_size=200", "--budget", 200, "--html", "t.html")  # fmt: skip
    assert status == 0
    assert out.startswith("proposed: max_chunk_size=200 (max_chunk_size=200), for recall: +")
    assert "Held out" in (folder / "t.html").read_text(encoding="utf-8")
    status, out, _ = run("eval", "docs", "-q", "q.jsonl", "--tune", "--json", "--metric", "iou", "--resamples", 50)
    assert status == 0
    assert len(json.loads(out)["development"]["configurations"]) == 17


@pytest.mark.parametrize(("more", "said"), [
    (["--config", "a: nonsense"], 'omnichunk: --config: "a: nonsense" is not of the form'),
    (["--config", "a: max_chunk_sise=1"], 'configuration a: unknown option "max_chunk_sise"; did you mean'),
    (["--retriever", "bm52"], 'there is none called "bm52"; did you mean "bm25"?'),
    (["--retriever", "zoo"], 'there is none called "zoo"; there are bm25, '),
    (["--k", "1,x"], "omnichunk: --k: '1,x'; whole numbers"),
    (["--offsets", "lines"], "chars or bytes is needed"),
    (["--offsets", "bytes"], "q.jsonl:4: "),
    (["--size-unit", "tokens"], "needs a tokenizer"),
    (["--glob", "*.none"], "no document in docs"),
    (["--tune", "--metric", "speed"], 'there is no metric "speed"'),
    (["--html", "none/out.html"], "none"),
    (["--retriever", "openai: model=m, url=http://[::1"], "openai: url='http://[::1'"),
    (["--config", "x: max_chunk_size=" + "[" * 20_000], "configuration x: max_chunk_size='[[["),
])  # fmt: skip
def test_what_cannot_work(run, folder, more, said):  # noqa: F811
    if said.startswith("q.jsonl"):
        rows = [json.loads(line) for line in (folder / "q.jsonl").read_text(encoding="utf-8").splitlines()]
        rows[3]["end"] = len((folder / "docs" / "d0.md").read_bytes()) + 1
        (folder / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    status, out, err = run("eval", "docs", "-q", "q.jsonl", *more)
    assert status in (1, 2)
    assert out == ""
    assert said in " ".join(err.replace("│", " ").split())


def test_files_that_are_not_there(run, folder):  # noqa: F811
    assert run("eval", "docs", "-q", "none.jsonl")[::2] == (
        2,
        "omnichunk: none.jsonl: cannot be read: No such file or directory.\n",
    )
    assert run("eval", "none.md", "-q", "q.jsonl")[0] == 2
    assert run("eval", "-", "-q", "q.jsonl")[0] == 2
    assert run("eval", "docs")[0] == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_page_that_cannot_be_written_is_named(run, folder):  # noqa: F811
    status, out, err = run("eval", "docs", "-q", "q.jsonl", "--html", "/dev/full")
    assert (status, out, err) == (1, "", "omnichunk: /dev/full: cannot be written: No space left on device.\n")


def test_topics_by_an_embedder(run, folder, monkeypatch):  # noqa: F811
    pytest.importorskip("numpy")
    from test_semantic import CATS, MONEY, by_topic

    class Model:
        @classmethod
        def from_pretrained(cls, folder):
            return cls()

        def encode(self, texts, **how):
            return by_topic(texts)

    monkeypatch.setitem(sys.modules, "model2vec", SimpleNamespace(StaticModel=Model))
    (folder / "t.txt").write_text((CATS + MONEY) * 2)
    status, out, _ = run("chunk", "t.txt", "--embedder", "model2vec: model=docs")
    assert (status, len(out.splitlines())) == (0, 4)
    assert len(run("chunk", "t.txt")[1].splitlines()) == 1
    common = "eval", "docs", "-q", "q.jsonl", "--json", "--embedder", "model2vec: model=docs"
    status, out, _ = run(*common, "--config", "plain", "--config", "topics: semantic=true")
    assert status == 0
    options = [c["options"] for c in json.loads(out)["configurations"]]
    assert options == [{}, {"semantic": True, "semantic_embed_fn": "model2vec: docs"}]
    assert run(*common)[::2] == (2, "omnichunk: --embedder: no --config has semantic=true.\n")
    for wrong, said in (
        ("", "needs a model"),
        (": model=docs, name=x", "'name'"),
        (": model=docs, registry=x", "registry="),
    ):
        status, _, err = run("chunk", "t.txt", "--embedder", f"model2vec{wrong}")
        assert status == 2
        assert said in err


def test_configurations_are_written_as_options():
    given = [
        "default",
        " a b : max_chunk_size = 400 , target_fill=0.5, context_mode=none",
        "windows=9",
        "x: tokenizer=a:b,c",
    ]
    assert [(c.name, c.options) for c in configurations(given)] == [
        ("default", {}),
        ("a b", {"max_chunk_size": 400, "target_fill": 0.5, "context_mode": "none"}),
        ("windows=9", {"windows": 9}),
        ("x", {"tokenizer": "a:b,c"}),
    ]
    assert named("--retriever", 'dense: model="1", deep=true, none=null') == (
        "dense",
        {"model": "1", "deep": True, "none": None},
    )
    assert named("--config", "a: b=1 c")[1] == {"b": "1 c"}
    for wrong in ("", ": a=1", "a: b", "a: b=1, b=2", "a: =1"):
        with pytest.raises(OptionError, match="--config: "):
            named("--config", wrong)
    assert numbers("1, 5") == [1, 5]
