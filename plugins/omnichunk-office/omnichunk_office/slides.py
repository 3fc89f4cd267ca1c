"""Presentations: each slide under its title, with its lists, tables, charts and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE

from omnichunk import DocumentBuilder, LoadedDocument, LoadError, Source
from omnichunk_office.package import opened, reading


def load(source: Source) -> LoadedDocument:
    """Every slide in order, numbered from 1 in ``slide``; notes are marked ``notes``, hidden slides ``hidden``.

    A slide that cannot be read is a warning; LoadError when none can.
    """
    archive = opened(source)
    builder = DocumentBuilder("pptx")
    with reading(source):
        presentation = Presentation(archive)
        slides = list(presentation.slides)
    read = 0
    for number, slide in enumerate(slides, 1):
        try:
            with reading(source, f"slide {number}"):
                _add_slide(builder, slide, number, bool(source.options["pptx_notes"]))
            read += 1
        except LoadError as error:
            builder.warnings.append(str(error))
    if slides and not read:
        raise LoadError(f"{builder.warnings[0]} No slide could be read.")
    with reading(source):
        properties = presentation.core_properties
        about = {"title": properties.title, "author": properties.author}
    return builder.document(slides=len(slides), **{key: value for key, value in about.items() if value})


def _add_slide(builder: DocumentBuilder, slide: Any, number: int, notes: bool) -> None:
    position: dict[str, object] = {"slide": number}
    if slide.element.get("show") == "0":
        position["hidden"] = True
    builder.at(**position)
    title = slide.shapes.title
    if title is not None:
        builder.add(" ".join(title.text_frame.text.split()), "heading", level=1)
    for shape in _shapes(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if shape.has_text_frame:
            _add_text(builder, shape)
        elif getattr(shape, "has_table", False):
            _add_table(builder, shape.table)
        elif getattr(shape, "has_chart", False):
            _add_chart(builder, shape.chart)
        elif shape.shape_type is None and "diagram" in str(shape.element.xpath(".//a:graphicData/@uri")):
            builder.warnings.append(f"slide {number}: a diagram (SmartArt) was left out")
    if notes and slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
        builder.at(**position, notes=True)
        for paragraph in frame.paragraphs:
            builder.add(paragraph.text)


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """All shapes, those of groups in place of the group."""
    stack = list(shapes)[::-1]
    while stack:
        shape = stack.pop()
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            stack.extend(list(shape.shapes)[::-1])
        else:
            yield shape


def _add_text(builder: DocumentBuilder, shape: Any) -> None:
    """The paragraphs of a shape; several in the body of a slide are a list, as the slide shows them."""
    paragraphs = [p for p in shape.text_frame.paragraphs if p.text.strip()]
    if len(paragraphs) > 1 and (shape.is_placeholder or any(p.level for p in paragraphs)):
        with builder.block("list"):
            for p in paragraphs:
                builder.add("  " * p.level + "- " + p.text.strip(), "item")
    else:
        for p in paragraphs:
            builder.add(p.text)


def _add_table(builder: DocumentBuilder, table: Any) -> None:
    with builder.block("table"):
        for i, row in enumerate(table.rows):
            builder.row(["" if cell.is_spanned else cell.text for cell in row.cells], header=i == 0 and table.first_row)


def _add_chart(builder: DocumentBuilder, chart: Any) -> None:
    """The numbers of a chart: a row for each category, a column for each series."""
    if chart.has_title and chart.chart_title.has_text_frame:
        builder.add(chart.chart_title.text_frame.text)
    for plot in chart.plots:
        series = list(plot.series)
        with builder.block("table"):
            builder.row(["", *(s.name for s in series)], header=True)
            for i, category in enumerate(plot.categories):
                values = [s.values[i] if i < len(s.values) else None for s in series]
                builder.row([str(category), *("" if v is None else f"{v:.15g}" for v in values)])
