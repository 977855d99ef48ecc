"""Every layout: what is recognised, what is read, what is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import InputError
from grader.formats.headers import Headers, attached_columns, flat
from grader.formats.layouts import LAYOUTS, detect_layout, read_layout, read_sheet
from grader.formats.table import read_table

DATA = Path(__file__).parents[2] / "data" / "formats"
SAMPLES = {
    "blackboard_by_user.csv": "blackboard_by_user",
    "blackboard_long.xls": "blackboard_long",
    "canvas_analysis.csv": "canvas_analysis",
    "canvas_gradebook.csv": "canvas_gradebook",
    "google_forms.csv": "google_forms",
    "microsoft_forms.csv": "microsoft_forms",
    "moodle_de.csv": "moodle_responses",
    "moodle_en.csv": "moodle_responses",
    "plain_long.csv": "plain_long",
    "plain_wide.csv": "plain_wide",
    "pmatch.csv": "pmatch",
}


def sample(name, **options):
    return read_sheet(DATA / name, name=name, **options)


def sheet(text, **options):
    return read_layout(read_table(text.encode(), name="x.csv"), **options)


def responses(found):
    return [(cell.candidate, cell.item_key, cell.response, cell.row) for cell in found.cells]


def marks(found):
    return [(mark.candidate, mark.item_key, mark.kind, mark.value) for mark in found.marks]


def codes(found):
    return [problem.code for problem in found.problems]


@pytest.mark.parametrize(("name", "layout"), SAMPLES.items())
def test_each_sample_fits_exactly_its_own_layout(name, layout):
    table = read_table(DATA / name, name=name)
    headers = Headers.of(table.headers)
    assert [one.name for one in LAYOUTS.values() if one.matches(headers)] == [layout]
    assert detect_layout(table) == layout
    assert read_layout(table).layout == layout


def test_every_layout_has_a_sample():
    assert set(SAMPLES.values()) == set(LAYOUTS)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_column_is_accounted_for(name):
    found = sample(name)
    question_columns = {cell.column for cell in found.cells}
    assert question_columns <= set(found.places) or not found.cells
    assert set(found.other_columns) <= set(found.table.labels)
    assert not question_columns & set(found.other_columns)
    assert {cell.item_key for cell in found.cells} <= {question.key for question in found.questions}


def test_moodle_english():
    found = sample("moodle_en.csv")
    assert responses(found) == [
        ("tavi@example.org", "1", "A view, which shares the storage.", 2),
        ("tavi@example.org", "2", "=SUM(A1:A9) copies", 2),
        ("ada@example.org", "1", "", 3),
        ("ada@example.org", "2", "- it copies\r\n- it is slow", 3),
        ("tavi@example.org", "1", "second try", 4),
        ("tavi@example.org", "2", "", 4),
    ]
    assert [question.text for question in found.questions] == ["What does view() return?", ""]
    assert codes(found) == ["unfinished", "no-candidate", "several-attempts"]
    assert "row 5" in str(found.problems[1])
    assert "rows 2, 4" in str(found.problems[2])
    assert found.sentinel_rows == (6,)
    assert (found.total_column, found.total_max) == ("Grade/10.00", 10.0)
    assert found.candidate_column == "Email address"


def test_moodle_german_numbers_decide_not_the_order():
    found = sample("moodle_de.csv")
    assert responses(found) == [
        ("joerg@example.org", "1", "Die Form ändert sich", 2),
        ("joerg@example.org", "2", "Eine Kopie, immer", 2),
        ("aenne@example.org", "1", "Weiß ich nicht", 3),
        ("aenne@example.org", "2", "", 3),
    ]
    assert marks(found) == [
        ("joerg@example.org", "1", "human_score", 2.5),
        ("aenne@example.org", "1", "human_score", 0.0),
    ]
    assert found.total_max == 10.0


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize(
    "headers",
    [
        ["First name", "Surname", "Email address", "State", "Started on", "Completed", "Response 1"],
        ["Last name", "First name", "Username", "Status", "Started", "Duration", "Response 1"],
        ["Vorname", "Nachname", "E-Mail-Adresse", "Status", "Begonnen am", "Beendet", "Antwort 1"],
        ["Klasse", "Versuch", "ID-Nummer", "Status", "Begonnen am", "Dauer", "antwort\u00a01"],
    ],
)
def test_moodle_aliases(headers, delimiter):
    found = sheet(f"{delimiter.join(headers)}\n{delimiter.join(['a', 'b', 'who', 'd', 'e', 'f', 'yes'])}\n")
    assert responses(found) == [("who", "1", "yes", 2)]


def test_moodle_without_an_id_column_names_what_is_allowed():
    text = "First name,Last name,State,Response 1\nA,B,Finished,x\n"
    with pytest.raises(InputError, match=r"no column names the candidates.*'First name'.*'Email address'"):
        sheet(text)
    assert responses(sheet(text, candidate_column="Last name")) == [("B", "1", "x", 2)]
    with pytest.raises(InputError, match=r"no column 'Nope'.*allowed: 'First name'"):
        sheet(text, candidate_column="Nope")


def test_moodle_random_questions_are_kept_apart():
    found = sheet(
        "Email address,Question 1,Response 1\na@x,What is a view?,1\nb@x,What is a copy?,2\nc@x,What is a view?,3\n"
    )
    assert responses(found) == [("a@x", "1.1", "1", 2), ("b@x", "1.2", "2", 3), ("c@x", "1.1", "3", 4)]
    assert [(one.key, one.text) for one in found.questions] == [
        ("1.1", "What is a view?"),
        ("1.2", "What is a copy?"),
    ]
    assert codes(found) == ["random-questions"]


def test_canvas_analysis():
    found = sample("canvas_analysis.csv")
    assert responses(found) == [
        ("101", "4711", "An n-dimensional array, typed", 2),
        ("101", "4712", "@numpy does it", 2),
        ("102", "4711", "", 3),
        ("102", "4712", "To avoid copies\r\nof data", 3),
        ("102", "4713", "Because", 3),
    ]
    assert [(one.key, one.text, one.max_points) for one in found.questions] == [
        ("4711", "What is a tensor, exactly?", 1.0),
        ("4712", "Why broadcast?", 1.0),
        ("4713", "Bonus", 2.5),
    ]
    assert {mark.kind for mark in found.marks} == {"points"}
    assert [mark.column for mark in found.marks][:2] == ["1.0", "1.0 (2)"]
    assert found.sentinel_rows == (4,)


def test_canvas_anonymous_and_localised():
    found = sheet('Abschnitt,eingereicht,7: Warum?,"2,0"\nA,x,Darum,"1,5"\n')
    assert responses(found) == [("row-2", "7", "Darum", 2)]
    assert marks(found) == [("row-2", "7", "points", 1.5)]
    assert codes(found) == ["anonymous"]


def test_canvas_row_without_id_is_named_by_its_row():
    found = sheet("name,id,7: Why?,1.0\n,,x,0\nA,5,y,0\n")
    assert [one[0] for one in responses(found)] == ["row-2", "5"]
    assert codes(found) == ["no-candidate"]


def test_canvas_gradebook_is_a_roster():
    found = sample("canvas_gradebook.csv")
    assert found.cells == ()
    assert [(one.key, one.text, one.max_points) for one in found.questions] == [
        ("5001", "Homework 1", 10.0),
        ("5002", "Quiz 2", 5.0),
    ]
    assert marks(found) == [
        ("101", "5001", "points", 8.5),
        ("102", "5002", "points", 3.0),
        ("103", "5002", "points", -0.5),
    ]
    assert found.sentinel_rows == (2, 3, 7)
    assert codes(found) == ["no-responses"]


@pytest.mark.parametrize(
    "text",
    [
        '"Human mark",Response\n1,yes\n0,no\n',
        "mark,response\n1,yes\n0,no\n",
        "Response,Matches?\nyes,1\nno,0\n",
        "Response,Matches?\nyes,TRUE\nno,no\n",
    ],
)
def test_pmatch_columns_are_told_by_their_headers(text):
    found = sheet(text)
    assert found.layout == "pmatch"
    assert responses(found) == [("row-2", "response", "yes", 2), ("row-3", "response", "no", 3)]
    assert [one[2:] for one in marks(found)] == [("human_score", 1.0), ("human_score", 0.0)]


def test_plain_long_reads_every_human_mark_and_refuses_score():
    found = sample("plain_long.csv")
    assert responses(found)[1] == ("007", "stack", "-1 new dimension", 3)
    assert [one for one in marks(found) if one[0] == "007"] == [
        ("007", "view", "human_score", 4.5),
        ("007", "view", "human_score_2", 4.0),
        ("007", "view", "human_reason", 1.0),
        ("007", "stack", "human_score", 2.5),
        ("007", "stack", "human_reason", 0.5),
    ]
    assert codes(found) == ["score-is-the-machines"]
    assert found.other_columns == ("cohort",)
    assert len(found.human_marks()) == 3
    assert len(found.human_marks("human_score_2")) == 2
    with pytest.raises(InputError, match=r"'score' holds the machine's marks.*human_score"):
        found.human_marks("score")
    with pytest.raises(InputError, match="no marks of the kind 'human_x'; found: human_reason, human_score"):
        found.human_marks("human_x")


def test_missing_human_column_is_an_error_never_ignored():
    with pytest.raises(InputError, match="found: none"):
        sheet("candidate,item,response\n1,a,x\n").human_marks()


def test_plain_long_problems():
    found = sheet("candidate,item,response,human_score\n1,a,x,EX\n1,a,y,\n,a,z,1\n2,,z,1\n")
    assert codes(found) == ["not-a-number", "no-candidate", "no-question", "several-attempts"]
    assert [problem.row for problem in found.problems] == [2, 4, 5, 3]
    assert found.marks == ()


def test_plain_wide():
    found = sample("plain_wide.csv")
    assert [one.key for one in found.questions] == ["view", "stack"]
    assert marks(found) == [("007", "view", "human_score", 4.5), ("008", "view", "human_score", 0.0)]
    assert found.other_columns == ("name",)


def test_plain_wide_bare_marks_belong_to_a_single_item_only():
    one = sheet("candidate,view,human_score,score\n1,x,2,3\n")
    assert marks(one) == [("1", "view", "human_score", 2.0)]
    assert codes(one) == ["score-is-the-machines"]
    two = sheet("candidate,view,stack,human_score\n1,x,y,2\n")
    assert two.marks == ()
    assert codes(two) == ["mark-without-item"]


def test_neutralised_texts_are_restored():
    found = sheet("candidate,item,response\n'=a,'-i,'=1+1\n'b,i,'quoted'\n")
    assert responses(found) == [("=a", "-i", "=1+1", 2), ("'b", "i", "'quoted'", 3)]


def test_unknown_layout_lists_headers_and_layouts():
    with pytest.raises(InputError) as caught:
        sheet("foo,bar\n1,2\n")
    message = str(caught.value)
    assert "'foo', 'bar'" in message
    assert all(layout.title in message for layout in LAYOUTS.values())


@pytest.mark.parametrize(
    ("headers", "what"),
    [
        ("ItemID,ItemType,EarnedPoints", "New Quizzes"),
        ("First Name,SID,Total Score,Max Points", "Gradescope"),
        ("uid,qid,submitted_answer", "PrairieLearn"),
    ],
)
def test_known_but_unread_layouts_are_named(headers, what):
    with pytest.raises(InputError, match=what):
        sheet(f"{headers}\n1,2,3,4\n")


def test_a_chosen_layout_must_exist_and_fit():
    with pytest.raises(InputError, match="layout 'x' is not known; allowed: canvas_analysis"):
        sheet("candidate,view\n1,x\n", layout="x")
    with pytest.raises(InputError, match="no Google Forms; headers found: 'candidate', 'view'"):
        sheet("candidate,view\n1,x\n", layout="google_forms")


def test_headers_are_folded():
    assert flat("  Points\u00a0–\nWhat?\u200b ") == "points - what?"
    found = attached_columns(("q", "q [score]", "points - q", "q feedback", "other score"))
    assert sorted(found) == [1, 2, 3]
