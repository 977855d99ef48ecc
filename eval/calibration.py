"""What calibration is worth, in tables: learning curves (the protocol ``few-labels``), promised intervals, referral,
choice of labels, groups, time.

The prior is fitted to the other data sets, the scales of the correction were chosen on train rows of data sets other
than hbrs_nn, and every figure is for answers whose labels no fit has seen. Parts that were computed before, with the
same code and data, are read from the cache, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eval.cache import SCORING, digest, source_hash
from eval.few_labels import Plan, curve, others
from eval.frames import Frames, english, scale_step
from eval.grading import GraderSystem
from eval.label_questions import Floats, Question, Rows, questions
from eval.learners import LEARNERS, corrected
from eval.results import plain_line
from grader.calibration import INTERVAL
from grader.correction import MIN_LABELS, Fit, fit
from grader.labelling import effort_saved, groups, suggest
from grader.labels import label_weights
from grader.representation import joined

Json = dict[str, Any]

#: What the calibration must be ahead of at every number of labels.
BESIDE = ("uncalibrated", "bag of words", "nearest neighbour", "question mean")
#: Share of the answers that the machine marks by itself in the selective table.
AUTOMATIC = 0.6
#: Data sets on which the choice of labels is compared with chance, and the number of random labels to catch up with.
ACTIVE, RANDOM_LABELS = ("beetle", "saf_de_v1"), 50
_ACTIVE_SIZES = tuple(range(5, 61, 5))
#: The data set whose answers to all questions together the time of a fit is taken on.
TIMED = "scientsbank"
_FIT_SIZES = (200, 5000)
#: What figures depend on besides `SCORING`.
_CODE = ("grader/calibration.py", "grader/correction.py", "grader/labelling.py", "eval/calibration.py",
         "eval/few_labels.py", "eval/label_questions.py", "eval/learners.py", "eval/measures.py")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Data:
    """One data set made ready.

    Attributes:
        name: Its name.
        step: Step of its score points on 0..1.
        found: Its questions.
        plan: Seeds, resamples, progress.
    """

    name: str
    step: float
    found: Sequence[Question]
    plan: Plan

    def fits(self) -> list[tuple[Question, Fit, Rows]]:
        """Every question fitted to all labels that may be used, with its test rows; one a seed where they are drawn."""
        seeds = range(self.plan.seeds if any(question.test is None for question in self.found) else 1)
        drawn = [(question, *question.draw(self.plan.seed + seed)) for seed in seeds for question in self.found]
        return [
            (q, fit(q.rows.take(known), q.target(known), weights=label_weights(q.rows.open[known])), test)
            for q, known, test in drawn
        ]


def calibration_tables(
    frames: Frames,
    fit_prior: Callable[[Frames], GraderSystem],
    plan: Plan,
    *,
    salt: str = "",
    only: Collection[str] | None = None,
) -> Json:
    """The tables, as plain JSON.

    Args:
        frames: Prepared frames.
        fit_prior: Gives the grader before any label, fitted to the given frames.
        plan: Seeds, resamples, progress, and the cache in which finished parts are kept.
        salt: What else the figures depend on, such as the name of the prior.
        only: Tables to make (``curves``, ``coverage``, ``selective``, ``active``, ``groups``, ``times``); all by
            default.
    """
    usable = english(frames)
    tables = {table: make for table, make in _TABLES.items() if only is None or table in only}
    found: Json = {table: [] for table in tables}
    for name, frame in frames.items():
        key = digest([source_hash(*SCORING, *_CODE), salt, name, repr(plan.seeds), repr(plan.n_boot), repr(plan.seed),
                      *frame["answer_id"], *frame["answer"]])  # fmt: skip
        opened: list[Data] = []

        def data(name: str = name, opened: list[Data] = opened) -> Data:
            if not opened:
                plan.progress(f"calibration: {name}, marks before any label")
                listed = questions(frames[name], fit_prior(others(frames, name)), plan.cache)
                enough = [question for question in listed if len(question.draw(0)[0]) >= MIN_LABELS]
                opened.append(Data(name, scale_step(frames[name]), enough, plan))
            return opened[0]

        for table, make in tables.items():
            if table == "curves" and name not in usable:
                continue
            rows = _kept(plan, f"{key}-{table}", lambda make=make: make(data()) if data().found else [])  # type: ignore[misc]
            found[table] += rows
    return found


def _kept(plan: Plan, key: str, make: Callable[[], list[Json]]) -> list[Json]:
    """A part from the cache, or made and kept there."""
    if plan.cache is None:
        return make()
    file = plan.cache / "calibration" / f"{key}.json"
    if file.is_file():
        rows: list[Json] = json.loads(file.read_text(encoding="utf-8"))
        return rows
    rows = make()
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".part")
    partial.write_text(json.dumps(rows), encoding="utf-8")
    partial.replace(file)
    return rows


def curves(data: Data) -> list[Json]:
    """Learning curves of the calibration and of all it stands beside, see `eval.few_labels`."""
    return [plain_line(line) for line in curve(data.name, data.found, data.step, data.plan, LEARNERS)]


def coverage(data: Data) -> list[Json]:
    """How often the 90 % interval holds the rater's mark, and how wide it is beside that of the question's mean."""
    data.plan.progress(f"calibration: {data.name}, intervals")
    held, width, other, codes = [], [], [], []
    for place, (question, fitted, tested) in enumerate(data.fits()):
        test = tested[question.rows.open[tested] > 0]
        human = question.target(test)
        low, high = fitted.interval(fitted.predict(question.rows.take(test)), INTERVAL)
        held.append((human >= low - 1e-9) & (human <= high + 1e-9))
        width.append(high - low)
        other.append(np.full(len(test), _mean_width(fitted.labels)))
        codes.append(np.full(len(test), place % len(data.found)))
    sums = [np.concatenate(part).astype(np.float64) for part in (held, width, other)]
    estimates = _over_questions(sums, np.concatenate(codes), data.plan)
    names = ("coverage", "width", "width_of_question_mean")
    return [{"data": data.name, "n": len(sums[0]), **dict(zip(names, estimates, strict=True))}]


def _mean_width(labels: Floats) -> float:
    """Width of the conformal interval around the mean of the other labels, within the scale."""
    n = len(labels)
    errors = np.sort(np.abs(labels - labels.mean()) * n / (n - 1))
    rank = int(np.ceil(INTERVAL * (n + 1)))
    if rank > n:
        return 1.0
    mean = float(labels.mean())
    return min(mean + float(errors[rank - 1]), 1.0) - max(mean - float(errors[rank - 1]), 0.0)


def _over_questions(columns: Sequence[Floats], codes: Rows, plan: Plan) -> list[list[float]]:
    """Mean of each column with its 95 % interval over questions drawn with replacement."""
    count = int(codes.max()) + 1
    sizes = np.bincount(codes, minlength=count).astype(np.float64)
    sums = np.column_stack([np.bincount(codes, weights=column, minlength=count) for column in columns])
    rng = np.random.default_rng(plan.seed)
    draws = np.array([np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(plan.n_boot)])
    means = (draws @ sums) / (draws @ sizes)[:, None]
    ends = np.quantile(means, [0.025, 0.975], axis=0)
    values = sums.sum(axis=0) / sizes.sum()
    return [[round(float(x), 4) for x in (values[at], *ends[:, at])] for at in range(len(columns))]


def selective(data: Data) -> list[Json]:
    """RMSE of the surest 60 % of the marks (smallest predicted deviation) and of all of them.

    Marks that a calibration does not change, as that of a blank answer, are not referred either: they count as sure.
    """
    data.plan.progress(f"calibration: {data.name}, surest marks")
    errors, deviations = [], []
    for question, fitted, test in data.fits():
        prediction = fitted.predict(question.rows.take(test))
        is_open = question.rows.open[test] > 0
        errors.append(question.target(test) - np.where(is_open, prediction.mean, question.rows.prior[test]))
        deviations.append(np.where(is_open, prediction.sd, 0.0))
    error, deviation = np.concatenate(errors), np.round(np.concatenate(deviations), 9)
    kept = np.argsort(deviation, kind="stable")[: round(AUTOMATIC * len(error))]
    everything, surest = (float(np.sqrt(np.mean(part**2))) for part in (error, error[kept]))
    return [{"data": data.name, "n": len(error), "rmse": round(everything, 4), "rmse_surest": round(surest, 4),
             "ratio": round(surest / everything, 4)}]  # fmt: skip


def active(data: Data) -> list[Json]:
    """RMSE by number of labels when they are chosen and when they are drawn."""
    if data.name not in ACTIVE or any(question.test is None for question in data.found):
        return []
    data.plan.progress(f"calibration: {data.name}, choice of labels")
    chosen = {}
    for place, question in enumerate(data.found):
        picked = suggest(question.rows.take(question.pool), max(_ACTIVE_SIZES))
        chosen[place] = question.pool[picked]
    seeds = [[question.draw(data.plan.seed + seed)[0] for question in data.found] for seed in range(data.plan.seeds)]
    wanted = float(np.mean([_rmse(data.found, orders, RANDOM_LABELS) for orders in seeds]))
    rows = [
        {"labels": size, "chosen": round(_rmse(data.found, list(chosen.values()), size), 4),
         "drawn": round(float(np.mean([_rmse(data.found, orders, size) for orders in seeds])), 4)}
        for size in _ACTIVE_SIZES
    ]  # fmt: skip
    reached = next((row["labels"] for row in rows if row["chosen"] <= wanted + 1e-9), None)
    return [{"data": data.name, "random_labels": RANDOM_LABELS, "rmse_at_random_labels": round(wanted, 4),
             "labels_to_reach_it": reached, "rows": rows}]  # fmt: skip


def _rmse(found: Sequence[Question], orders: Sequence[Rows], size: int) -> float:
    errors = []
    for question, order in zip(found, orders, strict=True):
        test = np.asarray(question.test)
        known = order[:size]
        errors.append(question.target(test) - corrected(question, known, test, question.target(known)))
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2)))


def effort(data: Data) -> list[Json]:
    """Share of answers that need no mark of their own when near-identical ones are marked once, and how often the
    answers of a group have the mark of its first one."""
    data.plan.progress(f"calibration: {data.name}, groups")
    total, saved, members, alike = 0, 0.0, 0, 0
    for question in data.found:
        texts, human = list(question.frame["answer"]), question.target(np.arange(len(question.frame)))
        found = groups(texts, question.rows)
        total += len(texts)
        saved += effort_saved(len(texts), found) * len(texts)
        members += sum(len(group) - 1 for group in found)
        alike += sum(abs(human[other] - human[group[0]]) < 1e-6 for group in found for other in group[1:])
    return [{"data": data.name, "answers": total, "saved": round(saved / total, 4),
             "same_mark": round(alike / members, 4) if members else None}]  # fmt: skip


def times(data: Data) -> list[Json]:
    """Seconds of a fit to 200 and to 5,000 labelled answers that are already encoded."""
    if data.name != TIMED:
        return []
    rows = joined([question.rows for question in data.found])
    labels = np.concatenate([question.target(np.arange(len(question.frame))) for question in data.found])
    found = []
    for size in _FIT_SIZES:
        data.plan.progress(f"calibration: {data.name}, time of a fit to {size}")
        chosen = np.linspace(0, len(labels) - 1, min(size, len(labels))).astype(np.intp)
        part = rows.take(chosen)
        began = time.perf_counter()
        fit(part, labels[chosen])
        found.append({"data": data.name, "labels": len(chosen), "seconds": round(time.perf_counter() - began, 2)})
    return found


_TABLES: Mapping[str, Callable[[Data], list[Json]]] = {
    "curves": curves,
    "coverage": coverage,
    "selective": selective,
    "active": active,
    "groups": effort,
    "times": times,
}
