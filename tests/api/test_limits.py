"""Limits around every request: time, size, origins of browsers."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from pydantic import ValidationError

from api.middleware import Deadline
from api.settings import Settings
from grader.rubric import Item

ORIGIN = "https://school.example"


def code(answer):
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.json()["code"]


class SlowScorer:
    """Waits before it grades, as a scorer under heavy load would."""

    def __init__(self, scorer):
        self.scorer = scorer
        self.go = threading.Event()

    def grade_many(self, item, responses, *, language="en", **more):
        self.go.wait(20)
        return self.scorer.grade_many(item, responses, language=language, **more)


def test_an_answer_that_takes_too_long(make_service, monkeypatch, content):
    service = make_service(request_seconds=2)
    box = service.client.app.state.services.scorer
    box.grade_many(Item.model_validate(content("practice-one")), ["x"])
    slow = SlowScorer(box.get())
    monkeypatch.setattr(box, "_scorer", slow)
    body = {"item": "practice-one", "response": "x"}
    begun = time.monotonic()
    answer = service.client.post("/v1/score", json=body, headers=service.teacher)
    assert (answer.status_code, code(answer)) == (504, "too-slow")
    assert time.monotonic() - begun < 10
    assert answer.headers["retry-after"]
    assert service.client.get("/v1/me", headers=service.teacher).status_code == 200
    slow.go.set()
    assert service.client.post("/v1/score", json=body, headers=service.teacher).status_code == 200


def run(app, seconds):
    """The messages that come out of an application under a deadline, and what it raised."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    async def main():
        try:
            await Deadline(app, seconds)({"type": "http"}, receive, send)
        except RuntimeError as error:
            return error
        await asyncio.sleep(0.3)
        return None

    error = asyncio.run(main())
    return sent, error


async def answer(send, pause=0.0):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await asyncio.sleep(pause)
    await send({"type": "http.response.body", "body": b"x"})


def test_an_answer_that_has_begun_may_take_long():
    async def app(scope, receive, send):
        await answer(send, 0.2)

    sent, error = run(app, 0.1)
    assert [one.get("status") for one in sent] == [200, None]
    assert error is None


def test_a_late_answer_is_dropped():
    finished = []

    async def app(scope, receive, send):
        await asyncio.sleep(0.2)
        await answer(send)
        finished.append(True)

    sent, _ = run(app, 0.1)
    assert [one.get("status") for one in sent] == [504, None]
    assert finished == [True]


def test_errors_pass_the_deadline():
    async def app(scope, receive, send):
        raise RuntimeError("x")

    assert str(run(app, 1)[1]) == "x"


def preflight(service, origin):
    head = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    return service.client.options("/v1/score", headers=head)


def test_browsers_of_other_sites_are_not_let_in(service):
    assert "access-control-allow-origin" not in preflight(service, ORIGIN).headers
    answer = service.client.get("/v1/me", headers={**service.teacher, "Origin": ORIGIN})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_named_origins_are_let_in(make_service):
    service = make_service(cors_origins=(ORIGIN,))
    found = preflight(service, ORIGIN)
    assert found.status_code == 200
    assert found.headers["access-control-allow-origin"] == ORIGIN
    assert "access-control-allow-credentials" not in found.headers
    assert "access-control-allow-origin" not in preflight(service, "https://other.example").headers
    answer = service.client.get("/v1/none", headers={**service.teacher, "Origin": ORIGIN})
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "ETag" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize("origin", ["*", "school.example", "https://*.example", "https://school.example/", "file://x"])
def test_origins_must_be_named(origin):
    with pytest.raises(ValidationError, match="no origin"):
        Settings(cors_origins=(origin,))


def test_origins_from_the_environment(monkeypatch):
    monkeypatch.setenv("GRADER_CORS_ORIGINS", f'["{ORIGIN}"]')
    assert Settings().cors_origins == (ORIGIN,)


def test_a_body_of_200_megabytes_is_refused_before_it_is_read(service):
    head = {**service.teacher, "Content-Length": str(200 * 1024 * 1024), "Content-Type": "application/json"}
    assert code(service.client.post("/v1/score", content=b"{}", headers=head)) == "too-large"
    exam = service.exam()
    head["Content-Type"] = "multipart/form-data; boundary=x"
    assert code(service.client.post(f"/v1/exams/{exam['id']}/uploads", content=b"--x", headers=head)) == "too-large"


def test_a_body_that_stalls(make_service):
    service = make_service(body_seconds=0.2)
    sent = []

    async def main():
        head = [(name.lower().encode(), value.encode()) for name, value in service.teacher.items()]
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/score",
            "raw_path": b"/v1/score",
            "query_string": b"",
            "headers": [*head, (b"content-type", b"application/json")],
        }
        pieces = asyncio.Queue()
        pieces.put_nowait({"type": "http.request", "body": b"{", "more_body": True})

        async def send(message):
            sent.append(message)

        await service.client.app(scope, pieces.get, send)

    asyncio.run(main())
    assert sent[0]["status"] == 408
    assert b'"code": "timeout"' in sent[1]["body"]
