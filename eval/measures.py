"""The bench's measures with intervals, from sums by question.

Every measure here is a function of sums over responses. So the sums are taken once a question, a bootstrap resample
(whole questions drawn with replacement, as `grader.intervals.bootstrap_intervals` draws them) is one product of a
matrix, and the mean over many runs has an interval too. The definitions are those of `grader.agreement`, and the tests
hold the two side by side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from eval.frames import CUT
from grader.agreement import THREE_WAY, round_to_scale

Floats = npt.NDArray[np.float64]

MEASURES = ("r", "r_within", "rmse", "qwk", "f1_2way", "f1_3way")
#: Better the other way round.
LOWER_IS_BETTER = frozenset({"rmse"})
#: Variance up to which marks on 0..1 are one and the same: what sums of squares leave of a constant.
_FLAT = 1e-12


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a system says of the responses of a frame.

    Attributes:
        score: Mark on 0..1, shape (n,).
        correct: Two-way label; by default ``score`` at least .5.
        label3: Three-way label, one of ``THREE_WAY``; ``None`` where the system has none.
        marked: Where the system gives a mark at all (its ``score`` is 0 elsewhere); everywhere by default.
    """

    score: Floats
    correct: npt.NDArray[np.bool_] | None = None
    label3: Sequence[str] | None = None
    marked: npt.NDArray[np.bool_] | None = None

    def two_way(self) -> npt.NDArray[np.bool_]:
        """The two-way label of each response."""
        return np.round(self.score, 6) >= CUT if self.correct is None else self.correct

    def take(self, rows: npt.NDArray[np.intp]) -> Prediction:
        """The prediction for the responses at ``rows``."""
        labels = None if self.label3 is None else [self.label3[at] for at in rows]
        marked = None if self.marked is None else self.marked[rows]
        return Prediction(self.score[rows], self.two_way()[rows], labels, marked)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure with its 95 % interval; ``nan`` where undefined."""

    value: float
    low: float
    high: float

    def plain(self) -> list[float | None]:
        """Value, low and high to four decimals, ``None`` for ``nan``."""
        return [None if math.isnan(x) else round(x, 4) for x in (self.value, self.low, self.high)]


def measure(
    frame: pd.DataFrame,
    predictions: Prediction | Sequence[Prediction],
    *,
    step: float,
    n_boot: int = 1000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Every measure that ``frame`` allows, with its interval over questions.

    Args:
        frame: A prepared frame.
        predictions: One, or one a run: then each measure is the mean over the runs.
        step: Step of the score points on 0..1, for QWK.
        n_boot: Resamples.
        seed: Of the resamples.
    """
    runs = [predictions] if isinstance(predictions, Prediction) else list(predictions)
    return measure_runs([frame] * len(runs), runs, step=step, n_boot=n_boot, seed=seed)


def measure_runs(
    frames: Sequence[pd.DataFrame],
    runs: Sequence[Prediction],
    *,
    step: float,
    n_boot: int = 1000,
    seed: int = 0,
) -> dict[str, Estimate]:
    """As `measure`, where each run has responses of its own (to the same questions)."""
    questions = sorted({str(q) for frame in frames for q in frame["question_id"].unique()})
    place = {name: code for code, name in enumerate(questions)}
    sums = np.stack(
        [
            question_sums(frame, run, np.array([place[str(q)] for q in frame["question_id"]]), len(questions), step)
            for frame, run in zip(frames, runs, strict=True)
        ]
    )
    with_labels = all(run.label3 is not None for run in runs) and all(f["label3"].notna().all() for f in frames)
    values = _means(measures_of(sums.sum(axis=1)[None]))[0]
    drawn = np.full((n_boot, len(MEASURES)), np.nan)
    if len(questions) > 1:
        rng = np.random.default_rng(seed)
        units = len(questions)
        draws = [np.bincount(rng.integers(units, size=units), minlength=units) for _ in range(n_boot)]
        drawn = _means(measures_of(np.einsum("bq,rqs->brs", np.array(draws, dtype=np.float64), sums)))
    names = [name for name in MEASURES if name != "f1_3way" or with_labels]
    return {name: _estimate(values[MEASURES.index(name)], drawn[:, MEASURES.index(name)]) for name in names}


def _means(values: Floats) -> Floats:
    """Mean over the runs; ``nan`` as soon as one is."""
    return np.asarray(values.mean(axis=1), dtype=np.float64)


def _estimate(value: float, drawn: Floats) -> Estimate:
    usable = drawn[~np.isnan(drawn)]
    if not len(usable) or len(usable) * 2 < len(drawn):
        return Estimate(float(value), math.nan, math.nan)
    low, high = np.quantile(usable, [0.025, 0.975])
    return Estimate(float(value), float(low), float(high))


def question_sums(
    frame: pd.DataFrame, run: Prediction, codes: npt.NDArray[np.integer], count: int, step: float
) -> Floats:
    """Sums by question, shape (count, 30): what `measures_of` needs."""
    human, machine = frame["fraction"].to_numpy(np.float64), np.asarray(run.score, dtype=np.float64)
    points = [round_to_scale(x, scale_max=1.0, step=step) for x in (human, machine)]
    columns = [*_moments(human, machine), *_centred(human, machine, codes), *_moments(*points)]
    truth = frame["correct"].to_numpy(bool)
    columns += _cells(truth.astype(int), run.two_way().astype(int), 2)
    if run.label3 is not None and frame["label3"].notna().all():
        ours, theirs = ([THREE_WAY.index(str(x)) for x in side] for side in (frame["label3"], run.label3))
        columns += _cells(np.array(ours), np.array(theirs), 3)
    else:
        columns += [np.zeros(len(human))] * 9
    return np.column_stack([np.bincount(codes, weights=column, minlength=count) for column in columns])


def _moments(h: Floats, m: Floats) -> list[Floats]:
    return [np.ones(len(h)), h, m, h * h, m * m, h * m, (h - m) ** 2]


def _centred(h: Floats, m: Floats, codes: npt.NDArray[np.integer]) -> list[Floats]:
    counts = np.maximum(np.bincount(codes), 1)
    dh, dm = (x - (np.bincount(codes, weights=x) / counts)[codes] for x in (h, m))
    return [dh * dh, dm * dm, dh * dm]


def _cells(human: npt.NDArray[np.integer], machine: npt.NDArray[np.integer], size: int) -> list[Floats]:
    cell = human * size + machine
    return [(cell == at).astype(np.float64) for at in range(size * size)]


def measures_of(sums: Floats) -> Floats:
    """The measures, shape (..., 6) in the order of ``MEASURES``, from sums of shape (..., 30)."""
    raw, centred, points = sums[..., 0:7], sums[..., 7:10], sums[..., 10:17]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack(
            [
                _pearson(raw),
                _correlation(centred[..., 0], centred[..., 1], centred[..., 2], raw[..., 0]),
                np.sqrt(raw[..., 6] / raw[..., 0]),
                _kappa(points),
                _macro_f1(sums[..., 17:21], 2),
                _macro_f1(sums[..., 21:30], 3),
            ],
            axis=-1,
        )


def _spread(s: Floats) -> tuple[Floats, Floats, Floats]:
    """n times the variances of human and machine and their covariance."""
    n = s[..., 0]
    return (
        s[..., 3] - s[..., 1] ** 2 / n,
        s[..., 4] - s[..., 2] ** 2 / n,
        s[..., 5] - s[..., 1] * s[..., 2] / n,
    )


def _pearson(s: Floats) -> Floats:
    return _correlation(*_spread(s), s[..., 0])


def _correlation(vh: Floats, vm: Floats, both: Floats, n: Floats) -> Floats:
    flat = (vh <= _FLAT * n) | (vm <= _FLAT * n)
    return np.where(flat, np.nan, np.clip(both / np.sqrt(np.where(flat, 1.0, vh * vm)), -1, 1))


def _kappa(s: Floats) -> Floats:
    vh, vm, both = _spread(s)
    n = s[..., 0]
    flat = (vh <= _FLAT * n) | (vm <= _FLAT * n)
    bottom = vh + vm + (s[..., 1] - s[..., 2]) ** 2 / n
    return np.where(flat, np.where(s[..., 6] <= _FLAT * n, 1.0, 0.0), 2 * both / np.where(flat, 1.0, bottom))


def _macro_f1(cells: Floats, size: int) -> Floats:
    table = cells.reshape(*cells.shape[:-1], size, size)
    used = table.sum(axis=-1) + table.sum(axis=-2)
    hits = np.diagonal(table, axis1=-2, axis2=-1)
    return np.asarray(np.where(used > 0, 2 * hits / np.where(used > 0, used, 1.0), 0.0).mean(axis=-1))
