"""The frame schema, and loading what is there."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from eval.datasets import (
    COLUMNS,
    Row,
    data_folder,
    extra_field,
    frame_of,
    load,
    load_available,
    read_parquet,
)
from grader.errors import InputError

DATA = Path(__file__).parents[1] / "data" / "datasets"


def _row(answer_id: str = "a1", answer: str = "so", score: float = 1.0, **more: object) -> Row:
    values: dict[str, object] = {
        "dataset": "toy",
        "split": "train",
        "question_id": "q1",
        "question": "Why?",
        "reference_answers": ["because"],
        "max_score": 2.0,
        **more,
    }
    return Row(answer_id=answer_id, answer=answer, score=score, **values)  # type: ignore[arg-type]


class TestSchema:
    def test_types_and_missing_values(self) -> None:
        frame = frame_of([_row(score2=None, label=None), _row("a2", score2=2.0, label="x")])
        assert frame["score2"].isna().tolist() == [True, False]
        assert frame["label"].isna().tolist() == [True, False]
        assert frame["reference_answers"].tolist() == [["because"], ["because"]]
        assert frame[["score", "max_score", "score2"]].dtypes.tolist() == ["float64"] * 3

    def test_no_rows_still_have_the_columns(self) -> None:
        assert tuple(frame_of([]).columns) == COLUMNS

    def test_parquet_round_trip(self, tmp_path: Path) -> None:
        frame = frame_of([_row(extra={"lang": "de"}), _row("a2", reference_answers=[])])
        frame.to_parquet(tmp_path / "toy.parquet")
        back = read_parquet(tmp_path / "toy.parquet")
        pd.testing.assert_frame_equal(back, frame)
        assert extra_field(back, "lang").tolist() == ["de", None]

    @pytest.mark.parametrize(
        ("column", "value", "message"),
        [
            ("answer", None, r"row 1: field 'answer': a text is needed"),
            ("score", "much", r"row 1: field 'score': a number is needed"),
            ("reference_answers", "text", r"row 0: field 'reference_answers': a list of texts"),
            ("extra", "{", r"row 1: field 'extra': a JSON object"),
            ("extra", "[]", r"row 1: field 'extra': a JSON object is needed, not list"),
        ],
    )
    def test_bad_value_names_file_row_and_field(self, tmp_path: Path, column: str, value: object, message: str) -> None:
        good = {"score": "1", "reference_answers": "text"}.get(column, "{}")
        frame = frame_of([_row(), _row("a2")])
        frame[column] = pd.Series([good, value], dtype="object")
        frame.to_parquet(tmp_path / "toy.parquet")
        with pytest.raises(InputError, match=rf"toy\.parquet: {message}"):
            read_parquet(tmp_path / "toy.parquet")

    def test_missing_column_is_named(self, tmp_path: Path) -> None:
        frame_of([_row()]).drop(columns=["max_score"]).to_parquet(tmp_path / "toy.parquet")
        with pytest.raises(InputError, match=r"toy\.parquet: columns are missing: max_score; needed are"):
            read_parquet(tmp_path / "toy.parquet")

    def test_no_parquet(self, tmp_path: Path) -> None:
        (tmp_path / "toy.parquet").write_text("text")
        with pytest.raises(InputError, match=r"toy\.parquet: cannot be read as parquet"):
            read_parquet(tmp_path / "toy.parquet")


class TestLoading:
    def test_folder_given_then_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GRADER_DATA", str(tmp_path / "env"))
        assert data_folder() == tmp_path / "env"
        assert data_folder(tmp_path) == tmp_path

    @pytest.mark.parametrize("folder", ["empty", "absent"])
    def test_nothing_there_is_no_error(self, tmp_path: Path, folder: str) -> None:
        (tmp_path / "empty").mkdir()
        loaded = load_available(tmp_path / folder)
        assert loaded.frames == {}
        assert loaded.missing == (
            "beetle", "scientsbank", "saf_en_v2", "saf_de_v1", "hbrs_nn", "mohler", "asap_sas", "viva_dev",
        )  # fmt: skip
        assert "missing beetle, scientsbank" in loaded.summary()

    def test_originals_are_read_where_no_parquet_is(self) -> None:
        loaded = load_available(DATA)
        assert {name: len(frame) for name, frame in loaded.frames.items()} == {
            "beetle": 6, "scientsbank": 5, "mohler": 6, "asap_sas": 3,
        }  # fmt: skip
        assert loaded.viva is not None
        assert loaded.missing == ("saf_en_v2", "saf_de_v1", "hbrs_nn")
        assert "viva_dev (2); missing saf_en_v2" in loaded.summary()

    def test_own_parquet_by_name(self, tmp_path: Path) -> None:
        frame_of([_row()]).to_parquet(tmp_path / "mine.parquet")
        loaded = load_available(tmp_path, names=["mine", "yours"])
        assert list(loaded.frames) == ["mine"]
        assert loaded.missing == ("yours",)
        assert len(load("mine", tmp_path)) == 1
        with pytest.raises(InputError, match=r"data set 'yours' is not in .*; name a folder or set GRADER_DATA"):
            load("yours", tmp_path)

    def test_broken_file_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "beetle.parquet").write_bytes(b"PAR1")
        with pytest.raises(InputError, match=r"beetle\.parquet: cannot be read"):
            load_available(tmp_path)
