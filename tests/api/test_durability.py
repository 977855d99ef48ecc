"""kill -9 at any moment: nothing is lost, nothing is stored twice; also two workers on one job."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from api.worker import run_worker

_SCRIPT = textwrap.dedent(
    """
    import sys, threading, time
    from api.settings import Settings
    from api.worker import run_worker
    from grader.encoder import HashEncoder
    from grader.grading import Grader
    from grader.rubric import Item

    class Slow:
        def __init__(self):
            self.inner = Grader(HashEncoder())

        def grade_many(self, item, responses, *, language="en", calibration=None):
            time.sleep(0.02)
            return self.inner.grade_many(item, responses, language=language)

    scorer = Slow()
    scorer.grade_many(Item.from_reference("Why?", "Because it keeps results."), ["It keeps rezults."])
    print("ready", flush=True)
    run_worker(Settings.model_validate_json(sys.argv[1]), threading.Event(), scorer)
    """
)


def start_worker(settings):
    text = settings.model_dump_json(exclude={"pepper"})
    return subprocess.Popen([sys.executable, "-c", _SCRIPT, text], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def kill_at_random(service, job, chance):
    """Start a worker and kill it at a random moment of its work, whatever the speed of the machine."""
    begun = progress(service, job)
    target = begun + chance.randrange(0, 4) * service.settings.chunk_size
    process = start_worker(service.settings)
    try:
        process.stdout.readline()
        deadline = time.monotonic() + 10
        while progress(service, job) < target and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.1))
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
        process.stdout.close()
    assert progress(service, job) >= begun


def progress(service, job):
    return service.call("GET", f"/jobs/{job['id']}")["done"]


def kill_and_resume(service, kills, people, seed):
    exam, job = service.started(people)
    chance = random.Random(seed)
    for _ in range(kills):
        kill_at_random(service, job, chance)
    killed_at = progress(service, job)
    stop = threading.Event()
    scorer = service.client.app.state.services.scorer.get()
    thread = threading.Thread(target=run_worker, args=(service.settings, stop, scorer))
    thread.start()
    service.wait_for(job, 120)
    stop.set()
    thread.join(10)
    service.assert_marked_once(exam, people * 2)
    return killed_at


def test_kill_twice(make_service):
    kill_and_resume(make_service(max_attempts=100, chunk_size=5), 2, 60, 1)


@pytest.mark.slow
def test_kill_twenty_times(make_service):
    service = make_service(max_attempts=100, chunk_size=3)
    killed_at = kill_and_resume(service, 20, 150, 2)
    assert 0 < killed_at < 300


@pytest.mark.slow
def test_kill_twenty_times_on_postgresql(postgres_service):
    service = postgres_service(max_attempts=100, chunk_size=3)
    killed_at = kill_and_resume(service, 20, 150, 3)
    assert 0 < killed_at < 300


def share(service):
    exam, job = service.started(60)
    stop = threading.Event()
    scorer = service.client.app.state.services.scorer.get()
    threads = [threading.Thread(target=run_worker, args=(service.settings, stop, scorer)) for _ in range(3)]
    for thread in threads:
        thread.start()
    service.wait_for(job)
    stop.set()
    for thread in threads:
        thread.join(10)
    service.assert_marked_once(exam, 120)


def test_workers_share_a_job(make_service):
    share(make_service(chunk_size=3))


def test_workers_share_a_job_on_postgresql(postgres_service):
    share(postgres_service(chunk_size=3))


def two_processes(service):
    """Both start at the same time and see the same chunks."""
    exam, job = service.started(40)
    processes = [start_worker(service.settings) for _ in range(2)]
    try:
        for process in processes:
            assert process.stdout.readline() == b"ready\n"
        service.wait_for(job, 60)
    finally:
        for process in processes:
            process.kill()
            process.wait(10)
            process.stdout.close()
    service.assert_marked_once(exam, 80)


def test_two_processes_on_one_job(make_service):
    two_processes(make_service(chunk_size=2))


@pytest.mark.slow
def test_two_processes_on_one_job_on_postgresql(postgres_service):
    two_processes(postgres_service(chunk_size=2))
