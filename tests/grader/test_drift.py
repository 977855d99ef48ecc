from __future__ import annotations

import json

import numpy as np
import pytest

from grader import Grader, Item
from grader.calibration import Calibration, Calibrator
from grader.drift import drift
from grader.encoder import HashEncoder

ITEM = Item.from_reference("Why does bread rise?", "Yeast gives off gas that is caught in the dough.", max_score=4)
WORDS = ["yeast", "gas", "dough", "bubbles", "rises", "warm", "sugar", "eats", "traps", "makes"]


def answers(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [f"The {' '.join(rng.choice(WORDS, 4))} in bread." for _ in range(count)]


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(HashEncoder())


@pytest.fixture(scope="module")
def calibration(grader: Grader) -> Calibration:
    texts = answers(60, 0)
    return Calibrator(grader).fit(ITEM, texts, [4.0 * ("gas" in text) for text in texts])


def test_answers_of_the_same_kind_raise_no_warning(grader: Grader, calibration: Calibration) -> None:
    found = drift(calibration, grader.represent(ITEM, answers(80, 1)))
    assert not found.warning
    assert found.total == 80
    assert found.summary() == "80 answers are like the labelled ones."


def test_answers_of_another_kind_do(grader: Grader, calibration: Calibration) -> None:
    other = [f"Volcano number {n} erupted over distant islands and nobody noticed." for n in range(20)]
    found = drift(calibration, grader.represent(ITEM, [*answers(20, 2), *other]))
    assert found.warning
    assert set(found.unusual[:15]) <= set(range(20, 40))
    assert found.share == len(found.unusual) / 40
    assert "were expected" in found.summary()
    assert json.loads(json.dumps(found.to_dict()))["warning"] is True


def test_without_answers_nothing_is_said(calibration: Calibration) -> None:
    rows = calibration.fitted.rows
    found = drift(calibration, rows.take([]))
    assert (found.total, found.share, found.p_value, found.warning) == (0, 0.0, 1.0, False)


def test_false_alarms_are_rare_even_with_few_labels(grader: Grader) -> None:
    alarms = []
    for seed in range(30):
        texts = answers(32, 100 + seed)
        few = Calibrator(grader).fit(ITEM, texts[:8], [4.0 * (row % 2) for row in range(8)])
        alarms.append(drift(few, grader.represent(ITEM, texts[8:])).warning)
    assert sum(alarms) <= 2
