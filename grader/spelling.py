"""Spelling tolerance that never touches an item's own vocabulary, code or numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache

import regex
from rapidfuzz.distance import OSA, DamerauLevenshtein
from rapidfuzz.process import extract

from grader.text import Normalised, tokenise
from grader.words import frequencies, is_word

_MIN_LENGTH = 4
_MIN_GENERAL_LENGTH = 6
_COMMON = 2_000_000
_CONTRACTIONS = {
    "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "isnt": "isn't", "arent": "aren't", "wasnt": "wasn't",
    "werent": "weren't", "wont": "won't", "wouldnt": "wouldn't", "shouldnt": "shouldn't", "couldnt": "couldn't",
    "hasnt": "hasn't", "havent": "haven't", "hadnt": "hadn't", "cant": "can't", "thats": "that's", "youre": "you're",
}  # fmt: skip


def correct(text: Normalised, vocabulary: frozenset[str], language: str = "en") -> Normalised:
    """``text`` with misspelled words replaced; offsets still point at the candidate's own letters.

    A word that is neither English nor in ``vocabulary`` (lower case words of the item) is replaced by the item's
    nearest word, else, if it has six letters or more, by the most frequent common English word one edit away. Code
    spans, identifiers and words with capitals inside are left alone, and every word of another ``language``: only
    English has a word list here.
    """
    if language != "en":
        return text
    changes = []
    for token in tokenise(text.text):
        at = bisect_right(text.code, (token.start, len(text.text))) - 1
        if token.kind != "word" or (at >= 0 and token.start < text.code[at][1]):
            continue
        better = correction(token.text, vocabulary)
        if better != token.text:
            changes.append((token.start, token.end, better))
    return text.replace(changes) if changes else text


def correction(word: str, vocabulary: frozenset[str]) -> str:
    """The word meant by ``word``, or ``word`` itself.

    >>> correction("gradiants", frozenset({"gradients"})), correction("logits", frozenset())
    ('gradients', 'logits')
    """
    lower = word.casefold()
    if lower in _CONTRACTIONS:
        return _CONTRACTIONS[lower]
    if len(word) < _MIN_LENGTH or not lower.isalpha() or word[1:] != lower[1:]:
        return word
    if lower in vocabulary or is_word(lower):
        return word
    nearest = _nearest(lower, vocabulary)
    return word if nearest == lower else nearest


@lru_cache(maxsize=50_000)
def _nearest(word: str, vocabulary: frozenset[str]) -> str:
    allowed = 1 if len(word) < 7 else 2
    own = _by_letter(vocabulary).get(word[0], ())
    near = extract(word, own, scorer=DamerauLevenshtein.distance, score_cutoff=allowed, limit=None)
    if near:
        return min((distance, known) for known, distance, _ in near)[1]
    if len(word) < _MIN_GENERAL_LENGTH or is_word(regex.sub(r"is(?=e|ing|ation)", "iz", word)):
        return word
    found = extract(word, _common_by_letter().get(word[0], ()), scorer=OSA.distance, score_cutoff=1, limit=10)
    return max((known for known, _, _ in found), key=lambda known: frequencies()[known], default=word)


@lru_cache(maxsize=1)
def _common_by_letter() -> dict[str, list[str]]:
    return _lists(word for word, count in frequencies().items() if count >= _COMMON)


@lru_cache(maxsize=256)
def _by_letter(vocabulary: frozenset[str]) -> dict[str, list[str]]:
    return _lists(word for word in vocabulary if len(word) >= _MIN_LENGTH)


def _lists(words: Iterable[str]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for word in words:
        table.setdefault(word[0], []).append(word)
    return table
