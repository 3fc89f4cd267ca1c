"""Segments to one tree: asks a provider for each segment, shifts the spans, fills the gaps, follows injections late."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from omnichunk.errors import OptionError
from omnichunk.model.declarations import StructureRequest
from omnichunk.model.document import FormatSegment, LoadedDocument
from omnichunk.model.span import Detail, Glue, Span, Strength, Structure
from omnichunk.structure.blocks import given_spans

if TYPE_CHECKING:
    from omnichunk.registry import PluginRegistry

_NAMELESS = frozenset({"markdown"})
_OPEN = frozenset({"part", "document"})  # whose children are always known


@dataclass(slots=True)
class Landmarks:
    """The spans the context names, in document order: entities, and blocks of code inside prose.

    ``starts[i]`` is the start of ``spans[i]``; ``owners[i]`` the nearest enclosing entity, or ``None``; ``since[i]`` the
    start of the innermost span around it that is opened or not depending on the budget, so a chunk does not look into
    one behind its end. Until they are reached, entities wait in a list of their own: inserting stays cheap.
    """

    starts: list[int] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    owners: list[Span | None] = field(default_factory=list)
    since: list[int] = field(default_factory=list)
    blocks: list[tuple[int, int, str]] = field(default_factory=list)
    ahead: list[tuple[Span, Span | None, int]] = field(default_factory=list)

    def reach(self, position: int) -> None:
        """Have all entities that start before ``position`` in the lists."""
        ahead = self.ahead
        while ahead and ahead[-1][0].start < position:
            span, owner, since = ahead.pop()
            self.starts.append(span.start)
            self.spans.append(span)
            self.owners.append(owner)
            self.since.append(since)

    def collect(self, spans: Sequence[Span], owner: Span | None, since: int = -1) -> None:
        """Add the entities among ``spans`` and their known descendants; ``owner`` and ``since``: of the former."""
        found: list[tuple[Span, Span | None, int]] = []
        blocks: list[tuple[int, int, str]] = []
        stack = [(span, owner, since) for span in reversed(spans)]
        while stack:
            span, above, since = stack.pop()
            if span.kind == "code" and span.detail is not None:
                blocks.append((span.start, span.end, span.detail.language))
            elif _is_entity(span):
                found.append((span, above, since))
            known = span.known
            if known:
                above, since = _within(span, above, since)
                stack.extend([(child, above, since) for child in reversed(known)])
        if blocks:
            at = bisect_left(self.blocks, blocks[0])
            self.blocks[at:at] = blocks
        if found and not self.starts and not self.ahead:
            self.ahead = found[::-1]
        elif found:
            self.reach(found[0][0].start + 1)
            at = bisect_right(self.starts, found[0][0].start)
            self.starts[at:at] = [span.start for span, _, _ in found]
            self.spans[at:at] = [span for span, _, _ in found]
            self.owners[at:at] = [above for _, above, _ in found]
            self.since[at:at] = [since for _, _, since in found]


def _is_entity(span: Span) -> bool:
    return bool(span.name and span.detail is not None and span.detail.label)


def _within(span: Span, owner: Span | None, since: int) -> tuple[Span | None, int]:
    """Owner and ``since`` of what lies in ``span``, given its own."""
    return span if _is_entity(span) else owner, since if span.kind in _OPEN else span.start


class Segment(NamedTuple):
    """A segment of the document: its range, what is known of its position, and its language."""

    start: int
    end: int
    metadata: Mapping[str, object]
    language: str


@dataclass(slots=True)
class SpanTree:
    """All that is known of a document's structure.

    ``root``: kind ``document``, covers the whole text. ``name``: source label. ``language``, ``content``: of most of it,
    and that language's kind. ``label``: what a chunk of prose without any heading is called, empty if a name would only
    harm (measured for Markdown). ``mark``: length of a byte order mark before the content. ``parsed``: spans are opened
    from syntax trees, which take twenty times the memory of the text. ``errors``: diagnostics, the loader's warnings
    first. ``segments``: where in the container each range is. ``structures``: what was found in each, in order.

    What only contexts read is made when it is first asked for: the spans inside definitions that fit, ``imports`` and
    ``landmarks``. ``lock``: held while spans are opened and contexts made, since chunks are read while others are cut.
    """

    text: str
    root: Span
    name: str
    language: str
    content: str
    registry: PluginRegistry
    label: str = ""
    mark: int = 0
    parsed: bool = False
    owners: dict[int, tuple[Span | None, int]] = field(default_factory=dict)
    structures: list[Structure] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    lock: RLock = field(default_factory=RLock)
    _imports: list[tuple[str, str]] | None = None
    _landmarks: Landmarks | None = None

    @property
    def imports(self) -> Sequence[tuple[str, str]]:
        """The ``(name, source)`` pairs of all imports."""
        if self._imports is None:
            found = [s.rest() if s.rest is not None else s.imports for s in self.structures]
            self._imports = [pair for pairs in found for pair in pairs]
            self.structures = []
        return self._imports

    @property
    def complete(self) -> bool:
        """Whether all that contexts read has been made."""
        return all(structure.rest is None for structure in self.structures)

    @property
    def landmarks(self) -> Landmarks:
        """The landmarks known so far, collected when first asked for; what is opened later is added then."""
        if self._landmarks is None:
            _ = self.imports
            self._landmarks = Landmarks()
            self._landmarks.collect(self.root.known, None)
        return self._landmarks

    def kind_of(self, language: str) -> str:
        """``code``, ``prose`` or ``markup``."""
        return self.registry.kind_of(language)

    def open(self, span: Span) -> Sequence[Span]:
        """The children of ``span``, made now if need be, injected languages included."""
        with self.lock:
            late = span.opener is not None
            children = span.children
            detail = span.detail
            if not children and detail is not None and detail.inner is not None and detail.language:
                children = self._inject(span, detail.language, *detail.inner)
                late = True
            if late and children and self._landmarks is not None:
                self._landmarks.collect(children, *self._around(span))
            return children

    def seal(self) -> None:
        """Let go of the syntax trees that spans would be opened from, once nothing more will be asked for."""
        if not self.parsed:
            return
        stack: list[Span] = [self.root]
        while stack:
            span = stack.pop()
            span.opener = None
            if span.known:
                stack.extend(span.known)

    def _around(self, span: Span) -> tuple[Span | None, int]:
        """Owner and ``since`` of what lies in ``span``; what is found is remembered, or deep nesting would cost its square."""
        path: list[Span] = []
        inside: Span | None = span
        while inside is not None and id(inside) not in self.owners:
            path.append(inside)
            inside = inside.parent
        around = (None, -1) if inside is None else self.owners[id(inside)]
        for passed in reversed(path):
            around = self.owners[id(passed)] = _within(passed, *around)
        return around

    def embed(self, span: Span) -> None:
        """Make the children of a part in a language of its own, its imports and diagnostics known at once."""
        if span.detail is not None and span.detail.inner is not None:
            self._inject(span, span.detail.language, *span.detail.inner)

    def describe(self, start: int, end: int, language: str) -> Structure:
        """What the provider of ``language`` finds in a range, moved to where that is."""
        parser = self.registry.parser_for(language)
        request = StructureRequest(
            self.text[start:end], language, self.name, parser.parse if parser is not None else None
        )
        structure = self.registry.provider_for(language).spans(request)
        for span in structure.spans:
            span.shift(start)
        self.parsed = self.parsed or structure.parsed
        return structure

    def _inject(self, span: Span, language: str, start: int, end: int) -> Sequence[Span]:
        try:
            language = self.registry.canonical(language)
        except OptionError:
            return ()  # an info string is free text; an unknown one leaves the block to the ladder
        structure = self.describe(start, end, language)
        span.adopt(structure.spans)
        if span.kind == "part" and span.detail is not None:
            span.detail.language = language
            self.structures.append(structure)
            where = f"{language} from line {self.text.count(chr(10), 0, start) + 1}"
            self.errors.extend(f"{where}: {error}" for error in structure.errors)
        elif structure.rest is not None:
            structure.rest()
        return structure.spans


def one_line(name: str) -> str:
    """A label as a payload may show it: on one line, and encodable."""
    return " ".join(name.encode("utf-8", "replace").decode("utf-8").splitlines())


class _Carried:
    """Sections that go on over the parts that follow, until a heading of their level or a higher one.

    Such a section holds ``part`` spans: its share of the part it begins in, then the others.
    """

    def __init__(self) -> None:
        self.outer: list[Span] = []
        self._open: list[tuple[Span, list[Span]]] = []  # outermost first, with what each holds so far

    def add(self, part: Span, *, last: bool = False) -> None:
        """Take the next part; the sections it ends with stay open unless it is the ``last``."""
        spans, start = part.known, part.start
        while True:
            group: list[Span] = []
            for span in spans:
                if span.kind == "section" and self._open and _level(self._open[-1][0]) >= _level(span):
                    self._share(part, start, span.start, group)
                    self._close(_level(span), span.start)
                    start, group = span.start, []
                group.append(span)
            if last or not group or group[-1].kind != "section":
                break
            section = group.pop()
            self._share(part, start, section.start, group)
            self._holder().append(section)
            self._open.append((section, []))
            spans, start = section.children, section.start
        if spans is part.known and len(group) == len(spans):
            self._holder().append(part)
        else:
            self._share(part, start, part.end, group)

    def close(self, end: int) -> list[Span]:
        """All that was taken, ``end`` being the end of the last part."""
        self._close(0, end)
        return self.outer

    def _holder(self) -> list[Span]:
        return self._open[-1][1] if self._open else self.outer

    def _share(self, part: Span, start: int, end: int, spans: list[Span]) -> None:
        if spans:
            glue = spans[-1].glue & Glue.NEXT
            shared = Span(start, end, "part", Strength.PART, detail=part.detail, glue=glue, children=spans)
            self._holder().append(shared)

    def _close(self, level: int, end: int) -> None:
        while self._open and _level(self._open[-1][0]) >= level:
            section, held = self._open.pop()
            section.end = end
            section.adopt(held)


def _level(section: Span) -> int:
    return section.detail.level if section.detail else 0


def carried_on(parts: list[Span]) -> list[Span]:
    """``parts``, or the sections around them where a section of one goes on over others."""
    if len(parts) < 2:
        return parts
    carried = _Carried()
    for part in parts:
        carried.add(part, last=part is parts[-1])
    return carried.close(parts[-1].end)


def build(loaded: LoadedDocument, registry: PluginRegistry, name: str) -> SpanTree:
    """The tree of a checked document.

    Blocks, if the loader gives any, are the structure. Else each segment is a ``part`` with what the provider of its
    language finds, and so is text between segments, which inherits nothing from its neighbours; sections go on over
    the parts that follow.
    """
    text = loaded.text
    segments = loaded.segments or (() if text in ("", "\ufeff") else (FormatSegment(0, len(text)),))
    languages = [_language(segment, registry) for segment in segments]
    main = Counter(languages).most_common(1)[0][0] if languages else "text"
    tree = SpanTree(text, Span(0, len(text), "document", Strength.PART), name, main, registry.kind_of(main), registry)
    tree.errors.extend(loaded.warnings)
    tree.mark = int(text.startswith("\ufeff") and not any(segment.char_start == 0 for segment in segments[:1]))
    if loaded.blocks:
        tree.segments = [Segment(s.char_start, s.char_end, _position(s), n) for s, n in zip(segments, languages)]
        spans: Sequence[Span] = given_spans(text, loaded.blocks)
    else:
        parts = [_part(tree, segment, language) for segment, language in zip(segments, languages)]
        spans = carried_on(_with_gaps(parts, text, tree.mark))
    tree.root = Span(0, len(text), "document", Strength.PART, children=spans)
    if main not in _NAMELESS and tree.content != "code" and not any(s.kind == "section" for s in tree.root.walk()):
        tree.label = one_line(name).replace("\\", "/").rsplit("/", 1)[-1]
    return tree


def _part(tree: SpanTree, segment: FormatSegment, language: str) -> Span:
    """A segment with the spans its provider finds; imports and diagnostics go to ``tree``."""
    start, end = segment.char_start, segment.char_end
    structure = tree.describe(start, end, language)
    for span in structure.spans:
        if span.kind == "part":  # a component's script or style
            tree.embed(span)
    tree.structures.append(structure)
    tree.errors.extend(_placed(error, segment, tree.text) for error in structure.errors)
    metadata = _position(segment)
    if structure.backend:
        metadata["parser_backend"] = structure.backend
    tree.segments.append(Segment(start, end, metadata, language))
    return Span(start, end, "part", Strength.PART, detail=Detail(language=language), children=structure.spans)


_LINE = re.compile(r"\bline (\d+)$")


def _placed(error: str, segment: FormatSegment, text: str) -> str:
    """A diagnostic of a segment: in a container it names what the loader says of it first (page, cell), elsewhere its
    line counts in the document."""
    for key, value in _position(segment).items():
        return f"{key} {value}: {error}"
    above = text.count("\n", 0, segment.char_start)
    return _LINE.sub(lambda line: f"line {int(line[1]) + above}", error) if above else error


def _position(segment: FormatSegment) -> dict[str, object]:
    return {name: value for name, value in segment.metadata.items() if name != "language"}


def _language(segment: FormatSegment, registry: PluginRegistry) -> str:
    named = segment.metadata.get("language")
    if not named:
        return "text"
    try:
        return registry.canonical(str(named))
    except OptionError:
        return "text"  # a loader may meet languages nobody here knows (a notebook kernel); its code stays text


def _with_gaps(parts: Sequence[Span], text: str, at: int) -> list[Span]:
    """``parts`` from ``at`` on, with a part of its own for what is written between two; white space stays with the former."""
    filled: list[Span] = []
    for part in [*parts, None]:
        start = len(text) if part is None else part.start
        if at < start and not text[at:start].isspace():
            filled.append(Span(at, start, "part", Strength.PART, detail=Detail(language="text")))
        if part is not None:
            filled.append(part)
            at = part.end
    return filled
