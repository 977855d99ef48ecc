"""False statements: listed misconceptions, and near-copies of a key statement with the meaning turned round.

Similarity cannot tell "shares memory" from "does not share memory" (cosine .94), so it is only used to find what a
statement is about. Whether it is true is decided by comparing it with what a believer in the opposite would write,
and by the words that turn a meaning: negations and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grader.evidence.judge import Judge, stated_misconceptions
from grader.evidence.polarity import negations, numbers
from grader.evidence.similarity import Alignment, Phrase
from grader.index import ItemIndex

Floats = NDArray[np.float32]

#: A statement states a misconception when it is at least this like it …
MISCONCEPTION_LIKENESS = 0.6
#: … and by this much more like it than like any accepted wording.
MISCONCEPTION_MARGIN = 0.08
#: … or by anything if it says nearly the same words.
SAME_WORDS = 0.95
#: A statement this like a key statement differs from it only in details, so a flipped negation is a contradiction.
NEAR_COPY = 0.85

#: … unless another accepted wording with the same polarity is nearly as like it.
SUPPORT = 0.15


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A false statement of a response.

    Attributes:
        statement: Index of the statement in the response.
        kind: How it is false.
        misconception: Index of the misconception, or ``None``.
        key: Index of the key statement that is contradicted, or ``None``.
    """

    statement: int
    kind: Literal["misconception", "negation", "number"]
    misconception: int | None = None
    key: int | None = None


def likeness(found: Alignment) -> Floats:
    """How alike key statements and statements are in both directions, 0 to 1, shape (k, s)."""
    recall, precision = np.maximum(found.recall, 0), np.maximum(found.precision, 0)
    balance = 2 * recall * precision / np.maximum(recall + precision, 1e-6)
    return np.asarray(np.round(0.5 * balance + 0.5 * np.maximum(found.cosine, 0), 5), dtype=np.float32)


def contradictions(
    index: ItemIndex,
    statements: Sequence[Phrase],
    found: Alignment,
    candidates: Sequence[bool],
    judge: Judge | None = None,
) -> list[Contradiction]:
    """False statements among those marked in ``candidates``, at most one finding a statement.

    With a ``judge`` the contradiction model says whether a statement states the misconception it is most like; without
    one, likeness alone has to.
    """
    keys = likeness(found)
    wrong = likeness(index.misconceptions.align(statements)) if index.misconceptions else None
    if wrong is None:
        stated: dict[int, int] = {}
    elif judge:
        stated = stated_misconceptions(index, statements, keys, wrong, candidates, judge)
    else:
        stated = _like_misconceptions(index, statements, keys, wrong, candidates)
    results = []
    for at, statement in enumerate(statements):
        if at in stated:
            results.append(Contradiction(at, "misconception", misconception=index.misconception_slots[stated[at]]))
        elif candidates[at] and (finding := _near_copy(index, statement, at, keys)):
            results.append(finding)
    return results


def _like_misconceptions(
    index: ItemIndex, statements: Sequence[Phrase], keys: Floats, wrong: Floats, candidates: Sequence[bool]
) -> dict[int, int]:
    """Row of the misconception statement that each statement is clearly more like than anything right."""
    assert index.misconceptions is not None
    stated = {}
    for at in [at for at, wanted in enumerate(candidates) if wanted]:
        row = int(wrong[:, at].argmax())
        like = float(wrong[row, at])
        margin = MISCONCEPTION_MARGIN if like < SAME_WORDS else 0.0001
        if like < MISCONCEPTION_LIKENESS or like - float(keys[:, at].max()) < margin:
            continue
        if negations(statements[at].text) % 2 == negations(index.misconceptions.phrases[row].text) % 2:
            stated[at] = row
    return stated


def _near_copy(index: ItemIndex, statement: Phrase, at: int, keys: Floats) -> Contradiction | None:
    """A statement that differs from an accepted wording by a negation or in its numbers, and that no other supports."""
    key = int(keys[:, at].argmax())
    like = float(keys[key, at])
    if like < NEAR_COPY:
        return None
    sign, here = negations(statement.text) % 2, numbers(statement.text)
    close = [index.keys.phrases[row].text for row in np.flatnonzero(keys[:, at] >= like - SUPPORT)]
    if all(negations(text) % 2 != sign for text in close):
        return Contradiction(at, "negation", key=key)
    there = numbers(index.keys.phrases[key].text)
    if here and there and not any(here & numbers(text) for text in close):
        return Contradiction(at, "number", key=key)
    return None
