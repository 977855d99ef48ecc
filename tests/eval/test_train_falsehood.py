"""Fitting the curve of falsehood on made-up statements."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eval.train_falsehood import (
    MOST_ASKED,
    MOST_REFERRED,
    Statements,
    asked_from,
    cut,
    fit,
    highest,
    of_answers,
    of_triples,
    probability,
)
from grader import Bank, Grader, Item
from grader.encoder import HashEncoder
from grader.evidence.crossencoder import CLASSES
from grader.evidence.falsehood import MEASURES


class EvenJudge:
    """Finds every class equally probable."""

    signature = "even@1"

    def predict(self, pairs: list[tuple[str, str]]) -> np.ndarray:
        return np.full((len(pairs), len(CLASSES)), 1 / len(CLASSES), dtype=np.float32)


def made(count: int = 120) -> Statements:
    """False statements have a larger margin; two statements an answer."""
    rng = np.random.default_rng(0)
    label = np.repeat(rng.integers(0, 2, count // 2), 2)
    table = rng.normal(size=(count, len(MEASURES)))
    table[:, 1] += 3 * label
    return Statements(table, np.repeat(np.arange(count // 2), 2), label, label[::2] == 1)


def test_the_measure_that_tells_gets_the_weight() -> None:
    data = made()
    weights, _ = fit(data.table, data.label)
    assert int(np.abs(weights).argmax()) == 1
    assert weights[1] > 0


def test_statements_of_unknown_truth_are_left_out() -> None:
    data = made()
    unknown = np.concatenate([data.table, np.full((5, len(MEASURES)), 99.0)])
    label = np.concatenate([data.label, np.full(5, -1)])
    assert np.allclose(fit(unknown, label)[0], fit(data.table, data.label)[0])


def test_the_cut_is_the_lowest_that_few_right_answers_reach() -> None:
    data = made()
    values = highest(data, probability(data.table, fit(data.table, data.label)))
    chosen = cut(data.erring, values, MOST_REFERRED)
    right = ~data.erring
    assert (values >= chosen)[right].mean() <= MOST_REFERRED
    assert chosen <= 0.05 or (values >= chosen - 0.005)[right].mean() > MOST_REFERRED
    assert (values >= chosen)[data.erring].mean() > 0.5


def test_the_screen_lets_no_more_through_than_allowed() -> None:
    data = made()
    values = probability(data.table, fit(data.table, data.label))
    at = asked_from(data, values)
    assert (values >= at).sum() <= MOST_ASKED * len(data.erring)
    assert (values >= at - 0.005).sum() > MOST_ASKED * len(data.erring)


def test_an_answer_is_as_false_as_its_worst_statement() -> None:
    data = Statements(np.zeros((3, 1)), np.array([0, 0, 2]), np.zeros(3, dtype=int), np.array([True, False, True]))
    assert highest(data, np.array([0.2, 0.7, 0.1])).tolist() == [0.7, 0.0, 0.1]


@pytest.fixture
def lamp() -> Bank:
    wrong = {"id": "magic", "statements": ["The lamp glows by magic alone."], "feedback": "There is none."}
    plain = Item.from_reference("Why does the lamp glow?", "The wire is hot enough to give off light.").model_dump()
    return Bank([Item.model_validate({**plain, "id": "lamp", "misconceptions": [wrong]})])


def test_statements_of_answers_have_the_label_of_their_kind(lamp: Bank) -> None:
    rows = [("lamp", "The lamp glows by magic alone.", "misconception", 1), ("lamp", "Bread is baked.", "full", 0),
            ("lamp", "It gives light.", "partly_wrong", 1), ("other", "No such item.", "full", 0)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["question_id", "answer", "kind", "has_error"])
    found = of_answers(frame, lamp, Grader(HashEncoder()), EvenJudge())
    assert found.label.tolist() == [1, 0, -1]
    assert found.table.shape == (3, len(MEASURES))
    assert found.erring.tolist() == [True, False, True]


def test_statements_of_triples_are_right_or_wrong(lamp: Bank) -> None:
    row = {"item": "lamp", "right": "Hot wire glows.", "other_words": "Heat makes light.", "wrong": "Cold makes light."}
    found = of_triples(pd.DataFrame([row, row | {"item": "other"}]), lamp, Grader(HashEncoder()), EvenJudge())
    assert found.label.tolist() == [0, 0, 1]
    assert found.table.shape == (3, len(MEASURES))
