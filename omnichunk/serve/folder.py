"""Which files below a folder a client may have: the rules of ``find_files``, over folders that are opened safely.

``find_files`` opens folders by path, and reads ignore files above the folder it is given; here nothing above the root
counts, and every folder is reached through ``Roots``.
"""

from __future__ import annotations

import posixpath
import stat
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from omnichunk import OptionError
from omnichunk.serve.roots import Item, NoSuchPath, RefusedPath, Roots

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

EVERYTHING = "**/*"
_IGNORE_FILES = (".gitignore", ".ignore")
_LONGEST = 1 << 20
"""Bytes of an ignore file; the rules of a larger one do not count."""

Levels = tuple[tuple[int, "GitIgnoreSpec"], ...]
"""Ignore files in force, outermost first: how much to cut off the start of a path, and the rules."""


def files(
    roots: Roots,
    path: str,
    glob: str | list[str] = EVERYTHING,
    exclude: str | list[str] = (),  # type: ignore[assignment]
    include_hidden: bool = False,
) -> Iterator[tuple[str, int]]:
    """Name and size of the regular files below the folder ``path``, folder by folder in the order of names.

    ``glob``, ``exclude``: patterns as in a ``.gitignore``, relative to the folder. Ignore files from the root on are
    honoured, links never followed, ``.git`` never entered. Raises RefusedPath, NoSuchPath for the folder itself and
    OptionError for a pattern that is none.
    """
    wanted = None if glob in (EVERYTHING, [EVERYTHING]) else _spec("glob", glob)
    excluded = _spec("exclude", exclude) if exclude else None
    top, items = roots.scan(path)
    start = 0 if top == "." else len(top) + 1
    linked: set[tuple[int, int]] = set()
    stack = [(iter(items), "" if top == "." else top + "/", _entered(roots, top, items, _above(roots, top)))]
    while stack:
        listed, before, levels = stack[-1]
        item = next(listed, None)
        if item is None:
            stack.pop()
            continue
        name = before + item.name
        folder = stat.S_ISDIR(item.mode)
        if item.name == ".git" or (item.name.startswith(".") and not include_hidden):
            continue
        if _ignored(name + "/" * folder, levels):
            continue
        if excluded is not None and excluded.match_file(name[start:] + "/" * folder):
            continue
        if folder:
            try:
                _, inside = roots.scan(name)
            except (NoSuchPath, RefusedPath):  # not readable, or replaced since it was listed
                continue
            stack.append((iter(inside), name + "/", _entered(roots, name, inside, levels)))
        elif stat.S_ISREG(item.mode) and (wanted is None or wanted.match_file(name[start:])):
            if item.identity is not None:
                if item.identity in linked:
                    continue
                linked.add(item.identity)
            yield name, item.size


def _above(roots: Roots, top: str) -> Levels:
    """The rules of the folders between the root and ``top``; those that leave it out as a whole do not count."""
    levels: Levels = ()
    names = [] if top == "." else top.split("/")
    for number in range(1 if len(roots.roots) > 1 else 0, len(names)):
        folder = "/".join(names[:number]) or "."
        try:
            _, items = roots.scan(folder)
        except (NoSuchPath, RefusedPath):
            continue
        levels = _entered(roots, folder, items, levels)
    return tuple((cut, rules) for cut, rules in levels if not rules.check_file(top[cut:] + "/").include)


def _entered(roots: Roots, folder: str, items: Iterable[Item], levels: Levels) -> Levels:
    """``levels`` and the rules of ``folder``; those of ``.ignore`` come last and are strongest."""
    from pathspec import GitIgnoreSpec

    lines: list[str] = []
    there = {item.name for item in items}
    for name in _IGNORE_FILES:
        if name in there:
            try:
                _, data = roots.read(posixpath.join(folder, name), _LONGEST)
            except (NoSuchPath, RefusedPath):
                continue
            lines += data.decode("utf-8-sig", "surrogateescape").splitlines()
    good = [line for line in lines if _is_pattern(line)]  # as in git, a line that is no pattern rules nothing
    cut = 0 if folder == "." else len(folder) + 1
    return (*levels, (cut, GitIgnoreSpec.from_lines(good))) if good else levels


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _ignored(name: str, levels: Levels) -> bool:
    for cut, rules in reversed(levels):
        said = rules.check_file(name[cut:]).include
        if said is not None:
            return bool(said)
    return False


def _spec(option: str, given: str | list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    lines = [given] if isinstance(given, str) else given
    for line in lines:
        if not line.strip() or line.startswith("#") or not _is_pattern(line):
            raise OptionError(f'{option}: a pattern as in a .gitignore is needed, such as "src/**/*.py".')
    return GitIgnoreSpec.from_lines(lines)
