"""Models fitted to a train split on top of the frozen encoder: gradient boosting, a committee, and what answers add.

``boosting`` and ``committee`` know nothing of a question but its features, so they can be tested on questions they
have not seen. ``committee + answers`` adds, for a question with labelled answers, what those answers say about the
mistakes that the committee makes on it: kernel ridge regression on residuals from questions held out. Where a second
opinion is given (`eval.second_opinion`) estimates are the mean of both, in equal parts by decision. Settings were
chosen by folds of the train splits, questions kept apart, never by a test split.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

from eval.baselines import Scorer, pooled
from eval.feature_table import FeatureTable
from eval.frames import Frames
from eval.measures import Prediction
from grader.agreement import THREE_WAY

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.float32]
Vectors = npt.NDArray[np.floating]
Tables = Callable[[pd.DataFrame], FeatureTable]
#: Estimates of `targets` from elsewhere, of the answers of a frame and the number of targets, shape (n, k).
Opinion = Callable[[pd.DataFrame, int], Floats]

_BOOSTING: dict[str, Any] = {
    "learning_rate": 0.03, "max_iter": 250, "max_leaf_nodes": 8, "min_samples_leaf": 30, "l2_regularization": 5.0,
    "max_features": 0.3,
}  # fmt: skip
_TREES: dict[str, Any] = {"n_estimators": 150, "min_samples_leaf": 4, "max_features": 0.4}
#: How far a rare label is favoured: 0 not at all, 1 in proportion.
_RARE = 0.6
_PENALTY = 0.5
_FOLDS = 5


def targets(frame: pd.DataFrame) -> Floats:
    """What is learnt, shape (n, k): the mark, right or not, and the three labels where they exist; all 0..1."""
    columns = [frame["fraction"].to_numpy(float), frame["correct"].to_numpy(float)]
    if frame["label3"].notna().all():
        columns += [(frame["label3"] == label).to_numpy(float) for label in THREE_WAY]
    return np.column_stack(columns)


def as_prediction(values: Floats, shares: Floats) -> Prediction:
    """The prediction behind estimates of `targets`.

    The three-way label is the one whose estimate is largest for its share of the training answers, as macro-F1 counts
    a rare label as much as a common one.

    Args:
        values: Estimates, shape (n, 2) or (n, 5).
        shares: Means of the targets in training, shape (k,).
    """
    lift = values[:, 2:] / np.maximum(shares[2:], 1e-6) ** _RARE
    labels = [THREE_WAY[at] for at in lift.argmax(axis=1)] if values.shape[1] > 2 else None
    return Prediction(np.clip(values[:, 0], 0, 1), correct=values[:, 1] >= 0.5, label3=labels)


class Member(Protocol):
    """A model of the targets."""

    def predict(self, rows: Rows) -> Floats:
        """Estimates of `targets`, shape (n, k)."""
        ...


class Boosting:
    """Gradient boosting: one model for the mark and one for each kind of label."""

    def __init__(self, rows: Rows, wanted: Floats, seed: int) -> None:
        """Fitted to ``rows`` (n, f) and ``wanted`` (n, k), see `targets`."""

        def classifier() -> HistGradientBoostingClassifier:
            return HistGradientBoostingClassifier(**_BOOSTING, random_state=seed)

        self._mark = HistGradientBoostingRegressor(**_BOOSTING, random_state=seed).fit(rows, wanted[:, 0])
        self._labels = [_labelled(classifier, rows, wanted[:, part]) for part in _label_columns(wanted)]

    def predict(self, rows: Rows) -> Floats:
        """Estimates of `targets`, shape (n, k)."""
        return np.column_stack([self._mark.predict(rows), *(label(rows) for label in self._labels)])


class Trees:
    """Extremely randomised trees over all targets at once."""

    def __init__(self, rows: Rows, wanted: Floats, seed: int) -> None:
        """Fitted to ``rows`` (n, f) and ``wanted`` (n, k), see `targets`."""
        self._model = ExtraTreesRegressor(**_TREES, random_state=seed).fit(np.nan_to_num(rows), wanted)

    def predict(self, rows: Rows) -> Floats:
        """Estimates of `targets`, shape (n, k)."""
        return np.asarray(self._model.predict(np.nan_to_num(rows)), dtype=np.float64)


class Linear:
    """Ridge regression for the mark and logistic regression for labels, on features spread evenly."""

    def __init__(self, rows: Rows, wanted: Floats, seed: int) -> None:
        """Fitted to ``rows`` (n, f) and ``wanted`` (n, k), see `targets`."""
        quantiles = min(200, len(rows))
        spread = QuantileTransformer(output_distribution="normal", n_quantiles=quantiles, random_state=seed)

        def classifier() -> Any:
            return make_pipeline(spread, LogisticRegression(C=0.05, max_iter=3000))

        plain = np.nan_to_num(rows)
        self._mark = make_pipeline(spread, Ridge(alpha=30.0)).fit(plain, wanted[:, 0])
        self._labels = [_labelled(classifier, plain, wanted[:, part]) for part in _label_columns(wanted)]

    def predict(self, rows: Rows) -> Floats:
        """Estimates of `targets`, shape (n, k)."""
        plain = np.nan_to_num(rows)
        return np.column_stack([self._mark.predict(plain), *(label(plain) for label in self._labels)])


MEMBERS: Mapping[str, Callable[[Rows, Floats, int], Member]] = {"boosting": Boosting, "trees": Trees, "linear": Linear}


def _label_columns(wanted: Floats) -> list[list[int]]:
    return [[1], [2, 3, 4]] if wanted.shape[1] > 2 else [[1]]


def _labelled(make: Callable[[], Any], rows: Rows, wanted: Floats) -> Callable[[Rows], Floats]:
    """Estimates of one column (right or not) or of three, by a classifier; a constant where only one occurs."""
    labels = wanted[:, 0].astype(int) if wanted.shape[1] == 1 else wanted.argmax(axis=1)
    wide = [1] if wanted.shape[1] == 1 else list(range(wanted.shape[1]))
    if len(np.unique(labels)) < 2:
        only = [float(label == labels[0]) for label in wide]
        return lambda new: np.tile(only, (len(new), 1))
    model = make().fit(rows, labels)
    known = list(model.classes_)

    def estimates(new: Rows) -> Floats:
        found = model.predict_proba(new)
        absent = np.zeros(len(new))
        return np.column_stack([found[:, known.index(label)] if label in known else absent for label in wide])

    return estimates


class Committee:
    """The mean of several members."""

    def __init__(self, names: Sequence[str], rows: Rows, wanted: Floats, seed: int) -> None:
        """Members of ``names``, each fitted to ``rows`` (n, f) and ``wanted`` (n, k)."""
        with threadpool_limits(1):  # threads that wait for a busy core make it many times slower
            self._members = [MEMBERS[name](rows, wanted, seed) for name in names]

    def predict(self, rows: Rows) -> Floats:
        """Estimates of `targets`, shape (n, k)."""
        with threadpool_limits(1):
            return np.asarray(np.mean([member.predict(rows) for member in self._members], axis=0), dtype=np.float64)


def fit_committee(
    tables: Tables, names: Sequence[str] = tuple(MEMBERS), *, seed: int = 0
) -> Callable[[Frames], Scorer]:
    """Fits a `Committee` to frames."""

    def fit(frames: Frames) -> Scorer:
        known = pooled(frames)
        wanted = targets(known)
        model, shares = Committee(names, tables(known).rows, wanted, seed), wanted.mean(axis=0)
        return lambda frame: as_prediction(model.predict(tables(frame).rows), shares)

    return fit


@dataclass(frozen=True, slots=True)
class Residual:
    """Kernel ridge regression of one question's residuals on its labelled answers."""

    vectors: Rows
    weights: Floats

    @classmethod
    def fit(cls, vectors: Rows, residuals: Floats, penalty: float) -> Residual:
        """Fitted to sentence vectors (n, d) and residuals (n, k)."""
        matrix = kernel(vectors, vectors) + penalty * np.eye(len(vectors))
        return cls(vectors, np.asarray(np.linalg.solve(matrix, residuals), dtype=np.float64))

    def predict(self, vectors: Rows) -> Floats:
        """Expected residuals, shape (m, k)."""
        return np.asarray(kernel(vectors, self.vectors) @ self.weights, dtype=np.float64)


def kernel(left: Vectors, right: Vectors, width: float = 0.35) -> Floats:
    """Gaussian of the cosine distance, shape (n, m)."""
    return np.asarray(np.exp(-(1.0 - left @ right.T) / width), dtype=np.float64)


def fit_with_answers(
    tables: Tables,
    names: Sequence[str] = tuple(MEMBERS),
    *,
    penalty: float = _PENALTY,
    seed: int = 0,
    second: Opinion | None = None,
) -> Callable[[Frames], Scorer]:
    """Fits a committee, then one `Residual` a question to what it misses on questions held out; see `Opinion`."""

    def fit(frames: Frames) -> Scorer:
        known = pooled(frames)
        table, wanted = tables(known), targets(known)
        model, shares = Committee(names, table.rows, wanted, seed), wanted.mean(axis=0)
        codes = pd.factorize(known["dataset"] + "\t" + known["question_id"])[0]
        residuals = wanted - held_out(names, table.rows, wanted, codes, seed)
        owners = known["question_id"].map(str).to_numpy()
        per_question = {
            str(q): Residual.fit(table.vectors[owners == q], residuals[owners == q], penalty) for q in np.unique(owners)
        }

        def score(frame: pd.DataFrame) -> Prediction:
            values = _corrected(frame, tables(frame), model, per_question)
            return as_prediction(values if second is None else (values + second(frame, values.shape[1])) / 2, shares)

        return score

    return fit


def held_out(names: Sequence[str], rows: Rows, wanted: Floats, codes: npt.NDArray[np.intp], seed: int) -> Floats:
    """Estimates for every answer by a committee that has not seen its question, shape (n, k)."""
    folds = min(_FOLDS, len(np.unique(codes)))
    if folds < 2:
        return np.tile(wanted.mean(axis=0), (len(wanted), 1))
    found = np.zeros_like(wanted)
    for train, test in GroupKFold(folds).split(rows, groups=codes):
        found[test] = Committee(names, rows[train], wanted[train], seed).predict(rows[test])
    return found


def _corrected(
    frame: pd.DataFrame, table: FeatureTable, model: Committee, per_question: Mapping[str, Residual]
) -> Floats:
    values = model.predict(table.rows)
    for question, places in frame.groupby("question_id").indices.items():
        if str(question) in per_question:
            values[places] += per_question[str(question)].predict(table.vectors[places])
    return values
