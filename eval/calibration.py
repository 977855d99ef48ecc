"""How calibrated marks improve with labels: the protocol of Bexte et al. 2023 on every data set at hand.

For each question, n labelled answers are drawn with a seed, the item is calibrated with them, and the answers kept
for testing are marked. Beside it stand the uncalibrated scorer and what a few labels are worth without a rubric:
question mean, bag of words, nearest neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge

from grader import Grader, Item
from grader.agreement import TWO_WAY, f1
from grader.correction import Kernel, fit
from grader.representation import Representation

Array = NDArray[np.float64]
SIZES = (5, 10, 20, 40, 80, 160)
LEAST_FOR_TEST = 10
FULL_MARKS = 0.99


@dataclass(frozen=True, eq=False)
class Question:
    """One question's answers: those that may be labelled and those kept for testing.

    Attributes:
        name: Question id.
        texts: Answers.
        rows: Their representation.
        labels: Rater's marks as shares of the scale.
        pool: Indices of answers that may be labelled.
        test: Indices of answers kept for testing; empty if they are drawn from the pool.
    """

    name: str
    texts: Sequence[str]
    rows: Representation
    labels: Array
    pool: NDArray[np.intp]
    test: NDArray[np.intp]


def questions(
    frame: pd.DataFrame, grader: Grader, cache: Path, *, test_split: str | None, two_way: bool = False
) -> list[Question]:
    """The questions of a data set frame, represented once and kept in ``cache``.

    ``test_split`` names the split that is tested on; without it answers are held out of the pool. With ``two_way`` a
    label is 1 for full marks and 0 for everything else, as SemEval's two-way task has it.
    """
    if test_split:
        frame = frame[frame["split"].isin(["train", test_split])]
    found = []
    for name, rows in frame.groupby("question_id", sort=True):
        first = rows.iloc[0]
        item = Item.from_reference(str(first["question"]), [str(r) for r in first["reference_answers"]])
        texts = [str(text) for text in rows["answer"]]
        represented = _represent(grader, item, texts, cache)
        labels = (rows["score"] / rows["max_score"]).to_numpy(dtype=np.float64)
        labels = (labels >= FULL_MARKS).astype(np.float64) if two_way else labels
        is_test = (rows["split"] == test_split).to_numpy() if test_split else np.zeros(len(rows), dtype=bool)
        found.append(Question(str(name), texts, represented, labels, np.flatnonzero(~is_test), np.flatnonzero(is_test)))
    return found


def _represent(grader: Grader, item: Item, texts: Sequence[str], cache: Path) -> Representation:
    import hashlib

    key = "\n".join([grader.signature(item), item.content_hash, *texts]).encode("utf-8", "replace")
    file = cache / "representations" / f"{hashlib.sha256(key).hexdigest()[:24]}.npz"
    if file.is_file():
        with np.load(file) as stored:
            return Representation(**{name: stored[name] for name in stored.files})
    rows = grader.represent(item, texts)
    file.parent.mkdir(parents=True, exist_ok=True)
    columns: dict[str, Any] = dict(rows.columns())
    np.savez_compressed(file, **columns)
    return rows


def draws(question: Question, size: int | None, seeds: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """(labelled, test) index pairs, one a seed; all of the pool is labelled if ``size`` is ``None``."""
    for seed in range(seeds):
        order = np.random.default_rng([seed, len(question.pool)]).permutation(question.pool)
        keep = 0 if len(question.test) else LEAST_FOR_TEST
        count = len(order) - keep if size is None else min(size, len(order) - keep)
        if count < 3:
            continue
        test = question.test if len(question.test) else order[count:]
        yield order[:count], test


def marks(question: Question, labelled: NDArray[np.intp], test: NDArray[np.intp], kernel: Kernel) -> dict[str, Array]:
    """Marks of the test answers by every method, as shares of the scale."""
    labels = question.labels[labelled]
    texts, wanted = [question.texts[i] for i in labelled], [question.texts[i] for i in test]
    fitted = fit(question.rows.take(labelled), labels, kernel=kernel)
    similarity = question.rows.vectors[test] @ question.rows.vectors[labelled].T
    return {
        "calibrated": fitted.predict(question.rows.take(test)).mean,
        "uncalibrated": question.rows.prior[test],
        "question mean": np.full(len(test), labels.mean()),
        "bag of words": _bag_of_words(texts, labels, wanted),
        "nearest neighbour": labels[similarity.argmax(axis=1)],
    }


def _bag_of_words(texts: Sequence[str], labels: Array, wanted: Sequence[str]) -> Array:
    """Logistic regression (two labels) or ridge on tf-idf of words and pairs."""
    vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    try:
        table, other = vectors.fit_transform(texts), vectors.transform(wanted)
    except ValueError:
        return np.full(len(wanted), labels.mean())
    if len(set(labels.tolist())) == 2 and set(labels.tolist()) <= {0.0, 1.0}:
        return np.asarray(LogisticRegression(C=10).fit(table, labels > 0.5).predict_proba(other)[:, 1])
    return np.asarray(np.clip(Ridge(alpha=1.0).fit(table, labels).predict(other), 0, 1))


def learning_curve(
    found: Sequence[Question], sizes: Sequence[int | None], *, seeds: int, kernel: Kernel | None = None
) -> pd.DataFrame:
    """RMSE (0..1) and two-way macro-F1 at .5 of each method and number of labels, mean and spread over seeds."""
    rows: list[dict[str, object]] = []
    for size in sizes:
        per_seed: dict[int, dict[str, list[Array]]] = {}
        truth: dict[int, list[Array]] = {}
        for question in found:
            for seed, (labelled, test) in enumerate(draws(question, size, seeds)):
                for method, values in marks(question, labelled, test, kernel or Kernel()).items():
                    per_seed.setdefault(seed, {}).setdefault(method, []).append(values)
                truth.setdefault(seed, []).append(question.labels[test])
        rows.extend(_summary(size, per_seed, truth))
    return pd.DataFrame(rows)


def _summary(
    size: int | None, per_seed: Mapping[int, Mapping[str, list[Array]]], truth: Mapping[int, list[Array]]
) -> Iterator[dict[str, object]]:
    for method in next(iter(per_seed.values()), {}):
        rmse, two_way = [], []
        for seed, methods in per_seed.items():
            human, machine = np.concatenate(truth[seed]), np.concatenate(methods[method])
            rmse.append(float(np.sqrt(np.mean((human - machine) ** 2))))
            labels = [np.where(values >= cut, *TWO_WAY[::-1]) for values, cut in ((human, FULL_MARKS), (machine, 0.5))]
            two_way.append(f1(labels[0].tolist(), labels[1].tolist(), TWO_WAY))
        yield {
            "labels": "all" if size is None else size,
            "method": method,
            "rmse": np.mean(rmse),
            "rmse_sd": np.std(rmse),
            "f1": np.mean(two_way),
            "f1_sd": np.std(two_way),
        }
