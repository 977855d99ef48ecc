"""Labelled answers made ready for the bench: marks on 0..1, labels, languages, and an item for each question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from eval.datasets import load_available
from grader import Item
from grader.text import normalise

Floats = npt.NDArray[np.float64]
Frames = Mapping[str, pd.DataFrame]

#: Splits that are tested on, and what they are called in tables.
TEST_SPLITS: Mapping[str, str] = {"test_ua": "UA", "test_uq": "UQ", "test_ud": "UD"}
#: A right answer is worth at least this share of the full mark where the source has no labels of its own.
CUT = 0.5
_STEPS = (1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 8, 1 / 10, 1 / 20)


@dataclass(frozen=True, slots=True)
class Collection:
    """What the bench works on.

    Attributes:
        frames: Prepared frames by data set name.
        skipped: Data set name to the reason why nothing is computed on it.
        folder: Where the data lie, for files that are no frames.
    """

    frames: Frames
    skipped: Mapping[str, str]
    folder: Path | None = None


def collect(folder: Path | None = None, *, limit: int | None = None, names: Sequence[str] | None = None) -> Collection:
    """Every data set that is there and can be graded, prepared; the others with a reason.

    Args:
        folder: As for `eval.datasets.data_folder`.
        limit: Answers per data set and split at most, whole questions first; for quick runs.
        names: Data sets wanted; all by default.
    """
    loaded = load_available(folder, names)
    skipped = dict.fromkeys(loaded.missing, "not in the data folder")
    frames = {}
    for name, frame in loaded.frames.items():
        ready = prepare(frame)
        if ready.empty:
            skipped[name] = "no question has both a wording and a reference answer"
            continue
        frames[name] = ready if limit is None else limited(ready, limit)
    return Collection(frames, skipped, loaded.folder)


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    """The gradable rows of ``frame`` with the columns the bench needs.

    Left out: questions without wording or reference, and answers that are themselves the reference. Added:
    ``fraction`` (score over max_score), ``correct`` (the source's two-way label, else fraction at least .5),
    ``label3`` (or ``None``), ``mapped`` (the score was made from a label), ``language``, ``fraction2`` (second rater).
    """
    extra = [json.loads(text) if isinstance(text, str) else {} for text in frame["extra"]]
    usable = [
        bool(str(question).strip()) and any(str(r).strip() for r in references) and not more.get("same_as_reference")
        for question, references, more in zip(frame["question"], frame["reference_answers"], extra, strict=True)
    ]
    fraction = frame["score"] / frame["max_score"]
    ready = frame.assign(
        fraction=fraction,
        fraction2=frame["score2"] / frame["max_score"],
        correct=[
            more["label2"] == "correct" if more.get("label2") else bool(value >= CUT - 1e-9)
            for more, value in zip(extra, fraction, strict=True)
        ],
        label3=pd.Series([more.get("label3") for more in extra], index=frame.index, dtype="object"),
        mapped=[bool(more.get("score_is_mapped_from_label")) for more in extra],
        language=[str(more.get("lang") or "en") for more in extra],
    )
    return ready[usable].reset_index(drop=True)


def limited(frame: pd.DataFrame, limit: int) -> pd.DataFrame:
    """At most ``limit`` rows of each split, spread over its questions in order."""
    place = frame.groupby(["split", "question_id"], sort=False).cumcount()
    order = frame.assign(place=place).sort_values("place", kind="stable")
    kept = order.groupby("split", sort=False).head(limit).index
    return frame.loc[sorted(kept)].reset_index(drop=True)


def without_blanks(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with an answer: what a model may be fitted to."""
    return frame[frame["answer"].str.strip() != ""].reset_index(drop=True)


def split_rows(frame: pd.DataFrame, split: str) -> pd.DataFrame:
    """The rows of one split, renumbered."""
    return frame[frame["split"] == split].reset_index(drop=True)


def english(frames: Frames) -> dict[str, pd.DataFrame]:
    """The data sets whose answers are in English."""
    return {name: frame for name, frame in frames.items() if (frame["language"] == "en").all()}


def scale_step(frame: pd.DataFrame) -> float:
    """The step of the score points on 0..1: the widest of 1, 1/2 … 1/20 that fits nine marks of ten.

    Marks such as .88 and .67 are eighths and thirds that were cut to two decimals. A test split may use fewer points
    than the scale has, so pass the whole data set.
    """
    values = frame["fraction"].to_numpy(float)
    for step in _STEPS:
        if np.mean(np.abs(values - np.round(values / step) * step) < 0.006) >= 0.9:
            return step
    return _STEPS[-1]


def items_of(frame: pd.DataFrame) -> dict[str, Item]:
    """An item made of the reference answers alone, by question id; the scale is 0..1."""
    made = {}
    for question, rows in frame.groupby("question_id", sort=False):
        first = rows.iloc[0]
        made[str(question)] = Item.from_reference(
            str(first["question"]),
            distinct([str(text) for text in first["reference_answers"]]),
            max_score=1.0,
            language=str(first["language"]),
        )
    return made


def distinct(texts: Sequence[str]) -> list[str]:
    """The texts that say something, each once (case, blanks and markup aside), in order."""
    seen: dict[str, str] = {}
    for text in texts:
        plain = " ".join(normalise(text).text.split())
        if plain:
            seen.setdefault(plain.casefold(), plain)
    return list(seen.values())
