"""A Word document as a person reads it, with the paragraph or table row of every position.

Paragraphs, lists and tables in order, in the final view of tracked changes; notes and text boxes follow the paragraph
they hang on. lxml, which python-docx brings, parses the parts; python-docx itself is not asked, since it refuses strict,
macro and template documents and loses insertions, text boxes, notes and controls.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnichunk.errors import LoadError, missing
from omnichunk.loaders.docx import OPTIONS
from omnichunk.loaders.docx_body import Body
from omnichunk.loaders.docx_inline import Readers
from omnichunk.loaders.docx_names import Element, R, W
from omnichunk.loaders.docx_notes import Notes
from omnichunk.loaders.docx_numbering import Numbering
from omnichunk.loaders.docx_package import Package, Relation
from omnichunk.loaders.docx_styles import Styles
from omnichunk.model.document import LoadedDocument, Source

_PROPERTIES = {"title", "subject", "creator", "keywords", "description", "language", "created", "modified"}


def load(source: Source) -> LoadedDocument:
    """See ``docx.load``."""
    if isinstance(source.data, str):
        raise LoadError(f"{source.name}: a Word document is no text. Pass its bytes, or use chunk_file().")
    try:
        import lxml  # noqa: F401
    except ImportError:
        raise missing(f"{source.name}: the docx loader", "python-docx", "docx") from None
    package = Package(source.name, source.data)
    part, root = package.main()
    relations = package.relations(part)
    chosen = {name: bool(source.options.get(name, default)) for name, default in OPTIONS.items()}
    readers = Readers(package, chosen)
    styles = package.related(relations, "styles", "styles, so perhaps without headings")
    numbering = package.related(relations, "numbering", "list numbers")
    notes = Notes(package, relations, readers)
    body = Body(package, Styles(styles), Numbering(numbering), notes, deletions=chosen["docx_deletions"])
    margins = _margins(package, root, relations) if chosen["docx_headers"] else {}
    for target, position in margins.items():
        if "header" in position and (found := package.optional(target, "a header")) is not None:
            body.story(found, readers.of(package.relations(target)), position)
    body.story(root, readers.of(relations))
    for target, position in margins.items():
        if "footer" in position and (found := package.optional(target, "a footer")) is not None:
            body.story(found, readers.of(package.relations(target)), position)
    text, segments, blocks = body.writer.finished()
    if readers.concealed:
        package.warn("Text formatted as hidden was left out; docx_hidden=True reads it.")
    images = package.count("word/media/")
    if not text and images:
        package.warn(f"There is no text, only images ({images}); recognize their text with another tool.")
    metadata = {**_described(package), "paragraphs": body.paragraphs, "tables": body.tables}
    return LoadedDocument(text, segments, "docx", package.warnings, metadata, blocks=blocks)


def _margins(package: Package, root: Element, relations: Mapping[str, Relation]) -> dict[str, dict[str, object]]:
    """Every header and footer once, in order: the name of its part, and its position."""
    found: dict[str, dict[str, object]] = {}
    for kind in ("header", "footer"):
        for reference in root.iter(f"{W}{kind}Reference"):
            relation = relations.get(reference.get(f"{R}id") or "")
            if relation is not None and not relation.external and package.has(relation.target):
                found.setdefault(relation.target, {kind: len(found) + 1})
    return found


def _described(package: Package) -> dict[str, object]:
    """What the document says of itself: title, creator, dates."""
    root = package.optional("docProps/core.xml", "title and author")
    found = {} if root is None else {str(e.tag).rsplit("}", 1)[-1]: (e.text or "").strip() for e in root}
    return {name: text for name, text in found.items() if name in _PROPERTIES and text}
