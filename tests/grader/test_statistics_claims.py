"""What the statistics items claim, computed; the form is that of `test_bank_claims.py`."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from grader import load_bank
from grader.bank import default_rubrics
from tests.grader.claims import Check, Claims

claim = Claims(load_bank(default_rubrics() / "statistics"))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# tests and errors


def ill_given_positive(prior: float, right: float = 0.99) -> float:
    return prior * right / (prior * right + (1 - prior) * (1 - right))


@claim("base-rate", "of 100,000 people about 99 of the 100 ill and 999 of the healthy test positive, so only about 9 %")
@claim("base-rate", "With a prevalence of 0.1 % the chance of having it after a positive is about 9 percent.")
@claim("base-rate", ".99 * .001 / (.99 * .001 + .01 * .999) = .09", "so only 1 in 11 has it", "about 9 %")
@claim("base-rate", "About one true positive comes with about ten false ones.")
def _() -> None:
    assert (0.001 * 100_000 * 0.99, round(0.999 * 100_000 * 0.01)) == (99, 999)
    assert 99 / (99 + 999) == pytest.approx(ill_given_positive(0.001)) == pytest.approx(0.09, abs=0.0005)
    assert round(999 / 99) == 10


@claim(
    "base-rate",
    "The base rate for the second test is the 9 % from the first, so after it the person is ill with about 91 %.",
)
@claim("base-rate", "It multiplies the odds by 99 once more.")
@claim("base-rate", "Then 99 % of the positive results are right, because ill and healthy people are equally many.")
@claim("base-rate", "For a rare disease nearly all negative results are right.")
def _() -> None:
    first = ill_given_positive(0.001)
    second = ill_given_positive(first)
    assert second == pytest.approx(0.91, abs=0.005)
    assert second / (1 - second) == pytest.approx(99 * first / (1 - first))
    assert ill_given_positive(0.5) == pytest.approx(0.99)
    assert 0.999 * 0.99 / (0.999 * 0.99 + 0.001 * 0.01) > 0.9999


@claim("p-value", "60 heads in 100 tosses have p of about .06 for a fair coin")
@claim(
    "p-value",
    "Nine or more tosses of ten on the same side happen to a fair coin about once in fifty tries, so p is about .02.",
)
@claim("p-value", "A friend guesses 9 of 10 cards right, and pure guessing manages that about once in a hundred times.")
def _() -> None:
    assert stats.binomtest(60, 100).pvalue == pytest.approx(0.06, abs=0.005)
    assert stats.binomtest(9, 10).pvalue == pytest.approx(1 / 50, abs=0.002)
    assert stats.binomtest(9, 10, alternative="greater").pvalue == pytest.approx(1 / 100, abs=0.001)


@claim(
    "p-value",
    "Rejecting only below .05 keeps the rate of false positives at five percent when there is nothing to find.",
)
@claim("p-value", "If there were no effect, data this extreme would turn up about once in a hundred studies.")
@claim("type-errors", "With twenty tests at the 5 percent level you must expect one false positive.")
@claim("p-value", "If you test twenty things, one of them will come out below .05 by luck alone.")
def _() -> None:
    draw = rng()
    p = stats.ttest_ind(draw.normal(size=(20, 20_000)), draw.normal(size=(20, 20_000))).pvalue
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.005)
    assert (p < 0.01).mean() == pytest.approx(0.01, abs=0.002)
    assert 20 * 0.05 == 1


@claim(
    "p-value",
    "With a very large sample a trifling difference gets a tiny p, so it says nothing about the size of the effect.",
)
@claim("p-value", "The chance of replication depends on the true effect and on the sample size.")
def _() -> None:
    assert stats.norm.sf(0.01 * math.sqrt(1_000_000)) < 1e-6
    draw = rng()
    p = stats.ttest_ind(draw.normal(0.65, size=(30, 5000)), draw.normal(size=(30, 5000))).pvalue
    assert stats.ttest_ind_from_stats(0.65, 1, 30, 0, 1, 30).pvalue == pytest.approx(0.015, abs=0.005)
    assert (p < 0.05).mean() < 0.8, "an effect as large as one with p near .01 is found again far less often than 99 %"


@claim("type-errors", "The two trade off: a stricter threshold gives fewer false alarms but more misses")
@claim("type-errors", "alpha down -> beta up for fixed n", "Only a larger sample reduces both at once.")
@claim("type-errors", "Its probability is beta, which is one minus the power of the test.")
@claim("type-errors", "the share among significant results depends on how common effects are")
def _() -> None:
    def missed(alpha: float, n: int) -> float:
        """Beta of a one-sided z test of an effect of half a standard deviation."""
        return float(stats.norm.cdf(stats.norm.isf(alpha) - 0.5 * math.sqrt(n)))

    assert missed(0.01, 20) > missed(0.05, 20)
    assert missed(0.01, 80) < missed(0.05, 20)
    power, alpha = 1 - missed(0.05, 20), 0.05
    false_share = [(1 - common) * alpha / ((1 - common) * alpha + common * power) for common in (0.01, 0.5)]
    assert false_share[0] > 0.5 > 0.1 > false_share[1]


# means and their errors


@claim("central-limit-theorem", "One die is flat, but the mean of thirty dice already looks like a bell curve.")
@claim("central-limit-theorem", "The number of heads in a hundred tosses is close to normal with mean 50 and SD 5.")
@claim(
    "central-limit-theorem", "Waiting times are very skewed, yet the average of a hundred of them is nearly symmetric."
)
@claim("central-limit-theorem", "The data keep their shape; it is the average over samples that becomes normal.")
def _() -> None:
    dice = rng().integers(1, 7, size=(50_000, 30))
    assert abs(stats.kurtosis(dice[:, 0])) > 1 > 0.15 > abs(stats.kurtosis(dice.mean(axis=1)))
    heads = stats.binom(100, 0.5)
    assert (heads.mean(), heads.std()) == (50, 5)
    assert abs(heads.cdf(55) - stats.norm(50, 5).cdf(55.5)) < 0.001
    waiting = rng().exponential(size=(50_000, 100))
    assert stats.skew(waiting[:, 0]) > 1.8
    assert stats.skew(waiting.mean(axis=1)) == pytest.approx(0.2, abs=0.05)


@claim("central-limit-theorem", "It fails for the Cauchy distribution, which has no finite variance.")
@claim("central-limit-theorem", "With strongly skewed data n = 30 is not enough.")
@claim("central-limit-theorem", "For skewed data thirty can be far too few.", "Maxima follow other laws than means.")
def _() -> None:
    def spread(x: np.ndarray) -> float:
        return float(stats.iqr(x))

    cauchy = rng().standard_cauchy(size=(20_000, 100))
    assert spread(cauchy.mean(axis=1)) == pytest.approx(spread(cauchy[:, 0]), rel=0.1), "averaging does not help"
    skewed = rng().lognormal(sigma=2, size=(20_000, 30))
    assert stats.skew(skewed.mean(axis=1)) > 2
    incomes = rng().lognormal(sigma=0.5, size=(20_000, 200))
    assert stats.skew(incomes.max(axis=1)) > 5 * stats.skew(incomes.mean(axis=1))


@claim("confidence-interval", "It is made by a procedure that covers the true value in 95 % of repeated samples.")
@claim("confidence-interval", "About five of them, and none of these knows that it is one of the five.")
@claim("confidence-interval", "The next mean varies too, so it falls inside less often than that.")
@claim("confidence-interval", "It does not contain 95 % of the data.")
def _() -> None:
    samples = rng().normal(10, 2, size=(20_000, 25))
    means = samples.mean(axis=1)
    half = stats.t.ppf(0.975, 24) * samples.std(axis=1, ddof=1) / 5
    assert (abs(means - 10) <= half).mean() == pytest.approx(0.95, abs=0.005)
    assert (abs(np.roll(means, 1) - means) <= half).mean() == pytest.approx(0.85, abs=0.02)
    assert (abs(samples - means[:, None]) <= half[:, None]).mean() < 0.5


@claim("confidence-interval", "With mean 170, s = 10 and n = 100 it runs from about 168 to 172.")
@claim("confidence-interval", "If a poll says 52 % with limits 49 and 55, a tie is compatible with the data.")
@claim("confidence-interval", "Two that overlap can still belong to means that differ significantly.")
@claim("confidence-interval", "More data, less scatter in the measurements, or a lower confidence level.")
@claim("confidence-interval", "It contains the values that a test at the 5 percent level would not reject.")
def _() -> None:
    low, high = stats.norm.interval(0.95, 170, 10 / math.sqrt(100))
    assert (round(low), round(high)) == (168, 172)
    assert 49 < 50 < 55
    assert 1.96 * math.sqrt(0.52 * 0.48 / 1000) == pytest.approx(0.03, abs=0.002)
    a, b = (0, 1), (3, 1)  # means and standard errors
    assert a[0] + 1.96 * a[1] > b[0] - 1.96 * b[1]
    assert 2 * stats.norm.sf((b[0] - a[0]) / math.hypot(a[1], b[1])) < 0.05
    assert stats.norm.ppf(0.9) < stats.norm.ppf(0.975)
    x = rng().normal(size=30)
    inside = stats.t.interval(0.95, 29, x.mean(), stats.sem(x))
    for value, rejected in ((inside[0] + 1e-6, False), (inside[1] - 1e-6, False), (inside[1] + 1e-6, True)):
        assert bool(stats.ttest_1samp(x, value).pvalue < 0.05) is rejected


@claim("standard-error", "With s = 10 cm and 100 persons the mean height has an uncertainty of only 1 cm.")
@claim("standard-error", "For SD 15 and n = 25 the standard error is 3.")
@claim("standard-error", "If heights have SD 8 cm, the mean of 64 people has standard error 1 cm.")
@claim("standard-error", "16 measurements with a scatter of 4 give an average that is good to about 1.")
@claim("standard-error", "Four times as many, because it falls with the square root of n.")
@claim("standard-error", "The standard error halves, the standard deviation stays about the same.")
@claim("standard-error", "np.std(x, ddof=1) / np.sqrt(len(x))")
def _() -> None:
    errors = [sd / math.sqrt(n) for sd, n in ((10, 100), (15, 25), (8, 64), (4, 16))]
    assert errors == [1, 3, 1, 1]
    people = rng().normal(170, 10, size=(20_000, 400))
    few, many = people[:, :100], people
    assert many.mean(axis=1).std() == pytest.approx(few.mean(axis=1).std() / 2, rel=0.02)
    assert many.std(axis=1, ddof=1).mean() == pytest.approx(few.std(axis=1, ddof=1).mean(), rel=0.01)
    assert np.std(few[0], ddof=1) / np.sqrt(len(few[0])) == pytest.approx(stats.sem(few[0]))


@claim(
    "mean-vs-median",
    "If nine people earn 30,000 and one earns 3 million, the mean is over 300,000 but the median stays at",
)
@claim("mean-vs-median", "For 1, 2, 3, 4, 100 the mean is 22 and the median 3.", "np.median([1, 2, 3, 4, 100]) # 3")
@claim("mean-vs-median", "The mean gets larger, the median does not change.", "Only the mean salary.")
@claim("mean-vs-median", "That is the mode; the median is the middle of the ordered values.")
def _() -> None:
    incomes = [30_000] * 9 + [3_000_000]
    assert (np.mean(incomes), np.median(incomes)) == (327_000, 30_000)
    few = [1, 2, 3, 4, 100]
    assert (np.mean(few), np.median(few)) == (22, 3)
    eleven = np.arange(1.0, 12.0)
    longer = np.where(eleven == 11, 110, eleven)
    assert np.median(longer) == np.median(eleven)
    assert longer.mean() > eleven.mean()
    assert (stats.mode([1, 1, 2, 3, 4]).mode, np.median([1, 1, 2, 3, 4])) == (1, 2)


@claim(
    "mean-vs-median",
    "If the data are roughly normal, the mean is the better choice, since it varies less from sample to sample.",
)
@claim("mean-vs-median", "For roughly normal data the mean is more precise, and totals can only be had from it.")
@claim("mean-vs-median", "With roughly normal data, as the mean is more precise there.")
@claim("mean-vs-median", "breakdown point: mean 0, median 50 %")
def _() -> None:
    """Symmetry alone is not enough: with heavy tails the median varies less."""
    normal, heavy = rng().normal(size=(20_000, 51)), rng().laplace(size=(20_000, 51))
    assert normal.mean(axis=1).std() < np.median(normal, axis=1).std()
    assert heavy.mean(axis=1).std() > np.median(heavy, axis=1).std()
    x = np.r_[np.zeros(51), np.full(49, 1e12)]
    assert np.median(x) == 0
    assert x.mean() > 1e11


@claim("sample-variance", "With n = 2 the version with n gives only half of the true value on average")
@claim("sample-variance", "The expected value of the sum of squares is (n - 1) times sigma squared.")
@claim("sample-variance", "For five numbers the two differ by a quarter, for a million not at all.")
@claim("sample-variance", "With the whole population nothing is estimated, so one divides by n.")
@claim("sample-variance", "By n, because then no degree of freedom is used up by estimating the mean.")
def _() -> None:
    die = [Fraction(value) for value in range(1, 7)]
    centre = sum(die) / 6
    variance = sum((x - centre) ** 2 for x in die) / 6
    pairs = [(x, y) for x in die for y in die]
    squares = sum(sum((v - (x + y) / 2) ** 2 for v in (x, y)) for x, y in pairs) / len(pairs)
    known = sum(sum((v - centre) ** 2 for v in (x, y)) for x, y in pairs) / len(pairs)
    assert squares == variance
    assert (squares / 2, squares / 1, known / 2) == (variance / 2, variance, variance)
    assert 5 / (5 - 1) == 1.25


@claim(
    "sample-variance",
    "np.var divides by n unless you pass ddof=1.",
    "torch.var and pandas use n - 1 by default but numpy",
)
@claim(
    "sample-variance",
    "2 with n - 1 and 1 with n, because the squares sum to 2.",
    "That would be np.var([1, 3], ddof=1).",
)
@claim("sample-variance", "For a single value the spread is undefined with n - 1, and zero with n")
@claim("sample-variance", "The deviations sum to zero, so only n - 1 of them are free to vary.")
def _() -> None:
    assert (np.var([1, 3]), np.var([1, 3], ddof=1)) == (1, 2)
    assert (torch.tensor([1.0, 3.0]).var(), pd.Series([1, 3]).var()) == (2, 2)
    assert np.var([5]) == 0
    assert math.isnan(pd.Series([5]).var())
    x = np.array([2.0, 7.0, 9.0])
    assert (x - x.mean()).sum() == pytest.approx(0)


@claim("sample-variance", "The square root of it is still a little too small as an estimate of the standard deviation.")
@claim("sample-variance", "A smaller divisor makes the result larger; it makes up for a value that is too small.")
def _() -> None:
    samples = rng().normal(size=(50_000, 5))
    assert samples.var(axis=1, ddof=1).mean() == pytest.approx(1, abs=0.01)
    assert 0.92 < samples.std(axis=1, ddof=1).mean() < 0.96
    assert samples.var(axis=1).mean() == pytest.approx(0.8, abs=0.01)


# data and causes


@claim("correlation-causation", "Curved or opposing effects can cancel out to a correlation of zero.")
@claim("correlation-causation", "Z -> X and Z -> Y makes X and Y go together.")
@claim(
    "correlation-causation",
    "Looking only at a selected group can create a link that is not there in the whole population.",
)
@claim("correlation-causation", "Neither strength nor sample size rules out a common cause.")
def _() -> None:
    x = np.linspace(-1, 1, 101)
    assert np.corrcoef(x, x**2)[0, 1] == pytest.approx(0)
    z, a, b = rng().normal(size=(3, 20_000))
    assert np.corrcoef(z + 0.1 * a, z + 0.1 * b)[0, 1] > 0.9
    chosen = a + b > 1
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.02
    assert np.corrcoef(a[chosen], b[chosen])[0, 1] < -0.3


@claim(
    "simpsons-paradox",
    "In a study of kidney stones treatment A cured more of the small and more of the large stones, but B",
)
@claim("simpsons-paradox", "Its average is weighted towards the slow kind.")
@claim(
    "simpsons-paradox",
    "A player can have the better batting average in both seasons and the worse one over the two together.",
)
@claim("simpsons-paradox", "All numbers are right; the totals just have different weights.")
def _() -> None:
    """Cured and treated of Charig et al. (1986), hits and at-bats of Justice and Jeter in 1995 and 1996."""
    tables = [(((81, 87), (192, 263)), ((234, 270), (55, 80))), (((104, 411), (45, 140)), ((12, 48), (183, 582)))]
    for better, worse in tables:
        assert all(Fraction(*a) > Fraction(*b) for a, b in zip(better, worse, strict=True))
        totals = [Fraction(sum(a for a, _ in side), sum(n for _, n in side)) for side in (better, worse)]
        assert totals[0] < totals[1]
    (_, large), (small, _) = tables[0]
    assert large[1] > 87
    assert small[1] > 80


@claim(
    "regression-to-mean",
    "Cases picked because they were extreme tend to be closer to the average when they are measured again.",
)
@claim(
    "regression-to-mean", "E[z2 | z1] = r z1 with |r| < 1", "No, without noise the second value would equal the first."
)
@claim("regression-to-mean", "The spread stays; others become the extreme ones next time.")
@claim("regression-to-mean", "Nothing makes up for anything; the next result is just ordinary on average.")
def _() -> None:
    true, e1, e2 = rng().normal(size=(3, 200_000))
    first, second = true + e1, true + e2
    top = first > np.quantile(first, 0.95)
    assert 0 < second[top].mean() < first[top].mean()
    assert second[top].mean() / first[top].mean() == pytest.approx(0.5, abs=0.02)
    assert second.std() == pytest.approx(first.std(), rel=0.01)
    assert e2[top].mean() == pytest.approx(0, abs=0.03)
    assert e1[top].mean() > 1


@claim("sampling-bias", "Size makes the estimate more precise but precise around the wrong value.")
@claim("sampling-bias", "Size reduces random error only; who is asked stays the same.")
@claim("sampling-bias", "A smaller random draw beats a huge one of volunteers.")
@claim("sampling-bias", "500 voters drawn by lot from the register.")
def _() -> None:
    draw = rng()
    votes = draw.random(200_000) < 0.5
    asked = draw.random(200_000) < np.where(votes, 0.3, 0.2)
    volunteers = votes[asked]
    small, huge = draw.permutation(volunteers)[:500], volunteers
    assert huge.size > 40_000
    assert abs(huge.mean() - 0.6) < 0.01 < abs(huge.mean() - 0.5)
    assert abs(draw.permutation(votes)[:500].mean() - 0.5) < 0.05 < abs(huge.mean() - 0.5)
    assert small.std() == pytest.approx(huge.std(), rel=0.1)


@pytest.mark.parametrize(**claim.parameters())
def test_the_pack_says_so_and_it_is_so(item: str, quote: str, check: Check) -> None:
    claim.holds(item, quote, check)


def test_every_item_has_a_claim_that_was_computed() -> None:
    assert {item for item, _, _ in claim.found} == set(claim.items)
