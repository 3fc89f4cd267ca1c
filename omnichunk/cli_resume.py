"""Runs that can be interrupted: the output so far, and a journal of the files it holds.

Files come in the same order in every run. So what an interrupted run has written is the beginning of what a whole one
writes, as far as the same files still come first, unchanged; the rest is cut off and made anew.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from typing import IO, Any
from zlib import crc32

from omnichunk import OptionError, __version__
from omnichunk.cli_output import Done, Tally

PART, JOURNAL = ".part", ".part.journal"
"""What is added to the name of the output."""
_READ_AND_SKIPPED = ("binary", "format not supported")
"""Why a file is skipped that was found and looked into."""


class Journal:
    """The journal of ``output``; ``run`` describes what is asked for and must be what it was."""

    def __init__(self, output: str, run: dict[str, Any]) -> None:
        self._output, self._part, self._log = output, output + PART, output + JOURNAL
        self._head = json.dumps({"omnichunk": __version__, "run": run}, sort_keys=True) + "\n"
        self._rows: list[dict[str, Any]] = []
        self._kept = 0
        self._told = 0
        self._matching = True
        self._stats: dict[str, tuple[int, int]] = {}
        self._file: IO[bytes] | None = None
        self._journal: IO[str] | None = None
        self._lock = _locked(self._log)
        try:
            self._read()
        except OptionError:
            self.close(finished=False)
            raise

    def _read(self) -> None:
        try:
            with open(self._log, encoding="utf-8", errors="surrogateescape") as file:
                head, *lines = file.readlines() or [""]
        except OSError:
            return
        if not head.endswith("\n"):
            return  # it had hardly begun
        if head != self._head:
            raise OptionError(
                f"--resume: {self._part} is of a run with other files, options or another version. "
                "Repeat that run, or remove the file to begin anew."
            )
        try:
            with open(self._part, "rb") as part:
                for line in lines:
                    row = json.loads(line)
                    tally = row["tally"]
                    row["tally"] = Tally(**{**tally, "skipped": Counter(tally["skipped"])})
                    if row["check"] != crc32(part.read(row["end"] - part.tell())):
                        break  # it was on its way to the disk when the power failed
                    _ = row["path"], row["size"], row["time"]
                    self._rows.append(row)
        except (OSError, ValueError, KeyError, TypeError):
            pass  # the line that was being written, or no output

    def holds(self, path: str) -> bool:
        """Whether the output so far holds the file ``path``, which is asked in the order of the files."""
        try:
            status = os.stat(path)
            self._stats[path] = status.st_size, status.st_mtime_ns
        except (OSError, ValueError):
            self._stats[path] = -1, -1
        row = self._rows[self._kept] if self._kept < len(self._rows) else None
        if row is None or row["path"] != path or (row["size"], row["time"]) != self._stats[path]:
            self._matching = False
        self._kept += self._matching
        return self._matching

    def told(self, path: str) -> Tally | None:
        """What an earlier run counted in ``path``, if its output is kept."""
        if self._told >= self._kept or self._rows[self._told]["path"] != path:
            return None
        tally: Tally = self._rows[self._told]["tally"]
        self._told += 1
        self._stats.pop(path, None)
        return tally

    def add(self, done: Done) -> None:
        """Write what a file gives, and then that it is written."""
        result = done.result
        found = result.outcome != "skipped" or result.error in _READ_AND_SKIPPED
        if not found or result.filepath not in self._stats:
            return
        file, journal = self._opened()
        data = done.text.encode("utf-8", "backslashreplace")
        file.write(data)
        file.flush()
        size, time = self._stats.pop(result.filepath)
        row = {"path": result.filepath, "size": size, "time": time, "end": file.tell(), "check": crc32(data)}
        journal.write(_line(row, done.tally))
        journal.flush()

    def _opened(self) -> tuple[IO[bytes], IO[str]]:
        """The part and the journal, open for what follows what is kept."""
        if self._file is None or self._journal is None:
            kept = self._rows[: self._kept]
            self._file = open(self._part, "r+b" if kept else "wb")  # noqa: SIM115  closed by ``close``
            self._file.truncate(kept[-1]["end"] if kept else 0)
            self._file.seek(0, os.SEEK_END)
            self._journal = open(self._log, "w", encoding="utf-8")  # noqa: SIM115
            self._journal.writelines([self._head, *(_line(row, row["tally"]) for row in kept)])
            self._journal.flush()
        return self._file, self._journal

    def close(self, finished: bool) -> None:
        """Stop writing; ``finished``: what there is becomes the output."""
        if finished:
            file, _ = self._opened()
            os.fsync(file.fileno())
        for opened in (self._file, self._journal):
            if opened is not None:
                opened.close()
        if finished:
            os.replace(self._part, self._output)
        if finished or not os.path.exists(self._part):
            with contextlib.suppress(OSError):
                os.unlink(self._log)
        if self._lock is not None:
            self._lock.close()


def _line(row: dict[str, Any], tally: Tally) -> str:
    counted = {name: value for name, value in vars(tally).items() if name != "started"}
    return json.dumps({**row, "tally": counted}) + "\n"


def _locked(log: str) -> IO[bytes] | None:
    """``log``, open and locked as long as this run writes, where the system has such locks. Raises OptionError if it is."""
    try:
        import fcntl
    except ImportError:
        return None
    file = open(log, "ab")  # noqa: SIM115  closed by ``close``
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise OptionError(f"--resume: another run is writing {log}. Wait for it, or name another --output.") from None
    except OSError:
        pass  # a file system without locks
    return file
