"""Checked arrays, bootstrap intervals clustered by question, and how far a confidence can be trusted.

Everything takes arrays and gives numbers. Whatever cannot be computed (no variance, one question) is
``nan``, never an exception; whatever should not have been passed in is an ``InputError`` that names the
position, counted from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from grader.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Metric = Callable[..., float]
Gappy = npt.ArrayLike | Sequence[float | None]
"""Marks where ``nan`` or ``None`` says that there is none."""


def checked(values: Gappy, name: str, *, missing: bool = False) -> FloatArray:
    """Return ``values`` as a float array of shape (n,), every value finite.

    Args:
        values: Numbers, shape (n,).
        name: What to call them in messages.
        missing: Let ``nan`` (or ``None``) through as "no value here".

    Raises:
        InputError: Nothing in it, not numbers, more than one dimension, or a value that is not finite.
    """
    try:
        raw = np.asarray(values)
        if raw.dtype.kind in "USO" and any(isinstance(value, str) for value in raw.flat):
            raise TypeError("text")  # numpy would read "1" as 1.0 and let a label column pass for marks
        array: FloatArray = raw.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: every value must be a number, not {values!r:.80}") from error
    if array.ndim != 1:
        raise InputError(f"{name}: shape {array.shape}, but one value per response is needed, shape (n,)")
    if not array.size:
        raise InputError(f"{name}: empty, at least one response is needed")
    bad = np.isinf(array) if missing else ~np.isfinite(array)
    if bad.any():
        at = int(np.argmax(bad))
        raise InputError(f"{name}: {array[at]} at position {at} is not a finite number")
    return array


def checked_pair(
    first: npt.ArrayLike, second: npt.ArrayLike, names: tuple[str, str] = ("human", "machine")
) -> tuple[FloatArray, FloatArray]:
    """Return both as finite float arrays of one shape (n,), see `checked`.

    Raises:
        InputError: As `checked`, or the lengths differ.
    """
    a, b = checked(first, names[0]), checked(second, names[1])
    same_length(len(a), names[0], len(b), names[1])
    return a, b


def same_length(first: int, first_name: str, second: int, second_name: str) -> None:
    """Return nothing when the two counts of responses are equal, and raise ``InputError`` otherwise."""
    if first != second:
        raise InputError(f"{first_name} has {first} values but {second_name} has {second}; they must be equal")


def group_codes(groups: Sequence[object] | npt.NDArray[Any], n: int, name: str) -> tuple[list[str], IntArray]:
    """Return the sorted distinct labels as text and, for each response, which of them it has (0..k-1).

    Raises:
        InputError: Not ``n`` labels, or a label is ``None`` or ``nan``.
    """
    same_length(len(groups), name, n, "the scores")
    if isinstance(groups, np.ndarray) and groups.dtype.kind in "iu":
        numbers, codes = np.unique(groups, return_inverse=True)
        return [str(number) for number in numbers], codes
    for at, label in enumerate(groups):
        if label is None or str(label) in ("nan", "<NA>"):
            raise InputError(f"{name}: {label} at position {at} is no label; give each response one")
    labels, codes = np.unique(np.array([str(label) for label in groups]), return_inverse=True)
    return [str(label) for label in labels], codes


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its percentile bootstrap interval.

    Attributes:
        value: The metric on all responses; ``nan`` where it is undefined.
        low: Lower end, in the metric's unit.
        high: Upper end. Both ends are ``nan`` with fewer than two units, or when the metric was undefined
            on more than half of the resamples.
        level: Coverage aimed at, for example 0.95.
        units: How many units were drawn from: questions, or responses where no groups were given.
        n_boot: How many resamples were drawn.
        undefined: On how many of them the metric was ``nan``; these are left out of the percentiles. All
            of them with fewer than two units.
    """

    value: float
    low: float
    high: float
    level: float
    units: int
    n_boot: int
    undefined: int


def bootstrap_intervals(
    metrics: Mapping[str, Metric],
    *arrays: npt.ArrayLike,
    groups: Sequence[object] | npt.NDArray[Any] | None = None,
    n_boot: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval]:
    """Return an `Interval` for each metric, all from the same resamples, in the metrics' own units.

    Responses to one question resemble each other, so whole questions are drawn with replacement (the
    cluster bootstrap: Davison & Hinkley 1997, section 3.8); single responses are drawn where ``groups`` is
    ``None``. Each resample is one vectorised draw and one call of every metric. The order of the responses
    within and between the questions does not matter; the seed does.

    Args:
        metrics: Name to function; each is called with the resampled ``arrays``, in their order.
        arrays: What the metrics take, each with one row per response: shape (n,) or (n, ...).
        groups: The question of each response, length n.
        n_boot: Resamples, at least 1.
        level: Coverage, between 0 and 1.
        seed: Same seed, same interval.

    Raises:
        InputError: Lengths differ, nothing in it, ``n_boot`` or ``level`` out of range.
    """
    data = [np.asarray(array) for array in arrays]
    if not data or not len(data[0]):
        raise InputError("bootstrap: empty, at least one response is needed")
    if n_boot < 1 or not 0 < level < 1:
        raise InputError(f"bootstrap: n_boot {n_boot} must be at least 1 and level {level} between 0 and 1")
    n = len(data[0])
    for number, array in enumerate(data):
        same_length(len(array), f"array {number}", n, "array 0")
    codes = np.arange(n) if groups is None else group_codes(groups, n, "groups")[1]
    units = int(codes.max()) + 1
    values = np.full((n_boot, len(metrics)), np.nan)
    if units > 1:
        rng = np.random.default_rng(seed)
        for row in values:
            drawn = np.bincount(rng.integers(units, size=units), minlength=units)
            rows = np.repeat(np.arange(n), drawn[codes])
            sample = [array[rows] for array in data]
            row[:] = [metric(*sample) for metric in metrics.values()]
    return {
        name: _percentiles(metric(*data), values[:, column], level, units)
        for column, (name, metric) in enumerate(metrics.items())
    }


def _percentiles(value: float, values: FloatArray, level: float, units: int) -> Interval:
    usable = values[~np.isnan(values)]
    low = high = math.nan
    if len(usable) * 2 >= len(values):
        low, high = (float(end) for end in np.quantile(usable, [(1 - level) / 2, (1 + level) / 2]))
    return Interval(float(value), low, high, level, units, len(values), len(values) - len(usable))


def bootstrap_interval(
    metric: Metric,
    *arrays: npt.ArrayLike,
    groups: Sequence[object] | npt.NDArray[Any] | None = None,
    n_boot: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the `Interval` of one metric in its own unit; arguments and errors as `bootstrap_intervals`.

    >>> from grader.agreement import mae
    >>> found = bootstrap_interval(mae, [0, 1, 2, 3], [1, 1, 2, 2], groups=["q1", "q1", "q2", "q2"])
    >>> found.value, found.low, found.high, found.units
    (0.5, 0.5, 0.5, 2)
    """
    found = bootstrap_intervals({"": metric}, *arrays, groups=groups, n_boot=n_boot, level=level, seed=seed)
    return found[""]


@dataclass(frozen=True, slots=True)
class ConfidenceBin:
    """One bar of a reliability diagram: the confidences in (low, high] and how often they were right.

    Attributes:
        low: Left edge, open (closed in the first bin).
        high: Right edge, closed.
        n: Responses in the bin, at least 1.
        confidence: Mean confidence of them, 0..1.
        accuracy: Share of them that was right, 0..1.
    """

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float


def confidence_bins(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    *,
    bins: int = 10,
    scheme: Literal["equal_width", "equal_mass"] = "equal_width",
) -> tuple[ConfidenceBin, ...]:
    """Return the bins that hold at least one response, from low to high confidence (0..1).

    Args:
        confidence: Stated chance of being right, 0..1, shape (n,).
        correct: 1 where the mark was right, 0 where it was not, shape (n,).
        bins: How many bins, at least 1.
        scheme: ``equal_width`` cuts 0..1 into equal parts; ``equal_mass`` cuts at the quantiles of the
            confidences. Equal confidences always share a bin, so there may be fewer bins than asked for.

    Raises:
        InputError: As `checked_pair`, a value outside 0..1, ``bins`` below 1, or an unknown scheme.
    """
    stated, right = checked_pair(confidence, correct, ("confidence", "correct"))
    for name, array in (("confidence", stated), ("correct", right)):
        if (array < 0).any() or (array > 1).any():
            at = int(np.argmax((array < 0) | (array > 1)))
            raise InputError(f"{name}: {array[at]} at position {at} is outside 0..1")
    if bins < 1 or scheme not in ("equal_width", "equal_mass"):
        raise InputError(f"bins {bins} must be at least 1, scheme {scheme!r} equal_width or equal_mass")
    cuts = np.arange(1, bins) / bins
    if scheme == "equal_mass":
        cuts = np.unique(np.quantile(stated, cuts, method="inverted_cdf"))
    edges = [0.0, *cuts.tolist(), 1.0]
    where = np.searchsorted(cuts, stated, side="left")
    found = []
    for at in np.unique(where):
        x, y = stated[where == at], right[where == at]
        found.append(ConfidenceBin(edges[at], edges[at + 1], len(x), float(x.mean()), float(y.mean())))
    return tuple(found)


def ece(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    *,
    bins: int = 10,
    scheme: Literal["equal_width", "equal_mass"] = "equal_width",
) -> float:
    """Return the expected calibration error, 0 (as often right as stated) to 1.

    The mean over the bins of \\|accuracy - confidence\\|, weighted by their responses; by default ten bins of
    equal width (Guo et al. 2017; Naeini et al. 2015), equal mass as in Nixon et al. 2019. Arguments and
    errors as `confidence_bins`.

    >>> round(ece([0.9, 0.9, 0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0, 1, 0]), 4)
    0.1333
    """
    found = confidence_bins(confidence, correct, bins=bins, scheme=scheme)
    return sum(b.n * abs(b.accuracy - b.confidence) for b in found) / sum(b.n for b in found)


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """What is left wrong when only the surest responses are marked by machine.

    Attributes:
        coverage: Share of the responses kept, k/n for k = 1..n, shape (n,).
        risk: Mean loss of the k surest, in the unit of the loss, shape (n,).
        area: Mean of ``risk`` (AURC), lower is better.
    """

    coverage: FloatArray
    risk: FloatArray
    area: float


def risk_coverage(confidence: npt.ArrayLike, loss: npt.ArrayLike) -> RiskCoverage:
    """Return the risk-coverage curve and its area, in the unit of the loss, from 0.

    Area as in Geifman, Uziel & El-Yaniv 2019 (the mean risk over all n coverages). Equal confidences are
    taken in expected order: each carries the mean loss of its ties, so input order cannot matter.

    Args:
        confidence: Any number, higher is surer, shape (n,).
        loss: 0 or more, for example 1 - exact agreement or the absolute difference, shape (n,).

    Raises:
        InputError: As `checked_pair`, or a negative loss.

    >>> round(risk_coverage([0.9, 0.8, 0.7, 0.6], [0, 0, 1, 1]).area, 4)
    0.2083
    """
    sure, cost = checked_pair(confidence, loss, ("confidence", "loss"))
    if (cost < 0).any():
        at = int(np.argmax(cost < 0))
        raise InputError(f"loss: {cost[at]} at position {at} is negative; a loss is 0 or more")
    _, where, counts = np.unique(-sure, return_inverse=True, return_counts=True)
    expected = np.repeat(np.bincount(where, weights=cost) / counts, counts)
    kept = np.arange(1, len(sure) + 1)
    risk = np.cumsum(expected) / kept
    return RiskCoverage(coverage=kept / len(sure), risk=risk, area=float(risk.mean()))
