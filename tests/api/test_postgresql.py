"""The same service on PostgreSQL: the paths whose SQL differs, end to end."""

from __future__ import annotations

import threading

from sqlalchemy import func, select

from api.auth import Secrets
from api.db import Database, current_revision, head_revision, upgrade
from api.db.models import Organisation
from api.setup import first_key


def test_from_answers_to_results(postgres_service):
    service = postgres_service()
    exam = service.graded(6)
    found = service.call("GET", f"/exams/{exam['id']}/results")["data"]
    assert len(found) == 6
    line = service.call("GET", f"/exams/{exam['id']}/reviews?which=all&limit=3")["data"][0]
    changed = service.call(
        "POST", f"/reviews/{line['answer']}/override", {"score": 2, "reason": "x"}, etag=line["revision"]
    )
    assert changed["score"] == 2
    service.call("POST", f"/reviews/{line['answer']}/undo", {}, etag=changed["revision"])
    job = service.call("POST", f"/exams/{exam['id']}/regrades", {"items": [{"item": "practice-one"}]})
    service.work()
    assert service.call("GET", f"/regrades/{job['id']}")["compared"] == 6
    service.call("POST", f"/regrades/{job['id']}/apply", {"reason": "x"})
    assert service.call("GET", f"/exams/{exam['id']}/statistics")["complete"] == 6
    groups = service.call("GET", f"/exams/{exam['id']}/items/practice-one/groups")["data"]
    body = {"answers": groups[0]["answers"], "item": "practice-one", "score": 1, "reason": "same"}
    assert service.call("POST", f"/exams/{exam['id']}/reviews/override", body)["changed"] == groups[0]["size"]
    service.call("POST", f"/exams/{exam['id']}/release", etag=1)
    assert service.client.get(f"/v1/exams/{exam['id']}/export", headers=service.teacher).status_code == 200
    who = found[0]["candidate"]
    assert service.call("DELETE", f"/candidates/{who}", who="admin")["answers"] == 2
    service.call("DELETE", f"/exams/{exam['id']}", etag=2)


def test_same_idempotency_key_at_the_same_time(postgres_service):
    service = postgres_service()
    body = {"title": "T", "items": [{"item": "practice-one"}], "take_from_practice": True}
    answers = []

    def send():
        head = {**service.teacher, "Idempotency-Key": "k"}
        answers.append(service.client.post("/v1/exams", json=body, headers=head))

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len(service.call("GET", "/exams")["data"]) == 1


def test_nul_and_surrogates_never_reach_the_database(postgres_service):
    service = postgres_service()
    for text in ("a\\u0000b", "a\\ud800b"):
        body = f'{{"title": "{text}", "items": [{{"item": "practice-one"}}]}}'
        head = {**service.teacher, "content-type": "application/json"}
        assert service.client.post("/v1/exams", content=body, headers=head).status_code == 422
    for path in ("/v1/items?tag=%00", "/v1/items?tag=a%00b", "/v1/items/%00"):
        assert service.client.get(path, headers=service.teacher).status_code in (400, 404, 422)


def test_revision(postgres_service):
    service = postgres_service()
    db = Database(service.settings.database_url)
    assert current_revision(db) == head_revision()
    db.close()


def test_replicas_that_start_together_make_one_organisation(postgres_database):
    url = postgres_database()
    upgrade(url)
    db, barrier, keys = Database(url), threading.Barrier(4), []

    def start():
        barrier.wait()
        keys.append(first_key(db, Secrets(b"p" * 32), []))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with db.read() as session:
        assert session.scalar(select(func.count()).select_from(Organisation)) == 1
    db.close()
    assert len([key for key in keys if key]) == 1
