"""Fitting the curve of falsehood on made-up statements."""

from __future__ import annotations

import numpy as np
import pandas as pd

from eval.train_falsehood import MOST_REFERRED, Statements, collect, cut, fit, highest, left_out
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
    """False statements have a larger margin; two statements an answer, three items."""
    rng = np.random.default_rng(0)
    label = np.repeat(rng.integers(0, 2, count // 2), 2)
    table = rng.normal(size=(count, len(MEASURES)))
    table[:, 1] += 3 * label
    answer = np.repeat(np.arange(count // 2), 2)
    item = np.array(["a", "b", "c"])[answer % 3]
    return Statements(table, answer, item, label, label[::2] == 1)


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


def test_the_cut_is_the_lowest_that_refers_few_right_answers() -> None:
    data = made()
    probability = highest(data, left_out(data))
    chosen = cut(data.erring, probability)
    right = ~data.erring
    assert (probability >= chosen)[right].mean() <= MOST_REFERRED
    assert chosen <= 0.2 or (probability >= chosen - 0.01)[right].mean() > MOST_REFERRED
    assert (probability >= chosen)[data.erring].mean() > 0.5


def test_an_answer_is_as_false_as_its_worst_statement() -> None:
    data = Statements(np.zeros((3, 1)), np.array([0, 0, 2]), np.array(["a"] * 3), np.zeros(3, dtype=int),
                      np.array([True, False, True]))  # fmt: skip
    assert highest(data, np.array([0.2, 0.7, 0.1])).tolist() == [0.7, 0.0, 0.1]


def test_statements_near_a_misconception_are_collected_with_their_labels() -> None:
    wrong = {"id": "magic", "statements": ["The lamp glows by magic alone."], "feedback": "There is none."}
    plain = Item.from_reference("Why does the lamp glow?", "The wire is hot enough to give off light.").model_dump()
    bank = Bank([Item.model_validate({**plain, "id": "lamp", "misconceptions": [wrong]})])
    rows = [("lamp", "The lamp glows by magic alone.", "misconception", 1), ("lamp", "Bread is baked.", "full", 0),
            ("other", "No such item.", "full", 0)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["question_id", "answer", "kind", "has_error"])
    found = collect(frame, bank, Grader(HashEncoder()), EvenJudge())
    assert found.label.tolist() == [1]
    assert found.table.shape == (1, len(MEASURES))
    assert found.erring.tolist() == [True, False]
