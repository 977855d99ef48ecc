"""Writing results back: places, safety, and that an export can be imported again."""

from __future__ import annotations

import io
import math
from pathlib import Path

import openpyxl
import pytest

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


def test_moodle_gets_score_columns_after_each_response():
    export = write_back(sample("moodle_en.csv"), for_all(sample("moodle_en.csv")))
    headers = read_table(export.data, name="x.csv").headers
    assert headers[10:] == (
        *("Grade/10.00", "Question 1", "Response 1", "Score 1", "Feedback 1", "Right answer 1"),
        *("Response 2", "Score 2", "Feedback 2"),
    )
    assert export.data.startswith(b"\xef\xbb\xbf")


def test_moodle_grade_is_scaled_and_filled_only_on_request_and_only_where_empty():
    found = sample("moodle_en.csv")
    untouched = read_table(write_back(found, for_all(found)).data, name="x.csv")
    assert untouched.frame["Grade/10.00"].tolist() == ["-", "6.50", "-", "-", "6.50"]
    export = write_back(found, for_all(found), fill_totals=True)
    filled = read_table(export.data, name="x.csv")
    assert filled.frame["Grade/10.00"].tolist() == ["7.5", "6.50", "7.5", "-", "6.50"]
    assert [note.row for note in export.kept] == [3]


def test_a_total_needs_every_score():
    found = sample("moodle_de.csv")
    results = for_all(found)[:3]
    export = write_back(found, results, fill_totals=True)
    table = read_table(export.data, name="x.csv")
    assert table.frame["Bewertung/10,00"].tolist() == ["7,5", "7,25"]
    assert "row 3" in str(export.notes[0])
    lost = write_back(found, [Result("joerg@example.org", key, 1.0) for key in "12"], fill_totals=True)
    assert "top score is unknown" in str(lost.notes[0])


def test_microsoft_points_feedback_and_total():
    found = sample("microsoft_forms.csv")
    results = [Result("1", "What – is grace?", 1.5, feedback="Name the source.", row=2)]
    mapping = {"What – is grace?": "grace"}
    results = [Result("1", "grace", 1.5, feedback="Name the source.", row=2)]
    export = write_back(found, results, mapping=mapping, fill_totals=True)
    table = read_table(export.data, name="x.csv")
    assert table.headers == found.table.headers
    assert table.frame["Points - What – is grace?"].tolist() == ["1.5", ""]
    assert table.frame["Feedback - What – is grace?"].tolist() == ["Name the source.", ""]
    assert table.frame["Total points"].tolist() == ["3.5", "0"]
    assert [(one.candidate, one.item_key) for one in export.unmarked] == [("2", "grace")]
    assert export.data.startswith(b"\xef\xbb\xbf")


def test_canvas_points_of_others_are_kept_unless_told_otherwise():
    found = sample("canvas_analysis.csv")
    kept = write_back(found, for_all(found))
    assert (kept.updated, len(kept.kept)) == (0, 5)
    assert "row 2, column '1.0': holds '0.0', so 1.5 was not written" in str(kept.kept[0])
    zeros = read_table(write_back(found, for_all(found), replace="zero").data, name="x.csv")
    assert zeros.frame["1.0"].tolist() == ["1.5", "1.5", "0.0"]
    assert zeros.frame["1.0 (2)"].tolist() == ["1.0", "0.5", "0.0"]
    everything = write_back(found, for_all(found), replace="all")
    assert read_table(everything.data, name="x.csv").frame["1.0 (2)"].tolist() == ["1.5", "1.5", "0.0"]
    assert everything.kept == ()


def test_feedback_is_not_written_beside_a_mark_of_somebody_else():
    found = sample("blackboard_by_user.csv")
    export = write_back(found, [Result("001234567s", "Question ID 1", 0.5, feedback="No.")])
    assert export.updated == 0
    assert "Feedback 1" not in read_table(export.data, name="x.csv").headers or "No." not in text(export)


def test_blackboard_marks_follow_the_question_of_the_row():
    found = sample("blackboard_by_user.csv")
    export = write_back(found, [Result("000000002t", "Question ID 1", 0.5), Result("001234567s", "Question ID 2", 3)])
    table = read_table(export.data, name="x.csv")
    assert table.frame["Manual Score 2"].tolist() == ["3", "0.5", ""]
    assert table.frame["Manual Score 1"].tolist() == ["1.5", "", ""]


def test_blackboard_upload_keeps_its_encoding_and_tabs():
    found = sample("blackboard_long.xls")
    export = write_back(found, for_all(found, feedback=None))
    assert export.data.decode("utf-16").splitlines()[1].split("\t")[-1] == "1.5"


def test_no_score_is_an_empty_cell_never_zero():
    found = sheet("candidate,item,response,score\n1,a,x,2\n2,a,y,\n")
    export = write_back(found, [Result("1", "a", None), Result("2", "a", None)])
    assert text(export) == "candidate,item,response,score\r\n1,a,x,\r\n2,a,y,\r\n"
    assert (export.updated, export.unchanged) == (1, 1)


def test_unmatched_results_are_listed_with_their_reason():
    found = sheet("candidate,item,response\n1,a,x\n1,a,y\n2,a,z\n2,b,z\n")
    results = [
        Result("9", "a", 1.0),
        Result("2", "c", 1.0),
        Result("1", "b", 1.0),
        Result("1", "a", 1.0),
        Result("2", "a", 1.0, row=77),
        Result("2", "b", 1.0),
        Result("2", "b", 2.0),
    ]
    export = write_back(found, results)
    assert [one.reason for one in export.unmatched] == [
        "no such candidate in the file",
        "no such item in the file",
        "the candidate has no response to this item in the file",
        "the candidate has several responses to this item (rows 2, 3): the result must name the row",
        "the candidate's response is not in row 77 but in row 4",
        "a second result for the response in row 5",
    ]
    assert export.updated == 1
    listed = export.unmatched_csv().decode("utf-8-sig").splitlines()
    assert listed[0] == "candidate,item,score,row,reason"
    assert len(listed) == 1 + 6 + 3


def test_a_gradebook_is_refused_with_the_way_out():
    with pytest.raises(InputError, match="write_gradebook"):
        write_back(sample("canvas_gradebook.csv"), [])


def test_blank_rows_preamble_and_extra_cells_come_back():
    found = sheet('\n\ncandidate,view\n1,x\n\n2,"a\nb",extra,cells\n')
    export = write_back(found, [Result("2", "view", 1.0)])
    assert text(export) == '\r\n\r\ncandidate,view,view score\r\n1,x,\r\n\r\n2,"a\nb",1,extra,cells\r\n'
    after = again(export)
    assert after.cells == found.cells
    assert after.table.extras == {6: ("extra", "cells")}


@pytest.mark.parametrize("bad", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx"])
@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_no_text_of_ours_or_theirs_is_a_formula(bad, format):
    found = sheet(f'candidate,{chr(34)}{bad}{chr(34)}\n1,"{bad}"\n')
    export = write_back(found, [Result("1", found.questions[0].key, -1.5, feedback=bad)], format=format)
    table = read_table(export.data, name=f"x.{format}")
    flat = [*table.headers, *table.frame.iloc[0].tolist()]
    assert flat.count("'" + bad) == 3
    assert "-1.5" in flat
    if format == "xlsx":
        cells = [cell for row in openpyxl.load_workbook(io.BytesIO(export.data)).active.iter_rows() for cell in row]
        assert {cell.data_type for cell in cells} == {"s", "n"}
        assert [cell.value for cell in cells if cell.data_type == "n" and cell.value is not None] == [-1.5]


def test_excel_keeps_ids_text_and_numbers_numbers():
    export = write_back(sample("plain_long.csv"), [Result("007", "view", 2.5, row=2)], format="xlsx")
    active = openpyxl.load_workbook(io.BytesIO(export.data)).active
    first = {cell.value: active.cell(row=2, column=cell.column) for cell in active[1]}
    assert (first["candidate"].value, first["candidate"].data_type, first["candidate"].number_format) == (
        "007",
        "s",
        "@",
    )
    assert (first["score"].value, first["score"].data_type) == (2.5, "n")


def test_excel_in_excel_out_keeps_types():
    import datetime as dt

    book = openpyxl.Workbook()
    book.active.append(
        ["ID", "Start time", "Completion time", "Email", "Name", "Total points", "Why?", "Points - Why?"]
    )
    book.active.append(
        [1, dt.datetime(2026, 7, 27, 19, 6), dt.datetime(2026, 7, 27, 19, 9), "a@x", "A", None, "x", None]
    )
    book.active.append([2, dt.datetime(2026, 7, 27, 19, 6), dt.datetime(2026, 7, 27, 19, 9), "b@x", "B", 2, "y", 2])
    out = io.BytesIO()
    book.save(out)
    found = read_sheet(out.getvalue(), name="forms.xlsx")
    export = write_back(found, for_all(found, feedback="ok"), fill_totals=True)
    assert export.format == "xlsx"
    rows = list(openpyxl.load_workbook(io.BytesIO(export.data)).active.iter_rows(values_only=True))
    assert rows[1][:3] == (1, dt.datetime(2026, 7, 27, 19, 6), dt.datetime(2026, 7, 27, 19, 9))
    assert rows[1][5:] == (1.5, "x", 1.5, "ok")
    assert rows[2][5:] == (2, "y", 2, None)
    assert again(export).cells == found.cells


def test_excel_refuses_a_text_that_it_would_cut():
    found = sheet("candidate,view\n1,x\n")
    result = Result("1", "view", 1.0, feedback="x" * 32_768)
    with pytest.raises(InputError, match=r"row 2, column D: a text of 32,768 characters; allowed in Excel"):
        write_back(found, [result], format="xlsx")
    assert write_back(found, [result]).updated == 1


@pytest.mark.parametrize(("bad", "what"), [("\ud800", r"lone surrogate U\+D800"), ("a\x00", "NUL")])
@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_what_no_file_can_hold_is_refused(bad, what, format):
    with pytest.raises(InputError, match=f"row 2, column D: the text holds a {what}"):
        write_long([Result("1", "a", 1.0, feedback=bad)], format=format)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_is_finite_or_none(bad):
    with pytest.raises(InputError, match="allowed: a finite number or None"):
        Result("1", "a", bad)
    with pytest.raises(InputError, match="reason is nan"):
        Result("1", "a", 1.0, components={"reason": math.nan})
