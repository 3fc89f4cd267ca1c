"""Which files of a folder are read, and what becomes of those that are not."""

from __future__ import annotations

import os
import socket
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnichunk import Chunker, LoadError, OptionError
from omnichunk.walk import walk


def lay(root, *paths, **contents):
    """Write files under ``root``; a path that ends in a slash is a folder."""
    for path in paths:
        target = root / path
        if path.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(contents.get(path, f"words of {path}\n"), encoding="utf-8")


def found(root, **options):
    return [os.path.relpath(e.path, root) for e in walk(root, **options) if e.verdict == "found"]


def left_out(root, **options):
    """Path below the root, and why, of everything that was not found."""
    base = os.path.join(root, "")
    return {e.path.removeprefix(base): e.reason for e in walk(root, **options) if e.verdict != "found"}


def test_order_is_that_of_names_folder_by_folder(tmp_path):
    lay(tmp_path, "b/z.txt", "b/a.txt", "a.txt", "c.txt", "B.txt", "b.txt")
    assert found(tmp_path) == ["B.txt", "a.txt", "b/a.txt", "b/z.txt", "b.txt", "c.txt"]


def test_paths_are_joined_to_the_root_as_given(tmp_path, monkeypatch):
    lay(tmp_path, "pkg/a.py")
    monkeypatch.chdir(tmp_path)
    assert [e.path for e in walk("pkg")] == [os.path.join("pkg", "a.py")]
    assert [e.path for e in walk(".")] == [os.path.join("pkg", "a.py")]
    assert [e.path for e in walk(tmp_path / "pkg")] == [str(tmp_path / "pkg" / "a.py")]


def test_it_is_lazy(tmp_path):
    """The first file comes before later folders are read."""
    lay(tmp_path, "a.txt", "z/b.txt")
    entries = walk(tmp_path)
    assert next(entries).path == str(tmp_path / "a.txt")
    (tmp_path / "z" / "b.txt").unlink()
    assert list(entries) == []


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("**/*", ["a.py", "d/b.py", "d/c.md", "d/e/f.py"]),
        ("*.py", ["a.py", "d/b.py", "d/e/f.py"]),
        ("**/*.py", ["a.py", "d/b.py", "d/e/f.py"]),
        ("/*.py", ["a.py"]),
        ("d/*.py", ["d/b.py"]),
        ("d/**", ["d/b.py", "d/c.md", "d/e/f.py"]),
        (["*.md", "a.*"], ["a.py", "d/c.md"]),
        (["*.py", "!f.py"], ["a.py", "d/b.py"]),
    ],
)
def test_glob(tmp_path, glob, expected):
    lay(tmp_path, "a.py", "d/b.py", "d/c.md", "d/e/f.py")
    assert found(tmp_path, glob=glob) == expected


def test_exclude(tmp_path):
    lay(tmp_path, "a.py", "d/b.py", "d/c.md")
    assert found(tmp_path, exclude="d/") == ["a.py"]
    assert left_out(tmp_path, exclude="d/") == {"d/": "excluded"}
    assert found(tmp_path, exclude=["b.*", "/a.py"]) == ["d/c.md"]


@pytest.mark.parametrize("pattern", ["", "  ", "#x", "!", "x\\", 3, ["a", None]])
def test_a_pattern_that_is_none_is_refused(tmp_path, pattern):
    with pytest.raises(OptionError, match="pattern"):
        walk(tmp_path, exclude=[pattern] if isinstance(pattern, str) else pattern)


def test_hidden_files(tmp_path):
    lay(tmp_path, ".env", ".config/x.txt", "a.txt", ".git/config")
    assert found(tmp_path) == ["a.txt"]
    assert left_out(tmp_path) == {".config/": "hidden", ".env": "hidden", ".git/": "version control"}
    assert found(tmp_path, include_hidden=True) == [".config/x.txt", ".env", "a.txt"]


def test_nested_ignore_files_with_negation_and_pruning(tmp_path):
    lay(
        tmp_path,
        "a.log", "keep.log", "src/b.log", "src/keep.log", "src/c.txt", "build/out.txt", "build/keep.log",
        "src/gen/x.txt", "src/gen/y.md", "deep/build/z.txt",
    )  # fmt: skip
    (tmp_path / ".gitignore").write_text("\ufeff*.log\n!keep.log\n/build/\n# note\n!\n", encoding="utf-8")
    (tmp_path / "src" / ".gitignore").write_text("keep.log\n/gen/*\n!*.md\n", encoding="utf-8")
    (tmp_path / "src" / ".ignore").write_text("c.txt\n!b.log\n", encoding="utf-8")
    assert found(tmp_path) == ["deep/build/z.txt", "keep.log", "src/b.log", "src/gen/y.md"]
    assert left_out(tmp_path)["build/"] == "ignore file"


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("*a" * 20 + "*b", "a" * 200),
        ("*?" * 20 + "b", "a" * 200),
        ("*(*" * 9 + "b", "(" * 200),
        ("**/a/" * 9 + "b", "a/" * 190 + "a"),
        ("**/*a*a*/**/*a*a*b", ("a" * 20 + "/") * 19 + "a"),
    ],
)
def test_a_rule_costs_no_more_than_its_length(tmp_path, rule, path):
    """Tried in every way they could match, these would not come to an end."""
    lay(tmp_path, path)
    (tmp_path / ".gitignore").write_text(rule + "\n", encoding="utf-8")
    assert found(tmp_path) == [path]
    (tmp_path / ".gitignore").write_text(rule[:-1] + "\n", encoding="utf-8")
    assert found(tmp_path) == []


def test_rules_with_many_asterisks_mean_what_git_says(tmp_path):
    names = ["axbxc.txt", "ab.txt", "x/a/y/b/z/c.txt", "a/b/c.txt", "a/c.txt", "new\nline/d.log", "e[1]f(2).txt"]
    lay(tmp_path, *names)
    for rule, ignored in {
        "a*b*c*t": ["axbxc.txt"],
        "*a**b*.*": ["ab.txt", "axbxc.txt"],
        "**/a/**/b/**/c*": ["a/b/c.txt", "x/a/y/b/z/c.txt"],
        "*.log": ["new\nline/d.log"],
        "*\\[*]*(*)*.txt": ["e[1]f(2).txt"],
        "x[!a]a": [],
    }.items():
        assert sorted(set(names) - set(found(tmp_path, exclude=rule))) == sorted(ignored), rule


def test_what_is_no_ignore_file_rules_nothing(tmp_path):
    lay(tmp_path, "a.txt", "d/.gitignore/x.txt", "e/b.txt", "f/c.txt")
    os.mkfifo(tmp_path / ".ignore")
    (tmp_path / "e" / ".gitignore").symlink_to("/dev/zero")
    (tmp_path / "f" / ".gitignore").write_text("*\n" * 200_000, encoding="utf-8")
    assert found(tmp_path) == ["a.txt", "e/b.txt", "f/c.txt"]


def test_a_root_that_goes_up_from_a_link(tmp_path, monkeypatch):
    lay(tmp_path, "real/sub/", "real/a.txt", "here/")
    (tmp_path / "here" / "link").symlink_to(tmp_path / "real" / "sub")
    monkeypatch.chdir(tmp_path / "here")
    (entry,) = walk("link/..")
    assert os.path.samefile(entry.path, tmp_path / "real" / "a.txt")


def test_ignore_files_above_the_root_count_within_a_repository(tmp_path):
    lay(tmp_path, "repo/.git/", "repo/app/a.py", "repo/app/node_modules/x.js", "repo/out/b.py")
    (tmp_path / ".gitignore").write_text("*.py\n", encoding="utf-8")
    (tmp_path / "repo" / ".gitignore").write_text("node_modules/\n/out/\n/app/c.py\n", encoding="utf-8")
    assert found(tmp_path / "repo" / "app") == ["a.py"]
    lay(tmp_path, "repo/app/c.py")
    assert found(tmp_path / "repo" / "app") == ["a.py"]
    assert found(tmp_path / "repo" / "out") == ["b.py"], "a root that was named is wanted"


def test_links_are_not_followed(tmp_path):
    lay(tmp_path, "root/a.txt", "root/d/b.txt", "outside/secret.txt")
    root = tmp_path / "root"
    (root / "in.txt").symlink_to("a.txt")
    (root / "d" / "up").symlink_to("..")
    (root / "out.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (root / "outdir").symlink_to(tmp_path / "outside")
    (root / "gone.txt").symlink_to("nowhere")
    (root / "circle").symlink_to("circle")
    assert found(root) == ["a.txt", "d/b.txt"]
    assert left_out(root) == {
        "circle": "link in a circle",
        "d/up": "link within the folder",
        "gone.txt": "broken link",
        "in.txt": "link within the folder",
        "out.txt": "link out of the folder",
        "outdir": "link out of the folder",
    }
    (tmp_path / "rootlink").symlink_to(root)
    assert found(tmp_path / "rootlink") == ["a.txt", "d/b.txt"], "a root that is a link was named, so it is followed"


def test_special_files_hard_links_and_large_files(tmp_path, monkeypatch):
    lay(tmp_path, "a.txt", "z.txt")
    (tmp_path / "large.txt").write_bytes(b"x" * 1001)
    os.link(tmp_path / "a.txt", tmp_path / "b.txt")
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert found(tmp_path, max_bytes=1000) == ["a.txt", "z.txt"]
        assert left_out(tmp_path, max_bytes=1000) == {
            "b.txt": "hard link to a file already found",
            "fifo": "special file",
            "large.txt": "too large",
            "socket": "special file",
        }


def test_a_folder_that_cannot_be_listed_is_reported(tmp_path, monkeypatch):
    lay(tmp_path, "a.txt", "shut/b.txt", "z.txt")
    shut, scandir = str(tmp_path / "shut"), os.scandir

    def refusing(path):
        if os.fspath(path) == shut:
            raise PermissionError(13, "Permission denied", shut)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert found(tmp_path) == ["a.txt", "z.txt"]
    assert left_out(tmp_path) == {"shut/": "cannot be read: Permission denied"}


def test_depth_is_no_danger(tmp_path, nest):
    """More folders within each other than a function can call itself, and more than a path can name."""
    nest(tmp_path, ["d"] * 1100 + ["long" * 60] * 12)
    (last,) = walk(tmp_path)
    assert last.verdict == "failed"
    assert last.reason == "cannot be read: File name too long"
    assert last.path.count("/d") >= 1100


def test_a_root_that_is_no_folder(tmp_path):
    lay(tmp_path, "a.txt")
    with pytest.raises(LoadError, match=r"missing: cannot be read as a folder: No such file"):
        walk(tmp_path / "missing")
    with pytest.raises(LoadError, match=r"use chunk_file\(\)"):
        walk(tmp_path / "a.txt")


NAME = st.text(st.sampled_from(string.ascii_lowercase + ".#! é中"), min_size=1, max_size=6).filter(
    lambda n: n not in (".", "..", ".git") and n == n.strip()
)


@given(names=st.sets(st.tuples(NAME, NAME), max_size=8))
def test_every_file_is_found_or_reported(names, tmp_path_factory):
    root = tmp_path_factory.mktemp("any")
    lay(root, *(f"{a}/{b}" for a, b in names))
    everything = sorted(f"{a}/{b}" for a, b in names)
    assert sorted(found(root, include_hidden=True)) == everything
    hidden = left_out(root)
    for path in everything:
        assert path in found(root) or path in hidden or path.split("/")[0] + "/" in hidden


def outcomes(root, **options):
    return {os.path.relpath(r.filepath, root): r.outcome for r in Chunker().chunk_directory(root, **options)}


def test_results_come_in_the_order_of_the_walk(tmp_path):
    lay(tmp_path, "b/x.py", "a.md", "c.txt")
    chunker = Chunker()
    results = chunker.chunk_directory(tmp_path)
    assert [os.path.relpath(r.filepath, tmp_path) for r in results] == ["a.md", "b/x.py", "c.txt"]
    for result in results:
        assert list(result.chunks) == chunker.chunk_file(result.filepath)
        assert result.outcome == "ok"
        assert result.error is None
        assert result.size == os.path.getsize(result.filepath)
    assert next(chunker.iter_directory(tmp_path)).chunks == results[0].chunks


def test_one_bad_file_stops_nothing(tmp_path):
    lay(tmp_path, "a.txt", "z.txt", "empty.txt", **{"empty.txt": ""})
    (tmp_path / "bad.py").write_bytes(b"x = '\xff\xfe\xfa'\n")
    (tmp_path / "blob.bin").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "paper.odt").write_bytes(b"PK\x03\x04 whatever")
    assert outcomes(tmp_path) == {
        "a.txt": "ok",
        "bad.py": "failed",
        "blob.bin": "skipped",
        "empty.txt": "ok",
        "paper.odt": "skipped",
        "z.txt": "ok",
    }
    (failed,) = (r for r in Chunker().chunk_directory(tmp_path) if r.outcome == "failed")
    assert str(tmp_path / "bad.py") in failed.error


def test_a_folder_without_readable_files_reports_each(tmp_path):
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "x.bin").write_bytes(b"\0\1\2" * 500)
    (tmp_path / "bad.py").write_bytes(b"\xff\xfa\xf0" * 9)
    assert outcomes(tmp_path) == {"bad.py": "failed", "gone": "skipped", "x.bin": "skipped"}
    empty = tmp_path / "empty"
    empty.mkdir()
    assert Chunker().chunk_directory(empty) == []


def test_a_file_that_cannot_be_read_fails_alone(tmp_path, monkeypatch):
    lay(tmp_path, "a.txt", "shut.txt")
    from omnichunk import pipeline

    def refusing(path, mode):
        if os.fspath(path).endswith("shut.txt"):
            raise PermissionError(13, "Permission denied", path)
        return open(path, mode)

    monkeypatch.setattr(pipeline, "open", refusing, raising=False)
    assert outcomes(tmp_path) == {"a.txt": "ok", "shut.txt": "failed"}


def test_what_rules_leave_out_is_reported_on_request(tmp_path):
    lay(tmp_path, "a.txt", "b.log", ".hidden")
    (tmp_path / ".gitignore").write_text("*.log\n", encoding="utf-8")
    assert outcomes(tmp_path) == {"a.txt": "ok"}
    reported = Chunker().iter_directory(tmp_path, report_ignored=True)
    assert {os.path.basename(r.filepath): r.error for r in reported if r.error} == {
        ".gitignore": "hidden",
        ".hidden": "hidden",
        "b.log": "ignore file",
    }


def test_wrong_options_are_refused_before_any_file(tmp_path):
    chunker = Chunker()
    for options, message in [
        ({"concurrency": 1.5}, "at least 1"),
        ({"timeout_s": 0}, "seconds above 0"),
        ({"memory_mb": True}, "whole number"),
        ({"skip": "a.txt"}, "a callable, or None"),
        ({"concurrency": 0}, "at least 1"),
        ({"source_id": "x"}, "single source"),
        ({"max_chunk_sise": 3}, 'did you mean "max_chunk_size"'),
    ]:
        with pytest.raises(OptionError, match=message):
            chunker.iter_directory(tmp_path, **options)
    with pytest.raises(LoadError):
        chunker.iter_directory(tmp_path / "missing")


def test_an_encoding_is_recorded(tmp_path):
    (tmp_path / "a.txt").write_bytes("größe".encode("latin-1"))
    (result,) = Chunker().chunk_directory(tmp_path, encoding="latin-1")
    assert result.chunks[0].text == "größe"
    assert result.chunks[0].source.normalization.startswith("decoded:")


def test_exceptions_of_the_callers_own_callables_propagate(tmp_path):
    lay(tmp_path, "a.txt")

    def broken(text):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Chunker(size_unit="tokens", tokenizer=broken).chunk_directory(tmp_path)


def test_limits_that_are_none(tmp_path):
    for wrong in (-1, 0, True, 1.5, "9"):
        with pytest.raises(OptionError, match="max_bytes="):
            Chunker().iter_directory(tmp_path, max_bytes=wrong)
    for wrong in (None, 1, "no"):
        with pytest.raises(OptionError, match="include_hidden="):
            Chunker().chunk_directory(tmp_path, include_hidden=wrong)
