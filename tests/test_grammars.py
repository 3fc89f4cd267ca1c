"""Grammars: every table and query is sound, and the outline is what a reader would say."""

from __future__ import annotations

import re
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("tree_sitter")
from tree_sitter import QueryCursor

from omnichunk.parsing import grammar as room
from omnichunk.parsing.grammar import fallback, grammar, split, unavailable
from omnichunk.parsing.languages import languages, lineage, lookup

KINDS = {
    *("function", "method", "class", "interface", "struct", "enum", "trait", "module", "type", "constant", "macro"),
    "field",
}
TAGGED = [x.name for x in languages().values() if any(Path(y.folder, "tags.scm").is_file() for y in lineage(x))]
CODE = [x.name for x in languages().values() if x.provider == "code"]

OUTLINES = {
    "python": (
        "import os, a.b as c\n"
        "from x import y as z\n"
        "MAX = 1\n"
        "min = 2\n"
        "@d\n"
        "async def f(): pass\n"
        "class A(B):\n"
        "  def m(self): pass\n",
        "import:os import:c<a.b import:z<x constant:MAX function:f class:A function:m",
    ),
    "javascript": (
        "import d, {a as b} from 'm';\n"
        "export const f = async () => {};\n"
        "module.exports.g = function () {};\n"
        "export default () => 1;\n"
        "class K { #p = () => 2; get q() { return 1 } }\n"
        "const o = { h() {}, i: () => 1 };\n",
        "import:d<m import:b<m function:f function:module.exports.g function:default class:K "
        "method:#p method:q method:h method:i",
    ),
    "typescript": (
        "namespace N.M { export function f(): void; }\n"
        "abstract class A { abstract m(): void; l = () => 1 }\n"
        "interface I { n(): void }\n"
        "export const enum E { X }\n"
        "type T = 1;\n"
        "declare function h(): void;\n",
        "module:N.M function:f class:A method:m method:l interface:I method:n enum:E type:T function:h",
    ),
    "tsx": (
        "export const V = () => <p>x</p>;\n",
        "function:V",
    ),
    "rust": (
        "use a::b;\n"
        "impl<T> Tr for A<T> { fn m(&self) {} }\n"
        "trait T { fn q(); }\n"
        "mod m { struct S; enum E {} }\n"
        "macro_rules! mm { () => {} }\n"
        "const C: u8 = 1;\n",
        "import:a::b class:A<T> function:m trait:T function:q module:m struct:S enum:E macro:mm constant:C",
    ),
    "go": (
        "package p\n"
        'import "fmt"\n'
        "func F() {}\n"
        "func (b *Box[T]) G() {}\n"
        "type A struct{}\n"
        "type C interface{}\n"
        "type D = int\n",
        "import:fmt function:F method:G struct:A interface:C type:D",
    ),
    "java": (
        "import a.B;\n"
        "class A<T> { static final int MAX = 1; A() {} void m() {} enum E {} record R(int a) {} @interface N {} }\n",
        "import:a.B class:A constant:MAX method:A method:m enum:E struct:R interface:N",
    ),
    "c": (
        "#include <a.h>\n"
        "#define N 1\n"
        "#define F(x) x\n"
        "#ifdef Q\n"
        "static int *f(int n) { return 0; }\n"
        "#endif\n"
        "int g(void);\n"
        "struct s { int a; };\n"
        "typedef struct { int b; } t;\n"
        "enum e { X };\n",
        "import:<a.h> constant:N macro:F function:f function:g struct:s struct:t enum:e",
    ),
    "cpp": (
        "namespace a::b {\n"
        "template <class T> class C : D { public: C(); ~C() {} int m() const; T &operator[](int i) { return x; } };\n"
        "int C::m() const { return 1; }\n"
        "using U = int;\n"
        "}\n",
        "module:a::b class:C function:C function:~C method:m function:operator[] function:C::m type:U",
    ),
    "csharp": (
        "using System.Text;\n"
        "namespace A.B;\n"
        "public class C<T> : D { const int K = 1; public C() {} int P { get; set; } void M() {} }\n"
        "interface I {}\n"
        "record R(int a);\n"
        "enum E { X }\n",
        "import:System.Text module:A.B class:C constant:K method:C field:P method:M interface:I struct:R enum:E",
    ),
    "ruby": (
        "require 'set'\nmodule M\n  class C < D\n    LIMIT = 3\n    def m?; end\n    def self.n; end\n  end\nend\n",
        "import:set module:M class:C constant:LIMIT function:m? method:n",
    ),
    "php": (
        "<?php\n"
        "use A\\B;\n"
        "function f() {}\n"
        "interface I {}\n"
        "trait T {}\n"
        "class C { public function m() {} }\n"
        "enum E {}\n"
        "const K = 1;\n",
        "import:A\\B function:f interface:I trait:T class:C method:m enum:E constant:K",
    ),
    "kotlin": (
        "import a.b\n"
        "const val K = 1\n"
        "fun f() {}\n"
        "class C {\n  fun m() {}\n  companion object {\n    fun n() {}\n  }\n}\n"
        "interface I\n"
        "object O\n"
        "enum class E { X }\n"
        "typealias T = Int\n",
        "import:a.b constant:K function:f class:C function:m class:companion function:n interface:I "
        "class:O enum:E type:T",
    ),
    "swift": (
        "import Foundation\n"
        "func f() {}\n"
        "class C { init() {} func m() {} }\n"
        "struct S {}\n"
        "enum E {}\n"
        "protocol P { func q() }\n"
        "extension S {}\n",
        "import:Foundation function:f class:C method:init function:m struct:S enum:E interface:P method:q class:S",
    ),
    "scala": (
        "import a.b\nobject O { def f = 1 }\ntrait T { def g: Int }\ncase class C(x: Int)\ntype U = Int\nval Max = 1\n",
        "class:O function:f trait:T function:g class:C type:U constant:Max",
    ),
}


def outline(language: str, text: str) -> str:
    """Definitions and imports in document order, as a walker finds them: a query of depth 0 on each promising node."""
    raw = text.encode()
    loaded = grammar(language)
    tree = loaded.parse(raw)
    kinds = {kind for pattern in loaded.patterns for kind in pattern.kinds}
    cursor = QueryCursor(loaded.query(loaded.patterns))
    cursor.set_max_start_depth(0)

    def word(node):
        return raw[node.start_byte : node.end_byte].decode()

    found = []
    stack = [tree.root_node]
    while stack:
        node = stack.pop()
        stack.extend(reversed(node.children))
        if node.type not in kinds:
            continue
        matches = cursor.matches(node)
        first = min((i for i, _ in matches), default=-1)
        for i, captures in matches:
            label = next((c for c in captures if c.startswith(("definition.", "import"))), "")
            if label != "import" and i != first:
                continue
            entry = label.removeprefix("definition.") + ":" + "".join(map(word, captures.get("name", ())))
            entry += "".join("<" + word(n) for n in captures.get("source", ()))
            found.append(entry + "".join("@" + word(n) for n in captures.get("parent", ())))
    return " ".join(found)


@pytest.mark.parametrize("language", sorted(OUTLINES))
def test_outline(language):
    """Definitions and imports of a small file."""
    if grammar(language) is None:
        pytest.skip(unavailable(language))
    text, expected = OUTLINES[language]
    found = outline(language, text)
    if language == "scala":
        found = re.sub(r"import:\S+ ", "", found)
    assert found == expected


@pytest.mark.parametrize("language", TAGGED)
def test_queries_are_sound(language):
    """The query compiles, its captures are known ones, each pattern is rooted in a kind that exists."""
    loaded = grammar(language)
    if loaded is None:
        pytest.skip(unavailable(language))
    patterns = loaded.patterns
    assert loaded.query(patterns).pattern_count == len(patterns)
    names = {name for pattern in patterns for name in pattern.captures}
    assert {name for name in names if not name.startswith("_")} <= {
        "name", "source", "import", *(f"definition.{kind}" for kind in KINDS)
    }  # fmt: skip
    assert any(pattern.label for pattern in patterns)
    for pattern in patterns:
        assert bool(pattern.label) != ("import" in pattern.captures)
        assert pattern.kinds
        for kind in pattern.kinds:
            assert loaded.language.id_for_node_kind(kind, True) is not None


@pytest.mark.parametrize("language", CODE)
def test_tables_name_what_exists(language):
    """Node kinds and field names of language.toml are the grammar's; fallback patterns capture a name."""
    for kind, pattern in fallback(language).items():
        assert kind in KINDS
        assert set(pattern.groupindex) == {"name"}
    loaded = grammar(language)
    if loaded is None:
        assert unavailable(language)
        return
    kinds = {loaded.language.node_kind_for_id(i) for i in range(loaded.language.node_kind_count)}
    nodes = loaded.nodes
    declared = (
        nodes.attribute
        | nodes.wrap
        | nodes.open
        | nodes.flat
        | (set() if lineage(lookup(language))[1:] else set(nodes.only))
    )
    if nodes.comment != {"comment", "line_comment", "block_comment"}:
        declared |= nodes.comment
    assert declared <= kinds


def test_patterns_are_split():
    """Groups and alternatives are looked through for the root, predicates and inner nodes are none."""
    source = '; c (x)\n((a (b)) @p (#eq? @p "(z)"))\n[(c) (d f: (e))] @q @definition.r\n(g) @s'
    assert [(p.text, p.kinds, p.captures, p.label) for p in split(source)] == [
        ('((a (b)) @p (#eq? @p "(z)"))', ("a",), ("p", "p"), ""),
        ("[(c) (d f: (e))] @q @definition.r", ("c", "d"), ("q", "definition.r"), "r"),
        ("(g) @s", ("g",), ("s",), ""),
    ]


def test_a_parser_that_goes_astray_is_stopped(monkeypatch):
    """Its time is limited in proportion to the input, and the parser can be used afterwards."""
    loaded = grammar("python")
    raw = b"x = 1\n" * 4000
    with monkeypatch.context() as patch:
        patch.setattr(room, "GRACE", -1.0)
        assert loaded.parse(raw) is None
    assert loaded.parse(raw).root_node.end_byte == len(raw)


def test_threads_have_parsers_of_their_own():
    """One grammar serves several threads at once."""
    loaded = grammar("python")
    ends = []
    threads = [
        Thread(target=lambda: ends.append(loaded.parse(b"def f(): pass\n" * 2000).root_node.end_byte)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == [28000] * 4


def test_text_of_nodes_can_be_read():
    """Nodes of a tree know their text, also far into a large source."""
    raw = ("# é\n" * 50_000 + "def fin(): pass\n").encode()
    node = grammar("python").parse(raw).root_node.children[-1]
    assert node.text == b"def fin(): pass"


@pytest.mark.parametrize("language", ["bash", "d", "v"])
def test_masked_languages_keep_their_offsets(language):
    """A language whose scanner crashes on other code points sees them masked, byte for byte."""
    loaded = grammar(language)
    if loaded is None:
        pytest.skip(unavailable(language))
    raw = "é() {\n  echo '🎉' \"\U0010ffff\"\n}\n".encode()
    tree = loaded.parse(raw)
    assert tree.root_node.end_byte == len(raw)


@pytest.mark.parametrize("text", ["foo # end", "r#x", "1;\nfoo #a", "foo #a\n"])
def test_a_comment_without_end_of_line_ends_a_parse(text):
    """The perl scanner never returns from one, so it is masked; offsets stay."""
    loaded = grammar("perl")
    if loaded is None:
        pytest.skip(unavailable("perl"))
    assert loaded.parse(text.encode()).root_node.end_byte <= len(text)


def test_a_hanging_grammar_is_never_loaded():
    """It says why instead."""
    assert grammar("cobol") is None
    assert "hangs" in unavailable("cobol")
    assert unavailable("python") == ""
