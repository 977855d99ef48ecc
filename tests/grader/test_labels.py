from __future__ import annotations

import math

import numpy as np
import pytest

from grader import InputError, Item
from grader.labels import MOST_ANSWERS, check_components, label_weights, weights_of

ITEM = Item.from_reference("Why?", "Because.", max_score=4)


def test_components_become_credits() -> None:
    found = check_components(ITEM, 3, {"answer": [4.0, None, 1.0]})
    assert found["answer"][[0, 2]].tolist() == [1.0, 0.25]
    assert math.isnan(found["answer"][1])


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ({"reason": [1.0]}, "no component 'reason'; allowed: answer"),
        ({"answer": [1.0, 2.0]}, "1 responses but 2 marks of component 'answer'"),
        ({"answer": [5.0]}, "row 1: 5 for 'answer' is outside 0 to 4"),
        ({"answer": [-1.0]}, "row 1: -1 for 'answer' is outside 0 to 4"),
    ],
)
def test_bad_components(components: dict[str, list[float | None]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_components(ITEM, 1, components)


def test_a_label_stands_for_the_answers_that_were_not_looked_at() -> None:
    found = weights_of([1.0, 0.5, 0.001])
    assert found.mean() == pytest.approx(1.0)
    assert (found / found[0]).tolist() == pytest.approx([1.0, 2.0, MOST_ANSWERS])


@pytest.mark.parametrize("chance", [0.0, -0.1, 1.5, math.nan])
def test_bad_chances(chance: float) -> None:
    with pytest.raises(InputError, match="row 2: chance"):
        weights_of([1.0, chance])


def test_answers_that_are_never_calibrated_weigh_nothing() -> None:
    some = np.array([1.0, 0.0, 1.0, 0.0])
    assert label_weights(np.ones(4)) is None
    assert label_weights(np.zeros(4)) is None
    assert np.asarray(label_weights(some)).tolist() == [2.0, 0.0, 2.0, 0.0]
    assert np.asarray(label_weights(some, [1.0, 1.0, 0.5, 1.0])).tolist() == pytest.approx([4 / 3, 0, 8 / 3, 0])
    with pytest.raises(InputError, match="4 labels but 1 chances"):
        label_weights(some, [1.0])
