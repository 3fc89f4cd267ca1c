"""A PDF, on pypdf: text as a person would read it, page by page.

Repaired where it can be, refused with a reason where it cannot. A damaged page costs itself and a warning, never the
file. Work is bounded: content stream operations over the whole document by its size (``OPERATIONS``), decoded streams
and page trees by pypdf's own limits; what lies beyond is left out with a warning.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING

from omnichunk.errors import LoadError, missing
from omnichunk.loaders.pdf import OPTIONS
from omnichunk.loaders.pdf_assemble import assemble
from omnichunk.loaders.pdf_border import foreign, listening, said
from omnichunk.loaders.pdf_fields import fields_of, placed
from omnichunk.loaders.pdf_order import in_order
from omnichunk.loaders.pdf_outline import Entry, mark_by_type, mark_outline, outline
from omnichunk.loaders.pdf_repair import rebuilt
from omnichunk.loaders.pdf_running import without_running
from omnichunk.loaders.pdf_text import Budget, Faces, Line, TooMuchWork, lines_of
from omnichunk.model.document import LoadedDocument, Source

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

OPERATIONS = 1_000_000
"""Content stream operations any document may take, besides two for each of its bytes; about 20 microseconds each."""
PAGE_COST = 100
"""Operations that a page counts for, however little it shows."""
PAGES = 50_000
"""Pages that are read of any document."""


@dataclass(slots=True)
class _Read:
    """What was read of a document before it is put together."""

    pages: list[list[Line]] = field(default_factory=list)
    empty: list[int] = field(default_factory=list)
    images: list[int] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def load(source: Source) -> LoadedDocument:
    """See ``pdf.load``."""
    if isinstance(source.data, str):
        raise LoadError(
            f"{source.name}: a PDF is read from bytes, and text was given. Use chunk_file() or chunk_bytes(), or name "
            'the text otherwise, or pass loader="text".'
        )
    try:
        import pypdf  # noqa: F401 - only to know that it is there
    except ImportError:
        raise missing(f"{source.name}: the pdf loader", "pypdf", "pdf") from None
    options = {**OPTIONS, **source.options}
    warnings: list[str] = []
    with listening(warnings):
        reader, damage = _open(source.name, source.data, str(options["pdf_password"] or ""))
        read = _read(reader, len(source.data), bool(options["pdf_annotations"]))
        if damage is not None:
            if not any(read.pages) and not read.images:
                raise _unreadable(source.name, damage)
            warnings.append(f"damaged: {said(damage)}; its cross-references were rebuilt.")
        entries = _outline(reader, read.warnings)
        labels = _labels(reader, len(read.pages))
        metadata = _about(reader)
    running: dict[str, int] = {}
    if not options["pdf_headers_footers"]:
        read.pages, running = without_running(read.pages)
    if not mark_outline(read.pages, [entry for entry in entries if entry.page < len(read.pages)]):
        mark_by_type(read.pages)
    text, segments, blocks = assemble(read.pages, labels, bool(options["pdf_dehyphenate"]))
    metadata["pages"] = len(read.pages)
    if running:
        metadata["running_lines"] = running
    if read.empty or read.images:
        metadata["pages_without_text"] = sorted(read.empty + read.images)
    told = (*_missing_text(read), *read.warnings, *warnings)
    return LoadedDocument(text, segments, "pdf", told, metadata, blocks=blocks)


def _open(name: str, data: bytes, password: str) -> tuple[PdfReader, Exception | None]:
    """A decrypted reader whose pages can be counted, and what was wrong with the file if it had to be rebuilt."""
    try:
        reader = _reader(name, data, password)
        if len(reader.pages):
            return reader, None
        damage: Exception = ValueError("no page was found")
    except foreign() as error:
        damage = error
    repaired = rebuilt(data)
    try:
        if repaired is not None:
            reader = _reader(name, repaired, password)
            if len(reader.pages):
                return reader, damage
    except foreign():
        pass
    raise _unreadable(name, damage) from damage


def _unreadable(name: str, damage: Exception) -> LoadError:
    return LoadError(
        f"{name}: is no PDF that can be read: {said(damage)}. Take it from its origin again, or let another program save "
        "it anew."
    )


def _reader(name: str, data: bytes, password: str) -> PdfReader:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(BytesIO(data), strict=False)
    if not reader.is_encrypted:
        return reader
    try:
        if reader.decrypt("") or (password and reader.decrypt(password)):
            return reader
    except DependencyError:
        raise missing(f"{name}: is encrypted with AES, which", "cryptography", "pdf") from None
    except NotImplementedError as error:
        raise LoadError(f"{name}: is encrypted in a way pypdf does not know ({error}). Save it without.") from error
    given = "the one given is wrong" if password else 'pass pdf_password="..."'
    raise LoadError(f"{name}: is encrypted and needs a password; {given}.")


def _read(reader: PdfReader, size: int, annotations: bool) -> _Read:
    read = _Read()
    faces, budget = Faces(), Budget(OPERATIONS + 2 * size)
    count = min(len(reader.pages), PAGES)
    for number in range(count):
        budget.left -= PAGE_COST
        lines: list[Line] = []
        comments: list[Line] = []
        image = False
        try:
            page = reader.pages[number]
            lines, stopped = lines_of(page, faces, budget)
            if isinstance(stopped, TooMuchWork):
                read.pages.append(in_order(lines))
                break
            if stopped is not None:
                read.warnings.append(f"page {number + 1} is damaged, some of its text is lost: {said(stopped)}.")
            values, comments = fields_of(page, annotations)
            lines = placed(in_order(lines), values)
            image = not lines and _has_image(page)
        except foreign() as error:
            read.warnings.append(f"page {number + 1} is damaged, some of its text is lost: {said(error)}.")
        if not lines:
            (read.images if image else read.empty).append(number + 1)
        read.pages.append(lines + comments)
    if len(read.pages) < len(reader.pages) or budget.left < 0:
        read.warnings.append(
            f"the content of the document is out of proportion to its size; reading stopped on page {len(read.pages)} "
            f"of {len(reader.pages)}."
        )
    return read


def _has_image(page: PageObject) -> bool:
    resources = page.get("/Resources")
    objects = resources.get_object().get("/XObject") if resources is not None else None
    if objects is not None:
        for reference in list(objects.get_object().values())[:100]:
            if reference.get_object().get("/Subtype") == "/Image":
                return True
    contents = page.get_contents()
    return contents is not None and b" Do" in contents.get_data()


def _missing_text(read: _Read) -> list[str]:
    told = []
    if read.images:
        told.append(f"{_listed(read.images)} no text layer, only images: OCR is needed.")
    if read.empty:
        told.append(f"{_listed(read.empty)} no text.")
    return told


def _listed(numbers: list[int]) -> str:
    """``page 3 has`` or ``pages 1-4, 7 have``."""
    if len(numbers) == 1:
        return f"page {numbers[0]} has"
    parts: list[str] = []
    start = last = numbers[0]
    for number in [*numbers[1:], 0]:
        if number != last + 1:
            parts.append(str(start) if start == last else f"{start}-{last}")
            start = number
        last = number
    return f"pages {', '.join(parts)} have"


def _outline(reader: PdfReader, warnings: list[str]) -> list[Entry]:
    try:
        return outline(reader)
    except foreign() as error:
        warnings.append(f"the outline is damaged and was not used: {said(error)}.")
        return []


def _labels(reader: PdfReader, count: int) -> list[str]:
    """The label of each page as its reader shows it, such as ``iv``; its number where there is none."""
    numbers = [str(number) for number in range(1, count + 1)]
    try:
        if reader.root_object.get("/PageLabels") is None:
            return numbers
        labels = [str(label) for label in reader.page_labels]
    except foreign():
        return numbers
    return [label or number for label, number in zip(labels, numbers)] + numbers[len(labels) :]


def _about(reader: PdfReader) -> dict[str, object]:
    about: dict[str, object] = {}
    with suppress(*foreign()):
        known = reader.metadata
        for name, key in (("title", "/Title"), ("author", "/Author"), ("subject", "/Subject")):
            value = known.get(key) if known is not None else None
            if isinstance(value, str) and value.strip():
                about[name] = value.strip()
    return about
