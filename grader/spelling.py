"""Spelling tolerance that never touches an item's own vocabulary, code or numbers."""

from __future__ import annotations

from functools import lru_cache

import regex
from rapidfuzz.distance import DamerauLevenshtein, OSA
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


def correct(text: Normalised, vocabulary: frozenset[str]) -> Normalised:
    """``text`` with misspelled words replaced; offsets still point at the candidate's own letters.

    A word that is neither English nor in ``vocabulary`` (lower case words of the item) is replaced by the item's
    nearest word, else, if it has six letters or more, by the most frequent common English word one edit away. Code spans, identifiers and words with
    capitals inside are left alone.
    """
    changes = []
    for token in tokenise(text.text):
        if token.kind != "word" or any(start <= token.start < end for start, end in text.code):
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
    near = [
        (DamerauLevenshtein.distance(word, known), known)
        for known in vocabulary
        if abs(len(known) - len(word)) <= allowed and len(known) >= _MIN_LENGTH and known[0] == word[0]
    ]
    close = sorted(pair for pair in near if pair[0] <= allowed)
    if close:
        return close[0][1]
    if len(word) < _MIN_GENERAL_LENGTH or is_word(regex.sub(r"is(?=e|ing|ation)", "iz", word)):
        return word
    found = extract(word, _common_by_letter().get(word[0], ()), scorer=OSA.distance, score_cutoff=1, limit=10)
    return max((known for known, _, _ in found), key=lambda known: frequencies()[known], default=word)


@lru_cache(maxsize=1)
def _common_by_letter() -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for word, count in frequencies().items():
        if count >= _COMMON:
            table.setdefault(word[0], []).append(word)
    return table
