"""Grammars: the parser, the compiled queries and the node tables of one language, loaded when first asked for.

``grammars/<language>/language.toml`` says where the parser comes from and what its nodes mean::

    [grammar]
    package = "tree_sitter_python"   # a wheel of its own, preferred; ``function`` if it is not ``language``
    pack = "python"                  # else the name in the language pack; the folder's name if absent
    inherits = "javascript"          # whose queries and other tables serve too, where nothing here says otherwise
    embeds = ["javascript", "css"]   # there is no parser: markup whose scripts and styles go to those of their languages
    unsafe = "hangs"                 # never parsed in this process
    ascii = true                     # the scanner crashes on other code points: they are masked
    unended = "#"                    # the scanner never returns from such a comment in a last line without end: masked
    shell = '''...'''                # lines in another language (a shell's): masked if the text does not parse with them

    [nodes]
    comment = [...]     # comments; those right before a definition are its documentation
    attribute = [...]   # decorators and attributes that are siblings before the definition
    wrap = [...]        # holds one definition and lends it its range (decorated, exported, templated)
    open = [...]        # to be looked into for definitions: blocks, class bodies, conditionals
    body = [...]        # field names that hold the body of a definition; the rest is its signature
    docstring = true    # the first string in the body documents the definition
    flat = [...]        # lists at the top that are no unit: what is in them counts as if it stood beside them
    mark = "#"          # what comments begin with, if it is not "/"
    words = [...]       # one of them begins the line of a definition inside a function; each starts with a definition kind
                        # or a modifier of one. Without the list every function is looked through

    [only]              # kind = what the text of a node matches at its start wherever a pattern rooted in it may succeed
    kind = '''...'''

    [fallback]          # kind = regular expression with a group ``name``, one line at a time, when no parser is there
    function = '''...'''

``tags.scm`` finds definitions. Its patterns are rooted in the definition's own node, so that a walker can run the query
with start depth 0 on each node it meets whose kind is in ``definition_kinds`` (before it asks whether the node wraps or
opens). Captures: ``@definition.<kind>`` on the root, ``@name``, optionally ``@parent`` (name of the type a method
belongs to when it stands outside); imports have ``@import`` on the root with ``@name`` and ``@source``. When several
patterns match one node, the earliest in the file says what it is; other matches of that pattern are further names
(``const a, b``). A function right inside a class, interface, struct, trait or enum is a method: the walker knows that,
the patterns need not. Inherited patterns come last; those rooted in kinds the grammar does not have are left out.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import py_object, pythonapi
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from sys import getrefcount
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

from omnichunk.errors import PluginError
from omnichunk.model.declarations import Language
from omnichunk.parsing.languages import PACK, lineage, lookup, pack_names, read_tables

if TYPE_CHECKING:
    import tree_sitter

PIECE = 1 << 16
"""Bytes the parser is handed at a time."""
LATER = 256
"""Bytes handed over for the text of a node once the tree is there: each request copies that much."""
GRACE, SECONDS_PER_BYTE = 3.0, 5e-6
"""Processor time a parse may take: the slowest sound grammars need 1.5 seconds a megabyte, most of them 0.2 to 0.8."""
STEPS = 16
"""Progress reports between two looks at the clock; one comes every 20 to 60 µs, in bad error recovery every 10 ms."""


@dataclass(frozen=True)
class NodeTable:
    """The ``[nodes]`` of ``language.toml``: node kinds by their role, ``body`` as field names."""

    comment: frozenset[str] = frozenset()
    attribute: frozenset[str] = frozenset()
    wrap: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    flat: frozenset[str] = frozenset()
    body: tuple[str, ...] = ("body",)
    docstring: bool = False
    mark: bytes = b"/"
    words: tuple[bytes, ...] = ()
    only: Mapping[str, re.Pattern[bytes]] = field(default_factory=dict)


@dataclass(eq=False)
class Grammar:
    """One language ready to parse. Shared by threads: each has its own parser."""

    name: str
    language: tree_sitter.Language
    backend: str
    """Names the parser in ``format_metadata["parser_backend"]``: ``tree-sitter:python``."""
    origin: str
    """The module the parser came from."""
    nodes: NodeTable
    folders: tuple[str, ...] = ()
    """Where its queries are: its own folder, then those it inherits from."""
    ascii: bool = False
    unended: bytes = b""
    shell: re.Pattern[bytes] | None = None
    _local: threading.local = field(default_factory=threading.local, repr=False)

    def parse(self, raw: bytes) -> tree_sitter.Tree | None:
        """The tree of ``raw`` (UTF-8), or ``None`` when the parser was stopped because it went astray.

        Error recovery can take time quadratic in the input, so the processor time of this thread is limited; that costs
        2 % of a parse. Offsets of the tree are bytes of ``raw`` even where the parser saw it masked.
        """
        parser: tree_sitter.Parser | None = getattr(self._local, "parser", None)
        if parser is None:
            from tree_sitter import Parser

            parser = self._local.parser = Parser(self.language)
        if self.ascii and not raw.isascii():
            raw = raw.translate(_ASCII_ONLY)
        if self.unended and (at := raw.find(self.unended, raw.rfind(b"\n") + 1)) >= 0:
            raw = raw[:at] + b" " * (len(raw) - at)
        tree = self._parsed(parser, raw)
        if tree is not None and self.shell is not None and tree.root_node.has_error:
            masked, lines = self.shell.subn(lambda line: b"_" * len(line[0]), raw)
            if lines:
                return self._parsed(parser, masked)
        return tree

    @staticmethod
    def _parsed(parser: tree_sitter.Parser, raw: bytes) -> tree_sitter.Tree | None:
        size = PIECE
        left = STEPS
        handed = b""
        hoards = _hoards()
        limit = thread_time() + GRACE + SECONDS_PER_BYTE * len(raw)

        # tree-sitter reports progress only when it reads through a callback, whose answers must be bytes (it crashes on
        # a memoryview), and reads through it again for the text of a node.
        def read(offset: int, _point: tree_sitter.Point) -> bytes:
            nonlocal handed
            if hoards:
                _let_go(handed)
            # All but the last byte, so that it is a new object, which nobody else refers to.
            handed = raw[offset : min(offset + size, max(len(raw) - 1, offset + 1))]
            return handed

        def stop(_offset: int, _failed: bool) -> bool:
            nonlocal left
            left -= 1
            if left:
                return False
            left = STEPS
            return thread_time() > limit

        try:
            tree = parser.parse(read, progress_callback=stop)
        except ValueError:
            parser.reset()
            return None
        finally:
            if hoards:
                _let_go(handed)
            hoards = False  # what is handed over for the text of a node is given back
            handed = b""
        size = LATER
        return tree

    @cached_property
    def patterns(self) -> Sequence[Pattern]:
        """The patterns of ``tags.scm``; none without one."""
        found: list[Pattern] = []
        for folder in self.folders:
            path = Path(folder, "tags.scm")
            patterns = split(path.read_text("utf-8")) if path.is_file() else ()
            found += [p for p in patterns if folder == self.folders[0] or self._has(p.kinds)]
        return tuple(found)

    def _has(self, kinds: Iterable[str]) -> bool:
        return all(self.language.id_for_node_kind(kind, True) for kind in kinds)

    def query(self, patterns: Iterable[Pattern]) -> tree_sitter.Query:
        """``patterns`` compiled, which takes up to 30 ms. Raises PluginError when one is wrong."""
        from tree_sitter import Query, QueryError

        try:
            return Query(self.language, "\n".join(pattern.text for pattern in patterns))
        except QueryError as error:
            raise PluginError(f"{self.folders[0]}/tags.scm: {error}") from None


@cache
def _hoards() -> bool:
    """Whether the installed binding keeps a reference to all it was handed for good, as 0.26 does: the size of each text."""
    from tree_sitter import Parser

    known = next((g for g in map(_load, map(lookup, _PROBES)) if isinstance(g, Grammar)), None)
    if known is None:
        return False
    pieces: list[bytes] = []

    def read(offset: int, _point: tree_sitter.Point) -> bytes:
        pieces.append(_PROBE[offset : offset + 8])
        return pieces[-1]

    Parser(known.language).parse(read, progress_callback=lambda _offset, _failed: False)
    first = pieces[0]
    pieces.clear()
    return getrefcount(first) > 2


_PROBES = ("python", "javascript", "typescript", "rust", "go", "java", "c")
_PROBE = b"a = b\nb = a\na = b\n"


def _let_go(handed: bytes) -> None:
    """Take back the reference to ``handed`` that the binding forgot; single bytes are shared and never freed."""
    if len(handed) > 1:
        pythonapi.Py_DecRef(py_object(handed))


_ASCII_ONLY = bytes(range(128)) + b"x" * 128

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|;[^\n]*|[()\[\]]|[^\s()\[\]";]+')


class Pattern(NamedTuple):
    """One pattern of a query: its text, the node kinds it can be rooted in, its captures in order.

    ``label``: what it defines, the part after ``definition.``; empty for imports.
    """

    text: str
    kinds: tuple[str, ...]
    captures: tuple[str, ...]

    @property
    def label(self) -> str:
        return next((c.partition(".")[2] for c in self.captures if c.startswith("definition.")), "")


def split(source: str) -> Iterator[Pattern]:
    """The patterns of a query; groups and alternatives are looked through for the kinds they are rooted in."""
    kinds: list[str] = []
    captures: list[str] = []
    nodes: list[bool] = []  # for each open bracket, whether it is a node (or predicate) and not a mere group
    opened = False
    start = -1
    for match in _TOKEN.finditer(source):
        token = match[0]
        if token[0] in ';"':
            opened = False
            continue
        if opened and token[0] not in "()[]":
            if not any(nodes[:-1]) and token[0] != "#":
                kinds.append(token)
            nodes[-1] = True
        elif token[0] in "([":
            if not nodes:
                if start >= 0:
                    yield Pattern(source[start : match.start()].strip(), tuple(kinds), tuple(captures))
                start = match.start()
                kinds, captures = [], []
            nodes.append(False)
        elif token[0] in ")]":
            nodes.pop()
        elif token[0] == "@":
            captures.append(token[1:])
        opened = token == "("
    if start >= 0:
        yield Pattern(source[start:].strip(), tuple(kinds), tuple(captures))


_GUESS = re.compile(
    r"(?:\w+_)?(function|func|fn|method|constructor|procedure|subroutine|class|interface|protocol|struct|record|union|enum"
    r"|trait|module|namespace|package|macro|contract|object|type_alias)"
    r"(?:_(?:definition|declaration|item|decl|def|statement|specifier|implementation))"
)
_KIND = {
    "func": "function", "fn": "function", "procedure": "function", "subroutine": "function", "constructor": "method",
    "protocol": "interface", "record": "struct", "union": "struct", "namespace": "module", "package": "module",
    "contract": "class", "object": "class", "type_alias": "type",
}  # fmt: skip


def guessed_kinds(language: tree_sitter.Language) -> dict[str, str]:
    """Node kinds named like ``function_definition`` -> kind of definition; empty when no node has a ``name`` field."""
    count = language.node_kind_count if language.field_id_for_name("name") else 0
    visible = (i for i in range(count) if language.node_kind_is_named(i) and language.node_kind_is_visible(i))
    guesses = ((kind, _GUESS.fullmatch(kind)) for kind in (language.node_kind_for_id(i) or "" for i in visible))
    return {kind: _KIND.get(guess[1], guess[1]) for kind, guess in guesses if guess}


def grammar(language: str | Language) -> Grammar | None:
    """The grammar of a canonical language (or a declaration), loaded once; ``None`` if ``unavailable`` says why."""
    loaded = _load(lookup(language) if isinstance(language, str) else language)
    return loaded if isinstance(loaded, Grammar) else None


def unavailable(language: str | Language) -> str:
    """Why there is no grammar for the language, as part of a sentence; empty when there is one."""
    loaded = _load(lookup(language) if isinstance(language, str) else language)
    return loaded if isinstance(loaded, str) else ""


def fallback(language: str | Language) -> Mapping[str, re.Pattern[str]]:
    """Definition kind -> regular expression with a group ``name``, for languages whose grammar is not available."""
    return _fallback(lookup(language) if isinstance(language, str) else language)


@cache
def _fallback(language: Language) -> Mapping[str, re.Pattern[str]]:
    return {kind: re.compile(source) for kind, source in read_tables(language).get("fallback", {}).items()}


def registered(language: str | Language) -> tuple[str, str]:
    """Where the parser of a language would come from: ``(wheel, name in the pack)``, each empty if nowhere."""
    declared = lookup(language) if isinstance(language, str) else language
    table = read_tables(declared).get("grammar", {})
    bare = declared.name if not declared.folder or declared.provider == "code" else ""
    return table.get("package", ""), table.get("pack", bare)


def embedded(language: Language) -> tuple[str, ...]:
    """The languages whose definitions stand in scripts and styles of ``language``; scripts come first."""
    return tuple(read_tables(language).get("grammar", {}).get("embeds", ()))


@cache
def _load(language: Language) -> Grammar | str:
    tables = read_tables(language)
    table: dict[str, Any] = tables.get("grammar", {})
    if "unsafe" in table:
        return f"the {language.name} grammar {table['unsafe']} on some input and is not used"
    wheel, packed = registered(language)
    if not wheel and not packed:
        return f"{language.name} has no grammar"
    try:
        from tree_sitter import Language as Parsed
    except ImportError:
        return "tree_sitter is not installed"
    reasons = []
    for module, name in ((wheel, table.get("function", "language")), (PACK, packed)):
        if not module or not name or (module == PACK and name not in pack_names()):
            continue
        try:
            found = import_module(module)
            pointer = found.get_binding(name) if module == PACK else getattr(found, name)()
            return Grammar(
                language.name,
                Parsed(pointer),
                f"tree-sitter:{language.name}",
                module,
                _nodes(tables, language),
                tuple(inherited.folder for inherited in lineage(language) if inherited.folder),
                bool(table.get("ascii")),
                table.get("unended", "").encode(),
                re.compile(table["shell"].encode(), re.MULTILINE) if "shell" in table else None,
            )
        except ModuleNotFoundError:
            continue
        except (ImportError, LookupError, AttributeError, ValueError, OSError) as error:
            reasons.append(f"{module}: {error}")
    extra = "code" if wheel else "all-languages"
    return "; ".join(reasons) or f'no grammar for {language.name} is installed (pip install "omnichunk[{extra}]")'


def _nodes(tables: Mapping[str, Any], language: Language) -> NodeTable:
    given = dict(tables.get("nodes", {}))
    unknown = set(given) - ({f.name for f in fields(NodeTable)} - {"only"})
    if unknown:
        raise PluginError(f'{language.folder}/language.toml: unknown key "{min(unknown)}" in [nodes].')
    given.setdefault("comment", ["comment", "line_comment", "block_comment"])
    return NodeTable(
        docstring=bool(given.pop("docstring", False)),
        mark=given.pop("mark", "/").encode(),
        body=tuple(given.pop("body", ("body",))),
        words=tuple(word.encode() for word in given.pop("words", ())),
        only={kind: re.compile(source.encode()) for kind, source in tables.get("only", {}).items()},
        **{key: frozenset(kinds) for key, kinds in given.items()},
    )
