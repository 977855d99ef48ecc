"""Keyword groups met by a response, with the places where their words stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.rubric import KeywordGroup, Keywords
from grader.text import Token, identifier_parts, stem, tokenise

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class KeywordEvidence:
    """What of an element's keywords a response contains.

    Attributes:
        credit: Met groups over needed groups, 0 to 1.
        met: Indices of the groups that are met.
        spans: Where their words stand in the text that was searched.
    """

    credit: float
    met: tuple[int, ...]
    spans: tuple[Span, ...]


class _Run:
    """The words of a text in one form, with the places where each stands."""

    def __init__(self, words: Sequence[tuple[str, Span]]) -> None:
        self.words = tuple(word for word, _ in words)
        self._spans = [span for _, span in words]
        self.places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            self.places.setdefault(word, []).append(place)

    def find(self, wanted: tuple[str, ...]) -> list[Span]:
        """Spans where the words of ``wanted``, at least one, stand in a row."""
        size = len(wanted)
        return [
            (self._spans[at][0], self._spans[at + size - 1][1])
            for at in self.places[wanted[0]]
            if self.words[at : at + size] == wanted
        ]


class Words:
    """The words of one text in the forms keywords are compared in."""

    def __init__(self, text: str, language: str = "en", offset: int = 0) -> None:
        """``offset`` is added to every span, for a text cut out of a longer one."""
        self._text = text
        self._language = language
        self._offset = offset
        self._runs: dict[str, _Run] = {}

    def find(self, group: KeywordGroup) -> list[Span]:
        """Spans of every alternative of ``group`` that occurs."""
        run = self._run(group.match)
        alternatives = _alternatives(group.any, group.match, self._language)
        begun = (wanted for first in alternatives if first in run.places for wanted in alternatives[first])
        return [span for wanted in begun for span in run.find(wanted)]

    def _run(self, match: str) -> _Run:
        if match not in self._runs:
            self._runs[match] = _Run(
                [
                    (word, (token.start + self._offset, token.end + self._offset))
                    for token in tokenise(self._text)
                    for word in _forms(token, match, self._language)
                ]
            )
        return self._runs[match]


@lru_cache(maxsize=10_000)
def _alternatives(texts: tuple[str, ...], match: str, language: str) -> dict[str, list[tuple[str, ...]]]:
    """The words of each keyword in the form they are looked up in, by the first of them."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for text in texts:
        wanted = tuple(word for token in tokenise(text) for word in _forms(token, match, language))
        if wanted:
            found.setdefault(wanted[0], []).append(wanted)
    return found


def _forms(token: Token, match: str, language: str) -> list[str]:
    """A token in the form in which ``match`` compares it; an identifier may be several words."""
    if match == "exact":
        return [token.text]
    parts = identifier_parts(token.text) if token.is_code else [token.text]
    return [part.casefold() if match == "phrase" else stem(part, language) for part in parts]


def match_keywords(keywords: Keywords, words: Sequence[Words]) -> KeywordEvidence:
    """Which groups of ``keywords`` the texts meet, searched one by one (a phrase never spans two texts)."""
    met, spans = [], []
    for index, group in enumerate(keywords.groups):
        found = [span for text in words for span in text.find(group)]
        if found:
            met.append(index)
            spans.extend(found)
    credit = min(len(met) / keywords.needed, 1.0)
    return KeywordEvidence(credit, tuple(met), tuple(sorted(set(spans))))
