"""Tables: the three shapes, what they refuse, and that no row is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from grader import Bank, Grader, load_bank
from grader.encoder import HashEncoder
from grader.errors import InputError
from grader.tables import grade_frame, plan

KITCHEN = Path(__file__).parents[1] / "data" / "bank" / "kitchen"
GAS = "Yeast eats sugar and gives off carbon dioxide, and gluten traps the gas in small bubbles."
TEARS = "Cutting breaks cells, and an enzyme then forms an irritating gas."
ADDED = ["condition_code", "confidence", "referred", "summary", "signature"]
COMPONENTS = ["definition", "reason", "example_or_pitfall", "defence"]


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(HashEncoder())


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank(KITCHEN)


def long(**columns: object) -> pd.DataFrame:
    base = {
        "candidate": ["a", "b", "a", "b"],
        "item": ["dough-rises", "onion-tears", "onion-tears", "rising-dough"],
        "response": [GAS, TEARS, "", "It grows because of air that was beaten into it by hand."],
    }
    return pd.DataFrame({**base, **columns})


def test_long_keeps_columns_and_adds_the_result(bank: Bank, grader: Grader) -> None:
    frame = long(group=[1, 2, 1, 2], human_score=[2.5, 1.0, 0.0, 0.0])
    result = grade_frame(frame, bank, grader)
    assert list(result.columns) == [*frame.columns, "score", "max_score", *COMPONENTS, *ADDED]
    assert result[["candidate", "item", "group"]].equals(frame[["candidate", "item", "group"]])
    assert result["max_score"].tolist() == [5.0, 2.0, 2.0, 5.0]
    assert result["score"].tolist() == [2.5, 1.0, 0.0, 0.0]
    assert result["condition_code"].tolist() == [None, None, "blank", None]
    assert result["confidence"].isna().all()
    assert result["referred"].dtype == bool
    assert np.isnan(result["defence"].iloc[0])
    assert np.isnan(result["reason"].iloc[1])
    assert "item:dough-rises@1" in result["signature"].iloc[3], "an alias is resolved"
    assert result["item"].iloc[3] == "rising-dough", "and stays as written"


def test_every_mark_equals_that_of_the_answer_alone(bank: Bank, grader: Grader) -> None:
    frame = long()
    result = grade_frame(frame, bank, grader)
    for _, row in result.iterrows():
        score = grader.grade(bank[row["item"]], row["response"])
        assert (row["score"], row["summary"]) == (score.score, score.feedback.summary)


def test_wide_becomes_one_row_a_response_and_human_marks_follow_their_item(bank: Bank, grader: Grader) -> None:
    frame = pd.DataFrame(
        {
            "candidate": ["a", "b"],
            "dough-rises": [GAS, None],
            "onion-tears": [TEARS, ""],
            "dough-rises human_score": [2.0, 0.0],
            "class": ["x", "y"],
        },
        index=[11, 12],
    )
    result = grade_frame(frame, bank, grader)
    assert result.index.tolist() == [11, 11, 12, 12]
    assert result["item"].tolist() == ["dough-rises", "onion-tears"] * 2
    assert result["response"].tolist() == [GAS, TEARS, "", ""]
    assert result["class"].tolist() == ["x", "x", "y", "y"]
    assert result["human_score"].iloc[0] == 2.0
    assert pd.isna(result["human_score"].iloc[1])
    assert result["score"].tolist() == [2.5, 1.0, 0.0, 0.0]


def test_ad_hoc_takes_several_references_and_scales(grader: Grader) -> None:
    frame = pd.DataFrame(
        {
            "prompt": ["Why do we sleep?", "Why do we sleep?", "Name the capital of France."],
            "reference": ["The brain recovers.\n---\nMemory is consolidated at night.", "The brain recovers.", "Paris"],
            "reference_1": ["", "Memory is consolidated at night.", ""],
            "response": ["Memory is consolidated at night.", "The brain recovers.", "The capital of France is Paris"],
            "max_score": ["3", 3, None],
        }
    )
    result = grade_frame(frame, None, grader)
    assert result["score"].tolist() == [3.0, 3.0, 5.0]
    assert result["max_score"].tolist() == [3.0, 3.0, 5.0]
    assert list(result.columns).count("max_score") == 1
    assert result["answer"].between(0.9, 1.0).all()
    rubrics = [part for line in result["signature"] for part in line.split("|") if part.startswith("rubric:")]
    assert rubrics[0] == rubrics[1] != rubrics[2], "the same references are one item"


def test_the_result_does_not_depend_on_block_size_and_progress_counts_every_row(bank: Bank, grader: Grader) -> None:
    planned = plan(long(), bank)
    seen: list[int] = []
    blocks = list(planned.blocks(grader, size=3, progress=seen.append))
    assert [len(block) for block in blocks] == [3, 1]
    assert sum(seen) == 4
    assert all(list(block.columns) == planned.columns for block in blocks)
    pd.testing.assert_frame_equal(pd.concat(blocks), grade_frame(long(), bank, grader))


def test_the_input_is_left_alone(bank: Bank, grader: Grader) -> None:
    frame = long()
    before = frame.copy(deep=True)
    grade_frame(frame, bank, grader)
    pd.testing.assert_frame_equal(frame, before)


def test_an_empty_table_gives_an_empty_result(bank: Bank, grader: Grader) -> None:
    assert grade_frame(long().iloc[:0], bank, grader).empty


def test_cells_that_are_no_text_are_read_as_a_spreadsheet_shows_them(grader: Grader) -> None:
    frame = pd.DataFrame(
        {"prompt": ["How many?"] * 3, "reference": ["42 pieces"] * 3, "response": [42.0, None, "'=42 pieces"]}
    )
    result = grade_frame(frame, None, grader)
    assert result["condition_code"].tolist()[1] == "blank"
    assert result["score"].iloc[2] == 5.0


def test_grader_method_uses_the_bank_given_or_none(bank: Bank, grader: Grader) -> None:
    assert grader.grade_frame(long(), bank)["score"].iloc[0] == 2.5
    frame = pd.DataFrame({"prompt": ["Why?"], "reference": ["It rains."], "response": ["It rains."]})
    assert grader.grade_frame(frame, ad_hoc=True)["score"].tolist() == [5.0]


def doubled(frame: pd.DataFrame) -> pd.DataFrame:
    frame.columns = ["candidate", "item", "item"]
    return frame


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (long(score=1), "column 'score' holds a machine's marks.*human_score"),
        (long(Score=1), "column 'score' holds"),
        (long(Signature="x"), "column 'Signature' is one that the result adds"),
        (long(reason="x"), "column 'reason' is one that the result adds"),
        (long(max_score=5), "column 'max_score' is one that the result adds"),
        (long().drop(columns="response"), "column response missing; the table has: candidate, item"),
        (long().drop(columns=["candidate", "item"]), "columns candidate, item missing"),
        (long(item=["dough-rises", "dough-rise", "onion-tears", "x"]),
         r"rows 1, 3, column item: no item 'dough-rise'; did you mean dough-rises\?"),
        (long(item=["dough-rises", " ", "onion-tears", "onion-tears"]), "row 1, column item: empty"),
        (long(candidate=["a", None, "a", "b"]), "row 1, column candidate: empty"),
        (long(item=["dough-rises", "onion-tears", "rising-dough", "dough-rises"]),
         "rows 0 and 2: candidate 'a' answers item 'dough-rises' twice"),
        (doubled(long()), "column 'item' occurs twice"),
        (pd.DataFrame({"candidate": ["a"], "essay": ["x"]}), r"columns item, response missing \(or one column an item"),
        (pd.DataFrame({"candidate": ["a"], "dough-rises": ["x"], "onion-tear": ["x"]}),
         "column 'onion-tear' is no item; did you mean 'onion-tears'"),
        (pd.DataFrame({"candidate": ["a"], "dough-rises": ["x"], "onion-tears": ["x"], "human_score": [1]}),
         "column 'human_score' names no item, but the table has 2"),
        (pd.DataFrame({"candidate": ["a", "a"], "dough-rises": ["x", "y"]}),
         "rows 0 and 1: candidate 'a' answers item 'dough-rises' twice"),
    ],
)  # fmt: skip
def test_bank_tables_are_refused_with_row_and_column(bank: Bank, frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(frame, bank)


GOOD = {"prompt": ["Why?", "Why?"], "reference": ["It rains.", "It snows."], "response": ["x", "y"]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"score": [1, 2]}, "column 'score'"),
        ({"answer": ["x", "y"]}, "column 'answer' is one that the result adds"),
        ({"prompt": ["Why?", ""]}, "row 1, column prompt: empty"),
        ({"reference": ["It rains.", " --- \n---"]}, "row 1, column reference: empty"),
        ({"max_score": [5, "a lot"]}, "row 1, column max_score: 'a lot'; allowed: a number above 0"),
        ({"max_score": [5, 0]}, "row 1, column max_score: '0'"),
        ({"reference": ["x" * 4001, "y"]}, "row 0, column reference: string should have at most 4000"),
        ({"prompt": ["x" * 20_001, "y"]}, "row 0, column prompt: string should have at most 20000"),
    ],
)
def test_ad_hoc_tables_are_refused_with_row_and_column(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(pd.DataFrame({**GOOD, **columns}), None)


@pytest.mark.parametrize("absent", ["prompt", "reference", "response"])
def test_ad_hoc_needs_its_three_columns(absent: str) -> None:
    with pytest.raises(InputError, match=f"column {absent} missing"):
        plan(pd.DataFrame(GOOD).drop(columns=absent), None)


def test_a_response_in_another_script_has_no_mark_but_stays(bank: Bank, grader: Grader) -> None:
    frame = long(response=["खमीर गैस बनाता है और आटा फूलता है", TEARS, "x" * 70_000, GAS])
    result = grade_frame(frame, bank, grader)
    assert len(result) == 4
    assert result["condition_code"].tolist()[0] == "language"
    assert result["condition_code"].tolist()[2] == "too_long"
    assert result["score"].isna().tolist() == [True, False, True, False]
    assert result["referred"].tolist() == [True, False, True, False]
    assert result["definition"].isna().tolist() == [True, False, True, False]
