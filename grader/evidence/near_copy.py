"""Statements that say nearly what a key statement says, with something in them that turns its meaning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.evidence.crossencoder import CONTRADICTS, ENTAILS
from grader.evidence.findings import Contradiction, Floats
from grader.evidence.grammar import Turn, closest_sentence, roles, turned
from grader.evidence.judge import Judge
from grader.evidence.polarity import negations, numbers
from grader.evidence.similarity import Phrase
from grader.index import ItemIndex
from grader.text import tokenise

#: A statement this like a key statement differs from it only in details, so what turns it makes it false …
NEAR_COPY = 0.85
#: … unless another accepted wording supports it and is nearly as like it.
SUPPORT = 0.15
#: Names in each other's place leave a trace in a candidate's own words, too: they are looked for from here on.
SAME_NAMES = 0.7
#: So like that there is nothing to ask.
COPY = 0.985
#: A near copy that the model calls a contradiction with this probability is referred, if no rule says why.
DOUBTED = 0.9
#: A turned near copy that the model still takes for the key statement with this probability is only referred.
UPHELD = 0.8
#: In examples candidates choose figures of their own.
OWN_FIGURES = "example_or_pitfall"


def turned_near_copy(
    index: ItemIndex, statement: Phrase, at: int, keys: Floats, judge: Judge | None
) -> Contradiction | None:
    """The finding on one statement, or ``None``.

    Args:
        index: The item.
        statement: The statement.
        at: Its index in the response.
        keys: Its likeness to each key statement, shape (k,).
        judge: The contradiction model; without one the rules decide alone.
    """
    key = int(keys.argmax())
    like = float(keys[key])
    text, language = statement.text, index.item.language
    if like < SAME_NAMES:
        return None
    wanted = closest_sentence(text, index.keys.phrases[key].text, language)
    near = [index.keys.phrases[row].text for row in np.flatnonzero(keys >= like - SUPPORT)]
    close = [closest_sentence(text, other, language) for other in near]
    turn = turned(text, wanted, language) if like >= NEAR_COPY else roles(text, wanted, language)
    if turn and (_supported(text, turn, close) or _own_figure(index, key, turn)):
        return None
    if turn is None and like < NEAR_COPY:
        return None
    doubtful = turn is None and all(negations(other) % 2 != negations(text) % 2 for other in close)
    if judge and (turn or like < COPY):
        values = judge.predict([(text, wanted)])[0]
        if turn:
            return Contradiction(at, turn.kind, key=key, words=turn.said, suspected=float(values[ENTAILS]) >= UPHELD)
        doubtful = doubtful or float(values[CONTRADICTS]) >= DOUBTED
    elif turn:
        return Contradiction(at, turn.kind, key=key, words=turn.said)
    return Contradiction(at, "contradiction", key=key, suspected=True) if doubtful else None


def _supported(text: str, turn: Turn, close: Sequence[str]) -> bool:
    """Whether an accepted wording that is nearly as like the statement says the same in the point in question."""
    if turn.kind == "negation":
        return any(negations(other) % 2 == negations(text) % 2 for other in close)
    if turn.kind == "number":
        return any(numbers(text) & numbers(other) for other in close)
    if turn.kind == "antonym":
        return any(turn.said[0].casefold() in {t.text.casefold() for t in tokenise(other)} for other in close)
    return False


def _own_figure(index: ItemIndex, key: int, turn: Turn) -> bool:
    return turn.kind == "number" and index.slots[key].component == OWN_FIGURES
