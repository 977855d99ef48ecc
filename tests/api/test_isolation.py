"""Organisations never see one another's data, on any route."""

from __future__ import annotations

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
    seen = 0
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
            fitting = bodies if method in ("post", "put", "patch") else [None]
            for who in (other.admin, other.teacher, other.candidate):
                for body in fitting:
                    extra = {"json": body} if body is not None else {}
                    if path.endswith("/uploads") and method == "post":
                        extra = {"files": {"file": ("a.csv", b"candidate,practice-one\n1,x\n")}}
                    head = {**who, "If-Match": '"1"'}
                    answer = service.client.request(method, filled, headers=head, **extra)
                    assert answer.status_code in (403, 404, 422), (method, path, body, answer.text)
                    reached.add(answer.status_code)
                    if answer.status_code != 422:
                        fitting = [body] if answer.status_code == 404 else fitting
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
