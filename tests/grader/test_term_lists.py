"""Lists of terms in German: screened where the question asks for an explanation, and nowhere else."""

from __future__ import annotations

import pytest

from grader import Grader, Item
from grader.term_lists import asks_for_several, is_german_term_list
from grader.text import stem

QUESTION = "Warum wäscht man sich vor dem Kochen die Hände?"
REFERENCE = "Seife und Wasser entfernen Keime von der Haut, die sonst ins Essen gelangen und krank machen."
TERMS = frozenset(stem(word, "de") for word in "Seife Wasser entfernen Keime Haut Essen gelangen krank machen".split())
LISTS = [
    "Seife, Wasser, Keime",
    "Seife, Wasser, Keime, Haut, Essen",
    "Seife und Wasser und Keime und Haut",
    "Seife Wasser Keime Haut",
    "seife, wasser, keime, haut",
    "Keime / Haut / Essen",
    "Seife; Wasser; entfernen; Keime; krank",
    "Wasser, Seife, Keime, Hygiene",
]
CLAIMS = [
    REFERENCE,
    "Seife entfernt Keime",
    "Seife, Wasser",
    "Keime",
    "Keime würden krank machen",
    "Wegen Keimen, Essen, Haut",
    "Keine Keime, Seife, Wasser",
    "Seife entfernt Keime, Wasser spült Haut, Essen bleibt sauber",
    "Hygiene, Gesundheit, Ordnung",
    "Seife -> Keime weg, Haut, Essen",
]


@pytest.fixture(scope="module")
def item() -> Item:
    return Item.from_reference(QUESTION, REFERENCE, language="de")


@pytest.mark.parametrize("text", LISTS)
def test_terms_of_the_item_side_by_side_are_a_list(text: str) -> None:
    assert is_german_term_list(text, TERMS, [REFERENCE])


@pytest.mark.parametrize("text", CLAIMS)
def test_what_may_claim_something_is_none(text: str) -> None:
    assert not is_german_term_list(text, TERMS, [REFERENCE])


def test_where_an_accepted_wording_is_a_list_none_is_called_one() -> None:
    assert not is_german_term_list("Keime, Haut, Essen", TERMS, ["Seife, Wasser, Keime"])


@pytest.mark.parametrize(
    ("prompt", "several"),
    [
        (QUESTION, False),
        ("Was ist ein Gradient?", False),
        ("Erkläre, wie Seife wirkt.", False),
        ("Welche Schritte gibt es?", True),
        ("Nenne drei Ursachen.", True),
        ("In welcher Reihenfolge geht man vor?", True),
        ("Worauf achtest du?", True),
        ("Was gehört zu einem Auto?", True),
    ],
)
def test_questions_that_ask_for_several_things_are_known(prompt: str, several: bool) -> None:
    assert asks_for_several(prompt) is several


@pytest.mark.parametrize("text", [*LISTS, "Seife\nWasser\nKeime\nHaut", "Seife. Wasser. Keime. Haut."])
def test_a_list_earns_next_to_nothing(item: Item, real_grader: Grader, text: str) -> None:
    score = real_grader.grade(item, text)
    assert score.condition_code == "keyword_list"
    assert (score.score or 0) <= 0.5


@pytest.mark.parametrize("text", CLAIMS)
def test_claims_are_marked_as_before(item: Item, real_grader: Grader, text: str) -> None:
    assert real_grader.grade(item, text).condition_code != "keyword_list"


def test_a_list_added_to_a_right_answer_changes_nothing(item: Item, real_grader: Grader) -> None:
    alone = real_grader.grade(item, REFERENCE)
    beside = real_grader.grade(item, f"{REFERENCE} Seife, Wasser, Keime, Haut.")
    assert alone.score == beside.score == item.scale.max
    assert beside.condition_code is None


def test_a_list_is_an_answer_where_several_things_are_asked_for(real_grader: Grader) -> None:
    item = Item.from_reference("Welche Dinge braucht man zum Händewaschen?", REFERENCE, language="de")
    score = real_grader.grade(item, "Seife, Wasser, Haut, Keime")
    assert score.condition_code is None
    assert (score.score or 0) > 0.5
