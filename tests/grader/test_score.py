"""The result object: JSON and back, and the copy that candidates see."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from grader import Grader, Item, Score

ANSWER = "The level of the sea rises and falls about twice a day.\nA strong wind heaps everything up at the coast."


@pytest.fixture(scope="module")
def score(tides: Item, hash_grader: Grader) -> Score:
    return hash_grader.grade(tides, tides.reference_answer)


def test_json_and_back(score: Score) -> None:
    assert Score.model_validate_json(score.model_dump_json()) == score


def test_a_component_by_its_name(score: Score) -> None:
    assert score.component("reason").name == "reason"
    with pytest.raises(KeyError, match="why"):
        score.component("why")


def test_scores_are_frozen(score: Score) -> None:
    with pytest.raises(ValidationError):
        score.score = 5.0


def test_key_statements_are_for_raters_only(score: Score) -> None:
    keys = {e.evidence.key_statement for c in score.components for e in c.elements if e.evidence}
    assert keys - {None}
    hidden = score.for_candidate()
    assert {e.evidence.key_statement for c in hidden.components for e in c.elements if e.evidence} == {None}
    assert hidden.score == score.score
    assert score.for_candidate(show_key=True) == score


def test_a_lone_surrogate_survives_json_at_the_same_offsets(tides: Item, hash_grader: Grader) -> None:
    response = "\ud83dThe level of the sea\udc00 rises and falls about twice a day."
    found = hash_grader.grade(tides, response)
    for dumped in (json.loads(found.model_dump_json()), found.model_dump(mode="json")):
        quotes = [e["evidence"] for c in dumped["components"] for e in c["elements"] if e["evidence"]]
        assert quotes
        for quote in quotes:
            assert len(quote["text"]) == quote["end"] - quote["start"]
    (evidence,) = (e.evidence for e in found.component("definition").elements if e.id == "twice-a-day")
    assert evidence is not None
    assert evidence.text == response[evidence.start : evidence.end], "in Python exactly as written"
