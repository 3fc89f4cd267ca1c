"""Languages: what a file is, what a name means, what is declared."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import OptionError, PluginError, language_capabilities
from omnichunk.model.declarations import Language
from omnichunk.parsing import languages as room
from omnichunk.parsing.grammar import grammar, unavailable
from omnichunk.parsing.languages import (
    Languages,
    canonical,
    detect,
    languages,
    lineage,
    lookup,
    read_tables,
    using,
)


@pytest.mark.parametrize(
    ("name", "head", "language"),
    [
        ("a.py", "", "python"),
        ("SRC/A.PY", "", "python"),
        ("c:\\x\\A.Ts", "", "typescript"),
        ("x.tsx", "", "tsx"),
        ("x.d.ts", "", "typescript"),
        ("x.ts", '<?xml version="1.0"?>\n<!DOCTYPE TS>', "xml"),
        ("x.h", "int f(void);\n", "c"),
        ("x.h", "namespace a {\n}\n", "cpp"),
        ("x.h", "#import <Foundation/Foundation.h>\n@interface A\n", "objc"),
        ("x.m", "@implementation A\n@end\n", "objc"),
        ("x.m", "#import <A/A.h>\nint f(void) {\n    x = 1;\n}\n", "objc"),
        ("x.m", "x = 1;\n", "matlab"),
        ("x.m", "% solves it\nfunction y = f(x)\n", "matlab"),
        ("x.pl", "use strict;\n", "perl"),
        ("x.pl", ":- module(m, []).\n", "prolog"),
        ("x.v", "module m (input a);\n", "verilog"),
        ("Makefile", "", "make"),
        ("Dockerfile.dev", "", "dockerfile"),
        ("CMakeLists.txt", "", "cmake"),
        ("go.mod", "", "gomod"),
        (".bashrc", "", "bash"),
        ("README", "", "text"),
        ("README.md", "", "markdown"),
        ("page.xhtml", "", "html"),
        ("a.tar.unknown", "", ""),
        ("run", "#!/usr/bin/env -S python3.11 -u\n", "python"),
        ("run", "\ufeff#! /bin/sh\n", "bash"),
        ("run", "#!/usr/bin/nobody-knows\n", ""),
        ("", "", ""),
    ],
)
def test_detection(name, head, language):
    """File name, then suffix, then the head of the text."""
    assert detect(name, head) == language


@given(st.text(max_size=40), st.text(max_size=200))
def test_detection_answers_for_any_name(name, head):
    """Odd names and heads give a declared language or nothing."""
    found = detect(name, head)
    assert found == "" or found in languages()


@pytest.mark.parametrize("name", ["csharp", "c_sharp", "C-Sharp", "c#", "cs", "CS"])
def test_aliases_are_one_language(name):
    """All spellings of a name lead to one canonical name."""
    assert canonical(name) == "csharp"


def test_unknown_name_is_an_error_with_a_suggestion():
    """A typo never degrades to plain text."""
    with pytest.raises(OptionError, match='did you mean "csharp"'):
        canonical("c_shrap")


def test_names_and_aliases_are_unique():
    """No alias, file name or interpreter belongs to two languages, and at most one sharing a suffix has no pattern."""
    for take in (lambda x: [x.name, *x.aliases], lambda x: x.filenames, lambda x: x.shebangs):
        owners: dict[str, str] = {}
        for language in languages().values():
            for key in take(language):
                assert owners.setdefault(key.lower(), language.name) == language.name, key
    shared: dict[str, list[str]] = {}
    for language in languages().values():
        re.compile(language.sniff)
        for suffix in language.suffixes:
            assert suffix == suffix.lower()
            assert suffix.startswith(".")
            if not language.sniff:
                shared.setdefault(suffix, []).append(language.name)
    assert {suffix: names for suffix, names in shared.items() if len(names) > 1} == {}


def test_heads_are_read_alike_by_both_readers():
    """The quick reader of heads agrees with the TOML parser, and every head is in its reach."""
    for language in languages().values():
        with open(f"{language.folder}/language.toml", encoding="utf-8") as file:
            head, _, _ = ("\n" + file.read()).partition("\n[")
        assert room._plain_head(head) == room._toml(head, language.folder), language.name


def test_a_language_of_the_pack_needs_no_folder():
    """Every grammar of the installed pack has a canonical name."""
    for name in room.pack_names():
        assert lookup(canonical(name)).name == canonical(name)


def test_a_language_inherits_tables_and_queries(tmp_path):
    """Key by key, from the nearest; a line that leads back to itself is an error that names the file."""
    tsx = read_tables(lookup("tsx"))
    assert tsx["grammar"]["function"] == "language_tsx"
    assert tsx["nodes"]["wrap"] == read_tables(lookup("typescript"))["nodes"]["wrap"]
    assert tsx["nodes"]["comment"] == read_tables(lookup("javascript"))["nodes"]["comment"]
    assert [language.name for language in lineage(lookup("tsx"))] == ["tsx", "typescript", "javascript"]
    for above, message in (("nobody", "has no folder"), ("loop", "inherits from itself")):
        folder = tmp_path / above
        folder.mkdir()
        folder.joinpath("language.toml").write_text(f'[grammar]\ninherits = "{above}"\n')
        language = Language("loop", folder=str(folder))
        with pytest.raises(PluginError, match=message):
            using(Languages([language]), lineage, language)


def test_capabilities_are_consistent():
    """Rows say what is there: a parser needs a grammar, and extraction by grammar needs a parser."""
    rows = {row.language: row for row in language_capabilities()}
    assert len(rows) >= 40
    for row in rows.values():
        assert row.extraction in ("ast", "regex", "none")
        assert row.grammar_registered or not row.grammar_available
        assert row.parser_available == (row.reason == "")
        assert row.extraction != "ast" or row.parser_available
    assert "hangs" in rows["cobol"].reason
    assert rows["cobol"].extraction == "regex"
    assert rows["csharp"].extraction == "ast"
    assert rows["vue"].extraction == rows["javascript"].extraction


ABSENT = """
import sys
from omnichunk.parsing import grammar, languages
if sys.argv[1] == "tree_sitter":
    sys.modules["tree_sitter"] = None
languages.PACK = grammar.PACK = "no_such_pack"
from omnichunk import language_capabilities
for row in language_capabilities():
    print(row.language, row.grammar_registered, row.grammar_available, row.query_available, row.extraction, row.reason)
"""


@pytest.mark.parametrize(
    ("absent", "expected"),
    [
        ("tree_sitter", ["python True False True regex tree_sitter is not installed", "vue True False True regex"]),
        ("pack", ["python True True True ast", "vue True True True ast", "kotlin True False True regex", "less False"]),
    ],
)
def test_capabilities_are_true_where_an_extra_is_missing(absent, expected):
    """Without the parsers, or without the pack, the rows say so and what to install."""
    if grammar("python") is None:
        pytest.skip(unavailable("python"))
    command = [sys.executable, "-c", ABSENT, absent]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for start in expected:
        assert any(row.startswith(start) for row in rows), start
    assert absent == "pack" or not any(" ast" in row for row in rows)
    assert absent == "tree_sitter" or any('"omnichunk[all-languages]"' in row for row in rows)
