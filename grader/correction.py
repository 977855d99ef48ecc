"""Fits an item's scorer to labelled responses: one mechanism from no label to thousands.

The mark of a response is the uncalibrated mark plus a correction; where labels follow that mark little, it is believed
less and drawn towards the middle of all. The correction is a Gaussian process over what
the response says: its sentence vectors, its words, and the credits of the rubric. With no labels it is zero and the
shipped scorer decides; each label pulls the marks of similar responses towards the teacher's, and what is known
about the correction comes with it as a variance. The linear part of the kernel is the same as fitting the weights
of components and elements with shrinkage towards the rubric's.

Leave-one-out marks have a closed form (Rasmussen & Williams 2006, section 5.4.2), so every figure of a fit is
honest: no response is ever marked by a fit that has seen its label.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import erf

from grader.errors import InputError
from grader.representation import Array, Representation

#: Pseudo-observations of a standard normal mixed into the distribution of leave-one-out errors.
_PRIOR_ERRORS = 10.0
MIN_LABELS = 3
#: Scales are chosen on at most this many labelled responses, evenly spaced.
_ADAPT_ON = 800
#: Changes of the scales that are tried.
_SIGNALS, _NOISES = (0.5, 0.71, 1.0, 1.41, 2.0), (0.5, 0.71, 1.0, 1.41)
#: Trust in the uncalibrated marks that is tried, and what it costs to lose it (in units of log likelihood).
_TRUST = (1.0, 0.75, 0.5, 0.25, 0.0)
_DOUBT = 1.0


@dataclass(frozen=True, slots=True)
class Kernel:
    """Scales of the correction, as shares of the score scale; chosen on other items' labels.

    Attributes:
        vector: Standard deviation of the part that follows the sentence vectors.
        length: Cosine distance at which that part forgets.
        lexical: Standard deviation of the part that follows the words.
        evidence: Standard deviation of the part that follows the evidence.
        reach: Mean squared difference of the evidence at which that part forgets.
        linear: Standard deviation of the part that is linear in the credits.
        offset: Standard deviation of a shift of all marks.
        noise: Standard deviation of a rater's mark around what the response deserves.
        trust: Share of the differences between uncalibrated marks that is believed before any label is looked at.
        centre: Mark that uncalibrated marks are drawn to where ``trust`` is below 1.
    """

    vector: float = 0.22
    length: float = 0.5
    lexical: float = 0.20
    evidence: float = 0.30
    reach: float = 1.0
    linear: float = 0.125
    offset: float = 0.15
    noise: float = 0.16
    trust: float = 1.0
    centre: float = 0.5

    def before(self, rows: Representation) -> Array:
        """Marks of ``rows`` before the correction, shape (n,)."""
        return np.asarray(self.centre + self.trust * (rows.prior - self.centre), dtype=np.float64)

    def __call__(self, left: Representation, right: Representation) -> Array:
        """Covariance of the corrections of ``left`` and ``right``, shape (len(left), len(right))."""
        covariance = self.vector**2 * np.exp(-_squared(left.vectors, right.vectors) / (2 * self.length))
        covariance += self.lexical**2 * (left.lexical @ right.lexical.T)
        width = max(left.evidence.shape[1], 1)
        covariance += self.evidence**2 * np.exp(-_squared(left.evidence, right.evidence) / (width * self.reach))
        width = max(left.linear.shape[1], 1)
        covariance += self.linear**2 * ((left.linear - 0.5) @ (right.linear - 0.5).T) * 4 / width
        covariance += self.linear**2 * np.outer(left.prior - 0.5, right.prior - 0.5) * 4
        return np.asarray(covariance + self.offset**2, dtype=np.float64)

    def variance(self, rows: Representation) -> Array:
        """Prior variance of the corrections of ``rows``, shape (n,)."""
        lexical = (rows.lexical**2).sum(axis=1)
        width = max(rows.linear.shape[1], 1)
        linear = ((rows.linear - 0.5) ** 2).sum(axis=1) * 4 / width + (rows.prior - 0.5) ** 2 * 4
        fixed = self.vector**2 + self.evidence**2 + self.offset**2
        return np.asarray(fixed + self.lexical**2 * lexical + self.linear**2 * linear, dtype=np.float64)

    def scaled(self, signal: float, noise: float) -> Kernel:
        """A copy with all signal scales multiplied by ``signal`` and the noise by ``noise``."""
        return replace(
            self, vector=self.vector * signal, lexical=self.lexical * signal, evidence=self.evidence * signal,
            linear=self.linear * signal, offset=self.offset * signal, noise=self.noise * noise,
        )  # fmt: skip


def _squared(left: Array, right: Array) -> Array:
    """Squared distance of each pair of rows, shape (len(left), len(right))."""
    both = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2 * left @ right.T
    return np.asarray(np.maximum(both, 0.0), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Calibrated marks as shares of the scale, with what is not known about them.

    Attributes:
        mean: Mark, 0..1, shape (n,).
        sd: Standard deviation of a rater's mark around it, shape (n,).
        novelty: How much of the prior uncertainty is left, 0 (seen) to 1 (unlike every labelled response), shape (n,).
    """

    mean: Array
    sd: Array
    novelty: Array


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A correction fitted to labelled responses.

    Attributes:
        rows: The labelled responses.
        labels: Their marks as shares of the scale, shape (n,).
        kernel: The scales in use.
        weights: How many answers each label stands for, mean 1, shape (n,).
        left_out: Leave-one-out marks and deviations.
        errors: Leave-one-out errors in units of their deviation, shape (n,), ascending.
        error_weights: Weights of the labels in the order of ``errors``.
    """

    rows: Representation
    labels: Array
    kernel: Kernel
    weights: Array
    left_out: Prediction
    errors: Array = field(repr=False)
    error_weights: Array = field(repr=False)
    _alpha: Array = field(repr=False)
    _factor: tuple[Array, bool] = field(repr=False)

    def predict(self, rows: Representation) -> Prediction:
        """Calibrated marks of responses that were not labelled."""
        cross = self.kernel(rows, self.rows)
        mean = self.kernel.before(rows) + cross @ self._alpha
        before = self.kernel.variance(rows)
        left = before - np.einsum("ij,ji->i", cross, cho_solve(self._factor, cross.T))
        left = np.clip(left, 1e-9, before)
        return Prediction(np.clip(mean, 0, 1), np.sqrt(left + self.kernel.noise**2), np.sqrt(left / before))

    def interval(self, prediction: Prediction, level: float = 0.9) -> tuple[Array, Array]:
        """Ends of the interval that holds the rater's mark with probability ``level``, as shares of the scale.

        Conformal with leave-one-out errors scaled by the predicted deviation (Barber et al. 2021, jackknife+,
        in its symmetric form; weighted as Tibshirani et al. 2019 where labels stand for unequally many answers); with
        fewer labels than the level needs it is the whole scale.
        """
        order = np.argsort(np.abs(self.errors), kind="stable")
        reached = np.cumsum(self.error_weights[order]) / (self.error_weights.sum() + 1)
        enough = np.flatnonzero(reached >= level - 1e-12)
        if not len(enough):
            return np.zeros_like(prediction.mean), np.ones_like(prediction.mean)
        width = np.abs(self.errors)[order[enough[0]]] * prediction.sd
        return np.clip(prediction.mean - width, 0, 1), np.clip(prediction.mean + width, 0, 1)

    def within(self, prediction: Prediction, marks: Array, distance: float) -> Array:
        """Probability that the rater's mark lies within ``distance`` of ``marks`` (shares of the scale), shape (n,)."""
        low = (marks - distance - prediction.mean) / prediction.sd
        high = (marks + distance - prediction.mean) / prediction.sd
        return np.asarray(np.round(np.clip(self._below(high) - self._below(low), 0, 1), 4), dtype=np.float64)

    def probabilities(self, prediction: Prediction, points: Array) -> Array:
        """Probability of each score point (shares of the scale, ascending), shape (n, points); rows sum to 1."""
        edges = (points[1:] + points[:-1]) / 2
        below = self._below((edges[None, :] - prediction.mean[:, None]) / prediction.sd[:, None])
        full = np.hstack([np.zeros((len(below), 1)), below, np.ones((len(below), 1))])
        return np.diff(full, axis=1)

    def _below(self, z: Array) -> Array:
        """Share of scaled errors below ``z``: the observed ones and a little of the normal distribution."""
        seen = np.append(0.0, np.cumsum(self.error_weights))[np.searchsorted(self.errors, z, side="right")]
        normal = 0.5 * (1 + erf(z / np.sqrt(2)))
        total = self.error_weights.sum() + _PRIOR_ERRORS
        return np.asarray((seen + _PRIOR_ERRORS * normal) / total, dtype=np.float64)


def fit(
    rows: Representation,
    labels: Array,
    *,
    kernel: Kernel | None = None,
    adapt: bool = True,
    weights: Array | None = None,
) -> Fit:
    """The correction learned from ``labels``.

    ``weights`` are for labels that are no random sample, such as overrides of referred answers. Which answers were
    labelled then depends on what they say, and the correction is conditional on just that, so the marks need no
    weights. How large errors are does: intervals, probabilities and the referral line count each label for as many
    answers as it stands for.

    Args:
        rows: The labelled responses, at least three.
        labels: Rater's marks as shares of the scale, 0..1.
        kernel: Scales; the shipped ones if not given.
        adapt: Whether the scales may move by a factor of two, and the trust in uncalibrated marks fall, where the
            labels say so (marginal likelihood on a small grid, with a penalty that vanishes only with many labels).
        weights: How many answers each label stands for, mean 1 (see `grader.labels.weights_of`); equal by default.

    Raises:
        InputError: Too few labels, or one outside 0..1.
    """
    labels = np.asarray(labels, dtype=np.float64)
    if len(labels) != len(rows):
        raise InputError(f"{len(rows)} responses but {len(labels)} labels")
    if len(labels) < MIN_LABELS:
        raise InputError(f"{len(labels)} labels are too few to calibrate, at least {MIN_LABELS} are needed")
    if weights is not None and len(weights) != len(labels):
        raise InputError(f"{len(labels)} labels but {len(weights)} weights")
    if not np.all((labels >= 0) & (labels <= 1)):
        raise InputError("labels must be shares of the scale between 0 and 1")
    chosen = kernel or Kernel()
    if adapt:
        chosen = _adapted(rows, labels, chosen)
    covariance = chosen(rows, rows)
    covariance[np.diag_indices_from(covariance)] += chosen.noise**2
    factor = cho_factor(covariance, lower=True)
    alpha = cho_solve(factor, labels - chosen.before(rows))
    inverse = np.diag(cho_solve(factor, np.eye(len(labels))))
    mean = labels - alpha / inverse
    variance = 1.0 / inverse
    before = chosen.variance(rows)
    novelty = np.sqrt(np.clip((variance - chosen.noise**2) / before, 0, 1))
    left_out = Prediction(np.clip(mean, 0, 1), np.sqrt(variance), novelty)
    errors = (labels - left_out.mean) / left_out.sd
    order = np.argsort(errors, kind="stable")
    share = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=np.float64)
    return Fit(rows, labels, chosen, share, left_out, errors[order], share[order], alpha, factor)


def _adapted(rows: Representation, labels: Array, kernel: Kernel) -> Kernel:
    """The scales and the trust of a small grid that explain the labels best."""
    if len(rows) > _ADAPT_ON:
        chosen = np.linspace(0, len(rows) - 1, _ADAPT_ON).astype(np.intp)
        rows, labels = rows.take(chosen), labels[chosen]
    eigenvalues, vectors = np.linalg.eigh(kernel(rows, rows))
    scales = [(signal, noise) for signal in _SIGNALS for noise in _NOISES]
    changes = np.array(scales) ** 2
    variance = np.maximum(eigenvalues, 0.0) * changes[:, :1] + kernel.noise**2 * changes[:, 1:]
    spread, moved = np.log(variance).sum(axis=1), (np.log(np.array(scales)) ** 2).sum(axis=1)
    centre = float(rows.prior.mean())
    best, best_value = kernel, -np.inf
    for trust in _TRUST:
        believed = replace(kernel, trust=trust, centre=centre)
        explained = (vectors.T @ (labels - believed.before(rows))) ** 2
        likely = -0.5 * ((explained / variance).sum(axis=1) + spread)
        values = likely - 2.0 * moved - _DOUBT * (1.0 - trust) ** 2
        at = int(values.argmax())
        if values[at] > best_value + 1e-6:
            best, best_value = believed.scaled(*scales[at]), float(values[at])
    return best
