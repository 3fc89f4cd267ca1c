"""What structure and context are worth to retrieval, on questions made from what is installed here.

usage: python benchmarks/retrieval.py [--size N] [--budget N] [--questions N] [--retriever SPEC] [--html DIR] [--check]

Three question sets, no text of which is written for the purpose:

docstrings   Modules of the standard library with all docstrings taken out. A question is the first sentence of the
             docstring of a function, method or class; its gold is the body that it stood in.
sentences    Descriptions of installed distributions in Markdown. A question is the first sentence of a section, taken
             out of the text; its gold is the rest of what stands under that heading.
headings     The same descriptions, whole. A question is the name of the distribution and a heading; its gold is what
             stands under the heading.

Questions asked twice, and those with more than 2,000 code points of gold, are left out.

Each is chunked at the same maximum (--size, 800 code points): with structure alone, with structure and context, and in
fixed windows of the maximum, of the mean length that structure gives, and of that with a fifth of it as overlap. What is
read for a question is what fits --budget (4,000 code points). Means, and differences to structure alone with 95 %
intervals: each differs from it in one thing.

Limits. The questions are sentences by authors of the text, not by people who search, and share words with their gold; a
lexical retriever likes them. Those of `headings` are words that a heading path repeats, so context is favoured there; in
the other two the question stands nowhere in what is searched. Gold is found by `ast` and by lines that begin with `#`,
not by omnichunk, but it is units of structure, which windows cut by design. Many questions are about one file, so the
intervals, which take questions as independent, are somewhat narrow. What is installed decides what is asked: compare
figures of one machine only.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from random import Random

from omnichunk import Configuration, Corpus, EvaluationReport, Question, evaluate
from omnichunk.cli_eval import named

Gold = tuple[str, str, int, int]
"""Question, path, start, end in code points."""
FILES, LONGEST = 150, 200_000
GOLD = 2000
"""Code points that an answer may have, so that it can be read whole."""


def first_sentence(text: str) -> str:
    """The first sentence of a text if it says something: four to sixty words."""
    line = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.!?])\s", line)[0]
    return sentence if 4 <= len(sentence.split()) <= 60 else ""


# Docstrings


def code_set() -> tuple[dict[str, str], list[Gold]]:
    """Modules without docstrings, and a question for each that was taken out."""
    texts: dict[str, str] = {}
    asked: list[Gold] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:FILES]:
        text = path.read_text(encoding="utf-8")
        if len(text) < LONGEST and text.isascii():
            texts[path.name], found = without_docstrings(text)
            asked += [(question, path.name, start, end) for question, start, end in found]
    return texts, asked


def without_docstrings(text: str) -> tuple[str, list[tuple[str, int, int]]]:
    """ASCII code without docstrings; the first sentence of each, and where the body is that it stood in."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    cuts: list[tuple[int, int]] = []
    found: list[tuple[str, int, int]] = []
    for node in ast.walk(ast.parse(text)):
        if (
            not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            or len(node.body) < 2
        ):
            continue
        doc, last = node.body[0], node.body[-1]
        if not (isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant) and isinstance(doc.value.value, str)):
            continue
        cuts.append((starts[doc.lineno - 1], starts[doc.end_lineno or 1]))
        sentence = first_sentence(doc.value.value)
        body = cuts[-1][1], starts[(last.end_lineno or 1) - 1] + (last.end_col_offset or 0)
        if sentence and not isinstance(node, ast.Module) and node.body[1].lineno > (doc.end_lineno or 0):
            found.append((sentence, *body))
    return cut(text, cuts, found)


def cut(
    text: str, cuts: list[tuple[int, int]], found: list[tuple[str, int, int]]
) -> tuple[str, list[tuple[str, int, int]]]:
    """``text`` without ``cuts``, and ``found`` where it is then."""
    cuts = sorted(set(cuts))
    kept = "".join(
        text[a:b] for a, b in zip([0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)])
    )

    def moved(position: int) -> int:
        return position - sum(min(end, position) - start for start, end in cuts if start < position)

    return kept, [(question, moved(start), moved(end)) for question, start, end in found]


# Descriptions


def descriptions() -> Iterator[tuple[str, str]]:
    """Name and description of the distributions here that are described in Markdown, each once."""
    seen: set[str] = set()
    for distribution in sorted(distributions(), key=lambda d: str(d.metadata["Name"]).lower()):
        name = str(distribution.metadata["Name"])
        text = distribution.metadata.get_payload() or distribution.metadata["Description"] or ""
        kind = str(distribution.metadata["Description-Content-Type"] or "")
        if kind.startswith("text/markdown") and name not in seen and 500 < len(text) < LONGEST and name != "omnichunk":
            seen.add(name)
            yield name, text.replace("\r\n", "\n")


def sections(text: str) -> Iterator[tuple[str, int, int]]:
    """Heading, start and end of what stands directly under each; ``#`` inside a fence is no heading."""
    heading, begin, at, fence = "", 0, 0, ""
    for line in [*text.split("\n"), "# "]:
        mark = re.match(r" {0,3}(```|~~~)", line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence and (title := re.match(r"#{1,6}\s(.*)", line)):
            if heading and text[begin:at].strip():
                yield heading, begin, min(at, len(text))
            heading, begin = re.sub(r"[#*`\[\]]|\(.*?\)", "", title[1]).strip(), at + len(line) + 1
        at += len(line) + 1


def heading_set() -> tuple[dict[str, str], list[Gold]]:
    texts: dict[str, str] = {}
    asked: list[Gold] = []
    for name, text in descriptions():
        texts[f"{name}.md"] = text
        asked += [
            (f"{name} {title}", f"{name}.md", a, b) for title, a, b in sections(text) if title.lower() != name.lower()
        ]
    return texts, asked


def sentence_set() -> tuple[dict[str, str], list[Gold]]:
    """Descriptions without the first sentence of the sections that begin with one and go on."""
    texts: dict[str, str] = {}
    asked: list[Gold] = []
    for name, text in descriptions():
        cuts: list[tuple[int, int]] = []
        found: list[tuple[str, int, int]] = []
        for _, a, b in sections(text):
            body = text[a:b]
            begin = len(body) - len(body.lstrip())
            prose = re.match(r"[A-Z][^\n|<>`]*(?:\n[^\n|<>`#*-][^\n|<>`]*)*", body[begin:])
            end = re.match(r"(?s).+?[.!?](?=\s)", prose[0] + "\n") if prose else None
            if end is None or not first_sentence(end[0]) or len(body[begin + end.end() :].split()) < 15:
                continue
            cuts.append((a + begin, a + begin + end.end()))
            found.append((first_sentence(end[0]), a + begin + end.end(), b))
        texts[f"{name}.md"], moved = cut(text, cuts, found)
        asked += [(question, f"{name}.md", start, end) for question, start, end in moved]
    return texts, asked


# The comparison


def questions_of(corpus: Corpus, asked: list[Gold], most: int) -> list[Question]:
    """At most ``most`` of the questions, always the same; without those asked twice or with more than ``GOLD`` to read."""
    counts: dict[str, int] = {}
    for question, *_ in asked:
        counts[question] = counts.get(question, 0) + 1
    single = [row for row in asked if counts[row[0]] == 1 and row[3] - row[2] <= GOLD]
    drawn = sorted(Random(0).sample(range(len(single)), min(most, len(single))))
    chosen = [single[i] for i in drawn]
    return [corpus.question(question, [(path, start, end)]) for question, path, start, end in chosen]


def compared(corpus: Corpus, questions: list[Question], size: int, budget: int, retriever: str) -> EvaluationReport:
    name, options = named("--retriever", retriever)
    structure = Configuration("structure", {"max_chunk_size": size, "context_mode": "none"})
    pieces = [chunk for document in corpus.documents for chunk in structure.splitter(corpus)(document)]
    mean = round(sum(len(piece.text) for piece in pieces) / len(pieces))
    return evaluate(
        corpus,
        questions,
        [
            structure,
            Configuration("structure, context", {"max_chunk_size": size}),
            Configuration(f"windows {size}", {"windows": size}),
            Configuration(f"windows {mean}", {"windows": mean}),
            Configuration(f"windows {mean} overlap", {"windows": mean, "overlap": mean // 5}),
        ],
        retriever=name,
        retriever_options=options,
        budget=budget,
    )


SETS = {"docstrings": code_set, "sentences": sentence_set, "headings": heading_set}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=800)
    parser.add_argument("--budget", type=int, default=4000)
    parser.add_argument("--questions", type=int, default=sys.maxsize, help="of each set, at most; all if not given")
    parser.add_argument("--retriever", default="bm25", help='as for omnichunk eval: "NAME: option=value"')
    parser.add_argument("--only", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--html", type=Path, help="a folder for a page on each set")
    parser.add_argument("--check", action="store_true", help="status 1 unless what is claimed last is certain")
    given = parser.parse_args()
    missed = []
    for name in given.only:
        texts, asked = SETS[name]()
        corpus = Corpus.of(texts)
        report = compared(
            corpus, questions_of(corpus, asked, given.questions), given.size, given.budget, given.retriever
        )
        print(f"== {name} ==\n{report.table()}", flush=True)
        if given.html:
            given.html.mkdir(parents=True, exist_ok=True)
            (given.html / f"{name}.html").write_text(report.html(), encoding="utf-8")
        _, context, _, windows, _ = report.results
        missed += [f"context on {name}"] * (context.difference["iou"].low <= 0)
        missed += [f"structure on {name}"] * (windows.difference["recall"].high >= 0)
    print(
        "With 95 % certainty context raises IoU, and structure beats windows of its mean length in recall; but not:",
        ", ".join(missed) or "all of it holds",
    )
    return int(given.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
