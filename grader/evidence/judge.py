"""Which statements the contradiction model is asked about, and what follows from its answer.

A statement is compared only with its nearest misconception, and only if it is about as much like that as like
anything right: comparing everything with everything drowns the signal and costs time. What the model says is weighed
together with the likeness (see `grader.evidence.falsehood`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grader.evidence.crossencoder import CONTRADICTS, ENTAILS
from grader.evidence.falsehood import load_falsehood, similarity_measures, with_answers
from grader.evidence.polarity import negations
from grader.evidence.similarity import Alignment, Phrase
from grader.index import ItemIndex

Floats = NDArray[np.float32]

#: A misconception must be this like the statement to be asked about …
NEAR = 0.45
#: … may be this much less like it than the nearest key statement …
BEHIND = 0.1
#: … and if it is at least this like it, must not be denied by it, nor contradict it in the eyes of the model.
NEAR_COPY = 0.8


class Judge(Protocol):
    """What is needed of the contradiction model."""

    @property
    def signature(self) -> str:
        """Name and hash of the weights, as it appears in a mark's signature."""
        ...

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Probabilities of `grader.evidence.crossencoder.CLASSES` for (candidate's statement, rubric's statement)."""
        ...


@dataclass(frozen=True, slots=True)
class Stated:
    """A misconception that a statement states: its row, and whether a person has to decide."""

    row: int
    suspected: bool = False


def weighed_misconceptions(
    index: ItemIndex,
    statements: Sequence[Phrase],
    keys: Alignment,
    wrong: Alignment,
    candidates: Sequence[bool],
    stated: Collection[int],
    judge: Judge,
) -> dict[int, Stated]:
    """The misconception that each statement states or may state; others are absent.

    Args:
        index: The item, which has misconceptions.
        statements: Statements of one response.
        keys: Key statements against statements.
        wrong: Misconception statements against statements.
        candidates: Which statements may be found false.
        stated: Those that state a misconception by their likeness; the model can only make them doubtful.
        judge: The model.
    """
    assert index.misconceptions is not None
    known = [phrase.text for phrase in index.misconceptions.phrases]
    measures, rows = similarity_measures(keys, wrong)
    asked = [
        at
        for at in [at for at, wanted in enumerate(candidates) if wanted]
        if at in stated or worth_asking(measures[at, 0], measures[at, 1], statements[at].text, known[rows[at]])
    ]
    if not asked:
        return {}
    answers = judge.predict([(statements[at].text, known[rows[at]]) for at in asked])
    falsehood = load_falsehood()
    found = falsehood(with_answers(measures[asked], answers))
    weighed = {}
    for at, probability, values in zip(asked, found, answers, strict=True):
        probable = probability >= falsehood.suspected
        opposed = measures[at, 0] >= NEAR_COPY and values[CONTRADICTS] > values[ENTAILS]
        sure = at in stated and probable and not opposed
        if probable or at in stated:
            weighed[at] = Stated(int(rows[at]), suspected=not sure)
    return weighed


def worth_asking(like: float, margin: float, statement: str, misconception: str) -> bool:
    """Whether a statement may state a misconception that is ``like`` it, by ``margin`` more than anything right."""
    if like < NEAR or margin < -BEHIND:
        return False
    return like < NEAR_COPY or negations(statement) % 2 == negations(misconception) % 2
