"""Languages: what is in a script that no scorer reads goes to a person and is never marked by guess."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader import Bank, Grader, Item
from grader.feedback import CONDITIONS
from grader.i18n import translator
from grader.languages import function_words, negations

HINDI = [
    "ग्रेडिएंट हर backward() कॉल में जुड़ते जाते हैं, इसलिए अगली बार से पहले उन्हें शून्य करना पड़ता है।",
    "मुझे नहीं पता।",
    "पता नहीं, मैं documentation देखूँगा।",
    "zero_grad() पुराने gradients को हटा देता है क्योंकि PyTorch उन्हें जोड़ता रहता है।",
]
ENGLISH = "backward() adds the new gradients to the stored ones, so they must be cleared before the next batch."


@pytest.mark.parametrize("answer", HINDI)
def test_a_hindi_answer_is_referred_and_has_no_mark(pytorch_bank: Bank, real_grader: Grader, answer: str) -> None:
    score = real_grader.grade(pytorch_bank["zero-grad"], answer, language="hi")
    assert (score.score, score.raw, score.condition_code) == (None, 0.0, "language")
    assert score.referred
    assert score.referral_reasons == ("language",)
    assert all(component.credit == 0 for component in score.components)
    assert score.feedback.condition == translator("hi")(CONDITIONS["language"]) != CONDITIONS["language"]


@pytest.mark.parametrize("answer", [*HINDI, ENGLISH])
def test_an_item_in_hindi_is_never_marked(make_item: Callable[..., Item], hash_grader: Grader, answer: str) -> None:
    item = make_item(language="hi", prompt="ज्वार-भाटा क्या है?")
    score = hash_grader.grade(item, answer)
    assert (score.score, score.condition_code, score.referral_reasons) == (None, "language", ("language",))
    assert hash_grader.grade(item, " ").condition_code == "blank"


def test_one_hindi_answer_changes_nothing_for_the_others(pytorch_bank: Bank, real_grader: Grader) -> None:
    item = pytorch_bank["zero-grad"]
    scores = real_grader.grade_many(item, [ENGLISH, HINDI[0], ENGLISH])
    assert [score.score for score in scores] == [real_grader.grade(item, ENGLISH).score, None, scores[0].score]


def test_german_has_words_of_its_own() -> None:
    assert {"weil", "und", "die"} <= function_words("de")
    assert {"nicht", "kein"} <= negations("de")
    assert "because" in function_words("en")
    assert function_words("fr") == function_words("en")
