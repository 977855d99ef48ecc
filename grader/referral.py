"""Scored or referred to a person, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.correction import Fit
from grader.representation import Array

#: Above this share of the prior uncertainty a response is unlike every labelled one.
UNFAMILIAR = 0.97


@dataclass(frozen=True, slots=True)
class Policy:
    """What a teacher is willing to risk.

    Attributes:
        tolerance: A mark off by more than this many points is an error.
        risk: Share of errors allowed among the marks that are not referred, 0..1.
        pass_mark: Marks whose interval crosses it are referred; ``None`` if there is none.
    """

    tolerance: float = 1.0
    risk: float = 0.02
    pass_mark: float | None = None


@dataclass(frozen=True, slots=True)
class Operating:
    """Where a policy puts the line for one calibrated item.

    Attributes:
        threshold: Marks with at least this probability of being within the tolerance are given; above 1 none is.
        share: Share of responses that would be marked by the machine, 0..1, from the labelled ones it may mark.
        errors: Share of errors among them, by leave-one-out.
        bound: Upper limit of that share that the line was chosen by.
    """

    threshold: float
    share: float
    errors: float
    bound: float


def operating_point(fit: Fit, policy: Policy, *, scale_max: float) -> Operating:
    """The line that lets the machine mark as much as it can within the teacher's risk.

    Walks down the leave-one-out confidences and stops at the last place where ``(errors + 1) / (marked + 1)``, the
    conformal bound on the risk of the next mark (Angelopoulos et al. 2022), is within the risk.
    """
    tolerance = policy.tolerance / scale_max
    confidence = fit.within(fit.left_out, fit.left_out.mean, tolerance)
    wrong = np.abs(fit.labels - fit.left_out.mean) > tolerance + 1e-9
    order = np.argsort(-confidence, kind="stable")
    marked = np.cumsum(fit.weights[order])
    errors = np.cumsum((fit.weights * wrong)[order])
    bounds = (errors + 1) / (marked + 1)
    allowed = np.flatnonzero(bounds <= policy.risk)
    if not len(allowed):
        return Operating(1.01, 0.0, 0.0, 1.0)
    last = int(allowed[-1])
    threshold = float(confidence[order[last]])
    kept = fit.weights * (confidence >= threshold)
    return Operating(threshold, float(kept.mean()), float(kept @ wrong / kept.sum()), float(bounds[last]))


def near(low: Array, high: Array, pass_mark: float | None) -> NDArray[np.bool_]:
    """Whether each interval crosses the pass mark (all in points), shape (n,)."""
    if pass_mark is None:
        return np.zeros(len(low), dtype=bool)
    return (low < pass_mark) & (high >= pass_mark)
