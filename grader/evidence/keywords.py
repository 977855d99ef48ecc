"""Keyword groups met by a response, with the places where their words stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.rubric import KeywordGroup, Keywords
from grader.text import identifier_parts, stem, tokenise

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


class Words:
    """The words of one text in the forms keywords are compared in."""

    def __init__(self, text: str, language: str = "en", offset: int = 0) -> None:
        """``offset`` is added to every span, for a text cut out of a longer one."""
        self._exact: list[tuple[str, Span]] = []
        self._stems: list[tuple[str, Span]] = []
        self._plain: list[tuple[str, Span]] = []
        for token in tokenise(text):
            span = (token.start + offset, token.end + offset)
            self._exact.append((token.text, span))
            parts = identifier_parts(token.text) if token.is_code else [token.text]
            self._plain.extend((part.casefold(), span) for part in parts)
            self._stems.extend((stem(part, language), span) for part in parts)
        self._language = language
        self._exact_set = frozenset(text for text, _ in self._exact)
        self._plain_set = frozenset(text for text, _ in self._plain)
        self._stem_set = frozenset(text for text, _ in self._stems)

    def find(self, group: KeywordGroup) -> list[Span]:
        """Spans of every alternative of ``group`` that occurs."""
        return [span for alternative in group.any for span in self._find(alternative, group.match)]

    def _find(self, alternative: str, match: str) -> list[Span]:
        wanted = _wanted(alternative, match, self._language)
        if match == "exact":
            return _runs(self._exact, self._exact_set, wanted)
        if match == "phrase":
            return _runs(self._plain, self._plain_set, wanted)
        return _runs(self._stems, self._stem_set, wanted)


@lru_cache(maxsize=100_000)
def _wanted(alternative: str, match: str, language: str) -> tuple[str, ...]:
    """The words of a keyword in the form they are looked up in."""
    tokens = tokenise(alternative)
    if match == "exact":
        return tuple(token.text for token in tokens)
    parts = [part for token in tokens for part in (identifier_parts(token.text) if token.is_code else [token.text])]
    return tuple(part.casefold() if match == "phrase" else stem(part, language) for part in parts)


def _runs(words: Sequence[tuple[str, Span]], known: frozenset[str], wanted: Sequence[str]) -> list[Span]:
    if not wanted or not known.issuperset(wanted):
        return []
    texts = tuple(text for text, _ in words)
    length = len(wanted)
    return [
        (words[i][1][0], words[i + length - 1][1][1])
        for i in range(len(words) - length + 1)
        if texts[i : i + length] == wanted
    ]


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
