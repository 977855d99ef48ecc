"""What a calibration knows of responses: numbers only, never their text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from grader.evidence.features import FEATURES
from grader.evidence.polarity import negations, numbers
from grader.index import ItemIndex
from grader.text import stems
from grader.words import information

Array = NDArray[np.float64]
Floats = NDArray[np.float32]

LEXICAL_DIMENSIONS = 512
#: Mean and deviation of each measure over the train answers of four public data sets; they only set a common unit.
_UNITS = {
    "recall": (0.46, 0.26),
    "pair_recall": (0.47, 0.26),
    "full_recall": (0.48, 0.26),
    "cosine": (0.51, 0.25),
    "balance": (0.48, 0.24),
    "lexical": (0.30, 0.31),
    "full_lexical": (0.32, 0.31),
    "keywords": (0.5, 0.5),
}
_MEASURES = tuple(_UNITS)
_COLUMNS = [list(FEATURES).index(name) for name in _MEASURES]
_WORDS, _NEGATIONS, _NUMBERS = (2.66, 0.88), (0.37, 1.03), (0.40, 1.26)


@dataclass(frozen=True, slots=True, eq=False)
class Representation:
    """What the correction knows of responses, one row each.

    Attributes:
        vectors: Mean sentence vector of unit length, shape (n, d).
        lexical: Hashed, information-weighted stems and pairs of stems of unit length, shape (n, LEXICAL_DIMENSIONS).
        linear: Credits of components, then of elements, 0..1, shape (n, f).
        evidence: Measures that the credits rest on, length, negations and numbers, in common units, shape (n, e).
        prior: Uncalibrated mark as a share of the scale, 0..1, shape (n,).
        open: 1 where a calibration may change the mark, 0 for blank answers, "I do not know" and the like, shape (n,).
    """

    vectors: Array
    lexical: Array
    linear: Array
    evidence: Array
    prior: Array
    open: Array

    def __len__(self) -> int:
        return len(self.prior)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> Representation:
        """The chosen rows."""
        at = np.asarray(rows, dtype=np.intp)
        return Representation(**{name: column[at] for name, column in self.columns().items()})

    def columns(self) -> dict[str, Array]:
        """The arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def of_component(self, place: int) -> Representation:
        """The same rows with the credit of the component at ``place`` in the item as the uncalibrated mark."""
        return replace(self, prior=self.linear[:, place])


def joined(parts: Sequence[Representation]) -> Representation:
    """The rows of at least one representation, one below the other."""
    columns = [part.columns() for part in parts]
    return Representation(**{name: np.concatenate([each[name] for each in columns]) for name in columns[0]})


def lexical_vector(text: str, language: str = "en") -> Array:
    """Stems and neighbouring pairs of stems of ``text``, hashed into ``LEXICAL_DIMENSIONS`` columns, unit length."""
    vector = np.zeros(LEXICAL_DIMENSIONS)
    words = stems(text, language)
    weights = [max(information(word), 0.1) for word in words]
    pairs = zip(zip(words, words[1:], strict=False), zip(weights, weights[1:], strict=False), strict=True)
    terms = [*zip(words, weights, strict=True), *((" ".join(two), sum(both) / 3) for two, both in pairs)]
    for term, weight in terms:
        digest = hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest()
        number = int.from_bytes(digest, "big")
        vector[number % LEXICAL_DIMENSIONS] += weight if number >> 63 else -weight
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def evidence_vector(index: ItemIndex, table: Floats | None, text: str) -> Array:
    """The measures of each element (best wording), then length, negations and numbers of the response.

    Args:
        index: The item.
        table: Measures of each key statement, shape (k, len(FEATURES)); ``None`` if nothing in the response counted.
        text: The response as it was read.
    """
    rows: dict[tuple[str, int], list[int]] = {}
    for row, slot in enumerate(index.slots):
        rows.setdefault((slot.component, slot.element), []).append(row)
    found: list[float] = []
    for (component, at), members in rows.items():
        best = np.zeros(len(_COLUMNS)) if table is None else table[members][:, _COLUMNS].max(axis=0)
        has_keywords = index.item.components[component].elements[at].keywords is not None
        wanted = _MEASURES if has_keywords else _MEASURES[:-1]
        found += [_in_units(float(best[column]), _UNITS[name]) for column, name in enumerate(wanted)]
    found.append(_in_units(float(np.log1p(len(text.split()))), _WORDS))
    found.append(_in_units(negations(text), _NEGATIONS))
    found.append(_in_units(len(numbers(text)), _NUMBERS))
    return np.round(np.array(found), 5)


def _in_units(value: float, unit: tuple[float, float]) -> float:
    mean, deviation = unit
    return (value - mean) / deviation
