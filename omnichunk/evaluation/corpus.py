"""Documents to ask about, loaded once, and questions with the spans that answer them."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from omnichunk import pipeline
from omnichunk.errors import ChunkingError, LoadError, OptionError, suggestion
from omnichunk.evaluation.metrics import Span, token_starts, tokens, union
from omnichunk.model.document import LoadedDocument
from omnichunk.model.options import build
from omnichunk.registry import default_registry
from omnichunk.source.positions import PositionIndex
from omnichunk.walk import walk

if TYPE_CHECKING:
    from omnichunk.registry import PluginRegistry

Unit = Literal["chars", "bytes"]


@dataclass(frozen=True)
class Document:
    """A loaded source. ``tokens``: the first byte of each token of its canonical text. ``position``: bytes of code points."""

    path: str
    loaded: LoadedDocument
    tokens: array[int]
    position: PositionIndex = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The canonical text that gold spans and chunks refer to."""
        return self.loaded.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its gold: spans of bytes of documents of a corpus, at least one token in all."""

    text: str
    gold: tuple[Span, ...]
    id: str = ""


class Corpus:
    """The documents that are chunked and asked about. Make one with ``Corpus.read``, or from texts with ``Corpus.of``.

    ``left_out``: path and reason of what was found and could not be loaded. ``starts``: of the tokens, by document.
    """

    def __init__(self, documents: Iterable[tuple[str, LoadedDocument]], registry: PluginRegistry | None = None) -> None:
        self.registry = registry or default_registry().snapshot()
        self.documents = tuple(
            Document(path, loaded, token_starts(loaded.text), PositionIndex(loaded.text)) for path, loaded in documents
        )
        self.starts = [document.tokens for document in self.documents]
        self.left_out: tuple[tuple[str, str], ...] = ()
        self.numbers: dict[str, int] = {}
        for number, document in enumerate(self.documents):
            if self.numbers.setdefault(document.path, number) != number:
                raise OptionError(f"Corpus: {document.path} is there twice; each document needs a path of its own.")
        self._short: dict[str, list[int]] = {}

    @classmethod
    def of(cls, texts: Mapping[str, str], registry: PluginRegistry | None = None) -> Corpus:
        """The corpus of canonical texts by path; the path tells the format, as in ``Chunker.chunk``."""
        registry = registry or default_registry().snapshot()
        options = build("Corpus.of()", None, {})
        return cls(((path, pipeline.load(path, text, options, registry)) for path, text in texts.items()), registry)

    @classmethod
    def read(
        cls,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        encoding: str | None = None,
        registry: PluginRegistry | None = None,
        loading: Mapping[str, Any] | None = None,
        **which: Any,
    ) -> Corpus:
        """The corpus of files and folders, or of one; ``which``: ``glob``, ``exclude`` and what else ``find_files`` takes.

        All is read and chunked in this process, without the limits of workers: meant for files that are trusted.

        ``loading``: options of ``Chunker`` that concern loading (``language``, ``loader``, those of loaders). A file of a
        folder that cannot be loaded is left out with its reason. Raises LoadError for a file that was named and cannot be
        loaded, OptionError when nothing is left.
        """
        registry = registry or default_registry().snapshot()
        options = build("Corpus.read()", None, loading or {}, registry.loader_options())
        found: dict[str, LoadedDocument] = {}
        left_out: list[tuple[str, str]] = []
        roots: list[str] = []
        named = [os.fsdecode(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
        for path in named:
            name = os.path.normpath(path)
            if not os.path.isdir(path):
                found[name] = pipeline.load(name, pipeline.read(path), options, registry, encoding)
                continue
            if name in roots:
                continue
            roots.append(name)
            for entry in walk(path, **which):
                if entry.verdict == "ignored":
                    continue
                try:
                    if entry.verdict != "found":
                        raise LoadError(entry.reason)
                    found[entry.path] = pipeline.load(
                        entry.path, pipeline.read(entry.path), options, registry, encoding
                    )
                except ChunkingError as error:
                    left_out.append((entry.path, str(error).removeprefix(f"{entry.path}: ")))
        if not found:
            why = f"; {left_out[0][0]} was left out: {left_out[0][1]}" if left_out else "."
            raise OptionError(f"Corpus.read(): no document in {', '.join(named) or 'no paths'}{why}")
        corpus = cls(found.items(), registry)
        corpus.left_out = tuple(left_out)
        corpus._name(roots)
        return corpus

    def _name(self, roots: Iterable[str]) -> None:
        """Let documents be called by their paths relative to the folders they were found in, too."""
        for root in roots:
            for path, number in self.numbers.items():
                self._short.setdefault(os.path.relpath(path, root), []).append(number)

    def number(self, path: str) -> int:
        """The number of the document called ``path``: as it was found, or relative to the folder it was found in.

        Raises OptionError for a path nobody has, or that documents of several folders have.
        """
        named = self.numbers.get(path, self.numbers.get(os.path.normpath(path)))
        if named is not None:
            return named
        numbers = self._short.get(os.path.normpath(path), [])
        if len(numbers) == 1:
            return numbers[0]
        if numbers:
            both = " and ".join(self.documents[i].path for i in numbers[:2])
            raise OptionError(f"{path} may be {both}; give the path in full.")
        for left, reason in self.left_out:
            if left == path:
                raise OptionError(f"{path} was left out: {reason}")
        raise OptionError(f"{path}: no such document{suggestion(path, self.numbers) or '.'}")

    def span(self, path: str, start: int, end: int, unit: Unit = "chars") -> Span:
        """``[start, end)`` of the canonical text of the document ``path``, in code points (``chars``) or UTF-8 bytes.

        Raises OptionError for a range that is empty, not in the text, or cuts a code point.
        """
        if unit not in ("chars", "bytes"):
            raise OptionError(f'unit={unit!r}; choose "chars", which are code points, or "bytes".')
        number = self.number(path)
        document = self.documents[number]
        size = len(document.text) if unit == "chars" else document.position.byte(len(document.text))
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= size:
            raise OptionError(f"{path}: [{start!r}, {end!r}) is no range of a text of {size} {unit}; 0 <= start < end.")
        if unit == "chars":
            return Span(number, document.position.byte(start), document.position.byte(end))
        if any(document.position.byte(document.position.char(byte)) != byte for byte in (start, end)):
            raise OptionError(f"{path}: [{start}, {end}) cuts a character; are the offsets code points?")
        return Span(number, start, end)

    def question(
        self, text: str, gold: Iterable[tuple[str, int, int]], *, unit: Unit = "chars", id: str = ""
    ) -> Question:
        """A question and its gold, ``(path, start, end)``; see ``span``. Overlapping spans are joined.

        Raises OptionError for an empty question, and for gold without a token: recall would have nothing to divide by.
        """
        if not isinstance(text, str) or not text.strip():
            raise OptionError("the question is empty.")
        spans = tuple(union(self.span(path, start, end, unit) for path, start, end in gold))
        if not tokens(spans, self.starts):
            raise OptionError("there is no gold: no span, or only white space in it. Leave the question out.")
        return Question(text, spans, id)


def read_questions(path: str | os.PathLike[str], corpus: Corpus, unit: Unit = "chars") -> list[Question]:
    """The questions of a file of JSON Lines about ``corpus``.

    A line: ``{"question": …, "path": …, "start": …, "end": …}``, or with several spans ``{"question": …, "gold":
    [{"path": …, "start": …, "end": …}, …]}``; ``id`` may name it, the number of its line otherwise does. ``unit``: of
    all offsets, code points (``chars``) or UTF-8 bytes (``bytes``) of the canonical text, which is the decoded file, or
    what a loader extracts from a container. Other keys are not read. Raises LoadError for a file that cannot be read,
    OptionError that names the line for what is no question.
    """
    name = os.fsdecode(path)
    questions: list[Question] = []
    try:
        lines = pipeline.read(path).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise LoadError(f"{name}: is not UTF-8: byte {error.start}. Save it as UTF-8.") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            questions.append(_question(corpus, json.loads(line), unit, str(number)))
        except OptionError as error:
            raise OptionError(f"{name}:{number}: {error}") from None
        except (ValueError, RecursionError) as error:  # no JSON, a number of too many digits, too deep
            raise OptionError(f"{name}:{number}: no JSON: {error}.") from None
    if not questions:
        raise OptionError(f"{name}: holds no question.")
    return questions


def _question(corpus: Corpus, row: Any, unit: Unit, number: str) -> Question:
    if not isinstance(row, dict):
        raise OptionError('an object such as {"question": "…", "path": "a.md", "start": 0, "end": 9} is needed.')
    gold = row.get("gold", [row])
    if not isinstance(gold, list) or not all(isinstance(span, dict) for span in gold):
        raise OptionError('"gold" is no list of {"path": …, "start": …, "end": …}.')
    for span in gold:
        for key in ("path", "start", "end"):
            kind, wanted = (str, "a path") if key == "path" else (int, "a whole number")
            if not isinstance(span.get(key), kind):
                raise OptionError(f'"{key}" is {json.dumps(span.get(key))}; {wanted} is needed.')
    spans = [(span["path"], span["start"], span["end"]) for span in gold]
    given = row.get("id")
    return corpus.question(row.get("question", ""), spans, unit=unit, id=number if given is None else str(given))
