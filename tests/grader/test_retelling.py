"""A stored mark says the same in another language, as if it had been given in it."""

from __future__ import annotations

import pytest

from grader.encoder import HashEncoder
from grader.grading import Grader
from grader.i18n import translator
from grader.judging import EXPLANATIONS
from grader.retelling import in_language
from grader.rubric import Item
from grader.score import ErrorFound, Score

ITEM = Item.model_validate(
    {
        "id": "salt",
        "prompt": "How do you get the salt?",
        "reference_answer": "The water evaporates and the salt stays behind.",
        "components": {
            "definition": {"weight": 3, "elements": [{"id": "dry", "key_statements": ["The water evaporates."]}]},
            "reason": {"weight": 2, "elements": [{"id": "stays", "key_statements": ["Salt does not boil away."]}]},
        },
    }
)
ANSWERS = (
    "The water evaporates.",
    "",
    "I do not know, but I would heat a spoonful and look.",
    "asdf jkl qwer",
    "Salt.",
)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("language", ["de", "hi"])
def test_as_if_it_had_been_marked_in_that_language(answer: str, language: str) -> None:
    grader = Grader(HashEncoder())
    english, other = (grader.grade(ITEM, answer, language=one) for one in ("en", language))
    told = in_language(english, ITEM, language)
    assert told == other
    assert told.feedback.summary != english.feedback.summary
    assert in_language(told, ITEM, "en") == english


def _with(kind: str, explanation: str) -> Score:
    score = Grader(HashEncoder()).grade(ITEM, "The water evaporates.")
    error = ErrorFound(kind=kind, id="dry", start=0, end=3, text="The", explanation=explanation)  # type: ignore[arg-type]
    return score.model_copy(update={"errors": (error,)})


@pytest.mark.parametrize("kind", sorted(EXPLANATIONS))
def test_why_a_statement_is_wrong(kind: str) -> None:
    words = {"first": "never “{x}”", "second": "the\nother"}
    before, after = (translator(one)(EXPLANATIONS[kind]).format(**words) for one in ("en", "de"))
    told = in_language(_with("negation" if kind == "no negation" else kind, before), ITEM, "de")
    assert told.errors[0].explanation == after != before
    assert told.feedback.wrong[0].text == after


@pytest.mark.parametrize("kind", ["misconception", "number"])
def test_other_texts_stay(kind: str) -> None:
    assert in_language(_with(kind, "See chapter 3."), ITEM, "de").errors[0].explanation == "See chapter 3."


def test_a_mark_of_another_version_stays() -> None:
    score = Grader(HashEncoder()).grade(ITEM, "The water evaporates.")
    other = Item.from_reference("How?", "The water evaporates.")
    assert in_language(score, other, "de") == score
