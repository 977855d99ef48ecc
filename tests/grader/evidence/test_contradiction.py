"""False statements: listed misconceptions and near copies with the meaning turned round, on a fake encoder."""

from __future__ import annotations

import pytest

from grader import Grader, Item
from grader.evidence.contradiction import Contradiction, contradictions, likeness
from grader.evidence.polarity import negations, numbers

RISE = "The level of the sea rises and falls about twice a day."
WIND = "A strong wind blowing over the surface heaps everything up at the coast."


def found(grader: Grader, item: Item, *texts: str, candidates: list[bool] | None = None) -> list[Contradiction]:
    index = grader.index(item)
    response = index.phrases(texts, grader.encoder.encode(texts))
    wrong = index.misconceptions.align(response) if index.misconceptions else None
    return contradictions(index, response, index.keys.align(response), wrong, candidates or [True] * len(texts))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It shares memory.", 0),
        ("It does not share memory.", 1),
        ("It doesn't share memory.", 1),
        ("It doesnt share memory.", 1),
        ("It never shares memory and cannot copy.", 2),
        ("It works without a copy.", 1),
        ("It fails to share.", 1),
        ("It not only shares memory.", 0),
        ("Nothing is copied.", 1),
        ("No, it shares memory.", 0),
        ("No copy is made.", 1),
        ("It shares memory, not a copy of it.", 0),
        ("It is not slower but faster.", 0),
        ("It shares memory instead of copying it.", 0),
        ("It is a mistake to think that it copies.", 1),
        ("It is not wrong to say that it copies.", 2),
        ("Many think that it copies, but that is wrong.", 1),
        ("", 0),
    ],
)
def test_words_that_turn_a_meaning_round(text: str, count: int) -> None:
    assert negations(text) == count


def test_numbers_in_any_notation() -> None:
    assert numbers("twice 3,5 or 3.5, 12 and 1,000") == {"3.5", "12", "1.000"}


def test_likeness_needs_both_directions(tides: Item, hash_grader: Grader) -> None:
    index = hash_grader.index(tides)
    texts = [RISE, f"{RISE} {WIND} And a great deal more is said about harbours and boats in this long remark."]
    like = likeness(index.keys.align(index.phrases(texts, hash_grader.encoder.encode(texts))))
    assert like[0, 0] == pytest.approx(1, abs=1e-3)
    assert like[0, 1] < 0.9


def test_a_right_statement_is_no_contradiction(tides: Item, hash_grader: Grader) -> None:
    assert found(hash_grader, tides, RISE, "The gravity of the moon pulls the near side more strongly.") == []


def test_a_misconception_is_found_and_named(tides: Item, hash_grader: Grader) -> None:
    (finding,) = found(hash_grader, tides, RISE, WIND)
    assert (finding.statement, finding.kind, finding.misconception) == (1, "misconception", 0)


def test_a_denied_misconception_is_none(tides: Item, hash_grader: Grader) -> None:
    assert found(hash_grader, tides, WIND.replace("heaps", "does not heap")) == []


def test_a_near_copy_with_a_negation_contradicts(tides: Item, hash_grader: Grader) -> None:
    (finding,) = found(hash_grader, tides, RISE.replace("rises", "never rises"))
    assert finding.kind == "negation"
    assert finding.key == 0


def test_only_claims_are_judged(tides: Item, hash_grader: Grader) -> None:
    assert found(hash_grader, tides, WIND, WIND, candidates=[False, True])[0].statement == 1
    assert found(hash_grader, tides, WIND, candidates=[False]) == []


def test_an_item_without_misconceptions(hash_grader: Grader) -> None:
    assert found(hash_grader, Item.from_reference("Why?", "Because it is so."), WIND) == []
