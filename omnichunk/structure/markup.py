"""The structure providers of HTML and XML."""

from __future__ import annotations

from collections.abc import Iterable

from omnichunk.hookspecs import hookimpl
from omnichunk.model.declarations import StructureProvider
from omnichunk.structure.html import html_spans
from omnichunk.structure.xml import xml_spans


@hookimpl
def omnichunk_structure() -> Iterable[StructureProvider]:
    """HTML with its relatives, XML with its dialects."""
    return [
        StructureProvider("html", ("html",), html_spans),
        StructureProvider("xml", ("xml",), xml_spans),
    ]
