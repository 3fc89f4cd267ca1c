"""What a notebook cell has printed and shown, as text: the best form of each output, cleaned and cut to size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from omnichunk.errors import LoadError
from omnichunk.loaders.notebook_languages import label

_TEXTS = {  # best first: MIME type -> language
    "text/markdown": "markdown",
    "text/latex": "latex",
    "text/plain": "text",
    "text/html": "html",
    "application/json": "json",
}
_OLD = {  # formats 2 and 3: key -> MIME type
    "text": "text/plain",
    "html": "text/html",
    "latex": "text/latex",
    "json": "application/json",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "javascript": "application/javascript",
}
RUN = 40
"""Shortest base64 of a ``data:`` URL that is left out; texts without a word of that length are not searched for any."""

_REPR = re.compile(r"\s*<([^<>\n]*?)(?: at 0x[0-9A-Fa-f]+)?>\s*")
_ESCAPE = re.compile(
    r"\x1b(?:\[(?![02]?K)[0-?]*[ -/]*[@-~]"  # every control sequence but those that erase a line
    r"|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # title, hyperlink
    r"|(?!\[[02]?K)[ -/]*[0-~])"
)
_MOVE = re.compile(r"(\r|\x08+|\x1b\[[02]?K)")
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")
_SCRIPT = re.compile(r"<(/?(?:script|style))\b[^<>]*>", re.IGNORECASE)
_DATA = re.compile(rf"(?<=;base64,)[A-Za-z0-9+/=]{{{RUN},}}")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{200,}|(?:[A-Za-z0-9+/]{60,76}\n){3,}[A-Za-z0-9+/]*)={0,2}")


def joined(value: object, old: bool) -> str | None:
    """A text as notebooks keep it, a string or a list of its lines; ``None`` when it is neither.

    ``old``: formats before 4, where lists may lack line ends. Lone lines without them are joined by one, as their
    writers meant.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    try:
        return ("\n" if old and value and not value[0].endswith(("\n", "\r")) else "").join(value)
    except (TypeError, AttributeError):
        return None


def elided(text: str) -> tuple[str, list[list[int]]]:
    """``text`` with ``…`` for the base64 of each ``data:`` URL, and the ranges of ``text`` that it stands for."""
    omitted = [[*match.span()] for match in _DATA.finditer(text)]
    return _DATA.sub("…", text) if omitted else text, omitted


class Output(NamedTuple):
    """A text to show, its language, and what is said of it: ``output``, ``output_type``, ``mime``, ``stream``."""

    text: str
    language: str
    about: dict[str, object]


@dataclass(slots=True)
class Outputs:
    """Reads the outputs of the cells of one notebook.

    ``name``: of the file, for messages. ``limit``: most code points of one output, 0 for no limit. ``old``: the
    notebook is in a format before 4. ``cut``: cells of which an output was longer.
    """

    name: str
    limit: int
    old: bool
    cut: list[int] = field(default_factory=list)

    def of(self, outputs: object, cell: int) -> Iterator[Output]:
        """The outputs of ``cell`` in order; what a stream got in several writes is one. Raises LoadError."""
        if not isinstance(outputs, list):
            raise self._damaged(cell, "outputs", "a list")
        written: list[str] = []
        for index, output in enumerate(outputs):
            if not isinstance(output, dict):
                raise self._damaged(cell, f"output {index}", "an object")
            kind, stream = output.get("output_type"), _stream(output)
            about: dict[str, object] = {"output": index, "output_type": label(kind)}
            if stream:
                written.append(self._text(output.get("text", ""), cell, index))
                if index + 1 < len(outputs) and _stream(outputs[index + 1]) == stream:
                    continue
                found = [("text/plain", _terminal("".join(written)))]
                about["stream"] = stream
                written.clear()
            elif kind in ("error", "pyerr"):
                found = [("text/plain", _terminal(self._error(output, cell, index)))]
            else:
                found = list(self._shown(output, cell, index))
            for mime, text in found:
                if text := self._capped(text, cell):
                    yield Output(text, _TEXTS.get(mime, "text"), {**about, "mime": mime})

    def _error(self, output: Mapping[str, Any], cell: int, index: int) -> str:
        trace = output.get("traceback")
        if isinstance(trace, list) and trace:
            return self._text([f"{line}\n" for line in trace], cell, index)
        return f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"

    def _shown(self, output: Mapping[str, Any], cell: int, index: int) -> Iterator[tuple[str, str]]:
        """The best text of a rich output, and a line in place of its picture, or of all it has if none is text."""
        data = output.get("data")
        if data is None:
            data = {mime: output[key] for key, mime in _OLD.items() if key in output}
        if not isinstance(data, dict):
            raise self._damaged(cell, f"the data of output {index}", "an object")
        plain = _REPR.fullmatch(self._text(data["text/plain"], cell, index)) if "text/plain" in data else None
        picture = next((m for m in data if m.startswith("image/") or m == "application/pdf"), "")
        best = next((m for m in _TEXTS if m in data and not (plain and m == "text/plain")), "")
        text = self._text(data[best], cell, index) if best else ""
        if best == "text/plain":
            text = _terminal(text)
        elif best == "text/html":
            text = _unscripted(text)
        if shown := bool(text.strip()):
            yield best, text
        other = picture or ("" if shown else next((m for m in data if m != "text/plain"), ""))
        if other:
            yield other, f"[{other} output{f': {plain[1]}' if plain else ''}]"
        elif plain and not shown:
            yield "text/plain", plain[0]

    def _text(self, value: object, cell: int, index: int) -> str:
        text = joined(value, self.old)
        if text is not None:
            return text
        if not isinstance(value, (dict, list)):
            raise self._damaged(cell, f"the text of output {index}", "a string or a list of them")
        try:
            return json.dumps(value, ensure_ascii=False)
        except RecursionError:
            raise self._damaged(cell, f"output {index}", "JSON that is not nested too deeply") from None

    def _capped(self, text: str, cell: int) -> str:
        text = _CONTROL.sub("", text)
        if max(map(len, text.split()), default=0) >= RUN:
            text = _BASE64.sub(_shortened, elided(text)[0])
        if not self.limit or len(text) <= self.limit:
            return text if text.strip() else ""
        if cell not in self.cut[-1:]:
            self.cut.append(cell)
        line = text.rfind("\n", self.limit // 2, self.limit)
        end = self.limit if line < 0 else line
        return f"{text[:end]}\n[… {len(text) - end:,} more characters]"

    def _damaged(self, cell: int, what: str, wanted: str) -> LoadError:
        return LoadError(
            f"{self.name}: cell {cell}: {what} should be {wanted}. Clear the outputs of the cell, or load the notebook "
            "with include_notebook_outputs=False."
        )


def _stream(output: object) -> str:
    """``stdout`` or ``stderr``, empty for what is no stream; formats 2 and 3 have another key for it."""
    if not isinstance(output, dict) or output.get("output_type") != "stream":
        return ""
    return "stderr" if "stderr" in (output.get("name"), output.get("stream")) else "stdout"


def _terminal(text: str) -> str:
    """What a terminal would show in the end: no escape sequences, and lines as they were last overwritten."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\r" in text or "\x08" in text or "\x1b" in text:
        text = "\n".join(_overwritten(line) if _MOVE.search(line) else line for line in text.split("\n"))
    return text


def _overwritten(line: str) -> str:
    shown: list[str] = []
    at = 0
    for piece in _MOVE.split(line):
        if piece == "\r":
            at = 0
        elif piece[:1] == "\x08":
            at = max(0, at - len(piece))
        elif piece[:1] == "\x1b" and _MOVE.fullmatch(piece):
            at = 0 if piece == "\x1b[2K" else at
            del shown[at:]
        else:
            shown[at : at + len(piece)] = piece
            at += len(piece)
    return "".join(shown).rstrip()


def _unscripted(html: str) -> str:
    """HTML without its scripts and style sheets."""
    first, *rest = _SCRIPT.split(html)
    return "".join([first, *(piece for tag, piece in zip(rest[::2], rest[1::2]) if tag.startswith("/"))]).strip("\n")


def _shortened(run: re.Match[str]) -> str:
    """``…`` for base64, which mixes capitals, small letters and digits; digits, hexadecimal and DNA are kept."""
    found = run[0]
    return found if found.isalpha() or found.isdigit() or found.isupper() or found.islower() else "…"
