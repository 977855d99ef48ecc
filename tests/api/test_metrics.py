"""Gauges of jobs: what waits, what runs, how old it is, on both databases, and while the database is away."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import event, select, text, update

from api import jobs
from api.db import made_at, new_id
from api.db.models import Chunk
from api.jobs import Backlog

NAMES = ("grader_chunks_waiting", "grader_chunks_running", "grader_oldest_waiting_chunk_seconds")


def gauges(service):
    answer = service.client.get("/metrics")
    assert answer.status_code == 200
    lines = (line.split() for line in answer.text.splitlines() if line.startswith(NAMES))
    return {name: float(value) for name, value in lines}


def database(service):
    return service.client.app.state.services.db


@pytest.fixture(params=["sqlite", "postgresql"])
def any_service(request):
    return request.getfixturevalue("make_service" if request.param == "sqlite" else "postgres_service")()


def test_chunks_wait_run_and_end(any_service):
    service, db = any_service, database(any_service)
    assert gauges(service) == dict.fromkeys(NAMES, 0)
    began = time.time()
    service.started(20)
    waiting = gauges(service)["grader_chunks_waiting"]
    assert waiting > 2
    chunk = jobs.claim(db, "somewhere:1:1", 60, 5)
    found = gauges(service)
    assert (found["grader_chunks_waiting"], found["grader_chunks_running"]) == (waiting - 1, 1)
    assert 0 <= found["grader_oldest_waiting_chunk_seconds"] <= time.time() - began + 1
    jobs.fail(db, chunk, "somewhere:1:1", 5, "given back")
    assert gauges(service)["grader_chunks_waiting"] == waiting
    service.work()
    assert gauges(service) == dict.fromkeys(NAMES, 0)


def test_the_age_is_that_of_the_oldest_waiting_chunk(any_service):
    service, db = any_service, database(any_service)
    _, job = service.started(20)
    hour_ago = f"{int((time.time() - 3600) * 1e6):013x}{14 * '0'}"
    with db.write() as session:
        first = session.scalars(select(Chunk.id).where(Chunk.job_id == job["id"]).order_by(Chunk.id)).first()
        session.execute(update(Chunk).where(Chunk.id == first).values(id=hour_ago))
    assert gauges(service)["grader_oldest_waiting_chunk_seconds"] == pytest.approx(3600, abs=5)
    assert jobs.claim(db, "somewhere:1:1", 60, 5).id == hour_ago
    assert gauges(service)["grader_oldest_waiting_chunk_seconds"] < 60


def test_a_lease_from_a_lost_future_waits_and_paused_jobs_do_not(any_service):
    service, db = any_service, database(any_service)
    _, job = service.started(20)
    waiting = jobs.backlog(db, 60).waiting
    with db.write() as session:
        session.execute(update(Chunk).values(lease_until=time.time() + 24 * 3600, owner="gone:1:1"))
    assert (jobs.backlog(db, 60).waiting, jobs.backlog(db, 60).running) == (waiting, 0)
    service.call("POST", f"/jobs/{job['id']}/pause")
    assert jobs.backlog(db, 60) == Backlog(0, 0, 0.0)


def test_the_count_reads_by_indices_what_is_left(service):
    db, asked = database(service), []
    event.listen(db.engine, "before_cursor_execute", lambda c, cur, sql, values, *rest: asked.append((sql, values)))
    jobs.backlog(db, 60)
    (query, values), *more = [(sql, values) for sql, values in asked if sql.startswith("SELECT")]
    assert not more
    with db.engine.connect() as connection:
        plan = " ".join(row[3] for row in connection.exec_driver_sql(f"explain query plan {query}", values))
    assert "ix_jobs_state (state=?)" in plan
    assert "ix_chunks_job_state (job_id=? AND state=?)" in plan


def test_without_a_database_the_other_metrics_are_given(service):
    with database(service).write() as session:
        session.execute(text("drop table chunks"))
    assert gauges(service) == {}
    assert "http_requests_total" in service.client.get("/metrics").text


def test_the_age_of_an_id():
    assert made_at(new_id()) == pytest.approx(time.time(), abs=5)
