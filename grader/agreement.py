"""How far the machine's marks agree with the raters': arrays in, numbers out.

Words as in RSMTool: ``human`` are the marks of the first rater (or the mark of record), ``machine`` those of
the scorer, ``human2`` those of a second rater. Shares are 0..1 where RSMTool prints percentages. A metric
that is undefined on its input (no variance, too few responses) is ``nan``, and ``None`` in `to_dict`;
input that is wrong (empty, lengths that differ, ``nan``) raises ``InputError``, a ``ValueError``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from grader.errors import InputError
from grader.intervals import (
    FloatArray,
    Gappy,
    Interval,
    Metric,
    bootstrap_intervals,
    checked,
    checked_pair,
    ece,
    group_codes,
    risk_coverage,
    same_length,
)

TWO_WAY = ("correct", "incorrect")
THREE_WAY = ("correct", "contradictory", "incorrect")
NAN = math.nan

_TOLERANCE = 1e-6  # marks on a scale of thirds are stored with six decimals


# --- single metrics -------------------------------------------------------------------------------------


def pearson(human: npt.ArrayLike, machine: npt.ArrayLike) -> float:
    """Return Pearson's r, -1..1; ``nan`` when either rater is constant or there is one response.

    >>> round(pearson([0, 0, 3, 3, 2, 2], [0, 3, 3, 2, 2, 2]), 4)
    0.4009
    """
    h, m = checked_pair(human, machine)
    if _constant(h) or _constant(m):
        return NAN
    return _correlation(h - h.mean(), m - m.mean())


def spearman(human: npt.ArrayLike, machine: npt.ArrayLike) -> float:
    """Return Spearman's rank correlation (ties take their mean rank), -1..1; ``nan`` as in `pearson`.

    >>> round(spearman([1, 2, 3, 4], [1, 2, 4, 3]), 4)
    0.8
    """
    h, m = checked_pair(human, machine)
    return pearson(_ranks(np.round(h, 9)), _ranks(np.round(m, 9)))


def within_question_r(
    human: npt.ArrayLike, machine: npt.ArrayLike, groups: Sequence[object] | npt.NDArray[Any]
) -> float:
    """Return Pearson's r pooled after centring by question, -1..1.

    Every mark loses its rater's mean on that question; one r is taken over all that remains. A question with
    one response adds nothing; a longer or more varied question counts more. ``nan`` when nothing varies
    within questions. This is the within-group correlation of Snijders & Bosker 2012, chapter 3.

    Args:
        human: Marks, shape (n,).
        machine: Marks, shape (n,).
        groups: Question of each response, length n.

    >>> round(within_question_r([0, 1, 4, 5], [1, 0, 4, 5], ["a", "a", "b", "b"]), 4)
    0.0
    """
    h, m = checked_pair(human, machine)
    codes = group_codes(groups, len(h), "groups")[1]
    counts = np.bincount(codes)
    h, m = (x - (np.bincount(codes, weights=x) / counts)[codes] for x in (h, m))
    if _constant(h) or _constant(m):
        return NAN
    return _correlation(h, m)


def rmse(human: npt.ArrayLike, machine: npt.ArrayLike) -> float:
    """Return the root mean squared error in marks, 0 or more.

    >>> rmse([0, 1, 2, 3], [0, 3, 4, 4])
    1.5
    """
    h, m = checked_pair(human, machine)
    return float(np.sqrt(np.mean((h - m) ** 2)))


def mae(human: npt.ArrayLike, machine: npt.ArrayLike) -> float:
    """Return the mean absolute error in marks, 0 or more.

    >>> mae([0, 1, 2, 3], [0, 3, 2, 2])
    0.75
    """
    h, m = checked_pair(human, machine)
    return float(np.mean(np.abs(h - m)))


def qwk(human: npt.ArrayLike, machine: npt.ArrayLike, *, scale_max: float, step: float = 1.0) -> float:
    """Return quadratic weighted kappa over the full scale 0, step, .. scale_max: -1..1, 1 is full agreement.

    Weights are squared distances in marks, so a score point that nobody used still counts as distance
    (scikit-learn without ``labels`` drops it) and half points work. Equal constants give 1, a constant
    against anything else 0; so does one response. Cohen 1968; equals Fleiss & Cohen 1973 over all points.

    Args:
        human: Score points, shape (n,).
        machine: Score points, shape (n,).
        scale_max: Highest score point.
        step: Distance of two score points; must divide ``scale_max``.

    Raises:
        InputError: As `checked_pair`, or a mark that is not a score point: see `round_to_scale`.

    >>> qwk([0, 0, 3, 3, 2, 2], [0, 3, 3, 2, 2, 2], scale_max=3)
    0.375
    >>> qwk([0.5, 1.5, 2], [0.5, 1.5, 2], scale_max=3, step=0.5)
    1.0
    """
    h, m = checked_pair(human, machine)
    units = [_score_points(x, name, scale_max, step) for x, name in ((h, "human"), (m, "machine"))]
    return qwk_continuous(*units)


def qwk_continuous(human: npt.ArrayLike, machine: npt.ArrayLike) -> float:
    """Return quadratic weighted kappa for real-valued marks, -1..1; the same number as `qwk` on score points.

    2 cov / (var + var + squared difference of the means), all divided by n, as RSMTool with its default
    ``ddof=0`` (Haberman 2019). Constants as in `qwk`, where RSMTool divides by zero.

    >>> round(qwk_continuous([0, 1, 2, 3], [0.4, 1.1, 1.8, 3.0]), 4)
    0.9759
    """
    h, m = checked_pair(human, machine)
    if _constant(h) or _constant(m):
        return 1.0 if np.allclose(h, m, rtol=0, atol=1e-9) else 0.0
    dh, dm = h - h.mean(), m - m.mean()
    total = np.mean(dh**2) + np.mean(dm**2) + (h.mean() - m.mean()) ** 2
    return float(2 * np.mean(dh * dm) / total)


def exact_agreement(human: npt.ArrayLike, machine: npt.ArrayLike) -> float:
    """Return the share of responses with the same mark, 0..1 (RSMTool: 0..100).

    >>> exact_agreement([0, 1, 2, 3], [0, 3, 2, 2])
    0.5
    """
    return adjacent_agreement(human, machine, step=0.0)


def adjacent_agreement(human: npt.ArrayLike, machine: npt.ArrayLike, *, step: float = 1.0) -> float:
    """Return the share of responses at most one ``step`` apart, exact ones included, 0..1 (RSMTool: 0..100).

    RSMTool always allows one whole mark; with half points pass ``step=1`` for its number.

    >>> adjacent_agreement([0, 1, 2, 3], [0, 3, 2, 2], step=1)
    0.75
    """
    h, m = checked_pair(human, machine)
    return float(np.mean(np.abs(h - m) <= step + _TOLERANCE))


def smd(human: npt.ArrayLike, machine: npt.ArrayLike, *, method: Literal["unpooled", "pooled"] = "unpooled") -> float:
    """Return the standardised mean difference (machine - human) / sd in standard deviations, 0 is no shift.

    ``unpooled``, RSMTool's default for human against machine, divides by the human marks' own sd;
    ``pooled``, which it uses for two raters, by sqrt((var + var) / 2). Both with n - 1. ``nan`` when that sd
    is 0 or there is one response. Williamson, Xi & Breyer 2012.

    >>> round(smd([0, 0, 3, 3, 2, 2], [0, 3, 3, 2, 2, 2]), 4)
    0.244
    """
    h, m = checked_pair(human, machine)
    if method not in ("unpooled", "pooled"):
        raise InputError(f"smd: method {method!r} is unknown; unpooled or pooled")
    if len(h) < 2 or (_constant(h) and (method == "unpooled" or _constant(m))):
        return NAN
    variance = h.var(ddof=1) if method == "unpooled" else (h.var(ddof=1) + m.var(ddof=1)) / 2
    return float((m.mean() - h.mean()) / np.sqrt(variance))


def dsm(human: npt.ArrayLike, machine: npt.ArrayLike, members: npt.ArrayLike) -> float:
    """Return the difference of standardised means of a subgroup, in standard deviations.

    Each rater's marks become z-scores with that rater's mean and sd (n - 1) over **all** responses; the
    result is the mean of machine minus human z over the members. RSMTool reports this by subgroup. ``nan``
    when a rater is constant or nobody is a member.

    Args:
        human: Marks of all responses, shape (n,).
        machine: Marks of all responses, shape (n,).
        members: True for the responses of the subgroup, shape (n,).

    >>> round(dsm([0, 1, 2, 3], [0, 1, 3, 2], [True, True, False, True]), 4)
    -0.2582
    """
    h, m = checked_pair(human, machine)
    chosen = checked(members, "members").astype(bool)
    same_length(len(chosen), "members", len(h), "human")
    if not chosen.any() or _constant(h) or _constant(m):
        return NAN
    zh, zm = ((x - x.mean()) / x.std(ddof=1) for x in (h, m))
    return float(zm[chosen].mean() - zh[chosen].mean())


def degradation(
    human: npt.ArrayLike,
    machine: npt.ArrayLike,
    human2: Gappy,
    *,
    metric: Metric = pearson,
    double_scored_only: bool = False,
) -> float:
    """Return metric(human, machine) - metric(human, human2), in its unit; below 0 the rater is better.

    Args:
        human: Marks of the first rater, shape (n,).
        machine: Marks of the scorer, shape (n,).
        human2: Marks of the second rater, ``nan`` or ``None`` where there is none, shape (n,).
        metric: Any function of two arrays where higher is better.
        double_scored_only: Take human against machine over the double-scored responses too. RSMTool's
            default, kept here, takes it over all responses, as that estimate is steadier.

    Returns:
        The difference; ``nan`` when nothing is double-scored or either metric is undefined.

    >>> round(degradation([0, 1, 2, 3], [0, 1, 3, 2], [0, 1, 2, None]), 4)
    -0.2
    """
    h, m = checked_pair(human, machine)
    second = checked(human2, "human2", missing=True)
    same_length(len(second), "human2", len(h), "human")
    double = ~np.isnan(second)
    if not double.any():
        return NAN
    ours = metric(h[double], m[double]) if double_scored_only else metric(h, m)
    return float(ours - metric(h[double], second[double]))


def _constant(x: FloatArray) -> bool:
    # sums of tenths differ in the last digits: 0.1 + 0.2 and 0.3 are one mark
    return bool(np.ptp(x) <= 1e-9 * max(1.0, float(np.max(np.abs(x)))))


def _correlation(dh: FloatArray, dm: FloatArray) -> float:
    r = np.sum(dh * dm) / np.sqrt(np.sum(dh**2) * np.sum(dm**2))
    return float(np.clip(r, -1.0, 1.0))


def _ranks(x: FloatArray) -> FloatArray:
    _, where, counts = np.unique(x, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(mean_rank[where], dtype=np.float64)


# --- true scores (RSMTool; Loukina et al. 2020, "Using PRMSE to evaluate automated scoring systems") ----


def variance_of_errors(ratings: npt.ArrayLike) -> float:
    """Return the variance of rater errors in squared marks, 0 or more; ``nan`` when nothing is double-scored.

    The mean over the responses with several ratings of their variance (n - 1), weighted by ratings - 1.

    Args:
        ratings: One row a response, one column a rater, ``nan`` where a rater did not mark: shape (n, k).

    >>> variance_of_errors([[1, 2], [3, 3], [4, float("nan")]])
    0.25
    """
    marks, counts, means = _ratings(ratings)
    if not (counts > 1).any():
        return NAN
    squares = np.nansum((marks - means[:, None]) ** 2)
    return float(squares / np.sum(counts - 1))


def prmse(ratings: npt.ArrayLike, machine: npt.ArrayLike, *, error_variance: float | None = None) -> float:
    """Return the share of the error about the true score that the machine removes: 1 is all, 0 or less none.

    Proportional reduction in mean squared error: 1 - mse(true, machine) / var(true). A second rating for
    some of the responses is enough, and any number for each. Small samples can exceed 1, as in RSMTool.

    Args:
        ratings: One row a response, one column a rater, ``nan`` where a rater did not mark: shape (n, k).
        machine: Marks of the scorer, shape (n,).
        error_variance: Variance of rater errors where it is known from elsewhere; needed when nothing here
            is double-scored.

    Returns:
        ``nan`` when the error variance is unknown or the true scores are estimated to have no variance.

    Raises:
        InputError: A response without any rating, lengths that differ, values that are not finite.

    >>> round(prmse([[0, 0], [1, 2], [3, 3], [4, 5]], [1, 1, 3, 5]), 4)
    0.931
    """
    _, counts, means = _ratings(ratings)
    m = checked(machine, "machine")
    same_length(len(m), "machine", len(means), "ratings")
    errors = variance_of_errors(ratings) if error_variance is None else float(error_variance)
    n, total = len(m), counts.sum()
    spread = total - np.sum(counts**2) / total
    if math.isnan(errors) or spread <= 0:
        return NAN
    grand = np.sum(counts * means) / total
    true_variance = (np.sum(counts * (means - grand) ** 2) - (n - 1) * errors) / spread
    true_mse = (np.sum(counts * (means - m) ** 2) - n * errors) / total
    return float(1 - true_mse / true_variance) if true_variance > 1e-12 else NAN


def _ratings(ratings: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ratings as floats (n, k), how many each response has (n,), and their mean (n,)."""
    try:
        marks = np.asarray(ratings, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"ratings: every row needs the same number of raters, not {ratings!r:.80}") from error
    marks = marks[:, None] if marks.ndim == 1 else marks
    if marks.ndim != 2 or not marks.size:
        raise InputError(f"ratings: shape {marks.shape}, but (responses, raters) is needed")
    counts = np.sum(~np.isnan(marks), axis=1).astype(np.float64)
    bad = (counts == 0) | np.isinf(marks).any(axis=1)
    if bad.any():
        raise InputError(f"ratings: the response at position {int(np.argmax(bad))} has no finite rating")
    return marks, counts, np.nansum(marks, axis=1) / counts


# --- labels ---------------------------------------------------------------------------------------------


def f1_by_label(
    human: Sequence[Hashable], machine: Sequence[Hashable], labels: Sequence[Hashable]
) -> dict[Hashable, float]:
    """Return the F1 of each label, 0..1; ``nan`` for a label that neither side used.

    Args:
        human: Labels of the rater, length n.
        machine: Labels of the scorer, length n.
        labels: All labels there are, used or not, such as ``TWO_WAY`` or ``THREE_WAY``.

    Raises:
        InputError: Empty, lengths that differ, or a label that is not among ``labels``.

    >>> f1_by_label(["a", "a", "b"], ["a", "b", "b"], labels=["a", "b", "c"])
    {'a': 0.6666666666666666, 'b': 0.6666666666666666, 'c': nan}
    """
    both = _confusion(human, machine, labels)
    used = both.sum(axis=0) + both.sum(axis=1)
    return {label: float(2 * both[k, k] / used[k]) if used[k] else NAN for k, label in enumerate(labels)}


def f1(
    human: Sequence[Hashable],
    machine: Sequence[Hashable],
    labels: Sequence[Hashable],
    *,
    average: Literal["macro", "weighted"] = "macro",
    unused: Literal["zero", "skip"] = "zero",
) -> float:
    """Return the mean F1 over the labels, 0..1: each label once (macro) or as often as the rater used it.

    Args:
        human: Labels of the rater, length n.
        machine: Labels of the scorer, length n.
        labels: All labels there are, such as ``TWO_WAY`` or ``THREE_WAY``.
        average: ``macro`` or ``weighted``.
        unused: What a label that neither side used adds to the macro mean: ``zero`` counts it as 0, as
            scikit-learn does with ``labels=`` and ``zero_division=0``; ``skip`` leaves it out. A label that
            only one side used is 0 either way. It has no weight in the weighted mean.

    Raises:
        InputError: As `f1_by_label`, or an unknown ``average`` or ``unused``.

    >>> round(f1(["a", "a", "b"], ["a", "b", "b"], labels=["a", "b", "c"]), 4)
    0.4444
    >>> round(f1(["a", "a", "b"], ["a", "b", "b"], labels=["a", "b", "c"], unused="skip"), 4)
    0.6667
    """
    if average not in ("macro", "weighted") or unused not in ("zero", "skip"):
        raise InputError(f"f1: average {average!r} must be macro or weighted, unused {unused!r} zero or skip")
    values = np.array(list(f1_by_label(human, machine, labels).values()))
    if average == "weighted":
        return float(np.nansum(values * _confusion(human, machine, labels).sum(axis=1)) / len(human))
    return float(np.nanmean(values) if unused == "skip" else np.nansum(values) / len(values))


def _confusion(
    human: Sequence[Hashable], machine: Sequence[Hashable], labels: Sequence[Hashable]
) -> npt.NDArray[np.int64]:
    """Counts, rows by the human label and columns by the machine's: shape (k, k)."""
    same_length(len(human), "human", len(machine), "machine")
    known = {label: k for k, label in enumerate(labels)}
    if not len(human) or len(known) != len(labels):
        raise InputError("labels must be distinct, and at least one response is needed")
    for name, side in (("human", human), ("machine", machine)):
        for at, label in enumerate(side):
            if label not in known:
                raise InputError(f"{name}: {label!r} at position {at} is none of the labels {list(labels)}")
    cells = [known[a] * len(known) + known[b] for a, b in zip(human, machine, strict=True)]
    return np.bincount(cells, minlength=len(known) ** 2).reshape(len(known), len(known))


# --- scale ----------------------------------------------------------------------------------------------


def round_to_scale(marks: npt.ArrayLike, *, scale_max: float, step: float = 1.0) -> FloatArray:
    """Return the nearest score points (half up) in 0..scale_max, shape (n,): as ``Scale.round`` does for one.

    >>> round_to_scale([0.2, 0.25, 1.75, 9.0], scale_max=3, step=0.5).tolist()
    [0.0, 0.5, 2.0, 3.0]
    """
    top = _steps(scale_max, step)
    units = np.floor(np.round(checked(marks, "marks"), 6) / step + 0.5 + 1e-9)
    return np.asarray(np.round(np.clip(units, 0, top) * step, 6), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Slice:
    """Agreement on some of the responses: a band of the scale or a subgroup. ``nan`` where undefined.

    Attributes:
        name: ``low``, ``middle``, ``high``, or the subgroup.
        n: Responses in it; may be 0 for a band.
        human_mean: Mean human mark.
        machine_mean: Mean machine mark.
        exact: Exact agreement on score points, 0..1.
        adjacent: Agreement within one step, 0..1.
        rmse: In marks.
        mae: In marks.
        qwk: On score points, -1..1.
        pearson: -1..1.
        dsm: Difference of standardised means, see `dsm`.
    """

    name: str
    n: int
    human_mean: float
    machine_mean: float
    exact: float
    adjacent: float
    rmse: float
    mae: float
    qwk: float
    pearson: float
    dsm: float


def by_band(
    human: npt.ArrayLike, machine: npt.ArrayLike, *, scale_max: float, step: float = 1.0
) -> tuple[Slice, Slice, Slice]:
    """Return agreement for the low, middle and high third of the scale **by the human mark**, in that order.

    Low is below scale_max / 3, high above 2 scale_max / 3, the middle holds both cuts: on 0..3 that is
    0 | 1, 2 | 3. Choosing by the human mark narrows its range, so ``qwk`` and ``pearson`` are lower than
    over all, and a machine that is merely unsure looks generous below and strict above.

    >>> [(band.name, band.n, band.exact) for band in by_band([0, 1, 2, 3], [0, 1, 1, 2], scale_max=3)]
    [('low', 1, 1.0), ('middle', 2, 0.5), ('high', 1, 0.0)]
    """
    h, m = _on_scale(human, machine, scale_max, step)
    low, high = h < scale_max / 3 - _TOLERANCE, h > scale_max * 2 / 3 + _TOLERANCE
    return (
        _slice("low", low, h, m, scale_max, step),
        _slice("middle", ~(low | high), h, m, scale_max, step),
        _slice("high", high, h, m, scale_max, step),
    )


def by_subgroup(
    human: npt.ArrayLike,
    machine: npt.ArrayLike,
    subgroups: Sequence[object] | npt.NDArray[Any],
    *,
    scale_max: float,
    step: float = 1.0,
) -> tuple[Slice, ...]:
    """Return agreement for each subgroup, sorted by its name.

    >>> found = by_subgroup([0, 1, 2, 3], [0, 1, 1, 2], ["en", "de", "de", "en"], scale_max=3)
    >>> [(part.name, part.n, part.exact) for part in found]
    [('de', 2, 0.5), ('en', 2, 0.5)]
    """
    h, m = _on_scale(human, machine, scale_max, step)
    labels, codes = group_codes(subgroups, len(h), "subgroups")
    return tuple(_slice(label, codes == k, h, m, scale_max, step) for k, label in enumerate(labels))


def _slice(
    name: str, members: npt.NDArray[np.bool_], h: FloatArray, m: FloatArray, scale_max: float, step: float
) -> Slice:
    if not members.any():
        return Slice(name, 0, *[NAN] * 9)
    a, b = h[members], m[members]
    ap, bp = (round_to_scale(x, scale_max=scale_max, step=step) for x in (a, b))
    return Slice(
        name=name,
        n=len(a),
        human_mean=float(a.mean()),
        machine_mean=float(b.mean()),
        exact=exact_agreement(ap, bp),
        adjacent=adjacent_agreement(ap, bp, step=step),
        rmse=rmse(a, b),
        mae=mae(a, b),
        qwk=qwk_continuous(ap, bp),
        pearson=pearson(a, b),
        dsm=dsm(h, m, members),
    )


def _steps(scale_max: float, step: float) -> int:
    if not (math.isfinite(scale_max) and math.isfinite(step) and scale_max > 0 and step > 0):
        raise InputError(f"scale_max {scale_max} and step {step} must be finite and above 0")
    steps = scale_max / step
    if abs(steps - round(steps)) > _TOLERANCE:
        raise InputError(f"step {step} does not divide scale_max {scale_max}")
    return round(steps)


def _score_points(marks: FloatArray, name: str, scale_max: float, step: float) -> FloatArray:
    top = _steps(scale_max, step)
    units = np.round(marks / step)
    bad = (np.abs(marks - units * step) > _TOLERANCE) | (units < 0) | (units > top)
    if bad.any():
        at = int(np.argmax(bad))
        raise InputError(
            f"{name}: {marks[at]} at position {at} is no score point of 0..{scale_max} in steps of {step}; "
            "use round_to_scale or qwk_continuous"
        )
    return units


def _within_scale(marks: FloatArray, name: str, scale_max: float) -> None:
    bad = (marks < -_TOLERANCE) | (marks > scale_max + _TOLERANCE)
    if bad.any():
        at = int(np.argmax(bad))
        raise InputError(f"{name}: {marks[at]} at position {at} is outside the scale 0..{scale_max}")


def _on_scale(
    human: npt.ArrayLike, machine: npt.ArrayLike, scale_max: float, step: float
) -> tuple[FloatArray, FloatArray]:
    _steps(scale_max, step)
    h, m = checked_pair(human, machine)
    _within_scale(h, "human", scale_max)
    _within_scale(m, "machine", scale_max)
    return h, m


# --- the report -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Flag:
    """One operational standard and whether it is met.

    Attributes:
        name: Of the metric, for example ``qwk`` or ``degradation_pearson``.
        value: What was found; ``nan`` where undefined.
        threshold: The limit; a value on it is good enough. For ``smd`` it bounds the absolute value.
        ok: Met. An undefined value is not shown to meet anything, so it is not ``ok``.
    """

    name: str
    value: float
    threshold: float
    ok: bool


_THRESHOLDS = {
    "qwk": 0.70,
    "pearson": 0.70,
    "smd": 0.15,
    "exact": 0.50,
    "adjacent": 0.95,
    "degradation_qwk": -0.10,
    "degradation_pearson": -0.10,
    "prmse": 0.80,
}


def flags(values: Mapping[str, float]) -> tuple[Flag, ...]:
    """Return one `Flag` for each metric in ``values`` that has a standard, in a fixed order.

    Standards: ``qwk`` and ``pearson`` at least .70, ``degradation_*`` at least -.10, absolute ``smd`` at most
    .15, ``exact`` at least .50, ``adjacent`` (exact included) at least .95: what RSMTool 12's report
    highlights, the first three after Williamson, Xi & Breyer 2012. ``prmse`` at least .80 is operational
    practice; RSMTool prints PRMSE without a limit.

    >>> [(flag.name, flag.ok) for flag in flags({"qwk": 0.7, "smd": -0.2})]
    [('qwk', True), ('smd', False)]
    """
    found = []
    for name, limit in _THRESHOLDS.items():
        if name in values:
            value = values[name]
            ok = abs(value) <= limit + 1e-9 if name == "smd" else value >= limit - 1e-9
            found.append(Flag(name, float(value), limit, bool(ok)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Everything `agreement` found. Undefined numbers are ``nan`` here and ``None`` in `to_dict`.

    Attributes:
        n: Responses.
        questions: Distinct questions; 1 where no groups were given.
        scale_max: Highest score point.
        step: Distance of two score points.
        rounded_human: Human marks that were no score points and were rounded for the metrics that need them.
        rounded_machine: The same for the machine.
        metrics: ``qwk``, ``exact``, ``adjacent`` (on score points), ``qwk_continuous``, ``pearson``,
            ``spearman``, ``rmse``, ``mae``, ``smd`` (unpooled), and ``within_question_r`` with groups,
            ``ece`` and ``aurc`` with confidence (right means exact agreement).
        intervals: A bootstrap interval for each metric but the last two; empty with ``n_boot=0``.
        double_scored: Responses with a second human mark.
        human_human: ``qwk``, ``exact``, ``adjacent``, ``pearson``, ``smd`` (pooled) of the two raters;
            empty where nothing is double-scored, as are the next two.
        degradation: The same but ``smd``: human-machine (all responses) minus human-human.
        true_score: ``prmse`` and ``variance_of_errors``.
        bands: See `by_band`.
        subgroups: See `by_subgroup`; empty where none were given.
        flags: See the function `flags`.
    """

    n: int
    questions: int
    scale_max: float
    step: float
    rounded_human: int
    rounded_machine: int
    metrics: dict[str, float]
    intervals: dict[str, Interval]
    double_scored: int
    human_human: dict[str, float]
    degradation: dict[str, float]
    true_score: dict[str, float]
    bands: tuple[Slice, ...]
    subgroups: tuple[Slice, ...]
    flags: tuple[Flag, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries, lists and numbers, ready for JSON: ``nan`` becomes ``None``."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain


def agreement(
    human: npt.ArrayLike,
    machine: npt.ArrayLike,
    *,
    scale_max: float,
    step: float = 1.0,
    human2: Gappy | None = None,
    groups: Sequence[object] | npt.NDArray[Any] | None = None,
    subgroups: Sequence[object] | npt.NDArray[Any] | None = None,
    confidence: npt.ArrayLike | None = None,
    n_boot: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> AgreementReport:
    """Return every agreement number between raters and machine on one scale, as an `AgreementReport`.

    Marks off the score points are rounded (half up) for ``qwk``, ``exact`` and ``adjacent`` and counted in
    the report; every other metric takes them as they are.

    Args:
        human: Marks of the first rater, 0..scale_max, shape (n,).
        machine: Marks of the scorer, rounded or raw, 0..scale_max, shape (n,).
        scale_max: Highest score point.
        step: Distance of two score points; must divide ``scale_max``.
        human2: Marks of a second rater, ``nan`` or ``None`` where there is none, shape (n,).
        groups: Question of each response, length n. Intervals then resample questions; with one question
            or without groups they resample responses.
        subgroups: Subgroup of each response, length n.
        confidence: Stated chance of exact agreement, 0..1, shape (n,).
        n_boot: Bootstrap resamples; 0 for no intervals.
        level: Coverage of the intervals.
        seed: Of the bootstrap.

    Raises:
        InputError: Empty, lengths that differ, values that are not finite or off the scale.

    >>> report = agreement([0, 0, 3, 3, 2, 2], [0, 3, 3, 2, 2, 2], scale_max=3, n_boot=0)
    >>> report.metrics["qwk"], [flag.name for flag in report.flags if not flag.ok]
    (0.375, ['qwk', 'pearson', 'smd', 'adjacent'])
    """
    h, m = _on_scale(human, machine, scale_max, step)
    hp, mp = (round_to_scale(x, scale_max=scale_max, step=step) for x in (h, m))
    codes = None if groups is None else group_codes(groups, len(h), "groups")[1]
    questions = 1 if codes is None else int(codes.max()) + 1
    arrays = (h, m, hp, mp) if codes is None else (h, m, hp, mp, codes)
    headline = _headline(step, grouped=codes is not None)
    metrics = {name: metric(*arrays) for name, metric in headline.items()}
    if confidence is not None:
        right = (np.abs(hp - mp) <= _TOLERANCE).astype(np.float64)
        metrics["ece"], metrics["aurc"] = ece(confidence, right), risk_coverage(confidence, 1 - right).area
    second = _second_rater(human2, len(h), scale_max)
    raters, worse, true_score = _against_second(h, m, second, metrics, scale_max, step)
    judged = metrics | true_score | {f"degradation_{k}": worse[k] for k in ("qwk", "pearson") if worse}
    parts = () if subgroups is None else by_subgroup(h, m, subgroups, scale_max=scale_max, step=step)
    intervals = {}
    if n_boot:
        units = codes if questions > 1 else None
        intervals = bootstrap_intervals(headline, *arrays, groups=units, n_boot=n_boot, level=level, seed=seed)
    return AgreementReport(
        n=len(h),
        questions=questions,
        scale_max=float(scale_max),
        step=float(step),
        rounded_human=int(np.sum(np.abs(h - hp) > _TOLERANCE)),
        rounded_machine=int(np.sum(np.abs(m - mp) > _TOLERANCE)),
        metrics=metrics,
        intervals=intervals,
        double_scored=int(np.sum(~np.isnan(second))),
        human_human=raters,
        degradation=worse,
        true_score=true_score,
        bands=by_band(h, m, scale_max=scale_max, step=step),
        subgroups=parts,
        flags=flags(judged),
    )


def _second_rater(human2: Gappy | None, n: int, scale_max: float) -> FloatArray:
    second = np.full(n, np.nan) if human2 is None else checked(human2, "human2", missing=True)
    same_length(len(second), "human2", n, "human")
    _within_scale(second, "human2", scale_max)
    return second


def _headline(step: float, *, grouped: bool) -> dict[str, Metric]:
    """Metrics of (human, machine, their score points, and the questions where there are any)."""
    found: dict[str, Metric] = {
        "qwk": lambda h, m, hp, mp, *q: qwk_continuous(hp, mp),
        "exact": lambda h, m, hp, mp, *q: exact_agreement(hp, mp),
        "adjacent": lambda h, m, hp, mp, *q: adjacent_agreement(hp, mp, step=step),
        "qwk_continuous": lambda h, m, *rest: qwk_continuous(h, m),
        "pearson": lambda h, m, *rest: pearson(h, m),
        "spearman": lambda h, m, *rest: spearman(h, m),
        "rmse": lambda h, m, *rest: rmse(h, m),
        "mae": lambda h, m, *rest: mae(h, m),
        "smd": lambda h, m, *rest: smd(h, m),
    }
    if grouped:
        found["within_question_r"] = lambda h, m, hp, mp, q: within_question_r(h, m, q)
    return found


def _against_second(
    h: FloatArray, m: FloatArray, second: FloatArray, metrics: dict[str, float], scale_max: float, step: float
) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    double = ~np.isnan(second)
    if not double.any():
        return {}, {}, {}
    a, b = h[double], second[double]
    ap, bp = (round_to_scale(x, scale_max=scale_max, step=step) for x in (a, b))
    raters = {
        "qwk": qwk_continuous(ap, bp),
        "exact": exact_agreement(ap, bp),
        "adjacent": adjacent_agreement(ap, bp, step=step),
        "pearson": pearson(a, b),
    }
    worse = {name: metrics[name] - value for name, value in raters.items()}
    ratings = np.column_stack([h, second])
    true_score = {"prmse": prmse(ratings, m), "variance_of_errors": variance_of_errors(ratings)}
    return raters | {"smd": smd(a, b, method="pooled")}, worse, true_score


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value
