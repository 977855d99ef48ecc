"""Every layout through the service: upload, mapping, grading, export back, and the exported file again."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from openpyxl import Workbook

from grader.formats.layouts import read_sheet
from grader.formats.neutral import restore
from grader.formats.roster import read_roster
from grader.formats.table import read_table

DATA = Path(__file__).parents[1] / "data" / "formats"
LAYOUTS = {
    "blackboard_by_user.csv": "blackboard_by_user",
    "blackboard_long.xls": "blackboard_long",
    "canvas_analysis.csv": "canvas_analysis",
    "google_forms.csv": "google_forms",
    "microsoft_forms.csv": "microsoft_forms",
    "moodle_de.csv": "moodle_responses",
    "moodle_en.csv": "moodle_responses",
    "plain_long.csv": "plain_long",
    "plain_wide.csv": "plain_wide",
    "pmatch.csv": "pmatch",
}
KINDS = ("as it is", "tsv", "xlsx")
ITEMS = ("item-one", "item-two", "item-three")
GRADEBOOK = "canvas_gradebook.csv"


def converted(name: str, kind: str) -> bytes:
    """A sample as it is, or its cells in another kind of file."""
    if kind == "as it is":
        return (DATA / name).read_bytes()
    table = read_table(DATA / name, name=name)
    rows = [list(table.headers), *([str(cell) for cell in row] for row in table.frame.itertuples(index=False))]
    if kind == "tsv":
        text = io.StringIO()
        csv.writer(text, delimiter="\t").writerows(rows)
        return text.getvalue().encode()
    book, out = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
        for cell in book.active[book.active.max_row]:
            cell.data_type = "s" if cell.value else cell.data_type
    book.save(out)
    return out.getvalue()


@pytest.fixture(scope="module")
def school(tmp_path_factory, build_service, content):
    """A service with as many items as any sample has questions."""
    service = build_service(tmp_path_factory.mktemp("layouts"))
    for slug in ITEMS:
        service.call("POST", "/items", {"use": "exam", "content": content(slug)})
    return service


def send(service, exam, data, name):
    answer = service.client.post(
        f"/v1/exams/{exam['id']}/uploads", files={"file": (name, io.BytesIO(data))}, headers=service.teacher
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def apply(service, exam, made):
    mapping = dict(zip((one["key"] for one in made["preview"]["questions"]), ITEMS, strict=False))
    path = f"/exams/{exam['id']}/uploads/{made['id']}"
    return path, mapping, service.call("POST", f"{path}/apply", {"mapping": mapping, "attempts": "last"})


def decide(service, exam):
    """Give every answer a mark that no other one has."""
    for at, line in enumerate(service.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"], start=1):
        body = {"score": at / 2, "reason": "x"}
        service.call("POST", f"/reviews/{line['answer']}/override", body, etag=line["revision"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_round_trip(school, name, kind):
    before = read_sheet(converted(name, kind), name="answers")
    exam = school.exam(ITEMS[: len(before.questions)])
    made = send(school, exam, converted(name, kind), "answers")
    assert made["preview"]["layout"] == LAYOUTS[name]
    path, mapping, stored = apply(school, exam, made)
    assert len({(cell.candidate, cell.item_key) for cell in before.cells}) == stored["added"]
    school.call("POST", f"/exams/{exam['id']}/grade")
    school.work()
    decide(school, exam)

    report = school.call("GET", f"{path}/export/report?overwrite=true")
    assert report["unmatched"] == []
    assert report["updated"] + report["unchanged"] == stored["added"]
    back = school.client.get(f"/v1{path}/export?overwrite=true", headers=school.teacher)
    after = read_sheet(back.content, name="answers")
    assert after.table.kind == before.table.kind
    assert after.table.delimiter == before.table.delimiter
    assert after.cells == before.cells
    _same_cells(before, after)
    _marks_in_place(school, exam, after, mapping)

    again = send(school, exam, back.content, "marked")
    assert again["preview"]["layout"] == LAYOUTS[name]
    _, _, second = apply(school, exam, again)
    assert (second["added"], second["replaced"], second["unchanged"]) == (0, 0, stored["added"])
    assert school.call("GET", f"/exams/{exam['id']}")["candidates"] == len({cell.candidate for cell in before.cells})


def _same_cells(before, after):
    """Every cell that is no place for marks is what it was."""
    places = {label for place in before.places.values() for label in (place.points, place.feedback) if label}
    for label in set(before.table.labels) - places:
        assert column_of(after.table, label) == column_of(before.table, label), label


def column_of(table, label):
    """The cells as they were typed: formulas are written with an apostrophe that a spreadsheet hides."""
    return [restore(str(cell)) for cell in table.frame[label]]


def _marks_in_place(service, exam, after, mapping):
    """The marks of the file are those of the results, by the ids that the school knows."""
    found = service.call("GET", f"/exams/{exam['id']}/results?reveal=true")["data"]
    wanted = {
        (one["external_id"], cell["item"]): cell["score"]
        for one in found
        for cell in one["marks"]
        if cell["score"] is not None
    }
    rows = {(cell.candidate, cell.item_key): cell for cell in after.cells}
    written = {}
    for (candidate, key), cell in rows.items():
        place = after.places[cell.column]
        text = str(after.table.frame[place.points or place.points_header][after.table.rows.index(cell.row)])
        written[candidate, mapping[key]] = float(text.replace(",", "."))
    assert written == wanted


def gradebook(school, name="gradebook.csv", kind="as it is", second=""):
    """An exam of two candidates of the sample gradebook and one who is not in it."""
    exam = school.exam(ITEMS[:2], title="Quiz 2")
    texts = {who: {"item-one": "It keeps results for later use."} for who in ("tavi", "102", "nobody")}
    texts["tavi"]["item-two"] = "bananas"
    if second:
        texts["102"]["item-two"] = second
    school.answer(exam["id"], texts)
    school.call("POST", f"/exams/{exam['id']}/grade")
    school.work()
    made = send(school, exam, converted(GRADEBOOK, kind), name)
    assert made["preview"]["layout"] == "canvas_gradebook"
    return exam, f"/exams/{exam['id']}/uploads/{made['id']}"


def column(data, title):
    table = read_table(data, name="again")
    return [str(cell) for cell in table.frame[next(label for label in table.labels if label.startswith(title))]]


@pytest.mark.parametrize("kind", KINDS)
def test_gradebook_comes_back_with_the_totals(school, kind):
    exam, path = gradebook(school, kind=kind, second="It keeps results for later use.")  # more than the teacher's 3
    totals = {
        one["external_id"]: one["points"]
        for one in school.call("GET", f"/exams/{exam['id']}/results?reveal=true")["data"]
    }
    assert totals["tavi"] > 0
    back = school.client.get(f"/v1{path}/export", headers=school.teacher)
    assert back.status_code == 200
    before = read_roster(read_table(converted(GRADEBOOK, kind), name="before"))
    after = read_roster(read_table(back.content, name="after"))
    assert after.table.kind == before.table.kind
    assert [person.ids for person in after.people] == [person.ids for person in before.people]
    filled = column(back.content, "Quiz 2")
    assert float(filled[2]) == totals["tavi"]
    assert filled[3].startswith("3")  # a mark of the teacher's own, which stays
    for label in set(before.table.labels) - {"Quiz 2 (5002)"}:
        assert column_of(after.table, label) == column_of(before.table, label), label
    assert "=HYPERLINK" not in column(back.content, "Notes")[3][:1]
    report = school.call("GET", f"{path}/export/report")
    assert report["updated"] == 1
    assert [one["candidate"] for one in report["unmatched"]] == ["nobody"]
    assert [one["candidate"] for one in report["unmarked"]] == ["103"]
    assert len(report["kept"]) == 1
    forced = school.client.get(f"/v1{path}/export?overwrite=true", headers=school.teacher)
    assert float(column(forced.content, "Quiz 2")[3]) == totals["102"]


def test_gradebook_with_a_column_for_each_item(school):
    _, path = gradebook(school)
    query = "?columns=items&title=Viva"
    back = school.client.get(f"/v1{path}/export{query}", headers=school.teacher).content
    assert column(back, "Viva: item-one")[1] == "5"
    assert [bool(cell) for cell in column(back, "Viva: item-one")[2:]] == [True, True, False, False]
    assert [bool(cell) for cell in column(back, "Viva: item-two")[2:]] == [True, False, False, False]
    report = school.call("GET", f"{path}/export/report{query}")
    assert [one["candidate"] for one in report["unmatched"]] == ["nobody"]
    assert {(one["candidate"], one["item"]) for one in report["unmarked"]} == {
        ("103", "Viva: item-one"),
        ("102", "Viva: item-two"),
        ("103", "Viva: item-two"),
    }


def test_gradebook_has_nothing_to_apply(school):
    exam, path = gradebook(school)
    answer = school.client.post(f"/v1{path}/apply", json={"mapping": {"5002": "item-one"}}, headers=school.teacher)
    assert (answer.status_code, answer.json()["code"]) == (409, "wrong-state")
    assert school.call("GET", f"/exams/{exam['id']}")["answers"] == 4


def test_who_has_no_mark_yet_gets_no_points(school):
    exam = school.exam(ITEMS[:2], title="New")
    school.answer(exam["id"], {"tavi": {"item-one": "It keeps results."}})
    school.call("POST", f"/exams/{exam['id']}/roster", {"candidates": [{"external_id": "102"}]})
    made = send(school, exam, converted(GRADEBOOK, "as it is"), "gradebook.csv")
    path = f"/exams/{exam['id']}/uploads/{made['id']}"
    back = school.client.get(f"/v1{path}/export", headers=school.teacher)
    assert column(back.content, "New") == ["", "10", "", "", "", ""]


def test_two_columns_of_the_title(school):
    exam, _ = gradebook(school)
    text = b"Student,ID,Section,Quiz 2 (1),Quiz 2 (2)\nA,1,x,,\n"
    made = send(school, exam, text, "gradebook.csv")
    answer = school.client.get(f"/v1/exams/{exam['id']}/uploads/{made['id']}/export", headers=school.teacher)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-table")
    assert "several assignments" in answer.json()["detail"]
