"""An edit of a rubric says which marks it would change, before it is stored."""

from __future__ import annotations


def start(service, exam, content, who=None):
    return service.client.post(
        "/v1/items/practice-one/edit-previews",
        json={"exam": exam["id"], "content": content},
        headers=who or service.teacher,
    )


def graded(service, count):
    """An exam whose answers name the definition, the reason, or neither."""
    texts = ("It keeps results for later use.", "Computing again would take longer.", "Bananas are yellow.")
    exam = service.exam(("practice-one",))
    service.answer(exam["id"], {f"{n}": {"practice-one": texts[n % 3]} for n in range(count)})
    service.call("POST", f"/exams/{exam['id']}/grade")
    service.work()
    return exam


def heavier(service):
    """The item with all its weight on the definition."""
    content = service.call("GET", "/items/practice-one")["content"]
    content["components"]["definition"]["weight"] = 5
    content["components"]["reason"]["weight"] = 0
    return content


def test_an_edit_is_tried_and_nothing_changes(service):
    exam = graded(service, 6)
    before = service.call("GET", f"/exams/{exam['id']}/items/practice-one/results")["data"]
    same = service.call("GET", "/items/practice-one")
    job = start(service, exam, same["content"]).json()
    service.work()
    assert service.call("GET", f"/edit-previews/{job['id']}")["changed"] == 0
    job = start(service, exam, heavier(service)).json()
    assert (job["kind"], job["item"], job["total"]) == ("edit", "practice-one", 6)
    service.work()
    found = service.call("GET", f"/edit-previews/{job['id']}")
    marks = {one["answer"]: one["score"] for one in before}
    assert found["changed"] == len(found["changes"]) > 0
    assert all(marks[one["answer"]] == one["old"] != one["new"] for one in found["changes"])
    assert service.call("GET", f"/exams/{exam['id']}/items/practice-one/results")["data"] == before
    assert service.call("GET", "/items/practice-one") == same


def test_the_preview_tells_what_storing_and_regrading_does(service):
    exam = graded(service, 6)
    content = heavier(service)
    job = start(service, exam, content).json()
    service.work()
    told = service.call("GET", f"/edit-previews/{job['id']}")["changes"]
    revision = service.call("GET", "/items/practice-one")["revision"]
    service.call("POST", "/items/practice-one/versions", {"content": content}, etag=revision)
    run = service.call("POST", f"/exams/{exam['id']}/regrades", {"items": [{"item": "practice-one"}]})
    service.work()
    real = service.call("GET", f"/regrades/{run['id']}")["changes"]
    assert told
    assert {one["answer"]: one["new"] for one in told} == {one["answer"]: one["new"] for one in real}


def test_marks_of_people_are_counted_apart(service):
    exam = graded(service, 4)
    one = service.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"][0]
    service.call("POST", f"/reviews/{one['answer']}/override", {"score": 2, "reason": "x"}, etag=one["revision"])
    job = start(service, exam, heavier(service)).json()
    service.work()
    found = service.call("GET", f"/edit-previews/{job['id']}")
    assert (found["total"], found["decided"]) == (3, 1)
    assert one["answer"] not in {change["answer"] for change in found["changes"]}


def test_what_cannot_be_tried(service, content):
    exam = service.exam()
    assert start(service, exam, content("practice-one")).json()["code"] == "wrong-state"
    assert start(service, exam, content("practice-two")).json()["code"] == "invalid"
    assert start(service, exam, {"id": "practice-one"}).json()["code"] == "invalid-rubric"
    assert start(service, {"id": "0" * 27}, content("practice-one")).status_code == 404
    assert start(service, exam, content("practice-one"), service.candidate).status_code == 403
