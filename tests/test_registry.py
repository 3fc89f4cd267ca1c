"""The registry: hooks, conflicts, precedence, copies."""

from __future__ import annotations

import io
import itertools
import pickle
import sys
import zipfile
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import (
    FormatSegment,
    Language,
    LoadedDocument,
    Loader,
    OptionError,
    PluginError,
    PluginRegistry,
    Source,
    StructureProvider,
    UnsupportedFormatError,
    hookimpl,
    plugins,
)
from omnichunk.source.zipped import zip_kind


def load(source):
    """The source as one prose segment."""
    return LoadedDocument(source.data, (FormatSegment(0, len(source.data)),))


def parse(filepath, content):
    """A parser that always declines."""


class Subtitles:
    """A plugin with a loader, a language and a structure provider."""

    __version__ = "1.2"

    @hookimpl
    def omnichunk_loaders(self):
        return [Loader("srt", load, suffixes=(".srt", ".sub.txt"), media_types=("text/srt",), options={"srt_gap": 2})]

    @hookimpl
    def omnichunk_languages(self):
        return [Language("srt-script", aliases=("srts",), suffixes=(".srts",), provider="srt")]

    @hookimpl
    def omnichunk_structure(self):
        return [StructureProvider("srt", ("srt-script",), lambda request: None)]


class Sniffer:
    """A plugin with a loader that recognizes content."""

    @hookimpl
    def omnichunk_loaders(self):
        return [Loader("magic", load, sniff=lambda head: head.startswith(b"MAGIC"))]


def named(registry, name, data=b"", **more):
    return registry.loader_for(Source(name, data), **more).name


def test_precedence_of_loaders():
    """Named before suffix before media type before content before text."""
    registry = PluginRegistry(plugins=[Subtitles(), Sniffer()])
    assert named(registry, "a.srt", b"MAGIC", explicit="text") == "text"
    assert named(registry, "A.SRT", b"MAGIC", media_type="application/pdf") == "srt"
    assert named(registry, "a.sub.txt") == "srt"
    assert named(registry, "a.unknown", b"MAGIC", media_type="text/srt; charset=utf-8") == "srt"
    assert named(registry, "a.unknown", b"MAGIC") == "magic"
    assert named(registry, "a.py", b"MAGIC") == "text"
    assert named(registry, "a.unknown", "MAGIC") == "text"
    with pytest.raises(OptionError, match='did you mean "srt"'):
        named(registry, "a.srt", explicit="srtt")


def test_declarations_of_a_plugin_are_found():
    """Options, languages and providers of strangers stand beside the built-in ones."""
    registry = PluginRegistry(plugins=[Subtitles()])
    assert registry.loader_options()["srt_gap"] == 2
    assert registry.canonical("SRTS") == "srt-script"
    assert registry.detect("x.srts") == "srt-script"
    assert registry.provider_for("srt-script").name == "srt"
    assert PluginRegistry().detect("x.srts") == ""
    row = next(row for row in registry.plugins() if row.name == "Subtitles")
    assert row.version == "1.2"
    assert row.adds == ("languages:srt-script", "loaders:srt", "structure:srt")


def test_every_built_in_language_has_a_provider():
    """What language.toml names exists."""
    registry = PluginRegistry()
    for language in registry.languages():
        assert isinstance(registry.provider_for(language), StructureProvider)


@pytest.mark.parametrize("name", ["b.xlsx", "c.epub", "d.zip"])
@pytest.mark.parametrize("data", [b"PK\x03\x04", "text"])
def test_containers_are_refused_with_a_remedy(name, data):
    """A container is never read as text."""
    source = Source(name, data)
    loader = PluginRegistry().loader_for(source)
    with pytest.raises(UnsupportedFormatError, match=rf"{name}: .*cannot read"):
        loader.load(source)


def test_conflicts_are_errors_unless_meant():
    """A second declaration of a name, a suffix or a parser needs overwrite=True."""
    registry = PluginRegistry(plugins=[Subtitles()])

    class Other:
        @hookimpl
        def omnichunk_loaders(self):
            return [Loader("other", load, suffixes=(".srt",))]

    class Text:
        @hookimpl
        def omnichunk_loaders(self):
            return [Loader("text", load)]

    with pytest.raises(ValueError, match=r"'\.srt'.*overwrite=True"):
        registry.register(Other())
    assert "other" not in registry.loaders()
    registry.register(Other(), overwrite=True)
    assert named(registry, "a.srt") == "other"
    with pytest.raises(PluginError, match=r"'text' is declared by omnichunk\.loaders\.text"):
        registry.register(Text())
    registry.register(Text(), overwrite=True)
    assert registry.loaders()["text"].load is load
    registry.register_parser("python", parse)
    with pytest.raises(ValueError, match="overwrite=True"):
        registry.register_parser("py", parse)
    registry.register_parser("py", parse, overwrite=True)
    with pytest.raises(OptionError, match='did you mean "python"'):
        registry.register_parser("pythn", parse)


@pytest.mark.parametrize(
    ("hook", "returned", "message"),
    [
        ("omnichunk_loader", [], 'no hook "omnichunk_loader"; did you mean "omnichunk_loaders"'),
        ("omnichunk_loaders", [3], "returned a int; it returns Loader declarations"),
        ("omnichunk_loaders", None, "raised TypeError"),
        ("omnichunk_loaders", "srt", "returned a str; it returns Loader declarations"),
        ("omnichunk_loaders", Loader("srt", load), "returned one Loader; it returns a list of them"),
        ("omnichunk_loaders", itertools.repeat(Loader("srt", load)), "more than 10,000 declarations"),
        ("omnichunk_loaders", [Loader("srt", load)] * 2, "declares Loader 'srt' twice"),
    ],
)
def test_a_plugin_that_breaks_its_promise(hook, returned, message):
    """It is refused as a whole, and the message names it."""

    @hookimpl(specname=None)
    def implementation():
        return returned

    plugin = ModuleType("broken")
    setattr(plugin, hook, implementation)
    registry = PluginRegistry()
    with pytest.raises(PluginError, match=message):
        registry.register(plugin)
    assert all(row.name != "broken" for row in registry.plugins())


def test_entry_points_are_isolated(monkeypatch):
    """One broken distribution is a row in the table, never fatal; the environment variable switches all off."""

    def fail():
        raise RuntimeError("no such library")

    def entry(name, load):
        return SimpleNamespace(name=name, value=name, dist=SimpleNamespace(version="0.1"), load=load)

    found = (entry("bad", fail), entry("good", Sniffer), entry("unwanted", fail))
    monkeypatch.setattr(plugins, "_entry_points", lambda: found)
    monkeypatch.delenv(plugins.DISABLE, raising=False)
    registry = PluginRegistry(block=["unwanted"])
    rows = {row.name: row for row in registry.load_entry_points()}
    assert {row.name: row for row in registry.load_entry_points()} == rows
    assert rows["bad"].state == "failed"
    assert rows["bad"].error == "RuntimeError: no such library"
    assert (rows["good"].state, rows["good"].version, rows["good"].origin) == ("loaded", "0.1", "entry point")
    assert rows["unwanted"].state == "blocked"
    monkeypatch.setenv(plugins.DISABLE, "1")
    assert PluginRegistry().load_entry_points() == ()


def test_allow_and_block():
    """What is not allowed declares nothing."""
    registry = PluginRegistry(plugins=[Sniffer()], allow=["nobody"])
    assert "magic" not in registry.loaders()
    assert PluginRegistry(plugins=[Sniffer()], block=["Sniffer"]).plugins()[-1].state == "blocked"
    with pytest.raises(OptionError):
        PluginRegistry(allow="one")


def test_copies_go_their_own_way():
    """A snapshot and a pickled registry declare the same; what is registered later is not shared."""
    registry = PluginRegistry("r1", plugins=[Subtitles(), Sniffer()])
    registry.register_parser("python", parse)
    for copy in (registry.snapshot(), pickle.loads(pickle.dumps(registry))):
        assert copy.fingerprint == registry.fingerprint
        assert set(copy.loaders()) == set(registry.loaders())
        assert copy.parser_for("python").parse is parse
        assert {*copy.plugins()} == {*registry.plugins()}
        copy.register_parser("rust", parse)
        assert registry.parser_for("rust") is None


def test_modules_are_pickled_by_name(monkeypatch):
    """A module cannot be pickled, its name can."""
    module = ModuleType("a_plugin_module")
    module.omnichunk_loaders = hookimpl(lambda: [Loader("m", load)])
    monkeypatch.setitem(sys.modules, module.__name__, module)
    registry = PluginRegistry(plugins=[module])
    assert "m" in pickle.loads(pickle.dumps(registry)).loaders()


def test_fingerprint_tells_what_could_change_a_result():
    """Revision, plugins and parsers enter; unknown callables make it unreliable unless a revision is named."""
    plain = PluginRegistry()
    assert plain.fingerprint == PluginRegistry().fingerprint != PluginRegistry("2").fingerprint
    assert plain.identified
    plain.register_parser("python", parse)
    assert plain.fingerprint != PluginRegistry().fingerprint
    assert not plain.identified
    assert PluginRegistry(plugins=[Subtitles()]).identified
    assert not PluginRegistry(plugins=[Sniffer()]).identified


def archive(*entries, stored=True):
    """A zip archive of names and contents, in order."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as made:
        for name, content in entries:
            made.writestr(name, content)
    return held.getvalue()


class Unseekable(io.RawIOBase):
    """A stream that is written once; zipfile then puts the lengths behind the entries."""

    def __init__(self):
        self.held = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.held += data
        return len(data)


OPENXML = "application/vnd.openxmlformats-officedocument."
TYPES = ("[Content_Types].xml", "<Types/>" * 20)
CONTAINERS = {
    "docx": [TYPES, ("_rels/.rels", ""), ("word/document.xml", "")],
    "pptx": [TYPES, ("docProps/thumbnail.jpeg", b"\xff" * 2000), ("ppt/presentation.xml", "")],
    "xlsx": [TYPES, ("xl/workbook.xml", "")],
    "epub": [("mimetype", "application/epub+zip"), ("META-INF/container.xml", "")],
    "odf": [("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", "")],
    "zip": [("a.txt", "word/ xl/"), ("b/word/x", "")],
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("stored", [True, False])
def test_containers_with_the_same_first_bytes_are_told_apart(kind, stored):
    """By what the archive holds; one that holds such a document among others is an archive."""
    entries = CONTAINERS[kind]
    head = archive(*entries) if kind in ("epub", "odf") else archive(*entries, stored=stored)
    assert zip_kind(head[:4096]) == kind
    stream = Unseekable()
    with zipfile.ZipFile(stream, "w") as made:
        for name, content in entries:
            made.writestr(name, content)
    assert zip_kind(bytes(stream.held)) in (kind, "zip")
    assert zip_kind(archive(("inner.bin", head), ("b.txt", ""))[:4096]) == "zip"
    assert zip_kind(b"") == zip_kind(b"PK") == ""


def test_a_plugin_reads_its_kind_of_archive_without_a_suffix():
    """A loader's media type is enough; it needs no sniffing of its own, and its name may be the built-in refusal's."""

    class Office:
        @hookimpl
        def omnichunk_loaders(self):
            return [
                Loader("pptx", load, (".pptx",), (f"{OPENXML}presentationml.presentation",)),
                Loader("xlsx", load, (".xlsx",), (f"{OPENXML}spreadsheetml.sheet",)),
            ]

    registry = PluginRegistry(plugins=[Office()])
    assert named(registry, "attachment", archive(*CONTAINERS["pptx"])) == "pptx"
    assert named(registry, "attachment", archive(*CONTAINERS["xlsx"])) == "xlsx"
    assert named(registry, "attachment", archive(*CONTAINERS["docx"])) == "docx"
    assert named(registry, "attachment", archive(*CONTAINERS["zip"])) == "unsupported"


@given(st.binary(max_size=200), st.integers(0, 200))
def test_any_bytes_are_some_kind(data, cut):
    head = archive(*CONTAINERS["docx"])[:cut] + data
    assert zip_kind(head) in ("docx", "zip", "")
    assert zip_kind(b"PK\x03\x04" + data) in ("docx", "pptx", "xlsx", "epub", "odf", "zip")
