"""The tables of calibrations: upgrades, backup, and jobs whose worker dies or takes long."""

from __future__ import annotations

import time

import pytest
from alembic import command
from sqlalchemy import text

from api import calibrations, jobs
from api.backup import export_all, import_all
from api.db import Database, migrate, upgrade
from api.db.models import CalibrationRow
from grader.errors import InputError

_ROWS = (
    "INSERT INTO organisations (id, name, created_at) VALUES ('o', 'School', 1.0)",
    "INSERT INTO exams (id, org_id, title, boundaries, revision, created_by, created_at) "
    "VALUES ('e', 'o', 't', '[]', 1, 'x', 1)",
    "INSERT INTO jobs (id, org_id, exam_id, kind, state, params, created_by, created_at) "
    "VALUES ('j', 'o', 'e', 'grade', 'active', '{}', 'x', 1)",
    "INSERT INTO chunks (id, org_id, job_id, item_id, version, answer_ids, size, state, lease_until, attempts) "
    "VALUES ('c', 'o', 'j', 'i', 1, '[]', 3, 'pending', 0, 0)",
)


def check_upgrade(url: str) -> None:
    upgrade(url, "0002")
    db = Database(url)
    with db.engine.begin() as connection:
        for row in _ROWS:
            connection.execute(text(row))
    upgrade(url)
    with db.engine.connect() as connection:
        assert connection.execute(text("SELECT exam_id, item_id FROM jobs")).one() == ("e", None)
        assert connection.execute(text("SELECT size, progress, calibration_id FROM chunks")).one() == (3, 0, None)
    db.close()


def test_upgrade_keeps_jobs_and_their_chunks(tmp_path):
    check_upgrade(f"sqlite:///{tmp_path / 'old.db'}")


def test_going_back_drops_only_what_is_new(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'old.db'}"
    check_upgrade(url)
    monkeypatch.setattr(command, "upgrade", command.downgrade)
    migrate.upgrade(url, "0002")
    db = Database(url)
    with db.engine.connect() as connection:
        assert connection.execute(text("SELECT id FROM chunks")).scalars().all() == ["c"]
    db.close()


def test_upgrade_on_postgresql(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS olddb")
        connection.execute("CREATE DATABASE olddb")
    head, _, tail = postgres_url.replace("postgresql://", "postgresql+psycopg://").partition("?")
    check_upgrade(f"{head.rpartition('/')[0]}/olddb{'?' + tail if tail else ''}")


MARKED = [
    ("It keeps results.", 3),
    ("Computing takes longer.", 1),
    ("Bananas are yellow.", 0),
    ("Results for later.", 2),
]


def start_fit(service):
    labels = [{"response": text, "human_score": mark} for text, mark in MARKED]
    service.call("POST", "/items/practice-one/labels", {"labels": labels})
    return service.call("POST", "/items/practice-one/calibrations", {})


def test_a_fit_whose_worker_died_is_done_by_another_one(service):
    job = start_fit(service)
    db = service.client.app.state.services.db
    chunk = jobs.claim(db, "dead:1:1", 0.0, 5)
    assert chunk.job_id == job["id"]
    service.work()
    done = service.call("GET", f"/jobs/{job['id']}")
    assert (done["state"], done["done"], done["total"]) == ("done", 4, 4)
    assert not jobs.finish(db, chunk, "dead:1:1", lambda *_: None), "the dead one comes too late"
    assert len(service.call("GET", "/items/practice-one/calibrations")["data"]) == 1


def test_a_long_step_keeps_its_lease(service):
    start_fit(service)
    db = service.client.app.state.services.db
    chunk = jobs.claim(db, "slow:1:1", 0.3, 5)
    with jobs.kept(db, chunk, "slow:1:1", 0.3):
        time.sleep(0.8)
        assert jobs.claim(db, "other:1:1", 0.3, 5) is None
    time.sleep(0.4)
    assert jobs.claim(db, "other:1:1", 60.0, 5).id == chunk.id


def test_progress_counts_answers_of_a_chunk_under_way(service):
    job = start_fit(service)
    db = service.client.app.state.services.db
    chunk = jobs.claim(db, "slow:1:1", 60.0, 5)
    jobs.renew(db, chunk, "slow:1:1", 60.0, 3)
    assert service.call("GET", f"/jobs/{job['id']}")["done"] == 3


def test_backup_holds_labels_calibrations_and_promotions(make_service):
    one, two = make_service(), make_service()
    job = start_fit(one)
    one.work()
    made = one.call("GET", f"/jobs/{job['id']}")["calibration"]
    one.call("POST", f"/calibrations/{made}/promote", {})
    data = export_all(one.client.app.state.services.db, one.org_id)
    import_all(two.client.app.state.services.db, data)
    for path in ("/items/practice-one/labels", "/items/practice-one/calibrations", f"/calibrations/{made}/study"):
        assert two.client.get(f"/v1{path}", headers=one.teacher).json() == one.call("GET", path)
    body = {"item": "practice-one", "response": "It keeps results."}
    mine, theirs = (each.client.post("/v1/score", json=body, headers=one.teacher).json() for each in (one, two))
    assert mine == theirs
    assert "cal:none" not in mine["signature"]


def test_an_edited_calibration_is_refused(service):
    job = start_fit(service)
    service.work()
    made = service.call("GET", f"/jobs/{job['id']}")["calibration"]
    service.call("POST", f"/calibrations/{made}/promote", {})
    db = service.client.app.state.services.db
    with db.write() as session:
        row = session.get(CalibrationRow, made)
        row.content = row.content[:-200]
    with db.read() as session, pytest.raises(InputError, match="damaged"):
        calibrations.opened(session, made)
    score = service.call("POST", "/score", {"item": "practice-one", "response": "It keeps results."})
    assert "cal:none" in score["signature"], "practice goes on"
