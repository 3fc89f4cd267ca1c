"""What is known of every language, truthfully for what is installed here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from omnichunk.model.declarations import Language
from omnichunk.parsing.grammar import embedded, fallback, grammar, guessed_kinds, registered, unavailable
from omnichunk.parsing.languages import languages, lineage, lookup, pack_names


@dataclass(frozen=True, slots=True)
class LanguageCapability:
    """One row of ``language_capabilities()``.

    ``extensions``: suffixes recognized as the language. ``grammar_registered``: it is known where its parser comes
    from; ``grammar_available``: that package is installed and its grammar loads; ``parser_available``: it is used in
    this process (``reason`` says why not); ``query_available``: a ``tags.scm`` is bundled. ``extraction``: how
    definitions are found, ``ast`` by grammar, ``regex`` by line, or ``none``. Markup has its definitions in embedded
    scripts, so its row says what holds for those.
    """

    language: str
    extensions: tuple[str, ...]
    grammar_registered: bool
    grammar_available: bool
    parser_available: bool
    query_available: bool
    extraction: str
    reason: str = ""


def language_capabilities(declared: Mapping[str, Language] | None = None) -> tuple[LanguageCapability, ...]:
    """A row for every language with definitions, by name: those declared, then those of the language pack.

    ``declared``: the languages of a registry instead of the built-in ones. Loads every grammar that is installed.
    """
    known = languages() if declared is None else declared
    code = [language for language in known.values() if language.provider == "code" or embedded(language)]
    served = {registered(language)[1] for language in code} | set(known)
    others = [lookup(name) for name in sorted(pack_names() - served)]
    return tuple(_capability(language) for language in [*sorted(code, key=lambda language: language.name), *others])


def _capability(language: Language) -> LanguageCapability:
    embeds = embedded(language)
    if embeds:
        return replace(_capability(lookup(embeds[0])), language=language.name, extensions=language.suffixes)
    loaded = grammar(language)
    bundled = any(Path(inherited.folder, "tags.scm").is_file() for inherited in lineage(language) if inherited.folder)
    extraction = "none"
    if loaded is not None and (bundled or guessed_kinds(loaded.language)):
        extraction = "ast"
    elif fallback(language):
        extraction = "regex"
    return LanguageCapability(
        language=language.name,
        extensions=language.suffixes,
        grammar_registered=any(registered(language)),
        grammar_available=loaded is not None,
        parser_available=loaded is not None,
        query_available=bundled,
        extraction=extraction,
        reason=unavailable(language),
    )
