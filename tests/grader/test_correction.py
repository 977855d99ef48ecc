from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from grader.correction import Kernel, fit
from grader.errors import InputError
from grader.representation import Representation, lexical_vector


def represent(n: int, seed: int = 0, dimensions: int = 8) -> tuple[Representation, np.ndarray]:
    """Responses of three kinds with marks that follow the kind, and an uncalibrated mark that does not see it."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n)
    centres = np.eye(dimensions)[:3]
    vectors = centres[kinds] + rng.normal(0, 0.15, (n, dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lexical = np.stack([lexical_vector(f"kind{kind} word") for kind in kinds])
    labels = np.array([0.0, 0.5, 1.0])[kinds]
    evidence = rng.normal(0, 1, (n, 5))
    return Representation(vectors, lexical, rng.uniform(0, 1, (n, 3)), evidence, np.full(n, 0.5), np.ones(n)), labels


def test_labels_pull_marks_towards_them_and_far_answers_stay_with_the_prior() -> None:
    rows, labels = represent(60)
    fitted = fit(rows.take(range(40)), labels[:40])
    test = rows.take(range(40, 60))
    before = np.abs(test.prior - labels[40:]).mean()
    assert np.abs(fitted.predict(test).mean - labels[40:]).mean() < before / 3

    strange = Representation(
        -test.vectors,
        np.zeros_like(test.lexical),
        np.full_like(test.linear, 0.5),
        test.evidence + 9,
        test.prior,
        test.open,
    )
    prediction = fitted.predict(strange)
    assert np.abs(prediction.mean - 0.5).max() < 0.2
    assert prediction.novelty.min() > fitted.predict(test).novelty.max()


def test_leave_one_out_equals_refitting_without_the_row() -> None:
    rows, labels = represent(15)
    fitted = fit(rows, labels, adapt=False)
    for at in range(len(rows)):
        others = [i for i in range(len(rows)) if i != at]
        again = fit(rows.take(others), labels[others], adapt=False).predict(rows.take([at]))
        assert_allclose(fitted.left_out.mean[at], again.mean[0], atol=1e-8)
        assert_allclose(fitted.left_out.sd[at], again.sd[0], atol=1e-8)


def test_no_cliff_between_few_and_many_labels() -> None:
    rows, labels = represent(120)
    test = rows.take(range(80, 120))
    errors = [
        np.sqrt(np.mean((fit(rows.take(range(n)), labels[:n]).predict(test).mean - labels[80:]) ** 2))
        for n in (3, 5, 10, 20, 40, 80)
    ]
    uncalibrated = np.sqrt(np.mean((test.prior - labels[80:]) ** 2))
    assert all(later <= earlier + 0.02 for earlier, later in zip(errors, errors[1:], strict=False))
    assert errors[0] <= uncalibrated + 0.02


def test_interval_covers_and_is_the_whole_scale_with_too_few_labels() -> None:
    rows, labels = represent(300, seed=3)
    noisy = np.clip(labels + np.random.default_rng(5).normal(0, 0.1, len(labels)), 0, 1)
    fitted = fit(rows.take(range(100)), noisy[:100])
    low, high = fitted.interval(fitted.predict(rows.take(range(100, 300))), 0.9)
    covered = (noisy[100:] >= low - 1e-9) & (noisy[100:] <= high + 1e-9)
    assert covered.mean() >= 0.85
    assert (high - low).mean() < 0.8

    few = fit(rows.take(range(5)), noisy[:5])
    low, high = few.interval(few.predict(rows.take([7])), 0.9)
    assert (low[0], high[0]) == (0.0, 1.0)


def test_probabilities_of_score_points_sum_to_one_and_agree_with_within() -> None:
    rows, labels = represent(40)
    fitted = fit(rows.take(range(30)), labels[:30])
    prediction = fitted.predict(rows.take(range(30, 40)))
    chances = fitted.probabilities(prediction, np.linspace(0, 1, 11))
    assert_allclose(chances.sum(axis=1), 1.0)
    assert (chances >= 0).all()
    assert (fitted.within(prediction, prediction.mean, 1.0) > 0.95).all()


def test_bad_labels_are_refused() -> None:
    rows, labels = represent(10)
    with pytest.raises(InputError, match="10 responses but 9 labels"):
        fit(rows, labels[:9])
    with pytest.raises(InputError, match="2 labels are too few"):
        fit(rows.take([0, 1]), labels[:2])
    with pytest.raises(InputError, match="between 0 and 1"):
        fit(rows, labels * 5)


def test_scaling_keeps_the_shape_of_the_kernel() -> None:
    rows, _ = represent(6)
    assert_allclose(Kernel().scaled(2.0, 1.0)(rows, rows), 4 * Kernel()(rows, rows))
    assert_allclose(np.diag(Kernel()(rows, rows)), Kernel().variance(rows))


def test_uncalibrated_marks_that_labels_do_not_follow_are_believed_less() -> None:
    rows, labels = represent(40)
    rng = np.random.default_rng(3)
    following = replace(rows, prior=np.clip(labels + rng.normal(0, 0.1, 40), 0, 1))
    misleading = replace(rows, prior=rng.uniform(0, 1, 40))
    fitted = fit(misleading, labels)
    assert fitted.kernel.trust < fit(following, labels).kernel.trust
    stubborn = fit(misleading, labels, kernel=replace(fitted.kernel, trust=1.0), adapt=False)
    assert np.abs(fitted.left_out.mean - labels).mean() < np.abs(stubborn.left_out.mean - labels).mean()
