"""Statements that say nearly what a key statement says, with something in them that turns its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from grader.evidence.crossencoder import CONTRADICTS, ENTAILS
from grader.evidence.findings import Contradiction, Floats
from grader.evidence.grammar import Turn, closest_sentence, roles, turned
from grader.evidence.judge import COPY, Judge
from grader.evidence.polarity import negations, numbers
from grader.evidence.similarity import Phrase
from grader.index import ItemIndex
from grader.scoring import MANY_WORDINGS
from grader.text import tokenise

#: A statement this like a key statement differs from it only in details, so what turns it makes it false …
NEAR_COPY = 0.85
#: … unless another accepted wording supports it and is nearly as like it.
SUPPORT = 0.15
#: Names in each other's place leave a trace in a candidate's own words, too: they are looked for from here on.
SAME_NAMES = 0.7
#: Where the item has hardly more than a reference answer, an answer of one claim that is at least this like it is
#: compared by the model with the sentence it is most like.
ABOUT = 0.3
#: What the model alone calls a contradiction with this probability is wrong, and with the second it is referred. In
#: near copies of one wording among many it is never sure: what they leave out or add is often right.
SURE, DOUBTED = 0.85, 0.5
DOUBTED_COPY, NEVER = 0.6, 1.1
#: A turned near copy that the model still takes for the key statement with this probability is only referred.
UPHELD = 0.8
#: In examples candidates choose figures of their own.
OWN_FIGURES = "example_or_pitfall"


def turned_near_copy(
    index: ItemIndex, statement: Phrase, at: int, keys: Floats, judge: Judge | None, *, alone: bool = False
) -> Contradiction | None:
    """The finding on one statement, or ``None``.

    Args:
        index: The item.
        statement: The statement.
        at: Its index in the response.
        keys: Its likeness to each key statement, shape (k,).
        judge: The contradiction model; without one the rules decide alone.
        alone: Whether it is all that the response claims.
    """
    key = int(keys.argmax())
    like = float(keys[key])
    text, language = statement.text, index.item.language
    wanted = closest_sentence(text, index.keys.phrases[key].text, language)
    few = float(index.wordings[key]) < MANY_WORDINGS
    claim = alone and few
    if like < (ABOUT if claim and judge else SAME_NAMES):
        return None
    near = [index.keys.phrases[row].text for row in np.flatnonzero(keys >= like - SUPPORT)]
    close = [closest_sentence(text, other, language) for other in near]
    if any(_only_leaves_out(text, other) for other in (*near, *close)):
        return None
    turn = _turn(text, wanted, like, language)
    if turn and (_supported(text, turn, close) or _own_figure(index, key, turn)):
        return None
    odd = like >= NEAR_COPY and all(negations(other) % 2 != negations(text) % 2 for other in close)
    asked = turn is not None or (like < COPY and (claim or like >= NEAR_COPY))
    cuts = (SURE, DOUBTED) if few else (NEVER, DOUBTED_COPY)
    return _weighed(at, key, turn, odd, judge.predict([(text, wanted)])[0] if judge and asked else None, cuts)


@lru_cache(maxsize=10_000)
def _bare(text: str) -> tuple[str, ...]:
    """The words of ``text``, whatever stands between them."""
    return tuple(token.text.casefold() for token in tokenise(text))


def _only_leaves_out(text: str, other: str) -> bool:
    """Whether ``text`` is ``other`` without some of its words, and none of those a negation."""
    words = iter(_bare(other))
    return negations(text) % 2 == negations(other) % 2 and all(word in words for word in _bare(text))


def _turn(text: str, wanted: str, like: float, language: str) -> Turn | None:
    if like >= NEAR_COPY:
        return turned(text, wanted, language)
    return roles(text, wanted, language) if like >= SAME_NAMES else None


def _weighed(
    at: int, key: int, turn: Turn | None, odd: bool, values: Floats | None, cuts: tuple[float, float]
) -> Contradiction | None:
    """The finding from a rule, an odd negation and the model's probabilities, where it was asked."""
    sure, doubted = cuts
    contradicts = 0.0 if values is None else float(values[CONTRADICTS])
    if turn:
        upheld = values is not None and float(values[ENTAILS]) >= UPHELD
        return Contradiction(at, turn.kind, key=key, words=turn.said, suspected=upheld)
    if odd or contradicts >= doubted:
        return Contradiction(at, "contradiction", key=key, suspected=contradicts < sure)
    return None


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
