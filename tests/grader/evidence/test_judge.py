from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from grader import Grader, Item
from grader.encoder import HashEncoder
from grader.evidence.crossencoder import CLASSES, ENTAILS

ITEM = Item.model_validate(
    {
        "id": "bread",
        "prompt": "Why does bread rise?",
        "scale": {"max": 5, "step": 0.5},
        "reference_answer": "Yeast gives off gas that the dough holds back.",
        "components": {
            "definition": {
                "weight": 5,
                "elements": [{"id": "gas", "key_statements": ["Yeast gives off gas that the dough holds back."]}],
            }
        },
        "misconceptions": [
            {
                "id": "kneaded-air",
                "statements": ["Only air that was kneaded into the dough makes it rise."],
                "refutes": ["definition"],
                "feedback": "Kneading traps little air; the gas comes from yeast.",
            }
        ],
    }
)


class FixedJudge:
    """Says the same of every pair and remembers what it was asked."""

    signature = "fixed@1"

    def __init__(self, entails: float) -> None:
        self.entails = entails
        self.asked: list[tuple[str, str]] = []

    def predict(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.asked.extend(pairs)
        answer = np.full((len(pairs), len(CLASSES)), (1 - self.entails) / (len(CLASSES) - 1), dtype=np.float32)
        answer[:, ENTAILS] = self.entails
        return answer


@pytest.mark.parametrize(("entails", "errors"), [(0.9, 1), (0.1, 0)])
def test_the_judge_decides_on_what_is_like_a_misconception(entails: float, errors: int) -> None:
    judge = FixedJudge(entails)
    score = Grader(HashEncoder(), judge=judge).grade(ITEM, "Only air that was kneaded into the dough makes it rise.")
    assert len(score.errors) == errors
    assert len(judge.asked) == 1
    assert "|judge:fixed@1|" in score.signature


def test_nothing_is_asked_about_a_right_answer_or_something_else() -> None:
    judge = FixedJudge(0.9)
    grader = Grader(HashEncoder(), judge=judge)
    for text in ("Yeast gives off gas that the dough holds back.", "Bread is sold in the market on Monday mornings."):
        assert grader.grade(ITEM, text).errors == ()
    assert judge.asked == []


def test_without_a_judge_likeness_decides_and_the_signature_says_so() -> None:
    score = Grader(HashEncoder()).grade(ITEM, "Only air that was kneaded into the dough makes it rise.")
    assert [error.id for error in score.errors] == ["kneaded-air"]
    assert "|judge:none|" in score.signature


def test_an_item_without_misconceptions_needs_no_judge() -> None:
    plain = Item.from_reference("Why does bread rise?", "Yeast gives off gas.")
    score = Grader(HashEncoder(), judge=FixedJudge(0.9)).grade(plain, "Yeast gives off gas.")
    assert "|judge:none|" in score.signature
