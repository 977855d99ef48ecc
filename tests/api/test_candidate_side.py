"""What candidates may do and see: online exams, results, appeals; practice is not the exam."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

SECRET = "the accepted wording of the cache key"


def code(answer):
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.json()["code"]


def iso(seconds):
    return datetime.fromtimestamp(seconds, UTC).isoformat()


@pytest.fixture
def open_exam(service):
    exam = service.exam(opens_at=iso(time.time() - 60), closes_at=iso(time.time() + 3600))
    enrolled = service.call(
        "POST", f"/exams/{exam['id']}/roster", {"candidates": [{"external_id": "7", "name": "Ann"}]}
    )
    service.candidate, _ = service.key("candidate", candidate_id=enrolled["candidates"]["7"])
    return service.call("GET", f"/exams/{exam['id']}")


def put(service, exam, etag, text="It keeps results for later use.", item="practice-one"):
    return service.client.put(
        f"/v1/my/exams/{exam['id']}/answers/{item}",
        json={"response": text},
        headers={**service.candidate, "If-Match": f'"{etag}"'},
    )


def close_grade_release(service, exam):
    now = service.call("GET", f"/exams/{exam['id']}")
    service.call("PATCH", f"/exams/{exam['id']}", {"closes_at": iso(time.time() - 1)}, etag=now["revision"])
    service.call("POST", f"/exams/{exam['id']}/grade")
    service.work()
    service.call("POST", f"/exams/{exam['id']}/release", etag=now["revision"] + 1)


def test_autosave_and_hand_in(service, open_exam):
    mine = service.call("GET", f"/my/exams/{open_exam['id']}", who="candidate")
    assert mine["phase"] == "open"
    assert [one["revision"] for one in mine["questions"]] == [0, 0]
    first = put(service, open_exam, 0, "a")
    assert first.headers["etag"] == '"1"'
    assert code(put(service, open_exam, 0, "b")) == "stale-etag"
    assert put(service, open_exam, 1, "b").json()["revision"] == 2
    assert put(service, open_exam, 2, "b").json()["revision"] == 2
    again = service.call("GET", f"/my/exams/{open_exam['id']}", who="candidate")
    assert again["questions"][0]["response"] == "b"
    service.call("POST", f"/my/exams/{open_exam['id']}/submit", who="candidate")
    assert code(put(service, open_exam, 2, "c")) == "wrong-state"


def test_window(service):
    early = service.exam(opens_at=iso(time.time() + 60))
    late = service.exam(("practice-two",), opens_at=iso(time.time() - 60), closes_at=iso(time.time() - 30))
    for exam in (early, late):
        found = service.call("POST", f"/exams/{exam['id']}/roster", {"candidates": [{"external_id": "7"}]})
        service.candidate, _ = service.key("candidate", candidate_id=found["candidates"]["7"])
        assert code(put(service, exam, 0, item=exam["items"][0]["item"])) == "wrong-state"
    assert service.call("GET", f"/my/exams/{early['id']}", who="candidate")["questions"] == []
    assert {one["phase"] for one in service.call("GET", "/my/exams", who="candidate")["data"]} == {"before", "closed"}


def test_not_on_the_roster(service):
    exam = service.exam(opens_at=iso(time.time() - 60))
    for method, path in (("GET", ""), ("GET", "/result"), ("POST", "/submit"), ("GET", "/feedback")):
        answer = service.client.request(method, f"/v1/my/exams/{exam['id']}{path}", headers=service.candidate)
        assert code(answer) == "not-found"


def test_result_appeal_and_no_key(service, open_exam):
    put(service, open_exam, 0)
    path = f"/my/exams/{open_exam['id']}"
    assert code(service.client.get(f"/v1{path}/result", headers=service.candidate)) == "wrong-state"
    close_grade_release(service, open_exam)
    text = service.client.get(f"/v1{path}/result", headers=service.candidate).text
    assert SECRET not in text
    assert "key_statement" not in text
    result = service.call("GET", f"{path}/result", who="candidate")
    one, two = result["marks"]
    assert sum(part["points"] for part in one["parts"]) == pytest.approx(one["score"])
    assert two["score"] == 0
    page = service.client.get(f"/v1{path}/feedback", headers=service.candidate)
    assert page.headers["content-type"].startswith("text/html")
    assert SECRET not in page.text
    body = {"item": "practice-one", "text": "please look"}
    made = service.call("POST", f"{path}/appeals", body, who="candidate")
    assert code(service.client.post(f"/v1{path}/appeals", json=body, headers=service.candidate)) == "duplicate"
    appeal = service.call("GET", f"/exams/{open_exam['id']}/appeals?state=open")["data"][0]
    assert appeal["id"] == made["id"]
    queue = service.call("GET", f"/exams/{open_exam['id']}/reviews?which=appealed")["data"]
    assert queue[0]["answer"] == appeal["answer"]
    decide = f"/appeals/{made['id']}/decision"
    refused = service.client.post(f"/v1{decide}", json={"accept": True, "reply": "yes"}, headers=service.teacher)
    assert code(refused) == "wrong-state"
    revision = queue[0]["revision"]
    changed = {"score": 5, "reason": "appeal", "comment": "You are right."}
    service.call("POST", f"/reviews/{appeal['answer']}/override", changed, etag=revision)
    service.call("POST", decide, {"accept": True, "reply": "yes"})
    after = service.call("GET", f"{path}/result", who="candidate")["marks"][0]
    assert (after["score"], after["comment"], after["appeal"], after["appeal_reply"]) == (
        5,
        "You are right.",
        "accepted",
        "yes",
    )
    assert after["feedback"] is None
    history = [one["action"] for one in service.call("GET", f"/reviews/{appeal['answer']}")["history"]]
    assert history == ["graded", "appeal", "override", "appeal_decided"]


def test_release_needs_marks_and_closed_window(service, open_exam):
    put(service, open_exam, 0)
    path = f"/v1/exams/{open_exam['id']}/release"
    head = {**service.teacher, "If-Match": f'"{open_exam["revision"]}"'}
    assert code(service.client.post(path, headers=head)) == "wrong-state"


def test_printed_feedback_reveals_only_on_request(service, open_exam):
    put(service, open_exam, 0)
    close_grade_release(service, open_exam)
    who = service.call("GET", f"/exams/{open_exam['id']}/roster")["data"][0]["candidate"]
    page = service.client.get(f"/v1/exams/{open_exam['id']}/feedback/{who}", headers=service.teacher).text
    assert "Ann" not in page
    shown = service.client.get(f"/v1/exams/{open_exam['id']}/feedback/{who}?reveal=true", headers=service.teacher).text
    assert "Ann" in shown


def test_feedback_is_told_in_the_readers_language(service, open_exam):
    put(service, open_exam, 0)
    close_grade_release(service, open_exam)
    path = f"/my/exams/{open_exam['id']}"
    found = {one: service.call("GET", f"{path}/result?language={one}", who="candidate") for one in ("en", "de", "hi")}
    first = {one: result["marks"][0] for one, result in found.items()}
    assert len({mark["feedback"]["feedback"]["summary"] for mark in first.values()}) == 3
    assert len({(mark["score"], mark["feedback"]["signature"]) for mark in first.values()}) == 1
    assert service.call("GET", f"{path}/result", who="candidate") == found["en"]
    page = service.client.get(f"/v1{path}/feedback?language=de", headers=service.candidate).text
    assert '<html lang="de">' in page
    assert first["de"]["feedback"]["feedback"]["summary"] in page
    assert "passed" not in page
    assert " of " not in page.replace(first["de"]["response"], "")
    assert code(service.client.get(f"/v1{path}/result?language=xx", headers=service.candidate)) == "invalid"
    who = service.call("GET", f"/exams/{open_exam['id']}/roster")["data"][0]["candidate"]
    printed = service.client.get(f"/v1/exams/{open_exam['id']}/feedback/{who}?language=de", headers=service.teacher)
    assert printed.text == page


def test_answers_are_escaped_in_print(service, open_exam):
    put(service, open_exam, 0, "<script>alert(1)</script>")
    close_grade_release(service, open_exam)
    page = service.client.get(f"/v1/my/exams/{open_exam['id']}/feedback", headers=service.candidate).text
    assert "<script>" not in page


def test_exam_items_are_no_oracle_for_any_route(service, open_exam):
    """A candidate's key gets neither score nor key nor hint of an exam item, whatever it calls."""
    put(service, open_exam, 0)
    answer_id = service.call("GET", f"/exams/{open_exam['id']}/items/practice-one/results")["data"][0]["answer"]
    ids = {
        "exam_id": open_exam["id"],
        "item_id": "practice-one",
        "answer_id": answer_id,
        "version": "1",
        "candidate_id": service.candidate_id,
        "check_id": "x",
    }
    stream = '{"id": "1", "item": "practice-one", "response": "It keeps results for later use."}'
    bodies = [
        {"item": "practice-one", "response": "It keeps results for later use."},
        {"item": "practice-one", "responses": [{"id": "1", "response": "It keeps results for later use."}]},
        {"item": "practice-one", "text": "please"},
        {"item": "practice-one"},
    ]
    tried = 0
    schema = service.client.app.openapi()
    for path, operations in schema["paths"].items():
        filled = path
        names = ("job", "upload", "key", "user", "appeal", "session", "calibration", "label")
        for name, value in {**ids, **{f"{name}_id": "0" * 27 for name in names}}.items():
            filled = filled.replace("{" + name + "}", value)
        assert "{" not in filled, f"{path}: this test has no value for the parameter"
        for method in operations:
            requests = [{"content": stream}] if "stream" in path else [{"json": body} for body in bodies]
            for request in requests if method in ("post", "put", "patch") else [{}]:
                head = {**service.candidate, "If-Match": '"1"'}
                answer = service.client.request(method, filled, headers=head, **request)
                tried += 1
                assert SECRET not in answer.text, (method, path)
                assert "Think of a cupboard" not in answer.text, (method, path)
                if "score" in path and answer.status_code == 200:
                    assert "exam-item-locked" in answer.text, (method, path)
    assert tried > 80


def test_after_release_the_item_is_open(service, open_exam):
    put(service, open_exam, 0)
    put(service, open_exam, 0, item="practice-two")
    body = {"item": "practice-one", "response": "x"}
    assert code(service.client.post("/v1/score", json=body, headers=service.candidate)) == "exam-item-locked"
    close_grade_release(service, open_exam)
    assert service.client.post("/v1/score", json=body, headers=service.candidate).status_code == 200
    service.exam(("practice-one",))
    assert code(service.client.post("/v1/score", json=body, headers=service.candidate)) == "exam-item-locked"


def test_candidate_data_export_and_deletion(service, open_exam):
    put(service, open_exam, 0, "my own words")
    close_grade_release(service, open_exam)
    who = service.call("GET", f"/exams/{open_exam['id']}/roster")["data"][0]["candidate"]
    data = service.call("GET", f"/candidates/{who}/data", who="admin")
    assert data["name"] == "Ann"
    assert data["answers"][0]["text"] == "my own words"
    assert service.call("DELETE", f"/candidates/{who}", who="admin")["answers"] == 1
    assert service.call("GET", f"/exams/{open_exam['id']}")["answers"] == 0
    assert code(service.client.get("/v1/me", headers=service.candidate)) == "unauthorized"
    assert code(service.client.get(f"/v1/candidates/{who}/data", headers=service.admin)) == "not-found"


def test_retention(service, open_exam, monkeypatch):
    put(service, open_exam, 0)
    close_grade_release(service, open_exam)
    assert service.call("POST", "/organisation/purge", who="admin")["exams"] == []
    service.call("PATCH", "/organisation", {"retention_days": 30}, who="admin")
    real = time.time
    monkeypatch.setattr("api.candidates.time.time", lambda: real() + 31 * 86400)
    assert service.call("POST", "/organisation/purge", who="admin") == {
        "dry_run": True,
        "exams": [open_exam["id"]],
        "answers": 1,
    }
    assert service.call("GET", f"/exams/{open_exam['id']}")["answers"] == 1
    service.call("POST", "/organisation/purge?dry_run=false", who="admin")
    monkeypatch.undo()
    assert service.call("GET", f"/exams/{open_exam['id']}")["answers"] == 0
