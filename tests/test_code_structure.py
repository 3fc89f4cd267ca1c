"""Code: the spans keep their contract on any text, and outlines say what a reader would say."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("tree_sitter")
from omnichunk import Chunker
from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Glue, Span, Strength, Structure
from omnichunk.structure.code import spans
from omnichunk.structure.fallback import outlined

SAMPLES = {
    "python": '''"""Doc."""
import os
from sys import argv, path as p

LIMIT = {
    "a": 1,
    "b": 2,
}

# about f
@decorated
# and more
def f(a,
      b):
    """Say é."""
    if a:
        return 1
    else:
        x = 2

    def inner(y):
        # a reason
        return [y for y in range(10) if y is not None and y != x and y is not a]

    return inner


class A(B):
    """A class."""

    def m(self):
        return 1

    @property
    def q(self): return 2
''',
    "javascript": """import d, { a as b } from "m";
const fs = require("fs");

/** Doc of f. */
export const f = async (x) => {
  await x;
  if (x) {
    one();
    two();
  } else {
    three();
    four();
  }
};

export default class Foo extends Bar {
  // first
  m() {
    return 1;
  }
}
""",
    "typescript": """import { X } from "x";

export class Reports {
  constructor(private s: S) {}

  @Get("reports")
  @Header("x", "y")
  // kept for a minute
  @Cache(60)
  async list(q: Query) {
    return this.s.list(q);
  }
}

interface Shape {
  area(): number;
}
""",
    "rust": """use std::collections::HashMap;

/// A point.
#[derive(Debug)]
pub struct Point {
    x: f64,
    y: f64,
}

impl Point {
    #[inline]
    pub fn new(x: f64) -> Self {
        let y = vec![1]
            .iter()
            .sum();
        Point { x, y }
    }
}
""",
    "go": """package a

import (
	"fmt"
	m "net/http"
)

// Server serves.
type Server struct {
	n int
}

// Start starts.
func (s *Server) Start() error {
	switch s.n {
	case 1:
		fmt.Println("x")
		return nil
	}
	return nil
}
""",
    "java": """package com.x;

import java.util.List;

/** Doc. */
@Entity
public class A extends B {
    private int n;

    /** Get. */
    @Override
    public int get(int a,
                   int b) {
        try {
            n++;
            n++;
        } catch (Exception e) {
            n--;
        }
        return n;
    }
}
""",
}

# name, label, signature, parent, first and last line (from 1)
OUTLINES = {
    "python": [
        ("LIMIT", "constant", "LIMIT = {", None, 5, 8),
        ("f", "function", "def f(a,\n      b):", None, 10, 25),
        ("inner", "function", "def inner(y):", "f", 21, 23),
        ("A", "class", "class A(B):", None, 28, 35),
        ("m", "method", "def m(self):", "A", 31, 32),
        ("q", "method", "def q(self):", "A", 34, 35),
    ],
    "javascript": [
        ("f", "function", "export const f = async (x) =>", None, 4, 14),
        ("Foo", "class", "export default class Foo extends Bar", None, 16, 21),
        ("m", "method", "m()", "Foo", 17, 20),
    ],
    "typescript": [
        ("Reports", "class", "export class Reports", None, 3, 13),
        ("constructor", "method", "constructor(private s: S) {}", "Reports", 4, 4),
        ("list", "method", "async list(q: Query)", "Reports", 6, 12),
        ("Shape", "interface", "interface Shape", None, 15, 17),
        ("area", "method", "area(): number", "Shape", 16, 16),
    ],
    "rust": [
        ("Point", "struct", "pub struct Point", None, 3, 8),
        ("Point", "class", "impl Point", None, 10, 18),
        ("new", "method", "pub fn new(x: f64) -> Self", "Point", 11, 17),
    ],
    "go": [
        ("Server", "struct", "type Server", None, 8, 11),
        ("Start", "method", "func (s *Server) Start() error", None, 13, 21),
    ],
    "java": [
        ("A", "class", "public class A extends B", None, 5, 22),
        ("get", "method", "public int get(int a,\n                   int b)", "A", 10, 21),
    ],
}

IMPORTS = {
    "python": [("os", ""), ("argv", "sys"), ("p", "sys")],
    "javascript": [("d", "m"), ("b", "m"), ("fs", "fs")],
    "typescript": [("X", "x")],
    "rust": [("HashMap", "std::collections::HashMap")],
    "go": [("fmt", ""), ("m", "net/http")],
    "java": [("List", "java.util.List")],
}


def described(text: str, language: str = "python") -> Structure:
    """The structure with all that contexts are made from."""
    structure = spans(StructureRequest(text, language, "file"))
    return structure if structure.rest is None else replace(structure, imports=structure.rest(), rest=None)


def assert_contract(text: str, top: Structure) -> int:
    """Sorted, disjoint, inside the parent, at the first column, ranges inside; returns the number of spans."""
    count = 0
    stack = [(0, len(text), top.spans)]
    while stack:
        start, end, row = stack.pop()
        for span in row:
            count += 1
            assert start <= span.start < span.end <= end
            assert span.start == 0 or text[span.start - 1] == "\n"
            start = span.end
            for inner in (span.detail.signature, span.detail.doc) if span.detail else ():
                assert inner is None or span.start <= inner[0] <= inner[1] <= span.end
            if span.children:
                stack.append((span.start, span.end, span.children))
    return count


def definitions(structure: Structure) -> list[Span]:
    return [span for top in structure.spans for span in top.walk() if span.detail and span.detail.label]


def row(text: str, span: Span) -> tuple[str, str, str, str | None, int, int]:
    above = next((s.name for s in span.ancestors() if s.detail and s.detail.label), None)
    first, last = (text.count("\n", 0, at) + 1 for at in (span.start, span.end - 1))
    assert span.detail is not None
    assert span.detail.signature is not None
    return span.name, span.detail.label, text[slice(*span.detail.signature)], above, first, last


def lines(text: str, row: list[Span] | tuple[Span, ...]) -> list[str]:
    return [text[span.start :].split("\n", 1)[0].strip() for span in row]


@pytest.mark.parametrize("language", SAMPLES)
def test_outline(language):
    text = SAMPLES[language]
    found = described(text, language)
    assert [row(text, span) for span in definitions(found)] == OUTLINES[language]
    assert list(found.imports) == IMPORTS[language]
    assert not found.errors
    assert found.backend == f"tree-sitter:{language}"
    assert not found.fallback
    assert_contract(text, found)
    assert [row(text, span) for span in definitions(found)] == OUTLINES[language]  # opening lists nothing twice


@given(
    st.sampled_from(sorted(SAMPLES)),
    st.lists(
        st.tuples(
            st.integers(0, 900),
            st.integers(0, 60),
            st.sampled_from(
                ["", "\n", "{", "}", "(", '"', "é\n", "\n\n", "  ", "#", "/*", "\r\n", "\t", ";", "\0", "\ufeff"]
            ),
        ),
        max_size=6,
    ),
)
@settings(max_examples=150, deadline=None)
@example("python", [(0, 60, "")])
def test_contract_holds_for_damaged_code(language, edits):
    text = SAMPLES[language]
    for at, length, new in edits:
        text = text[:at] + new + text[at + length :]
    assert_contract(text, described(text, language))
    assert_contract(text, outlined(text, language, "for a test"))


@pytest.mark.parametrize(
    "text", ["", "\n", "  ", "\ufeff", "x", "# only", "é", "\n\n\nx = 1", "def f(:\n    return )\n"]
)
@pytest.mark.parametrize("language", ["python", "javascript", "c"])
def test_small_texts(text, language):
    assert_contract(text, described(text, language))


def test_details_are_made_when_asked_for():
    found = described(SAMPLES["java"], "java")
    get = definitions(found)[1]
    assert get.opener is not None
    comment, annotated = get.children
    assert (comment.kind, comment.glue) == ("comment", Glue.NEXT)
    assert annotated.detail is None
    assert annotated.opener is not None
    assert lines(SAMPLES["java"], annotated.children) == ["@Override", "try {", "return n;"]
    assert annotated.children[0].glue == Glue.NEXT


def test_documentation_is_a_range():
    text = SAMPLES["python"]
    docs = {s.name: text[slice(*s.detail.doc)] for s in definitions(described(text)) if s.detail and s.detail.doc}
    assert docs == {"f": '"""Say é."""', "A": '"""A class."""'}
    java = SAMPLES["java"]
    assert [java[slice(*s.detail.doc)] for s in definitions(described(java, "java")) if s.detail and s.detail.doc] == [
        "/** Doc. */", "/** Get. */",
    ]  # fmt: skip


def opened(text: str, language: str) -> list[Span]:
    """The spans inside the only top-level thing of a text."""
    found = described(text, language)
    assert_contract(text, found)
    return list(found.spans if len(found.spans) > 1 else found.spans[0].children)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "javascript",
            "foo(function () {\n  a();\n  b();\n}, function () {\n  c();\n});\n",
            ["a();", "}, function () {", "c();"],
        ),
        ("javascript", "x = {\n  a: 1,\n  b: 2,\n};\n", ["a: 1,", "b: 2,"]),
        ("javascript", "q\n  .a()\n  .b()\n  .c();\n", [".a()", ".b()", ".c();"]),
        ("javascript", "if (a) {\n  b();\n  c();\n} else {\n  d();\n}\n", ["b();", "} else {"]),
        ("javascript", "(function () {\n  var a;\n  function f() {\n  }\n})();\n", ["var a;", "function f() {"]),
        ("python", "if a:\n    b\n    c\nelif d:\n    e\nelse:\n    f\n", ["b", "elif d:", "else:"]),
        ("python", "x = foo(\n    a,\n    b,\n)\n", ["a,", "b,"]),
        ("python", "x = (a\n     + b\n     + c)\n", ["+ b", "+ c)"]),
        ("go", "package a\n\nvar x = 1\n", ["package a", "var x = 1"]),
        ("c", "void f()\n{\n  a();\n  do {\n    b();\n  } while (c);\n}\n", ["a();", "do {"]),
    ],
)  # fmt: skip
def test_what_a_statement_is_opened_into(language, text, expected):
    assert lines(text, opened(text, language)) == expected


def test_a_turn_is_stronger_than_the_statements_around_it():
    inside = opened("if (a) {\n  b();\n  c();\n} else {\n  d();\n}\n", "javascript")
    assert inside[1].strength > inside[0].children[1].strength


def test_strength_of_cuts():
    text = "a = 1\nb = 2\n\nc = 3\n# note\nd = 4\n\n# alone\n\ndef f():\n    x\n"
    top = described(text).spans
    assert [(span.kind, span.strength, span.glue) for span in top] == [
        ("statement", Strength.ITEM, Glue.NONE),
        ("statement", Strength.BLOCK, Glue.NONE),
        ("comment", Strength.ITEM, Glue.NEXT),
        ("statement", Strength.ITEM, Glue.NONE),
        ("comment", Strength.BLOCK, Glue.NONE),
        ("definition", Strength.SECTION, Glue.NONE),
    ]


def test_a_trailing_comment_belongs_to_its_line():
    text = "a = 1  # one\n\nb = 2\n"
    assert lines(text, described(text).spans) == ["a = 1  # one", "b = 2"]
    first = "a = 1  # one\ndef f():\n    x\n"
    for text in (first, "\n" + first):
        assert lines(text, described(text).spans) == ["a = 1  # one", "def f():"], text


def test_what_a_damaged_head_holds_is_no_part_of_the_body():
    text = '"""open(file """\ndef match(s, words):\n """\n else:\n # prefix.\n  [word word.startswith(s)]'
    stack = [*described(text).spans]
    assert any(span.kind == "definition" for span in stack)
    while stack:
        span = stack.pop()
        edges = [span.start, *(edge for child in span.children for edge in (child.start, child.end)), span.end]
        assert edges == sorted(edges)
        stack += span.children


def test_short_statements_share_a_span_until_it_is_opened():
    text = "a = 1  # one\nb = 2\nc = 3\n\n" + "d = 4\n" * 60
    found = described(text).spans
    assert lines(text, found[:2]) == ["a = 1  # one", "d = 4"]
    assert lines(text, found[0].children) == ["a = 1  # one", "b = 2", "c = 3"]
    assert {span.strength for span in found[0].children} == {Strength.ITEM}
    assert max(span.end - span.start for span in found) < 170


def test_imports_are_one_span():
    text = "import a\n" * 60 + "x = 1\n"
    found = described(text)
    assert [span.kind for span in found.spans] == ["import", "statement"]
    assert len(found.imports) == len(found.spans[0].children) == 60


@pytest.mark.skipif(importlib.util.find_spec("tree_sitter_language_pack") is None, reason="needs the language pack")
def test_definitions_inside_conditional_compilation():
    text = "#ifdef A\nint f(int n) {\n  return 1;\n}\n#else\nint g(void) {\n  return 0;\n}\n#endif\n"
    assert [span.name for span in definitions(described(text, "c"))] == ["f", "g"]


@pytest.mark.skipif(importlib.util.find_spec("tree_sitter_language_pack") is None, reason="needs the language pack")
def test_a_function_after_macro_calls_is_whole():
    text = (
        "GEN(alpha)\nGEN(beta)\n\nEACH(item, list) {\n    use(item);\n}\n\nint after(int x) {\n    return x * 2;\n}\n"
    )
    found = described(text, "c")
    after = next(span for span in definitions(found) if span.name == "after")
    assert text[after.start : after.end] == "int after(int x) {\n    return x * 2;\n}"


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("javascript", "function a() {\n  f(1, [2;\n}\n\nfunction b() {\n  g();\n}\n\nclass C {\n}\n", ["a", "b", "C"]),
        ("go", "package p\n\nfunc A() {\n\tif x {\n}\n\nfunc B() {\n\tg()\n}\n\ntype T struct {\n}\n", ["A", "B", "T"]),
        ("java", "class A {\n  int m() {\n    if (x {\n  }\n\n  public int n() {\n  }\n}\n", ["A", "m", "n"]),
        ("python", "def a():\n    x = [1, {2\n\n\ndef b():\n    pass\n\n\nclass C:\n    pass\n", ["a", "b", "C"]),
    ],
)  # fmt: skip
def test_definitions_behind_a_syntax_error_are_found(language, text, expected):
    found = described(text, language)
    assert_contract(text, found)
    assert [span.name for span in definitions(found)] == expected
    assert found.errors


def test_cuts_beside_damage_are_weaker():
    top = described("def a():\n    x = = 1\n\n\ndef b():\n    pass\n").spans
    assert [(span.name, span.strength) for span in top] == [("a", Strength.BLOCK), ("b", Strength.SECTION)]


def test_errors_name_their_lines():
    assert described("x = 1\ndef broken(:\n    return )\n").errors == [
        "syntax error near line 2",
        "syntax error near line 3",
    ]
    assert len(described("def (:\n\n" * 500).errors) <= 5


def test_without_a_grammar(monkeypatch):
    monkeypatch.setattr("omnichunk.structure.code.grammar", lambda _: None)
    monkeypatch.setattr("omnichunk.structure.code.unavailable", lambda _: "no grammar")
    text = SAMPLES["python"]
    found = described(text)
    assert (found.backend, found.fallback) == ("regex", True)
    assert list(found.errors) == ["python: no grammar; structure by regular expressions"]
    names = [(span.name, span.detail.label) for span in definitions(found) if span.detail]
    assert names == [("f", "function"), ("inner", "function"), ("A", "class"), ("m", "method"), ("q", "method")]
    assert_contract(text, found)


def test_a_definition_found_by_regular_expression_ends_where_its_indentation_does():
    text = "class A:\n    def m(self):\n        x\n\nif a:\n    def g():\n        y\n"
    found = outlined(text, "python", "for a test")
    assert [(s.name, s.kind) for s in found.spans] == [("A", "definition"), ("", "statement"), ("g", "definition")]


class Node:
    """A tree as a plugin may give it; counts how often ``children`` is asked for."""

    asked = 0

    def __init__(self, kind: str, start: int, end: int, *children: Node) -> None:
        self.type, self.start_byte, self.end_byte, self._children = kind, start, end, list(children)
        self.times = 0
        self.is_named = kind.isidentifier()

    @property
    def children(self) -> list[Node]:
        Node.asked += 1
        self.times += 1
        return self._children


class Tree:
    def __init__(self, root: Node) -> None:
        self.root_node = root


def test_a_plugin_parser_is_used():
    text = "def f\n  x\nend\nrest\n"
    name = Node("identifier", 4, 5)
    method = Node("method", 0, 13, Node("def", 0, 3), name, Node("body", 8, 9, Node("call", 8, 9)), Node("end", 10, 13))
    tree = Tree(Node("program", 0, len(text), method, Node("call", 14, 18)))
    found = spans(StructureRequest(text, "ruby", "f.rb", lambda _path, _text: tree))
    assert [(s.start, s.end, s.kind, s.name) for s in found.spans] == [
        (0, 13, "definition", "f"),
        (14, 18, "statement", ""),
    ]
    assert found.backend == "plugin:ruby"


def test_a_plugin_parser_may_decline_or_fail():
    def broken(_path: str, _text: str) -> None:
        raise RuntimeError("exploded")

    def parsed(parser: Callable[[str, str], Any]) -> Structure:
        return spans(StructureRequest("def f():\n    pass\n", "python", "f.py", parser))

    assert parsed(lambda _path, _text: None).backend == "tree-sitter:python"
    failed = parsed(broken)
    assert failed.backend == "tree-sitter:python"
    assert failed.errors[0] == "parser plugin for python raised RuntimeError: exploded"
    for answer in (object(), Tree(Node("module", 0, 99))):
        assert parsed(lambda _path, _text, answer=answer: answer).errors


def test_a_plugin_tree_that_breaks_when_it_is_opened_stops_nothing():
    class Torn(Node):
        @property
        def children(self) -> list[Node]:
            raise RuntimeError("torn")

    text = "first\n  a\n  b\nlast\n"
    tree = Tree(Node("program", 0, len(text), Torn("call", 0, 13), Node("call", 14, 18)))
    found = spans(StructureRequest(text, "ruby", "f.rb", lambda _path, _text: tree))
    assert found.backend == "plugin:ruby"
    assert [list(span.children) for span in found.spans] == [[], []]


@pytest.mark.parametrize("opening", ["[", "[\n", "[ 1,\n"])
def test_each_node_is_asked_once_however_deep(opening):
    depth = 2_000
    text = opening * depth + "x\n" + "]\n" * depth
    end = depth * len(opening) + 1
    node = Node("name", end - 1, end)
    for level in range(1, depth + 1):
        start = (depth - level) * len(opening)
        end = depth * len(opening) + 2 + 2 * level - 1
        node = Node("array", start, end, Node("[", start, start + 1), node, Node("]", end - 1, end))
    nodes, stack = [], [node]
    while stack:
        nodes.append(stack.pop())
        stack.extend(nodes[-1]._children)
    Node.asked = 0
    found = spans(StructureRequest(text, "ada", "", lambda _path, _text: Tree(node)))
    assert found.backend == "plugin:ada"
    assert_contract(text, found)
    assert Node.asked <= 3 * len(nodes)
    assert max(node.times for node in nodes) <= 3


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "x = " + "[" * 50_000 + "]" * 50_000 + "\n"),
        ("javascript", "[" + "[\n" * 10_000 + "]\n" * 10_001),
        ("javascript", "if (a) {\n" * 1_000 + "x();\n" + "}\n" * 1_000),
        ("javascript", "if (a) {\n x();\n} else " * 1_000 + "{\n}\n"),
        ("javascript", "q\n" + ".step()\n" * 3_000 + ";\n"),
        ("java", "class A {\n" * 3_000 + "}\n" * 3_000),
        ("javascript", "var a={b:function(){return 1}};" * 5_000),
        ("python", "x = 1\n" * 20_000),
    ],
    ids=range(8),
)
def test_hostile_shapes(language, text):
    assert_contract(text, described(text, language))


def test_lines_of_a_shell_in_python_are_no_syntax_errors():
    text = "%matplotlib inline\nimport os\n!ls -l\n\n\ndef f(a):\n    %timeit a\n    return a\n\n\nf?\n"
    (chunk,) = Chunker().chunk("a.py", text)
    assert chunk.context.parse_errors == ()
    assert [e.name for e in chunk.context.entities] == ["f"]
    (modulo,) = Chunker().chunk("a.py", "x = (1\n% 3)\n")
    assert modulo.context.parse_errors == ()


def test_statements_on_one_line_cost_no_more_than_their_number():
    text = "a;" * 40_000
    made = Chunker(coverage_policy="lossless").chunk("a.py", text)
    assert "".join(c.text for c in made) == text
