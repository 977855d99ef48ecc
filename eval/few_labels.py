"""What a few labelled answers a question are worth, after Bexte, Horbach & Zesch 2023.

For each question some of its answers are drawn at random as labelled, the same ones for every learner; the mean over
the seeds is reported. Where a data set has official splits the labels come from train and the test is UA; elsewhere
a third of each question's answers is kept for testing. Nothing is tuned on any of them, so the four answers that the
paper keeps for validation are not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression

from eval.baselines import words
from eval.boosting import kernel
from eval.frames import Frames, english, items_of, scale_step, split_rows, without_blanks
from eval.grading import GraderSystem, warm
from eval.measures import Prediction, measure_runs
from eval.progress import Progress, silent
from eval.protocols import Line, training_rows
from grader.correction import MIN_LABELS, fit
from grader.representation import Representation

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

SIZES = (5, 10, 20, 40, 80)
LEAST_TEST = 3
_KERNEL_PENALTY, _WORD_PENALTY = 0.35, 1.0


@dataclass(frozen=True, slots=True)
class Question:
    """All answers to one question, labelled or not.

    Attributes:
        frame: The answers.
        rows: What the grader knows of them before any label: marks and vectors.
        counts: Which words occur, shape (n, v).
        pool: Rows that labels are drawn from.
        test: Rows that are tested on, or ``None``: the last third of each drawing of ``pool``.
    """

    frame: pd.DataFrame
    rows: Representation
    counts: Floats
    pool: Rows
    test: Rows | None

    def draw(self, seed: int) -> tuple[Rows, Rows]:
        """Labelled rows in the order in which they are used, and test rows."""
        order = self.pool[np.random.default_rng((seed, len(self.pool))).permutation(len(self.pool))]
        if self.test is not None:
            return order, self.test
        kept = max(len(order) // 3, min(LEAST_TEST, len(order) - 1))
        return order[:-kept], order[-kept:]

    def target(self, rows: Rows) -> Floats:
        """Marks of the rows on 0..1."""
        return self.frame["fraction"].to_numpy(np.float64)[rows]


@dataclass(frozen=True, slots=True)
class Plan:
    """How the curve is drawn."""

    sizes: tuple[int, ...] = SIZES
    seeds: int = 20
    n_boot: int = 1000
    seed: int = 0
    progress: Progress = silent


Learner = Callable[[Question, Rows, Rows], tuple[Floats, npt.NDArray[np.bool_]]]


def few_labels(
    frames: Frames,
    fit_prior: Callable[[Frames], GraderSystem],
    plan: Plan,
    learners: Mapping[str, Learner] | None = None,
) -> list[Line]:
    """The learning curve of every learner on every data set in English.

    Args:
        frames: Prepared frames.
        fit_prior: Gives the grader before any label; it is fitted to the other data sets only.
        plan: Sizes, seeds, resamples.
        learners: By name; by default `LEARNERS`.
    """
    usable = english(frames)
    lines: list[Line] = []
    for name, frame in usable.items():
        plan.progress(f"few-labels: {name}, marks before any label")
        others = {other: training_rows(rows) for other, rows in usable.items() if other != name}
        questions = _questions(frame, fit_prior(others))
        sizes = _sizes([len(question.draw(0)[0]) for question in questions], plan.sizes)
        for learner, learn in (learners or LEARNERS).items():
            plan.progress(f"few-labels: {name}, {learner}")
            for size in [0] if learner in LABEL_FREE and sizes else sizes:
                lines.append(_line(name, learner, learn, size, questions, scale_step(frame), plan))
    return lines


def _sizes(labels: list[int], wanted: tuple[int, ...]) -> list[int]:
    """The sizes for which at least half of the questions have enough labels, and last all labels there are."""
    kept = [size for size in wanted if sum(count > size for count in labels) * 2 >= max(len(labels), 1)]
    return [*kept, max(labels)] if labels else []


def _questions(frame: pd.DataFrame, system: GraderSystem) -> list[Question]:
    train, test = (without_blanks(split_rows(frame, split)) for split in ("train", "test_ua"))
    both = pd.concat([train, test], ignore_index=True) if len(test) else without_blanks(training_rows(frame))
    items = items_of(both)
    pairs = [(items[str(q)], str(a)) for q, a in zip(both["question_id"], both["answer"], strict=True)]
    warm(system.grader.encoder, pairs, system.grader.index)
    found = []
    for name, places in sorted(both.groupby("question_id").indices.items()):
        rows = both.iloc[places].reset_index(drop=True)
        is_test = (rows["split"] == "test_ua").to_numpy() if len(test) else np.zeros(len(rows), dtype=bool)
        pool = np.flatnonzero(~is_test)
        if (len(test) and not is_test.any()) or len(pool) < 2 + LEAST_TEST * (not len(test)):
            continue
        held = np.flatnonzero(is_test) if len(test) else None
        known = system.grader.represent(items[str(name)], list(rows["answer"]))
        found.append(Question(rows, known, _counts(rows), pool, held))
    return found


def _counts(rows: pd.DataFrame) -> Floats:
    """Words of the answers as 0 and 1, each answer of unit length, shape (n, v)."""
    listed = [set(words(str(text))) for text in rows["answer"]]
    vocabulary = {word: at for at, word in enumerate(sorted(set().union(*listed)))}
    table = np.zeros((len(listed), max(len(vocabulary), 1)))
    for row, found in enumerate(listed):
        table[row, [vocabulary[word] for word in found]] = 1.0
    return np.asarray(table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9))


def _line(
    name: str, learner: str, learn: Learner, size: int, questions: list[Question], step: float, plan: Plan
) -> Line:
    frames, runs, labels = [], [], []
    for seed in range(plan.seeds):
        parts = []
        for question in questions:
            order, test = question.draw(plan.seed + seed)
            parts.append((question.frame.iloc[test], *learn(question, order[:size], test)))
            labels.append(min(size, len(order)))
        frames.append(pd.concat([part[0] for part in parts], ignore_index=True))
        score, correct = (np.concatenate([part[at] for part in parts]) for at in (1, 2))
        runs.append(Prediction(score, correct=correct))
    return Line(
        protocol="few-labels",
        data=name,
        split="UA" if questions[0].test is not None else "all",
        system=learner,
        n=len(frames[0]),
        questions=len(questions),
        measures=measure_runs(frames, runs, step=step, n_boot=plan.n_boot, seed=plan.seed),
        mapped=bool(frames[0]["mapped"].any()),
        labels=float(np.mean(labels)),
        seeds=plan.seeds,
    )


# --- learners -------------------------------------------------------------------------------------------


def _plain(score: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    score = np.clip(score, 0, 1)
    return score, np.round(score, 6) >= 0.5


def _uncalibrated(question: Question, known: Rows, test: Rows) -> tuple[Floats, npt.NDArray[np.bool_]]:
    return _plain(question.rows.prior[test])


def _calibrated(question: Question, known: Rows, test: Rows) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The grader with a calibration fitted to the labels; as it is where they are too few."""
    if len(known) < MIN_LABELS:
        return _uncalibrated(question, known, test)
    fitted = fit(question.rows.take(known), question.target(known))
    return _plain(fitted.predict(question.rows.take(test)).mean)


def _kernel_only(question: Question, known: Rows, test: Rows) -> tuple[Floats, npt.NDArray[np.bool_]]:
    matrix = kernel(question.rows.vectors[known], question.rows.vectors[known]) + _KERNEL_PENALTY * np.eye(len(known))
    mean = float(question.target(known).mean())
    weights = np.linalg.solve(matrix, question.target(known) - mean)
    return _plain(mean + kernel(question.rows.vectors[test], question.rows.vectors[known]) @ weights)


def _nearest(question: Question, known: Rows, test: Rows) -> tuple[Floats, npt.NDArray[np.bool_]]:
    closest = known[(question.rows.vectors[test] @ question.rows.vectors[known].T).argmax(axis=1)]
    return question.target(closest), question.frame["correct"].to_numpy(bool)[closest]


def _bag_of_words(question: Question, known: Rows, test: Rows) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Ridge regression for the mark; logistic regression for right or not where the source has labels."""
    table, mean = question.counts, float(question.target(known).mean())
    matrix = table[known] @ table[known].T + _WORD_PENALTY * np.eye(len(known))
    score = mean + table[test] @ (table[known].T @ np.linalg.solve(matrix, question.target(known) - mean))
    correct = question.frame["correct"].to_numpy(bool)[known]
    if not question.frame["mapped"].iloc[0]:
        return _plain(score)
    if correct.all() or not correct.any():
        return np.clip(score, 0, 1), np.full(len(test), correct[0])
    model = LogisticRegression(C=10.0, solver="liblinear", random_state=0).fit(table[known], correct)
    return np.clip(score, 0, 1), model.predict(table[test]).astype(bool)


def _mean(question: Question, known: Rows, test: Rows) -> tuple[Floats, npt.NDArray[np.bool_]]:
    share = question.frame["correct"].to_numpy(bool)[known].mean()
    return np.full(len(test), question.target(known).mean()), np.full(len(test), share >= 0.5)


def _constant(question: Question, known: Rows, test: Rows) -> tuple[Floats, npt.NDArray[np.bool_]]:
    return _plain(np.full(len(test), 0.5))


#: Learners that no label changes: they stand in the tables once.
LABEL_FREE = frozenset({"uncalibrated", "constant .5"})
LEARNERS: Mapping[str, Learner] = {
    "uncalibrated": _uncalibrated,
    "calibrated": _calibrated,
    "vectors without prior": _kernel_only,
    "bag of words": _bag_of_words,
    "nearest neighbour": _nearest,
    "question mean": _mean,
    "constant .5": _constant,
}
