"""How probable it is that a statement states the misconception it is most like.

A logistic function, fitted to labelled answers (``models/falsehood.json``, made by ``eval/train_falsehood.py``), of how
much more the statement is like the misconception than like anything right, and of what the contradiction model says
of the two.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grader.errors import ModelError
from grader.evidence.crossencoder import CONTRADICTS, ENTAILS
from grader.evidence.findings import likeness
from grader.evidence.similarity import Alignment

Floats = NDArray[np.float32]

#: What the function rests on.
MEASURES = ("likeness", "margin", "margin_recall", "margin_precision", "margin_cosine", "entails", "contradicts")
_SIMILAR = 5
_SOFT = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Falsehood:
    """The fitted function and its cut.

    Attributes:
        version: Version and hash, part of every mark's signature.
        weights: One a measure, in the order of `MEASURES`.
        bias: Added to the weighted sum.
        suspected: From this probability on a statement is referred to a person.
    """

    version: str
    weights: NDArray[np.float64]
    bias: float
    suspected: float

    def __call__(self, table: NDArray[np.floating]) -> NDArray[np.float64]:
        """Probabilities, shape (n,), rounded to five decimals, of measures of shape (n, len(MEASURES))."""
        values = 1.0 / (1.0 + np.exp(-(table.astype(np.float64) @ self.weights + self.bias)))
        return np.asarray(np.round(values, 5))


def similarity_measures(keys: Alignment, wrong: Alignment) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Measures that need no model, shape (s, 5), and the row of the misconception each statement is most like."""
    right, false = likeness(keys), likeness(wrong)
    rows = false.argmax(axis=0)
    columns = [false.max(axis=0), false.max(axis=0) - right.max(axis=0)]
    for name in ("recall", "precision", "cosine"):
        columns.append(getattr(wrong, name).max(axis=0) - getattr(keys, name).max(axis=0))
    return np.stack(columns, axis=1).astype(np.float64), rows


def with_answers(similar: NDArray[np.float64], answers: Floats) -> NDArray[np.float64]:
    """All measures, shape (n, len(MEASURES)), from those of similarity and the model's probabilities (n, 4)."""
    asked = [_logit(answers[:, ENTAILS]), _logit(answers[:, CONTRADICTS])]
    return np.concatenate([similar, np.stack(asked, axis=1)], axis=1)


def _logit(probability: Floats) -> NDArray[np.float64]:
    p = probability.astype(np.float64)
    return np.asarray(np.log((p + _SOFT) / (1.0 - p + _SOFT)))


def load_falsehood(path: Path | None = None) -> Falsehood:
    """The function in ``path``, by default the shipped one.

    Raises:
        ModelError: The file is missing, altered or does not fit this version's measures.
    """
    return _load(path or Path(__file__).resolve().parent.parent / "models" / "falsehood.json")


@lru_cache(maxsize=8)
def _load(path: Path) -> Falsehood:
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        weights = np.array([data["weights"][name] for name in MEASURES], dtype=np.float64)
        version = f"{data['version']}@{digest}"
        return Falsehood(version, weights, float(data["bias"]), float(data["suspected"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not a curve of falsehood for these measures: {error!r}") from error
