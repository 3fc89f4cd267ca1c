"""What is served: a few folders, and the way from a client's path to an open file that cannot lead out of them.

A path is walked name by name, each opened relative to the descriptor of the folder before it and never through a link;
links are read and followed by hand, below the same root. So nothing that is renamed or replaced between a check and its
use can lead outside: there is no check, only the walk. Where the system has no such calls (Windows) the path is
resolved, opened, and what was opened is compared with what lies at the resolved path.
"""

from __future__ import annotations

import io
import os
import posixpath
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from omnichunk import ChunkingError, OptionError

ANCHORED = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether files can be opened relative to the descriptor of a folder."""
LONGEST, MOST_LINKS, DEEPEST = 4096, 40, 200
"""Characters of a path, links on the way, and folders open at once, beyond which it is not followed."""
_BELOW = getattr(os, "O_PATH", os.O_RDONLY)
_SAFE = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FOREIGN = re.compile(r"[A-Za-z]:|[\\/]{2}|\\")
"""How a path begins that means something of its own to Windows: a drive, a share or device, the root of a drive."""
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:[ .:].*)?$", re.IGNORECASE)


class RefusedPath(ChunkingError):
    """A path that leads nowhere a client may go; the message is the same wherever it leads."""

    def __init__(self) -> None:
        super().__init__("path: not below an allowed root. Name it relative to the root, without leaving it.")


class NoSuchPath(ChunkingError):
    """Below a root, and nothing there that could be read."""


@dataclass(frozen=True)
class Root:
    """An allowed folder: what it is called, its path as given and resolved, and its descriptor (-1 without one)."""

    name: str
    given: str
    real: str
    handle: int


@dataclass(frozen=True, slots=True)
class Item:
    """Something in a folder, as ``os.DirEntry`` tells it, and known already. ``path``: what it is called here."""

    name: str
    path: str
    st_mode: int
    st_size: int
    st_nlink: int
    st_dev: int
    st_ino: int

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        """Whether it is a folder, and no link to one."""
        return stat.S_ISDIR(self.st_mode)

    def is_symlink(self) -> bool:
        """Whether it is a link."""
        return stat.S_ISLNK(self.st_mode)

    def stat(self, *, follow_symlinks: bool) -> Item:
        """Itself."""
        return self


class Roots:
    """The allowed folders, open for as long as this lives.

    With one root, paths are relative to it; with several they begin with the name of theirs. Absolute paths below a
    root are taken, too. ``handles``: descriptors that another process has opened, instead of opening the folders here.
    Raises OptionError for what is no folder.
    """

    def __init__(self, folders: Sequence[str], handles: Sequence[int] = ()) -> None:
        if not folders or not all(folders):  # an empty name, perhaps of a variable that is not set, is no folder
            raise OptionError("allowed_root: at least one folder is needed, and none of them may be empty.")
        self.roots: list[Root] = []
        names: set[str] = set()
        for number, folder in enumerate(dict.fromkeys(map(os.path.abspath, folders))):
            real = os.path.realpath(folder)
            try:
                if not os.path.isdir(real):
                    raise NotADirectoryError(0, "no such folder")
                handle = handles[number] if handles else _opened(real) if ANCHORED else -1
            except OSError as error:
                raise OptionError(f"allowed_root: {folder}: {error.strerror}. Name an existing folder.") from None
            name = os.path.basename(real) or "root"
            while name in names:
                name += "_"
            names.add(name)
            self.roots.append(Root(name, folder, real, handle))

    @property
    def handles(self) -> list[int]:
        """The descriptors of the roots, for a process to inherit."""
        return [root.handle for root in self.roots if root.handle >= 0]

    @property
    def folders(self) -> list[str]:
        """The roots as paths."""
        return [root.real for root in self.roots]

    def close(self) -> None:
        """Close the descriptors."""
        for handle in self.handles:
            os.close(handle)
        self.roots.clear()

    def without_roots(self, message: str) -> str:
        """``message`` with the paths of the roots cut off what lies below them."""
        for root in self.roots:
            for path in (root.real, root.given):
                message = message.replace(os.path.join(path, ""), "").replace(path, root.name)
        return message

    def read(self, path: str, most: int) -> tuple[str, bytes]:
        """What the file at ``path`` is called here, and its bytes; at most ``most`` of them, else NoSuchPath.

        Raises RefusedPath for every path that leads out of the roots, NoSuchPath for what is no regular file.
        """
        label, handle = self._open(path, folder=False)
        with os.fdopen(int(handle), "rb", buffering=0) as file:
            large = os.fstat(file.fileno()).st_size > most
            data = b"" if large else _up_to(most + 1, file)
            if large or len(data) > most:
                raise NoSuchPath(f"{label}: larger than {most:,} bytes, which is the most that is read for a client.")
        return label, data

    def scan(self, path: str) -> tuple[str, list[Item]]:
        """What the folder at ``path`` is called here, and what lies in it, by name. Raises as ``read`` does."""
        label, handle = self._open(path, folder=True)
        try:
            with os.scandir(handle) as found:
                before = "" if label == "." else label + "/"
                items = [item for entry in found if (item := _item(before, entry)) is not None]
        except OSError as error:
            raise NoSuchPath(f"{label}: {_reason(error)}.") from None
        finally:
            if isinstance(handle, int):
                os.close(handle)
        return label, sorted(items, key=lambda item: item.name)

    def located(self, path: str) -> list[str]:
        """What ``path`` may be as an absolute path, links resolved. Raises RefusedPath when none lies below a root."""
        if "\0" in path or len(path) > LONGEST or not _encodable(path):
            raise RefusedPath
        found = [os.path.realpath(os.path.join(root.real, below)) for root, below in self._candidates(path)]
        inside = [path for path in found if self.inside(path) is not None]
        if not inside:
            raise RefusedPath
        return inside

    def label(self, path: str) -> str:
        """What the absolute ``path``, which lies below a root, is called here."""
        found = self.inside(path)
        if found is None:
            raise RefusedPath
        return self._label(*found)

    def _open(self, path: str, folder: bool) -> tuple[str, int | str]:
        """Name and descriptor of a regular file, or of a folder (its path where folders have no descriptors)."""
        if "\0" in path or len(path) > LONGEST or not _encodable(path):
            raise RefusedPath
        missing: NoSuchPath | None = None
        for root, below in self._candidates(path):
            try:
                label, handle = (_anchored if ANCHORED else _resolved)(self, root, below, folder)
            except NoSuchPath as error:
                missing = missing or error
            else:
                return self._label(root, label), handle
        raise missing or RefusedPath()

    def _label(self, root: Root, below: str) -> str:
        return below if len(self.roots) == 1 else posixpath.join(root.name, below) if below != "." else root.name

    def _candidates(self, path: str) -> Iterator[tuple[Root, str]]:
        """The roots that ``path`` may lie in, and what it is called there."""
        if os.path.isabs(path) and (os.sep == "\\" or not path.startswith("//")):
            if (found := self.inside(path)) is not None:
                yield found
            return
        if _FOREIGN.match(path):
            return
        if len(self.roots) > 1:
            first, _, rest = path.replace(os.sep, "/").partition("/")
            for root in self.roots:
                if root.name == first:
                    yield root, rest or "."
        for root in self.roots:
            if not _climbs(path):
                yield root, path
            elif os.sep != "\\" and "\\" in path:
                return
            elif (found := self.inside(os.path.normpath(os.path.join(root.real, path)))) is not None:
                yield found

    def inside(self, path: str) -> tuple[Root, str] | None:
        """The root that an absolute path lies in, as it is spelled, and the rest of it."""
        for root in self.roots:
            for folder in (root.real, root.given):
                if os.path.normcase(path) == os.path.normcase(folder):
                    return root, "."
                start = os.path.join(folder, "")
                if os.path.normcase(path).startswith(os.path.normcase(start)):
                    below = path[len(start) :]
                    if not _climbs(below):
                        return root, below or "."
        return None


def _up_to(most: int, file: io.FileIO) -> bytes:
    parts = []
    while most and (part := file.read(min(most, 1 << 20))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _item(before: str, entry: os.DirEntry[str]) -> Item | None:
    try:
        it = entry.stat(follow_symlinks=False)
    except OSError:  # it was there a moment ago
        return None
    return Item(entry.name, before + entry.name, it.st_mode, it.st_size, it.st_nlink, it.st_dev, it.st_ino)


def _opened(folder: str) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | getattr(os, "O_CLOEXEC", 0))


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _names(path: str) -> list[str]:
    return [name for name in (path.replace("\\", "/") if os.sep == "\\" else path).split("/") if name not in ("", ".")]


def _climbs(path: str) -> bool:
    """Whether ``path``, read as text, leads above where it starts; backslashes count as separators everywhere."""
    depth = 0
    for name in path.replace("\\", "/").split("/"):
        depth += -1 if name == ".." else name not in ("", ".")
        if depth < 0:
            return True
    return False


def _anchored(roots: Roots, root: Root, below: str, folder: bool) -> tuple[str, int]:
    """What is open at ``below`` a root: its name, and a descriptor. See the top of this file."""
    asked = _names(below)
    pending = asked[::-1]
    here: list[tuple[str, int]] = []  # the folders on the way, below the root
    links = 0
    try:
        while pending:
            name = pending.pop()
            if name == "..":
                if not here:
                    raise RefusedPath
                os.close(here.pop()[1])
                continue
            at = here[-1][1] if here else root.handle
            mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                links += 1
                target = os.readlink(name, dir_fd=at)
                if links > MOST_LINKS or len(target) > LONGEST:
                    raise RefusedPath
                if os.path.isabs(target):
                    found = roots.inside(target)
                    if found is None:
                        raise RefusedPath
                    root, target = found
                    while here:
                        os.close(here.pop()[1])
                pending += _names(target)[::-1]
            elif stat.S_ISDIR(mode):
                here.append((name, os.open(name, _BELOW | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)))
                if len(here) > DEEPEST:
                    raise NoSuchPath(f"{below}: lies more than {DEEPEST} folders deep.")
            elif pending or not stat.S_ISREG(mode):
                raise NoSuchPath(f"{below}: no such file." if pending else f"{below}: is not a regular file.")
            else:
                return _found(
                    roots, root, asked, [*(n for n, _ in here), name], links, _regular(name, at, below, folder)
                )
        at = here[-1][1] if here else root.handle
        if not folder:
            raise NoSuchPath(f"{below}: is a folder, and a file is needed.")
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
        return _found(roots, root, asked, [n for n, _ in here], links, handle)
    except OSError as error:
        raise NoSuchPath(f"{below}: {_reason(error)}.") from None
    finally:
        for _, handle in here:
            os.close(handle)


def _found(roots: Roots, root: Root, asked: list[str], way: list[str], links: int, handle: int) -> tuple[str, int]:
    """Name and descriptor. A file keeps the name it was asked for by, since that tells its format."""
    return "/".join(asked if links and ".." not in asked else way) or ".", handle


def _regular(name: str, at: int, below: str, folder: bool) -> int:
    if folder:
        raise NoSuchPath(f"{below}: is a file, and a folder is needed.")
    handle = os.open(name, _SAFE | os.O_NOFOLLOW, dir_fd=at)
    if not stat.S_ISREG(os.fstat(handle).st_mode):  # replaced since it was looked at
        os.close(handle)
        raise NoSuchPath(f"{below}: is not a regular file.")
    return handle


def _reason(error: OSError) -> str:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return "no such file"
    return "cannot be read" + (f": {error.strerror}" if isinstance(error, PermissionError) else "")


def _resolved(roots: Roots, root: Root, below: str, folder: bool) -> tuple[str, int | str]:
    """As ``_anchored``, by resolving the path and comparing what was opened with what lies there afterwards."""
    names = _names(below)
    if any(_DEVICE.match(name) or ":" in name or name.rstrip(" .") != name for name in names if name != ".."):
        raise RefusedPath
    path = os.path.join(root.real, *names)
    real = os.path.realpath(path)
    found = roots.inside(real)
    if found is None:
        raise RefusedPath
    if folder:
        if not os.path.isdir(real):
            raise NoSuchPath(f"{below}: no such folder.")
        return "/".join(names) or ".", real
    try:
        if not stat.S_ISREG(os.stat(real).st_mode):
            raise NoSuchPath(f"{below}: is not a regular file.")
        handle = os.open(real, _SAFE | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise NoSuchPath(f"{below}: {_reason(error)}.") from None
    with suppress(OSError):
        if os.path.realpath(path) == real and os.path.samestat(os.fstat(handle), os.stat(real)):
            return "/".join(names), handle
    os.close(handle)
    raise RefusedPath
