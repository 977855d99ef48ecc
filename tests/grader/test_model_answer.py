"""Items that are only model answers: scored by the curve for references however many there are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from grader import Grader, Item
from grader.evidence.features import FEATURES
from grader.scoring import load_prior
from grader.screen import role
from grader.segment import Statement

PROMPT = (
    "Amy put a lamp and a battery in a row and closed the switch. Then she took the lamp out. Why does the fan stop?"
)
REFERENCES = [
    "The circuit is broken.",
    "There is a gap in the circuit.",
    "Current needs a closed path.",
    "No current flows any more.",
    "The path is open.",
]


def test_model_answers_are_known_as_such(make_item: Callable[..., Item]) -> None:
    assert Item.from_reference(PROMPT, REFERENCES).is_model_answer
    assert Item.from_reference(PROMPT, REFERENCES[0]).is_model_answer
    assert not make_item().is_model_answer


def test_many_references_are_not_taken_for_the_wordings_of_a_rubric() -> None:
    prior = load_prior()
    row = np.zeros((1, len(FEATURES)), dtype=np.float32)
    row[0, list(FEATURES).index("wordings")] = np.log2(len(REFERENCES))
    assert prior.credits(row, model_answer=True) == prior.reference(row)
    assert prior.credits(row) == prior.rubric(row)


@pytest.mark.parametrize("text", REFERENCES)
def test_each_reference_earns_the_mark(text: str, real_grader: Grader) -> None:
    score = real_grader.grade(Item.from_reference(PROMPT, REFERENCES, max_score=1), text)
    assert score.score == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Amy put a lamp and a battery in a row and closed the switch.", "echo"),
        ("Then she took the lamp out, why does the fan stop?", "echo"),
        ("She took the lamp out so the path was open.", "claim"),
        ("She took the lamp out.", "claim"),
    ],
)
def test_a_copied_part_of_a_long_prompt_is_a_repetition(text: str, expected: str, hash_grader: Grader) -> None:
    index = hash_grader.index(Item.from_reference(PROMPT, REFERENCES, max_score=1))
    assert role(Statement(text, 0, len(text), False), index, honest=False) == expected
