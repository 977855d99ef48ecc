"""What a calibration is worth: honest figures, what to do next, and the words a teacher understands.

Every figure is by leave-one-out or on answers that a fit has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.agreement import qwk, rmse, round_to_scale
from grader.calibration import Calibration, suspicious_rows
from grader.cases import Details
from grader.correction import fit
from grader.labels import duplicates_with_other_scores
from grader.report import Report, build_report
from grader.representation import Array
from grader.rubric import Item

SIZES = (5, 10, 20, 40, 80, 160, 320)
GOAL = 0.8
_DRAWS = 8
_FURTHEST = 5.0


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Figures at a number of labels, on labelled answers that were held out (mean of several draws)."""

    labels: int
    qwk: float
    rmse: float


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A calibration examined.

    Attributes:
        calibration: It.
        report: Agreement of leave-one-out marks with the teacher's, with pictures and worst disagreements.
        before: The same figures of the uncalibrated scorer.
        baselines: RMSE in points of marks that know nothing of the answer: question mean and length.
        curve: Figures by number of labels.
        labels_to_goal: Labels at which QWK should reach .80; ``None`` if it has, or if it is out of sight.
        mislabelled: Rows (from 0) whose label fits badly to all others, worst first.
        contradictory: Groups of rows with the same answer and different labels.
        sentences: All of that in words.
    """

    calibration: Calibration
    report: Report
    before: Report
    baselines: dict[str, float]
    curve: tuple[CurvePoint, ...]
    labels_to_goal: int | None
    mislabelled: tuple[int, ...]
    contradictory: tuple[tuple[int, ...], ...]
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "calibration": self.calibration.name,
            "item": self.calibration.item,
            "calibrated": self.report.to_dict(),
            "uncalibrated": self.before.to_dict(),
            "baselines": self.baselines,
            "learning_curve": [{"labels": p.labels, "qwk": p.qwk, "rmse": p.rmse} for p in self.curve],
            "labels_to_goal": self.labels_to_goal,
            "mislabelled_rows": list(self.mislabelled),
            "contradictory_rows": [list(rows) for rows in self.contradictory],
            "sentences": list(self.sentences),
        }


def study(
    calibration: Calibration,
    item: Item,
    responses: Sequence[str],
    scores: Sequence[float],
    *,
    human2: Sequence[float | None] | None = None,
    signature: str = "",
    n_boot: int = 1000,
) -> Study:
    """Examines ``calibration``, which was fitted to ``responses`` and ``scores`` (points of the scale)."""
    fitted, top = calibration.fitted, item.scale.max
    human = np.asarray(scores, dtype=np.float64)
    machine = round_to_scale(fitted.left_out.mean * top, scale_max=top, step=item.scale.step)
    confidence = fitted.within(fitted.left_out, machine / top, item.scale.step / top)
    details = Details(responses=responses, confidence=confidence, human2=human2)
    curve = learning_curve(calibration)
    mislabelled = tuple(suspicious_rows(calibration))
    contradictory = tuple(tuple(rows) for rows in duplicates_with_other_scores(responses, scores).values())
    settings: dict[str, Any] = {"scale_max": top, "step": item.scale.step, "signature": signature, "n_boot": n_boot}
    before = build_report(human, fitted.rows.prior * top, title=f"{item.id} without calibration", **settings)
    baselines = _baselines(responses, human)
    goal = labels_to_goal(curve)
    sentences = _sentences(calibration, human, machine, before, baselines, goal, mislabelled, contradictory)
    title = f"Calibration {calibration.name} of {item.id}"
    report = build_report(human, machine, details=details, title=title, notes=sentences, **settings)
    return Study(calibration, report, before, baselines, curve, goal, mislabelled, contradictory, sentences)


def _baselines(responses: Sequence[str], human: Array) -> dict[str, float]:
    """RMSE of leave-one-out marks from the other answers' mean, and from a line through their lengths."""
    n = len(human)
    mean = (human.sum() - human) / (n - 1)
    words = np.array([len(text.split()) for text in responses], dtype=np.float64)
    table = np.column_stack([np.ones(n), words])
    hat = table @ np.linalg.pinv(table)
    residual = (human - hat @ human) / np.maximum(1 - np.diag(hat), 1e-6)
    return {"question mean": rmse(human, mean), "length": float(np.sqrt(np.mean(residual**2)))}


def learning_curve(calibration: Calibration) -> tuple[CurvePoint, ...]:
    """QWK and RMSE on held-out labels when only some of the labels are used."""
    fitted, top, step = calibration.fitted, calibration.scale_max, calibration.step
    n = len(fitted.labels)
    points = []
    for size in [size for size in SIZES if size <= 0.8 * n]:
        agreements, errors = [], []
        for seed in range(_DRAWS):
            order = np.random.default_rng([seed, n]).permutation(n)
            used, kept = order[:size], order[size:]
            part = fit(fitted.rows.take(used), fitted.labels[used], kernel=fitted.kernel, adapt=False)
            marks = round_to_scale(part.predict(fitted.rows.take(kept)).mean * top, scale_max=top, step=step)
            truth = round_to_scale(fitted.labels[kept] * top, scale_max=top, step=step)
            agreements.append(qwk(truth, marks, scale_max=top, step=step))
            errors.append(rmse(truth, marks))
        points.append(CurvePoint(size, float(np.nanmean(agreements)), float(np.mean(errors))))
    return tuple(points)


def labels_to_goal(curve: Sequence[CurvePoint], goal: float = GOAL) -> int | None:
    """Number of labels at which QWK should reach ``goal``, from a line through 1 - QWK over 1 / sqrt(labels).

    ``None`` if it is reached already, if there are fewer than three points, or if it is more than five times as many
    labels away as the curve is long.
    """
    if len(curve) < 3 or curve[-1].qwk >= goal:
        return None
    at = np.array([1 / np.sqrt(point.labels) for point in curve])
    slope, rest = np.polyfit(at, [1 - point.qwk for point in curve], 1)
    if slope <= 0 or 1 - goal - rest <= 0:
        return None
    needed = int(np.ceil((slope / (1 - goal - rest)) ** 2))
    return needed if needed <= _FURTHEST * curve[-1].labels else None


def _sentences(
    calibration: Calibration,
    human: Array,
    machine: Array,
    before: Report,
    baselines: dict[str, float],
    goal: int | None,
    mislabelled: Sequence[int],
    contradictory: Sequence[Sequence[int]],
) -> tuple[str, ...]:
    top, n = calibration.scale_max, len(human)
    off = float(np.mean(machine - human))
    error = rmse(human, machine)
    found = [
        f"Fitted to {n} labelled answers; every figure here is for answers left out of the fit.",
        f"A mark is off by {error:.2f} points (root mean square); without calibration by "
        f"{before.agreement.metrics['rmse']:.2f}, by giving everybody the mean {baselines['question mean']:.2f}.",
    ]
    if abs(off) >= 0.02 * top:
        found.append(f"It marks {abs(off):.1f} points too {'high' if off > 0 else 'low'} on average.")
    weak = human <= top / 3
    if weak.sum() >= 3 and abs(shift := float(np.mean((machine - human)[weak]))) >= 0.04 * top:
        found.append(f"Weak answers get {abs(shift):.1f} points too {'many' if shift > 0 else 'few'} on average.")
    if goal and goal > n:
        found.append(f"About {goal - n} more labels should bring QWK to {GOAL:g}.")
    line = calibration.operating
    if line.share:
        found.append(
            f"At the risk you set (at most {calibration.policy.risk:.0%} of marks off by more than "
            f"{calibration.policy.tolerance:g} points) it can mark {line.share:.0%} of answers by itself."
        )
    else:
        found.append("At the risk you set it cannot yet mark any answer by itself: label more, or accept more risk.")
    if mislabelled:
        rows = ", ".join(str(row + 1) for row in mislabelled[:8])
        found.append(f"Look again at the labels of rows {rows}: they fit badly to all the others.")
    if contradictory:
        rows = "; ".join(", ".join(str(row + 1) for row in group) for group in contradictory[:5])
        found.append(f"The same answer has different labels in rows {rows}; all were kept.")
    return tuple(found)
