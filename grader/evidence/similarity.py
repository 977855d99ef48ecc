"""How much of each key statement a response says, and in which of its words.

For each token of a key statement the best matching token of a statement is looked up (cosine of contextual vectors
of the same frozen encoder). Averaged with the information content of the words, and with the prompt's words
demoted, this tells right from wrong far better than the cosine of two sentence vectors; both are kept. Statements
are encoded one by one, so every measure here can only grow when a response gets longer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from grader.encoder import Encoding
from grader.languages import information
from grader.text import Token, identifier_parts, stem, stems, tokenise

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
    tokens = tokenise(text)
    information = [_weight(token.text, prompt_stems, language) for token in tokens]
    terms: dict[str, float] = {}
    for token, weight in zip(tokens, information, strict=True):
        for term in stems(token.text, language):
            terms[term] = max(terms.get(term, 0.0), weight)
    return Phrase(text, encoding, _piece_weights(encoding.offsets, tokens, information), terms)


def _piece_weights(offsets: NDArray[np.int32], tokens: Sequence[Token], information: Sequence[float]) -> Floats:
    """Weight of each token piece: its share of the word in which it stands; all 1 if none stands in a word."""
    if not tokens:
        return np.ones(len(offsets), dtype=np.float32)
    starts, ends = np.array([(token.start, token.end) for token in tokens]).T
    inside = (offsets[:, 0] >= starts[:, None]) & (offsets[:, 1] <= ends[:, None])
    shares = np.array(information) / np.maximum(inside.sum(axis=1), 1)
    weights = (inside * shares[:, None]).max(axis=0, initial=0.0).astype(np.float32)
    return weights if weights.any() else np.ones(len(offsets), dtype=np.float32)


@lru_cache(maxsize=100_000)
def _weight(word: str, prompt_stems: frozenset[str], language: str) -> float:
    parts = [stem(part, language) for part in identifier_parts(word)] or [stem(word, language)]
    known = stem(word, language) in prompt_stems or all(part in prompt_stems for part in parts)
    return information(word, language) * (PROMPT_WEIGHT if known else 1.0)


#: Best match of each token of the key statements in one statement, shape (t,), and precision, shape (k,).
Row = tuple[Floats, Floats]


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


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Key statements against the statements of a response; `align` picks some or all of them.

    Attributes:
        keys: The key statements.
        recall: Share of key statement k found in statement n, shape (n, k).
        precision: Share of statement n found in key statement k, shape (n, k).
        pooled: The sentence vectors, shape (n, d).
        best: Cosine of each token of the key statements with the nearest token of statement n, shape (n, t).
        said: Which stems of the key statements occur in n, shape (n, v).
    """

    keys: KeyStatements
    recall: Floats
    precision: Floats
    pooled: Floats
    best: Floats
    said: Floats

    @np.errstate(invalid="ignore")  # OpenBLAS may leave this flag behind from unused vector lanes
    def align(self, rows: Sequence[int]) -> Alignment:
        """All measures for a response of the statements in ``rows`` only, at least one."""
        best = self.best[rows]
        recall = self.recall[rows].T
        pairs = np.maximum(best[:-1], best[1:])
        return Alignment(
            recall=recall,
            precision=self.precision[rows].T,
            cosine=self.keys.cosine(self.pooled[rows]),
            lexical=self.keys.lexical(np.ascontiguousarray(self.said[rows].T)),
            pair_recall=self.keys.recall(pairs).T if len(rows) > 1 else recall,
            full_recall=self.keys.recall(best.max(axis=0, keepdims=True))[0],
            full_lexical=self.keys.lexical(self.said[rows].max(axis=0)),
        )


class KeyStatements:
    """Key statements stacked so that statements are compared with all of them in one matrix product."""

    def __init__(self, phrases: Sequence[Phrase], compare: Compare | None = None) -> None:
        """Holds at least one phrase; ``compare`` gives the rows of statements instead of `compared`."""
        self.phrases = tuple(phrases)
        self._compare = compare
        tokens = np.concatenate([p.encoding.tokens for p in phrases])
        self._tokens = np.ascontiguousarray(tokens.T)  # BLAS need not transpose it at every product
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
        common = Counter(term for p in phrases for term in p.terms)
        self._by_term: dict[str, list[frozenset[str]]] = {}
        for p in phrases:
            rarest = min(p.terms, key=lambda term: common[term], default="")
            self._by_term.setdefault(rarest, []).append(frozenset(p.terms))

    def __len__(self) -> int:
        return len(self.phrases)

    @cached_property
    def fingerprint(self) -> bytes:
        """Hash of the vectors and of where each phrase begins."""
        found = hashlib.blake2b(digest_size=16)
        for array in (self._starts, self._tokens):
            found.update(repr(array.shape).encode() + array.tobytes())
        return found.digest()

    def align(self, response: Sequence[Phrase]) -> Alignment:
        """All measures for the statements of one response, at least one."""
        return self.compare(response).align(range(len(response)))

    @np.errstate(invalid="ignore")
    def compare(self, statements: Sequence[Phrase]) -> Comparison:
        """What `Comparison.align` needs to know of ``statements``, at least one.

        Each has a matrix product of its own: in a larger one BLAS may add up in another order, and what else is
        compared would show in the last digit.
        """
        rows = self._compare(self, statements) if self._compare else list(map(self.compared, statements))
        best, precision = (np.stack(parts) for parts in zip(*rows, strict=True))
        said = np.zeros((len(statements), len(self._vocabulary)), dtype=np.float32)
        for row, p in enumerate(statements):
            said[row, [self._vocabulary[term] for term in p.terms if term in self._vocabulary]] = 1.0
        return Comparison(
            keys=self,
            recall=self.recall(best),
            precision=_rounded(precision),
            pooled=np.stack([p.encoding.pooled for p in statements]),
            best=best,
            said=said,
        )

    def within(self, terms: frozenset[str]) -> bool:
        """Whether all stems of a key statement are among ``terms`` and make up at least half of them."""
        near = (wanted for term in (*terms, "") for wanted in self._by_term.get(term, ()))
        return any(2 * len(wanted) >= len(terms) and wanted <= terms for wanted in near)

    def recall(self, best: Floats) -> Floats:
        """Share of each key statement that is found, shape (n, k), from the best match of its tokens, shape (n, t)."""
        return _rounded(np.add.reduceat(best * self._weights, self._starts, axis=1))

    def cosine(self, pooled: Floats) -> Floats:
        """Cosine of each key statement with sentence vectors of shape (n, d), shape (k, n)."""
        return _rounded(self._pooled @ pooled.T)

    def lexical(self, said: Floats) -> Floats:
        """Share of each key statement whose stems occur, shape (k, ...), from which stems occur, shape (v, ...)."""
        return _rounded(self._terms @ said)

    def compared(self, statement: Phrase) -> Row:
        """What one statement has of the key statements; depends on nothing else."""
        similarity = statement.encoding.tokens @ self._tokens
        best = np.asarray(similarity.max(axis=0, initial=-1.0), dtype=np.float32)
        in_key = np.maximum.reduceat(similarity, self._starts, axis=1) * statement.weights[:, None]
        return best, np.asarray(in_key.sum(axis=0) / max(float(statement.weights.sum()), 1e-9), dtype=np.float32)


#: Gives the row of each of some statements.
Compare = Callable[[KeyStatements, Sequence[Phrase]], list[Row]]


def _starts(lengths: Sequence[int]) -> NDArray[np.intp]:
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)


def _rounded(values: NDArray[np.floating]) -> Floats:
    """Five decimals: the last digits of a matrix product are the processor's own."""
    return np.asarray(np.round(np.clip(values, -1.0, 1.0), 5), dtype=np.float32)
