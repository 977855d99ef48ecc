"""What is found false in a response, and how alike statements are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grader.evidence.similarity import Alignment

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A false statement of a response.

    Attributes:
        statement: Index of the statement in the response.
        kind: How it is false.
        misconception: Index of the misconception, or ``None``.
        key: Index of the key statement that is contradicted, or ``None``.
        words: The candidate's words that make it false, where a rule has found them.
        suspected: Whether a person has to decide; the mark is then given as if the statement were right.
    """

    statement: int
    kind: Literal["misconception", "negation", "roles", "number", "antonym", "contradiction"]
    misconception: int | None = None
    key: int | None = None
    words: tuple[str, ...] = ()
    suspected: bool = False


def likeness(found: Alignment) -> Floats:
    """How alike key statements and statements are in both directions, 0 to 1, shape (k, s)."""
    recall, precision = np.maximum(found.recall, 0), np.maximum(found.precision, 0)
    balance = 2 * recall * precision / np.maximum(recall + precision, 1e-6)
    return np.asarray(np.round(0.5 * balance + 0.5 * np.maximum(found.cosine, 0), 5), dtype=np.float32)
