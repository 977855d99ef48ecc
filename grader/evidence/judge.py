"""Which statements the contradiction model is asked about, and what follows from its answers.

A statement is compared only with its nearest key statement, and with a misconception only if it is nearly a copy of
it; and only if their likeness leaves room for doubt: comparing everything with everything drowns the signal and costs
time. What the model says is weighed together with the likeness (see `grader.evidence.falsehood`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grader.evidence.crossencoder import CONTRADICTS, ENTAILS
from grader.evidence.falsehood import SIMILARITIES, load_falsehood, similarity_measures, with_answers
from grader.evidence.polarity import negations
from grader.evidence.similarity import Alignment, Phrase
from grader.index import ItemIndex

Floats = NDArray[np.float32]

#: A misconception this like a statement must not be denied by it, nor contradict it in the eyes of the model more
#: than the nearest key statement does.
NEAR_COPY = 0.8
#: So like a key statement that there is nothing to ask.
COPY = 0.985


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
    """What makes a statement false.

    Attributes:
        row: The misconception that it states, or ``None``.
        key: The key statement that it contradicts, where it states no misconception.
        suspected: Whether a person has to decide.
    """

    row: int | None = None
    key: int | None = None
    suspected: bool = False


def weighed_statements(
    index: ItemIndex,
    statements: Sequence[Phrase],
    keys: Alignment,
    wrong: Alignment,
    candidates: Sequence[bool],
    stated: Collection[int],
    judge: Judge,
) -> dict[int, Stated]:
    """What makes each statement false, or may make it so; others are absent.

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
    measures, rows, nearest = similarity_measures(keys, wrong)
    texts = [phrase.text for phrase in statements]
    believed = [index.misconceptions.phrases[row].text for row in rows]
    asked = worth_asking(measures, texts, believed)
    chosen = [at for at, wanted in enumerate(candidates) if wanted and (at in stated or asked[at])]
    if not chosen:
        return {}
    near = [at for at in chosen if measures[at, 0] >= NEAR_COPY]
    pairs = [(texts[at], index.keys.phrases[nearest[at]].text) for at in chosen]
    answers = judge.predict([*pairs, *((texts[at], believed[at]) for at in near)])
    to_keys, to_wrong = answers[: len(chosen)], dict(zip(near, answers[len(chosen) :], strict=True))
    falsehood = load_falsehood()
    found = falsehood.judged(with_answers(measures[chosen], to_keys))
    weighed = {}
    for at, probability, key in zip(chosen, found, to_keys, strict=True):
        opposed = at in to_wrong and to_wrong[at][CONTRADICTS] > max(to_wrong[at][ENTAILS], key[CONTRADICTS])
        if at not in stated and probability < falsehood.suspected:
            continue
        suspected = bool(probability < (falsehood.suspected if at in stated else falsehood.sure) or opposed)
        if at in stated or measures[at, 1] >= 0:
            weighed[at] = Stated(int(rows[at]), suspected=suspected)
        else:
            weighed[at] = Stated(key=int(nearest[at]), suspected=suspected)
    return weighed


def worth_asking(
    measures: NDArray[np.float64], statements: Sequence[str], misconceptions: Sequence[str]
) -> NDArray[np.bool_]:
    """Whether each statement may be false, as far as likeness tells, shape (n,).

    Args:
        measures: `grader.evidence.falsehood.SIMILARITIES`, shape (n, 7).
        statements: The statements.
        misconceptions: The misconception nearest to each; one that it denies nearly word for word is not asked about.
    """
    falsehood = load_falsehood()
    likely = falsehood.screen(measures) >= falsehood.asked
    copies = measures[:, SIMILARITIES.index("key_likeness")] >= COPY
    denied = [
        like >= NEAR_COPY and negations(text) % 2 != negations(known) % 2
        for like, text, known in zip(measures[:, 0], statements, misconceptions, strict=True)
    ]
    return np.asarray(likely & ~copies & ~np.array(denied, dtype=bool))
