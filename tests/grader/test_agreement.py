"""Agreement: hand-worked numbers, scikit-learn and scipy as second opinions, RSMTool's numbers, properties.

The numbers named RSMTOOL were obtained by running RSMTool 12.0.0 (rsmtool.utils.metrics, utils.prmse and
Analyzer.compute_degradation_and_disattenuated_correlations; numpy 1.26.4, scikit-learn 1.4.2) in a virtual
environment of its own on the very arrays built here. It pins numpy below 2, so it cannot run in ours.
"""

from __future__ import annotations

import json
import math
import warnings
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped, unused-ignore]
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk  # type: ignore[import-untyped, unused-ignore]

from grader import agreement as ag
from grader.errors import InputError
from grader.intervals import (
    bootstrap_interval,
    bootstrap_intervals,
    checked,
    confidence_bins,
    ece,
    risk_coverage,
)

NAN = math.nan
RELAXED = settings(deadline=None, max_examples=60)  # the first call of scikit-learn is slow
HUMAN, MACHINE = [0, 0, 3, 3, 2, 2], [0, 3, 3, 2, 2, 2]

# 60 responses on 0..5 in half points, a raw machine, a second rater for every third response
_I = np.arange(60)
LONG_HUMAN = ((_I * 7) % 11) / 2
LONG_MACHINE = np.clip(0.8 * LONG_HUMAN + 0.5 + ((_I * 13) % 7 - 3) / 6, 0, 5)
LONG_SECOND = np.where(_I % 3 == 0, np.clip(LONG_HUMAN + ((_I * 5) % 3 - 1) / 2, 0, 5), np.nan)

# 10 responses, marks and raw machine marks
SHORT_HUMAN = [0, 1, 1.5, 2, 2.5, 3, 3, 4, 4.5, 5]
SHORT_MACHINE = [0.4, 1.2, 1.1, 2.6, 2.2, 2.9, 3.7, 3.6, 4.9, 4.4]


def close(value: float, abs_: float = 1e-12) -> Any:
    return pytest.approx(value, abs=abs_, rel=0)


def points(steps: int) -> st.SearchStrategy[tuple[list[int], list[int]]]:
    """Two lists of score points 0..steps of one length."""
    pair = st.tuples(st.integers(0, steps), st.integers(0, steps))
    return st.lists(pair, min_size=1, max_size=40).map(lambda rows: ([a for a, _ in rows], [b for _, b in rows]))


def kappa_by_table(human: list[int], machine: list[int], steps: int) -> float:
    """Quadratic weighted kappa the long way round: observed and expected tables over all score points."""
    observed = np.zeros((steps + 1, steps + 1))
    for a, b in zip(human, machine, strict=True):
        observed[a, b] += 1
    distance = np.subtract.outer(np.arange(steps + 1), np.arange(steps + 1)) ** 2
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / len(human)
    return float(1 - (distance * observed).sum() / (distance * expected).sum())


# --- quadratic weighted kappa ---------------------------------------------------------------------------


def test_qwk_by_hand() -> None:
    # n cov = 23 - 10*12/6 = 3; n var = 26 - 100/6 = 28/3 and 30 - 144/6 = 6; n (mean diff)^2 = 2/3; 6 / 16
    assert ag.qwk(HUMAN, MACHINE, scale_max=3) == close(6 / 16)


def test_qwk_trap_positions_of_labels_that_occur() -> None:
    assert sk.cohen_kappa_score(HUMAN, MACHINE, weights="quadratic") == close(2 / 7)
    assert sk.cohen_kappa_score(HUMAN, MACHINE, weights="quadratic", labels=range(4)) == close(0.375)
    assert ag.qwk(HUMAN, MACHINE, scale_max=3) == close(0.375)


def test_qwk_trap_half_points() -> None:
    human, machine = [0.5, 1.5, 2.0, 3.0, 0.0], [0.5, 1.0, 2.5, 3.0, 0.0]
    with pytest.raises(ValueError, match="continuous"):
        sk.cohen_kappa_score(human, machine, weights="quadratic")
    doubled = [[round(2 * x) for x in side] for side in (human, machine)]
    expected = sk.cohen_kappa_score(*doubled, weights="quadratic", labels=range(7))
    assert ag.qwk(human, machine, scale_max=3, step=0.5) == close(expected)


def test_qwk_trap_both_constant() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert math.isnan(sk.cohen_kappa_score([1, 1], [1, 1], weights="quadratic"))
    assert ag.qwk([1, 1], [1, 1], scale_max=3) == 1.0


@pytest.mark.parametrize(
    ("human", "machine", "expected"),
    [
        ([2, 2, 2], [2, 2, 2], 1.0),
        ([2, 2, 2], [1, 1, 1], 0.0),
        ([2, 2, 2], [1, 2, 3], 0.0),
        ([1, 2, 3], [2, 2, 2], 0.0),
        ([2], [2], 1.0),
        ([2], [3], 0.0),
        ([0, 3], [3, 0], -1.0),
    ],
)
def test_qwk_degenerate(human: list[int], machine: list[int], expected: float) -> None:
    assert ag.qwk(human, machine, scale_max=3) == expected
    assert ag.qwk_continuous(human, machine) == expected


def test_qwk_constant_in_tenths() -> None:
    assert ag.qwk_continuous([0.1 + 0.2, 0.3], [0.3, 0.3]) == 1.0
    assert ag.qwk([1 / 3, 0.333333, 1.0], [1 / 3, 1 / 3, 1.0], scale_max=1, step=1 / 3) == 1.0


def test_qwk_rsmtool() -> None:
    assert ag.qwk_continuous(SHORT_HUMAN, SHORT_MACHINE) == close(0.9531654506942808)  # RSMTOOL
    assert ag.qwk_continuous(HUMAN, MACHINE) == close(0.375)  # RSMTOOL; with ddof=1 it would be 0.37762
    rounded = ag.round_to_scale(LONG_MACHINE, scale_max=5, step=0.5)
    assert ag.qwk(LONG_HUMAN, rounded, scale_max=5, step=0.5) == close(0.9481749256214214)  # RSMTOOL, in steps
    assert ag.qwk_continuous(LONG_HUMAN, LONG_MACHINE) == close(0.9499832426997631)  # RSMTOOL


@RELAXED
@given(points(5))
def test_qwk_is_the_table_and_scikit_learn(pair: tuple[list[int], list[int]]) -> None:
    human, machine = pair
    found = ag.qwk(human, machine, scale_max=5)
    assert -1 <= found <= 1
    assert found == close(ag.qwk(machine, human, scale_max=5))
    assert found == close(ag.qwk_continuous(human, machine))
    assert found == close(ag.qwk([x / 2 for x in human], [x / 2 for x in machine], scale_max=2.5, step=0.5))
    assert (abs(found - 1) < 1e-12) == (human == machine)
    if len({*human, *machine}) > 1:
        assert found == close(kappa_by_table(human, machine, 5))
        assert found == close(sk.cohen_kappa_score(human, machine, weights="quadratic", labels=range(6)))


def test_qwk_refuses_what_is_no_score_point() -> None:
    with pytest.raises(InputError, match=r"machine: 1\.25 at position 1 is no score point of 0\.\.3"):
        ag.qwk([0, 1], [0, 1.25], scale_max=3, step=0.5)
    with pytest.raises(InputError, match=r"human: 4\.0 at position 0"):
        ag.qwk([4, 1], [0, 1], scale_max=3)
    with pytest.raises(InputError, match=r"human: -1\.0 at position 1"):
        ag.qwk([1, -1], [0, 1], scale_max=3)
    with pytest.raises(InputError, match=r"step 0\.4 does not divide scale_max 3"):
        ag.qwk([0], [0], scale_max=3, step=0.4)
    with pytest.raises(InputError, match="must be finite and above 0"):
        ag.qwk([0], [0], scale_max=3, step=0)


# --- correlations and errors ----------------------------------------------------------------------------


def test_correlations_by_hand() -> None:
    assert ag.pearson(HUMAN, MACHINE) == close(3 / math.sqrt(28 / 3 * 6))
    assert ag.pearson([1, 2], [2, 1]) == -1.0
    assert ag.spearman([1, 2, 3, 4], [1, 2, 4, 3]) == close(1 - 6 * 2 / (4 * 15))


@pytest.mark.parametrize("metric", [ag.pearson, ag.spearman])
@pytest.mark.parametrize(
    ("human", "machine"),
    [([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [2, 2, 2]), ([1], [1]), ([0.1 + 0.2, 0.3], [1, 2])],
)
def test_correlation_is_nan_without_variance(metric: Any, human: list[float], machine: list[float]) -> None:
    assert math.isnan(metric(human, machine))


@RELAXED
@given(points(4))
def test_correlations_are_scipys(pair: tuple[list[int], list[int]]) -> None:
    human, machine = pair
    if len(set(human)) == 1 or len(set(machine)) == 1:
        return
    assert ag.pearson(human, machine) == close(scipy.stats.pearsonr(human, machine)[0])
    assert ag.spearman(human, machine) == close(scipy.stats.spearmanr(human, machine)[0])
    assert ag.pearson(human, [3 * x + 1 for x in machine]) == close(ag.pearson(human, machine))


@RELAXED
@given(points(4))
def test_errors_are_scikit_learns(pair: tuple[list[int], list[int]]) -> None:
    human, machine = pair
    assert ag.rmse(human, machine) == close(math.sqrt(sk.mean_squared_error(human, machine)))
    assert ag.mae(human, machine) == close(sk.mean_absolute_error(human, machine))
    assert ag.mae(human, machine) <= ag.rmse(human, machine) + 1e-12


def test_rsmtool_metrics_helper() -> None:
    assert ag.pearson(HUMAN, MACHINE) == close(0.400892, 1e-6)  # RSMTOOL, this and the next
    assert ag.rmse(HUMAN, MACHINE) == close(1.290994, 1e-6)
    assert ag.pearson(LONG_HUMAN, LONG_MACHINE) == close(0.966697827899421)
    assert ag.rmse(LONG_HUMAN, LONG_MACHINE) == close(0.462801453309284)


def test_within_question_r_by_hand() -> None:
    # question a: +-.5 and -+.5, question b: +-.5 and +-.5 -> (-.5 + .5) / 1 = 0 although r over all is .9
    human, machine = [0, 1, 4, 5], [1, 0, 4, 5]
    assert ag.within_question_r(human, machine, ["a", "a", "b", "b"]) == close(0.0)
    assert ag.pearson(human, machine) > 0.9
    # centred -1, 0, 1 against -1, 1, 0 and -1, 1 against -2, 2: (1 + 4) / sqrt((2 + 2) (2 + 8))
    found = ag.within_question_r([0, 1, 2, 0, 2], [0, 2, 1, 0, 4], [7, 7, 7, 8, 8])
    assert found == close(5 / math.sqrt(40))


def test_within_question_r_degenerate() -> None:
    assert math.isnan(ag.within_question_r([1, 2, 3], [1, 2, 3], ["a", "b", "c"]))
    assert math.isnan(ag.within_question_r([0.1, 0.1, 0.1, 3], [1, 2, 3, 4], ["a", "a", "a", "b"]))
    lone = ag.within_question_r([0, 1, 9], [0, 1, 0], ["a", "a", "b"])
    assert lone == close(1.0)
    assert ag.within_question_r(LONG_HUMAN, LONG_MACHINE, ["q"] * 60) == close(ag.pearson(LONG_HUMAN, LONG_MACHINE))


@RELAXED
@given(points(4), st.integers(-5, 5))
def test_within_question_r_ignores_how_hard_a_question_is(pair: tuple[list[int], list[int]], shift: int) -> None:
    human, machine = pair
    groups = np.arange(len(human)) % 3
    moved = np.array(machine) + shift * groups
    first, second = (ag.within_question_r(human, side, groups) for side in (machine, moved))
    assert first == pytest.approx(second, abs=1e-9, nan_ok=True)


def test_groups_as_text_numbers_or_array_are_the_same() -> None:
    found = {
        round(ag.within_question_r([0, 1, 2, 0, 2], [0, 2, 1, 0, 4], groups), 12)
        for groups in ([1, 1, 1, 2, 2], np.array([1, 1, 1, 2, 2]), ["x", "x", "x", "y", "y"])
    }
    assert len(found) == 1


# --- exact, adjacent, differences of means --------------------------------------------------------------


def test_exact_and_adjacent() -> None:
    assert ag.exact_agreement(HUMAN, MACHINE) == close(4 / 6)  # RSMTOOL 66.667 and 83.333 percent
    assert ag.adjacent_agreement(HUMAN, MACHINE) == close(5 / 6)
    human, second = SHORT_HUMAN, [0.5, 1, 2, 2, 2, 3.5, 3, 4, 4, 5]
    assert ag.exact_agreement(human, second) == 0.5  # RSMTOOL 50, and 100 with either tolerance
    assert ag.adjacent_agreement(human, second, step=0.5) == 1.0
    assert ag.adjacent_agreement([0, 0], [0.5, 1.0], step=0.5) == 0.5
    assert ag.adjacent_agreement([0.3], [0.1], step=0.2) == 1.0  # .3 - .1 > .2 in floats


@RELAXED
@given(points(4))
def test_adjacent_includes_exact(pair: tuple[list[int], list[int]]) -> None:
    exact, one, four = (ag.adjacent_agreement(*pair, step=step) for step in (0, 1, 4))
    assert exact == ag.exact_agreement(*pair) == close(sk.accuracy_score(*pair))
    assert exact <= one <= four == 1.0


def test_smd_and_dsm_rsmtool() -> None:
    assert ag.smd(HUMAN, MACHINE) == close(0.243975, 1e-6)  # RSMTOOL, this and the next
    assert ag.smd(SHORT_HUMAN, SHORT_MACHINE) == close(0.031605223019092604)
    assert ag.smd(SHORT_HUMAN, SHORT_MACHINE, method="pooled") == close(0.03255297560004039)
    assert ag.smd(LONG_HUMAN, LONG_MACHINE) == close(0.004150133230098046)
    assert ag.smd(LONG_HUMAN, LONG_MACHINE, method="pooled") == close(0.004517929243755562)
    assert ag.dsm(LONG_HUMAN, LONG_MACHINE, _I % 4 == 1) == close(0.018950878418305273)


def test_smd_by_hand_and_degenerate() -> None:
    # mean difference 1/3, sample variance of the human marks (28/3) / 5
    assert ag.smd(HUMAN, MACHINE) == close((1 / 3) / math.sqrt(28 / 15))
    assert ag.smd(MACHINE, HUMAN) < 0
    assert ag.smd([0, 2], [2, 2], method="pooled") == close(1.0)
    assert math.isnan(ag.smd([2, 2], [0, 1]))
    assert math.isnan(ag.smd([2], [0]))
    assert math.isnan(ag.smd([2, 2], [2, 2], method="pooled"))
    assert math.isnan(ag.dsm([2, 2], [0, 1], [True, False]))
    assert math.isnan(ag.dsm([0, 1], [0, 1], [False, False]))
    with pytest.raises(InputError, match="method 'williamson' is unknown"):
        ag.smd([0, 1], [0, 1], method="williamson")  # type: ignore[arg-type]


def test_degradation_rsmtool() -> None:
    long = (LONG_HUMAN, LONG_MACHINE, LONG_SECOND)
    assert ag.degradation(*long) == close(-0.029811253186904)  # RSMTOOL corr, wtkappa; then double-scored only
    assert ag.degradation(*long, metric=ag.qwk_continuous) == close(-0.002859303802726)
    assert ag.degradation(*long, double_scored_only=True) == close(-0.027963534003684)
    assert ag.degradation(*long, metric=ag.qwk_continuous, double_scored_only=True) == close(0.005936199898047)
    assert ag.degradation(*long, metric=ag.exact_agreement) == close(-0.05)


def test_degradation_without_second_marks_is_nan() -> None:
    assert math.isnan(ag.degradation([0, 1], [0, 1], [None, NAN]))
    assert math.isnan(ag.degradation([0, 1], [0, 1], [1, 1]))


# --- true scores ----------------------------------------------------------------------------------------

UNBALANCED: Any = [
    [0, 0.5, 0], [1, 1, NAN], [1.5, NAN, NAN], [2, 2, 2.5], [2.5, NAN, NAN],
    [3, 3.5, NAN], [3, NAN, NAN], [4, 4, 4], [NAN, 4.5, 4], [5, NAN, NAN],
]  # fmt: skip


def test_prmse_rsmtool() -> None:
    second = [0.5, 1, 2, 2, 2, 3.5, 3, 4, 4, 5]
    full = np.column_stack([SHORT_HUMAN, second])
    part = np.column_stack([SHORT_HUMAN, [NAN, 1, NAN, 2, 2, NAN, 3, NAN, 4, 5]])
    for ratings, errors, found in [
        (full, 0.0625, 0.9058322903629537),  # RSMTOOL, all
        (part, 0.041666666666666664, 0.9072135045173562),
        (np.array(UNBALANCED), 0.06481481481481483, 0.9407750610889191),
    ]:
        assert ag.variance_of_errors(ratings) == close(errors)
        assert ag.prmse(ratings, SHORT_MACHINE) == close(found)
    assert ag.prmse(SHORT_HUMAN, SHORT_MACHINE, error_variance=0.1) == close(0.9587976878612716)
    long = np.column_stack([LONG_HUMAN, LONG_SECOND])
    assert ag.variance_of_errors(long) == close(0.1125)
    assert ag.prmse(long, LONG_MACHINE) == close(0.9435644820139628)


def test_prmse_by_hand() -> None:
    # errors (.5 + .5) / 4; true variance (22.5 - 3 / 4) / (8 - 16 / 8) = 3.625; mse (3 - 4 / 4) / 8 = .25
    ratings = [[0, 0], [1, 2], [3, 3], [4, 5]]
    assert ag.variance_of_errors(ratings) == close(0.25)
    assert ag.prmse(ratings, [1, 1, 3, 5]) == close(1 - 0.25 / 3.625)


def test_prmse_degenerate() -> None:
    assert math.isnan(ag.variance_of_errors([[1.0, NAN], [2.0, NAN]]))
    assert math.isnan(ag.prmse([[1.0, NAN], [2.0, NAN]], [1, 2]))
    assert math.isnan(ag.prmse([[1, 2], [2, 1]], [1, 2]))  # no true variance left
    assert math.isnan(ag.prmse([[1, 2]], [1]))
    assert math.isnan(ag.prmse([[1, 1], [1, 1]], [1, 2]))
    with pytest.raises(InputError, match="position 1 has no finite rating"):
        ag.prmse([[1.0, 2.0], [NAN, NAN]], [1, 2])
    with pytest.raises(InputError, match="position 0 has no finite rating"):
        ag.prmse([[1.0, math.inf], [1.0, 2.0]], [1, 2])
    with pytest.raises(InputError, match="machine has 1 values but ratings has 2"):
        ag.prmse([[1, 2], [1, 1]], [1])
    with pytest.raises(InputError, match="same number of raters"):
        ag.prmse([[1.0, 2.0], [1.0]], [1, 2])
    with pytest.raises(InputError, match="shape"):
        ag.variance_of_errors([[], []])


@RELAXED
@given(st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), min_size=2, max_size=20), st.integers(-3, 3))
def test_prmse_does_not_depend_on_rater_order_or_origin(rows: list[list[int]], shift: int) -> None:
    machine = [row[0] for row in rows]
    first = ag.prmse(rows, machine)
    swapped = ag.prmse([row[::-1] for row in rows], machine)
    moved = ag.prmse([[x + shift for x in row] for row in rows], [x + shift for x in machine])
    assert swapped == pytest.approx(first, abs=1e-9, nan_ok=True)
    assert moved == pytest.approx(first, abs=1e-6, nan_ok=True)


# --- labels ---------------------------------------------------------------------------------------------


def test_f1_by_hand() -> None:
    human = ["correct", "correct", "incorrect", "incorrect", "incorrect"]
    machine = ["correct", "incorrect", "incorrect", "incorrect", "correct"]
    assert ag.f1_by_label(human, machine, ag.TWO_WAY) == {"correct": close(1 / 2), "incorrect": close(2 / 3)}
    assert ag.f1(human, machine, ag.TWO_WAY) == close(7 / 12)
    assert ag.f1(human, machine, ag.TWO_WAY, average="weighted") == close((2 / 2 + 3 * 2 / 3) / 5)
    # nobody used "contradictory": a third of the macro mean is 0, or it is left out
    assert ag.f1(human, machine, ag.THREE_WAY) == close(7 / 18)
    assert ag.f1(human, machine, ag.THREE_WAY, unused="skip") == close(7 / 12)
    assert ag.f1(human, machine, ag.THREE_WAY, average="weighted") == close(3 / 5)


def test_f1_label_of_one_side_only_is_zero_either_way() -> None:
    human, machine = ["correct", "incorrect"], ["correct", "contradictory"]
    assert ag.f1(human, machine, ag.THREE_WAY) == ag.f1(human, machine, ag.THREE_WAY, unused="skip") == close(1 / 3)


@RELAXED
@given(points(2))
def test_f1_is_scikit_learns(pair: tuple[list[int], list[int]]) -> None:
    labels = [0, 1, 2]
    averages: tuple[Literal["macro", "weighted"], ...] = ("macro", "weighted")
    for average in averages:
        expected = sk.f1_score(*pair, labels=labels, average=average, zero_division=0)
        assert ag.f1(*pair, labels, average=average) == close(expected)
    expected = sk.f1_score(*pair, labels=labels, average="macro", zero_division=np.nan)
    assert ag.f1(*pair, labels, unused="skip") == close(expected)


def test_f1_errors() -> None:
    with pytest.raises(InputError, match="human: 'maybe' at position 1 is none of the labels"):
        ag.f1(["correct", "maybe"], ["correct", "correct"], ag.TWO_WAY)
    with pytest.raises(InputError, match="must be distinct"):
        ag.f1(["a"], ["a"], ["a", "a"])
    with pytest.raises(InputError, match="at least one response"):
        ag.f1([], [], ag.TWO_WAY)
    with pytest.raises(InputError, match="human has 1 values but machine has 2"):
        ag.f1(["a"], ["a", "a"], ["a"])
    with pytest.raises(InputError, match="average 'micro'"):
        ag.f1(["a"], ["a"], ["a"], average="micro")  # type: ignore[arg-type]


# --- confidence -----------------------------------------------------------------------------------------


def test_ece_by_hand() -> None:
    stated, right = [0.95, 0.95, 0.85, 0.2, 0.1, 0.0], [1, 0, 1, 0, 1, 0]
    # (.9,1]: |.5-.95|*2; (.8,.9]: .15; (.1,.2]: .2; [0,.1]: |.5-.05|*2
    assert ece(stated, right) == close((0.9 + 0.15 + 0.2 + 0.9) / 6)
    assert ece(stated, right, bins=1) == close(abs(0.5 - 3.05 / 6))
    # equal mass, 3 bins: [0, .1], (.1, .85], (.85, 1]
    assert ece(stated, right, bins=3, scheme="equal_mass") == close((0.9 + abs(1 - 1.05) + 0.9) / 6)


def test_ece_bins_are_closed_on_the_right_and_ties_stay_together() -> None:
    found = confidence_bins([0.3, 0.30000001], [1, 1])
    assert [(b.low, b.high, b.n) for b in found] == [(0.2, 0.3, 1), (0.3, 0.4, 1)]
    tied = confidence_bins([0.5] * 9 + [0.9], [1] * 10, bins=5, scheme="equal_mass")
    assert [(b.n, b.confidence) for b in tied] == [(9, 0.5), (1, 0.9)]
    assert len(confidence_bins([0.5] * 4, [1, 0, 1, 0], bins=4, scheme="equal_mass")) == 1


def test_ece_errors() -> None:
    with pytest.raises(InputError, match=r"confidence: 1\.2 at position 1 is outside 0\.\.1"):
        ece([0.5, 1.2], [1, 1])
    with pytest.raises(InputError, match=r"correct: 2\.0 at position 0"):
        ece([0.5], [2])
    with pytest.raises(InputError, match="bins 0 must be at least 1"):
        ece([0.5], [1], bins=0)
    with pytest.raises(InputError, match="scheme 'other'"):
        ece([0.5], [1], scheme="other")  # type: ignore[arg-type]


CONFIDENT = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.35, 0.5, 0.9, 1.0]), st.booleans()), min_size=1)


@RELAXED
@given(CONFIDENT, st.randoms())
def test_confidence_measures_do_not_depend_on_order(rows: list[tuple[float, bool]], random: Any) -> None:
    mixed = random.sample(rows, len(rows))
    schemes: tuple[Literal["equal_width", "equal_mass"], ...] = ("equal_width", "equal_mass")
    for scheme in schemes:
        first, second = (ece([c for c, _ in x], [r for _, r in x], scheme=scheme) for x in (rows, mixed))
        assert 0 <= first <= 1
        assert first == close(second)
    curves = [risk_coverage([c for c, _ in x], [not r for _, r in x]) for x in (rows, mixed)]
    assert curves[0].area == close(curves[1].area)
    assert curves[0].risk[-1] == close(sum(not r for _, r in rows) / len(rows))
    assert 0 <= curves[0].area <= 1


def test_risk_coverage_by_hand() -> None:
    found = risk_coverage([0.6, 0.9, 0.7, 0.8], [1, 0, 1, 0])
    assert found.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert found.risk.tolist() == [0, 0, close(1 / 3), 0.5]
    assert found.area == close((1 / 3 + 1 / 2) / 4)
    worst = risk_coverage([0.6, 0.9, 0.7, 0.8], [0, 1, 0, 1])
    assert worst.area == close((1 + 1 + 2 / 3 + 1 / 2) / 4)
    assert risk_coverage([0.5, 0.5], [0, 1]).risk.tolist() == [0.5, 0.5]
    with pytest.raises(InputError, match="position 1 is negative"):
        risk_coverage([0.5, 0.5], [0, -1])


# --- bootstrap ------------------------------------------------------------------------------------------


def test_bootstrap_matches_a_plain_loop_over_questions() -> None:
    human, machine = np.array([0.0, 1, 2, 3, 3, 1]), np.array([0.0, 2, 2, 3, 1, 1])
    groups = ["b", "a", "b", "c", "c", "a"]
    found = bootstrap_interval(ag.mae, human, machine, groups=groups, n_boot=200, level=0.9, seed=5)
    rng = np.random.default_rng(5)
    values = []
    for _ in range(200):
        drawn = rng.integers(3, size=3)
        rows = np.concatenate([np.flatnonzero(np.array(groups) == "abc"[k]) for k in drawn])
        values.append(np.mean(np.abs(human - machine)[rows]))
    assert (found.value, found.units, found.n_boot, found.undefined) == (close(0.5), 3, 200, 0)
    assert (found.low, found.high) == (close(np.quantile(values, 0.05)), close(np.quantile(values, 0.95)))


def test_bootstrap_is_seeded_and_ignores_order() -> None:
    groups = np.array([f"q{k % 6}" for k in range(60)])
    order = np.random.default_rng(0).permutation(60)
    call = partial(bootstrap_interval, ag.pearson, n_boot=100)
    first = call(LONG_HUMAN, LONG_MACHINE, groups=groups)
    again = call(LONG_HUMAN[order], LONG_MACHINE[order], groups=groups[order])
    assert (again.low, again.high) == (close(first.low), close(first.high))
    assert first == call(LONG_HUMAN, LONG_MACHINE, groups=groups)
    assert first.low != call(LONG_HUMAN, LONG_MACHINE, groups=groups, seed=1).low
    assert first.low < first.value < first.high


def test_bootstrap_by_question_is_wider_when_questions_differ() -> None:
    groups = np.repeat(np.arange(10), 30)
    human = np.zeros(300)
    machine = np.repeat(np.arange(10) / 10, 30)
    single = bootstrap_interval(ag.mae, human, machine)
    clustered = bootstrap_interval(ag.mae, human, machine, groups=groups)
    assert (single.units, clustered.units) == (300, 10)
    assert clustered.high - clustered.low > 3 * (single.high - single.low)


def test_bootstrap_covers_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for trial in range(200):
        effect = np.repeat(rng.normal(size=30), 5)
        noise = effect + rng.normal(size=150)
        found = bootstrap_interval(
            lambda a, b: float(np.mean(a - b)),
            noise,
            np.zeros(150),
            groups=np.arange(150) // 5,
            n_boot=200,
            seed=trial,
        )
        hits += found.low <= 0 <= found.high
    assert 178 <= hits <= 198  # 95 % of 200 is 190; percentile intervals of 30 questions fall a little short


def test_bootstrap_undefined() -> None:
    one = bootstrap_interval(ag.mae, [0, 1], [1, 1], groups=["q", "q"])
    assert (one.value, one.units, one.undefined) == (0.5, 1, 1000)
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    constant = bootstrap_interval(ag.pearson, [1, 1, 1], [0, 1, 2])
    assert math.isnan(constant.value)
    assert math.isnan(constant.low)
    some = bootstrap_interval(ag.pearson, [0, 1, 2, 3], [0, 2, 1, 3])
    assert 0 < some.undefined < 100
    assert some.low < some.high


def test_bootstrap_gives_no_ends_when_mostly_undefined() -> None:
    # defined only where the one response marked 1 was drawn more than once: in about a quarter of resamples
    found = bootstrap_interval(lambda x: float(x.sum()) if x.sum() > 1 else NAN, [0] * 9 + [1])
    assert 500 < found.undefined < 1000
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_bootstrap_takes_any_arrays() -> None:
    found = bootstrap_intervals({"prmse": ag.prmse}, UNBALANCED, SHORT_MACHINE, n_boot=50)["prmse"]
    assert found.value == close(0.9407750610889191)
    groups = [k % 3 for k in range(60)]
    within = bootstrap_interval(ag.within_question_r, LONG_HUMAN, LONG_MACHINE, groups, groups=groups, n_boot=50)
    assert within.low <= within.value <= within.high


def test_bootstrap_errors() -> None:
    with pytest.raises(InputError, match="empty"):
        bootstrap_interval(ag.mae)
    with pytest.raises(InputError, match="n_boot 0"):
        bootstrap_interval(ag.mae, [1], [1], n_boot=0)
    with pytest.raises(InputError, match=r"level 1\.5"):
        bootstrap_interval(ag.mae, [1], [1], level=1.5)
    with pytest.raises(InputError, match="array 1 has 2 values but array 0 has 1"):
        bootstrap_interval(ag.mae, [1], [1, 2])


# --- scale, bands, subgroups ----------------------------------------------------------------------------


@RELAXED
@given(st.floats(0, 5), st.sampled_from([1.0, 0.5, 0.25, 1.25]))
def test_round_to_scale_gives_the_nearest_point(mark: float, step: float) -> None:
    found = float(ag.round_to_scale([mark], scale_max=5, step=step)[0])
    assert abs(found - mark) <= step / 2 + 1e-6
    assert found / step == round(found / step)
    assert ag.round_to_scale([found], scale_max=5, step=step)[0] == found


def test_round_to_scale_goes_half_up_and_stays_on_the_scale() -> None:
    found = ag.round_to_scale([0.25, 0.75, 2.249999999, -1, 7], scale_max=3, step=0.5)
    assert found.tolist() == [0.5, 1.0, 2.5, 0.0, 3.0]


def test_bands() -> None:
    low, middle, high = ag.by_band([0, 0.5, 1, 1.5, 2, 2.5, 3], [0, 1, 1, 1, 2, 2.5, 1], scale_max=3, step=0.5)
    assert (low.name, low.n, low.exact, low.adjacent) == ("low", 2, 0.5, 1.0)
    assert (middle.name, middle.n, middle.human_mean, middle.machine_mean) == ("middle", 3, 1.5, close(4 / 3))
    assert (high.name, high.n, high.mae, high.rmse) == ("high", 2, 1.0, close(math.sqrt(2)))
    thirds = ag.by_band([0, 0.333333, 0.666667, 1], [0, 0, 1, 1], scale_max=1, step=1 / 3)
    assert [band.n for band in thirds] == [1, 2, 1]


def test_empty_band_is_nan() -> None:
    middle = ag.by_band([0, 1, 1], [0, 1, 0], scale_max=1)[1]
    assert middle.n == 0
    assert math.isnan(middle.exact)
    assert math.isnan(middle.dsm)
    assert math.isnan(middle.human_mean)


@RELAXED
@given(points(4))
def test_bands_and_subgroups_add_up(pair: tuple[list[int], list[int]]) -> None:
    human, machine = pair
    names = ["ab"[k % 2] for k in range(len(human))]
    whole = ag.mae(human, machine) * len(human)
    for parts in (
        ag.by_band(human, machine, scale_max=4),
        ag.by_subgroup(human, machine, names, scale_max=4),
    ):
        assert sum(part.n for part in parts) == len(human)
        assert sum(part.n * part.mae for part in parts if part.n) == pytest.approx(whole)


def test_subgroups() -> None:
    de, en = ag.by_subgroup([0, 1, 2, 3], [0, 1, 1, 2], ["en", "de", "de", "en"], scale_max=3)
    assert (de.name, de.n, de.exact, de.qwk) == ("de", 2, 0.5, 0.0)
    assert (en.name, en.n, en.exact, en.pearson) == ("en", 2, 0.5, close(1.0))
    long = ag.by_subgroup(LONG_HUMAN, LONG_MACHINE, _I % 4, scale_max=5, step=0.5)
    assert [part.name for part in long] == ["0", "1", "2", "3"]
    assert long[1].dsm == close(0.018950878418305273)  # RSMTOOL
    for missing in (None, NAN):
        with pytest.raises(InputError, match=r"subgroups: (None|nan) at position 1 is no label"):
            ag.by_subgroup([0, 1], [0, 1], ["x", missing], scale_max=3)


# --- the report -----------------------------------------------------------------------------------------


def long_report(**more: Any) -> ag.AgreementReport:
    given_: dict[str, Any] = {"scale_max": 5, "step": 0.5, "human2": LONG_SECOND, "n_boot": 50} | more
    return ag.agreement(LONG_HUMAN, LONG_MACHINE, **given_)


def test_report_on_one_scale() -> None:
    report = long_report(groups=[f"q{k % 6}" for k in range(60)], subgroups=["ab"[k % 2] for k in range(60)])
    assert (report.n, report.questions, report.double_scored, report.rounded_human) == (60, 6, 20, 0)
    assert report.rounded_machine == sum((2 * x) % 1 > 1e-6 for x in LONG_MACHINE)
    assert report.metrics["qwk"] == close(0.9481749256214214)  # RSMTOOL on rounded marks
    assert report.metrics["qwk_continuous"] == close(0.9499832426997631)  # RSMTOOL
    assert report.degradation["pearson"] == close(-0.029811253186904)  # RSMTOOL
    assert report.human_human["qwk"] == close(0.9499832426997631 + 0.002859303802726)  # RSMTOOL
    assert report.true_score == {"prmse": close(0.9435644820139628), "variance_of_errors": close(0.1125)}
    assert {i.units for i in report.intervals.values()} == {6}
    assert set(report.intervals) == set(report.metrics)
    assert [part.name for part in report.bands] == ["low", "middle", "high"]
    assert [part.n for part in report.subgroups] == [30, 30]
    assert [flag.name for flag in report.flags] == list(ag._THRESHOLDS)
    assert all(report.intervals[k].value == pytest.approx(v) for k, v in report.metrics.items())


def test_report_to_dict_is_json_without_nan() -> None:
    report = ag.agreement([1, 1], [0, 1], scale_max=3, n_boot=20, confidence=[0.2, 0.9])
    text = json.dumps(report.to_dict(), allow_nan=False)
    plain = json.loads(text)
    assert plain["metrics"]["pearson"] is None
    assert math.isnan(report.metrics["pearson"])
    assert plain["intervals"]["mae"]["units"] == 2
    assert plain["bands"][0] == {"name": "low", "n": 0} | {
        key: None for key in plain["bands"][0] if key not in ("name", "n")
    }
    assert plain["flags"][1] == {"name": "pearson", "value": None, "threshold": 0.7, "ok": False}
    assert plain["metrics"]["ece"] == pytest.approx((0.2 + 0.1) / 2)
    assert plain["metrics"]["aurc"] == pytest.approx((0 + 0.5) / 2)


def test_report_without_second_rater_or_groups() -> None:
    report = ag.agreement(HUMAN, MACHINE, scale_max=3, n_boot=0)
    assert (report.human_human, report.degradation, report.true_score, report.intervals) == ({}, {}, {}, {})
    assert (report.double_scored, report.questions, report.subgroups) == (0, 1, ())
    assert "within_question_r" not in report.metrics
    assert [flag.name for flag in report.flags] == ["qwk", "pearson", "smd", "exact", "adjacent"]
    nobody = ag.agreement(HUMAN, MACHINE, scale_max=3, n_boot=0, human2=[None] * 6)
    assert nobody.to_dict() == report.to_dict()


def test_report_of_one_response_and_of_one_question() -> None:
    report = ag.agreement([2], [2], scale_max=3, human2=[2], groups=["q"])
    assert report.metrics["qwk"] == report.metrics["exact"] == 1.0
    assert math.isnan(report.metrics["smd"])
    assert math.isnan(report.true_score["prmse"])
    assert math.isnan(report.intervals["qwk"].low)
    question = long_report(groups=["q"] * 60)
    assert question.questions == 1
    assert question.intervals["qwk"].units == 60


def test_report_is_frozen_and_repeatable() -> None:
    report = long_report()
    assert report == long_report()
    with pytest.raises(AttributeError):
        report.n = 3  # type: ignore[misc]


def test_flags_at_the_thresholds() -> None:
    on = {
        "qwk": 0.7, "pearson": 0.7, "smd": -0.15, "exact": 0.5, "adjacent": 0.95,
        "degradation_qwk": 0.6 - 0.7, "degradation_pearson": -0.1, "prmse": 0.8,
    }  # fmt: skip
    assert all(flag.ok for flag in ag.flags(on))
    off = {
        "qwk": 0.699, "pearson": 0.69, "smd": 0.151, "exact": 0.49, "adjacent": 0.949,
        "degradation_qwk": -0.101, "degradation_pearson": -0.2, "prmse": NAN,
    }  # fmt: skip
    assert not any(flag.ok for flag in ag.flags(off))
    assert [(flag.name, flag.threshold) for flag in ag.flags(off)] == list(ag._THRESHOLDS.items())
    assert ag.flags({"rmse": 3.0}) == ()
    assert not ag.flags({"smd": -0.2})[0].ok


@RELAXED
@given(points(3))
def test_report_of_anything_on_the_scale(pair: tuple[list[int], list[int]]) -> None:
    human, machine = pair
    report = ag.agreement(human, machine, scale_max=3, human2=machine, n_boot=0)
    assert report.metrics["exact"] <= report.metrics["adjacent"]
    assert report.degradation["qwk"] == close(0.0)
    json.dumps(report.to_dict(), allow_nan=False)


# --- bad input ------------------------------------------------------------------------------------------

PAIRED = [
    ag.pearson, ag.spearman, ag.rmse, ag.mae, ag.smd,
    ag.qwk_continuous, ag.exact_agreement, ag.adjacent_agreement,
    partial(ag.qwk, scale_max=3), partial(ag.by_band, scale_max=3), partial(ag.agreement, scale_max=3),
]  # fmt: skip


@pytest.mark.parametrize("metric", PAIRED)
@pytest.mark.parametrize(
    ("human", "machine", "message"),
    [
        ([], [], "human: empty"),
        ([1, 2], [1], "human has 2 values but machine has 1; they must be equal"),
        ([1, 2, NAN], [1, 2, 3], "human: nan at position 2 is not a finite number"),
        ([1, 2], [None, 2], "machine: nan at position 0"),
        ([1, 2], [1, math.inf], "machine: inf at position 1"),
        ([[1, 2]], [1, 2], r"human: shape \(1, 2\)"),
        (["one"], [1], "human: every value must be a number"),
        ([1, 2], ["1", 2], "machine: every value must be a number"),
    ],
)
def test_bad_input_is_named(metric: Any, human: Any, machine: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        metric(human, machine)
    assert isinstance(caught.value, ValueError)


def test_bad_input_of_the_report() -> None:
    good = partial(ag.agreement, [0, 1], [0, 1], scale_max=3)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"human2": [0]}, "human2 has 1 values but human has 2"),
        ({"human2": [0, 9]}, r"human2: 9\.0 at position 1 is outside the scale 0\.\.3"),
        ({"groups": ["a"]}, "groups has 1 values"),
        ({"subgroups": ["a"]}, "subgroups has 1 values"),
        ({"confidence": [0.5]}, "confidence has 1 values"),
        ({"n_boot": -1}, "n_boot -1"),
        ({"step": 2}, "step 2 does not divide"),
    ]
    for more, message in cases:
        with pytest.raises(InputError, match=message):
            good(**more)
    with pytest.raises(InputError, match=r"machine: 3\.2 at position 0 is outside the scale"):
        ag.agreement([0], [3.2], scale_max=3)


def test_missing_is_allowed_only_where_asked_for() -> None:
    assert math.isnan(checked([None], "human2", missing=True)[0])
    with pytest.raises(InputError, match="inf at position 0"):
        checked([math.inf], "human2", missing=True)
