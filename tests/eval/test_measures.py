"""The bench's measures beside the definitions of `grader.agreement`, and their intervals beside its bootstrap."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from eval.measures import MEASURES, Estimate, Prediction, measure, measure_runs
from grader.agreement import THREE_WAY, f1, pearson, qwk, rmse, round_to_scale, within_question_r
from grader.intervals import bootstrap_intervals


def _frame(n: int = 60, questions: int = 7) -> tuple[pd.DataFrame, Prediction]:
    rng = np.random.default_rng(3)
    human = rng.integers(0, 3, n) / 2
    machine = np.clip(human + rng.normal(0, 0.4, n), 0, 1)
    label3 = [THREE_WAY[at] for at in rng.integers(0, 3, n)]
    frame = pd.DataFrame(
        {
            "question_id": [f"q{at % questions}" for at in range(n)],
            "fraction": human,
            "correct": human == 1,
            "label3": pd.Series(label3, dtype="object"),
        }
    )
    guess = [label3[at] if at % 3 else "incorrect" for at in range(n)]
    return frame, Prediction(machine, label3=guess)


class TestAgainstAgreement:
    def test_values(self) -> None:
        frame, found = _frame()
        human, codes = frame["fraction"].to_numpy(), frame["question_id"].to_numpy()
        points = round_to_scale(found.score, scale_max=1, step=0.5)
        ours = measure(frame, found, step=0.5, n_boot=1)
        expected = {
            "r": pearson(human, found.score),
            "r_within": within_question_r(human, found.score, codes),
            "rmse": rmse(human, found.score),
            "qwk": qwk(human, points, scale_max=1, step=0.5),
            "f1_2way": f1(list(frame["correct"]), list(found.two_way()), (True, False)),
            "f1_3way": f1(list(frame["label3"]), list(found.label3 or ()), THREE_WAY),
        }
        assert tuple(ours) == MEASURES
        for name, value in expected.items():
            assert ours[name].value == pytest.approx(value, abs=1e-12), name

    def test_intervals_are_those_of_the_bootstrap(self) -> None:
        frame, found = _frame()
        codes = pd.factorize(frame["question_id"], sort=True)[0]
        theirs = bootstrap_intervals(
            {"r": pearson, "rmse": rmse}, frame["fraction"].to_numpy(), found.score, groups=codes, n_boot=200, seed=5
        )
        ours = measure(frame, found, step=0.5, n_boot=200, seed=5)
        for name, interval in theirs.items():
            assert ours[name].low == pytest.approx(interval.low, abs=1e-9)
            assert ours[name].high == pytest.approx(interval.high, abs=1e-9)

    def test_label_that_nobody_uses_counts_as_zero(self) -> None:
        frame, _ = _frame(4, 2)
        frame["correct"] = False
        found = measure(frame, Prediction(np.zeros(4)), step=0.5, n_boot=5)
        assert found["f1_2way"].value == pytest.approx(f1([False] * 4, [False] * 4, (True, False)))


class TestDegenerate:
    def test_constant_marks_have_no_correlation(self) -> None:
        frame, _ = _frame(5000)
        found = measure(frame, Prediction(np.full(5000, 0.1 + 0.2)), step=0.5, n_boot=20)
        assert math.isnan(found["r"].value)
        assert math.isnan(found["r_within"].value)
        assert found["qwk"].value == 0
        assert found["r"].plain() == [None, None, None]

    def test_one_question_has_no_interval(self) -> None:
        frame, prediction = _frame(10, 1)
        found = measure(frame, prediction, step=0.5, n_boot=20)
        assert found["rmse"].value > 0
        assert found["rmse"].plain()[1:] == [None, None]

    def test_without_labels_there_is_no_three_way(self) -> None:
        frame, prediction = _frame()
        assert "f1_3way" not in measure(frame, Prediction(prediction.score), step=0.5, n_boot=2)
        assert "f1_3way" not in measure(frame.assign(label3=None), prediction, step=0.5, n_boot=2)


def test_runs_give_the_mean_of_each_measure() -> None:
    frame, first = _frame()
    second = Prediction(1 - first.score, label3=first.label3)
    alone = [measure(frame, run, step=0.5, n_boot=1)["rmse"].value for run in (first, second)]
    both = measure_runs([frame, frame], [first, second], step=0.5, n_boot=50)
    assert both["rmse"].value == pytest.approx(np.mean(alone))
    assert both["rmse"].low < both["rmse"].value < both["rmse"].high


def test_default_label_is_the_cut() -> None:
    assert Prediction(np.array([0.4999999, 0.5, 0.49])).two_way().tolist() == [True, True, False]


def test_plain_rounds() -> None:
    assert Estimate(0.123456, math.nan, 1.0).plain() == [0.1235, None, 1.0]
