"""Tables in, tables out: preview, mapping, every layout's round trip, bad files."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest
from openpyxl import Workbook, load_workbook


def code(answer):
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.json()["code"]


def send(service, exam, data, name="answers.csv", **form):
    return service.client.post(
        f"/v1/exams/{exam['id']}/uploads", files={"file": (name, io.BytesIO(data))}, data=form, headers=service.teacher
    )


def rows(data):
    text = data.decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text), delimiter="\t" if "\t" in text.splitlines()[0] else ","))


GOOD = "It keeps results for later use."
LAYOUTS = {
    "plain_wide": f"candidate,practice-one,practice-two\n007,{GOOD},no\n008,x,=1+1\n",
    "plain_long": f"candidate,item,response\n007,practice-one,{GOOD}\n007,practice-two,no\n008,practice-one,x\n",
    "moodle_responses": "Last name,First name,Email address,State,Started on,Completed,Time taken,Grade/10.00,"
    f"Response 1,Response 2\nA,B,a@x.example,Finished,1,2,3,-,{GOOD},no\nC,D,c@x.example,Finished,1,2,3,-,x,-\n",
    "canvas_analysis": "name,id,section,section_id,submitted,11: practice-one,5.0,12: practice-two,5.0,n correct,"
    f"n incorrect,score\nA,007,s,1,t,{GOOD},0.0,no,0.0,0,0,0.0\nC,008,s,1,t,x,0.0,y,0.0,0,0,0.0\n",
    "google_forms": "Timestamp,Email Address,Score,practice-one,practice-two\n"
    f"2026/10/04 10:15:00 AM GMT+5:30,a@x.example,0 / 10,{GOOD},no\n8/4/2025 23:25:41,c@x.example,0 / 10,x,y\n",
    "microsoft_forms": "ID,Start time,Completion time,Email,Name,Total points,Quiz feedback,practice-one,"
    "Points - practice-one,Feedback - practice-one,practice-two,Points - practice-two,Feedback - practice-two\n"
    f"1,a,b,a@x.example,A,,,{GOOD},,,no,,\n2,a,b,c@x.example,C,,,x,,,y,,\n",
    "blackboard_user": "Username,Last Name,First Name,Question ID 1,Question 1,Answer 1,Possible Points 1,Auto Score 1,"
    "Manual Score 1,Question ID 2,Question 2,Answer 2,Possible Points 2,Auto Score 2,Manual Score 2\n"
    f"u7,A,B,Question ID 1,practice-one,{GOOD},5,,,Question ID 2,practice-two,no,5,,\n"
    "u8,C,D,Question ID 1,practice-one,x,5,,,Question ID 2,practice-two,y,5,,\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_round_trip(service, layout):
    exam = service.exam()
    made = send(service, exam, LAYOUTS[layout].encode())
    assert made.status_code == 201, made.text
    questions = made.json()["preview"]["questions"]
    mapping = {one["key"]: one["item"] for one in questions if one["item"]}
    if len(mapping) < 2:
        mapping = dict(zip([one["key"] for one in questions], ["practice-one", "practice-two"], strict=True))
    path = f"/exams/{exam['id']}/uploads/{made.json()['id']}"
    stored = service.call("POST", f"{path}/apply", {"mapping": mapping})
    assert stored["added"] >= 3
    again = service.call("POST", f"{path}/apply", {"mapping": mapping})
    assert (again["added"], again["unchanged"]) == (0, stored["added"])
    service.call("POST", f"/exams/{exam['id']}/grade")
    service.work()
    report = service.call("GET", f"{path}/export/report")
    assert report["unmatched"] == []
    assert report["updated"] == stored["added"]
    back = service.client.get(f"/v1{path}/export", headers=service.teacher)
    assert back.headers["content-type"].startswith("text/csv")
    before, after = rows(LAYOUTS[layout].encode()), rows(back.content)
    assert len(after) == len(before)
    for old, new in zip(before, after, strict=True):
        assert set(filter(None, old)) - {"0.0"} <= {cell.removeprefix("'") for cell in new}
    scores = service.call("GET", f"/exams/{exam['id']}/items/practice-one/results")["data"]
    best = next(one for one in scores if one["text"] == GOOD)
    assert any(f"{best['score']:g}" == cell.removesuffix(".0") for cell in after[1])


def test_preview_stores_no_answer(service):
    exam = service.exam()
    send(service, exam, LAYOUTS["plain_wide"].encode())
    assert service.call("GET", f"/exams/{exam['id']}")["answers"] == 0


def test_xlsx_long_export_neutralises(service):
    exam = service.exam()
    service.answer(exam["id"], {"=cmd()": {"practice-one": "=1+1"}, "007": {"practice-one": "x"}})
    service.call("POST", f"/exams/{exam['id']}/grade")
    service.work()
    answer = service.client.get(f"/v1/exams/{exam['id']}/export?format=xlsx", headers=service.teacher)
    sheet = load_workbook(io.BytesIO(answer.content)).active
    cells = [cell.value for row in sheet for cell in row]
    assert "'=1+1" in cells
    assert "'=cmd()" in cells
    assert "007" in cells
    text = service.client.get(f"/v1/exams/{exam['id']}/export?decimal=,", headers=service.teacher).text
    assert ";=1+1" not in text
    assert [one["action"] for one in service.call("GET", "/audit", who="admin")["data"]].count("export") == 2


def test_candidate_twice(service):
    exam = service.exam()
    table = b"candidate,item,response\n1,practice-one,a\n1,practice-one,b\n"
    made = send(service, exam, table).json()
    path = f"/v1/exams/{exam['id']}/uploads/{made['id']}/apply"
    body = {"mapping": {"practice-one": "practice-one"}}
    answer = service.client.post(path, json=body, headers=service.teacher)
    assert code(answer) == "duplicate"
    assert answer.json()["errors"][0]["field"] == "row 3"
    assert service.call("GET", f"/exams/{exam['id']}")["candidates"] == 0
    service.client.post(path, json={**body, "attempts": "last"}, headers=service.teacher)
    assert service.call("GET", f"/exams/{exam['id']}/items/practice-one/results")["data"][0]["text"] == "b"


def test_unknown_item_or_question(service):
    exam = service.exam()
    made = send(service, exam, LAYOUTS["plain_wide"].encode()).json()
    path = f"/v1/exams/{exam['id']}/uploads/{made['id']}/apply"
    for mapping in ({"practice-one": "none"}, {"none": "practice-one"}):
        assert code(service.client.post(path, json={"mapping": mapping}, headers=service.teacher)) == "invalid"
    empty = service.client.get(f"/v1/exams/{exam['id']}/uploads/{made['id']}/export", headers=service.teacher)
    assert code(empty) == "wrong-state"


def xlsx(rows):
    book, out = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(out)
    return out.getvalue()


def test_xlsx_named_csv_is_read_as_what_it_is(service):
    exam = service.exam()
    made = send(service, exam, xlsx([["candidate", "practice-one"], ["007", GOOD]]), "answers.csv").json()
    assert made["preview"]["responses"] == 1
    assert any(note["code"] == "excel-content" for note in made["preview"]["notes"])


def zip_bomb():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"<a/>")
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 250_000_000)
    return out.getvalue()


BAD = {
    "empty": b"",
    "header only": b"candidate,practice-one\n",
    "many columns": b"candidate," + b",".join(b"c%d" % n for n in range(10_000)) + b"\n1" + b",x" * 10_000 + b"\n",
    "nul bytes": b"candidate,practice-one\n1,a\x00b\n",
    "no table": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
    "password xlsx": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 2000,
    "unknown layout": b"a,b,c\n1,2,3\n",
    "long cell": b"candidate,practice-one\n1," + b"x" * 60_000 + b"\n",
    "broken zip": b"PK\x03\x04" + b"junk" * 50,
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables(service, name):
    exam = service.exam()
    answer = send(service, exam, BAD[name])
    assert answer.status_code in (413, 422), answer.text
    assert code(answer) in ("invalid-table", "invalid")
    assert service.call("GET", f"/exams/{exam['id']}/uploads")["data"] == []


def test_zip_bomb(service):
    answer = send(service, service.exam(), zip_bomb(), "a.xlsx")
    assert code(answer) == "invalid-table"


def test_too_many_rows_and_bytes(make_service):
    small = make_service(max_rows=3, body_limit=5000)
    exam = small.exam()
    many = b"candidate,practice-one\n" + b"".join(b"%d,x\n" % n for n in range(4))
    assert code(send(small, exam, many)) == "invalid-table"
    assert code(send(small, exam, b"x" * 6000)) == "too-large"


def test_upload_again_with_idempotency_key(service):
    exam = service.exam()
    head = {**service.teacher, "Idempotency-Key": "up"}
    path = f"/v1/exams/{exam['id']}/uploads"

    def post(data):
        return service.client.post(path, files={"file": ("a.csv", io.BytesIO(data))}, headers=head)

    first, again = post(b"candidate,practice-one\n1,x\n"), post(b"candidate,practice-one\n1,x\n")
    assert first.json()["id"] == again.json()["id"]
    assert code(post(b"candidate,practice-one\n1,y\n")) == "idempotency-key-reused"
