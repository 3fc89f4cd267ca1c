"""Context and slice to payload, as far as it fits.

The default payload is one breadcrumb line, a blank line, then what a continuation needs (table header, key path), then
the slice. Headers are computed once a place, longest form first; a payload is counted as the final string before it is
accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from posixpath import basename
from typing import NamedTuple

from omnichunk.errors import BudgetError, PluginError
from omnichunk.finalize.gauge import Gauge
from omnichunk.finalize.place import Place
from omnichunk.model.chunk import ChunkContext
from omnichunk.model.declarations import Render
from omnichunk.model.options import ChunkOptions
from omnichunk.model.span import Span
from omnichunk.sizing import Sizer
from omnichunk.structure.build import SpanTree, one_line

PATH_LENGTH = 120  # beyond about this many characters a path costs more room than it returns
SHARE = 0.3  # of the budget that a path reserves at most
CARRIED = 0.5  # and a form that carries a table header or key path
_SEPARATOR = " > "


class Form(NamedTuple):
    """One way to introduce a slice: ``text`` ends where the slice begins; ``dropped`` names what it leaves out."""

    text: str
    dropped: tuple[str, ...]
    carries: bool = False


class Header:
    """What a chunk that starts at one place says before its slice, from the longest form to the shortest.

    ``sizes``: of the forms, in the unit of the budget. ``reserved``: index of the form that room is kept for while
    cutting, the first that may be shown. ``room``, ``least``: sizes of that and of the shortest one behind it; 0 when
    there is nothing to say, or no room for it.
    """

    __slots__ = ("forms", "least", "reserved", "room", "sizes")

    def __init__(self, forms: Sequence[Form], sizer: Sizer, budget: int) -> None:
        self.forms = tuple(forms)
        self.sizes = tuple(sizer.count(form.text) for form in self.forms)
        limits = [budget * (CARRIED if form.carries else SHARE) for form in self.forms]
        self.reserved = next((i for i, limit in enumerate(limits) if self.sizes[i] <= limit), len(self.forms))
        self.room = self.sizes[self.reserved] if self.reserved < len(self.forms) else 0
        self.least = min(self.sizes[self.reserved :], default=0)


class Headers:
    """Makes the header of each place, once."""

    def __init__(self, tree: SpanTree, sizer: Sizer, options: ChunkOptions) -> None:
        self._tree = tree
        self._sizer = sizer
        self._budget = options.max_chunk_size
        self._mode = "none" if options.renderer else options.context_mode
        self._imports = options.include_imports and tree.imports
        name = one_line(tree.name).replace("\\", "/")
        self._tail = "/".join(name.rsplit("/", 2)[-2:])
        self._base = basename(name)

    def at(self, place: Place) -> Header:
        """The header of chunks that start at ``place``."""
        if place.header is None:
            forms = [] if self._mode == "none" else self._forms(place)
            place.header = Header(forms, self._sizer, self._budget)
        return place.header

    def _forms(self, place: Place) -> list[Form]:
        chain = place.chain()
        crumbs = [span.name for span in chain if span.kind in ("section", "definition")]
        keys = key_path(chain)
        if self._mode == "minimal":
            innermost = crumbs[-1] if crumbs else keys
            return [Form(innermost + "\n\n", ())] if innermost else []
        table = next((s.detail.carry for s in reversed(chain) if s.detail is not None and s.detail.carry), None)
        carried = self._tree.text[table[0] : table[1]] if table else ""
        if carried and not carried.endswith("\n"):
            carried += "\n"
        if self._tree.content == "code":
            full = [self._tail, *_shortened(crumbs)] if self._tail else list(crumbs)
            signature = chain and self._signature(chain)
            paths = [[*full[:-1], signature]] if signature else []
            paths += [full, *(full[i:] for i in range(1, len(full)))]
            if len(full) == 1 and self._base != self._tail:
                paths.append([self._base])
        else:
            shown = _shortened(crumbs)
            if not crumbs and self._tree.label:
                shown = [self._tree.label]
            paths = [shown[i:] for i in range(len(shown))]
        lines = [_SEPARATOR.join(path) + "\n\n" for path in paths]
        if crumbs and len(crumbs[-1]) > PATH_LENGTH // 2:
            lines.append(_clip(crumbs[-1], min(PATH_LENGTH, self._budget // 4)) + "\n\n")
        extra = keys + "\n" if keys else ""
        return self._ordered(lines, extra + carried, "table_header" if carried else "key_path")

    def _ordered(self, lines: list[str], carried: str, label: str) -> list[Form]:
        """Every form, longest first: imports go first, then outer parts of the path, then what is carried."""
        forms: list[Form] = []
        if self._imports and lines:
            names = ", ".join(dict.fromkeys(name for name, _ in self._imports))
            forms.append(Form(f"{lines[0][:-1]}imports: {names}\n\n{carried}", (), bool(carried)))
        gone: tuple[str, ...] = ("imports",) if forms else ()
        forms += [
            Form(line + carried, gone if i == 0 else (*gone, "path"), bool(carried)) for i, line in enumerate(lines)
        ]
        if carried:
            lost = (*gone, "path") if lines else ()
            forms.append(Form(carried, lost, True))
            if lines:
                forms.append(Form(lines[-1], (*lost, label)))
        return forms

    def _signature(self, chain: Sequence[Span]) -> str:
        span = chain[-1]
        if span.kind != "definition" or span.detail is None or span.detail.signature is None:
            return ""
        text = signature(self._tree.text, span)
        return text if span.name in text and len(text) <= PATH_LENGTH else ""


def _shortened(crumbs: list[str]) -> list[str]:
    """The innermost crumbs that make up at most ``PATH_LENGTH`` characters; one at least."""
    length = 0
    for i in range(len(crumbs) - 1, -1, -1):
        length += len(crumbs[i]) + len(_SEPARATOR)
        if length > PATH_LENGTH and i < len(crumbs) - 1:
            return crumbs[i + 1 :]
    return crumbs


def _clip(name: str, length: int) -> str:
    """``name`` cut at a word within ``length`` characters, with an ellipsis."""
    cut = name.rfind(" ", length // 2, length - 1)
    return name[: cut if cut > 0 else max(1, length - 1)] + "…"


def key_path(chain: Sequence[Span]) -> str:
    """The keys of the enclosing entries as one path: ``paths./item7.get``, ``rows[3].name``."""
    path = ""
    for span in chain:
        if span.kind == "entry":
            path += span.name if not path or span.name.startswith("[") else "." + span.name
    return path


def signature(text: str, span: Span) -> str:
    """The signature of a definition on one line, without the bracket that opens its body."""
    if span.detail is None or span.detail.signature is None:
        return ""
    start, end = span.detail.signature
    return " ".join(text[start : min(end, start + 1000)].split()).rstrip("{ ")


UNCOUNTED = -1


class Payload(NamedTuple):
    """A range that has been rendered and counted.

    ``size``, ``raw_size``: of ``rendered`` and of the slice, in the unit of the budget; the latter may be ``UNCOUNTED``,
    for tokens, until somebody asks. ``omitted``: there was context
    and none of it fitted. ``shortened``: what was left out of it. ``repeated``: code points of the payload before.
    """

    start: int
    end: int
    place: Place
    span: Span
    rendered: str
    size: int
    raw_size: int
    omitted: bool = False
    shortened: tuple[str, ...] = ()
    repeated: int = 0


class Fitter:
    """Renders ranges and accepts those within the budget."""

    def __init__(
        self,
        tree: SpanTree,
        gauge: Gauge,
        options: ChunkOptions,
        headers: Headers,
        context: Callable[[int, int, Place, Span], ChunkContext],
        render: Render | None = None,
    ) -> None:
        self._tree = tree
        self._context = context
        self._render = render
        self._siblings = options.sibling_detail == "names" and options.context_mode != "none"
        self._text = tree.text
        self._slice_size = gauge.count
        sizer = gauge.sizer
        self._count: Callable[[str], int] = sizer.count
        self._chars = sizer.additive == "chars"
        self._dear = sizer.additive is None and render is None
        self._limit = options.max_chunk_size
        self._headers = headers
        self._strict = options.context_overflow == "error"
        self._lines = options.overlap_lines

    def fit(
        self, start: int, end: int, place: Place, span: Span, *, alone: bool, preserve: bool = False
    ) -> Payload | float:
        """The payload of ``[start, end)``, or by how much it is too large (a factor above 1).

        A range that can be cut elsewhere must fit with the header that room was reserved for. One that is ``alone``, a
        single unit, may have its header shortened and, if nothing else helps, left out; ``preserve`` accepts it at any size.
        """
        text = self._text[start:end]
        header = self._headers.at(place)
        limit = self._limit
        first = header.reserved
        if self._dear and first < len(header.forms) and not preserve:
            # If the slice fits with what it should say, nobody needs to count it alone.
            rendered = header.forms[first].text + text
            size = self._count(rendered)
            if size <= limit:
                return self._accepted(start, end, place, span, text, header.forms[first], rendered, size, UNCOUNTED)
            if not alone:
                return size / limit
        raw_size = end - start if self._chars else self._slice_size(start, end, text)
        if raw_size > limit and not preserve:
            return raw_size / limit
        if self._render is not None and raw_size <= limit:
            return self._custom(self._render, start, end, place, span, text, raw_size, alone=alone)
        worst = 1.0
        for i in range(first, len(header.forms)):
            form = header.forms[i]
            if raw_size > limit or (self._chars and header.sizes[i] + raw_size > limit):
                worst = max(worst, (header.sizes[i] + raw_size) / limit)
            else:
                rendered = form.text + text
                size = header.sizes[i] + raw_size if self._chars else self._count(rendered)
                if size <= limit:
                    return self._accepted(start, end, place, span, text, form, rendered, size, raw_size)
                worst = max(worst, size / limit)
            if not alone:
                return worst
        omitted = bool(header.forms)
        if omitted and self._strict:
            raise self._too_little_room(start, raw_size)
        lost: tuple[str, ...] = ()
        rendered, size = text, raw_size
        if self._lines and start and not omitted:
            rendered, size, lost = self._with_lines("", start, text, rendered, size)
        return Payload(start, end, place, span, rendered, size, raw_size, omitted, lost)

    def _accepted(
        self, start: int, end: int, place: Place, span: Span, text: str, form: Form, rendered: str, size: int, raw: int
    ) -> Payload:
        """The payload of a range that fits with ``form``, and with what else there is room for."""
        shortened = form.dropped
        if self._siblings:
            rendered, size, more = self._with_siblings(start, end, place, span, rendered, size)
            shortened += more
        if self._lines and start:
            rendered, size, more = self._with_lines(form.text, start, text, rendered, size)
            shortened += more
        return Payload(start, end, place, span, rendered, size, raw, False, shortened)

    def _custom(
        self, render: Render, start: int, end: int, place: Place, span: Span, text: str, raw_size: int, *, alone: bool
    ) -> Payload | float:
        """The payload a renderer plugin makes, or the slice alone where that is too large."""
        rendered = render(self._context(start, end, place, span), text)
        if text not in rendered:
            raise PluginError(f"{self._tree.name}: the renderer changed the text of the chunk at offset {start}.")
        size = self._count(rendered)
        if size <= self._limit:
            return Payload(start, end, place, span, rendered, size, raw_size)
        if not alone:
            return size / self._limit
        if self._strict:
            raise self._too_little_room(start, raw_size)
        return Payload(start, end, place, span, text, raw_size, raw_size, True)

    def _with_siblings(
        self, start: int, end: int, place: Place, span: Span, rendered: str, size: int
    ) -> tuple[str, int, tuple[str, ...]]:
        """The same payload with a line of its neighbours' names below the breadcrumb, if that fits."""
        names = ", ".join(sibling.name for sibling in self._context(start, end, place, span).siblings)
        crumb, gap, rest = rendered.partition("\n\n")
        if not names or not gap:
            return rendered, size, ()
        longer = f"{crumb}\nsiblings: {names}{gap}{rest}"
        count = self._count(longer)
        return (longer, count, ()) if count <= self._limit else (rendered, size, ("siblings",))

    def _too_little_room(self, start: int, raw_size: int) -> BudgetError:
        return BudgetError(
            f"{self._tree.name}: the context of the chunk at offset {start} does not fit into "
            f"max_chunk_size={self._limit} beside {raw_size} of text. Raise max_chunk_size, or use "
            'context_overflow="omit".'
        )

    def _with_lines(
        self, header: str, start: int, text: str, rendered: str, size: int
    ) -> tuple[str, int, tuple[str, ...]]:
        """The same payload with as many of the lines before ``start`` as fit, nearest first."""
        at, lines = start, self._lines
        best: tuple[str, int, tuple[str, ...]] = (rendered, size, ("overlap_lines",))
        while lines and at:
            stop = len(self._text[max(0, at - 10_000) : at].rstrip()) + max(0, at - 10_000)
            at = self._text.rfind("\n", 0, stop) + 1
            repeated = self._text[at:start]
            if not repeated.strip() or len(repeated) > 20_000:
                break
            candidate = header + repeated + text
            count = self._count(candidate)
            if count > self._limit:
                break
            lines -= 1
            best = (candidate, count, () if not lines or not at else ("overlap_lines",))
        return best
