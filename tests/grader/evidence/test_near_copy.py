"""Near copies that turn the meaning, on a fake encoder: wrong with a reason or referred, never silently full marks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from grader import Grader, Item, Score
from grader.encoder import HashEncoder
from grader.evidence.crossencoder import CLASSES

KEY = "In training the layer takes the statistics of the batch and in evaluation the stored running averages."
SWAPPED = "In training the layer takes the stored running averages and in evaluation the statistics of the batch."
BATCH = "The batch holds 64 samples of the data set in every single step."


def item(component: str = "definition", *texts: str) -> Item:
    elements = [{"id": "idea", "key_statements": list(texts or (KEY,))}]
    return Item.model_validate(
        {
            "id": "layer",
            "prompt": "What does it do?",
            "scale": {"max": 5, "step": 0.5},
            "reference_answer": KEY,
            "components": {component: {"weight": 5, "elements": elements}},
        }
    )


class FixedJudge:
    """Says the same of every pair and remembers what it was asked."""

    signature = "fixed@1"

    def __init__(self, **classes: float) -> None:
        self.row = np.array([classes.get(name, 0.0) for name in CLASSES], dtype=np.float32)
        self.asked: list[tuple[str, str]] = []

    def predict(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.asked += pairs
        return np.tile(self.row, (len(pairs), 1))


def graded(answer: str, one: Item | None = None, judge: FixedJudge | None = None) -> Score:
    return Grader(HashEncoder(), judge=judge).grade(one or item(), answer)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (SWAPPED, "roles", ("training", "evaluation")),
        (KEY.replace("takes", "does not take"), "negation", ("does not take",)),
        (KEY.replace("stored", "discarded"), "antonym", ("discarded",)),
    ],
)
def test_a_turned_near_copy_is_wrong_and_feedback_names_the_words(answer: str, kind: str, words: Sequence[str]) -> None:
    score = graded(answer, item("definition", KEY.replace("stored", "kept")) if kind == "antonym" else None)
    assert [error.kind for error in score.errors] == [kind]
    assert score.score == 0
    assert all(word in score.feedback.wrong[0].text for word in words)


def test_the_right_statement_earns_its_credit() -> None:
    score = graded(KEY)
    assert (score.errors, score.referred) == ((), False)
    assert score.raw > 2.5


def test_a_number_is_wrong_in_a_rule_and_a_candidates_own_in_an_example() -> None:
    other = BATCH.replace("64", "32")
    assert [error.kind for error in graded(other, item("definition", BATCH)).errors] == ["number"]
    assert graded(other, item("example_or_pitfall", BATCH)).errors == ()


def test_another_accepted_wording_supports_a_statement() -> None:
    other = BATCH.replace("64", "32")
    assert graded(other, item("definition", BATCH, other.replace("single ", ""))).errors == ()


def test_a_turned_near_copy_that_the_model_upholds_is_referred() -> None:
    score = graded(SWAPPED, judge=FixedJudge(entails=0.95))
    assert score.errors == ()
    assert score.referral_reasons == ("contradiction",)


def test_a_near_copy_that_only_the_model_doubts_is_referred_and_one_it_is_sure_about_is_wrong() -> None:
    odd = KEY.replace("stored running", "old moving")
    assert graded(odd, judge=FixedJudge(contradicts=0.7)).referral_reasons == ("contradiction",)
    assert [error.kind for error in graded(odd, judge=FixedJudge(contradicts=0.95)).errors] == ["contradiction"]
    assert not graded(odd, judge=FixedJudge(partly=0.95)).referred


def test_words_of_ones_own_are_compared_by_the_model_where_a_reference_answer_is_all_there_is() -> None:
    said = "The layer goes by the statistics of the batch whenever anything is in training or evaluation."
    judge = FixedJudge(contradicts=0.95)
    several = [KEY, *(KEY.replace("layer", other) for other in ("block", "module", "unit"))]
    assert [error.kind for error in graded(said, judge=judge).errors] == ["contradiction"]
    assert graded(said, item("definition", *several), judge).errors == ()
    assert graded(f"{said} Small batches are noisy.", judge=judge).errors == ()
    judge.asked.clear()
    assert len(graded(said, item("definition", f"{KEY} It has two tables of numbers."), judge).errors) == 1
    assert judge.asked == [(said, KEY)]


def test_what_else_is_right_keeps_its_credit() -> None:
    two = item("definition", BATCH, "Small batches are noisy, large ones need much memory on the graphics card.")
    right = "Small batches are noisy, large ones need much memory on the graphics card."
    only, both = graded(right, two), graded(f"{right} {BATCH.replace('holds', 'never holds')}", two)
    assert [error.kind for error in both.errors] == ["negation"]
    assert only.raw > 0


@pytest.mark.parametrize("answer", [KEY, KEY.upper(), KEY.removesuffix(".")])
def test_an_accepted_wording_is_never_doubted(answer: str) -> None:
    terse = "In training: batch statistics; in evaluation: no batch statistics."
    for one in (item(), item("definition", terse, KEY)):
        score = graded(answer, one, FixedJudge(contradiction=1.0))
        assert (score.errors, score.referred) == ((), False)
    assert graded(terse, item("definition", terse, KEY), FixedJudge(contradiction=1.0)).errors == ()


def test_a_copy_that_only_leaves_words_out_is_not_asked_about_unless_one_is_a_negation() -> None:
    judge = FixedJudge(contradicts=0.95)
    assert graded(KEY.replace("stored running", "running"), judge=judge).errors == ()
    assert judge.asked == []
    denied = item("definition", KEY.replace("takes", "never takes"))
    assert graded(KEY, denied, judge=judge).errors != ()


def test_a_statement_of_the_reference_answer_is_never_doubted() -> None:
    judge = FixedJudge(contradicts=0.7)
    one = item("definition", KEY.replace("running", "current"))
    assert not graded(KEY, one, judge=judge).referred
    assert graded(KEY.replace("stored", "kept"), one, judge=judge).referred
