"""The table of the abuse suite: what is counted as accepted and as moved."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eval.abuse import LIMITS, UNCHANGED, abuse_table, accepted_marks, bank_frame, right_answers
from eval.edits import NO_ANSWER
from eval.grading import Marks
from eval.systems import Systems
from grader import Item

Row = tuple[str, int, float, float | None]


def test_accepted_needs_half_the_mark_and_no_referral() -> None:
    score = np.array([0.5, 0.5, 0.49, np.nan, 1.0])
    no = np.zeros(5, dtype=bool)
    marks = Marks(score, score, np.array([False, True, False, False, False]), no)
    assert accepted_marks(marks).tolist() == [True, False, False, False, True]


class TestRightAnswers:
    def test_only_full_marks_spread_over_questions(self, frames: dict[str, pd.DataFrame]) -> None:
        found = right_answers(frames["exam"], most=6)
        assert len({right.question for right in found}) == 6
        assert all(right.source.wrong and "true" not in right.source.answer for right in found)
        assert found == right_answers(frames["exam"], most=6)
        assert len(right_answers(frames["exam"])) == 30

    def test_foreign_answers_come_from_questions_that_say_something_else(self, frames: dict[str, pd.DataFrame]) -> None:
        twin = frames["exam"].assign(question_id="twin-" + frames["exam"]["question_id"])
        both = pd.concat([frames["exam"], twin], ignore_index=True)
        answers = dict(zip(both["answer"], both["reference_answers"].map(lambda texts: texts[0]), strict=True))
        for right in right_answers(both):
            assert right.source.foreign is not None
            assert answers[right.source.foreign] != right.source.reference

    def test_no_other_question(self, frames: dict[str, pd.DataFrame]) -> None:
        one = frames["exam"][frames["exam"]["question_id"] == "exam-salt"]
        assert [right.source.foreign for right in right_answers(one, most=1)] == [None]


class TestTable:
    @pytest.fixture
    def rows(self, frames: dict[str, pd.DataFrame], systems: Systems) -> dict[str, Row]:
        table = abuse_table(systems.shipped, right_answers(frames["exam"], most=6), n_boot=20)
        return {row.kind: (row.group, row.n, row.accepted.value, row.moved and row.moved.value) for row in table}

    def test_rows(self, rows: dict[str, Row]) -> None:
        assert next(iter(rows)) == UNCHANGED
        assert set(LIMITS) <= set(rows)
        assert rows[UNCHANGED][3] is None
        assert all(rows[kind][3] is None for kind in NO_ANSWER)
        assert rows["blank"][:3] == ("no answer", 6, 0.0)
        assert rows["gibberish"][2] == 0.0
        assert rows["case"][3] == 0.0
        assert "number changed" not in rows  # no answer has a number


def test_bank_frame_uses_the_scale_of_the_item() -> None:
    item = Item.from_reference("Why?", "Because.", max_score=4)
    viva = pd.DataFrame({"question_id": ["q", "other"], "answer": ["Because.", "So."], "score": [4.0, 4.0]})
    frame = bank_frame(viva, {"q": item})
    assert frame.to_dict("list") == {"question_id": ["q"], "answer": ["Because."], "fraction": [1.0]}
