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


def items(where: str, given: Iterable[Mapping[str, Any]], engine: Engine) -> Iterator[Job]:
    """A job for every item: ``filepath``, ``code`` (without it the file of that name is read) and options of its own.

    Raises OptionError, naming the item, for one that is no such mapping or has a wrong option.
    """
    declared = engine.registry.loader_options()
    for number, item in enumerate(given):
        place = f"{where}: item {number}"
        if not isinstance(item, Mapping):
            raise OptionError(f'{place} is {type(item).__name__}; a dict with "filepath" and "code" is needed.')
        own = dict(item)
        name, code, encoding = own.pop("filepath", None), own.pop("code", None), own.pop("encoding", None)
        if isinstance(name, os.PathLike):
            name = os.fsdecode(name)
        if not isinstance(name, str):
            raise OptionError(f'{place}: filepath={name!r:.40}; a str or a path, such as "a.py", is needed.')
        if code is not None and not isinstance(code, str):
            raise OptionError(f"{place}: code is {type(code).__name__}; a str, or none to read the file, is needed.")
        if encoding is not None and not isinstance(encoding, str):
            raise OptionError(f'{place}: encoding={encoding!r:.40}; a name such as "utf-8", or None, is needed.')
        options = build(place, engine.options, own, declared) if own else None
        yield Job(name, code, encoding, len(code) if code is not None else size_of(name), options, named=True)
