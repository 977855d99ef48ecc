"""The Canvas gradebook as roster and as target."""

from __future__ import annotations

import io
from pathlib import Path

import openpyxl
import pytest

from grader.errors import InputError
from grader.formats.gradebook import GradeColumn, total_scores, write_gradebook
from grader.formats.layouts import read_layout
from grader.formats.results import Result
from grader.formats.roster import is_total, read_roster
from grader.formats.table import read_table

DATA = Path(__file__).parents[2] / "data" / "formats"


def roster(text=None):
    source = text.encode() if text else DATA / "canvas_gradebook.csv"
    return read_roster(read_table(source, name="gradebook.csv"))


def table(export):
    return read_table(export.data, name="again.csv")


def test_people_are_the_rows_with_an_id():
    found = roster()
    assert [(one.row, one.ids) for one in found.people] == [
        (4, ("101", "S-0101", "tavi")),
        (5, ("102", "S-0102", "ada")),
        (6, ("103", "S-0103", "kim")),
    ]
    assert found.points_possible(6) == 10.0


def test_first_and_last_name_apart():
    text = "LastName,FirstName,ID,Section,Quiz (7)\n    Points Possible,,,,2\nTran,Tavi,1,x,\n"
    text += "Student,Test,9,x,\n"
    found = roster(text)
    assert [one.row for one in found.people] == [3]
    assert read_layout(found.table).sentinel_rows == (2, 4)


def test_match_report():
    text = "Student,ID,SIS Login ID,Section\nA,1,ann,x\nB,2,1,x\nC,3,Cee,x\nD,4,dee,x\nNo Id,,,x\n"
    match = roster(text).match(["1", "CEE", "4", "dee", "zed", " 2 "])
    assert {one: person.row for one, person in match.matched.items()} == {"CEE": 4}
    assert match.ambiguous == {"1": (2, 3), "4": (5,), "dee": (5,), " 2 ": (3,)}
    assert match.unmatched == ("zed",)
    assert match.absent == ()
    assert roster(text).match([]).absent == (2, 3, 4, 5)
    assert "row 6" in str(roster(text).problems[0])


def test_new_column_stands_before_the_totals_and_everything_else_stays():
    found = roster()
    export = write_gradebook(found, [GradeColumn("Quiz 3", 5.0, {"tavi": 4.5, "102": None, "nobody": 1.0})])
    after = table(export)
    assert after.headers == (
        *(
            "Student",
            "ID",
            "SIS User ID",
            "SIS Login ID",
            "Section",
            "Notes",
            "Homework 1 (5001)",
            "Quiz 2 (5002)",
        ),
        *("Quiz 3", "Assignments Current Score", "Current Score", "Final Score"),
    )
    assert after.frame["Quiz 3"].tolist() == ["", "5", "4.5", "", "", ""]
    assert after.frame["Student"].tolist() == [
        *("", "    Points Possible", "Tran, Tavi", "Öz, Ada", "Low, Kim", "Student, Test"),
    ]
    for label in found.table.labels:
        if label != "Notes":
            assert after.frame[label].tolist() == found.table.frame[label].tolist()
    assert after.frame["Notes"].tolist()[3] == '\'=HYPERLINK("x")'
    assert [(one.candidate, one.reason) for one in export.unmatched] == [("nobody", "not in the gradebook")]
    assert (export.updated, export.unchanged) == (1, 1)
    assert [(one.candidate, one.row) for one in export.unmarked] == [("102", 5), ("103", 6)]
    assert export.data.startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("title", ["Quiz 2", "Quiz 2 (5002)", "quiz 2"])
def test_existing_column_is_filled_where_empty(title):
    scores = {"101": 4.0, "102": 5.0, "103": -0.5}
    export = write_gradebook(roster(), [GradeColumn(title, 5.0, scores)])
    assert table(export).frame["Quiz 2 (5002)"].tolist() == [
        "Manual Posting",
        "5.00",
        "4",
        "3.00",
        "-0.50",
        "",
    ]
    assert (export.updated, export.unchanged) == (1, 2)
    assert [note.row for note in export.kept] == [5]
    forced = write_gradebook(roster(), [GradeColumn(title, 5.0, scores)], replace="all")
    assert table(forced).frame["Quiz 2 (5002)"].tolist()[2:5] == ["4", "5", "-0.50"]


def test_excused_and_not_applicable_are_never_replaced():
    columns = [GradeColumn("Homework 1", 10.0, {"102": 9.0, "103": 9.0})]
    export = write_gradebook(roster(), columns, replace="all")
    assert table(export).frame["Homework 1 (5001)"].tolist()[3:5] == ["EX", "N/A"]
    assert export.updated == 0
    assert len(export.kept) == 2


def test_minimal_roster_gets_the_points_possible_row():
    text = 'Student,SIS Login ID,Section\n"Tran, Tavi",tavi,A\n'
    export = write_gradebook(roster(text), [GradeColumn("Viva", 5.0, {"tavi": 2.5})])
    assert export.data.decode() == (
        'Student,SIS Login ID,Section,Viva\r\n    Points Possible,,,5\r\n"Tran, Tavi",tavi,A,2.5\r\n'
    )
    again = read_layout(table(export))
    assert again.layout == "canvas_gradebook"
    assert again.sentinel_rows == (2,)


def test_decimal_comma_follows_the_file_or_the_request():
    text = "Student;ID;Section;Test (1)\n    Points Possible;;;10,00\nA;1;x;2,5\nB;2;x;\n"
    export = write_gradebook(roster(text), [GradeColumn("Test", 10.0, {"2": 3.5})])
    assert "B;2;x;3,5\r\n" in export.data.decode()
    pointed = write_gradebook(roster(text), [GradeColumn("Test", 10.0, {"2": 3.5})], decimal=".")
    assert "B;2;x;3.5\r\n" in pointed.data.decode()


def test_gradebook_round_trip():
    before = read_layout(read_table(DATA / "canvas_gradebook.csv", name="g.csv"))
    export = write_gradebook(roster(), [GradeColumn("New", 5.0, {"101": 1.0})])
    after = read_layout(table(export))
    assert after.marks == before.marks
    assert after.questions == before.questions
    assert after.sentinel_rows == before.sentinel_rows
    assert read_roster(after.table).people == roster().people


def test_gradebook_as_excel_keeps_ids_as_text():
    export = write_gradebook(roster(), [GradeColumn("New", 5.0, {"101": 1.0})], format="xlsx")
    active = openpyxl.load_workbook(io.BytesIO(export.data)).active
    assert (active["B4"].value, active["B4"].data_type) == ("101", "s")
    assert active["I4"].value == 1.0


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ([], "at least one"),
        ([GradeColumn("A", 1, {}), GradeColumn("a ", 1, {})], "title of its own"),
    ],
)
def test_titles_are_checked(columns, match):
    with pytest.raises(InputError, match=match):
        write_gradebook(roster(), columns)


def test_one_title_for_two_assignments_is_not_guessed():
    text = "Student,ID,Section,Test (1),Test (2)\nA,1,x,,\n"
    with pytest.raises(InputError, match=r"several assignments are called 'Test': 'Test \(1\)', 'Test \(2\)'"):
        write_gradebook(roster(text), [GradeColumn("Test", 1, {"1": 1.0})])
    assert write_gradebook(roster(text), [GradeColumn("Test (2)", 1, {"1": 1.0})]).updated == 1


def test_a_roster_needs_ids():
    with pytest.raises(InputError, match="no column with ids"):
        roster("Student,Section\nA,x\n")


def test_totals_are_sums_and_missing_is_not_zero():
    results = [Result("a", "1", 1.5), Result("a", "2", 2.0), Result("b", "1", None), Result("b", "2", 2.0)]
    assert total_scores(results) == {"a": 3.5, "b": None}


@pytest.mark.parametrize(
    "header", ["Final Score", "Homework Current Score", "Current Score (Fall 2020)", "Override Grade"]
)
def test_totals_are_recognised(header):
    assert is_total(header)
    assert not is_total("Final essay (12)")
