"""Hostile and clumsy plugins: each is refused as a whole with a reason, and nothing else suffers."""

from __future__ import annotations

import threading
from dataclasses import fields
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import (
    Chunker,
    ChunkingError,
    FormatSegment,
    Formatter,
    Language,
    LoadedDocument,
    Loader,
    OptionError,
    Parser,
    PluginError,
    PluginRegistry,
    Renderer,
    Sink,
    Source,
    Span,
    Structure,
    StructureProvider,
    Tokenizer,
    cli_output,
    collect,
    declared,
    hookimpl,
    plugins,
)


def load(source):
    """The source as one prose segment."""
    return LoadedDocument(source.data, (FormatSegment(0, len(source.data)),))


def plugin(**hooks):
    """A plugin, named ``stranger``, whose hooks return what is given, or call it."""
    made = ModuleType("stranger")
    for kind, answer in hooks.items():
        setattr(made, f"omnichunk_{kind}", hookimpl(answer if callable(answer) else lambda answer=answer: answer))
    return made


def plugin_of(value, kind="loaders"):
    made = ModuleType("stranger")

    @hookimpl
    def hook():
        return value() if callable(value) else value

    setattr(made, f"omnichunk_{kind}", hook)
    return made


def entry(name, loaded, distribution="", version="0.1", value=""):
    """A fake entry point; ``loaded`` is what it loads, or an exception it raises."""

    def loads():
        if isinstance(loaded, BaseException):
            raise loaded
        return loaded

    dist = SimpleNamespace(name=distribution, version=version)
    return SimpleNamespace(name=name, value=value or name, dist=dist, load=loads)


@pytest.fixture
def installed(monkeypatch):
    """Have these entry points be the installed ones."""

    def have(*entries):
        monkeypatch.setattr(plugins, "_entry_points", lambda: entries)

    monkeypatch.delenv(plugins.DISABLE, raising=False)
    return have


def halfway():
    yield Loader("one", load)
    raise KeyError("gone")


def leaves():
    raise SystemExit(3)


class Silent(Exception):
    def __str__(self):
        raise ValueError("no")


def mute():
    raise Silent


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (halfway, "omnichunk_loaders raised KeyError: 'gone'"),
        (leaves, "omnichunk_loaders raised SystemExit: 3"),
        (mute, "omnichunk_loaders raised Silent"),
    ],
)
def test_a_hook_may_raise_anything(hook, message):
    registry = PluginRegistry()
    before = registry.plugins(), registry.fingerprint, dict(registry.loaders())
    with pytest.raises(PluginError, match=message):
        registry.register(plugin_of(hook))
    assert before == (registry.plugins(), registry.fingerprint, dict(registry.loaders()))
    registry.register(plugin_of([Loader("one", load)]))
    assert "one" in registry.loaders(), "its name is free after the failure"


def test_hooks_take_no_arguments():
    made = ModuleType("stranger")

    @hookimpl
    def omnichunk_loaders(config):
        return []

    made.omnichunk_loaders = omnichunk_loaders
    with pytest.raises(PluginError, match=r"plugin stranger: hooks take no arguments: .*'config'"):
        PluginRegistry().register(made)


def test_what_declares_nothing_is_told_why():
    unmarked = ModuleType("stranger")
    unmarked.omnichunk_loaders = list
    with pytest.raises(PluginError, match="omnichunk_loaders is not marked @hookimpl"):
        PluginRegistry().register(unmarked)
    for nothing in (ModuleType("stranger"), object(), None, "omnichunk_srt"):
        with pytest.raises(PluginError, match="declares nothing"):
            PluginRegistry().register(nothing)

    class Subtitles:
        @hookimpl
        def omnichunk_loaders(self):
            return []

    with pytest.raises(PluginError, match="Register an instance of it"):
        PluginRegistry().register(Subtitles)


def test_attributes_that_raise():
    class Hostile:
        @property
        def __version__(self):
            raise RuntimeError("no version")

        def __getattr__(self, name):
            raise RuntimeError(name)

        @hookimpl
        def omnichunk_loaders(self):
            return [Loader("hostile", load)]

    registry = PluginRegistry()
    with pytest.raises(PluginError, match="plugin hostile: RuntimeError"):
        registry.register(Hostile(), "hostile")
    assert registry.loaders()["text"]


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        (Loader("srt", load, suffixes=".srt"), r"Loader \"srt\": suffixes='.srt'; a tuple"),
        (Loader("srt", load, suffixes=("srt",)), 'each must be like ".srt"'),
        (Loader("srt", None), "load=None; a callable"),
        (Loader("srt", load, sniff=b"SRT"), "sniff=b'SRT'; a callable"),
        (Loader("srt", load, options={"overlap": 1}), '"overlap" is an option already'),
        (Loader("srt", load, options={"a b": 1}), "a mapping of option names"),
        (Loader(3, load), "name=3; a name"),
        (Loader("a\nb", load), "a name of 1 to 100 printable"),
        (Loader("srt", load, media_types=(b"a",)), "each must be a non-empty string"),
        (Loader("srt", load, binary="yes"), "True or False"),
        (Language("srt", kind="film"), '"code", "prose"'),
        (Language("srt", folder="/nowhere"), "language.toml"),
        (Language("srt", sniff="("), "a regular expression"),
        (Parser("pythn", load), 'did you mean "python"'),
        (Tokenizer("approximate", lambda: len), "has a meaning of its own"),
        (Formatter("json", "".join), "has a meaning of its own"),
        (Renderer("r", None), "a callable"),
        (Sink("", print), "a name"),
    ],
    ids=repr,
)
def test_a_declaration_that_cannot_work(declaration, message):
    kind = next(kind for kind, made in declared.KINDS.items() if isinstance(declaration, made))
    registry = PluginRegistry()
    with pytest.raises(PluginError, match=message):
        registry.register(plugin_of([declaration], kind))
    assert all(row.name != "stranger" for row in registry.plugins())


def test_declarations_are_brought_into_form():
    """Lists become tuples and suffixes lower case, so that what is declared is found."""
    registry = PluginRegistry(plugins=[plugin_of([Loader("srt", load, suffixes=[".SRT"], media_types=["Text/SRT"])])])
    assert registry.loader_for(Source("a.srt", b"")).name == "srt"
    assert registry.loader_for(Source("a", b""), media_type="text/srt").name == "srt"
    assert registry.loaders()["srt"].suffixes == (".srt",)
    with pytest.raises(TypeError):
        registry.loaders()["other"] = registry.loaders()["srt"]


def test_every_field_is_checked_and_every_format_reserved():
    for made in declared.KINDS.values():
        for field in fields(made):
            assert {field.name, f"{made.__name__}.{field.name}"} & set(declared._CHECKS), field.name
    assert declared.RESERVED["formatters"] == set(cli_output.WRITERS)


@given(st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=5), st.binary(max_size=3)), max_size=5), st.data())
def test_any_field_values_end_in_a_plugin_error_or_work(values, data):
    """Whatever is put into a declaration, the registry stays usable."""
    made = data.draw(st.sampled_from([Loader, Language, StructureProvider, Parser, Tokenizer, Renderer, Sink]))
    names = [field.name for field in fields(made)]
    filled = {**dict.fromkeys(names[:3], "x"), **dict(zip(names, values))}
    kind = next(kind for kind, of in declared.KINDS.items() if of is made)
    registry = PluginRegistry()
    try:
        registry.register(plugin_of([made(**filled)], kind))
    except ChunkingError:
        assert registry.fingerprint == PluginRegistry().fingerprint
    assert registry.loader_for(Source("a.py", b"")).name == "text"


# Entry points


def test_one_broken_entry_point_is_a_row(installed):
    """Whatever loading raises, the rest is loaded; a missing module and a missing attribute name what is missing."""
    from importlib.metadata import EntryPoint

    installed(
        entry("exits", SystemExit(2)),
        entry("raises", RuntimeError("no such library")),
        EntryPoint("gone", "omnichunk_no_such_module", plugins.GROUP),
        EntryPoint("nothing", "json:no_such_plugin", plugins.GROUP),
        entry("hook", plugin_of(halfway)),
        entry("good", plugin_of([Loader("good", load)]), "omnichunk-good", "1.2"),
    )
    registry = PluginRegistry()
    rows = {row.name: row for row in registry.load_entry_points()}
    assert {name: row.state for name, row in rows.items()} == {
        "exits": "failed", "raises": "failed", "gone": "failed", "nothing": "failed", "hook": "failed", "good": "loaded"
    }  # fmt: skip
    assert rows["gone"].error == "ModuleNotFoundError: No module named 'omnichunk_no_such_module'"
    assert "no_such_plugin" in rows["nothing"].error
    assert rows["hook"].error == "plugin hook 0.1: omnichunk_loaders raised KeyError: 'gone'"
    good = registry.provenance("loaders", "good")
    assert (good.distribution, good.version, good.origin) == ("omnichunk-good", "1.2", "entry point")
    assert collect.label(good) == "plugin good (omnichunk-good 1.2)"
    assert set(rows.values()) <= set(registry.plugins())
    assert set(registry.snapshot().plugins()) == set(registry.plugins())


def test_names_of_entry_points_that_collide(installed):
    """Two of one name, one named like a built-in plugin, one with a loader named like a built-in: none is dropped."""
    installed(
        entry("srt", plugin_of([Loader("srt", load)]), "one"),
        entry("srt", plugin_of([Loader("srt2", load)]), "two"),
        entry("srt", plugin_of([Loader("srt", load)]), "three"),
        entry("omnichunk.loaders.text", plugin_of([Loader("t", load)]), "four"),
        entry("takes", plugin_of([Loader("text", load)]), "five"),
    )
    registry = PluginRegistry()
    states = {row.name: row.state for row in registry.load_entry_points()}
    assert states == {
        "srt": "loaded", "srt (two)": "loaded", "srt (three)": "failed", "omnichunk.loaders.text (four)": "loaded",
        "takes": "failed",
    }  # fmt: skip
    assert registry.loaders()["text"].load.__module__ == "omnichunk.loaders.text"
    assert {"srt", "srt2"} <= set(registry.loaders())
    again = {row.name: row.state for row in registry.load_entry_points()}
    assert again == states


def test_a_plugin_registered_by_hand_is_not_loaded_again(installed):
    made = plugin_of([Loader("srt", load)])
    installed(entry("srt", made, "omnichunk-srt"))
    registry = PluginRegistry(plugins=[made])
    assert [row.origin for row in registry.load_entry_points()] == ["registered"]
    with pytest.raises(PluginError, match='the same plugin is registered already, as "stranger"'):
        registry.register(made, "other")


def test_a_parser_may_come_before_its_language(installed):
    """Entry points that declare languages are taken first, whatever their names."""
    installed(
        entry("a", plugin_of([Parser("ZZ", lambda path, text: None)], "parsers")),
        entry("b", plugin_of([Language("zed", aliases=("zz",))], "languages")),
    )
    registry = PluginRegistry()
    assert [row.state for row in registry.load_entry_points()] == ["loaded", "loaded"]
    assert registry.parser_for("zed") is not None


def test_damaged_metadata(installed):
    class Damaged:
        @property
        def name(self):
            raise KeyError("Name")

    found = entry("srt", plugin_of([Loader("srt", load)]))
    found.dist = Damaged()
    installed(found)
    assert PluginRegistry().load_entry_points()[0].state == "loaded"


# Conflicts and precedence


def test_aliases_and_suffixes_have_one_owner():
    registry = PluginRegistry(plugins=[plugin_of([Language("zed", aliases=("zz",), suffixes=(".zed",))], "languages")])
    for other in (
        Language("yed", aliases=("py",)),
        Language("yed", aliases=("Z-Z",)),
        Language("yed", suffixes=(".zed",)),
        Language("python"),
    ):
        made = plugin_of([other], "languages")
        with pytest.raises(ValueError, match=r"is declared by .* already; overwrite=True replaces it"):
            registry.register(made, "other")
    registry.register(plugin_of([Language("yed", suffixes=(".zed",), sniff="^yed")], "languages"), "sniffs")
    assert registry.detect("a.zed", "yed") == "yed"
    assert registry.detect("a.zed", "") == "zed"
    registry.register(
        plugin_of([Language("xed", aliases=("zz",), suffixes=(".zed",))], "languages"), "x", overwrite=True
    )
    assert registry.canonical("zz") == "xed"
    assert registry.detect("a.zed") == "xed"
    assert PluginRegistry().detect("a.zed") == ""


def test_many_declarations_are_taken_in_linear_time():
    loaders = [Loader(f"l{i}", load, suffixes=(f".s{i}",)) for i in range(9_000)]
    registry = PluginRegistry(plugins=[plugin_of(loaders)])
    assert registry.loader_for(Source("a.s8999", b"")).name == "l8999"


def test_calls_keep_their_order():
    """What was registered last wins in a copy, too."""
    first, last = (lambda path, text: None), (lambda path, text: None)
    registry = PluginRegistry()
    registry.register_parser("python", first)
    registry.register(plugin_of([Parser("py", first)], "parsers"), overwrite=True)
    registry.register_parser("python", last, overwrite=True)
    assert registry.parser_for("python").parse is last
    journal = registry.__reduce__()[1]
    assert [step.info.name for step in journal[-1]][-1] == "register_parser('python')"
    assert registry.snapshot().parser_for("python").parse is last


@pytest.mark.parametrize(
    "arguments",
    [{"plugins": 3}, {"plugins": "srt"}, {"allow": 3}, {"block": [3]}, {"block": "one"}, {"revision": 2}],
)
def test_arguments_that_cannot_work(arguments):
    with pytest.raises(OptionError, match="PluginRegistry"):
        PluginRegistry(**arguments)


def test_provenance_and_unknown_names():
    registry = PluginRegistry(plugins=[plugin_of([Loader("srt", load)])])
    assert registry.provenance("loaders", "srt").name == "stranger"
    assert registry.provenance("loaders", "text").origin == "built-in"
    assert registry.provenance("loaders", "text").version == plugins.VERSION
    with pytest.raises(OptionError, match='did you mean "srt"'):
        registry.provenance("loaders", "srtt")
    with pytest.raises(OptionError, match='did you mean "loaders"'):
        registry.declared("loader")


def test_fingerprint_counts_the_order_and_what_is_blocked():
    a, b = plugin_of([Loader("a", load)]), plugin_of([Loader("b", load)])

    def made(*named, **more):
        registry = PluginRegistry(**more)
        for name, module in named:
            registry.register(module, name)
        return registry.fingerprint

    assert made(("a", a), ("b", b)) != made(("b", b), ("a", a))
    assert made(block=["omnichunk.structure.markdown"]) != made() == made(block=["not-installed"])
    chunks = [
        Chunker(registry=PluginRegistry(revision)).chunk("a.md", "# T\n\nWords.\n")[0].config_fingerprint
        for revision in ("1", "1", "2")
    ]
    assert chunks[0] == chunks[1] != chunks[2]


# At work


def language_plugin(folder=""):
    return plugin_of([Language("zed", suffixes=(".zed",), aliases=("zz",), folder=folder)], "languages")


def test_a_declared_language_is_detected_by_the_chunker():
    registry = PluginRegistry(plugins=[language_plugin()])
    chunker = Chunker(registry=registry)
    assert chunker.chunk("a.zed", "zed zed\n")[0].context.language == "zed"
    assert chunker.chunk("a.txt", "zed zed\n", language="ZZ")[0].context.language == "zed"
    assert Chunker(registry=PluginRegistry()).chunk("a.zed", "zed zed\n")[0].context.language == "text"


def test_languages_of_one_registry_are_not_those_of_another(tmp_path):
    """Two registries give one name two meanings in one process."""
    found = []
    for word in ("def", "fun"):
        folder = tmp_path / word / "zed"
        folder.mkdir(parents=True)
        (folder / "language.toml").write_text(
            f"suffixes = [\".zed\"]\n\n[fallback]\nfunction = '''^{word} (?P<name>\\w+)'''\n", encoding="utf-8"
        )
        found.append(Chunker(registry=PluginRegistry(plugins=[language_plugin(str(folder))])))
    text = "def one\n  x\n\nfun two\n  y\n"
    for chunker, name in [*zip(found, ("one", "two")), *zip(found, ("one", "two"))]:
        assert [e.name for chunk in chunker.chunk("a.zed", text) for e in chunk.context.entities] == [name]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        Structure([Span(0, 99, "statement")]),
        Structure([Span(4, 8, "statement"), Span(0, 4, "statement")]),
        Structure([Span(2, 2, "statement")]),
        Structure(["span"]),
        Structure([Span(0, 8, "section", children=[Span(4, 9, "paragraph")])]),
        KeyError("gone"),
    ],
    ids=repr,
)
def test_a_structure_provider_that_fails_weakens_structure_only(answer):
    def spans(request):
        if isinstance(answer, Exception):
            raise answer
        return answer

    made = plugin(
        languages=[Language("zed", kind="prose", provider="zed", suffixes=(".zed",))],
        structure=[StructureProvider("zed", ("zed",), spans)],
    )
    text = "one two\nthree four\n\nfive\n"
    chunks = Chunker(registry=PluginRegistry(plugins=[made]), min_chunk_size=1, max_chunk_size=20).chunk("a.zed", text)
    assert "".join(chunk.text for chunk in chunks).split() == text.split()
    assert any("plugin stranger: the structure of zed is unknown" in e for e in chunks[0].context.parse_errors)


def test_spans_that_fail_late_are_left_out():
    def late():
        raise KeyError("gone")

    def cyclic(request):
        span = Span(0, len(request.text), "section")
        span.adopt([span])
        return Structure([span])

    for spans in (lambda request: Structure([Span(0, len(request.text), "section", opener=late)]), cyclic):
        made = plugin_of([StructureProvider("zed", ("text",), spans)], "structure")
        chunks = Chunker(registry=PluginRegistry(plugins=[made]), min_chunk_size=1, max_chunk_size=9).chunk(
            "a.txt", "one two three four\n"
        )
        assert "".join(chunk.text for chunk in chunks).split() == ["one", "two", "three", "four"]


@pytest.mark.parametrize("answer", [None, 3, KeyError("gone")])
def test_a_renderer_that_fails_is_named(answer):
    def render(context, text):
        if isinstance(answer, Exception):
            raise answer
        return answer

    registry = PluginRegistry(plugins=[plugin_of([Renderer("r", render)], "renderers")])
    with pytest.raises(PluginError, match=r"a\.md: plugin stranger: the renderer r"):
        Chunker(registry=registry, renderer="r").chunk("a.md", "# T\n\nWords.\n")


def test_a_loader_that_fails_is_named_and_stops_no_folder(tmp_path):
    def broken(source):
        raise KeyError("gone")

    (tmp_path / "a.srt").write_bytes(b"x")
    (tmp_path / "b.md").write_bytes(b"words")
    registry = PluginRegistry(plugins=[plugin_of([Loader("srt", broken, suffixes=(".srt",))])])
    bad, good = Chunker(registry=registry).chunk_directory(tmp_path)
    assert (bad.outcome, good.outcome) == ("failed", "ok")
    assert "plugin stranger: the loader srt raised KeyError" in bad.error


# The registry of the process


@pytest.fixture
def process_registry(monkeypatch, installed):
    """A fresh registry of the process, put back afterwards."""
    from omnichunk import registry

    installed()
    monkeypatch.setattr(registry, "_default", None)
    return registry


def test_registration_for_the_process_is_a_snapshot(process_registry):
    from omnichunk import register_formatter, register_parser

    seen = []
    before = Chunker()
    register_parser("py", lambda path, text: seen.append(path))
    register_formatter("paths", lambda chunks: "")
    after = Chunker()
    with pytest.raises(ValueError, match="overwrite=True"):
        register_parser("python", print)
    for chunker in (before, Chunker(registry=PluginRegistry())):
        chunker.chunk("a.py", "x = 1\n")
    assert seen == []
    after.chunk("a.py", "x = 1\n")
    assert seen == ["a.py"]
    assert "paths" in after.registry.formatters()
    assert "paths" not in before.registry.formatters()


def test_no_hook_is_called_again_for_a_snapshot(process_registry, installed):
    calls = []

    def once():
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("called twice")
        return [Loader("once", load)]

    installed(entry("once", plugin_of(once)))
    for _ in range(3):
        assert "once" in Chunker().registry.loaders()
    assert calls == [1]


def test_a_plugin_may_chunk_while_it_is_loaded(process_registry, installed):
    def eager():
        Chunker().chunk("a.md", "# T\n\nWords.\n")
        return [Loader("eager", load)]

    installed(entry("eager", plugin_of(eager)))
    assert "eager" in Chunker().registry.loaders()


def test_registering_while_others_read():
    """Readers never meet a table that changes under them."""
    registry = PluginRegistry()
    failures = []

    def read():
        try:
            for _ in range(200):
                registry.loader_for(Source("a.unknown", b"x"))
                registry.plugins()
                _ = registry.fingerprint
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(60):
        registry.register(plugin_of([Loader(f"l{i}", load, suffixes=(f".s{i}",))]), f"p{i}")
    for thread in threads:
        thread.join()
    assert failures == []
