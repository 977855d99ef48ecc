"""How probable it is that a statement is false, given what the rubric holds right and wrong.

Two logistic functions, fitted to labelled statements (``models/falsehood.json``, made by ``eval/train_falsehood.py``).
The first knows only how alike the statement, the nearest misconception and the nearest key statement are; it decides
whether the contradiction model is worth asking. The second also knows what the model says of the statement and the
nearest key statement.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.errors import ModelError
from grader.evidence.crossencoder import CONTRADICTS, ENTAILS
from grader.evidence.findings import likeness
from grader.evidence.similarity import Alignment

Floats = NDArray[np.float32]

#: What is known without a model …
SIMILARITIES = (
    "likeness", "margin", "margin_recall", "margin_precision", "margin_cosine", "key_likeness", "key_cosine",
)  # fmt: skip
#: … and what the functions rest on with one.
MEASURES = (*SIMILARITIES, "key_entails", "key_contradicts")
_SOFT = 0.02
_SHIPPED = Path(__file__).resolve().parent.parent / "models" / "falsehood.json"


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """A logistic function of measures.

    Attributes:
        weights: One a measure.
        bias: Added to the weighted sum.
    """

    weights: NDArray[np.float64]
    bias: float

    def __call__(self, table: NDArray[np.floating]) -> NDArray[np.float64]:
        """Probabilities, shape (n,), rounded to five decimals, of measures of shape (n, len(weights))."""
        values = 1.0 / (1.0 + np.exp(-(table.astype(np.float64) @ self.weights + self.bias)))
        return np.asarray(np.round(values, 5))


@dataclass(frozen=True, slots=True, eq=False)
class Falsehood:
    """The fitted functions and their cuts.

    Attributes:
        version: Version and hash, part of every mark's signature.
        screen: Probability from `SIMILARITIES` alone.
        asked: From this one on the model is asked.
        judged: Probability from all `MEASURES`.
        suspected: From this one on a statement is referred to a person.
        sure: From this one on it is marked as false.
    """

    version: str
    screen: Logistic
    asked: float
    judged: Logistic
    suspected: float
    sure: float


def similarity_measures(
    keys: Alignment, wrong: Alignment
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """`SIMILARITIES` of each statement, shape (s, 7), and the rows of its nearest misconception and key statement."""
    right, false = likeness(keys), likeness(wrong)
    columns = [false.max(axis=0), false.max(axis=0) - right.max(axis=0)]
    for name in ("recall", "precision", "cosine"):
        columns.append(getattr(wrong, name).max(axis=0) - getattr(keys, name).max(axis=0))
    columns += [right.max(axis=0), keys.cosine.max(axis=0)]
    return np.stack(columns, axis=1).astype(np.float64), false.argmax(axis=0), right.argmax(axis=0)


def with_answers(similar: NDArray[np.float64], answers: Floats) -> NDArray[np.float64]:
    """All measures, shape (n, len(MEASURES)).

    Args:
        similar: `SIMILARITIES`, shape (n, 7).
        answers: The model's probabilities for statement and nearest key statement, shape (n, 4).
    """
    asked = [_logit(answers[:, which]) for which in (ENTAILS, CONTRADICTS)]
    return np.concatenate([similar, np.stack(asked, axis=1)], axis=1)


def _logit(probability: Floats) -> NDArray[np.float64]:
    p = probability.astype(np.float64)
    return np.asarray(np.log((p + _SOFT) / (1.0 - p + _SOFT)))


def load_falsehood(path: Path | None = None) -> Falsehood:
    """The function in ``path``, by default the shipped one.

    Raises:
        ModelError: The file is missing, altered or does not fit this version's measures.
    """
    return _load(path or _SHIPPED)


@lru_cache(maxsize=8)
def _load(path: Path) -> Falsehood:
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        cuts = {name: float(data[name]) for name in ("asked", "suspected", "sure")}
        screen, judged = _logistic(data["screen"], SIMILARITIES), _logistic(data["judged"], MEASURES)
        return Falsehood(f"{data['version']}@{digest}", screen=screen, judged=judged, **cuts)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not a curve of falsehood for these measures: {error!r}") from error


def _logistic(data: dict[str, Any], names: Sequence[str]) -> Logistic:
    return Logistic(np.array([data["weights"][name] for name in names], dtype=np.float64), float(data["bias"]))
