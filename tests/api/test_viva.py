"""Oral practice and quick checks."""

from __future__ import annotations

import pytest

SECRET = "the accepted wording of the cache key"


def code(answer):
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.json()["code"]


@pytest.fixture
def spoken(service, content):
    item = content(
        "spoken",
        follow_ups=[
            {
                "id": "where",
                "question": "Where is it kept?",
                "reference_answer": f"In memory. {SECRET}",
                "elements": [{"id": "memory", "key_statements": ["It is kept in memory.", f"{SECRET} follow"]}],
            }
        ],
        quick_checks=[
            {
                "id": "pick",
                "stem": "Pick one.",
                "options": [{"text": "a", "correct": True, "why": "yes a"}, {"text": "b", "why": "no b"}],
            }
        ],
    )
    service.call("POST", "/items", {"content": item})
    return service


def test_ask_answer_follow_up_summary(spoken):
    viva = spoken.call("POST", "/viva", {"items": ["spoken", "practice-one"]}, who="candidate")
    assert viva["question"]["number"] == 1
    path = f"/viva/{viva['id']}"
    said, seen = viva, []
    while said["question"] is not None:
        seen.append(said["question"]["text"])
        body = {"response": "It keeps results for later use."}
        said = spoken.call("POST", f"{path}/answers", body, who="candidate", etag=said["revision"])
        assert SECRET not in str(said)
    assert "Where is it kept?" in seen
    assert said["finished"]
    over = spoken.client.post(
        f"/v1{path}/answers", json=body, headers={**spoken.candidate, "If-Match": f'"{said["revision"]}"'}
    )
    assert code(over) == "wrong-state"
    summary = spoken.call("GET", f"{path}/summary", who="candidate")
    assert len(summary["results"]) == 2
    assert SECRET not in str(summary)
    single = spoken.call("POST", "/score", {"item": "spoken", **body})
    assert summary["results"][0]["score"] == single["score"]


def test_viva_is_ones_own(spoken):
    viva = spoken.call("POST", "/viva", {"items": ["spoken"]}, who="candidate")
    for who in (spoken.key("candidate")[0], spoken.teacher, spoken.other().candidate):
        assert code(spoken.client.get(f"/v1/viva/{viva['id']}", headers=who)) == "not-found"


def test_stale_answer_and_stop(spoken):
    viva = spoken.call("POST", "/viva", {"items": ["spoken"]})
    path = f"/v1/viva/{viva['id']}/answers"
    body = {"response": "x"}
    assert code(spoken.client.post(path, json=body, headers=spoken.teacher)) == "etag-required"
    spoken.call("POST", f"/viva/{viva['id']}/answers", body, etag=1)
    assert code(spoken.client.post(path, json=body, headers={**spoken.teacher, "If-Match": '"1"'})) == "stale-etag"
    assert spoken.call("POST", f"/viva/{viva['id']}/stop", etag=2)["finished"]


def test_exam_item_is_no_viva(spoken):
    viva = spoken.call("POST", "/viva", {"items": ["spoken"]}, who="candidate")
    spoken.exam(("spoken",))
    fresh = spoken.client.post("/v1/viva", json={"items": ["spoken"]}, headers=spoken.candidate)
    assert code(fresh) == "exam-item-locked"
    going_on = spoken.client.post(
        f"/v1/viva/{viva['id']}/answers", json={"response": "x"}, headers={**spoken.candidate, "If-Match": '"1"'}
    )
    assert code(going_on) == "exam-item-locked"
    assert code(spoken.client.get("/v1/items/spoken/quick-checks", headers=spoken.candidate)) == "exam-item-locked"


def test_twice_the_same_item(spoken):
    answer = spoken.client.post("/v1/viva", json={"items": ["spoken", "spoken"]}, headers=spoken.teacher)
    assert code(answer) == "invalid"


def test_quick_checks(spoken):
    page = spoken.client.get("/v1/items/spoken/quick-checks", headers=spoken.candidate)
    assert "yes a" not in page.text
    path = "/items/spoken/quick-checks/pick"
    assert spoken.call("POST", path, {"option": 0}, who="candidate") == {"correct": True, "why": "yes a"}
    assert spoken.call("POST", path, {"option": 1}, who="candidate") == {"correct": False, "why": "no b"}
    assert code(spoken.client.post(f"/v1{path}", json={"option": 2}, headers=spoken.candidate)) == "invalid"
    none = spoken.client.post("/v1/items/spoken/quick-checks/none", json={"option": 0}, headers=spoken.candidate)
    assert code(none) == "not-found"
