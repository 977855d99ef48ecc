"""The curve of falsehood: its file, its measures, its cuts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from grader import Grader, Item
from grader.errors import ModelError
from grader.evidence.falsehood import MEASURES, SIMILARITIES, load_falsehood, similarity_measures, with_answers
from grader.evidence.judge import worth_asking


def test_the_shipped_curve_trusts_likeness_to_a_misconception_and_the_model() -> None:
    curve = load_falsehood()
    weights = dict(zip(MEASURES, curve.judged.weights, strict=True))
    assert weights["margin"] > 0
    assert weights["key_contradicts"] > 0 > weights["key_entails"]
    assert 0 < curve.asked < 1
    assert 0 < curve.suspected < curve.sure < 1


@pytest.mark.parametrize("content", ["{", "{}", '{"version": "1", "weights": {"margin": 1}, "bias": 0}'])
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "falsehood.json"
    path.write_text(content)
    with pytest.raises(ModelError, match="not a curve of falsehood"):
        load_falsehood(path)


def test_the_version_changes_with_the_weights(tmp_path: Path) -> None:
    content = {"version": "9", "screen": {"weights": dict.fromkeys(SIMILARITIES, 0.5), "bias": 0.0}, "asked": 0.3}
    judged = {"weights": dict.fromkeys(MEASURES, 0.5), "bias": 0.0}
    names = []
    for bias in (0.0, 1.0):
        path = tmp_path / f"{bias}.json"
        path.write_text(json.dumps(content | {"judged": judged | {"bias": bias}, "suspected": 0.5, "sure": 0.6}))
        names.append(load_falsehood(path).version)
    assert names[0] != names[1]
    assert all(name.startswith("9@") for name in names)


def test_a_misconception_is_more_like_itself_than_a_right_statement_is(tides: Item, hash_grader: Grader) -> None:
    index = hash_grader.index(tides)
    assert index.misconceptions is not None
    texts = [index.misconceptions.phrases[0].text, index.keys.phrases[0].text]
    phrases = index.phrases(texts, hash_grader.encoder.encode(texts))
    table, wrong, right = similarity_measures(index.keys.align(phrases), index.misconceptions.align(phrases))
    assert wrong[0] == 0
    assert right[1] == 0
    assert (table[0, 1:5] > 0).all()
    assert (table[1, 1:5] < 0).all()
    assert table[1, SIMILARITIES.index("key_likeness")] == pytest.approx(1, abs=1e-3)


def test_what_the_model_says_moves_the_measures_in_its_direction() -> None:
    answers = np.array([[0.9, 0.05, 0.0, 0.05], [0.0, 0.05, 0.9, 0.05]], dtype=np.float32)
    table = with_answers(np.zeros((2, len(SIMILARITIES))), answers)
    assert table.shape == (2, len(MEASURES))
    entails, contradicts = table[:, -2:].T
    assert entails[0] > 0 > entails[1]
    assert contradicts[1] > 0 > contradicts[0]


def measured(like: float, right: float) -> np.ndarray:
    """Measures of one statement this like a misconception and the nearest key statement."""
    return np.array([[like, like - right, like - right, like - right, like - right, right, right]])


@pytest.mark.parametrize(
    ("like", "right", "statement", "asked"),
    [
        (0.75, 0.55, "It copies.", True),
        (0.2, 0.9, "It copies.", False),
        (0.9, 0.99, "It copies.", False),
        (0.9, 0.7, "It does not copy.", False),
        (0.9, 0.7, "It is a mistake to think that it copies.", False),
        (0.75, 0.55, "It does not copy.", True),
    ],
)
def test_only_what_may_be_false_is_asked_about(like: float, right: float, statement: str, asked: bool) -> None:
    assert worth_asking(measured(like, right), [statement], ["It copies."]).tolist() == [asked]
