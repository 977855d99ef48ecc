"""What a calibration is worth: honest figures, what to do next, and the words a teacher understands.

Every figure is by leave-one-out or on answers that a fit has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from grader.agreement import qwk, rmse, round_to_scale
from grader.calibration import Calibration, ComponentFit, suspicious_rows
from grader.calibration_words import GOAL, in_words
from grader.cases import Details
from grader.correction import Fit, fit
from grader.i18n import mark_for_translation as _
from grader.i18n import translator
from grader.labels import duplicates_with_other_scores
from grader.report import Report, build_report
from grader.representation import Array
from grader.rubric import Item

SIZES = (5, 10, 20, 40, 80, 160, 320)
_DRAWS = 8
_FURTHEST = 5.0


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Figures at a number of labels, on labelled answers that were held out (mean of several draws)."""

    labels: int
    qwk: float
    rmse: float


@dataclass(frozen=True, slots=True)
class ComponentFigures:
    """How well the calibrated credit of a component meets the rater's points, by leave-one-out.

    Attributes:
        name: The component.
        labels: Responses whose points of it a rater gave.
        rmse: Error of the credit, 0..1.
        rmse_before: The same without calibration.
    """

    name: str
    labels: int
    rmse: float
    rmse_before: float


@dataclass(frozen=True, slots=True)
class Weighted:
    """Leave-one-out figures with each label counted for as many answers as it stands for, in points.

    Attributes:
        rmse: Error.
        mean_error: Machine minus rater on average.
    """

    rmse: float
    mean_error: float


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
        components: How well the credits of components that raters marked are met.
        weighted: Figures for all answers where labels were no random sample, else ``None``.
        rows: What each labelled row is called in sentences; counted from 1 by default.
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
    components: tuple[ComponentFigures, ...]
    weighted: Weighted | None
    rows: Sequence[int]
    sentences: tuple[str, ...] = ()

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
            "components": [asdict(each) for each in self.components],
            "weighted": None if self.weighted is None else asdict(self.weighted),
            "sentences": list(self.sentences),
        }

    def to_html(self, language: str = "en") -> str:
        """The report as a page, its heading and sentences in ``language`` too."""
        title = _title(self.calibration, language)
        return replace(self.report, title=title, notes=in_words(self, language)).to_html(language)


def study(
    calibration: Calibration,
    item: Item,
    responses: Sequence[str],
    scores: Sequence[float],
    *,
    rows: Sequence[int] | None = None,
    human2: Sequence[float | None] | None = None,
    subgroups: Sequence[str] | None = None,
    signature: str = "",
    language: str = "en",
    n_boot: int = 1000,
) -> Study:
    """Examines ``calibration``, which was fitted to ``responses`` and ``scores`` (points of the scale).

    Args:
        calibration: The calibration.
        item: Its item.
        responses: The labelled responses, in the order of the fit.
        scores: Their marks in points.
        rows: What to call each in sentences; counted from 1 by default.
        human2: Marks of a second rater, ``None`` where there is none.
        subgroups: Subgroup of each response; figures are then given for each.
        signature: What the marks depend on, for the report.
        language: Language of the sentences.
        n_boot: Resamples of the intervals.

    Raises:
        InputError: Lengths differ, or a second mark is outside the scale.
    """
    fitted, top = calibration.fitted, item.scale.max
    human = np.asarray(scores, dtype=np.float64)
    machine = round_to_scale(fitted.left_out.mean * top, scale_max=top, step=item.scale.step)
    confidence = fitted.within(fitted.left_out, machine / top, item.scale.step / top)
    details = Details(responses=responses, confidence=confidence, human2=human2, subgroups=subgroups)
    settings: dict[str, Any] = {"scale_max": top, "step": item.scale.step, "signature": signature, "n_boot": n_boot}
    curve = learning_curve(calibration)
    found = Study(
        calibration=calibration,
        report=build_report(human, machine, details=details, title=_title(calibration, language), **settings),
        before=build_report(human, fitted.rows.prior * top, title=f"{item.id} without calibration", **settings),
        baselines=_baselines(responses, human),
        curve=curve,
        labels_to_goal=labels_to_goal(curve),
        mislabelled=tuple(suspicious_rows(calibration)),
        contradictory=tuple(tuple(rows) for rows in duplicates_with_other_scores(responses, scores).values()),
        components=tuple(_component(part) for part in calibration.components),
        weighted=_weighted(fitted, machine - human),
        rows=range(1, len(human) + 1) if rows is None else rows,
    )
    sentences = in_words(found, language)
    return replace(found, sentences=sentences, report=replace(found.report, notes=sentences))


def _title(calibration: Calibration, language: str) -> str:
    message = _("Calibration {name} of {item}")
    return translator(language)(message).format(name=calibration.name, item=calibration.item)


def _component(part: ComponentFit) -> ComponentFigures:
    fitted = part.fitted
    after, before = (rmse(fitted.labels, credit) for credit in (fitted.left_out.mean, fitted.rows.prior))
    return ComponentFigures(part.name, len(fitted.labels), after, before)


def _weighted(fitted: Fit, error: Array) -> Weighted | None:
    """Figures for all answers; ``None`` where every label that counts stands for equally many."""
    counted = fitted.weights[fitted.rows.open > 0]
    if not counted.size or np.ptp(counted) < 1e-9:
        return None
    share = fitted.weights / fitted.weights.sum()
    return Weighted(float(np.sqrt(share @ error**2)), float(share @ error))


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
