"""Tables in, tables out: preview, mapping, every layout's round trip, bad files."""

from __future__ import annotations

import io
import time
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


GOOD = "It keeps results for later use."
WIDE = f"candidate,practice-one,practice-two\n007,{GOOD},no\n008,x,=1+1\n".encode()


def test_preview_stores_no_answer(service):
    exam = service.exam()
    send(service, exam, WIDE)
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
    made = send(service, exam, WIDE).json()
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


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: Part of what the message must say.
SAYS = {
    "empty": "empty",
    "header only": "no rows",
    "many columns": "at most 1,000",
    "nul bytes": "NUL",
    "no table": "PNG",
    "old excel": "old kind",
    "password xlsx": "password",
    "unknown layout": "headers found",
    "long cell": "row 2, column B",
    "broken zip": "damaged",
}
BAD = {
    "empty": b"",
    "header only": b"candidate,practice-one\n",
    "many columns": b"candidate," + b",".join(b"c%d" % n for n in range(10_000)) + b"\n1" + b",x" * 10_000 + b"\n",
    "nul bytes": b"candidate,practice-one\n1,a\x00b\n",
    "no table": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
    "old excel": OLE + b"\x00" * 2000,
    "password xlsx": OLE + b"\x00" * 600 + "EncryptedPackage".encode("utf-16-le") + b"\x00" * 600,
    "unknown layout": b"a,b,c\n1,2,3\n",
    "long cell": b"candidate,practice-one\n1," + b"x" * 60_001 + b"\n",
    "broken zip": b"PK\x03\x04" + b"junk" * 50,
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables(service, name):
    exam = service.exam()
    answer = send(service, exam, BAD[name])
    assert answer.status_code in (413, 422), answer.text
    assert code(answer) == "invalid-table"
    assert SAYS[name] in answer.json()["detail"]
    assert service.call("GET", f"/exams/{exam['id']}/uploads")["data"] == []


def test_zip_bomb(service):
    answer = send(service, service.exam(), zip_bomb(), "a.xlsx")
    assert code(answer) == "invalid-table"


def xml_bomb():
    """A workbook whose sheet is made of entities that stand for ever more entities."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    sheet = f"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "boom">{entities}]>
    <worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>
    <row r="1"><c r="A1" t="inlineStr"><is><t>candidate</t></is></c></row>
    <row r="2"><c r="A2" t="inlineStr"><is><t>&e9;</t></is></c></row></sheetData></worksheet>"""
    out = io.BytesIO()
    good = zipfile.ZipFile(io.BytesIO(xlsx([["candidate", "practice-one"], ["1", "x"]])))
    with good, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in good.namelist():
            archive.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else good.read(name))
    return out.getvalue()


def test_xml_bomb(service):
    begun = time.process_time()
    answer = send(service, service.exam(), xml_bomb(), "a.xlsx")
    assert code(answer) == "invalid-table"
    assert time.process_time() - begun < 5


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
