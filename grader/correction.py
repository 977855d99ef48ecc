"""Fits an item's scorer to labelled responses: one mechanism from no label to thousands.

The mark of a response is the uncalibrated mark plus a correction. The correction is a Gaussian process over what
the response says: its sentence vectors, its words, and the credits of the rubric. With no labels it is zero and the
shipped scorer decides; each label pulls the marks of similar responses towards the teacher's, and what is known
about the correction comes with it as a variance. The linear part of the kernel is the same as fitting the weights
of components and elements with shrinkage towards the rubric's.

Leave-one-out marks have a closed form (Rasmussen & Williams 2006, section 5.4.2), so every figure of a fit is
honest: no response is ever marked by a fit that has seen its label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import erf

from grader.errors import InputError
from grader.text import stems
from grader.words import information

Array = NDArray[np.float64]

LEXICAL_DIMENSIONS = 512
#: Pseudo-observations of a standard normal mixed into the distribution of leave-one-out errors.
_PRIOR_ERRORS = 10.0
MIN_LABELS = 3
#: Scales are chosen on at most this many labelled responses, evenly spaced.
_ADAPT_ON = 800


@dataclass(frozen=True, slots=True, eq=False)
class Representation:
    """What the correction knows of responses, one row each.

    Attributes:
        vectors: Mean sentence vector of unit length, shape (n, d).
        lexical: Hashed, information-weighted stems and pairs of stems of unit length, shape (n, LEXICAL_DIMENSIONS).
        linear: Credits of components and elements, 0..1, shape (n, f).
        prior: Uncalibrated mark as a share of the scale, 0..1, shape (n,).
    """

    vectors: Array
    lexical: Array
    linear: Array
    prior: Array

    def __len__(self) -> int:
        return len(self.prior)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> Representation:
        """The chosen rows."""
        at = np.asarray(rows, dtype=np.intp)
        return Representation(self.vectors[at], self.lexical[at], self.linear[at], self.prior[at])


def lexical_vector(text: str, language: str = "en") -> Array:
    """Stems and neighbouring pairs of stems of ``text``, hashed into ``LEXICAL_DIMENSIONS`` columns, unit length."""
    vector = np.zeros(LEXICAL_DIMENSIONS)
    words = stems(text, language)
    weights = [max(information(word), 0.1) for word in words]
    pairs = zip(zip(words, words[1:], strict=False), zip(weights, weights[1:], strict=False), strict=True)
    terms = [*zip(words, weights, strict=True), *((" ".join(two), sum(both) / 3) for two, both in pairs)]
    for term, weight in terms:
        digest = hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest()
        number = int.from_bytes(digest, "big")
        vector[number % LEXICAL_DIMENSIONS] += weight if number >> 63 else -weight
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


@dataclass(frozen=True, slots=True)
class Kernel:
    """Scales of the correction, as shares of the score scale; chosen on other items' labels.

    Attributes:
        vector: Standard deviation of the part that follows the sentence vectors.
        length: Cosine distance at which that part forgets.
        lexical: Standard deviation of the part that follows the words.
        linear: Standard deviation of the part that is linear in the credits.
        offset: Standard deviation of a shift of all marks.
        noise: Standard deviation of a rater's mark around what the response deserves.
    """

    vector: float = 0.22
    length: float = 0.35
    lexical: float = 0.20
    linear: float = 0.25
    offset: float = 0.15
    noise: float = 0.16

    def __call__(self, left: Representation, right: Representation) -> Array:
        """Covariance of the corrections of ``left`` and ``right``, shape (len(left), len(right))."""
        distance = 1.0 - left.vectors @ right.vectors.T
        covariance = self.vector**2 * np.exp(-np.maximum(distance, 0.0) / self.length)
        covariance += self.lexical**2 * (left.lexical @ right.lexical.T)
        width = max(left.linear.shape[1], 1)
        covariance += self.linear**2 * ((left.linear - 0.5) @ (right.linear - 0.5).T) * 4 / width
        covariance += self.linear**2 * np.outer(left.prior - 0.5, right.prior - 0.5) * 4
        return np.asarray(covariance + self.offset**2, dtype=np.float64)

    def variance(self, rows: Representation) -> Array:
        """Prior variance of the corrections of ``rows``, shape (n,)."""
        lexical = (rows.lexical**2).sum(axis=1)
        width = max(rows.linear.shape[1], 1)
        linear = ((rows.linear - 0.5) ** 2).sum(axis=1) * 4 / width + (rows.prior - 0.5) ** 2 * 4
        variance = self.vector**2 + self.lexical**2 * lexical + self.linear**2 * linear + self.offset**2
        return np.asarray(variance, dtype=np.float64)

    def scaled(self, signal: float, noise: float) -> Kernel:
        """A copy with all signal scales multiplied by ``signal`` and the noise by ``noise``."""
        return replace(
            self, vector=self.vector * signal, lexical=self.lexical * signal, linear=self.linear * signal,
            offset=self.offset * signal, noise=self.noise * noise,
        )  # fmt: skip


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
        left_out: Leave-one-out marks and deviations.
        errors: Leave-one-out errors in units of their deviation, shape (n,), ascending.
    """

    rows: Representation
    labels: Array
    kernel: Kernel
    left_out: Prediction
    errors: Array = field(repr=False)
    _alpha: Array = field(repr=False)
    _factor: tuple[Array, bool] = field(repr=False)

    def predict(self, rows: Representation) -> Prediction:
        """Calibrated marks of responses that were not labelled."""
        cross = self.kernel(rows, self.rows)
        mean = rows.prior + cross @ self._alpha
        before = self.kernel.variance(rows)
        left = before - np.einsum("ij,ji->i", cross, cho_solve(self._factor, cross.T))
        left = np.clip(left, 1e-9, before)
        return Prediction(np.clip(mean, 0, 1), np.sqrt(left + self.kernel.noise**2), np.sqrt(left / before))

    def interval(self, prediction: Prediction, level: float = 0.9) -> tuple[Array, Array]:
        """Ends of the interval that holds the rater's mark with probability ``level``, as shares of the scale.

        Conformal with leave-one-out errors scaled by the predicted deviation (Barber et al. 2021, jackknife+,
        in its symmetric form); with fewer labels than the level needs it is the whole scale.
        """
        n = len(self.errors)
        rank = int(np.ceil(level * (n + 1)))
        if rank > n:
            return np.zeros_like(prediction.mean), np.ones_like(prediction.mean)
        width = np.sort(np.abs(self.errors))[rank - 1] * prediction.sd
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
        seen = np.searchsorted(self.errors, z, side="right").astype(np.float64)
        normal = 0.5 * (1 + erf(z / np.sqrt(2)))
        return np.asarray((seen + _PRIOR_ERRORS * normal) / (len(self.errors) + _PRIOR_ERRORS), dtype=np.float64)


def fit(rows: Representation, labels: Array, *, kernel: Kernel | None = None, adapt: bool = True) -> Fit:
    """The correction learned from ``labels``.

    Args:
        rows: The labelled responses, at least three.
        labels: Rater's marks as shares of the scale, 0..1.
        kernel: Scales; the shipped ones if not given.
        adapt: Whether the scales may move by a factor of two where the labels say so (marginal likelihood on a
            small grid, with a penalty that vanishes only with many labels).

    Raises:
        InputError: Too few labels, or one outside 0..1.
    """
    labels = np.asarray(labels, dtype=np.float64)
    if len(labels) != len(rows):
        raise InputError(f"{len(rows)} responses but {len(labels)} labels")
    if len(labels) < MIN_LABELS:
        raise InputError(f"{len(labels)} labels are too few to calibrate, at least {MIN_LABELS} are needed")
    if not np.all((labels >= 0) & (labels <= 1)):
        raise InputError("labels must be shares of the scale between 0 and 1")
    chosen = kernel or Kernel()
    if adapt:
        chosen = _adapted(rows, labels, chosen)
    covariance = chosen(rows, rows)
    covariance[np.diag_indices_from(covariance)] += chosen.noise**2
    factor = cho_factor(covariance, lower=True)
    alpha = cho_solve(factor, labels - rows.prior)
    inverse = np.diag(cho_solve(factor, np.eye(len(labels))))
    mean = labels - alpha / inverse
    variance = 1.0 / inverse
    before = chosen.variance(rows)
    novelty = np.sqrt(np.clip((variance - chosen.noise**2) / before, 0, 1))
    left_out = Prediction(np.clip(mean, 0, 1), np.sqrt(variance), novelty)
    errors = np.sort((labels - left_out.mean) / left_out.sd)
    return Fit(rows, labels, chosen, left_out, errors, alpha, factor)


def _adapted(rows: Representation, labels: Array, kernel: Kernel) -> Kernel:
    """The scales of a small grid that explain the labels best."""
    if len(rows) > _ADAPT_ON:
        chosen = np.linspace(0, len(rows) - 1, _ADAPT_ON).astype(np.intp)
        rows, labels = rows.take(chosen), labels[chosen]
    best, best_value = kernel, -np.inf
    residual = labels - rows.prior
    base = kernel(rows, rows)
    for signal in (0.5, 0.71, 1.0, 1.41, 2.0):
        for noise in (0.5, 0.71, 1.0, 1.41):
            covariance = base * signal**2
            covariance[np.diag_indices_from(covariance)] += (kernel.noise * noise) ** 2
            factor, lower = cho_factor(covariance, lower=True)
            alpha = cho_solve((factor, lower), residual)
            value = -0.5 * residual @ alpha - np.log(np.diag(factor)).sum()
            value -= 2.0 * (np.log(signal) ** 2 + np.log(noise) ** 2)
            if value > best_value:
                best, best_value = kernel.scaled(signal, noise), value
    return best
