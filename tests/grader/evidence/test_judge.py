from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from grader import Grader, Item
from grader.encoder import HashEncoder
from grader.evidence.crossencoder import CLASSES, CONTRADICTS, ENTAILS, UNRELATED
from grader.evidence.falsehood import MEASURES, SIMILARITIES, Falsehood, Logistic

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
        answer = np.zeros((len(pairs), len(CLASSES)), dtype=np.float32)
        answer[:, ENTAILS], answer[:, UNRELATED] = self.entails, 1 - self.entails
        return answer


KEY = "Yeast gives off gas that the dough holds back."
KNEADED = "Only air that was kneaded into the dough makes it rise."
#: A near copy, with enough words of its own for the model to be asked.
IN_OTHER_WORDS = "It rises only because air was kneaded into the dough."
#: Like it, and no near copy.
LOOSELY = "It rises because somebody kneaded air into the dough."


def curve(**changed: object) -> Falsehood:
    weights = np.array([8.0 if name == "key_entails" else 0.0 for name in MEASURES])
    values = {"version": "test", "screen": Logistic(np.zeros(len(SIMILARITIES)), 0.0), "asked": 0.4}
    values |= {"judged": Logistic(weights, 0.0), "suspected": 0.4, "sure": 2.0}
    return Falsehood(**(values | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize(("entails", "referred"), [(0.9, True), (0.1, False)])
def test_what_may_be_a_misconception_is_asked_and_referred(
    entails: float, referred: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.evidence.judge.load_falsehood", curve)
    monkeypatch.setattr("grader.evidence.contradiction.MISCONCEPTION_LIKENESS", 2.0)
    judge = FixedJudge(entails)
    score = Grader(HashEncoder(), judge=judge).grade(ITEM, IN_OTHER_WORDS)
    assert score.errors == ()
    assert score.referral_reasons == (("contradiction",) if referred else ())
    assert judge.asked[:2] == [(IN_OTHER_WORDS, KEY), (IN_OTHER_WORDS, KNEADED)]
    assert "|judge:fixed@1+" in score.signature


def test_only_a_near_copy_of_a_misconception_is_compared_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.evidence.judge.load_falsehood", curve)
    judge = FixedJudge(0.9)
    score = Grader(HashEncoder(), judge=judge).grade(ITEM, LOOSELY)
    assert judge.asked == [(LOOSELY, KEY)]
    assert [error.id for error in score.errors] == ["kneaded-air"]


class Denying(FixedJudge):
    """Takes every statement for the opposite of the misconception, and of nothing else."""

    def predict(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        answer = super().predict(pairs)
        for row, (_, known) in enumerate(pairs):
            if known == KNEADED:
                answer[row] = np.eye(len(CLASSES))[CONTRADICTS]
        return answer


@pytest.mark.parametrize("likeness", [0.6, 2.0])
def test_a_near_copy_that_the_model_takes_for_its_opposite_is_only_referred(
    likeness: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.evidence.judge.load_falsehood", lambda: curve(sure=0.5))
    monkeypatch.setattr("grader.evidence.contradiction.MISCONCEPTION_LIKENESS", likeness)
    score = Grader(HashEncoder(), judge=Denying(0.9)).grade(ITEM, IN_OTHER_WORDS)
    assert score.errors == ()
    assert score.referral_reasons == ("contradiction",)


def test_what_is_surely_false_is_marked_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.evidence.judge.load_falsehood", lambda: curve(sure=0.5))
    monkeypatch.setattr("grader.evidence.contradiction.MISCONCEPTION_LIKENESS", 2.0)
    score = Grader(HashEncoder(), judge=FixedJudge(0.9)).grade(ITEM, IN_OTHER_WORDS)
    assert [error.id for error in score.errors] == ["kneaded-air"]
    assert not score.referred


@pytest.mark.parametrize(("entails", "wrong"), [(0.9, True), (0.1, False)])
def test_the_model_can_only_make_a_likely_misconception_doubtful(
    entails: float, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.evidence.judge.load_falsehood", curve)
    score = Grader(HashEncoder(), judge=FixedJudge(entails)).grade(ITEM, IN_OTHER_WORDS)
    assert [error.id for error in score.errors] == (["kneaded-air"] if wrong else [])
    assert score.referral_reasons == (() if wrong else ("contradiction",))


def test_a_misconception_word_for_word_is_recognised_without_asking() -> None:
    judge = FixedJudge(0.0)
    score = Grader(HashEncoder(), judge=judge).grade(ITEM, KNEADED)
    assert [error.id for error in score.errors] == ["kneaded-air"]
    assert judge.asked == []


@pytest.mark.parametrize(
    "frame", ["It is not true that {}", "It is a mistake to think that {}", "Some say {}, but that is wrong."]
)
def test_a_misconception_that_is_denied_is_not_stated(frame: str) -> None:
    judge = FixedJudge(1.0)
    said = frame.format("only air that was kneaded into the dough makes it rise")
    assert Grader(HashEncoder(), judge=judge).grade(ITEM, said).errors == ()


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


def test_an_exact_copy_of_a_reference_answer_needs_no_judge() -> None:
    plain, judge = Item.from_reference("Why does bread rise?", "Yeast gives off gas."), FixedJudge(0.0)
    assert Grader(HashEncoder(), judge=judge).grade(plain, "Yeast gives off gas.").errors == ()
    assert judge.asked == []
