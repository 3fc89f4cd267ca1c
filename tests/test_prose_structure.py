"""Plain text, reStructuredText, LaTeX, Org and AsciiDoc to spans: outlines and blocks as data, the span contract."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Glue
from omnichunk.structure.latex import latex_spans
from omnichunk.structure.latex import plain as latex_plain
from omnichunk.structure.prose import asciidoc_spans, org_spans, text_spans
from omnichunk.structure.rst import plain as rst_plain
from omnichunk.structure.rst import rst_spans

SPANS = {"rst": rst_spans, "latex": latex_spans, "org": org_spans, "asciidoc": asciidoc_spans}


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
    assert [s.kind for s in blocks] == ["heading", "element", "list", "code", "table"]
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
    "\ufeff", "\x0c",
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
    "[a]\n" * N + "----\n", "\n" * N, " \n" * N, "*" * N,
]  # fmt: skip


@pytest.mark.parametrize("text", ADVERSARIAL, ids=range(len(ADVERSARIAL)))
def test_adversarial_text_ends(text):
    for language in SPANS:
        check_contract(spans_of(language, text), text)
