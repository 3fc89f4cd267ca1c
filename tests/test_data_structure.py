"""Data formats: outlines as data, the contract of spans over mutated documents, hostile input."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnichunk import Chunker
from omnichunk.model.declarations import StructureRequest
from omnichunk.model.span import Glue, Span, Strength, Structure
from omnichunk.structure.data import omnichunk_structure
from omnichunk.structure.entries import DEEPEST

PROVIDERS = {language: provider for provider in omnichunk_structure() for language in provider.kinds}


def structure(language: str, text: str) -> Structure:
    return PROVIDERS[language].spans(StructureRequest(text, language))


def outline(text: str, spans: Iterable[Span], depth: int = 0) -> Iterator[str]:
    """One line a span: indentation, kind or name, and where the text is no longer than a line, the text."""
    for span in spans:
        held = text[span.start : span.end]
        yield f"{'  ' * depth}{span.name or span.kind}" + (f" | {held.rstrip()}" if not span.children else "")
        yield from outline(text, span.children, depth + 1)


OUTLINES = [
    (
        "json",
        '{\n  // why\n  "a": 1, // one\n\n  "b\\u0063": [\n    1,\n    {"x": "},{"}\n  ],\n  d: {},\n}\n',
        [
            'a |   // why\n  "a": 1, // one',
            "bc",
            "  [0] |     1,",
            "  [1]",
            '    x | "x": "},{"',
            "d |   d: {},",
        ],
    ),
    ("json", '{"a":"b","a":"c"}', ['a | "a":"b",', 'a | "a":"c"']),
    ("json", '{"a": 1}\n{"b": 2}\n[3]', ["item", '  a | "a": 1', "item", '  b | "b": 2', "item", "  [0] | 3"]),
    ("json", '"text"', []),
    ("jsonl", '{"a": [1, 2]}\n\n7\n', ["row", "  a", "    [0] | 1,", "    [1] | 2", "row | 7"]),
    ("jsonl", '{\n"a": 1\n}\n', ['a | "a": 1']),
    (
        "yaml",
        "openapi: 3.0.0\r\npaths:\r\n  # first\r\n  /item 7:\r\n    get: {a: 1,\r\n      b: 2}\r\n"
        "    tags:\r\n    - x\r\n    - name: y\r\n      k: z\r\n# end\r\n'it''s': |\r\n  no: key\r\n  - no item\r\n",
        [
            "openapi | openapi: 3.0.0",
            "paths",
            "  /item 7",
            "    get |     get: {a: 1,\r\n      b: 2}",
            "    tags",
            "      [0] |     - x",
            "      [1]",
            "        name |     - name: y",
            "        k |       k: z",
            "it's | # end\r\n'it''s': |\r\n  no: key\r\n  - no item",
        ],
    ),
    ("yaml", "---\na: 1\n---\nb: &x\n  c: 2\n...\n", ["item", "  a | a: 1", "item", "  b", "    c |   c: 2\n..."]),
    ("yaml", "- - a: 1\n    b: http://x#y # z\n- c\n", None),
    ("yaml", '{"a": 1, "b": [2]}', ['a | "a": 1,', "b", "  [0] | 2"]),
    ("yaml", "a:\n{{- if .x }}\n  b: 1\n{{- end }}\n  c: 2\n", ["a", "  b |   b: 1\n{{- end }}", "  c |   c: 2"]),
    (
        "toml",
        'x = 1\n\n# about a\n[a."b c"]\nlist = [\n  1, # ]\n  [2],\n]\ntext = """\n[no]\nkey = 1\n"""\n'
        "[[p]]\n[[p]]\nq.r = {s = 1,\n t = 2}\n",
        [
            "x | x = 1",
            "a.b c",
            "  list | list = [\n  1, # ]\n  [2],\n]",
            '  text | text = """\n[no]\nkey = 1\n"""',
            "p[0] | [[p]]",
            "p[1]",
            "  q.r | q.r = {s = 1,\n t = 2}",
        ],
    ),
    (
        "ini",
        "; top\n[core]\n\ta = 1\n\tb = x\n\t\tmore\n\n# about\nexport C: 2 \\\n[no]\n[empty]\n",
        ["core", "  a | \ta = 1", "  b | \tb = x\n\t\tmore", "  C | # about\nexport C: 2 \\\n[no]", "empty | [empty]"],
    ),
    ("csv", "a,b\n1,2\n3,4\n", ["table", "  row | a,b", "  text | 1,2\n3,4"]),
    (
        "csv",
        '# made today\nTitle,,\na,b,c\n1,"x\n""y"", z",2\n3,4,5\n',
        ["text | # made today\nTitle,,", "table", "  row | a,b,c", '  row | 1,"x\n""y"", z",2', "  text | 3,4,5"],
    ),
    ("csv", "1,2.5\n2024-01-01,3\n", ["table", "  text | 1,2.5\n2024-01-01,3"]),
    ("csv", '"a\nb";c\n1,5;2\n', ["table", '  row | "a\nb";c', "  text | 1,5;2"]),
    ("csv", "sep=|\na|b,c\n1|2,3\n", ["text | sep=|", "table", "  row | a|b,c", "  text | 1|2,3"]),
    ("csv", "name\nx\ny\n", ["table", "  row | name", "  text | x\ny"]),
    ("tsv", "Cups\t\t\nTeam\tCity, State\tn\nBlues\tSTL\t1\n", None),
    ("csv", "", []),
]


@pytest.mark.parametrize(("language", "text", "expected"), OUTLINES)
def test_outline(language: str, text: str, expected: list[str] | None) -> None:
    found = structure(language, text)
    assert not found.errors
    assert found.backend.startswith("scanner:")
    if expected is not None:
        assert list(outline(text, found.spans)) == expected


def test_compact_lists_start_with_their_line() -> None:
    text = "- - a: 1\n    b: http://x#y # z\n- c\n"
    top = structure("yaml", text).spans
    inner = top[0].children[0].children
    assert [s.name for s in inner] == ["a", "b"]
    assert [s.start for s in inner] == [0, 9]
    assert [s.name for s in inner[0].ancestors()] == ["[0]", "[0]"]


def test_key_path_and_strengths() -> None:
    text = "paths:\n  /item7:\n    get:\n      summary: x\n"
    paths = structure("yaml", text).spans[0]
    get = paths.children[0].children[0]
    summary = get.children[0]
    assert [s.name for s in summary.ancestors()] == ["get", "/item7", "paths"]
    assert [s.strength for s in (paths, paths.children[0], get, summary)] == [
        Strength.BLOCK, Strength.ITEM, Strength.LINE, Strength.LINE,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\r\n1,2\r\n", "a,b\r\n"),
        ("\ufeffa;b\n1;2\n", "a;b\n"),
        ('"a ""q""\nb",c\n1,2', '"a ""q""\nb",c\n'),
        ("Cups\t\t\nTeam\tCity\tn\nBlues\tSTL\t1\n", "Team\tCity\tn\n"),
        ("a|b|c\nx, y|z, w|1\n", "a|b|c\n"),
        ("1;2\n3;4\n", None),
    ],
)
def test_header_is_carried(text: str, header: str | None) -> None:
    table = structure("csv", text).spans[-1]
    assert table.kind == "table"
    assert table.detail is not None
    assert table.detail.label == "table"
    carry = table.detail.carry
    assert (None if carry is None else text[slice(*carry)]) == header
    if header:
        assert table.children[0].glue & Glue.NEXT


@pytest.mark.parametrize(
    ("language", "text", "line"),
    [
        ("json", '{"asd":"asd"', 1),
        ("json", '[1,\n{"a": 2]]', 2),
        ("json", '{\n"a": "x,\n"b": 1}', 2),
        ("json", "\n\nhello", 3),
        ("json", '{"a": 1}\nrest', 2),
        ("json", "[1 /* open", 1),
        ("jsonl", '{"a": 1}\n{"b": \n', 2),
        ("yaml", "a:\n\tb: 1\n", 2),
        ("toml", "a = 1\nb = [\nc = 2\n", 2),
        ("toml", "a = 1\nnonsense\n", 2),
        ("csv", 'a,b\n1,"oops\n2,3\n', 2),
    ],
)
def test_damage_is_named_and_structure_kept(language: str, text: str, line: int) -> None:
    found = structure(language, text)
    what = "JSON" if language == "jsonl" else language.upper()
    assert list(found.errors) == [f"invalid {what} near line {line}"]


def test_lost_quote_costs_one_line() -> None:
    text = 'a,b\n1,"oops\n' + "2,3\n" * 50 + '4,"x\ny"\n'
    rows = structure("csv", text).spans[0].children
    assert [text[s.start : s.end] for s in rows if s.kind == "row"] == ["a,b\n", '4,"x\ny"\n']
    broken = '{"a": "oops,\n "b": [1, 2],\n "c": {"d": 3}}'
    assert [s.name for s in structure("json", broken).spans][-1] == "c"


def test_long_lists_come_in_runs_that_open() -> None:
    numbers = list(range(10_000, 13_000))
    text = json.dumps({"n": numbers})
    entry = structure("json", text).spans[0]
    runs = entry.children
    assert len(runs) < 300
    assert {s.kind for s in runs} == {"item"}
    items = [item for run in runs for item in run.children]
    assert [item.name for item in items] == [f"[{i}]" for i in range(3000)]
    assert [int(text[i.start : i.end].rstrip(", ")) for i in items] == numbers


def test_runs_after_an_insertion_stay() -> None:
    def runs(numbers: list[int]) -> list[str]:
        text = json.dumps(numbers, indent=1)
        return [text[s.start : s.end] for s in structure("json", text).spans]

    numbers = [n * 7919 % 100_003 for n in range(5000)]
    before, after = runs(numbers), runs([*numbers[:50], 5, *numbers[50:]])
    assert len(set(before) - set(after)) < 12


def test_long_keys_are_shortened() -> None:
    (span,) = structure("json", json.dumps({"k" * 100_000: 1})).spans
    assert len(span.name) < 200


def check(text: str, spans: Iterable[Span], start: int, end: int) -> int:
    """The contract of ``model.span`` for a whole tree; returns its depth."""
    depth = 0
    stack = [(list(spans), start, end, 1)]
    while stack:
        level, low, high, depth_ = stack.pop()
        depth = max(depth, depth_) if level else depth
        at = low
        for span in level:
            assert at <= span.start < span.end <= high
            at = span.end
            stack.append((list(span.children), span.start, span.end, depth_ + 1))
    return depth


PIECES = st.sampled_from(
    ['{', '}', '[', ']', '"', "'", ',', ':', ': ', '- ', '-', '\n', '\r\n', '  ', '\t', '# c', '//', '/*', '*/',
     '---\n', '|', 'a', 'key', '1', '.5', '\\', '=', '"""', "'''", '[t]', '[[t]]', ';', '""',
     '\ufeff', '\x1e', 'é', '👩‍👩', '\x85', '&a ', '{{'],
)  # fmt: skip


@pytest.mark.parametrize("language", sorted(PROVIDERS))
def test_contract_holds_for_any_text(language: str) -> None:
    seeds = [text for of, text, _ in OUTLINES if of == language] * 2

    @given(st.sampled_from(seeds), st.lists(st.tuples(st.integers(0, 200), st.integers(0, 4), PIECES), max_size=30))
    @settings(max_examples=60, deadline=None, database=None)
    def holds(text: str, edits: list[tuple[int, int, str]]) -> None:
        for at, gone, piece in edits:
            text = text[:at] + piece + text[at + gone :]
        first, again = structure(language, text), structure(language, text)
        check(text, first.spans, 0, len(text))
        assert list(outline(text, first.spans)) == list(outline(text, again.spans))
        assert list(first.errors) == list(again.errors)

    holds()


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5), max_leaves=30,
), st.sampled_from([None, 1, 4]))  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_every_value_of_json_is_found(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    found = structure("json", text)
    assert not found.errors
    stack = [(found.spans, value)]
    while stack:
        spans, inside = stack.pop()
        if isinstance(inside, dict):
            assert [s.name for s in spans] == [k if k else '""' for k in inside]
            stack += [(s.children, v) for s, v in zip(spans, inside.values(), strict=True)]
        elif isinstance(inside, list):
            assert [s.name for s in spans] == [f"[{i}]" for i in range(len(inside))]
            stack += [(s.children, v) for s, v in zip(spans, inside, strict=True)]
        else:
            assert not spans


HOSTILE = [
    ("json", "[" * 200_000),
    ("json", '{"a":' * 200_000),
    ("json", "[{" * 50_000 + "]" * 100_000),
    ("json", "[}" * 100_000),
    ("json", "[" * 500 + "]" * 500),
    ("json", '"' * 200_000),
    ("json", "/*" * 100_000),
    ("json", "[" + "/* */ 1," * 50_000),
    ("json", '{"a":"' + "\\n" * 500_000 + '"}'),
    ("json", "[1," + " " * 500_000 + "\n" * 500_000),
    ("jsonl", "[" * 100_000 + "\n]"),
    ("yaml", "- " * 200_000),
    ("yaml", "a: " + " " * 500_000 + "b"),
    ("yaml", "& " * 100_000 + ": x"),
    ("yaml", "a:" * 100_000),
    ("yaml", "".join(" " * i + "a:\n" for i in range(1000))),
    ("toml", "a = [\n" * 50_000),
    ("toml", 'a = """\n' * 50_001),
    ("toml", "a = " + "[" * 100_000),
    ("toml", '["' * 100_000),
    ("ini", "[a" * 100_000 + "=\\\n" * 50_000),
    ("csv", '1,"x\n' * 50_000),
    ("csv", 'a,b\n1,"' + 'x,""y\n' * 50_000),
    ("csv", 'a,"""x\n' * 50_000),
    ("csv", "1" * 300_000 + "x"),
    ("csv", ',"' * 200_000),
]


@pytest.mark.parametrize(("language", "text"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_input_is_read_once(language: str, text: str) -> None:
    assert check(text, structure(language, text).spans, 0, len(text)) <= DEEPEST + 3


def test_a_row_that_fits_is_not_cut_for_a_header_that_does_not():
    row = ",".join(map(str, range(61))) + "\n"
    text = "id," + ",".join(f"column_{i}" for i in range(60)) + "\n" + row * 4
    made = Chunker(max_chunk_size=200).chunk("a.csv", text)
    assert [c.text for c in made][-4:] == [row] * 4
