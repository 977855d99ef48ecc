"""Frames made ready, items of references, and what is skipped."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from eval.datasets import Row, frame_of
from eval.frames import collect, distinct, english, items_of, limited, prepare, scale_step, without_blanks


def _row(answer_id: str, **more: object) -> Row:
    values: dict[str, object] = {
        "dataset": "d", "split": "train", "question_id": "q", "question": "Why?", "reference_answers": ["Because."],
        "answer": "so", "score": 1.0, "max_score": 2.0,
    }  # fmt: skip
    return Row(answer_id=answer_id, **{**values, **more})  # type: ignore[arg-type]


class TestPrepare:
    def test_columns(self) -> None:
        frame = prepare(frame_of([_row("a", score2=2.0), _row("b", score=0.5, extra={"lang": "de"})]))
        assert frame["fraction"].tolist() == [0.5, 0.25]
        assert frame["correct"].tolist() == [True, False]
        assert frame["language"].tolist() == ["en", "de"]
        assert frame["fraction2"].tolist()[0] == 1.0

    def test_two_way_label_of_the_source_wins(self) -> None:
        frame = prepare(frame_of([_row("a", extra={"label2": "incorrect", "label3": "contradictory"})]))
        assert frame["correct"].tolist() == [False]
        assert frame["label3"].tolist() == ["contradictory"]

    def test_what_cannot_be_graded_is_left_out(self) -> None:
        rows = [
            _row("a"),
            _row("no reference", reference_answers=[]),
            _row("no question", question=" "),
            _row("itself", extra={"same_as_reference": True}),
        ]
        assert prepare(frame_of(rows))["answer_id"].tolist() == ["a"]

    def test_blanks_are_only_left_out_of_fitting(self) -> None:
        frame = prepare(frame_of([_row("a"), _row("b", answer=" ")]))
        assert len(frame) == 2
        assert without_blanks(frame)["answer_id"].tolist() == ["a"]


@pytest.mark.parametrize(
    ("scores", "step"),
    [([0, 1, 2], 0.5), ([0, 2], 1.0), ([0.5, 1.0], 0.25), ([0.667, 1.333, 2], 1 / 3), ([0.1], 1 / 20)],
)
def test_scale_step(scores: list[float], step: float) -> None:
    frame = prepare(frame_of([_row(str(at), score=score) for at, score in enumerate(scores)]))
    assert scale_step(frame) == pytest.approx(step)


def test_items_hold_each_reference_once() -> None:
    references = ["A gap.", "a  gap.", "<b>A gap.</b>", " ", "No path."]
    items = items_of(prepare(frame_of([_row("a", reference_answers=references)])))
    element = items["q"].components["answer"].elements[0]
    assert element.key_statements == ("A gap.", "No path.")
    assert items["q"].scale.max == 1.0
    assert distinct(references) == ["A gap.", "No path."]


def test_limit_takes_every_question_first(frames: dict[str, pd.DataFrame]) -> None:
    some = limited(frames["toy"], 4)
    assert some["split"].value_counts().to_dict() == {"train": 4, "test_ua": 4, "test_uq": 4}
    assert some[some["split"] == "train"]["question_id"].nunique() == 4


def test_english_leaves_other_languages_out(frames: dict[str, pd.DataFrame]) -> None:
    assert list(english({**frames, "other": frames["toy"].assign(language="de")})) == ["toy", "exam"]


def test_collect_names_what_is_missing(tmp_path: Path, raw_frames: dict[str, pd.DataFrame]) -> None:
    raw_frames["toy"].to_parquet(tmp_path / "toy.parquet")
    raw_frames["toy"].assign(question="").to_parquet(tmp_path / "mute.parquet")
    found = collect(tmp_path, names=["toy", "mute", "absent"], limit=3)
    assert list(found.frames) == ["toy"]
    assert found.skipped == {
        "absent": "not in the data folder",
        "mute": "no question has both a wording and a reference answer",
    }
    assert found.frames["toy"].groupby("split").size().max() == 3
