"""Plain text, reStructuredText, LaTeX, Org, AsciiDoc and logs to spans: outlines and blocks as data, the span contract."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Glue
from omnichunk.structure.latex import latex_spans
from omnichunk.structure.latex import plain as latex_plain
from omnichunk.structure.logs import log_spans
from omnichunk.structure.prose import asciidoc_spans, org_spans, text_spans
from omnichunk.structure.rst import plain as rst_plain
from omnichunk.structure.rst import rst_spans

SPANS = {"rst": rst_spans, "latex": latex_spans, "org": org_spans, "asciidoc": asciidoc_spans, "log": log_spans}


def spans_of(language, text):
    return list(SPANS[language](StructureRequest(text, language)).spans)


def walk(spans):
    for span in spans:
        yield from span.walk(open_all=True)


def outline(spans):
    return [(s.detail.level, s.name) for s in walk(spans) if s.kind == "section"]


def check_contract(spans, text):
    work = [(spans, 0, len(text))]
    while work:
        siblings, low, high = work.pop()
        for span in siblings:
            assert low <= span.start < span.end <= high
            low = span.end
            work.append((span.children, span.start, span.end))


OUTLINES = [
    ("rst", "===\nTop\n===\n\nx\n\nA\n-\n\ny\n\nB\n~~~~\n\nC\n----\n", [(1, "Top"), (2, "A"), (3, "B"), (2, "C")]),
    ("rst", "A\n====\nB\n----\n\nx\n\n----\n\ny\n", [(1, "A"), (2, "B")]),
    ("rst", "para\nline\n----\n\n- item\n------\n\n  In\n  --\n", []),
    ("rst", "日本語\n======\r\n\r\nx\r\n\r\nB\r\n=\r\n", [(1, "日本語"), (1, "B")]),
    ("rst", "toolong title\n---\n\n.. _x:\n\n``Co`` :ref:`to <x>` |s|\n-----------------------\n", [(1, "Co to s")]),
    ("latex", "\\section{A}x\\subsection*{B \\emph{c}}\n\\section[s]{D}", [(3, "A"), (4, "B c"), (3, "D")]),
    ("latex", "\\chapter{A %\n b}\n% \\section{no}\n\\verb|\\section{no}| \\sectionmark{no}", [(2, "A b")]),
    ("latex", "\\begin{verbatim}\n\\section{no}\n\\end{verbatim}\n\\part{P}\\paragraph{Q}", [(1, "P"), (6, "Q")]),
    ("latex", "\\section{\\label{x}A}\n\\begin{frame}{T}\n\\end{frame}\n\\begin{frame}\n\\frametitle{U}\n\\end{frame}",
     [(3, "A"), (5, "T"), (5, "U")]),
    ("latex", "\\begin{document}\\section{A}\\begin{x}\\section{B}\\end{x}\\end{document}", [(3, "A"), (3, "B")]),
    ("latex", "\\section{never closed\n\\section{A}", [(3, "A")]),
    ("org", "* TODO [#A] One :tag:x:\nx\n*** Deep [1/2]\n** [[u][Two]] *b*\n*bold* x\n",
     [(1, "One"), (3, "Deep"), (2, "Two b")]),
    ("org", "#+begin_src c\n,* no\n#+end_src\n* A", [(1, "A")]),
    ("asciidoc", "= Doc\n\n== A ==\n\n----\n== no\n----\n\n=== `B` *c*\n", [(1, "Doc"), (2, "A"), (3, "B c")]),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "expected"), OUTLINES)
def test_outline(language, text, expected):
    assert outline(spans_of(language, text)) == expected


RST = """\
Intro::

    literal

- one
  more

  second
- two

.. code-block:: python
   :linenos:

   x = 1

term
  definition

+---+---+
| a | b |
+===+===+
| 1 | 2 |
+---+---+
| 3 | 4 |
+---+---+

== ==
a  b
== ==
1  2

3  4
== ==

.. a comment

.. _target:

:field: value
:other: value

    quoted
"""


def test_rst_blocks():
    spans = spans_of("rst", RST)
    assert [s.kind for s in spans] == [
        "paragraph", "code", "list", "code", "item", "table", "table", "comment", "text", "list",
    ]  # fmt: skip
    assert spans[0].glue is Glue.NEXT
    assert [RST[s.start : s.end].strip() for s in spans[2].children] == ["- one\n  more\n\n  second", "- two"]
    assert (spans[3].detail.language, RST[slice(*spans[3].detail.inner)].strip()) == ("python", "x = 1")
    assert RST[slice(*spans[5].detail.carry)] == "+---+---+\n| a | b |\n+===+===+\n"
    assert len(spans[5].children) == 3
    assert RST[slice(*spans[6].detail.carry)] == "== ==\na  b\n== ==\n"


def test_rst_csv_table_repeats_its_header():
    text = ".. csv-table:: *Prices*\n   :header-rows: 1\n\n   Thing,Price\n   a,1\n   b,2\n"
    (table,) = spans_of("rst", text)
    assert table.name == "Prices"
    assert text[slice(*table.detail.carry)].endswith("Thing,Price\n")
    assert [text[s.start : s.end].strip() for s in table.children][1:] == ["a,1", "b,2"]


LATEX = """\
\\documentclass{article}

\\begin{document}
\\section{S}
One.

Two
\\begin{equation}
x
\\end{equation}
\\begin{itemize}
\\item a
\\item b
  \\begin{enumerate}
  \\item c
  \\end{enumerate}
\\end{itemize}
\\begin{lstlisting}[language=Python]
x = 1
\\end{lstlisting}
\\begin{table}
\\caption{Cap $x$}
\\begin{tabular}{ll}
a & b \\\\ \\hline
c & d \\\\
e & f
\\end{tabular}
\\end{table}
\\end{document}
"""


def test_latex_blocks():
    section = spans_of("latex", LATEX)[-1]
    assert section.kind == "section"
    blocks = [s for s in section.children if s.kind != "paragraph"]
    assert [s.kind for s in blocks] == ["heading", "block", "list", "code", "table"]
    assert blocks[1].glue is Glue.PREVIOUS
    assert [LATEX[s.start : s.start + 7] for s in blocks[2].children] == ["\\item a", "\\item b"]
    assert (blocks[3].detail.language, LATEX[slice(*blocks[3].detail.inner)]) == ("python", "x = 1\n")
    assert blocks[4].name == "Cap x"
    inner = next(s for s in blocks[4].children if s.kind == "table")
    assert LATEX[slice(*inner.detail.carry)] == "\\begin{tabular}{ll}\na & b \\\\ \\hline\n"
    assert [bool(s.glue & Glue.NEXT) for s in inner.children] == [True, False, False]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("Caf\\'e \\\"{U}ber \\c{c}a \\o{} \\ss", "Café Über ça ø ß"),
        ("A~\\textbf{b} $x_1$\\footnote{no}\\label{no}", "A b x_1"),
        ("\\texorpdfstring{$\\alpha$ decay}{alpha}", "decay"),
        ("C\\# 100\\% -- x", "C# 100% – x"),
    ],
)
def test_latex_titles(source, title):
    assert latex_plain(source) == title


@pytest.mark.parametrize(
    ("source", "title"),
    [("*a* **b** ``c``", "a b c"), ("`t <u>`_ x_ y__", "t x y"), (":doc:`z`", "z"), ("\\*a* 2*3*4", "*a* 2*3*4")],
)
def test_rst_titles(source, title):
    assert rst_plain(source) == title


def test_org_blocks():
    text = "* A\npara\n\n- a\n- b\n\n#+BEGIN_SRC ruby\nx\n#+END_SRC\n| a |\n|---|\n| 1 |\n"
    (section,) = spans_of("org", text)
    assert [s.kind for s in section.children] == ["heading", "paragraph", "list", "code", "table"]
    assert section.children[3].detail.language == "ruby"
    assert text[slice(*section.children[4].detail.carry)] == "| a |\n|---|\n"


def test_asciidoc_blocks():
    text = "== A\n\n.Title\n[source,ruby]\n----\nx\n----\n\n* a\n* b\n\n|===\n|h\n\n|1\n|===\n"
    (section,) = spans_of("asciidoc", text)
    assert [s.kind for s in section.children] == ["heading", "code", "list", "table"]
    code = section.children[1]
    assert text[code.start :].startswith(".Title")
    assert (code.detail.language, text[slice(*code.detail.inner)]) == ("ruby", "x\n")
    assert text[slice(*section.children[3].detail.carry)] == "|===\n|h\n"


def test_asciidoc_titles_are_underlined_too():
    text = (
        "git-add(1)\n==========\n\nNAME\n----\ngit-add - Add\n\n[[syn]]\nSYNOPSIS\n--------\n[verse]\nx\n\n"
        "Sub\n~~~~\n\n----\ncode\n----\n\nfoo:\nbar\n----\nno\n----\n"
    )
    assert outline(spans_of("asciidoc", text)) == [(1, "git-add(1)"), (2, "NAME"), (2, "SYNOPSIS"), (3, "Sub")]
    code = [text[s.start : s.end] for s in walk(spans_of("asciidoc", text)) if s.kind == "code"]
    assert code == ["----\ncode\n----\n", "----\nno\n----\n"]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("|===\n|A |B\n\n|1\n|2\n\n|3\n|4\n|===\n", ["|===\n|A |B\n\n", "|1\n|2\n\n", "|3\n|4\n|===\n"]),
        ("|===\n|A |B\n\n|1\n|2\n|3\n|4\n|===\n", ["|===\n|A |B\n\n", "|1\n|2\n", "|3\n|4\n|===\n"]),
        ("[cols=\"1,2\"]\n|===\n|1\n|2\n|3\n|4\n|===\n", ["[cols=\"1,2\"]\n|===\n|1\n|2\n", "|3\n|4\n|===\n"]),
        ("[cols=3*]\n|===\n|1\n|2|3\n|4 |5 |6\n|===\n", ["[cols=3*]\n|===\n|1\n|2|3\n", "|4 |5 |6\n|===\n"]),
        ("|===\n|A |B\n\n|1 |2\n|3 |4\n|===\n", ["|===\n|A |B\n\n", "|1 |2\n", "|3 |4\n|===\n"]),
    ],
)  # fmt: skip
def test_rows_of_an_asciidoc_table_may_take_several_lines(text, rows):
    (table,) = [s for s in walk(spans_of("asciidoc", text)) if s.kind == "table"]
    found = [text[s.start : s.end] for s in table.children]
    assert found == rows
    assert table.children[0].glue == (Glue.NEXT if table.detail else Glue.NONE)


def test_lines_of_org_that_say_something_of_another_belong_to_it():
    text = (
        "* A\nSCHEDULED: <2020-01-01>\n:PROPERTIES:\n:ID: x\n:END:\ntext\n\n#+NAME: t\n#+CAPTION: c\n| a |\n|---|\n| 1 |\n"
        "#+TBLFM: $1=2\n\n#+NAME: s\n#+begin_src c\nx\n#+end_src\n"
    )
    heading, table, code = (
        [text[s.start : s.end] for s in walk(spans_of("org", text)) if s.kind == kind]
        for kind in ("heading", "table", "code")
    )
    assert heading == ["* A\nSCHEDULED: <2020-01-01>\n:PROPERTIES:\n:ID: x\n:END:\n"]
    assert table == ["#+NAME: t\n#+CAPTION: c\n| a |\n|---|\n| 1 |\n#+TBLFM: $1=2\n"]
    assert code == ["#+NAME: s\n#+begin_src c\nx\n#+end_src\n"]


def test_a_list_table_repeats_its_header_rows_and_keeps_its_rows_whole():
    text = ".. list-table:: T\n   :header-rows: 1\n\n   * - A\n     - B\n   * - 1\n     - * x\n       * y\n   * - 2\n     - 3\n"
    (table,) = spans_of("rst", text)
    assert text[slice(*table.detail.carry)] == text[: text.index("   * - 1")]
    rows = [text[s.start : s.end] for s in table.children]
    assert rows[1:] == ["   * - 1\n     - * x\n       * y\n", "   * - 2\n     - 3\n"]
    assert table.children[0].glue == Glue.NEXT
    (bare,) = spans_of("rst", text.replace("   :header-rows: 1\n", ""))
    assert bare.detail.carry is None
    assert len(bare.children) == 4  # the directive's own line is the first


def test_a_latex_heading_in_the_definition_of_a_command_opens_no_section():
    text = "\\newcommand{\\x}[1]{\\section{#1}}\n\\section{C\\# 1}\n"
    assert outline(spans_of("latex", text)) == [(3, "C# 1")]


def test_a_latex_float_leaves_the_header_to_the_table_inside():
    text = (
        "\\begin{table}\n\\caption{C}\n\\begin{tabular}{l}\nA \\\\\n\\midrule\n1 \\\\\n\\end{tabular}\n\\end{table}\n"
    )
    outer, inner = (s for s in walk(spans_of("latex", text)) if s.kind == "table")
    assert (outer.name, outer.detail.carry) == ("C", None)
    assert text[slice(*inner.detail.carry)] == "\\begin{tabular}{l}\nA \\\\\n\\midrule\n"


ENTRIES = [
    "2024-01-02 10:00:00,1 INFO a\n", "2024-01-02T10:00:00Z a\n", "[2024-01-02 10:00:00] a\n", "INFO 2024-01-02 10:00 a\n",
    "02/01/2024 10:00:00 a\n", "02-Jan-2024 10:00:00 a\n", "Jan  2 10:00:00 host a: b\n", "<13>Jan 12 10:00:00 host a\n",
    "<165>1 2003-10-11T22:14:15.003Z a\n", "Jan 02, 2024 10:00:00 AM a.B c\n", "[Wed Oct 11 14:32:52 2000] [error] a\n",
    "01-02 10:00:00.1  12 34 D a: b\n", "10:00:00.123 [main] a\n", "[   12.345678] a\n", "1700000000.12 a\n",
    "E0102 10:00:00.1 1 a.cc:1] b\n", '1.2.3.4 - - [02/Jan/2024:10:00:00 +0000] "GET /" 200\n', '{"time": 1}\n',
    "time=x level=info a\n", "ERROR: a\n", "[WARN] a\n", "WARNING:root:a\n",
]  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_of_a_log_goes_on_to_the_next(entry):
    trace = "java.lang.X: y\n\tat a.b(C.java:1)\nCaused by: z\n\n"
    text = f"a banner\n{entry}{entry}{trace}{entry}{entry}{trace}{trace}"
    spans = spans_of("log", text)
    check_contract(spans, text)
    assert [text[s.start : s.end] for s in spans if s.kind == "paragraph"] == [
        f"{entry}{trace}",
        f"{entry}{trace}{trace}",
    ]
    assert "".join(text[s.start : s.end] for s in spans) == text


def test_a_log_without_entries_or_without_traces_is_lines():
    assert spans_of("log", "a\nb\n  c\n") == []
    assert spans_of("log", ENTRIES[0] * 5) == []
    assert spans_of("log", ENTRIES[0] * 5 + "x") != []


def test_damage_is_told():
    def errors(language, text):
        return list(SPANS[language](StructureRequest(text, language)).errors)

    assert errors("latex", "\n\\begin{a}\n\\section{x") == [
        "\\begin{a} is never ended, line 2",
        "the brace after \\section is never closed, line 3",
    ]
    assert errors("org", "#+begin_src c\nx") == ["#+begin_src is never ended, line 1"]
    assert errors("asciidoc", "a\n\n----\nx") == ["block ---- is never closed, line 3"]


def test_plain_text_costs_nothing():
    assert not text_spans(StructureRequest("a\n\nb", "text")).spans


TOKENS = [
    "a", "word ", "\n", "\n\n", "\r\n", "  ", "\t", "====\n", "----\n", "~~~\n", "- x\n", "1. x\n", ".. note::\n",
    ".. code:: c\n", "::\n", ":f: x\n", "+--+\n", "|xx|\n", "+==+\n", "== ==\n", "`", "*", "\\", "\\section{",
    "\\begin{itemize}", "\\end{itemize}", "\\item ", "{", "}", "%", "\\begin{verbatim}", "\\end{verbatim}",
    "\\begin{tabular}", "\\end{tabular}", "\\\\\n", "\\hline", "\\begin{frame}", "\\end{frame}", "\\caption{", "* ",
    "** x\n", "#+begin_src c\n", "#+end_src\n", "|a|\n", "|---\n", "= x\n", "|===\n", "[a]\n", "--\n", "```\n",
    "\ufeff", "\x0c", "[cols=2*]\n", "|a |b\n", "#+name: x\n", ":PROPERTIES:\n", ":END:\n", ".. list-table::\n",
    "   :header-rows: 1\n", "   * - x\n", "10:00:00 x\n",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=60).map("".join))
def test_any_text_keeps_the_contract(text):
    for language in SPANS:
        check_contract(spans_of(language, text), text)


N = 3_000
ADVERSARIAL = [
    "====\n" * N, "- foo\n" * N, "=== ===\nx y\n" * N, ":a b\\:" * N + "\n", "`" * N + "\n" + "=" * N,
    "".join(" " * i + "- x\n" for i in range(400)), "\\begin{a}" * N + "\\end{b}" * N, "\\begin{verbatim}" * N,
    "\\section{" * N, "\\begin{itemize}\\item " * N, "\\begin{table}\\caption{" * N, "\\section[" * N,
    "#+begin_a\n" * N + "#+end_z\n" * N, "* " + "*a " * N, "".join("-" * (4 + i) + "\n" for i in range(800)),
    "[a]\n" * N + "----\n", "|===\n|a |b\n\n" * N, "|===\n|a |b\n\n" + "|x\n" * N + "|===\n",
    "#+name: x\n" * N + "|a|\n",
    "|===\n" + "|" * 20 * N + "\n|===\n", "|" * 20 * N, "+-+\n" + "|" * 20 * N, "= =\n" + "x" * 20 * N,
    "* a\n:PROPERTIES:\n" * N, ".. list-table::\n\n   * - x\n" * N,
    "10:00:00 x\ny\n" * N, "a\n===\n" * N, "\n" * N, " \n" * N, "*" * N,
]  # fmt: skip


@pytest.mark.parametrize("text", ADVERSARIAL, ids=range(len(ADVERSARIAL)))
def test_adversarial_text_ends(text):
    for language in SPANS:
        check_contract(spans_of(language, text), text)
