"""Google Forms, Microsoft Forms and Blackboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.formats.layouts import read_layout, read_sheet
from grader.formats.table import read_table

DATA = Path(__file__).parents[2] / "data" / "formats"


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


def test_google_forms_headers_are_the_questions():
    found = sample("google_forms.csv")
    assert [one.key for one in found.questions] == [
        "What is a view? 🙂",
        "Why does it matter, in practice?",
        "What is a view? 🙂 (2)",
    ]
    assert responses(found)[0] == ("tavi@example.org", "What is a view? 🙂", "It shares memory", 2)
    assert found.other_columns == ("Timestamp", "Score")


def test_google_forms_without_mail_and_with_another_id_column():
    text = "Zeitstempel,Matrikel,Was ist ein View?\n2026,007,Ein Fenster\n"
    assert [one[0] for one in responses(sheet(text))] == ["row-2", "row-2"]
    chosen = sheet(text, candidate_column="Matrikel")
    assert responses(chosen) == [("007", "Was ist ein View?", "Ein Fenster", 2)]


def test_google_forms_score_and_feedback_columns_belong_to_the_question_before():
    found = sheet("Timestamp,Username,Q,Q [Score],Q [Feedback],Q,Q [Score],Q [human_score]\nt,u,a,1,ok,b,2,3\n")
    assert responses(found) == [("u", "Q", "a", 2), ("u", "Q (2)", "b", 2)]
    assert marks(found) == [
        ("u", "Q", "points", 1.0),
        ("u", "Q (2)", "points", 2.0),
        ("u", "Q (2)", "human_score", 3.0),
    ]
    assert found.places["Q"].feedback == "Q [Feedback]"
    assert found.places["Q (2)"].feedback is None


def test_microsoft_forms():
    found = sample("microsoft_forms.csv")
    assert [one.key for one in found.questions] == ["STUDENT NUMBER", "What – is grace?", "Who led?"]
    assert [cell.candidate for cell in found.cells] == ["1"] * 3 + ["2"] * 3
    assert marks(found) == [("1", "Who led?", "points", 2.0), ("2", "Who led?", "points", 0.0)]
    assert codes(found) == ["anonymous"]
    assert found.total_column == "Total points"


def test_microsoft_forms_candidate_column_is_no_question():
    found = sample("microsoft_forms.csv", candidate_column="STUDENT NUMBER")
    assert [one.key for one in found.questions] == ["What – is grace?", "Who led?"]
    assert responses(found)[0][0] == "IMPACT-001"


def test_microsoft_forms_german_and_line_breaks_in_headers():
    found = sheet(
        'ID;Startzeit;Fertigstellungszeit;E-Mail;Name;Gesamtpunktzahl;"Was ist\u00a0ein View?\n";'
        '"Punkte – Was ist ein View?\n";Feedback – Was ist ein View?\n'
        "1;a;b;x@y;X;;Ein Fenster;1,5;gut\n"
    )
    assert responses(found) == [("x@y", "Was ist ein View?", "Ein Fenster", 2)]
    assert marks(found) == [("x@y", "Was ist ein View?", "points", 1.5)]


def test_blackboard_takes_the_question_from_the_row():
    found = sample("blackboard_by_user.csv")
    assert responses(found) == [
        ("001234567s", "Question ID 1", "A language", 2),
        ("001234567s", "Question ID 2", "<p>Safety</p>", 2),
        ("000000002t", "Question ID 2", "Speed", 3),
        ("000000002t", "Question ID 1", "", 3),
        ("000000003u", "Question ID 2", "-1 reasons", 4),
    ]
    assert [(one.key, one.text, one.max_points) for one in found.questions] == [
        ("Question ID 1", "What is Scala?", 2.0),
        ("Question ID 2", "Why types?", 3.0),
    ]
    assert marks(found) == [("001234567s", "Question ID 1", "points", 1.5)]


def test_blackboard_long_in_utf16():
    found = sample("blackboard_long.xls")
    assert found.table.encoding == "utf-16"
    assert responses(found)[0] == ("001", "q-1", "Eine Sprache", 2)
    assert marks(found) == [("001", "q-2", "points", 2.5)]


def test_blackboard_reports_what_it_cannot_place():
    found = sheet("Username,Question ID,Question,Answer\nu,q1,One?,x\nv,q1,Two?,y\nw,,,z\nw,,,\n,q1,One?,nobody\n")
    assert [one[0] for one in responses(found)] == ["u", "v"]
    assert codes(found) == ["question-text-differs", "no-question", "no-candidate"]
    assert [problem.row for problem in found.problems] == [3, 4, 6]


ONE_QUESTION = [
    "Email address,Response 1,human_score\na@x,yes,2.5\n",
    "id,7: Why?,1.0,human_score\na@x,yes,0,2.5\n",
    "Timestamp,Username,Why?,human_score\nt,a@x,yes,2.5\n",
    "ID,Start time,Completion time,Email,Why?,human_score\n1,s,c,a@x,yes,2.5\n",
    "Username,Question ID 1,Question 1,Answer 1,human_score\na@x,q,Why?,yes,2.5\n",
    "candidate,view,human_score\na@x,yes,2.5\n",
]
TWO_QUESTIONS = [
    "Email address,Response 1,Response 2,human_score\na@x,yes,no,2.5\n",
    "id,7: Why?,1.0,8: Who?,2.0,human_score\na@x,yes,0,no,0,2.5\n",
    "Timestamp,Username,Why?,Who?,human_score\nt,a@x,yes,no,2.5\n",
    "ID,Start time,Completion time,Email,Why?,Who?,human_score\n1,s,c,a@x,yes,no,2.5\n",
    "Username,Question ID 1,Answer 1,Question ID 2,Answer 2,human_score\na@x,q,yes,r,no,2.5\n",
    "candidate,view,stack,human_score\na@x,yes,no,2.5\n",
]


@pytest.mark.parametrize("text", ONE_QUESTION)
def test_marks_without_a_question_belong_to_the_only_one(text):
    found = sheet(text)
    assert len(found.questions) == 1
    assert [mark.value for mark in found.human_marks()] == [2.5]
    assert found.human_marks()[0].candidate == "a@x"


@pytest.mark.parametrize("text", TWO_QUESTIONS)
def test_marks_without_a_question_are_a_problem_where_there_are_several(text):
    found = sheet(text)
    assert len(found.questions) == 2
    assert {mark.kind for mark in found.marks} <= {"points"}
    assert codes(found)[-1] == "mark-without-item"
    assert "human_score" in found.other_columns


@pytest.mark.parametrize(
    "text",
    [
        "Email address,Response 1,Response 2,human_score 2\na@x,yes,no,2.5\n",
        "id,7: Why?,1.0,8: Who?,2.0,8: Who? [human_score]\na@x,yes,0,no,0,2.5\n",
        "Timestamp,Username,Why?,Who?,Who? [human_score]\nt,a@x,yes,no,2.5\n",
        "ID,Start time,Completion time,Email,Why?,Who?,Who? [human_score]\n1,s,c,a@x,yes,no,2.5\n",
        "Username,Question ID 1,Answer 1,Question ID 2,Answer 2,human_score 2\na@x,q,yes,r,no,2.5\n",
        "candidate,view,stack,stack human_score\na@x,yes,no,2.5\n",
    ],
)
def test_marks_named_after_their_question(text):
    found = sheet(text)
    assert [(mark.item_key, mark.value) for mark in found.human_marks()] == [(found.questions[1].key, 2.5)]
