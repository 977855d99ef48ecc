"""How a system is fitted and tested: official splits, leaving a data set out, and folds grouped by question.

A system is a ``Fit``: labelled frames in, a scorer out. A scorer sees a frame with its labels but must not use them;
only ``question mean (own labels)`` does, and says so in its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold

from eval.baselines import Fit, Scorer
from eval.frames import TEST_SPLITS, Frames, english, scale_step, split_rows
from eval.measures import Estimate, Prediction, measure
from eval.progress import Progress, silent

RATERS = "second rater"
#: Behind the name of a system: responses that it leaves to a person are left out, not counted as 0.
MARKED_ONLY = ", marked only"
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Line:
    """One result: a system on a part of a data set.

    Attributes:
        protocol: ``official``, ``leave-out``, ``grouped`` or ``few-labels``.
        data: Data set.
        split: ``UA``, ``UQ``, ``UD`` or ``all``.
        system: What was tested.
        n: Responses.
        questions: Questions.
        measures: See `eval.measures.MEASURES`.
        mapped: The marks were made from labels: RMSE and QWK mean little.
        labels: Labelled answers a question, on average; only for few labels.
        seeds: Runs the measures are the mean of.
    """

    protocol: str
    data: str
    split: str
    system: str
    n: int
    questions: int
    measures: Mapping[str, Estimate]
    mapped: bool = False
    labels: float | None = None
    seeds: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What all protocols share.

    Attributes:
        fits: Systems by name, in the order of the tables.
        baselines: What they stand beside.
        n_boot: Resamples of the intervals.
        seed: Of the resamples and of everything drawn.
        progress: Told what is being done.
    """

    fits: Mapping[str, Fit]
    baselines: Mapping[str, Fit] = field(default_factory=dict)
    n_boot: int = 1000
    seed: int = 0
    progress: Progress = silent

    def all_fits(self) -> dict[str, Fit]:
        """Systems, then baselines."""
        return {**self.fits, **self.baselines}


def test_parts(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The parts a data set is tested on: its test splits, or all of it where it has none."""
    parts = {name: split_rows(frame, split) for split, name in TEST_SPLITS.items()}
    found = {name: rows for name, rows in parts.items() if len(rows)}
    return found or {"all": frame}


def training_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of a data set that may be fitted to: never those of a test split."""
    return frame[~frame["split"].isin(list(TEST_SPLITS))].reset_index(drop=True)


def official(frames: Frames, plan: Plan) -> list[Line]:
    """Fitted to the train split of a data set, tested on each of its test splits; sets without both are left out."""
    lines: list[Line] = []
    for name, frame in frames.items():
        train = split_rows(frame, "train")
        parts = test_parts(frame)
        if len(train) and "all" not in parts:
            lines += _tested("official", name, frame, {name: train}, parts, plan)
    return lines


def leave_out(frames: Frames, plan: Plan) -> list[Line]:
    """Fitted to all other data sets, tested on the one named: nothing of it has been seen.

    Only data sets in English take part, and only rows outside test splits are fitted to.
    """
    usable = english(frames)
    lines: list[Line] = []
    for name, frame in usable.items():
        others = {other: training_rows(rows) for other, rows in usable.items() if other != name}
        others = {other: rows for other, rows in others.items() if len(rows)}
        if others:
            lines += _tested("leave-out", name, frame, others, test_parts(frame), plan)
    return lines


def _tested(
    protocol: str, name: str, whole: pd.DataFrame, train: Frames, parts: Mapping[str, pd.DataFrame], plan: Plan
) -> Iterator[Line]:
    step = scale_step(whole)
    for system, fit in plan.all_fits().items():
        plan.progress(f"{protocol}: {name}, {system}")
        scorer: Scorer = fit(train)
        for split, rows in parts.items():
            yield from lines_of(protocol, name, split, system, rows, scorer(rows), step, plan)
    for split, rows in parts.items():
        yield from _raters(protocol, name, split, rows, step, plan)


def grouped(frames: Frames, plan: Plan) -> list[Line]:
    """Fitted to four fifths of a data set's questions, tested on the others, five times; test splits stay out."""
    lines: list[Line] = []
    for name, frame in frames.items():
        rows = training_rows(frame)
        if rows["question_id"].nunique() < FOLDS:
            continue
        for system, fit in plan.all_fits().items():
            plan.progress(f"grouped: {name}, {system}")
            found = out_of_fold(rows, fit)
            lines += lines_of("grouped", name, "all", system, rows, found, scale_step(frame), plan)
        lines += _raters("grouped", name, "all", rows, scale_step(frame), plan)
    return lines


def out_of_fold(rows: pd.DataFrame, fit: Fit, folds: int = FOLDS) -> Prediction:
    """The prediction for every row by a scorer that was fitted without its question."""
    parts: list[tuple[np.ndarray, Prediction]] = []
    for train, test in GroupKFold(folds).split(rows, groups=rows["question_id"]):
        scorer = fit({"train": rows.iloc[train].reset_index(drop=True)})
        parts.append((test, scorer(rows.iloc[test].reset_index(drop=True))))
    order = np.argsort(np.concatenate([test for test, _ in parts]))
    labels = [label for _, found in parts for label in found.label3 or ()]
    marked = [np.ones(len(found.score), bool) if found.marked is None else found.marked for _, found in parts]
    return Prediction(
        score=np.concatenate([found.score for _, found in parts])[order],
        correct=np.concatenate([found.two_way() for _, found in parts])[order],
        label3=[labels[at] for at in order] if len(labels) == len(order) else None,
        marked=np.concatenate(marked)[order],
    )


def _raters(protocol: str, name: str, split: str, rows: pd.DataFrame, step: float, plan: Plan) -> Iterator[Line]:
    """The second rater in the place of a system, on the responses that have one."""
    double = rows[rows["fraction2"].notna()].reset_index(drop=True)
    if len(double):
        yield _line(protocol, name, split, RATERS, double, Prediction(double["fraction2"].to_numpy(float)), step, plan)


def lines_of(
    protocol: str, name: str, split: str, system: str, rows: pd.DataFrame, found: Prediction, step: float, plan: Plan
) -> Iterator[Line]:
    """The result of one prediction, and again without the responses that it gives no mark where there are some."""
    yield _line(protocol, name, split, system, rows, found, step, plan)
    if found.marked is not None and found.marked.any() and not found.marked.all():
        kept = np.flatnonzero(found.marked)
        part = rows.iloc[kept].reset_index(drop=True)
        yield _line(protocol, name, split, system + MARKED_ONLY, part, found.take(kept), step, plan)


def _line(
    protocol: str, name: str, split: str, system: str, rows: pd.DataFrame, found: Prediction, step: float, plan: Plan
) -> Line:
    return Line(
        protocol=protocol,
        data=name,
        split=split,
        system=system,
        n=len(rows),
        questions=int(rows["question_id"].nunique()),
        measures=measure(rows, found, step=step, n_boot=plan.n_boot, seed=plan.seed),
        mapped=bool(rows["mapped"].any()),
    )
