"""The notebook loader: the cells of a Jupyter notebook one below the other, as a reader sees them.

Every format from 1 to 4 is read as it stands, without ``nbformat``: its upgrade invents cell ids at random, so that two
runs would differ, it logs and raises what it likes at damaged cells, and its import alone takes as long as reading a
notebook of 20 MB. What is used is checked, and nothing else.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnichunk.errors import LoadError, OptionError
from omnichunk.hookspecs import hookimpl
from omnichunk.loaders.notebook_languages import label, mapping, of_cell, of_kernel
from omnichunk.loaders.notebook_outputs import Outputs, elided, joined
from omnichunk.model.declarations import Loader
from omnichunk.model.document import FormatSegment, LoadedDocument, Source
from omnichunk.parsing.languages import builtin
from omnichunk.source.decode import decode

OPTIONS: Mapping[str, object] = {"include_notebook_outputs": False, "notebook_output_limit": 4000}
NEWEST = 4
"""The newest major version of the notebook format there is."""
LISTED = 5
"""Cells a warning names."""

_TEXTS = {  # type of a cell that is no code -> language; "text" to "plaintext" are of formats 1 to 3
    "markdown": "markdown",
    "text": "markdown",
    "heading": "markdown",
    "html": "html",
    "rst": "text",
    "plaintext": "text",
    "raw": "text",
}
_RAW = {  # what a raw cell is for, MIME type or exporter -> language; not RST, whose heading levels hold in a whole only
    **dict.fromkeys(("text/html", "html"), "html"),
    **dict.fromkeys(("text/latex", "latex"), "latex"),
    **dict.fromkeys(("text/markdown", "markdown"), "markdown"),
    **dict.fromkeys(("text/x-python", "python"), "python"),
}
_AGAIN = "Restore the notebook from a copy, or open it in Jupyter and save it again"


def load(source: Source) -> LoadedDocument:
    """The texts of the cells in order, each a segment, and after a code cell its outputs where the caller wants them.

    A text enters as it is written; where it does not end its line, a line end that belongs to no cell follows. Only
    the base64 of ``data:`` URLs is left out, for which ``…`` stands. Metadata of a segment: ``cell`` (from 0),
    ``cell_type`` and ``language``; where there are any ``cell_id``, ``attachments`` (their names) and ``omitted`` (the
    ranges of the cell that were left out, in code points). That of an output has ``output`` (from 0), ``output_type``,
    ``mime`` and perhaps ``stream`` too.

    Raises LoadError naming the file, and the cell that is to blame, when the source is no notebook or has a cell that
    cannot be read. What can be read in spite of a fault is a warning.
    """
    limit = source.options.get("notebook_output_limit", OPTIONS["notebook_output_limit"])
    if not isinstance(limit, int) or limit < 0:
        raise OptionError(f"notebook_output_limit={limit!r}; a whole number of characters is needed, 0 for no limit.")
    text, encoding, warnings = _decoded(source)
    notebook = _parsed(text, source.name)
    version = notebook.get("nbformat")
    if not isinstance(version, int) or version < 1:
        version = 0
        warnings.append("the notebook does not say which format it is in; it was read by what it holds")
    elif version > NEWEST:
        warnings.append(f"notebook format {version} is newer than {NEWEST}, as which it was read")
    metadata = mapping(notebook.get("metadata"))
    kernel = builtin().canonical(source.language) if source.language else of_kernel(metadata)
    old = "worksheets" in notebook or 0 < version < NEWEST
    outputs = Outputs(source.name, limit, old) if source.options.get("include_notebook_outputs") else None
    reader = _Reader(source.name, kernel, old, outputs)
    for index, cell in enumerate(_cells(notebook, source.name)):
        reader.add(index, cell)
    return LoadedDocument(
        reader.text(),
        tuple(reader.segments),
        "notebook",
        (*warnings, *reader.warnings()),
        _described(notebook, metadata, kernel),
        encoding,
    )


def _decoded(source: Source) -> tuple[str, str, list[str]]:
    """The JSON, its encoding, which is not guessed at, and warnings."""
    if isinstance(source.data, str):
        return source.data.removeprefix("\ufeff"), "utf-8", []
    decoded = decode(source.data, source.name, source.encoding, "code")
    return decoded.text.removeprefix("\ufeff"), decoded.encoding, list(decoded.warnings)


def _parsed(text: str, name: str) -> dict[str, Any]:
    """The notebook as JSON has it: an object that has cells, or that may lack them."""
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        before = text.count('"cell_type"', 0, error.pos)
        near = f", in or near cell {before - 1}" if before else ""
        what = error.msg[:1].lower() + error.msg[1:]
        remedy = f'{_AGAIN}; loader="text" takes the file for text.'
        raise LoadError(f"{name}:{error.lineno}: not valid JSON, so no notebook: {what}{near}. {remedy}") from None
    except RecursionError:
        raise LoadError(f"{name}: its JSON is nested too deeply to be read. {_AGAIN}, without outputs.") from None
    except ValueError as error:  # a number of more digits than Python converts
        raise LoadError(f"{name}: its JSON cannot be read: {error}. {_AGAIN}, without outputs.") from None
    if not isinstance(notebook, dict):
        raise LoadError(
            f'{name}: holds {_kind(notebook)}, and a notebook is an object. Call it ".json" to chunk it as JSON.'
        )
    if "cells" not in notebook and "worksheets" not in notebook and notebook.get("nbformat") not in (2, 3):
        raise LoadError(
            f'{name}: has no "cells", so it is no notebook. {_AGAIN}, or call it ".json" to chunk it as JSON.'
        )
    return notebook


def _cells(notebook: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """The cells in order, those of worksheets included, which formats 2 and 3 have."""
    sheets = notebook.get("worksheets", [])
    if not isinstance(sheets, list):
        raise LoadError(f'{name}: "worksheets" is {_kind(sheets)}; a list is needed. {_AGAIN}.')
    index = 0
    for sheet in [notebook, *sheets] if "cells" in notebook else sheets:
        if not isinstance(sheet, dict):
            raise LoadError(f"{name}: a worksheet is {_kind(sheet)}; an object is needed. {_AGAIN}.")
        cells = sheet.get("cells", [])
        if not isinstance(cells, list):
            raise LoadError(f'{name}: "cells" is {_kind(cells)}; a list is needed. {_AGAIN}.')
        for cell in cells:
            if not isinstance(cell, dict):
                raise LoadError(f"{name}: cell {index} is {_kind(cell)}; an object is needed. {_AGAIN}.")
            yield cell
            index += 1


@dataclass(slots=True)
class _Reader:
    """Puts the cells of a notebook one below the other, each a segment that begins a line.

    ``name``: of the file. ``kernel``: language of code. ``old``: a format before 4. ``outputs``: ``None`` to leave them.
    ``faults``: what is amiss -> in which cells.
    """

    name: str
    kernel: str
    old: bool
    outputs: Outputs | None
    segments: list[FormatSegment] = field(default_factory=list)
    faults: dict[str, list[int]] = field(default_factory=dict)
    _texts: list[str] = field(default_factory=list)
    _length: int = 0
    _in_line: bool = False

    def add(self, index: int, cell: Mapping[str, Any]) -> None:
        """The next cell, number ``index``. Raises LoadError when its text, or an output that is wanted, is none."""
        cell_type = cell.get("cell_type")
        metadata = mapping(cell.get("metadata"))
        about: dict[str, object] = {"cell": index, "cell_type": cell_type}
        if "id" in cell and (identity := label(cell["id"])):
            about["cell_id"] = identity
        if cell_type == "code":
            text = self._source(index, cell, ("source", "input", "code"))
            language = of_cell(text, cell, metadata) or self.kernel
            kind = "code" if builtin().get(language).kind == "code" else "prose"
            self._append(index, text, kind, language, dict(about))
            if "outputs" not in cell:
                if "code" not in cell:
                    self._fault('no "outputs"', index)
            elif self.outputs is not None:
                for output, spoken, more in self.outputs.of(cell["outputs"], index):
                    self._place(output, "prose", {**about, "language": spoken, **more})
            return
        text = self._source(index, cell, ("source", "text"))
        language = _TEXTS.get(cell_type, "") if isinstance(cell_type, str) else ""
        if cell_type == "raw":
            language = _RAW.get(label(metadata.get("raw_mimetype") or metadata.get("format")), "text")
        elif cell_type == "heading":
            level = cell.get("level")
            about["cell_type"] = "markdown"
            text = f"{'#' * (min(max(level, 1), 6) if isinstance(level, int) else 1)} {' '.join(text.split())}"
        elif not language:
            about["cell_type"], language = label(cell_type), "text"
            self._fault("an unknown type, read as text,", index)
        if "attachments" in cell and (files := [*filter(None, map(label, mapping(cell["attachments"])))]):
            about["attachments"] = files
        self._append(index, text, "prose", language, about)

    def text(self) -> str:
        """All texts so far. Raises LoadError naming the cell that holds a lone surrogate."""
        text = "".join(self._texts)
        try:
            text.isascii() or text.encode()
        except UnicodeEncodeError as error:
            at = bisect_right(self.segments, error.start, key=lambda segment: segment.char_start) - 1
            segment = self.segments[at]
            raise LoadError(
                f"{self.name}: cell {segment.metadata['cell']}: lone surrogate U+{ord(text[error.start]):04X} at offset "
                f"{error.start - segment.char_start}, which no UTF-8 text can hold. Remove it from the cell."
            ) from None
        return text

    def warnings(self) -> Iterator[str]:
        """One for each fault, with the cells that have it."""
        if self.outputs is not None and self.outputs.cut:
            self.faults["outputs cut to notebook_output_limit"] = self.outputs.cut
        for what, cells in self.faults.items():
            more = f" and {len(cells) - LISTED} more" if len(cells) > LISTED else ""
            yield f"{what} in cell{'s' * (len(cells) > 1)} {', '.join(map(str, cells[:LISTED]))}{more}"

    def _source(self, index: int, cell: Mapping[str, Any], keys: tuple[str, ...]) -> str:
        for key in keys:
            if key in cell:
                if (text := joined(cell[key], self.old)) is not None:
                    return text
                what = "a list of other things" if isinstance(cell[key], list) else _kind(cell[key])
                wanted = "a string or a list of strings is needed"
                raise LoadError(f'{self.name}: cell {index}: "{key}" is {what}; {wanted}. {_AGAIN}.')
        self._fault("no text", index)
        return ""

    def _append(self, index: int, text: str, kind: str, language: str, about: dict[str, object]) -> None:
        about["language"] = language
        if ";base64," in text:
            text, omitted = elided(text)
            if omitted:
                about["omitted"] = omitted
                self._fault("base64 left out of the text", index)
        self._place(text, kind, about)

    def _place(self, text: str, kind: str, about: dict[str, object]) -> None:
        if not text:
            return
        if self._in_line:
            self._texts.append("\n")
            self._length += 1
        start, self._length = self._length, self._length + len(text)
        self._texts.append(text)
        self.segments.append(FormatSegment(start, self._length, kind, about))
        self._in_line = text[-1] != "\n"

    def _fault(self, what: str, index: int) -> None:
        self.faults.setdefault(what, []).append(index)


def _described(notebook: Mapping[str, Any], metadata: Mapping[str, Any], kernel: str) -> dict[str, object]:
    """What is said of the whole: ``nbformat`` ("4.5"), ``language``, ``kernel``, ``title``."""
    numbers = [str(notebook[key]) for key in ("nbformat", "nbformat_minor") if isinstance(notebook.get(key), int)]
    described = {
        "nbformat": ".".join(numbers),
        "language": kernel,
        "kernel": label(mapping(metadata.get("kernelspec")).get("display_name")),
        "title": label(metadata.get("title")),
    }
    return {key: value for key, value in described.items() if value}


def _kind(value: object) -> str:
    """What JSON calls the type of ``value``."""
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _is_notebook(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"cell_type"' in head


@hookimpl
def omnichunk_loaders() -> Iterable[Loader]:
    """The loader of Jupyter notebooks."""
    return [Loader("notebook", load, (".ipynb",), ("application/x-ipynb+json",), _is_notebook, OPTIONS, binary=True)]
