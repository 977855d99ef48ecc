"""Models fitted to a train split on top of the frozen encoder: gradient boosting, and what a question's answers add.

``boosting`` knows nothing of a question but its features, so it can be tested on questions it has not seen.
``boosting + answers`` adds, for a question with labelled answers, what those answers say about the mistakes that
boosting makes on it: kernel ridge regression on residuals from questions held out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

from eval.baselines import Scorer, pooled
from eval.feature_table import FeatureTable
from eval.frames import Frames
from eval.measures import Prediction
from grader.agreement import THREE_WAY

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.floating]
Tables = Callable[[pd.DataFrame], FeatureTable]

_SETTINGS: Mapping[str, float] = {
    "learning_rate": 0.05,
    "max_iter": 200,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 20,
    "l2_regularization": 1.0,
}
_FOLDS = 5


def targets(frame: pd.DataFrame) -> Floats:
    """What is learnt, shape (n, k): the mark, right or not, and the three labels where they exist; all 0..1."""
    columns = [frame["fraction"].to_numpy(float), frame["correct"].to_numpy(float)]
    if frame["label3"].notna().all():
        columns += [(frame["label3"] == label).to_numpy(float) for label in THREE_WAY]
    return np.column_stack(columns)


def as_prediction(values: Floats) -> Prediction:
    """The prediction behind estimates of `targets`, shape (n, 2) or (n, 5)."""
    labels = [THREE_WAY[at] for at in values[:, 2:].argmax(axis=1)] if values.shape[1] > 2 else None
    return Prediction(np.clip(values[:, 0], 0, 1), correct=values[:, 1] >= 0.5, label3=labels)


class Boosting:
    """Gradient boosting on a feature table: one model for the mark and one for each label."""

    def __init__(self, rows: npt.NDArray[np.float32], wanted: Floats, seed: int = 0) -> None:
        """Fitted to ``rows`` (n, f) and ``wanted`` (n, k), see `targets`."""
        with threadpool_limits(1):  # threads that wait for a busy core make it many times slower
            self._mark = HistGradientBoostingRegressor(**_SETTINGS, random_state=seed).fit(rows, wanted[:, 0])
            self._correct = _classifier(rows, wanted[:, 1], seed)
            self._label = _classifier(rows, wanted[:, 2:].argmax(axis=1), seed) if wanted.shape[1] > 2 else None

    def predict(self, rows: npt.NDArray[np.float32]) -> Floats:
        """Estimates of `targets`, shape (n, k)."""
        with threadpool_limits(1):
            parts = [self._mark.predict(rows), _probability(self._correct, rows, 1)]
            if self._label is not None:
                parts += [_probability(self._label, rows, at) for at in range(len(THREE_WAY))]
        return np.column_stack(parts)


def _classifier(rows: npt.NDArray[np.float32], labels: Floats, seed: int) -> HistGradientBoostingClassifier | int:
    if len(np.unique(labels)) < 2:
        return int(labels[0])
    return HistGradientBoostingClassifier(**_SETTINGS, random_state=seed).fit(rows, labels.astype(int))


def _probability(model: HistGradientBoostingClassifier | int, rows: npt.NDArray[np.float32], label: int) -> Floats:
    if isinstance(model, int):
        return np.full(len(rows), float(model == label))
    place = list(model.classes_).index(label) if label in model.classes_ else None
    return np.zeros(len(rows)) if place is None else np.asarray(model.predict_proba(rows)[:, place], dtype=float)


def fit_boosting(tables: Tables, *, seed: int = 0) -> Callable[[Frames], Scorer]:
    """Fits `Boosting` to frames."""

    def fit(frames: Frames) -> Scorer:
        known = pooled(frames)
        model = Boosting(tables(known).rows, targets(known), seed)
        return lambda frame: as_prediction(model.predict(tables(frame).rows))

    return fit


@dataclass(frozen=True, slots=True)
class Residual:
    """Kernel ridge regression of one question's residuals on its labelled answers."""

    vectors: npt.NDArray[np.float32]
    weights: Floats

    @classmethod
    def fit(cls, vectors: npt.NDArray[np.float32], residuals: Floats, penalty: float) -> Residual:
        """Fitted to sentence vectors (n, d) and residuals (n, k)."""
        matrix = kernel(vectors, vectors) + penalty * np.eye(len(vectors))
        return cls(vectors, np.asarray(np.linalg.solve(matrix, residuals), dtype=np.float64))

    def predict(self, vectors: npt.NDArray[np.float32]) -> Floats:
        """Expected residuals, shape (m, k)."""
        return np.asarray(kernel(vectors, self.vectors) @ self.weights, dtype=np.float64)


def kernel(left: Vectors, right: Vectors, width: float = 0.35) -> Floats:
    """Gaussian of the cosine distance, shape (n, m)."""
    return np.asarray(np.exp(-(1.0 - left @ right.T) / width), dtype=np.float64)


def fit_with_answers(tables: Tables, *, penalty: float = 1.0, seed: int = 0) -> Callable[[Frames], Scorer]:
    """Fits boosting, then one `Residual` a question to what boosting misses on questions held out."""

    def fit(frames: Frames) -> Scorer:
        known = pooled(frames)
        table, wanted = tables(known), targets(known)
        model = Boosting(table.rows, wanted, seed)
        codes = pd.factorize(known["dataset"] + "\t" + known["question_id"])[0]
        residuals = wanted - _held_out(table.rows, wanted, codes, seed)
        owners = known["question_id"].map(str).to_numpy()
        per_question = {
            str(q): Residual.fit(table.vectors[owners == q], residuals[owners == q], penalty) for q in np.unique(owners)
        }
        return lambda frame: as_prediction(_corrected(frame, tables(frame), model, per_question))

    return fit


def _held_out(rows: npt.NDArray[np.float32], wanted: Floats, codes: npt.NDArray[np.intp], seed: int) -> Floats:
    """Estimates for every answer by models that have not seen its question."""
    folds = min(_FOLDS, len(np.unique(codes)))
    if folds < 2:
        return np.tile(wanted.mean(axis=0), (len(wanted), 1))
    found = np.zeros_like(wanted)
    for train, test in GroupKFold(folds).split(rows, groups=codes):
        found[test] = Boosting(rows[train], wanted[train], seed).predict(rows[test])
    return found


def _corrected(
    frame: pd.DataFrame, table: FeatureTable, model: Boosting, per_question: Mapping[str, Residual]
) -> Floats:
    values = model.predict(table.rows)
    for question, places in frame.groupby("question_id").indices.items():
        if str(question) in per_question:
            values[places] += per_question[str(question)].predict(table.vectors[places])
    return values
