"""What is to be done, as jobs: the files of a folder, the items of a batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from omnichunk.errors import OptionError
from omnichunk.execution.engine import Engine, Job, size_of
from omnichunk.model.chunk import FileResult
from omnichunk.model.options import build
from omnichunk.walk import Entry


def files(
    entries: Iterable[Entry], encoding: str | None, report_ignored: bool, skip: Callable[[str], bool] | None
) -> Iterator[Job | FileResult]:
    """A job for every file that was found and that ``skip`` is not true for, a result for everything else."""
    for entry in entries:
        name, reason = entry.path, entry.reason
        if entry.verdict == "found":
            if skip is not None and skip(name):
                yield FileResult(name, error="not wanted", outcome="skipped", size=entry.size)
            else:
                yield Job(name, None, encoding, entry.size)
        elif entry.verdict == "failed":
            yield FileResult(name, error=f"{name}: {reason}.", outcome="failed")
        elif report_ignored or entry.verdict != "ignored":
            yield FileResult(name, error=reason, outcome="skipped", size=entry.size)


def items(where: str, wanted: Iterable[Mapping[str, Any]], engine: Engine) -> Iterator[Job]:
    """A job for every item: ``filepath``, ``code`` or ``data`` (else the file of that name is read), options of its own.

    Raises OptionError, naming the item, for one that is no such mapping or has a wrong option.
    """
    declared = engine.registry.loader_options()
    for number, item in enumerate(wanted):
        place = f"{where}: item {number}"
        if not isinstance(item, Mapping):
            raise OptionError(f'{place} is {type(item).__name__}; a dict with "filepath" and "code" is needed.')
        own = dict(item)
        name, code, data, encoding = (own.pop(key, None) for key in ("filepath", "code", "data", "encoding"))
        if isinstance(name, os.PathLike):
            name = os.fsdecode(name)
        if not isinstance(name, str):
            raise OptionError(f'{place}: filepath={name!r:.40}; a str or a path, such as "a.py", is needed.')
        if code is not None and not isinstance(code, str):
            raise OptionError(f"{place}: code is {type(code).__name__}; a str is needed. Bytes are given as data.")
        if data is not None and (code is not None or not isinstance(data, bytes)):
            wrong = "data and code exclude each other" if code is not None else f"data is {type(data).__name__}"
            raise OptionError(f"{place}: {wrong}; data is the bytes a file would hold, code a text.")
        if encoding is not None and not isinstance(encoding, str):
            raise OptionError(f'{place}: encoding={encoding!r:.40}; a name such as "utf-8", or None, is needed.')
        options = build(place, engine.options, own, declared) if own else None
        given = code if data is None else data
        yield Job(name, given, encoding, size_of(name) if given is None else len(given), options, named=True)
