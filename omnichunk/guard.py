"""Calls of what strangers declare: whatever comes back or is raised, the run goes on or ends in a PluginError."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from omnichunk.collect import told
from omnichunk.errors import ChunkingError, PluginError
from omnichunk.model.chunk import ChunkContext
from omnichunk.model.declarations import Render, StructureRequest
from omnichunk.model.span import Span, Structure


def spans(of: Callable[[StructureRequest], Structure], who: str, request: StructureRequest) -> Structure:
    """What ``of`` finds, if it is sound; else no spans, so that the text is cut as plain text, and why in ``errors``.

    ``who``: the plugin, for messages. Spans that are made late are checked when they are made; unsound ones are dropped.
    """
    try:
        structure = of(request)
        if not isinstance(structure, Structure):
            raise TypeError(f"a {type(structure).__name__} is no Structure")
        _check(structure.spans, 0, len(request.text), set())
    except ChunkingError:
        raise
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        trouble = f"{who}: the structure of {request.language} is unknown: {told(error)}"
        return Structure(errors=[" ".join(trouble.split())], fallback=True)
    return structure


def _check(found: Sequence[Span], start: int, end: int, seen: set[int]) -> None:
    """Raise unless ``found`` are spans in order inside ``[start, end)``, and so on inside each; see to later ones."""
    waiting: list[tuple[Iterable[Span], int, int]] = [(found, start, end)]
    while waiting:
        siblings, at, end = waiting.pop()
        for span in siblings:
            if not isinstance(span, Span):
                raise TypeError(f"a {type(span).__name__} is no Span")
            if not at <= span.start < span.end <= end:
                raise ValueError(f"{span!r} is not in order inside [{at}, {end})")
            if id(span) in seen:
                raise ValueError(f"{span!r} stands in two places")
            seen.add(id(span))
            at = span.end
            waiting.append((span.known, span.start, span.end))
            if span.opener is not None:
                span.opener = partial(_opened, span.opener, span.start, span.end)


def _opened(opener: Callable[[], Sequence[Span]], start: int, end: int) -> Sequence[Span]:
    # Relative to where the span was first: a shift is applied to what this returns.
    try:
        children = opener()
        _check(children, start, end, set())
    except Exception:  # noqa: BLE001 - as above
        return ()
    return children


def render(of: Render, who: str, context: ChunkContext, text: str) -> str:
    """What the renderer ``of`` makes. Raises PluginError when it raises, or gives no string."""
    try:
        payload = of(context, text)
    except ChunkingError:
        raise
    except Exception as error:
        raise PluginError(f"{context.filepath}: {who} raised {told(error)}") from error
    if not isinstance(payload, str):
        raise PluginError(f"{context.filepath}: {who} gave a {type(payload).__name__}; a renderer gives a str.")
    return payload
