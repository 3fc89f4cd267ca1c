"""Which files of a folder to read, in an order that is always the same. No file is opened here, ignore files apart."""

from __future__ import annotations

import errno
import itertools
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from omnichunk.errors import LoadError, OptionError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

EVERYTHING = "**/*"
IGNORE_FILES = (".gitignore", ".ignore")
LARGEST_RULES = 1 << 18
"""Bytes of an ignore file that is followed; every line of it costs time for every file."""
Verdict = Literal["found", "ignored", "skipped", "failed"]
Levels = tuple[tuple[str, int, "GitIgnoreSpec"], ...]
"""Ignore files in force, outermost first: what to put before a path, how much to cut off its start, and the rules."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of one path.

    ``path``: the root as it was given, joined with the path below it; that of a folder ends in a slash and stands for
    everything in it. ``verdict``: ``found``, a file to read, with its ``size`` in bytes; ``ignored``, left out by the
    caller's rules or the folder's own; ``skipped``, nothing that can be read as a file of this folder; ``failed``, it
    could not be looked at. ``reason`` says why for all but the first.
    """

    path: str
    verdict: Verdict = "found"
    reason: str = ""
    size: int = 0


class Opener(Protocol):
    """What ``walk`` looks at folders with. Paths begin with its root; OSError is raised for what cannot be read."""

    def listing(self, folder: str) -> list[Any]:
        """What is in a folder, in the order of names: objects like ``os.DirEntry``."""

    def text(self, path: str) -> str:
        """The content of an ignore file."""

    def above(self, top: str) -> list[tuple[str, str]]:
        """The folders above the root whose ignore files count, innermost first, and the way from each to the root."""

    def link(self, path: str) -> str:
        """Why a link is not followed."""


def walk(
    root: str | os.PathLike[str],
    glob: str | Iterable[str] = EVERYTHING,
    exclude: str | Iterable[str] | None = None,
    include_hidden: bool = False,
    max_bytes: int | None = None,
    opener: Opener | None = None,
) -> Iterator[Entry]:
    """The files below ``root`` and what is left out of them, folder by folder in the order of names, made lazily.

    ``glob``, ``exclude``: patterns as in a ``.gitignore``, relative to ``root``: ``*.py`` matches at any depth,
    ``/*.py`` beside the root only, ``tests/`` a whole folder. A file that no ``glob`` matches was not asked for and is
    not reported. ``.gitignore`` and ``.ignore`` are honoured in every folder, and above the root as far as the
    repository it lies in. ``.git`` is never entered, links are never followed, of hard links only the first is found.
    ``max_bytes``: larger files are skipped. ``opener``: what folders are opened with, as an ``Opener`` of this module
    does it; the paths of the system if not given. Raises LoadError when ``root`` is no folder that can be listed, OptionError
    for a pattern that is none and for other values that cannot work.
    """
    if not isinstance(include_hidden, bool):
        raise OptionError(f"include_hidden={include_hidden!r}; True or False is needed.")
    if max_bytes is not None and (type(max_bytes) is not int or max_bytes < 1):
        raise OptionError(f"max_bytes={max_bytes!r}; a whole number of at least 1, or None, is needed.")
    top = os.fsdecode(root)
    try:
        opener = opener or _Disk(top)
        listing = opener.listing(top)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = " To chunk a single file use chunk_file()." if isinstance(error, NotADirectoryError) else ""
        raise LoadError(f"{top}: cannot be read as a folder: {reason}.{hint}") from error
    wanted = None if glob == EVERYTHING else _patterns("glob", glob)
    return _Walk(top, wanted, _patterns("exclude", exclude or ()), include_hidden, max_bytes, opener).entries(listing)


find_files = walk
"""``walk`` as the package exports it, where that name is this module's."""


@dataclass
class _Walk:
    """One walk: what was asked for, and which hard links were met."""

    top: str
    wanted: GitIgnoreSpec | None
    excluded: GitIgnoreSpec | None
    include_hidden: bool
    max_bytes: int | None
    opener: Opener

    def __post_init__(self) -> None:
        self.linked: set[tuple[int, int]] = set()
        # What follows a link and then goes up is somewhere else than its name says.
        base = self.top if os.pardir in self.top.split(os.sep) else os.path.normpath(self.top)
        self.base = "" if base == os.curdir else os.path.join(base, "")

    def entries(self, listing: list[Any]) -> Iterator[Entry]:
        """Depth first over an explicit stack, so that no depth of folders is too much."""
        stack = [(iter(listing), "", self._entered(self.top, "", listing, self._above()))]
        while stack:
            listed, below, levels = stack[-1]
            item = next(listed, None)
            if item is None:
                stack.pop()
                continue
            relative = below + item.name
            path = self.base + relative
            try:
                folder = item.is_dir(follow_symlinks=False)
            except OSError as error:
                yield _unreadable(path, error)
                continue
            matched = relative + "/" if folder else relative
            if reason := self._ruled_out(item.name, matched, levels):
                yield Entry(path + "/" if folder else path, "ignored", reason)
            elif folder:
                try:
                    inside = self.opener.listing(item.path)
                except OSError as error:
                    yield _unreadable(path + "/", error)
                else:
                    stack.append((iter(inside), matched, self._entered(item.path, matched, inside, levels)))
            elif self.wanted is None or self.wanted.match_file(relative):
                yield self._file(item, path)

    def _ruled_out(self, name: str, matched: str, levels: Levels) -> str:
        if name == ".git":
            return "version control"
        if name.startswith(".") and not self.include_hidden:
            return "hidden"
        for before, cut, rules in reversed(levels):
            said = rules.check_file(before + matched[cut:]).include
            if said is not None:
                if said:
                    return "ignore file"
                break
        return "excluded" if self.excluded is not None and self.excluded.match_file(matched) else ""

    def _file(self, item: Any, path: str) -> Entry:
        try:
            if item.is_symlink():
                return Entry(path, "skipped", self.opener.link(item.path))
            status = item.stat(follow_symlinks=False)
        except OSError as error:
            return _unreadable(path, error)
        if not stat.S_ISREG(status.st_mode):
            return Entry(path, "skipped", "special file")
        if status.st_nlink > 1:
            identity = status.st_dev, status.st_ino
            if identity in self.linked:
                return Entry(path, "skipped", "hard link to a file already found")
            self.linked.add(identity)
        if self.max_bytes is not None and status.st_size > self.max_bytes:
            return Entry(path, "skipped", "too large", status.st_size)
        return Entry(path, size=status.st_size)

    def _entered(self, folder: str, below: str, listing: list[Any], levels: Levels) -> Levels:
        """``levels`` and the ignore files of ``folder``, which lies at ``below`` (empty, or ending in a slash)."""
        names = {item.name for item in listing if item.name in IGNORE_FILES}
        rules = self._rules(folder, names) if names else None
        return levels if rules is None else (*levels, ("", len(below), rules))

    def _above(self) -> Levels:
        """The ignore files above the root. A root that was named is wanted: rules that leave it out do not count."""
        found: list[tuple[str, int, GitIgnoreSpec]] = []
        for folder, before in self.opener.above(self.top):
            rules = self._rules(folder, set(IGNORE_FILES))
            if rules is not None and not rules.check_file(before).include:
                found.append((before, 0, rules))
        return tuple(reversed(found))

    def _rules(self, folder: str, names: set[str]) -> GitIgnoreSpec | None:
        """The rules of a folder's ignore files, those of ``.ignore`` last and so strongest; ``None`` without any.

        As in git, an ignore file that cannot be read or is far too large, and a line that is no pattern, rule nothing.
        """
        lines: list[str] = []
        for name in IGNORE_FILES:
            if name in names:
                with suppress(OSError):
                    lines += self.opener.text(os.path.join(folder, name)).split("\n")
        return _spec(lines)[0] if lines else None


class _Disk:
    """Opens folders by their paths."""

    def __init__(self, top: str) -> None:
        self.real = os.path.realpath(top)

    def listing(self, folder: str) -> list[os.DirEntry[str]]:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda item: item.name)

    def text(self, path: str) -> str:
        status = os.stat(path)  # a pipe might never end
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_RULES:
            raise OSError("no ignore file")
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            return file.read()

    def above(self, top: str) -> list[tuple[str, str]]:
        """As far as the top of the repository the root lies in; none outside of a repository."""
        found = []
        folder, before = self.real, ""
        while not os.path.exists(os.path.join(folder, ".git")):
            parent, name = os.path.split(folder)
            if parent == folder:
                return []
            folder, before = parent, f"{name}/{before}"
            found.append((folder, before))
        return found

    def link(self, path: str) -> str:
        """What it points to is reached by its own path, lies elsewhere, or is not there."""
        try:
            target = os.path.realpath(path, strict=True)
        except OSError as error:
            return "link in a circle" if error.errno == errno.ELOOP else "broken link"
        inside = os.path.join(target, "").startswith(os.path.join(self.real, ""))
        return "link within the folder" if inside else "link out of the folder"


def _unreadable(path: str, error: OSError) -> Entry:
    return Entry(path, "failed", f"cannot be read: {error.strerror or type(error).__name__}")


def _patterns(option: str, given: str | Iterable[str]) -> GitIgnoreSpec | None:
    """The patterns a caller gave. Raises OptionError naming the first that is none."""
    if not isinstance(given, (str, Iterable)):
        raise OptionError(f"{option}={given!r}; a pattern or a list of patterns is needed.")
    lines = [given] if isinstance(given, str) else list(given)
    for line in lines:
        if not isinstance(line, str):
            raise OptionError(f'{option}={line!r}; a pattern such as "*.py" is needed.')
    if not lines:
        return None
    spec, wrong = _spec(lines)
    wrong += [line for line in lines if not line.strip() or line.startswith("#")]
    if wrong:
        raise OptionError(f'{option}={wrong[0]!r} is no pattern. Write it as in a .gitignore, such as "src/**/*.py".')
    return spec


def _spec(lines: list[str]) -> tuple[GitIgnoreSpec, list[str]]:
    """The rules of ``lines`` and those lines that are no pattern."""
    from pathspec import GitIgnoreSpec

    good: list[Any] = []
    wrong = []
    for line in lines:
        try:
            good += GitIgnoreSpec.from_lines([line]).patterns
        except ValueError:
            wrong.append(line)
    for pattern in good:
        if pattern.regex is not None:
            pattern.regex = re.compile(_steady(pattern.regex.pattern), re.DOTALL)
    return GitIgnoreSpec(good), wrong


_STAR, _FOLDERS, _ANYWHERE = "[^/]*", "(?:/.+)?/", "^(?:.+/)?"
"""What ``*``, ``/**/`` and ``**/`` at the start are in the expressions of pathspec."""
_FIXED = re.compile(r"(?:\\.|\[\^?\]?(?:\\.|[^]\\])*\]|[^][()\\/])*", re.DOTALL)
"""A part of such an expression that matches strings of one length, without a slash of its own."""


def _steady(expression: str) -> str:
    """The expression of a pattern, changed so that it is matched in linear time, where it has several asterisks.

    What follows an asterisk may as well be found at the first place as at a later one, if another asterisk comes next;
    trying all of them, as ``re`` does, takes a time that grows with every asterisk. A group in a lookahead, and its
    repetition, keep what was found first. As in git, ``[!a]`` is no slash.
    """
    names = itertools.count()

    def first(found: str) -> str:
        name = f"at{next(names)}"
        return f"(?=(?P<{name}>{found}))(?P={name})"

    head, *parts = re.sub(r"\[\^(?!/])", "[^/", expression).split(_STAR)
    for i, part in enumerate(parts, 1):
        if i == len(parts) or not _FIXED.fullmatch(part):
            head += _STAR + part
        elif part:  # else two asterisks in a row are one
            head += first(f"{_STAR}?{part}")
    head, *parts = head.split(_FOLDERS)
    if parts and head.startswith(_ANYWHERE):
        head = "^" + first(f"(?:.+?/)??{head.removeprefix(_ANYWHERE)}(?=/)")
    for part in parts[:-1]:
        head += first(f"(?:/.+?)??/{part}(?=/)")
    return head + _FOLDERS + parts[-1] if parts else head
