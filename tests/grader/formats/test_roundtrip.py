"""An export can be imported again, whatever the layout and whatever people typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import InputError
from grader.formats.export import Result, write_back, write_long
from grader.formats.layouts import read_layout, read_sheet
from grader.formats.table import read_table

DATA = Path(__file__).parents[2] / "data" / "formats"
SAMPLES = sorted(file.name for file in DATA.iterdir() if file.name != "canvas_gradebook.csv")


def sample(name):
    return read_sheet(DATA / name, name=name)


def sheet(text):
    return read_layout(read_table(text.encode(), name="x.csv"))


def again(export, name="again"):
    return read_layout(read_table(export.data, name=f"{name}.{export.format}"))


def for_all(found, score=1.5, feedback="Good, but …"):
    return [Result(cell.candidate, cell.item_key, score, 2.0, feedback, row=cell.row) for cell in found.cells]


def text(export, encoding="utf-8"):
    return export.data.decode(encoding)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("format", ["csv", "xlsx"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_round_trip_gives_the_same_cells(name, format, decimal):
    before = sample(name)
    export = write_back(before, for_all(before), format=format, decimal=decimal, replace="all", fill_totals=True)
    after = again(export)
    assert export.unmatched == ()
    assert export.updated == len(before.cells)
    assert after.layout == before.layout
    assert after.cells == before.cells
    assert after.questions == before.questions or format == "xlsx"
    assert after.sentinel_rows == before.sentinel_rows
    human = [mark for mark in before.marks if mark.kind != "points"]
    assert [mark for mark in after.marks if mark.kind != "points"] == human


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_original_columns_are_untouched(name, format):
    before = sample(name)
    export = write_back(before, for_all(before), format=format)
    after = read_table(export.data, name=f"again.{format}")
    labels = [label for label in after.labels if label in before.table.labels]
    assert labels == list(before.table.labels)
    changeable = {place.points for place in before.places.values()} | {one.feedback for one in before.places.values()}
    restored = again(export)
    for label in before.table.labels:
        if label not in changeable and label not in {cell.column for cell in before.cells}:
            assert after.frame[label].tolist() == before.table.frame[label].tolist()
    assert after.rows == before.table.rows
    assert [one.response for one in restored.cells] == [one.response for one in before.cells]


@pytest.mark.parametrize("name", SAMPLES)
def test_second_export_changes_nothing_and_says_so(name):
    before = sample(name)
    first = write_back(before, for_all(before))
    second = write_back(again(first), for_all(before))
    assert second.updated == 0
    assert second.data == first.data


@pytest.mark.parametrize("name", SAMPLES)
def test_no_results_give_the_file_back(name):
    before = sample(name)
    export = write_back(before, [])
    after = read_table(export.data, name="again.csv")
    assert (export.updated, export.unmatched) == (0, ())
    assert after.headers == before.table.headers
    assert len(export.unmarked) == len(before.cells)


RESULTS = [
    Result("007", "view", 2.5, 5.0, "Say, why.", response="=1+1", components={"definition": 1.0, "reason": 0.5}),
    Result("Tran, Tavi", "view", None, 5.0, referred=True, reason="low confidence", confidence=0.41, response=""),
    Result("009", "stack", -0.5, signature="grader:0.1.0", extra={"human_score": 3.0}, response="two\nlines"),
]


def test_long_table_has_the_columns_that_are_filled():
    lines = write_long(RESULTS).decode("utf-8-sig").split("\r\n")
    assert lines[0] == (
        "candidate,item,response,score,max_score,component_definition,component_reason,referred,reason,"
        "confidence,feedback,signature,human_score"
    )
    assert lines[1] == '007,view,\'=1+1,2.5,5,1,0.5,,,,"Say, why.",,'
    assert lines[2] == '"Tran, Tavi",view,,,5,,,yes,low confidence,0.41,,,'
    assert lines[3] == '009,stack,"two\nlines",-0.5,,,,,,,,grader:0.1.0,3'


def test_long_table_with_decimal_comma():
    lines = write_long(RESULTS, decimal=",").decode("utf-8-sig").split("\r\n")
    assert lines[1].startswith("007;view;'=1+1;2,5;5;1;0,5")


@pytest.mark.parametrize("format", ["csv", "xlsx"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_long_table_is_read_again(format, decimal):
    found = read_sheet(write_long(RESULTS, format=format, decimal=decimal), name=f"x.{format}")
    assert found.layout == "plain_long"
    assert [(one.candidate, one.item_key, one.response) for one in found.cells] == [
        (one.candidate, one.item, one.response) for one in RESULTS
    ]
    assert [(mark.candidate, mark.value) for mark in found.human_marks()] == [("009", 3.0)]


def test_long_table_refuses_an_extra_column_with_a_fixed_name():
    with pytest.raises(InputError, match="extra column 'score'"):
        write_long([Result("1", "a", 1.0, extra={"score": 2.0})])


def test_an_empty_long_table_is_a_header():
    assert write_long([]).decode("utf-8-sig") == "candidate,item,score\r\n"


# Everything a person can type, and what is hard for CSV, Excel and XML.
ANYTHING = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"),
        st.sampled_from("'\"=+-@,;\t\r\n _x0041_"),
    ),
    max_size=25,
)


@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_control_characters_survive(format):
    odd = "".join(map(chr, range(1, 19))) + "_x0041_ \x7f"
    found = read_sheet(write_long([Result("1", "i", 1.0, response=odd)], format=format), name=f"x.{format}")
    assert found.cells[0].response == odd


@settings(max_examples=150, deadline=None)
@given(st.lists(ANYTHING, min_size=1, max_size=4), st.sampled_from(["csv", "xlsx"]))
def test_any_response_survives_the_long_table(responses, format):
    results = [Result(f"c{at}", "i", 1.0, response=one) for at, one in enumerate(responses)]
    results.append(Result("last", "i", 1.0, response="x"))
    found = read_sheet(write_long(results, format=format), name=f"x.{format}")
    assert [cell.response for cell in found.cells] == [*responses, "x"]


@settings(max_examples=100, deadline=None)
@given(st.lists(ANYTHING, min_size=1, max_size=3), ANYTHING, st.sampled_from(["csv", "xlsx"]))
def test_any_wide_table_survives_an_export(responses, feedback, format):
    rows = [Result(f"c{at}", "view", 1.0, response=one) for at, one in enumerate(responses)]
    before = read_sheet(write_long([*rows, Result("z", "view", 1.0, response="x")]), name="x.csv")
    results = [Result(cell.candidate, "view", 2.0, feedback=feedback) for cell in before.cells]
    export = write_back(before, results, format=format)
    assert again(export).cells == before.cells
