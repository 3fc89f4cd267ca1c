"""What lies inside a container goes to the registry that reads the container."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from omnichunk import (
    Chunker,
    ChunkingError,
    LoadedDocument,
    Loader,
    LoadError,
    PluginError,
    PluginRegistry,
    Source,
    hookimpl,
    load_document,
)


def plugin(*loaders):
    return SimpleNamespace(omnichunk_loaders=hookimpl(lambda: list(loaders)))


def unwrap(source):
    """A name on the first line, what it holds after that."""
    name, _, data = source.data.partition(b"\n")
    return load_document(replace(source, name=name.decode(), data=data))


BOX = Loader("box", unwrap, (".box",), binary=True)
UPPER = Loader(
    "upper", lambda s: LoadedDocument(s.data.decode().upper() + s.options["mark"]), (".up",), options={"mark": "!"}
)


def test_the_registry_that_runs_reads_what_is_inside():
    """An explicit registry stays apart from that of the process; options and their defaults come through."""
    registry = PluginRegistry(plugins=[plugin(BOX, UPPER)])
    assert registry.load(Source("a.box", b"b.box\nc.up\nwords")).text == "WORDS!"
    assert [c.text for c in Chunker(registry, mark="?").chunk_bytes("a.box", b"c.up\nwords")] == ["WORDS?"]
    assert load_document(Source("c.up", b"words")).text == "words"
    assert load_document(Source("c.up", "wörds".encode("utf-16")), "text").text == "wörds"
    assert registry.loader_for(Source("a.none", b"x"), media_type="text/plain").name == "text"


def test_containers_within_containers_end():
    registry = PluginRegistry(plugins=[plugin(BOX)])
    with pytest.raises(LoadError, match=r"^b\.box: lies 8 containers deep"):
        registry.load(Source("a.box", b"b.box\n" * 50))
    assert registry.load(Source("a.box", b"b.txt\nwords")).text == "words"


def test_a_fault_of_a_loader_names_file_and_plugin():
    """ChunkingErrors pass unchanged, the one from inside included; all else is a PluginError."""
    registry = PluginRegistry(plugins=[plugin(BOX, Loader("bad", lambda source: 1 / 0, (".bad",)))])
    with pytest.raises(PluginError, match=r"^c\.bad: .*bad.*ZeroDivisionError"):
        registry.load(Source("a.box", b"c.bad\nwords"))
    with pytest.raises(ChunkingError, match=r"^c\.txt: "):
        registry.load(Source("a.box", b"c.txt\n\xff\x00\xfe\x00\x01" * 9))
