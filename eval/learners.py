"""What can be learned from a few labelled answers to a question: the calibration, and what it stands beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from sklearn.linear_model import LogisticRegression

from eval.boosting import kernel
from eval.label_questions import Floats, Question, Rows
from eval.measures import Prediction
from grader.agreement import THREE_WAY
from grader.correction import MIN_LABELS, fit
from grader.representation import Array

#: What the learner says of the test rows, given the labels of the known ones.
Learner = Callable[[Question, Rows, Rows], Prediction]

_KERNEL_PENALTY, _WORD_PENALTY = 0.35, 1.0
#: Chance that an answer contradicts the reference, before any label.
_CONTRADICTORY = 0.2


def plain(score: Floats) -> Prediction:
    """Marks whose two-way label follows from the cut .5."""
    return Prediction(np.clip(score, 0, 1))


def uncalibrated(question: Question, known: Rows, test: Rows) -> Prediction:
    """The grader as it is."""
    return plain(question.rows.prior[test])


def calibrated(question: Question, known: Rows, test: Rows) -> Prediction:
    """The grader calibrated to the labels; as it is where they are too few.

    Where the source has labels instead of marks, right or not is calibrated to them, as a teacher who marks right and
    wrong would do.
    """
    if len(known) < MIN_LABELS:
        return uncalibrated(question, known, test)
    score = corrected(question, known, test, question.target(known))
    if not question.frame["mapped"].iloc[0]:
        return plain(score)
    correct = corrected(question, known, test, question.correct(known).astype(np.float64))
    labels = _three_way(question, known, test, correct) if question.three_way else None
    return Prediction(score, correct=np.round(correct, 6) >= 0.5, label3=labels)


def corrected(question: Question, known: Rows, test: Rows, labels: Array) -> Array:
    """Calibrated marks, 0..1, of the test rows; the grader's own where a calibration changes nothing."""
    fitted = fit(question.rows.take(known), labels)
    prior = question.rows.prior[test]
    return np.where(question.rows.open[test] > 0, fitted.predict(question.rows.take(test)).mean, prior)


def _three_way(question: Question, known: Rows, test: Rows, correct: Array) -> Sequence[str]:
    """Contradictory is learned as right is, from the same chance for all; the likeliest of the three is taken."""
    labels = (question.frame["label3"].to_numpy()[known] == "contradictory").astype(np.float64)
    flat = replace(question.rows, prior=np.full(len(question.rows), _CONTRADICTORY))
    wrong = fit(flat.take(known), labels).predict(flat.take(test)).mean
    shares = {"correct": correct, "contradictory": wrong, "incorrect": 1 - correct - wrong}
    best = np.round(np.column_stack([shares[name] for name in THREE_WAY]), 6).argmax(axis=1)
    return [THREE_WAY[at] for at in best]


def kernel_only(question: Question, known: Rows, test: Rows) -> Prediction:
    """Kernel ridge over the vectors alone."""
    matrix = kernel(question.rows.vectors[known], question.rows.vectors[known]) + _KERNEL_PENALTY * np.eye(len(known))
    mean = float(question.target(known).mean())
    weights = np.linalg.solve(matrix, question.target(known) - mean)
    return plain(mean + kernel(question.rows.vectors[test], question.rows.vectors[known]) @ weights)


def nearest(question: Question, known: Rows, test: Rows) -> Prediction:
    """The labels of the nearest labelled answer."""
    closest = known[(question.rows.vectors[test] @ question.rows.vectors[known].T).argmax(axis=1)]
    labels = list(question.frame["label3"].to_numpy()[closest]) if question.three_way else None
    return Prediction(question.target(closest), correct=question.correct(closest), label3=labels)


def bag_of_words(question: Question, known: Rows, test: Rows) -> Prediction:
    """Ridge regression for the mark; logistic regression for right or not where the source has labels."""
    table, mean = question.counts, float(question.target(known).mean())
    matrix = table[known] @ table[known].T + _WORD_PENALTY * np.eye(len(known))
    score = mean + table[test] @ (table[known].T @ np.linalg.solve(matrix, question.target(known) - mean))
    correct = question.correct(known)
    if not question.frame["mapped"].iloc[0]:
        return plain(score)
    if correct.all() or not correct.any():
        return Prediction(np.clip(score, 0, 1), correct=np.full(len(test), correct[0]))
    model = LogisticRegression(C=10.0, solver="liblinear", random_state=0).fit(table[known], correct)
    return Prediction(np.clip(score, 0, 1), correct=model.predict(table[test]).astype(bool))


def question_mean(question: Question, known: Rows, test: Rows) -> Prediction:
    """The mean of the labels for everybody."""
    share = question.correct(known).mean()
    mean = float(question.target(known).mean())
    return Prediction(np.full(len(test), mean), correct=np.full(len(test), share >= 0.5))


def constant(question: Question, known: Rows, test: Rows) -> Prediction:
    """Half of the scale for everybody."""
    return plain(np.full(len(test), 0.5))


#: Learners that no label changes: they stand in the tables once.
LABEL_FREE = frozenset({"uncalibrated", "constant .5"})
LEARNERS: Mapping[str, Learner] = {
    "uncalibrated": uncalibrated,
    "calibrated": calibrated,
    "vectors without prior": kernel_only,
    "bag of words": bag_of_words,
    "nearest neighbour": nearest,
    "question mean": question_mean,
    "constant .5": constant,
}
