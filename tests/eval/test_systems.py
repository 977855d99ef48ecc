"""Features, baselines and fitted models on made-up answers, without weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eval.baselines import Cosine, pooled, words
from eval.boosting import (
    MEMBERS,
    Committee,
    Residual,
    as_prediction,
    fit_committee,
    fit_with_answers,
    held_out,
    kernel,
    targets,
)
from eval.cache import CachedEncoder, RowCache
from eval.datasets import Row, frame_of
from eval.feature_table import EXTRAS, FeatureTable, feature_table
from eval.frames import items_of, prepare
from eval.grading import GraderSystem
from eval.protocols import training_rows
from eval.systems import Systems
from grader import Grader
from grader.encoder import HashEncoder
from grader.evidence.features import FEATURES
from grader.scoring import Prior, load_prior

REFERENCE = "The 2 terminals are not connected."


def _rows(*answers: str) -> pd.DataFrame:
    return prepare(
        frame_of(
            Row("d", "train", "q", "Why is the voltage high?", [REFERENCE], str(at), answer, 1.0, 1.0)
            for at, answer in enumerate(answers)
        )
    )


def _features(*answers: str) -> pd.DataFrame:
    found = feature_table(_rows(*answers), CachedEncoder(HashEncoder, "hash@1", None), RowCache(None))
    return pd.DataFrame(found.rows, columns=[*FEATURES, *EXTRAS])


class TestFeatures:
    def test_the_reference_itself(self) -> None:
        row = _features(REFERENCE).iloc[0].to_dict()
        for name in ("recall", "full_recall", "precision", "found_8", "weakest", "said_7", "jaccard", "grams"):
            assert row[name] == pytest.approx(1.0, abs=1e-4), name
        for name in ("words_over_reference", "negations", "negation_parity", "numbers_foreign", "antonyms"):
            assert row[name] == 0.0, name
        assert row["numbers_found"] == 1.0

    def test_what_differs(self) -> None:
        rows = _features("The 3 terminals are connected.", "The terminals are not disconnected, not at all.")
        assert rows["negation_parity"].tolist() == [1.0, 1.0]
        assert rows["numbers_found"].tolist() == [0.0, 0.0]
        assert rows["numbers_foreign"].tolist() == [1.0, 0.0]
        assert rows["antonyms"].tolist() == [0.0, 1.0]

    def test_nothing_said_is_nan(self) -> None:
        assert _features("", "?").isna().all(axis=None)
        assert not _features("the battery").isna().any(axis=None)

    def test_a_row_does_not_depend_on_its_neighbours(self) -> None:
        alone = _features("The gap is open.")
        both = _features(REFERENCE, "The gap is open.")
        np.testing.assert_allclose(alone.iloc[0], both.iloc[1], atol=1e-5)


def test_marks_are_those_of_the_grader(frames: dict[str, pd.DataFrame], systems: Systems) -> None:
    frame = frames["toy"].iloc[::5].reset_index(drop=True)
    found = GraderSystem(Grader(HashEncoder()), RowCache(None)).marks(frame)
    items = items_of(frame)
    grader = Grader(HashEncoder())
    for at, (question, answer) in enumerate(zip(frame["question_id"], frame["answer"], strict=True)):
        score = grader.grade(items[question], answer)
        assert (found.raw[at], found.score[at]) == (score.raw, score.score)
        assert bool(found.errors[at]) == bool(score.errors)


def test_three_way_label_of_the_grader() -> None:
    system = GraderSystem(Grader(HashEncoder()), RowCache(None))
    found = system(_rows(REFERENCE, "The 2 terminals are connected.", "bananas are yellow fruit"))
    assert list(found.label3 or ()) == ["correct", "contradictory", "incorrect"]


def test_cosine_takes_the_best_reference_and_nothing_for_nothing() -> None:
    frame = _rows(REFERENCE, "", "bananas")
    frame["reference_answers"] = [["something else", REFERENCE]] * 3
    found = Cosine(CachedEncoder(HashEncoder, "hash@1", None), RowCache(None))(frame)
    assert found[0] == pytest.approx(1.0)
    assert found[1] == 0.0
    assert found[2] < 0.5


def test_words_are_stems_and_pairs() -> None:
    assert words("Gaps, gap!") == ["gap", "gap", "gap gap"]


class TestModels:
    def test_targets(self, frames: dict[str, pd.DataFrame]) -> None:
        assert targets(frames["toy"].head(4)).tolist() == [
            [1.0, 1.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0],
        ]  # fmt: skip
        assert targets(frames["exam"]).shape == (120, 2)

    def test_rare_labels_are_favoured(self) -> None:
        found = as_prediction(np.array([[2.0, 0.6, 0.4, 0.2, 0.4]]), np.array([0.5, 0.5, 0.5, 0.05, 0.45]))
        assert (found.score.tolist(), found.two_way().tolist()) == ([1.0], [True])
        assert list(found.label3 or ()) == ["contradictory"]

    @pytest.mark.parametrize("name", list(MEMBERS))
    def test_members_learn_and_repeat(self, name: str) -> None:
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(300, 4)).astype(np.float32)
        rows[0, 0] = np.nan
        right = (rows[:, 1] > 0).astype(float)
        wanted = np.column_stack([right, right, right, np.zeros(300), 1 - right])
        first, second = (Committee([name], rows, wanted, 0).predict(rows) for _ in range(2))
        np.testing.assert_array_equal(first, second)
        assert first.shape == (300, 5)
        assert ((first[:, 1] >= 0.5) == (right == 1)).mean() > 0.9
        assert (first[:, 3] == 0).all()

    @pytest.mark.parametrize("name", list(MEMBERS))
    def test_one_label_only(self, name: str) -> None:
        rows = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
        found = Committee([name], rows, np.ones((50, 2)), 0).predict(rows)
        np.testing.assert_allclose(found, 1.0, atol=1e-6)

    def test_held_out_questions_are_not_seen(self) -> None:
        rows = np.zeros((20, 2), dtype=np.float32)
        wanted = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
        found = held_out(["trees"], rows, wanted, np.repeat([0, 1], 10), 0)
        np.testing.assert_allclose(found, 1 - wanted)
        np.testing.assert_allclose(held_out(["trees"], rows, wanted, np.zeros(20, dtype=np.intp), 0), 0.5)

    def test_residual_pulls_like_answers_only(self) -> None:
        vectors = np.eye(3, dtype=np.float32)
        fitted = Residual.fit(vectors[:2], np.array([[1.0], [0.0]]), penalty=0.1)
        near, far = fitted.predict(vectors[[0, 2]])[:, 0]
        assert near > 0.8
        assert abs(far) < 0.1
        assert kernel(vectors, vectors).diagonal().tolist() == [1.0, 1.0, 1.0]

    def test_answers_help_on_seen_questions_and_change_nothing_on_others(
        self, frames: dict[str, pd.DataFrame], systems: Systems
    ) -> None:
        def no_features(frame: pd.DataFrame) -> FeatureTable:
            table = systems.tables(frame)
            return FeatureTable(table.rows[:, :1] * 0, table.vectors)

        train = {"toy": training_rows(frames["toy"])}
        plain = fit_committee(no_features, ["trees"])(train)
        helped = fit_with_answers(no_features, ["trees"])(train)
        seen, unseen = (frames["toy"][frames["toy"]["split"] == split] for split in ("test_ua", "test_uq"))
        error = [np.abs(model(seen).score - seen["fraction"]).mean() for model in (plain, helped)]
        assert error[1] < 0.5 * error[0]
        np.testing.assert_allclose(plain(unseen).score, helped(unseen).score)


def test_pooled_leaves_blanks_out() -> None:
    assert len(pooled({"a": _rows("x", " "), "b": _rows("y")})) == 2


def _shipped_prior(frames: dict[str, pd.DataFrame], encoder: CachedEncoder) -> Prior:
    return load_prior()


def test_a_data_set_left_out_is_graded_without_the_contradiction_model(frames: dict[str, pd.DataFrame]) -> None:
    class Never:
        signature = "never@1"

        def predict(self, pairs: object) -> np.ndarray:
            raise AssertionError("it has seen train splits")

    encoder = CachedEncoder(HashEncoder, "hash@1", None)
    systems = Systems(encoder, RowCache(None), f"{__name__}:_shipped_prior", judge=Never())
    fitted = systems.fit_prior(frames)
    assert fitted.grader.judge is None
    assert systems.shipped.grader.judge is not None
    assert len(fitted(frames["toy"]).score) == len(frames["toy"])
