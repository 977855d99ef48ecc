"""Organisations never see one another's data, on any route."""

from __future__ import annotations

import io

import pytest


@pytest.fixture
def two(service):
    """A filled organisation and the ids of everything in it, and an empty one."""
    exam = service.graded()
    answer = service.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"][0]
    job = service.call("GET", f"/exams/{exam['id']}/jobs")["data"][0]
    user = service.call("POST", "/users", {"email": "a@b.example", "role": "teacher"}, who="admin")
    key = service.call("POST", "/keys", {"role": "teacher", "label": "x"}, who="admin")
    regrade = service.call("POST", f"/exams/{exam['id']}/regrades", {"items": [{"item": "practice-one"}]})
    service.work()
    upload = service.client.post(
        f"/v1/exams/{exam['id']}/uploads",
        files={"file": ("a.csv", io.BytesIO(b"candidate,practice-one\n1,x\n"))},
        headers=service.teacher,
    ).json()
    ids = {
        "exam_id": exam["id"],
        "answer_id": answer["answer"],
        "candidate_id": answer["candidate"],
        "job_id": job["id"],
        "user_id": user["id"],
        "key_id": key["id"],
        "upload_id": upload["id"],
        "item_id": "practice-one",
        "version": "1",
        "appeal_id": "0" * 27,
        "session_id": service.call("POST", "/viva", {"items": ["practice-one"]})["id"],
        "check_id": "x",
        **calibration_ids(service),
    }
    jobs = {"regrades": regrade["id"], **item_jobs(service, exam["id"], ids["calibration_id"])}
    return service, service.other(), ids, jobs


def calibration_ids(service):
    marked = [("It keeps results.", 3), ("Computing takes longer.", 1), ("Bananas.", 0), ("It keeps results so.", 2.5)]
    labels = [{"response": text, "human_score": mark} for text, mark in marked]
    service.call("POST", "/items/practice-one/labels", {"labels": labels})
    job = service.call("POST", "/items/practice-one/calibrations", {})
    service.work()
    label = service.call("GET", "/items/practice-one/labels")["data"][0]["id"]
    return {"calibration_id": service.call("GET", f"/jobs/{job['id']}")["calibration"], "label_id": label}


def item_jobs(service, exam, calibration):
    compare = service.call("POST", f"/calibrations/{calibration}/comparisons", {"exam": exam})
    suggest = service.call("POST", f"/exams/{exam}/items/practice-one/suggestions", {})
    content = service.call("GET", "/items/practice-one")["content"]
    edit = service.call("POST", "/items/practice-one/edit-previews", {"exam": exam, "content": content})
    service.work()
    return {"comparisons": compare["id"], "suggestions": suggest["id"], "edit-previews": edit["id"]}


BODIES = [
    None,
    {},
    {"note": "x"},
    {"title": "x"},
    {"use": "exam"},
    {"option": 0},
    {"score": 1, "reason": "x"},
    {"reason": "x"},
    {"accept": False, "reply": "x"},
    {"response": "x"},
    {"item": "practice-one", "text": "x"},
    {"items": [{"item": "practice-one"}]},
    {"mapping": {"practice-one": "practice-one"}},
    {"answers": [{"candidate": "1", "item": "practice-one", "response": "x"}]},
    {"candidates": [{"external_id": "1"}]},
]


def test_every_route_with_an_id(two, content):
    service, other, ids, jobs = two
    before = service.call("GET", f"/exams/{ids['exam_id']}")
    group = {"answers": [ids["answer_id"]], "item": "practice-one", "score": 1, "reason": "x"}
    labels = {"labels": [{"answer": ids["answer_id"], "human_score": 1}]}
    bodies = [*BODIES, group, labels, {"exam": ids["exam_id"]}, {"content": content("practice-one")}]
    bodies += [{"exam": ids["exam_id"], "content": content("practice-one")}]
    seen = tried = 0
    for path, operations in service.client.app.openapi()["paths"].items():
        if "{" not in path:
            continue
        kind = path.split("/")[2]
        filled = path.replace("{job_id}", jobs[kind]) if kind in jobs else path
        for name, value in ids.items():
            filled = filled.replace("{" + name + "}", value)
        assert "{" not in filled, path
        for method in operations:
            seen += 1
            reached = set()
            for who in (other.admin, other.teacher, other.candidate):
                for body in bodies if method in ("post", "put", "patch") else [None]:
                    tried += 1
                    extra = {"json": body} if body is not None else {}
                    if path.endswith("/uploads") and method == "post":
                        extra = {"files": {"file": ("a.csv", b"candidate,practice-one\n1,x\n")}}
                    head = {**who, "If-Match": '"1"'}
                    answer = service.client.request(method, filled, headers=head, **extra)
                    assert answer.status_code in (403, 404, 422), (method, path, body, answer.text)
                    reached.add(answer.status_code)
                    if answer.status_code != 422:
                        break
            assert 404 in reached, (method, path, "no body of this test gets past validation")
    assert seen > 50
    assert service.call("GET", f"/exams/{ids['exam_id']}") == before


def test_lists_hold_nothing_of_others(two):
    service, other, ids, _ = two
    secrets = {value for value in ids.values() if len(value) == 27 and set(value) != {"0"}}
    for path, operations in service.client.app.openapi()["paths"].items():
        if "{" in path or "get" not in operations or path in ("/health", "/ready", "/version"):
            continue
        for who in (other.admin, other.teacher, other.candidate):
            text = service.client.get(path, headers=who).text
            assert not any(secret in text for secret in secrets), path
            assert "practice-one" not in text, path


def test_every_route_needs_a_key(two):
    service, _, ids, _ = two
    open_routes = {
        ("get", "/health"),
        ("get", "/ready"),
        ("get", "/version"),
        ("post", "/v1/session"),
        ("post", "/v1/password"),
    }
    for path, operations in service.client.app.openapi()["paths"].items():
        filled = path
        for name, value in ids.items():
            filled = filled.replace("{" + name + "}", value)
        for method in operations:
            if (method, path) in open_routes:
                continue
            answer = service.client.request(method, filled)
            assert answer.status_code in (401, 422), (method, path)
            if answer.status_code == 422:
                assert "loc" not in answer.text


def test_same_outside_id_is_two_candidates(service):
    exam = service.exam()
    other = service.other()
    other.call("POST", "/items", {"use": "exam", "content": service.call("GET", "/items/practice-one")["content"]})
    theirs = other.call("POST", "/exams", {"title": "T", "items": [{"item": "practice-one"}]})
    roster = {"candidates": [{"external_id": "1"}]}
    mine = service.call("POST", f"/exams/{exam['id']}/roster", roster)["candidates"]["1"]
    assert other.call("POST", f"/exams/{theirs['id']}/roster", roster)["candidates"]["1"] != mine


def test_idempotency_keys_are_the_senders_own(service):
    other = service.other()
    body = {"title": "T", "items": [{"item": "practice-one"}], "take_from_practice": True}
    first = service.client.post("/v1/exams", json=body, headers={**service.teacher, "Idempotency-Key": "k"})
    assert first.status_code == 201
    answer = service.client.post("/v1/exams", json=body, headers={**other.teacher, "Idempotency-Key": "k"})
    assert answer.status_code == 404
