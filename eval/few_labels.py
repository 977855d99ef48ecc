"""What a few labelled answers a question are worth, after Bexte, Horbach & Zesch 2023.

For each question some of its answers are drawn at random as labelled, the same ones for every learner; the mean over
the seeds is reported. Where a data set has official splits the labels come from train and the test is UA; elsewhere
ten of each question's answers are kept for testing. Nothing is tuned on any of them, so the four answers that the
paper keeps for validation are not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from eval.frames import Frames, english
from eval.label_questions import Question
from eval.learners import LABEL_FREE, Learner
from eval.measures import Prediction, measure_runs
from eval.progress import Progress, silent
from eval.protocols import Line, training_rows

SIZES = (5, 10, 20, 27, 40, 80)


@dataclass(frozen=True, slots=True)
class Plan:
    """How the curve is drawn."""

    sizes: tuple[int, ...] = SIZES
    seeds: int = 20
    n_boot: int = 1000
    seed: int = 0
    progress: Progress = silent
    cache: Path | None = None


def others(frames: Frames, name: str) -> Frames:
    """The training rows of the data sets in English but the one named."""
    return {other: training_rows(rows) for other, rows in english(frames).items() if other != name}


def curve(name: str, found: Sequence[Question], step: float, plan: Plan, learners: Mapping[str, Learner]) -> list[Line]:
    """The learning curve of every learner on one data set; nothing without questions."""
    sizes = _sizes([len(question.draw(0)[0]) for question in found], plan.sizes)
    lines = []
    for learner, learn in learners.items():
        plan.progress(f"few-labels: {name}, {learner}")
        for size in [0] if learner in LABEL_FREE and sizes else sizes:
            lines.append(_line(name, learner, learn, size, found, step, plan))
    return lines


def _sizes(labels: list[int], wanted: tuple[int, ...]) -> list[int]:
    """The sizes for which at least half of the questions have enough labels, and last all labels there are."""
    kept = [size for size in wanted if sum(count > size for count in labels) * 2 >= max(len(labels), 1)]
    return [*kept, max(labels)] if labels else []


def _line(
    name: str, learner: str, learn: Learner, size: int, found: Sequence[Question], step: float, plan: Plan
) -> Line:
    frames, runs, labels = [], [], []
    all_alike = all(question.test is not None and size >= len(question.pool) for question in found)
    seeds = 1 if all_alike else plan.seeds
    for seed in range(seeds):
        parts = []
        for question in found:
            order, test = question.draw(plan.seed + seed)
            parts.append((question.frame.iloc[test], learn(question, order[:size], test)))
            labels.append(min(size, len(order)))
        frames.append(pd.concat([part for part, _ in parts], ignore_index=True))
        runs.append(_joined([prediction for _, prediction in parts]))
    return Line(
        protocol="few-labels",
        data=name,
        split="UA" if found[0].test is not None else "all",
        system=learner,
        n=len(frames[0]),
        questions=len(found),
        measures=measure_runs(frames, runs, step=step, n_boot=plan.n_boot, seed=plan.seed),
        mapped=bool(frames[0]["mapped"].any()),
        labels=float(np.mean(labels)),
        seeds=seeds,
    )


def _joined(parts: Sequence[Prediction]) -> Prediction:
    """One prediction for the test rows of all questions."""
    labels = [part.label3 for part in parts]
    return Prediction(
        np.concatenate([part.score for part in parts]),
        correct=np.concatenate([part.two_way() for part in parts]),
        label3=[one for each in labels for one in each or ()] if all(each is not None for each in labels) else None,
    )
