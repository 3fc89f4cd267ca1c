"""What the command line tells of itself: plugins, languages, and what would be used for a file."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnichunk import ChunkingError, __version__

if TYPE_CHECKING:
    from omnichunk import Chunker, PluginRegistry

SHOWN = 12
"""Names, or diagnostics, that are listed one by one; of more only the number is told."""
JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add_commands(app: typer.Typer) -> None:
    """Give ``app`` the commands ``plugins``, ``languages`` and ``doctor``."""
    app.command("plugins")(plugins_command)
    app.command("languages")(languages_command)
    app.command("doctor")(doctor_command)


def plugins_command(as_json: JSON = False) -> None:
    """List the plugins: where each comes from, what it adds, and why it failed."""
    infos = _registry().plugins()
    if as_json:
        return _print_json([asdict(info) for info in infos])
    rows = []
    for info in infos:
        origin = f"{info.origin} of {info.distribution}" if info.distribution else info.origin
        more = [*_by_kind(info.adds), *([info.error] if info.error else [])]
        rows.append(((info.name, info.version or "-", origin, info.state), more))
    _print(_table(("plugin", "version", "origin", "state"), rows))
    return None


def languages_command(as_json: JSON = False) -> None:
    """List the code languages: how definitions are found here, and by which suffixes each is recognized."""
    from omnichunk import language_capabilities

    rows = language_capabilities(_registry().languages())
    if as_json:
        return _print_json([asdict(row) for row in rows])
    lines = []
    for row in rows:
        why = [row.reason] if row.grammar_registered and row.reason else []
        outline = "yes" if row.query_available else "-"
        lines.append(((row.language, row.extraction, outline, " ".join(row.extensions) or "-"), why))
    _print(_table(("language", "extraction", "outline", "suffixes"), lines))
    counts = Counter(row.extraction for row in rows)
    _print(
        "\n"
        + _wrapped(
            f"{len(rows)} languages: {counts['ast']} by syntax tree (ast), {counts['regex']} by regular expressions, "
            f"{counts['none']} by blank lines. Outline: definitions are told by kind.",
            "",
        )
    )
    if lacking := [name for name in ("code", "all-languages") if not _extra(name)["complete"]]:
        _print(f'For more: pip install "omnichunk[{",".join(lacking)}]"')
    return None


def doctor_command(
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="Files to try.")] = None,
    tokenizer: Annotated[str | None, typer.Option(help="Count tokens with this one, as chunk would.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of text files; found out if not named.")] = None,
    as_json: JSON = False,
) -> None:
    """Tell what is installed, what is really used for each FILE, and what to install for more.

    Each FILE is chunked as `omnichunk chunk` would, and the chunks are thrown away. Status 1 when one cannot be.
    """
    registry = _registry()
    report: dict[str, Any] = {
        "omnichunk": __version__,
        "python": sys.version.split()[0],
        "location": os.path.dirname(__file__),
        "plugins_disabled": bool(os.environ.get("OMNICHUNK_DISABLE_PLUGINS")),
        "extras": [_extra(name) for name in _extras()],
        "plugins": [asdict(info) for info in registry.load_entry_points()],
    }
    wrong = False
    if files or tokenizer is not None:
        from omnichunk import Chunker

        try:
            chunker = Chunker(registry, **({} if tokenizer is None else {"tokenizer": tokenizer}))
        except ChunkingError as error:
            report["tokenizer"] = {"name": tokenizer, "problem": str(error).removeprefix("Chunker(): ")}
            chunker, wrong = Chunker(registry), True
        else:
            report["tokenizer"] = {"name": tokenizer, "exact": tokenizer not in (None, "approximate"), "problem": ""}
        report["files"] = [_tried(chunker, path, encoding) for path in files or ()]
        wrong = wrong or any(tried["problem"] for tried in report["files"])
    if as_json:
        _print_json(report)
    else:
        _print("\n".join(_told(report)))
    if wrong:
        raise typer.Exit(1)


def _registry() -> PluginRegistry:
    from omnichunk import PluginRegistry

    registry = PluginRegistry()
    registry.load_entry_points()
    return registry


# What is installed


def _extras() -> dict[str, list[str]]:
    """Extra of this distribution -> its requirements, without those that only sum up others or serve development."""
    found: dict[str, list[str]] = {}
    for requirement in _requirements("omnichunk"):
        extra = re.search(r"""extra == ["']([\w-]+)["']""", requirement)
        if extra and extra[1] != "dev" and not requirement.startswith("omnichunk"):
            found.setdefault(extra[1], []).append(requirement)
    return found


def _extra(name: str) -> dict[str, Any]:
    """An extra: its packages with their versions, and whether all are there."""
    packages = [_package(*needed) for requirement in _extras().get(name, ()) for needed in _needed(requirement)]
    return {"name": name, "complete": all(p["state"] == "installed" for p in packages), "packages": packages}


def _needed(requirement: str) -> Iterator[tuple[str, str]]:
    """Name and version clauses of a requirement, and of what its own extras need (``pypdf[crypto]``)."""
    parsed = re.match(r"([\w.-]+)\s*(?:\[([^\]]*)\])?\s*\(?([^;)]*)", requirement)
    if parsed is None:
        return
    yield parsed[1], parsed[3].strip()
    for extra in (parsed[2] or "").replace(" ", "").split(","):
        for inner in _requirements(parsed[1]) if extra else ():
            if re.search(rf"""extra == ["']{re.escape(extra)}["']""", inner) and (name := re.match(r"[\w.-]+", inner)):
                yield name[0], ""


def _requirements(distribution: str) -> list[str]:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        return requires(distribution) or []
    except PackageNotFoundError:
        return []


def _package(name: str, clauses: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version(name)
    except PackageNotFoundError:
        return {"name": name, "version": "", "needed": clauses, "state": "missing"}
    return {"name": name, "version": found, "needed": clauses, "state": _state(found, clauses)}


def _state(version: str, clauses: str) -> str:
    """``installed``, or ``unsuitable`` for a version that a ``>=`` or ``<`` clause excludes."""
    for operator, bound in re.findall(r"(>=|<(?!=))\s*([\d.]+)", clauses):
        there, limit = ([int(part) for part in (*re.findall(r"\d+", v), 0, 0)[:3]] for v in (version, bound))
        if (there < limit) is (operator == ">="):
            return "unsuitable"
    return "installed"


# What is used for a file


def _tried(chunker: Chunker, path: str, encoding: str | None) -> dict[str, Any]:
    """What was used to chunk the file ``path``; ``problem`` says why it cannot be chunked."""
    from omnichunk import Source

    registry = chunker.registry
    found: dict[str, Any] = {"path": path, "loader": "", "plugin": "", "format": "", "encoding": ""}
    used: Counter[tuple[str, str]] = Counter()
    notes: dict[str, None] = {}
    problem = ""
    try:
        source = Source(path, _read(chunker, path), encoding)
        loader = registry.loader_for(source).name
        found["loader"], found["plugin"] = loader, registry.provenance("loaders", loader).name
        loaded = registry.load(source)
        found["format"], found["encoding"] = loaded.format_name, loaded.encoding
        notes.update(dict.fromkeys(loaded.warnings))
        for chunk in chunker.chunk_loaded(path, loaded):
            language, backend = chunk.context.language, chunk.context.format_metadata.get("parser_backend")
            provider = "the loader" if loaded.blocks else f"provider {registry.provider_for(language).name}"
            used[language, str(backend or provider)] += 1
            notes.update(dict.fromkeys(chunk.context.parse_errors))
    except ChunkingError as error:
        problem = str(error)
    structure = [{"language": of, "by": by, "chunks": number} for (of, by), number in used.most_common()]
    return {**found, "structure": structure, "chunks": used.total(), "notes": list(notes), "problem": problem}


def _read(chunker: Chunker, path: str) -> bytes:
    try:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read()
    except OSError:
        pass
    chunker.chunk_file(path)  # it says what is wrong
    return b""


# Printing


def _told(report: dict[str, Any]) -> Iterator[str]:
    """The lines of ``doctor``."""
    yield f"omnichunk {report['omnichunk']}, Python {report['python']}, {report['location']}"
    yield ""
    rows: list[tuple[Sequence[str], list[str]]] = []
    for extra in report["extras"]:
        packages = [f"{p['name']} {p['version'] or p['state']}{_unsuitable(p)}" for p in extra["packages"]]
        rows.append(((extra["name"], "complete" if extra["complete"] else "incomplete", ", ".join(packages)), []))
    yield _table(("extra", "state", "packages"), rows)
    if report["plugins_disabled"]:
        yield "\nOMNICHUNK_DISABLE_PLUGINS is set: installed plugins are not loaded."
    elif report["plugins"]:
        yield "\n" + _wrapped(_listed([p["name"] for p in report["plugins"]]), "  ", "plugins: ")
    for plugin in report["plugins"]:
        if plugin["error"]:
            yield _wrapped(f"{plugin['name']} failed: {plugin['error']}", "  ")
    if tokenizer := report.get("tokenizer"):
        yield "\n" + _wrapped(_tokenizer(**tokenizer), "  ", "tokenizer: ")
    for tried in report.get("files", ()):
        yield ""
        yield from _file(tried)
    if missing := [extra["name"] for extra in report["extras"] if not extra["complete"]]:
        yield f'\nFor more: pip install "omnichunk[{",".join(missing)}]"'


def _unsuitable(package: dict[str, str]) -> str:
    return f" (needed: {package['needed']})" if package["state"] == "unsuitable" else ""


def _tokenizer(name: str | None, problem: str, exact: bool = False) -> str:
    if problem:
        return problem
    if name is None:
        return "none named; token counts are estimates (--tokenizer names one)"
    return f"{name}, {'exact' if exact else 'an estimate'}"


def _file(tried: dict[str, Any]) -> Iterator[str]:
    """The lines on one file."""
    yield _clean(tried["path"])
    if tried["loader"]:
        yield f"  loader     {tried['loader']} ({tried['plugin']})"
    if tried["format"]:
        yield f"  read as    {tried['format']}, {tried['encoding']}"
    for i, structure in enumerate(tried["structure"][:SHOWN]):
        start = "structure" if i == 0 else ""
        yield f"  {start:10} {structure['language']}: {structure['by']}, {_chunks(structure['chunks'])}"
    if not tried["problem"]:
        yield f"  result     {_chunks(tried['chunks'])}"
    for note in tried["notes"][:SHOWN]:
        yield _wrapped(note, "             ", "  note       ")
    if len(tried["notes"]) > SHOWN:
        yield f"             and {len(tried['notes']) - SHOWN} more"
    if tried["problem"]:
        yield _wrapped(tried["problem"], "             ", "  problem    ")


def _chunks(number: int) -> str:
    return f"{number:,} chunk{'' if number == 1 else 's'}"


def _by_kind(adds: Iterable[str]) -> list[str]:
    """``kind: name, name`` for each kind of declaration."""
    kinds: dict[str, list[str]] = {}
    for added in adds:
        kind, _, name = added.partition(":")
        kinds.setdefault(kind, []).append(name)
    return [f"{kind}: {_listed(names)}" for kind, names in kinds.items()]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _table(head: Sequence[str], rows: Sequence[tuple[Sequence[str], list[str]]]) -> str:
    """``rows`` in columns under ``head``; the last column is wrapped, and so is what follows a row, indented."""
    cells = [[_clean(cell) for cell in row] for row, _ in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells)][:-1]
    indent = " " * min(sum(widths) + 2 * len(widths), _width() // 2)
    lines = []
    for row, more in zip([head, *cells], [[], *(more for _, more in rows)]):
        start = "".join(f"{cell:{width}}  " for cell, width in zip(row, widths))
        lines.append(_wrapped(row[-1], indent, start))
        lines += [_wrapped(line, "      ", "    ") for line in more]
    return "\n".join(lines)


def _wrapped(text: str, indent: str, start: str | None = None) -> str:
    begin = indent if start is None else start
    return textwrap.fill(
        _clean(text), _width(), initial_indent=begin, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    ) or begin.rstrip()  # fmt: skip


def _width() -> int:
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def _clean(text: str) -> str:
    """``text`` on one line, without what would move a cursor."""
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))


def _print(text: str) -> None:
    try:
        sys.stdout.buffer.write((text + "\n").encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_json(value: object) -> None:
    _print(json.dumps(value, ensure_ascii=False, indent=2))
