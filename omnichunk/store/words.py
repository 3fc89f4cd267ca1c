"""The words of a text as the full-text index holds them, and a query in the same words.

They are made here and not by the database, so that both databases find the same: case and diacritics do not count,
scripts that are written without spaces are found by any part, names such as ``parseHttpRequest`` by each of their words.
"""

from __future__ import annotations

import os
import re
from base64 import b32encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple
from unicodedata import category, normalize

LONGEST = 64
"""Characters of a word that count; what is longer is a key or a digest, found by its beginning."""

# Han, kana, Thai, Lao, Tibetan, Myanmar, Khmer: a character is a word, and a query of several is a phrase.
_ALONE = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_DIACRITIC = re.compile("[\u0300-\u036f]+")
_ASCII = re.compile("[a-z0-9]+")
_TOKEN = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")
_NAME = re.compile(r"[A-Za-z0-9]{3,}")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_PIECE = re.compile(r'"([^"]*)"|(\S+)')


class Term(NamedTuple):
    """Words that must follow each other; with ``prefix`` the last one only begins so."""

    words: tuple[str, ...]
    prefix: bool = False


def words(text: str) -> list[str]:
    """The words of ``text`` in order: ASCII letters and digits in lower case, and other characters that form words."""
    if text.isascii():
        found = _ASCII.findall(text.lower())
    else:
        plain = _DIACRITIC.sub("", normalize("NFKD", text.casefold()))
        plain = normalize("NFC", plain)
        found = _pattern(frozenset(plain)).findall(plain)
    return [word[:LONGEST] for word in found]


@lru_cache(maxsize=64)
def _pattern(characters: frozenset[str]) -> re.Pattern[str]:
    """A word of a text that has ``characters``: vowel signs and other marks belong to it, which ``\\w`` leaves out."""
    marks = "".join(sorted(c for c in characters if not c.isascii() and category(c)[0] == "M"))
    return re.compile(rf"[{_ALONE}]|(?:[^\W_{_ALONE}]|[{marks}])+") if marks else _TOKEN


def parts(text: str) -> list[str]:
    """The words inside the names of ``text`` that are written in mixed case, each name once."""
    found = dict.fromkeys(_NAME.findall(text))
    mixed = (name for name in found if not (name.islower() or name.isupper() or name[1:].islower()))
    return [part.lower()[:LONGEST] for name in mixed for part in _several(name)]


def _several(name: str) -> list[str]:
    inside = _PART.findall(name)
    return inside if len(inside) > 1 else []


@lru_cache(maxsize=64)
def marks(path: str) -> list[str]:
    """What the index holds of a file beside words: a mark of its path, and one of each folder above it."""
    found = [path]
    while (above := os.path.dirname(found[-1])) != found[-1]:
        found.append(above)
    return [mark(name.encode("utf-8", "surrogatepass")) for name in found]


def mark(name: bytes) -> str:
    """A path or language as one word that no text has; two of 100,000 are the same once in 50,000 stores."""
    return "§" + b32encode(blake2b(name, digest_size=6).digest()).decode().strip("=").lower()


def terms(query: str) -> list[Term]:
    """What ``query`` asks for: words, ``"several words"`` that follow each other, and ``beginning*``."""
    pieces = ((words(piece[0]), piece[0].endswith("*")) for piece in _PIECE.finditer(query))
    return [*dict.fromkeys(Term(tuple(within), prefix) for within, prefix in pieces if within)]


def matches(text: str, wanted: Iterable[Term]) -> Iterator[tuple[int, int]]:
    """Where the words of ``wanted`` stand in ``text``, in code points."""
    wanted = list(wanted)
    whole = {word for term in wanted for word in (term.words[:-1] if term.prefix else term.words)}
    begins = tuple(term.words[-1] for term in wanted if term.prefix)
    for token in _TOKEN.finditer(text):
        within = [*words(token[0]), *parts(token[0])]
        if any(word in whole or (begins and word.startswith(begins)) for word in within):
            yield token.span()
