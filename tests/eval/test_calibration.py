"""The tables of calibration on made-up data, and their page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eval import calibration
from eval.calibration import Json, calibration_tables
from eval.calibration_page import Aim, calibration_part
from eval.few_labels import Plan
from eval.label_questions import questions
from eval.learners import calibrated, uncalibrated
from eval.systems import Systems

PLAN = Plan(sizes=(5,), seeds=2, n_boot=20)


@pytest.fixture(scope="module")
def tables(frames: dict[str, pd.DataFrame], systems: Systems, tmp_path_factory: pytest.TempPathFactory) -> Json:
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(calibration, "ACTIVE", ("toy",))
    monkeypatch.setattr(calibration, "TIMED", "toy")
    found = calibration_tables(frames, systems.fit_prior, PLAN)
    monkeypatch.undo()
    return found


def test_every_data_set_stands_in_every_table(tables: Json) -> None:
    for table in ("coverage", "selective", "groups"):
        assert [row["data"] for row in tables[table]] == ["toy", "exam"]
    assert {line["data"] for line in tables["curves"]} == {"toy", "exam"}
    assert [row["data"] for row in tables["active"]] == ["toy"]
    assert all(row["seconds"] >= 0 for row in tables["times"])


def test_figures_are_shares_and_labels_help(tables: Json) -> None:
    for row in tables["coverage"]:
        assert all(0 <= value <= 1 for value in row["coverage"])
        assert row["width"][0] <= row["width_of_question_mean"][0]
    for row in tables["selective"]:
        assert row["ratio"] == pytest.approx(row["rmse_surest"] / row["rmse"], abs=5e-3)
    [active] = tables["active"]
    assert active["rows"][-1]["drawn"] <= active["rows"][0]["drawn"]
    assert all(0 <= row["saved"] < 1 and row["same_mark"] == 1.0 for row in tables["groups"] if row["same_mark"])


def test_what_was_computed_is_not_computed_again(
    frames: dict[str, pd.DataFrame], systems: Systems, tmp_path: Path
) -> None:
    said: list[str] = []
    plan = Plan(sizes=(5,), seeds=1, n_boot=5, cache=tmp_path, progress=said.append)
    first = calibration_tables({"toy": frames["toy"]}, systems.fit_prior, plan)
    assert said
    said.clear()
    assert calibration_tables({"toy": frames["toy"]}, systems.fit_prior, plan) == first
    assert said == []
    assert not list(tmp_path.rglob("*.part*"))


def test_a_blank_answer_keeps_its_mark(frames: dict[str, pd.DataFrame], systems: Systems, tmp_path: Path) -> None:
    frame = frames["toy"].copy()
    blank = frame.index[(frame["split"] == "test_ua") & (frame["correct"])][0]
    frame.loc[blank, "answer"] = "   "
    [question] = [q for q in questions(frame, systems.shipped, tmp_path) if q.frame["answer"].str.strip().eq("").any()]
    [again] = [q for q in questions(frame, systems.shipped, tmp_path) if q.frame["answer"].str.strip().eq("").any()]
    assert question.rows.open.tolist() == again.rows.open.tolist()
    assert np.array_equal(question.rows.evidence, again.rows.evidence)
    at = int(np.flatnonzero(question.frame["answer"].str.strip().eq(""))[0])
    assert not question.rows.open[at]
    known, test = question.draw(0)
    place = list(test).index(at)
    assert calibrated(question, known, test).score[place] == uncalibrated(question, known, test).score[place] == 0


def test_three_way_labels_are_learned(frames: dict[str, pd.DataFrame], systems: Systems) -> None:
    question = questions(frames["toy"], systems.shipped)[0]
    known, test = question.draw(0)
    found = calibrated(question, known, test)
    assert found.label3 is not None
    assert list(found.label3) == list(question.frame["label3"].to_numpy()[test])


def test_answers_that_get_no_mark_are_left_out(frames: dict[str, pd.DataFrame], systems: Systems) -> None:
    frame = frames["toy"].copy()
    foreign = "मुझे लगता है कि ढाल जमा होते रहते हैं और उन्हें मिटाना पड़ता है।"
    before = questions(frame, systems.shipped)[0]
    frame.loc[frame["answer"] == before.frame["answer"].iloc[0], "answer"] = foreign
    after = questions(frame, systems.shipped)[0]
    assert len(after.frame) < len(before.frame)
    assert foreign not in set(after.frame["answer"])
    assert len(after.rows.prior) == len(after.frame)


class TestPage:
    def test_aims_met_and_missed(self, tables: Json, monkeypatch: pytest.MonkeyPatch) -> None:
        aims = [Aim("toy", None, "f1_2way", 0.1), Aim("exam", 5, "rmse", 0.0001)]
        monkeypatch.setattr("eval.calibration_page.AIMS", aims)
        monkeypatch.setattr("eval.calibration_page.SECONDS", {row["labels"]: 60.0 for row in tables["times"]})
        text = "\n\n".join(calibration_part({"calibration": tables}))
        [reached] = [line for line in text.splitlines() if "at least .100" in line]
        [missed] = [line for line in text.splitlines() if "at most .000" in line]
        assert reached.endswith("| yes |")
        assert missed.endswith("| **no** |")
        assert "### Chosen and drawn labels, toy" in text

    def test_without_figures_there_is_nothing(self) -> None:
        assert list(calibration_part({})) == []
