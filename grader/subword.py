"""An encoder without weights for languages that the packaged model does not read: words are compared by their letters.

The vector of a word holds the runs of four letters of its stem, so that inflected forms, parts of compounds and slips
of the pen are near ("Toilette", "Toilettenbesuch") and unrelated words are not. It knows no synonyms.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grader.encoder import Encoding
from grader.languages import information
from grader.text import stem, tokenise

Floats = NDArray[np.float32]

_DIMENSIONS = 1024
_GRAM = 4


class SubwordEncoder:
    """Hashed runs of letters of word stems; the sentence vector is their mean, weighted by information."""

    def __init__(self, language: str) -> None:
        """Stems and weighs words as in ``language`` (two-letter code)."""
        self._language = language

    @property
    def signature(self) -> str:
        """Name, language and version."""
        return f"subword-{self._language}@1"

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """One encoding a text; a text without words gets a zero vector and no tokens."""
        return [self._encode(text) for text in texts]

    def _encode(self, text: str) -> Encoding:
        tokens = tokenise(text)
        if not tokens:
            empty = np.zeros((0, _DIMENSIONS), dtype=np.float32)
            return Encoding(np.zeros(_DIMENSIONS, np.float32), empty, np.zeros((0, 2), np.int32))
        vectors = np.stack([_vector(stem(token.text, self._language)) for token in tokens])
        weights = np.array([information(token.text, self._language) for token in tokens], dtype=np.float32)
        pooled = weights @ vectors
        pooled = np.asarray(pooled / max(float(np.linalg.norm(pooled)), 1e-9), dtype=np.float32)
        offsets = np.array([(token.start, token.end) for token in tokens], dtype=np.int32)
        return Encoding(pooled, vectors, offsets)


@lru_cache(maxsize=100_000)
def _vector(word: str) -> Floats:
    """Unit vector of the runs of four letters of ``word`` with its edges, shape (_DIMENSIONS,)."""
    edged = f"^{word}$"
    grams = {edged[at : at + _GRAM] for at in range(max(len(edged) - _GRAM + 1, 1))}
    vector = np.zeros(_DIMENSIONS, dtype=np.float32)
    for gram in grams:
        digest = zlib.crc32(gram.encode("utf-8", "replace"))
        vector[digest % _DIMENSIONS] += 1.0 if digest & 0x8000_0000 else -1.0
    norm = float(np.linalg.norm(vector))
    vector = np.asarray(vector / max(norm, 1e-9), dtype=np.float32)
    vector.setflags(write=False)
    return vector
