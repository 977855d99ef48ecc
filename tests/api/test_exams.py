"""Exams from creation to results: answers, jobs, reviews, regrades."""

from __future__ import annotations

import json
import threading
import time

import pytest
from sqlalchemy import select

from api.db.models import Chunk, Job, Mark
from api.worker import run_worker


def code(answer):
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.json()["code"]


def test_create_needs_exam_items(service):
    c = service.client
    body = {"title": "T", "items": [{"item": "practice-one"}]}
    assert code(c.post("/v1/exams", json=body, headers=service.teacher)) == "item-in-practice"
    exam = service.exam()
    assert [one["weight"] for one in exam["items"]] == [5, 5]
    assert service.call("GET", "/items/practice-one")["use"] == "exam"
    twice = {"title": "T", "items": [{"item": "practice-one"}, {"item": "practice-one"}]}
    assert code(c.post("/v1/exams", json=twice, headers=service.teacher)) == "invalid"
    unknown = {"title": "T", "items": [{"item": "none"}]}
    assert code(c.post("/v1/exams", json=unknown, headers=service.teacher)) == "not-found"
    assert len(service.call("GET", "/exams")["data"]) == 1


def test_change_with_etag(service):
    exam = service.exam()
    path = f"/v1/exams/{exam['id']}"
    assert code(service.client.patch(path, json={"title": "N"}, headers=service.teacher)) == "etag-required"
    changed = service.call("PATCH", f"/exams/{exam['id']}", {"title": "New", "pass_percent": 40}, etag=1)
    assert (changed["title"], changed["pass_percent"], changed["revision"]) == ("New", 40, 2)
    stale = service.client.patch(path, json={"title": "X"}, headers={**service.teacher, "If-Match": '"1"'})
    assert code(stale) == "stale-etag"
    bad = {"opens_at": "2030-01-02T00:00:00Z", "closes_at": "2030-01-01T00:00:00Z"}
    assert service.client.patch(path, json=bad, headers={**service.teacher, "If-Match": '"2"'}).status_code == 422


def test_answers_all_or_none(service):
    exam = service.exam()
    path = f"/v1/exams/{exam['id']}/answers"
    twice = [{"candidate": "1", "item": "practice-one", "response": text} for text in "ab"]
    assert code(service.client.post(path, json={"answers": twice}, headers=service.teacher)) == "invalid"
    service.answer(exam["id"], {"1": {"practice-one": "a"}})
    mixed = [
        {"candidate": "1", "item": "practice-one", "response": "other"},
        {"candidate": "2", "item": "practice-one", "response": "new"},
    ]
    assert code(service.client.post(path, json={"answers": mixed}, headers=service.teacher)) == "duplicate"
    assert service.call("GET", f"/exams/{exam['id']}")["answers"] == 1
    assert service.call("POST", f"/exams/{exam['id']}/answers", {"answers": mixed, "replace": True})["replaced"] == 1


def test_grade_results_statistics(service):
    exam = service.graded(6)
    assert service.call("GET", f"/exams/{exam['id']}")["marked"] == 12
    job = service.call("GET", f"/exams/{exam['id']}/jobs")["data"][0]
    assert (job["state"], job["done"], job["total"]) == ("done", 12, 12)
    page = service.call("GET", f"/exams/{exam['id']}/results?limit=4")
    rest = service.call("GET", f"/exams/{exam['id']}/results?cursor={page['next']}")
    found = page["data"] + rest["data"]
    assert len({one["candidate"] for one in found}) == 6
    for one in found:
        assert one["points"] == pytest.approx(sum(mark["score"] for mark in one["marks"]))
        assert one["external_id"] is None
    revealed = service.call("GET", f"/exams/{exam['id']}/results?reveal=true")["data"]
    assert {one["external_id"] for one in revealed} == {f"{n:04}" for n in range(6)}
    assert [line["action"] for line in service.call("GET", "/audit", who="admin")["data"]] == ["reveal"]
    stats = service.call("GET", f"/exams/{exam['id']}/statistics")
    assert stats["complete"] == 6
    assert sum(stats["items"][0]["distribution"].values()) == 6
    assert 0 <= stats["items"][0]["difficulty"] <= 1
    by_item = service.call("GET", f"/exams/{exam['id']}/items/practice-one/results")["data"]
    assert all(one["signature"] for one in by_item)


def test_missing_is_not_zero_marked(service):
    exam = service.exam()
    service.answer(exam["id"], {"1": {"practice-one": "It keeps results."}})
    before = service.call("GET", f"/exams/{exam['id']}/results")["data"][0]
    assert before["percent"] is None
    assert before["pending"] == 1
    assert before["missing"] == 1
    assert before["marks"][1]["score"] is None


def test_second_grading_changes_nothing(service):
    exam = service.graded()
    with service.client.app.state.services.db.read() as session:
        before = {mark.answer_id: mark.graded_at for mark in session.query(Mark)}
    job = service.call("POST", f"/exams/{exam['id']}/grade")
    assert (job["state"], job["total"]) == ("done", 0)
    assert service.work() == 0
    with service.client.app.state.services.db.read() as session:
        assert before == {mark.answer_id: mark.graded_at for mark in session.query(Mark)}


def test_pause_resume_cancel(service):
    exam = service.exam()
    service.answer(exam["id"], {str(n): {"practice-one": f"It keeps {n}."} for n in range(20)})
    job = service.call("POST", f"/exams/{exam['id']}/grade")
    again = service.client.post(f"/v1/exams/{exam['id']}/grade", headers=service.teacher)
    assert code(again) == "wrong-state"
    service.call("POST", f"/jobs/{job['id']}/pause")
    assert service.work() == 0
    service.call("POST", f"/jobs/{job['id']}/resume")
    service.call("POST", f"/jobs/{job['id']}/cancel")
    assert service.work() == 0
    wrong = service.client.post(f"/v1/jobs/{job['id']}/resume", headers=service.teacher)
    assert code(wrong) == "wrong-state"
    service.call("POST", f"/exams/{exam['id']}/grade")
    assert service.work() == 3
    assert service.call("GET", f"/exams/{exam['id']}")["marked"] == 20


def test_events_stream(service):
    exam = service.exam()
    service.answer(exam["id"], {str(n): {"practice-one": f"It keeps {n}."} for n in range(20)})
    job = service.call("POST", f"/exams/{exam['id']}/grade")
    stop = threading.Event()
    thread = threading.Thread(
        target=run_worker, args=(service.settings, stop, service.client.app.state.services.scorer.get())
    )
    thread.start()
    try:
        deadline = time.monotonic() + 20
        views = []
        while time.monotonic() < deadline and (not views or views[-1]["state"] != "done"):
            answer = service.client.get(f"/v1/jobs/{job['id']}/events", headers=service.teacher)
            assert answer.headers["content-type"].startswith("text/event-stream")
            views += [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    finally:
        stop.set()
        thread.join(10)
    assert views[-1]["state"] == "done"
    assert views[-1]["done"] == 20


class Exploding:
    def grade_many(self, item, responses, *, language="en", calibration=None):
        raise RuntimeError("the secret answer text")


def test_failing_chunk_gives_up_and_says_so(service):
    from api.worker import Worker

    exam = service.exam()
    service.answer(exam["id"], {"1": {"practice-one": "x"}})
    job = service.call("POST", f"/exams/{exam['id']}/grade")
    worker = Worker(service.settings, service.client.app.state.services.db, Exploding(), "w")
    assert sum(worker.step() for _ in range(10)) == service.settings.max_attempts
    found = service.call("GET", f"/jobs/{job['id']}")
    assert (found["state"], found["error"]) == ("failed", "RuntimeError")
    assert service.call("GET", f"/exams/{exam['id']}")["marked"] == 0


class Noting:
    def __init__(self):
        self.asked = []

    def grade_many(self, item, responses, *, language="en", calibration=None):
        self.asked.append((item.id, len(responses)))
        if item.id == "practice-two":
            raise RuntimeError("no memory")


def test_idle_worker_makes_items_of_waiting_exams_ready(service):
    from api.worker import Worker

    scorer = Noting()
    worker = Worker(service.settings, service.client.app.state.services.db, scorer, "w")
    assert not worker.prepare()
    service.exam()
    service.exam(("practice-two",))
    assert [worker.prepare() for _ in range(3)] == [True, True, False]
    assert sorted(scorer.asked) == [("practice-one", 1), ("practice-two", 1)]


def test_exams_under_way_are_not_prepared(service):
    from api.worker import Worker

    exam = service.exam()
    service.answer(exam["id"], {"1": {"practice-one": "x"}})
    service.call("POST", f"/exams/{exam['id']}/grade")
    scorer = Noting()
    assert not Worker(service.settings, service.client.app.state.services.db, scorer, "w").prepare()
    assert scorer.asked == []


def test_lost_lease_stores_nothing(service):
    from api import jobs

    exam = service.exam()
    service.answer(exam["id"], {"1": {"practice-one": "x"}})
    service.call("POST", f"/exams/{exam['id']}/grade")
    db = service.client.app.state.services.db
    first = jobs.claim(db, "a", -1, 5)
    second = jobs.claim(db, "b", 60, 5)
    assert first.id == second.id
    assert jobs.claim(db, "c", 60, 5) is None
    calls = []
    assert not jobs.finish(db, first, "a", lambda *_: calls.append("a"))
    assert jobs.finish(db, second, "b", lambda *_: calls.append("b"))
    assert not jobs.finish(db, second, "b", lambda *_: calls.append("b"))
    assert calls == ["b"]


def test_dead_process_is_freed_at_start(service):
    from api import jobs

    exam = service.exam()
    service.answer(exam["id"], {"1": {"practice-one": "x"}})
    service.call("POST", f"/exams/{exam['id']}/grade")
    db = service.client.app.state.services.db
    host = jobs.owner_name().rsplit(":", 2)[0]
    assert jobs.claim(db, f"{host}:999999:1", 60, 5)
    assert jobs.claim(db, "b", 60, 5) is None
    jobs.free_dead(db)
    assert jobs.claim(db, "b", 60, 5)


def test_workers_that_die_on_a_chunk_end_the_job(service):
    from api import jobs

    exam = service.exam()
    service.answer(exam["id"], {"1": {"practice-one": "x"}})
    service.call("POST", f"/exams/{exam['id']}/grade")
    db = service.client.app.state.services.db
    for n in range(3):
        assert jobs.claim(db, f"dead{n}", -1, 3)
    assert jobs.claim(db, "next", 60, 3) is None
    with db.read() as session:
        assert session.query(Job).one().state == "failed"
        assert session.query(Chunk).one().state == "failed"


def first_review(service, exam):
    return service.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"][0]


def test_queue_is_ordered_by_doubt(service):
    exam = service.graded(8)
    lines, cursor = [], ""
    while True:
        page = service.call("GET", f"/exams/{exam['id']}/reviews?which=all&limit=3{cursor}")
        lines += page["data"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert len({line["answer"] for line in lines}) == 16
    assert [line["doubt"] for line in lines] == sorted((line["doubt"] for line in lines), reverse=True)


def test_override_survives_and_undo_restores(service):
    exam = service.graded()
    line = first_review(service, exam)
    path = f"/reviews/{line['answer']}"
    changed = service.call("POST", f"{path}/override", {"score": 4.5, "reason": "right"}, etag=line["revision"])
    assert (changed["score"], changed["origin"], changed["review"]) == (4.5, "teacher", "overridden")
    event = changed["history"][-1]
    assert (event["action"], event["old"]["score"], event["new"]["score"]) == ("override", line["score"], 4.5)
    assert event["reason"] == "right"
    assert event["signature"] == changed["signature"]
    assert event["actor"].startswith("key:")
    stale = service.client.post(
        f"/v1{path}/accept", json={}, headers={**service.teacher, "If-Match": f'"{line["revision"]}"'}
    )
    assert code(stale) == "stale-etag"
    service.call("POST", f"/exams/{exam['id']}/grade")
    service.work()
    again = service.call("GET", path)
    assert again["score"] == 4.5
    undone = service.call("POST", f"{path}/undo", {}, etag=again["revision"])
    assert (undone["score"], undone["origin"]) == (line["score"], "machine")
    assert [one["action"] for one in undone["history"]] == ["graded", "override", "undo"]
    empty = service.client.post(
        f"/v1{path}/undo", json={}, headers={**service.teacher, "If-Match": f'"{undone["revision"]}"'}
    )
    assert code(empty) == "wrong-state"


def test_component_override_sums(service):
    exam = service.graded()
    line = first_review(service, exam)
    body = {"components": {"reason": 2}, "reason": "says why"}
    changed = service.call("POST", f"/reviews/{line['answer']}/override", body, etag=line["revision"])
    assert sum(part["points"] for part in changed["parts"]) == pytest.approx(changed["score"])
    assert {"label": "reason", "points": 2.0} in changed["parts"]
    head = {**service.teacher, "If-Match": f'"{changed["revision"]}"'}
    for bad in (
        {"components": {"nonsense": 1}, "reason": "x"},
        {"components": {"reason": 2.5}, "reason": "x"},
        {"score": 4.7, "reason": "x"},
        {"score": 9, "reason": "x"},
        {"score": 1, "components": {"reason": 1}, "reason": "x"},
        {"score": 1},
    ):
        assert code(service.client.post(f"/v1/reviews/{line['answer']}/override", json=bad, headers=head)) == "invalid"


def test_accept_second_look_and_queue(service):
    exam = service.graded()
    line = first_review(service, exam)
    done = service.call("POST", f"/reviews/{line['answer']}/accept", {"note": "ok"}, etag=line["revision"])
    assert done["review"] == "accepted"
    service.call("POST", f"/reviews/{line['answer']}/second-look", {"note": "unsure"}, etag=done["revision"])
    waiting = service.call("GET", f"/exams/{exam['id']}/reviews?which=second_look")["data"]
    assert [one["answer"] for one in waiting] == [line["answer"]]


def test_group_override(service):
    exam = service.graded(6)
    groups = service.call("GET", f"/exams/{exam['id']}/items/practice-one/groups")["data"]
    assert [group["size"] for group in groups] == [3, 3]
    body = {"answers": groups[0]["answers"], "item": "practice-one", "score": 1, "reason": "same"}
    assert service.call("POST", f"/exams/{exam['id']}/reviews/override", body)["changed"] == 3
    again = service.call("POST", f"/exams/{exam['id']}/reviews/override", {**body, "score": 2})
    assert again["changed"] == 0
    assert len(again["kept"]) == 3


def test_near_identical_notice(service):
    exam = service.graded(4)
    notice = service.call("GET", f"/exams/{exam['id']}/near-identical")
    assert len(notice["pairs"]) == 1
    assert notice["pairs"][0]["left_candidate"] != notice["pairs"][0]["right_candidate"]


def test_regrade_is_a_dry_run_first(service, content):
    exam = service.graded(6)
    line = next(
        one
        for one in service.call("GET", f"/exams/{exam['id']}/reviews?which=all&item=practice-one")["data"]
        if "bananas" in one["text"]
    )
    service.call("POST", f"/reviews/{line['answer']}/override", {"score": 0.5, "reason": "x"}, etag=line["revision"])
    newer = content("practice-one")
    newer["components"]["definition"]["elements"][0]["key_statements"].append("bananas and wood")
    service.call("POST", "/items/practice-one/versions", {"content": newer}, etag=2)
    before = service.call("GET", f"/exams/{exam['id']}/results")
    job = service.call("POST", f"/exams/{exam['id']}/regrades", {"items": [{"item": "practice-one"}]})
    early = service.client.post(f"/v1/regrades/{job['id']}/apply", json={"reason": "x"}, headers=service.teacher)
    assert code(early) == "wrong-state"
    service.work()
    assert service.call("GET", f"/exams/{exam['id']}/results") == before
    diff = service.call("GET", f"/regrades/{job['id']}")
    assert (diff["compared"], diff["decided"]) == (6, 1)
    assert diff["changed"] == 2
    assert all(one["delta"] > 0 for one in diff["changes"])
    applied = service.call("POST", f"/regrades/{job['id']}/apply", {"reason": "accepted wording"})
    assert applied == {"changed": 2, "left": 1}
    assert service.call("GET", f"/reviews/{line['answer']}")["score"] == 0.5
    changed = service.call("GET", f"/reviews/{diff['changes'][0]['answer']}")
    assert changed["version"] == 2
    assert changed["history"][-1]["action"] == "regrade"
    assert service.call("GET", f"/exams/{exam['id']}")["items"][0]["version"] == 2
    twice = service.client.post(f"/v1/regrades/{job['id']}/apply", json={"reason": "x"}, headers=service.teacher)
    assert code(twice) == "wrong-state"


def test_item_of_an_exam_cannot_be_deleted(service):
    service.exam()
    answer = service.client.delete("/v1/items/practice-one", headers={**service.teacher, "If-Match": '"2"'})
    assert code(answer) == "in-use"


def test_the_first_chunk_is_small_so_that_progress_shows_at_once(make_service):
    service = make_service(chunk_size=100)
    exam = service.exam()
    service.answer(exam["id"], {f"{n}": {"practice-one": f"It keeps {n}.", "practice-two": "x"} for n in range(20)})
    job = service.call("POST", f"/exams/{exam['id']}/grade")
    svc = service.client.app.state.services
    with svc.db.read() as session:
        sizes = list(session.scalars(select(Chunk.size).where(Chunk.job_id == job["id"]).order_by(Chunk.id)))
    assert sizes == [8, 12, 20]
    assert service.work() == 3
    assert service.call("GET", f"/exams/{exam['id']}")["marked"] == 40


def test_grade_boundaries(service):
    bounds = [{"grade": "B", "from_percent": 0}, {"grade": "A", "from_percent": 60}]
    exam = service.exam(pass_percent=60, boundaries=bounds)
    service.answer(exam["id"], {"1": {"practice-one": "x", "practice-two": "y"}})
    service.call("POST", f"/exams/{exam['id']}/grade")
    service.work()
    for line in service.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"]:
        body = {"score": 3, "reason": "set"}
        service.call("POST", f"/reviews/{line['answer']}/override", body, etag=line["revision"])
    one = service.call("GET", f"/exams/{exam['id']}/results")["data"][0]
    assert (one["percent"], one["passed"], one["grade"]) == (60, True, "A")


def test_delete_exam(service):
    exam = service.graded()
    service.call("DELETE", f"/exams/{exam['id']}", etag=1)
    assert code(service.client.get(f"/v1/exams/{exam['id']}", headers=service.teacher)) == "not-found"
    with service.client.app.state.services.db.read() as session:
        assert session.query(Mark).count() == 0
        assert session.query(Job).count() == 0
