"""The pages: what another organisation, a stranger and a candidate may not see, on every route there is."""

from __future__ import annotations

import json

import pytest

from api.web.access import GUEST_COOKIE, KEY_COOKIE, csrf_of, key_cookie, new_guest
from api.web.routes import ROUTERS

SECRET = "the accepted wording of the cache key"
HINT = "Think of a cupboard"
RIGHT = "It keeps results for later use. Computing again would take longer."
ROUTES = sorted((method, route.path) for router in ROUTERS for route in router.routes for method in route.methods)
#: Open to everybody, and without anything of an organisation.
OPEN = {
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("POST", "/sign-out"),
    ("GET", "/set-password"),
    ("POST", "/set-password"),
    ("POST", "/language"),
    ("GET", "/static/{name:path}"),
    ("GET", "/favicon.ico"),
}
ACTIONS = {"/teach/jobs/": "pause", "/teach/answers/": "override", "/admin/people/": "reset"}
JOBS = {
    "regrades/": "regrades",
    "comparisons/": "comparisons",
    "suggestions/": "suggestions",
    "preview/": "edit-previews",
}
FORM = {
    "title": "T",
    "item": "practice-one",
    "response": RIGHT,
    "text": "please",
    "reason": "x",
    "reply": "x",
    "score": "1",
    "option": "0",
    "revision": "1",
    "people": "1",
    "risk": "5",
    "tolerance": "1",
    "name": "T",
    "previous": "{}",
    "questions": "1",
    "key-0": "practice-one",
    "item-0": "practice-one",
}


def signed_in(service, who):
    """Headers of a browser in which the owner of a key has signed in."""
    svc = service.client.app.state.services
    made = key_cookie(svc, getattr(service, who)["Authorization"].removeprefix("Bearer "))
    return {"Cookie": f"{KEY_COOKIE}={made[0]}", "X-CSRF-Token": csrf_of(svc, made[0])}


def filled(path, ids, jobs):
    """The path with an id of the first organisation for each of its parameters."""
    values = {**ids, "slug": "practice-one", "viva_id": ids["session_id"], "kind": "csv"}
    values["action"] = next((action for start, action in ACTIONS.items() if path.startswith(start)), "")
    values["job_id"] = next((jobs[name] for part, name in JOBS.items() if part in path), ids["job_id"])
    if "/labels/" in path:
        values["upload_id"] = jobs["labels"]
    for name, value in values.items():
        path = path.replace("{" + name + "}", value)
    assert "{" not in path, f"{path}: this test has no value for the parameter"
    return path


def send(service, method, path, head, ids):
    if method == "GET":
        return service.client.get(
            path, params={"exam": ids["exam_id"], "old": 1, "new": 1}, headers=head, follow_redirects=False
        )
    form = {**FORM, "exam": ids["exam_id"], "answer": ids["answer_id"], "yaml": ids["yaml"]}
    form[f"score-{ids['answer_id']}"] = "1"
    files = {"file": ("a.csv", b"candidate,practice-one\n1,x\n")} if path.endswith(("/uploads", "/labels")) else None
    return service.client.post(path, headers=head, data=form, files=files, follow_redirects=False)


def test_every_page_of_another_organisation_is_not_there(two):
    service, other, ids, jobs = two
    before = service.call("GET", f"/exams/{ids['exam_id']}")
    shut = [(method, path) for method, path in ROUTES if "{" in path and (method, path) not in OPEN]
    assert len(shut) > 60
    found = {}
    for method, path in shut:
        for who in ("admin", "teacher", "candidate"):
            answer = send(service, method, filled(path, ids, jobs), signed_in(other, who), ids)
            found[method, path, who] = answer.status_code
    assert {key: status for key, status in found.items() if status not in (403, 404)} == {}
    # A refused role proves nothing about the organisation: somebody must have got as far as the id.
    assert [one for one in shut if 404 not in {found[(*one, who)] for who in ("admin", "teacher", "candidate")}] == []
    assert service.call("GET", f"/exams/{ids['exam_id']}") == before


def test_the_same_addresses_are_there_for_their_owner(two):
    """Else the test above would prove nothing."""
    service, _, ids, jobs = two
    for method, path in ROUTES:
        if method == "GET" and "{" in path and (method, path) not in OPEN:
            who = "candidate" if path.startswith("/my/") else "teacher"
            answer = send(service, method, filled(path, ids, jobs), signed_in(service, who), ids)
            missing = ("/my/", "/checks/")  # the candidate is not enrolled, the item has no checks
            assert answer.status_code < 400 or path.startswith(missing), (path, answer.status_code, answer.text[-800:])


def test_pages_without_an_id_hold_nothing_of_others(two):
    service, other, ids, _ = two
    secrets = {value for value in ids.values() if len(value) == 27 and set(value) != {"0"}} | {"practice-one"}
    for method, path in ROUTES:
        if method == "GET" and "{" not in path:
            for who in ("admin", "teacher", "candidate"):
                text = service.client.get(path, headers=signed_in(other, who)).text
                assert not any(secret in text for secret in secrets), (path, who)


def test_strangers_are_sent_to_sign_in(two):
    service, _, ids, jobs = two
    for method, path in ROUTES:
        if (method, path) in OPEN or path == "/":
            continue
        answer = send(service, method, filled(path, ids, jobs), {}, ids)
        assert answer.status_code == 303, (method, path, answer.status_code)
        assert answer.headers["location"].startswith("/sign-in"), (method, path)


@pytest.fixture
def examinee(service, content):
    """A candidate in the middle of an exam of the item that the others may not tell about."""
    exam = service.exam()
    enrolled = service.call("POST", f"/exams/{exam['id']}/roster", {"candidates": [{"external_id": "1"}]})
    candidate = enrolled["candidates"]["1"]
    service.candidate, _ = service.key("candidate", candidate_id=candidate)
    service.answer(exam["id"], {"1": {"practice-one": RIGHT}})
    service.call("POST", f"/exams/{exam['id']}/grade")
    service.work()
    answer = service.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"][0]["answer"]
    ids = {"exam_id": exam["id"], "answer_id": answer, "candidate_id": candidate, "version": "1", "check_id": "x"}
    ids["yaml"] = json.dumps(content("practice-one"))
    names = ("job", "upload", "key", "user", "appeal", "session", "calibration", "label")
    return service, {**ids, **{f"{name}_id": "0" * 27 for name in names}}


@pytest.mark.parametrize("kind", ["candidate", "guest"])
def test_no_page_tells_about_an_exam_item(examinee, kind):
    service, ids = examinee
    svc = service.client.app.state.services
    if kind == "candidate":
        head = signed_in(service, "candidate")
    else:
        value = new_guest(svc)
        head = {"Cookie": f"{GUEST_COOKIE}={value}", "X-CSRF-Token": csrf_of(svc, value)}
    score = f"{service.call('GET', '/reviews/' + ids['answer_id'])['score']:g} /"
    jobs = dict.fromkeys([*JOBS.values(), "labels"], "0" * 27)
    for method, path in ROUTES:
        answer = send(service, method, filled(path, ids, jobs) if (method, path) not in OPEN else "/sign-in", head, ids)
        assert answer.status_code < 500, (method, path)
        for told in (SECRET, HINT, score):
            assert told not in answer.text, (method, path, told)
        if path.startswith(("/practice/", "/checks/")):
            assert answer.status_code in (403, 404), (method, path, answer.status_code)
