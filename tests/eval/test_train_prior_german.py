"""The curve for German items: how it is learned, and how well it agrees with raters on published answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eval.datasets.store import data_folder
from eval.train_prior_german import curve, evidence, fit, with_strangers
from grader import Grader, Item
from grader.calibration import Calibrator

QUESTION = "Warum wäscht man sich vor dem Kochen die Hände?"
REFERENCE = "Seife und Wasser entfernen Keime von der Haut (0.5 P), die sonst ins Essen gelangen und krank machen."
ANSWER = REFERENCE.replace(" (0.5 P)", "")


def answers(**columns: list[object]) -> pd.DataFrame:
    common = {"question": QUESTION, "reference_answers": [[REFERENCE]], "max_score": 1.0, "split": "train"}
    frame = pd.DataFrame(columns)
    for name, value in common.items():
        frame[name] = value * len(frame) if isinstance(value, list) else value
    return frame


def test_answers_of_other_questions_are_added_with_no_score() -> None:
    frame = answers(question_id=["a", "a", "b", "b"], answer=["1", "2", "3", "4"], score=[1.0, 1.0, 0.5, 0.5])
    mixed = with_strangers(frame)
    assert len(mixed) == 8
    added = mixed.iloc[4:]
    assert set(added["score"]) == {0.0}
    assert set(added[added["question_id"] == "a"]["answer"]) == {"3", "4"}
    assert set(added[added["question_id"] == "b"]["answer"]) == {"1", "2"}


def test_the_curve_is_fitted_to_what_an_answer_says() -> None:
    frame = answers(question_id=["a", "a", "a"], answer=[ANSWER, "Keime.", ""], score=[1.0, 0.5, 0.0])
    table = evidence(frame)
    assert table[0, 0] == pytest.approx(1, abs=1e-4)
    assert table[0, 0] > table[1, 0] > table[2, 0] == 0
    weights, bias = fit(table, np.array([1.0, 0.5, 0.0]), np.ones(3))
    assert curve(table, weights, bias) == pytest.approx([1.0, 0.5, 0.0], abs=0.15)


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    folder = data_folder(None)
    path = Path(folder or ".") / "saf_de_v1.parquet"
    if not path.is_file():
        pytest.skip("the data set saf_de_v1 is not here; set GRADER_DATA to its folder")
    return pd.read_parquet(path)


def marks(grader: Grader, rows: pd.DataFrame, train: pd.DataFrame | None = None) -> list[float]:
    first = rows.iloc[0]
    item = Item.from_reference(
        first["question"], list(first["reference_answers"]), max_score=1.0, step=0.25, language="de"
    )
    fitted = None if train is None else Calibrator(grader).fit(item, list(train["answer"]), list(train["score"]))
    return [score.raw for score in grader.grade_many(item, list(rows["answer"]), calibration=fitted)]


@pytest.mark.data
@pytest.mark.slow
def test_agreement_on_published_german_answers(published: pd.DataFrame, real_grader: Grader) -> None:
    def agreement(split: str, predict: Callable[[pd.DataFrame], list[float]]) -> float:
        chosen = published[published["split"] == split]
        pairs = [
            pair for _, rows in chosen.groupby("question_id") for pair in zip(predict(rows), rows["score"], strict=True)
        ]
        return float(np.corrcoef(np.array(pairs).T)[0, 1])

    train = published[published["split"] == "train"]

    def calibrated(rows: pd.DataFrame) -> list[float]:
        return marks(real_grader, rows, train[train["question_id"] == rows["question_id"].iloc[0]])

    assert agreement("test_uq", lambda rows: marks(real_grader, rows)) >= 0.55
    assert agreement("test_ua", calibrated) >= 0.70
