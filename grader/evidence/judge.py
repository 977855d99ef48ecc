"""Which statements the contradiction model is asked about, and what follows from its answer.

A statement is compared only with its nearest misconception, and only if it is about as much like that as like
anything right: comparing everything with everything drowns the signal and costs time. Whether a statement denies a
key statement is not asked yet: of right near-copies the model calls too many wrong (see its card).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grader.evidence.crossencoder import ENTAILS
from grader.evidence.polarity import negations
from grader.evidence.similarity import Phrase
from grader.index import ItemIndex

Floats = NDArray[np.float32]

#: A misconception must be this like the statement …
NEAR = 0.6
#: … may be this much less like it than the nearest key statement …
BEHIND = 0.05
#: … must not be nearly a copy of that one with another polarity than the misconception …
NEAR_COPY = 0.8
#: … and must be entailed by it with this probability.
STATED = 0.5


class Judge(Protocol):
    """What is needed of the contradiction model."""

    @property
    def signature(self) -> str:
        """Name and hash of the weights, as it appears in a mark's signature."""
        ...

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Probabilities of `grader.evidence.crossencoder.CLASSES` for (candidate's statement, rubric's statement)."""
        ...


def stated_misconceptions(
    index: ItemIndex,
    statements: Sequence[Phrase],
    keys: Floats,
    wrong: Floats,
    candidates: Sequence[bool],
    judge: Judge,
) -> dict[int, int]:
    """Row of the misconception statement that each statement states; statements that state none are absent.

    Args:
        index: The item, which has misconceptions.
        statements: Statements of one response.
        keys: Likeness of key statements and statements, shape (k, s).
        wrong: Likeness of misconception statements and statements, shape (m, s).
        candidates: Which statements may be found false.
        judge: The model.
    """
    assert index.misconceptions is not None
    asked: list[tuple[int, int]] = []
    for at in [at for at, wanted in enumerate(candidates) if wanted]:
        row = int(wrong[:, at].argmax())
        own = float(keys[:, at].max())
        other = index.misconceptions.phrases[row].text
        denies = own >= NEAR_COPY and negations(statements[at].text) % 2 != negations(other) % 2
        if float(wrong[row, at]) >= max(NEAR, own - BEHIND) and not denies:
            asked.append((at, row))
    pairs = [(statements[at].text, index.misconceptions.phrases[row].text) for at, row in asked]
    answers = judge.predict(pairs) if pairs else ()
    return {at: row for (at, row), values in zip(asked, answers, strict=True) if float(values[ENTAILS]) >= STATED}
