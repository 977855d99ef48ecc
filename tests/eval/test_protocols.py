"""Splits, leaving out, folds and few labels: who is fitted to what, and what stands beside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from eval.baselines import OWN_LABELS, Scorer, baselines
from eval.calibration import calibration_tables
from eval.few_labels import Plan as Curve
from eval.frames import Frames
from eval.learners import LABEL_FREE, LEARNERS
from eval.measures import Prediction
from eval.protocols import (
    MARKED_ONLY,
    RATERS,
    Plan,
    grouped,
    leave_out,
    official,
    out_of_fold,
    test_parts,
    training_rows,
)
from eval.systems import UNCALIBRATED, Systems

test_parts.__test__ = False  # type: ignore[attr-defined]


class Spy:
    """A system that remembers what it was fitted to."""

    def __init__(self) -> None:
        self.fitted: list[dict[str, set[str]]] = []
        self.splits: list[set[str]] = []

    def __call__(self, frames: Frames) -> Scorer:
        self.fitted.append({name: set(frame["question_id"]) for name, frame in frames.items()})
        self.splits.append({split for frame in frames.values() for split in frame["split"]})
        return lambda frame: Prediction(frame["fraction"].to_numpy(float))


class TestOfficial:
    def test_fits_to_train_and_tests_each_split(self, frames: dict[str, pd.DataFrame]) -> None:
        spy = Spy()
        lines = official(frames, Plan({"spy": spy}, n_boot=5))
        assert spy.splits == [{"train"}]
        assert [(line.data, line.split, line.n, line.questions) for line in lines] == [
            ("toy", "UA", 16, 4), ("toy", "UQ", 32, 2),
        ]  # fmt: skip
        assert all(line.mapped and line.measures["rmse"].value == 0 for line in lines)

    def test_baselines_stand_beside(self, frames: dict[str, pd.DataFrame], systems: Systems) -> None:
        plan = Plan(systems.official(), systems.baselines(), n_boot=5)
        lines = official(frames, plan)
        names = [line.system for line in lines if line.split == "UQ" and MARKED_ONLY not in line.system]
        assert names == [
            UNCALIBRATED, "boosting", "committee", "committee + answers", "constant", "constant .5", "question mean",
            OWN_LABELS, "length", "bag of words", "cosine alone",
        ]  # fmt: skip
        by_name = {line.system: line for line in lines if line.split == "UA"}
        assert by_name["committee + answers"].measures["r"].value > 0.5
        assert by_name["bag of words"].measures["r"].value > 0.5


class TestLeaveOut:
    def test_nothing_of_the_data_set_is_fitted_to(self, frames: dict[str, pd.DataFrame]) -> None:
        spy = Spy()
        lines = leave_out(frames, Plan({"spy": spy}, n_boot=5))
        assert [set(fitted) for fitted in spy.fitted] == [{"exam"}, {"toy"}]
        assert spy.splits == [{"none"}, {"train"}]
        assert [(line.data, line.split, line.system) for line in lines] == [
            ("toy", "UA", "spy"), ("toy", "UQ", "spy"), ("exam", "all", "spy"), ("exam", "all", RATERS),
        ]  # fmt: skip

    def test_one_data_set_has_no_others(self, frames: dict[str, pd.DataFrame]) -> None:
        assert leave_out({"toy": frames["toy"]}, Plan({"spy": Spy()})) == []

    def test_other_languages_take_no_part(self, frames: dict[str, pd.DataFrame]) -> None:
        german = {**frames, "de": frames["toy"].assign(language="de")}
        assert {line.data for line in leave_out(german, Plan({"spy": Spy()}, n_boot=2))} == {"toy", "exam"}


class TestGrouped:
    def test_no_question_is_on_both_sides(self, frames: dict[str, pd.DataFrame]) -> None:
        spy = Spy()
        lines = grouped(frames, Plan({"spy": spy}, n_boot=5))
        assert len(spy.fitted) == 5
        assert all(len(fitted["train"]) < 6 for fitted in spy.fitted)
        assert [(line.data, line.n) for line in lines] == [("exam", 120), ("exam", 120)]  # toy trains on 4 questions

    def test_predictions_come_back_in_order(self, frames: dict[str, pd.DataFrame]) -> None:
        rows = frames["exam"]
        found = out_of_fold(rows, Spy())
        np.testing.assert_array_equal(found.score, rows["fraction"])
        assert found.label3 is None


def test_unmarked_responses_are_counted_and_left_out(frames: dict[str, pd.DataFrame]) -> None:
    def fit(known: Frames) -> Scorer:
        def score(frame: pd.DataFrame) -> Prediction:
            marked = np.arange(len(frame)) % 4 > 0
            labels = ["incorrect"] * len(frame)
            return Prediction(np.where(marked, frame["fraction"], 0.0), label3=labels, marked=marked)

        return score

    both = [line for line in official(frames, Plan({"shy": fit}, n_boot=2)) if line.split == "UA"]
    assert [(line.system, line.n) for line in both] == [("shy", 16), ("shy, marked only", 12)]
    assert both[0].measures["rmse"].value == pytest.approx(0.5)
    assert both[1].measures["rmse"].value == 0
    folds = grouped(frames, Plan({"shy": fit}, n_boot=2))
    assert [line.system for line in folds] == ["shy", "shy, marked only", RATERS]


def test_parts_and_training_rows(frames: dict[str, pd.DataFrame]) -> None:
    assert list(test_parts(frames["toy"])) == ["UA", "UQ"]
    assert list(test_parts(frames["exam"])) == ["all"]
    assert set(training_rows(frames["toy"])["split"]) == {"train"}


def learning_curves(frames: Frames, systems: Systems, plan: Curve) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = calibration_tables(frames, systems.fit_prior, plan, only=("curves",))["curves"]
    return found


@pytest.fixture(scope="module")
def lines(frames: dict[str, pd.DataFrame], systems: Systems) -> dict[tuple[str, str, float], float]:
    """RMSE of every learner by data set, learner and labels a question."""
    found = learning_curves(frames, systems, Curve(sizes=(3, 8), seeds=2, n_boot=5))
    drawn = {(line["data"], line["labels"]): line["seeds"] for line in found}
    assert drawn["toy", 3] == drawn["exam", 10] == 2
    assert drawn["toy", 12] == 1, "all there are, and always the same ones to test on"
    return {(line["data"], line["system"], line["labels"]): line["measures"]["rmse"][0] for line in found}


class TestFewLabels:
    def test_sizes_go_as_far_as_the_answers(self, lines: dict[tuple[str, str, float], float]) -> None:
        assert {labels for data, _, labels in lines if data == "toy"} == {0, 3, 8, 12}
        assert {labels for data, _, labels in lines if data == "exam"} == {0, 3, 8, 10}
        assert {labels for _, system, labels in lines if system in LABEL_FREE} == {0}
        assert {system for _, system, _ in lines} == set(LEARNERS)

    def test_labels_help(self, lines: dict[tuple[str, str, float], float]) -> None:
        for learner in ("calibrated", "vectors without prior", "bag of words", "nearest neighbour"):
            assert lines["toy", learner, 12] < lines["toy", "constant .5", 0], learner

    def test_same_seed_same_figures(self, frames: dict[str, pd.DataFrame], systems: Systems) -> None:
        plan = Curve(sizes=(3,), seeds=2, n_boot=5)
        first, second = (learning_curves({"toy": frames["toy"]}, systems, plan) for _ in range(2))
        assert first == second

    def test_too_few_answers(self, frames: dict[str, pd.DataFrame], systems: Systems) -> None:
        one_each = frames["toy"].groupby(["split", "question_id"]).head(1)
        assert learning_curves({"toy": one_each}, systems, Curve(seeds=1)) == []


def test_baselines_do_not_see_the_labels_they_are_tested_on(frames: dict[str, pd.DataFrame], systems: Systems) -> None:
    train = {"toy": training_rows(frames["toy"])}
    rows = frames["toy"][frames["toy"]["split"] == "test_uq"].reset_index(drop=True)
    turned = rows.assign(fraction=1 - rows["fraction"], correct=~rows["correct"])
    for name, fit in baselines(lambda frame: np.zeros(len(frame))).items():
        scorer = fit(train)
        same = np.array_equal(scorer(rows).score, scorer(turned).score)
        assert same != (name == OWN_LABELS), name
