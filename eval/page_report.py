"""The HTML report of the grader on one data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from eval.cache import packaged_encoder
from eval.frames import collect, items_of, scale_step, split_rows
from eval.grading import warm
from eval.results import marks_signature
from grader import Grader, Score
from grader.cases import Details, passages_of
from grader.encoder import Encoder
from grader.errors import InputError
from grader.report import Report, build_report


def data_report(
    name: str,
    *,
    split: str | None = None,
    data: Path | None = None,
    cache: Path | None = Path(".cache"),
    limit: int | None = None,
    worst: int = 20,
    encoder: Encoder | None = None,
) -> Report:
    """How the marks of the shipped grader agree with the raters' on a data set; marks on 0..1.

    Args:
        name: Data set.
        split: One split; all rows by default.
        data: Folder with the data.
        cache: Folder of encodings; ``None`` keeps nothing.
        limit: Answers a split at most.
        worst: Disagreements to list.
        encoder: The language model; the packaged one by default.

    Raises:
        InputError: The data set or the split is not there.
    """
    whole, frame = _rows(name, split, data, limit)
    grader = Grader(encoder or packaged_encoder(cache))
    scores = grade_frame(grader, frame)
    kept = [at for at, score in enumerate(scores) if score.score is not None]
    left_out = len(scores) - len(kept)
    frame, scores = frame.iloc[kept].reset_index(drop=True), [scores[at] for at in kept]
    notes = ["The marks of this data set were made from labels."] if frame["mapped"].any() else []
    notes += [f"{left_out} responses got no mark and are left out."] if left_out else []
    return build_report(
        frame["fraction"].to_numpy(float),
        np.array([score.raw / score.max_score for score in scores]),
        scale_max=1.0,
        step=scale_step(whole),
        title=f"{name}, {split or 'all splits'}: marks from reference answers alone",
        signature=marks_signature(grader),
        notes=notes,
        details=_details(frame, scores),
        worst=worst,
    )


def _rows(name: str, split: str | None, data: Path | None, limit: int | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The whole data set and the rows asked for."""
    collection = collect(data, limit=limit, names=[name])
    if name not in collection.frames:
        raise InputError(f"data set {name!r}: {collection.skipped.get(name, 'not there')}")
    whole = collection.frames[name]
    frame = whole if split is None else split_rows(whole, split)
    if frame.empty:
        known = ", ".join(sorted(set(whole["split"])))
        raise InputError(f"data set {name!r} has no split {split!r}; it has {known}")
    return whole, frame


def _details(frame: pd.DataFrame, scores: Sequence[Score]) -> Details:
    return Details(
        ids=list(frame["answer_id"]),
        questions=list(frame["question_id"]),
        prompts=dict(zip(frame["question_id"], frame["question"], strict=True)),
        responses=list(frame["answer"]),
        passages=[passages_of(score) for score in scores],
        human2=frame["fraction2"].to_numpy(float) if frame["fraction2"].notna().any() else None,
        referred=[score.referred for score in scores],
    )


def grade_frame(grader: Grader, frame: pd.DataFrame) -> list[Score]:
    """The score of every row, in order; each question becomes an item of its references."""
    items = items_of(frame)
    owners = [str(question) for question in frame["question_id"]]
    answers = [str(answer) for answer in frame["answer"]]
    warm(grader.encoder, [(items[owner], answer) for owner, answer in zip(owners, answers, strict=True)], grader.index)
    found: dict[int, Score] = {}
    for owner in items:
        places = [at for at, name in enumerate(owners) if name == owner]
        scores = grader.grade_many(items[owner], [answers[at] for at in places])
        found.update(zip(places, scores, strict=True))
    return [found[at] for at in range(len(answers))]
