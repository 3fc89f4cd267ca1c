"""A plugin whose language does to its process what the first word of a text says; workers import it by name."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from threading import Lock

from omnichunk import Language, LoadedDocument, Loader, Structure, StructureProvider, hookimpl


def act(what: str) -> None:
    if what == "crash":
        ctypes.string_at(0)
    elif what == "hang":
        while True:
            pass
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "leave":
        os._exit(3)
    elif what == "sleep":
        time.sleep(0.2)
    elif what == "eat":
        eaten = []
        while True:
            eaten.append(bytearray(1 << 20))


def spans(request):
    act((request.text.split() or [""])[0])
    return Structure()


def load(source):
    text = source.data.decode()
    act(text.split()[0])
    return LoadedDocument(text, (), "worse")


class Lying:
    """Becomes something else on the way to another process."""

    def __reduce__(self):
        return int, ("no number",)


def load_what_cannot_be_sent(source):
    odd = Lock() if source.name.endswith("locked") else Lying()
    return LoadedDocument("words", (), "odd", metadata={"odd": odd})


def count_words(text: str) -> int:
    return len(text.split())


def raise_error(text: str) -> int:
    if "bad" in text:
        raise KeyError("the counter broke")
    return len(text.split())


@hookimpl
def omnichunk_languages():
    return [Language("hostile", kind="prose", provider="hostile", suffixes=(".hostile",))]


@hookimpl
def omnichunk_structure():
    return [StructureProvider("hostile", kinds=("hostile",), spans=spans)]


@hookimpl
def omnichunk_loaders():
    return [
        Loader("worse", load, suffixes=(".worse",)),
        Loader("odd", load_what_cannot_be_sent, suffixes=(".locked", ".lying")),
    ]
