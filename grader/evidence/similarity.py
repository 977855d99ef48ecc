"""How much of each key statement a response says, and in which of its words.

For each token of a key statement the best matching token of a statement is looked up (cosine of contextual vectors
of the same frozen encoder). Averaged with the information content of the words, and with the prompt's words
demoted, this tells right from wrong far better than the cosine of two sentence vectors; both are kept. Statements
are encoded one by one, so every measure here can only grow when a response gets longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grader.encoder import Encoding
from grader.languages import information
from grader.text import identifier_parts, stem, stems, tokenise

Floats = NDArray[np.float32]

#: What a word that the prompt already says is worth, relative to any other.
PROMPT_WEIGHT = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Phrase:
    """A statement of a rubric or response, ready for comparison.

    Attributes:
        text: The words.
        encoding: Their vectors.
        weights: Weight of each token piece, shape (t,); sums to the information in the text.
        terms: Weight of each distinct stem.
    """

    text: str
    encoding: Encoding
    weights: Floats
    terms: dict[str, float]


def phrase(text: str, encoding: Encoding, prompt_stems: frozenset[str], language: str = "en") -> Phrase:
    """``text`` with its words weighted by information content, the prompt's words at a fifth."""
    offsets = encoding.offsets
    weights = np.zeros(len(offsets), dtype=np.float32)
    terms: dict[str, float] = {}
    for token in tokenise(text):
        weight = _weight(token.text, prompt_stems, language)
        inside = (offsets[:, 0] >= token.start) & (offsets[:, 1] <= token.end)
        if inside.any():
            weights[inside] = weight / inside.sum()
        for term in stems(token.text, language):
            terms[term] = max(terms.get(term, 0.0), weight)
    if not weights.any():
        weights[:] = 1.0
    return Phrase(text, encoding, weights, terms)


@lru_cache(maxsize=100_000)
def _weight(word: str, prompt_stems: frozenset[str], language: str) -> float:
    parts = [stem(part, language) for part in identifier_parts(word)] or [stem(word, language)]
    known = stem(word, language) in prompt_stems or all(part in prompt_stems for part in parts)
    return information(word, language) * (PROMPT_WEIGHT if known else 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Every key statement against every statement of one response.

    Attributes:
        recall: Share of key statement k found in statement s, shape (k, s).
        precision: Share of statement s found in key statement k, shape (k, s).
        cosine: Cosine of the sentence vectors, shape (k, s).
        lexical: Share of key statement k whose stems occur in s, shape (k, s).
        pair_recall: Recall of neighbouring statements taken together, shape (k, s - 1) or (k, s) if s is 1.
        full_recall: Recall of all statements taken together, shape (k,).
        full_lexical: Lexical recall of all statements taken together, shape (k,).
    """

    recall: Floats
    precision: Floats
    cosine: Floats
    lexical: Floats
    pair_recall: Floats
    full_recall: Floats
    full_lexical: Floats


class KeyStatements:
    """Key statements stacked so that a response is compared with all of them in one matrix product."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        """Holds at least one phrase."""
        self.phrases = tuple(phrases)
        self._tokens = np.concatenate([p.encoding.tokens for p in phrases])
        self._starts = _starts([len(p.weights) for p in phrases])
        weights = np.concatenate([p.weights for p in phrases])
        totals = np.add.reduceat(weights, self._starts)
        self._weights = weights / np.repeat(totals, np.diff([*self._starts, len(weights)]))
        self._pooled = np.stack([p.encoding.pooled for p in phrases])
        self._vocabulary = {term: i for i, term in enumerate(sorted({t for p in phrases for t in p.terms}))}
        self._terms = np.zeros((len(phrases), len(self._vocabulary)), dtype=np.float32)
        for row, p in enumerate(phrases):
            total = sum(p.terms.values()) or 1.0
            for term, weight in p.terms.items():
                self._terms[row, self._vocabulary[term]] = weight / total

    def __len__(self) -> int:
        return len(self.phrases)

    @np.errstate(invalid="ignore")  # OpenBLAS may leave this flag behind from unused vector lanes
    def align(self, response: Sequence[Phrase]) -> Alignment:
        """All measures for the statements of one response, at least one."""
        lengths = [len(p.weights) for p in response]
        starts = _starts(lengths)
        similarity = self._tokens @ np.concatenate([p.encoding.tokens for p in response]).T
        best_in_statement = np.maximum.reduceat(similarity, starts, axis=1)
        recall = self._per_key(best_in_statement)
        pairs = np.maximum(best_in_statement[:, :-1], best_in_statement[:, 1:])
        pair_recall = self._per_key(pairs) if len(response) > 1 else recall
        full_recall = self._per_key(best_in_statement.max(axis=1, keepdims=True))[:, 0]
        best_in_key = np.maximum.reduceat(similarity, self._starts, axis=0)
        weights = np.concatenate([p.weights for p in response])
        precision = np.add.reduceat(best_in_key * weights, starts, axis=1)
        precision = precision / np.add.reduceat(weights, starts)
        cosine = self._pooled @ np.stack([p.encoding.pooled for p in response]).T
        said = np.zeros((len(self._vocabulary), len(response)), dtype=np.float32)
        for column, p in enumerate(response):
            for term in p.terms:
                if term in self._vocabulary:
                    said[self._vocabulary[term], column] = 1.0
        return Alignment(
            recall=_rounded(recall),
            precision=_rounded(precision),
            cosine=_rounded(cosine),
            lexical=_rounded(self._terms @ said),
            pair_recall=_rounded(pair_recall),
            full_recall=_rounded(full_recall),
            full_lexical=_rounded(self._terms @ said.max(axis=1)),
        )

    def _per_key(self, best: Floats) -> Floats:
        return np.asarray(np.add.reduceat(best * self._weights[:, None], self._starts, axis=0), dtype=np.float32)


def _starts(lengths: Sequence[int]) -> NDArray[np.intp]:
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)


def _rounded(values: NDArray[np.floating]) -> Floats:
    """Five decimals: what is left of a matrix product when other responses share the call."""
    return np.asarray(np.round(np.clip(values, -1.0, 1.0), 5), dtype=np.float32)
