"""More requests than can be answered: refused with the time to come back, and over by itself."""

from __future__ import annotations

import json
import threading
import time

import anyio
import httpx2
import pytest
from anyio import to_thread

from api.problems import Problem
from api.scoring import CALLS, ScorerBox
from grader.rubric import Item

ONE = {"item": "practice-one", "response": "It keeps results for later use."}


class Gate:
    """Scores only while it is open, and notes how many responses each call brings."""

    def __init__(self, scorer):
        self.scorer = scorer
        self.open = threading.Event()
        self.sizes = []

    def grade_many(self, item, responses, *, language="en", calibration=None):
        self.sizes.append(len(responses))
        assert self.open.wait(20)
        return self.scorer.grade_many(item, responses, language=language, calibration=calibration)


@pytest.fixture
def gate(scorer):
    made = Gate(scorer)
    yield made
    made.open.set()


@pytest.fixture
def item(content):
    return Item.model_validate(content("practice-one"))


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def in_threads(function, count):
    threads = [threading.Thread(target=function) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


def join(threads):
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_further_calls_are_refused_until_there_are_places_again(gate, item):
    box, done = ScorerBox(lambda: gate), []
    threads = in_threads(lambda: done.append(box.grade(item, "x")), CALLS)
    wait_for(lambda: box._backlog.calls == CALLS)
    with pytest.raises(Problem) as caught:
        box.grade(item, "x")
    assert (caught.value.status, caught.value.code) == (503, "overloaded")
    assert int(caught.value.headers["Retry-After"]) > 0
    patient = in_threads(lambda: done.append(box.grade_many(item, ["x"], patient=True)), 1)
    gate.open.set()
    join([*threads, *patient])
    assert len(done) == CALLS + 1
    assert box.grade(item, "x").score == 0


def test_responses_are_counted_and_a_large_batch_alone_is_taken(gate, item):
    box, done = ScorerBox(lambda: gate, backlog=100), []
    threads = in_threads(lambda: done.append(box.grade_many(item, ["x"] * 150)), 1)
    wait_for(lambda: gate.sizes)
    with pytest.raises(Problem, match="wait to be scored"):
        box.grade(item, "x")
    gate.open.set()
    join(threads)
    assert [len(one) for one in done] == [150]
    assert len(gate.sizes) > 1
    assert sum(gate.sizes) == 150
    box.grade_many(item, ["x"] * 100)


def test_a_failing_call_gives_its_place_back(item):
    class Broken:
        def grade_many(self, item, responses, *, language="en", calibration=None):
            raise RuntimeError

    box = ScorerBox(Broken)
    for _ in range(CALLS + 1):
        with pytest.raises(RuntimeError):
            box.grade(item, "x")


def test_a_single_score_overtakes_a_large_batch(scorer, item):
    class Slow:
        def grade_many(self, item, responses, *, language="en", calibration=None):
            time.sleep(0.02)
            return scorer.grade_many(item, responses, language=language, calibration=calibration)

    box, ended = ScorerBox(Slow, threads=1), []
    batch = threading.Thread(target=lambda: ended.append(len(box.grade_many(item, ["x"] * 1000))))
    batch.start()
    wait_for(lambda: box._backlog.calls)
    single = threading.Thread(target=lambda: ended.append(len(box.grade_many(item, ["y"]))))
    single.start()
    join([single, batch])
    assert ended == [1, 1000]


def test_scores_beyond_the_backlog_over_http(make_service, gate, monkeypatch):
    service = make_service(score_backlog=5)
    monkeypatch.setattr(service.client.app.state.services.scorer, "_scorer", gate)
    answers = []

    def score():
        answers.append(service.client.post("/v1/score", json=ONE, headers=service.teacher))

    threads = in_threads(score, 5)
    wait_for(lambda: service.client.app.state.services.scorer._backlog.calls == 5)
    refused = service.client.post("/v1/score", json=ONE, headers=service.teacher)
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    assert refused.headers["retry-after"].isdigit()
    page = service.client.get("/v1/exams", headers=service.teacher)
    assert page.status_code == 200
    gate.open.set()
    join(threads)
    assert [one.status_code for one in answers] == [200] * 5
    assert service.client.post("/v1/score", json=ONE, headers=service.teacher).status_code == 200


def test_streams_wait_instead(make_service, gate, monkeypatch):
    service = make_service(score_backlog=1)
    monkeypatch.setattr(service.client.app.state.services.scorer, "_scorer", gate)
    body, answers = json.dumps({"id": "1", **ONE}) + "\n", []

    def stream():
        answers.append(service.client.post("/v1/score/stream", content=body * 3, headers=service.teacher).text)

    threads = in_threads(stream, 6)
    wait_for(lambda: len(gate.sizes) == 2)
    assert service.client.post("/v1/score", json=ONE, headers=service.teacher).status_code == 503
    gate.open.set()
    join(threads)
    lines = [json.loads(line) for answer in answers for line in answer.splitlines()]
    assert len(lines) == 18
    assert all("score" in line for line in lines)


@pytest.fixture
def full(make_service):
    """Answers of a service to requests that come while all threads are taken and two requests wait."""
    service = make_service(queue_limit=2)

    def send(*requests):
        return anyio.run(_ask_while_full, service, requests)

    return service, send


async def _ask_while_full(service, requests):
    release, limiter = threading.Event(), to_thread.current_default_thread_limiter()
    transport = httpx2.ASGITransport(service.client.app, raise_app_exceptions=False)
    async with (
        httpx2.AsyncClient(transport=transport, base_url="http://test") as client,
        anyio.create_task_group() as group,
    ):
        for _ in range(int(limiter.total_tokens) + 2):
            group.start_soon(to_thread.run_sync, release.wait, 20)
        while limiter.statistics().tasks_waiting < 2:
            await anyio.sleep(0.001)
        try:
            return [await client.request(*one[:2], **one[2]) for one in requests]
        finally:
            release.set()


def test_no_more_requests_wait_than_allowed(full):
    service, send = full
    refused, page, health = send(
        ("GET", "/v1/me", {"headers": service.teacher}),
        ("GET", "/sign-in", {"headers": {"Accept-Language": "de"}}),
        ("GET", "/health", {}),
    )
    assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
    assert refused.headers["retry-after"].isdigit()
    assert refused.headers["content-type"] == "application/problem+json"
    assert page.status_code == 503
    assert page.headers["retry-after"].isdigit()
    assert page.headers["content-type"].startswith("text/html")
    assert "Zu viele Anfragen" in page.text
    assert health.status_code == 200
    assert service.client.get("/v1/me", headers=service.teacher).status_code == 200
    counted = [
        line for line in service.client.get("/metrics").text.splitlines() if line.startswith("http_requests_total")
    ]
    assert any('status="5xx"' in line and line.endswith(" 1.0") for line in counted)


def test_too_many_requests_of_one_key(make_service):
    service = make_service(rate_limit="3/second")
    answers = [service.client.get("/v1/me", headers=service.teacher) for _ in range(4)]
    assert [one.status_code for one in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["retry-after"] == "1"
    time.sleep(int(answers[-1].headers["retry-after"]))
    assert service.client.get("/v1/me", headers=service.teacher).status_code == 200
