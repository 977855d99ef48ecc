from __future__ import annotations

import json

import pytest

from grader import Grader, InputError, Item
from grader.advice import Advice, advise
from grader.encoder import HashEncoder

ITEM = Item.model_validate(
    {
        "id": "bread",
        "prompt": "Why does bread rise?",
        "scale": {"max": 4, "step": 0.5},
        "reference_answer": "Yeast gives off gas that is caught in the dough.",
        "components": {
            "definition": {
                "weight": 3,
                "elements": [
                    {
                        "id": "gas",
                        "key_statements": [
                            "Yeast gives off gas that is caught in the dough.",
                            "Carbon dioxide forms through fermentation inside.",
                        ],
                        "keywords": {"groups": [["gas"], ["yeast", "leaven"]]},
                    }
                ],
            },
            "reason": {
                "weight": 1,
                "elements": [{"id": "sugar", "key_statements": ["Microbes metabolise starch and saccharides."]}],
            },
        },
        "misconceptions": [
            {"id": "oven-pulls", "statements": ["The oven pulls the bread up."], "feedback": "Heat does not pull."}
        ],
    }
)
STRONG = "Yeast gives off gas that is caught in the dough. Kneading builds long gluten strands."
WEAK = "Yeast is in the bread. The oven pulls the bread up."
RESPONSES = [*[STRONG] * 8, *[WEAK] * 8]
SCORES = [*[4.0] * 8, *[0.5] * 8]


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(HashEncoder())


@pytest.fixture(scope="module")
def found(grader: Grader) -> tuple[Advice, ...]:
    return advise(grader, ITEM, RESPONSES, SCORES)


def only(found: tuple[Advice, ...], kind: str) -> Advice:
    [advice] = [each for each in found if each.kind == kind]
    return advice


def test_a_component_nobody_earns(found: tuple[Advice, ...]) -> None:
    assert (only(found, "never_earned").component, only(found, "never_earned").share) == ("reason", 0.0)


def test_a_component_everybody_earns(grader: Grader) -> None:
    advice = only(advise(grader, ITEM, RESPONSES[:8] * 2, [4.0, 3.5] * 8), "always_earned")
    assert (advice.component, advice.share, advice.rows) == ("definition", 1.0, ())


def test_a_key_statement_nobody_is_closest_to(grader: Grader) -> None:
    advice = only(advise(grader, ITEM, RESPONSES[:8] * 2, SCORES), "unmatched_key_statement")
    assert advice.text == "Carbon dioxide forms through fermentation inside."
    assert advice.element == "gas"


def test_an_idea_of_strong_answers_that_the_rubric_lacks(found: tuple[Advice, ...]) -> None:
    advice = only(found, "missing_idea")
    assert advice.text == "Kneading builds long gluten strands."
    assert (advice.share, advice.other, advice.rows) == (1.0, 0.0, (0, 1, 2, 3, 4))
    assert advice.sentence().startswith("100% of the strong answers say “Kneading")


def test_an_idea_that_weak_answers_have_as_well_is_not_advised(grader: Grader) -> None:
    texts = [f"{text} Kneading builds long gluten strands." for text in (*[STRONG] * 8, *[WEAK] * 8)]
    assert not [each for each in advise(grader, ITEM, texts, SCORES) if each.kind == "missing_idea"]


def test_keywords_that_weak_answers_have_too(found: tuple[Advice, ...]) -> None:
    advice = only(found, "idle_keywords")
    assert (advice.text, advice.share, advice.other) == ("yeast / leaven", 1.0, 1.0)
    assert "tell nothing" in advice.sentence()


def test_a_frequent_misconception(found: tuple[Advice, ...]) -> None:
    advice = only(found, "misconception")
    assert (advice.text, advice.share, advice.rows) == ("oven-pulls", 0.5, (8, 9, 10, 11, 12))


def test_sentences_are_translated_and_plain_data(found: tuple[Advice, ...]) -> None:
    for advice in found:
        said = {advice.sentence(language) for language in ("en", "de", "hi")}
        assert len(said) == 3
        assert json.loads(json.dumps(advice.to_dict()))["sentence"] == advice.sentence()


def test_few_answers_give_no_advice_and_bad_marks_are_refused(grader: Grader) -> None:
    assert advise(grader, ITEM, RESPONSES[:9], SCORES[:9]) == ()
    with pytest.raises(InputError, match="row 1: score 9 is outside the scale"):
        advise(grader, ITEM, RESPONSES, [9.0, *SCORES[1:]])
