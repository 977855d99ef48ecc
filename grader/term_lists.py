"""Lists of terms in German: nouns side by side where the question asks for an explanation.

German has no list of verbs here, but it writes nouns with a capital letter, so words that could claim something show.
What may be an answer is left alone: single words, two terms, anything with a small word ("weil", "die") or a negation,
and every list where the question asks for several things or an accepted wording is a list itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

import regex

from grader.languages import function_words, negations
from grader.text import stem, tokenise

#: So many terms make a list.
_TERMS = 3
#: Nouns without anything between them are a list only from this many on: two and a verb may be a sentence.
_SIDE_BY_SIDE = 4
#: Share of the terms that are the item's own; others may be news that a person should see.
_OWN = 0.6
#: Prepositions that give a reason or a means, which a bare list does not have.
_PREPOSITIONS = frozenset("wegen aufgrund dank infolge mittels zwecks durch gegen für mangels anhand".split())
_JOINTS = frozenset({"und", "oder", "sowie"})
_SEPARATOR = regex.compile(r"[,;|\n/.!?]+|\s[-–]\s|\b(?:und|oder|sowie)\b", regex.I)
_RELATION = regex.compile(r"->|=>|[=<>:]")
_SEVERAL = regex.compile(
    r"""\b(?:welche[mnrs]?|nenn\w*|zähl\w*|list\w*|reihenfolge|schritte?n?|aufgaben|aspekte?n?|beispiele?n?|arten
        |bestandteile?n?|komponenten|merkmale?n?|vorteile?n?|nachteile?n?|worauf|woran|woraus|wovon|was\s+(?:alles|gehör\w*))\b""",
    regex.I | regex.X,
)


def asks_for_several(prompt: str) -> bool:
    """Whether a German question asks for several things, so that a list of terms is an answer.

    >>> asks_for_several("Worauf achtest du?"), asks_for_several("Warum wäscht man sich die Hände?")
    (True, False)
    """
    return _SEVERAL.search(prompt) is not None


def is_german_term_list(text: str, key_terms: Set[str], wordings: Iterable[str] = ()) -> bool:
    """Whether a German statement is only terms of the item side by side.

    Args:
        text: The statement.
        key_terms: Stems of the content words of the item's accepted wordings.
        wordings: The accepted wordings; if one of them is such a list itself, none is called one.
    """
    return _is_list(text, key_terms) and not any(_is_list(wording, key_terms) for wording in wordings)


def _is_list(text: str, key_terms: Set[str]) -> bool:
    if _RELATION.search(text):
        return False
    small = (function_words("de") - _JOINTS) | negations("de") | _PREPOSITIONS
    terms = [_words(segment) for segment in _SEPARATOR.split(text)]
    terms = [words for words in terms if words]
    words = [word for term in terms for word in term]
    if any(word.casefold() in small for word in words):
        return False
    apart = len(terms) >= _TERMS and all(len(term) == 1 or _are_nouns(term) for term in terms)
    if not apart and not (len(words) >= _SIDE_BY_SIDE and _are_nouns(words)):
        return False
    return sum(stem(word, "de") in key_terms for word in words) >= _OWN * len(words)


def _words(text: str) -> list[str]:
    return [token.text for token in tokenise(text) if token.kind != "number"]


def _are_nouns(words: list[str]) -> bool:
    """Whether all words are written like nouns; where everything is in capitals nothing can be told."""
    return all(word[0].isupper() and not word.isupper() for word in words)
