"""Every error omnichunk raises on purpose.

    ChunkingError                   anything that stops one source or one call
    ├── OptionError (ValueError)    a value or a combination of options that cannot work
    │   └── UnknownOptionError (TypeError)   an option name nobody declares
    ├── LoadError                   the bytes are not what their name or encoding says
    │   └── UnsupportedFormatError  no loader reads this kind of file
    ├── MissingDependencyError      an optional package is needed and absent
    ├── PluginError                 a plugin broke its promise
    ├── BudgetError                 something indivisible does not fit the budget
    ├── EmbeddingError (ValueError) an embedding function gave what is no vector for each text, or could not be asked
    ├── SchemaError (ValueError)    stored data is not what this version reads, or a value cannot be stored
    └── StoreError                  a store or a sink cannot be opened, read or written

Messages say what happened, where, and what to do. Exceptions of the caller's own callables (a tokenizer, an
embedding function) are never wrapped.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ChunkingError(Exception):
    """The root: catch this to catch everything omnichunk raises on purpose."""


class OptionError(ChunkingError, ValueError):
    """An option has a value, or options form a combination, that cannot work."""


class UnknownOptionError(OptionError, TypeError):
    """No such option."""


class LoadError(ChunkingError):
    """A source could not be read as what it claims to be."""


class UnsupportedFormatError(LoadError):
    """No loader reads this kind of file."""


class MissingDependencyError(ChunkingError):
    """An optional package is needed and not installed; the message names the extra."""


class PluginError(ChunkingError):
    """A plugin raised, or returned something that breaks its contract."""


class BudgetError(ChunkingError):
    """A unit that may not be divided, or a single code point, is larger than the budget."""


class EmbeddingError(ChunkingError, ValueError):
    """An embedding function returned something else than one vector a text, or a model or endpoint is not to be had."""


class SchemaError(ChunkingError, ValueError):
    """Stored data has a version or a shape that this code does not read, or a value has no stored form."""


class StoreError(ChunkingError):
    """A store or a sink cannot be opened, read or written; what was committed before is as it was."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """``'; did you mean "x"?'`` for the known name closest to ``name``, or an empty string."""
    spelled = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), spelled, n=1, cutoff=0.6)
    return f'; did you mean "{spelled[close[0]]}"?' if close else ""


def missing(what: str, package: str, extra: str) -> MissingDependencyError:
    """The error for an optional package: ``what`` needs ``package``, which ``extra`` installs."""
    return MissingDependencyError(
        f'{what} needs {package}, which is not installed. Run: pip install "omnichunk[{extra}]"'
    )
