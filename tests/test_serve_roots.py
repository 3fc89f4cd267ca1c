"""No path leads out of a root: as it is spelled, through links, by case, and while files are replaced under it."""

from __future__ import annotations

import os
import stat
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import OptionError
from omnichunk.serve import roots as module
from omnichunk.serve.folder import files
from omnichunk.serve.roots import NoSuchPath, RefusedPath, Roots

SECRET = b"SECRET"


@pytest.fixture
def tree(tmp_path):
    base = tmp_path / "base"
    inside = base / "project"
    (inside / "sub" / "deep").mkdir(parents=True)
    (inside / "a.txt").write_bytes(b"a")
    (inside / "sub" / "b.txt").write_bytes(b"b")
    (base / "secret.txt").write_bytes(SECRET)
    (base / "project-2").mkdir()
    (base / "project-2" / "c.txt").write_bytes(SECRET)
    for name, target in {
        "out": "../secret.txt", "out-folder": "..", "out-absolute": str(base / "secret.txt"), "out-missing": "../no",
        "in": "sub/b.txt", "in-folder": "sub", "in-absolute": str(inside / "sub" / "b.txt"), "circle": "circle",
        "back": "sub/deep/../b.txt", "round": "../project/a.txt", "chain": "out", "sub/up": "../a.txt",
        "sub/deep/way-up": "../../../secret.txt",
    }.items():  # fmt: skip
        (inside / name).symlink_to(target)
    os.mkfifo(inside / "pipe")
    return inside


@pytest.fixture(params=["anchored", "resolved"])
def roots(request, tree, monkeypatch):
    """With descriptors of folders, and as it is where there are none."""
    monkeypatch.setattr(module, "ANCHORED", request.param == "anchored")
    opened = Roots([str(tree)])
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("path", "label", "data"),
    [("a.txt", "a.txt", b"a"), ("./sub//b.txt", "sub/b.txt", b"b"), ("in", "in", b"b"),
     ("in-folder/b.txt", "in-folder/b.txt", b"b"),
     ("in-absolute", "in-absolute", b"b"), ("back", "back", b"b"), ("sub/up", "sub/up", b"a"), ("sub/../a.txt", "a.txt", b"a"),
     ("{root}/a.txt", "a.txt", b"a"), ("../project/a.txt", "a.txt", b"a"), ("sub/../../project/a.txt", "a.txt", b"a")],
)  # fmt: skip
def test_what_lies_inside_is_read(roots, tree, path, label, data):
    read = roots.read(path.format(root=tree), 100)
    assert read[1] == data
    if ".." not in path or module.ANCHORED:
        assert read[0] == label


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "..", "../no", "sub/../../secret.txt", "{root}/../secret.txt", "{root}-2/c.txt", "/etc/passwd",
     "out", "out-absolute", "out-missing", "out-folder", "out-folder/secret.txt", "out-folder/no", "chain",
     "sub/deep/way-up", "../project-2/c.txt", "//etc/passwd", "C:/x", "c:x", "\\\\server\\share", "\\x", "..\\secret.txt",
     "sub\\..\\..\\secret.txt", "a.txt\0", "\udfff\ud800", "a/" * 3000, "~/x/../../../../etc/passwd"],
)  # fmt: skip
def test_what_leads_out_is_refused_alike(roots, tree, path):
    with pytest.raises(RefusedPath) as refused:
        roots.read(path.format(root=tree), 100)
    assert str(refused.value) == str(RefusedPath())


@pytest.mark.parametrize("path", ["no", "sub/no", "a.txt/x", "sub", ".", "", "pipe", "SUB/B.TXT", "a.txt/../sub/b.txt"])
def test_what_is_no_file_is_told(roots, tree, path):
    if path == "a.txt/../sub/b.txt" and not module.ANCHORED:
        pytest.skip("as Windows has it, a file has a parent")
    with pytest.raises(NoSuchPath) as missing:
        roots.read(path, 100)
    assert str(tree) not in str(missing.value)


def test_a_circle_of_links_ends(roots):
    with pytest.raises((RefusedPath, NoSuchPath)):
        roots.read("circle", 100)


def test_a_large_file_is_not_read(roots, tree):
    with pytest.raises(NoSuchPath, match="larger than 0 bytes"):
        roots.read("a.txt", 0)


@pytest.mark.parametrize("name", ["CON", "nul.txt", "a.txt:stream", "a.txt.", "a.txt ", "sub/COM1", "x:y"])
def test_names_that_mean_more_on_windows(tree, monkeypatch, name):
    monkeypatch.setattr(module, "ANCHORED", False)
    with pytest.raises(RefusedPath):
        Roots([str(tree)]).read(name, 100)


def test_several_roots(tree):
    roots = Roots([str(tree / "sub"), str(tree), str(tree.parent / "project-2"), str(tree)])
    try:
        assert [root.name for root in roots.roots] == ["sub", "project", "project-2"]
        assert roots.read("b.txt", 9) == ("sub/b.txt", b"b")
        assert roots.read("sub/b.txt", 9) == ("sub/b.txt", b"b")
        assert roots.read("project/sub/b.txt", 9) == ("project/sub/b.txt", b"b")
        assert roots.read("c.txt", 9) == ("project-2/c.txt", SECRET)
        assert found(roots, "project/sub") == ["project/sub/b.txt"]
        with pytest.raises(RefusedPath):
            roots.read("project/../secret.txt", 9)
    finally:
        roots.close()


def test_a_root_that_is_a_link_or_none(tree, tmp_path):
    (tmp_path / "link").symlink_to(tree)
    roots = Roots([str(tmp_path / "link")])
    assert roots.read(str(tmp_path / "link" / "a.txt"), 9)[1] == b"a"
    assert roots.read(str(tree / "a.txt"), 9)[1] == b"a"
    assert roots.without_roots(f"{tree}/a.txt and {tmp_path}/link/b") == "a.txt and b"
    roots.close()
    for wrong in ([], [""], [str(tree), ""], [str(tree / "a.txt")], [str(tree / "no")]):
        with pytest.raises(OptionError):
            Roots(wrong)


def test_the_root_stays_what_it_was(tree):
    """A root that is renamed and replaced is still the folder that was opened."""
    roots = Roots([str(tree)])
    tree.rename(tree.parent / "moved")
    tree.symlink_to(tree.parent / "project-2")
    assert roots.read("a.txt", 9)[1] == b"a"
    with pytest.raises(NoSuchPath):
        roots.read("c.txt", 9)
    roots.close()


def test_no_race_leads_out(tree):
    """A folder and a file are exchanged for links that lead out, again and again, while they are read."""
    roots = Roots([str(tree)])
    outside = tree.parent / "project-2"
    (outside / "b.txt").write_bytes(SECRET)
    (outside / ".gitignore").write_text("*")
    (outside / "leaked.txt").write_bytes(SECRET)
    stop = threading.Event()

    def exchange():
        while not stop.is_set():
            (tree / "sub").rename(tree / "kept")
            (tree / "sub").symlink_to(outside)
            (tree / "sub").unlink()
            (tree / "kept").rename(tree / "sub")
            (tree / "a.new").symlink_to("../secret.txt")
            (tree / "a.new").rename(tree / "a.txt")
            (tree / "a.new").write_bytes(b"a")
            (tree / "a.new").rename(tree / "a.txt")

    thread = threading.Thread(target=exchange)
    thread.start()
    found = set()
    try:
        for _ in range(1500):
            for path in ("sub/b.txt", "a.txt", "sub/../a.txt"):
                try:
                    found.add(roots.read(path, 99)[1])
                except (RefusedPath, NoSuchPath):
                    found.add(b"")
            names = {entry.path for entry in files(roots, ".")}
            assert not any("leaked" in name for name in names)
    finally:
        stop.set()
        thread.join()
        roots.close()
    assert SECRET not in found
    assert {b"a", b"b"} <= found


NAMES = st.sampled_from(["..", ".", "", "sub", "deep", "a.txt", "b.txt", "out", "out-folder", "in-folder", "back", "round",
                         "way-up", "up", "project", "project-2", "secret.txt", "c.txt", "\\..", "C:", "~", "no"])  # fmt: skip


@given(st.lists(NAMES, max_size=8), st.booleans())
def test_whatever_is_asked_for_lies_inside(tmp_path_factory, names, absolute):
    tree = getattr(test_whatever_is_asked_for_lies_inside, "tree", None)
    if tree is None:
        tree = test_whatever_is_asked_for_lies_inside.tree = made_tree(tmp_path_factory.mktemp("given"))
    path = "/".join([*([str(tree)] if absolute else []), *names])
    roots = Roots([str(tree)])
    try:
        assert roots.read(path, 99)[1] != SECRET
        assert os.path.realpath(os.path.join(tree, path)).startswith(f"{tree}{os.sep}")
    except (RefusedPath, NoSuchPath) as refused:
        assert "secret" not in str(refused) or "secret" in path  # noqa: PT017  every answer is looked at
    finally:
        roots.close()


def made_tree(base):
    (base / "project" / "sub" / "deep").mkdir(parents=True)
    (base / "project-2").mkdir()
    for name, data in {"project/a.txt": b"a", "project/sub/b.txt": b"b", "secret.txt": SECRET}.items():
        (base / name).write_bytes(data)
    (base / "project-2" / "c.txt").write_bytes(SECRET)
    links = {"out": "../secret.txt", "out-folder": "..", "in-folder": "sub", "back": "sub/deep/../b.txt",
             "round": "../project/a.txt", "sub/up": "../a.txt", "sub/deep/way-up": "../../../secret.txt"}  # fmt: skip
    for name, target in links.items():
        (base / "project" / name).symlink_to(target)
    return base / "project"


def test_descriptors_do_not_leak(tree):
    roots = Roots([str(tree)])
    before = len(os.listdir("/proc/self/fd"))
    for path in ("a.txt", "out", "in", "sub/deep/way-up", "no", "pipe", "sub/b.txt", "in-absolute", "circle"):
        for look in (lambda p=path: roots.read(p, 9), lambda p=path: roots.scan(p)):
            try:
                look()
            except (RefusedPath, NoSuchPath):
                continue
    assert len(os.listdir("/proc/self/fd")) == before
    roots.close()


def found(roots, *args, **more):
    return [entry.path for entry in files(roots, *args, **more) if entry.verdict == "found"]


def test_folders_that_lie_too_deep_cost_only_themselves(tree, nest):
    nest(tree, ["d"] * 1000)
    roots = Roots([str(tree)])
    try:
        failed = [entry for entry in files(roots, ".") if entry.verdict == "failed"]
        assert [(entry.path, entry.reason) for entry in failed] == [
            ("d/" * 201, "cannot be read: lies more than 200 folders deep")
        ]
        assert found(roots, ".") == ["a.txt", "sub/b.txt"]
    finally:
        roots.close()


def test_the_files_of_a_folder(tree):
    (tree / ".gitignore").write_text("*.log\n!keep.log\n/sub/deep/\n\\\n")
    (tree / "sub" / ".ignore").write_text("b.txt\n")
    (tree.parent / ".gitignore").write_text("*\n")  # outside: does not count
    (tree.parent / ".git").mkdir()
    for name in ("x.log", "keep.log", ".hidden", "sub/c.py", "sub/deep/d.py"):
        (tree / name).write_text(name)
    (tree / ".git").mkdir()
    (tree / ".git" / "config").write_text("x")
    os.link(tree / "keep.log", tree / "sub" / "twin.txt")
    roots = Roots([str(tree)])
    try:
        assert found(roots, ".") == ["a.txt", "keep.log", "sub/c.py"]
        assert found(roots, ".", include_hidden=True)[0] == ".gitignore"
        assert found(roots, "sub") == ["sub/c.py", "sub/twin.txt"]
        assert found(roots, "sub/deep") == ["sub/deep/d.py"]
        assert found(roots, ".", "/*.py") == []
        assert found(roots, "sub", ["/*.py"], "twin*") == ["sub/c.py"]
        assert found(roots, ".", exclude=["sub/"]) == ["a.txt", "keep.log"]
        left = {entry.path: entry.reason for entry in files(roots, ".") if entry.verdict == "skipped"}
        assert {
            left[name] for name in ("in", "out", "out-missing", "in-folder", "sub/deep/way-up") if name in left
        } == {"link"}
        assert (left["pipe"], left["sub/twin.txt"]) == ("special file", "hard link to a file already found")
        for wrong in ("", "#", "  ", "\\"):
            with pytest.raises(OptionError):
                list(files(roots, ".", wrong))
        assert all(stat.S_ISREG(os.stat(tree / name).st_mode) for name in found(roots, "."))
    finally:
        roots.close()
