"""What presentations and workbooks share: a zip archive of bounded size, and libraries that raise anything over damage."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO

from omnichunk import ChunkingError, LoadError, Source

_OLE = b"\xd0\xcf\x11\xe0"


def opened(source: Source) -> BytesIO:
    """The archive, when it is one and what it says it unpacks to is within ``office_max_bytes``; LoadError otherwise.

    No member can yield more than the size it is listed with: the libraries read through ``zipfile``, which stops there.
    """
    if isinstance(source.data, str):
        raise LoadError(f"{source.name}: is a zip archive, not text. Pass its bytes.")
    if source.data.startswith(_OLE):
        raise LoadError(
            f"{source.name}: is encrypted or of an Office before 2007. Save it without a password in the present format."
        )
    try:
        with zipfile.ZipFile(BytesIO(source.data)) as archive:
            size = sum(info.file_size for info in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise LoadError(f"{source.name}: is no zip archive, or a damaged one: {error}. Fetch it again.") from error
    if size > int(str(source.options["office_max_bytes"])):
        raise LoadError(
            f"{source.name}: unpacks to {size} bytes, more than office_max_bytes. Raise that option if you trust the file."
        )
    return BytesIO(source.data)


@contextmanager
def reading(source: Source, where: str = "") -> Iterator[None]:
    """Turn whatever a library raises over a damaged file into a LoadError, and keep its warnings quiet."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except ChunkingError:
        raise
    except Exception as error:
        place = f"{source.name}: {where}" if where else source.name
        raise LoadError(f"{place}: is damaged or of an unknown kind: {type(error).__name__}: {error}.") from error
