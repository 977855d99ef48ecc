"""Fifty clients at once, over HTTP: no answer of the kind 5xx, and nothing lost."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
import uvicorn

from api.worker import run_worker

SECONDS = float(os.environ.get("GRADER_LOAD_SECONDS", "60"))
CLIENTS = 50


@dataclass
class Client:
    """One of many: adds answers of candidates of its own, and reads, scores, grades and decides in between."""

    number: int
    http: httpx2.Client
    exam: str
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    made: int = 0

    def run(self, until: float) -> None:
        chance = random.Random(self.number)
        actions = [self.add, self.score, self.batch, self.stream, self.read, self.grade, self.decide, self.upload]
        self.add()
        while time.monotonic() < until:
            chance.choice(actions)()

    def send(self, name: str, method: str, path: str, **more: Any) -> Any:
        answer = self.http.request(method, f"/v1{path}", **more)
        self.statuses[name, answer.status_code] += 1
        return answer

    def add(self) -> None:
        one = {"candidate": f"{self.number}-{self.made}", "item": "practice-two", "response": f"It keeps {self.made}."}
        answer = self.send("add", "POST", f"/exams/{self.exam}/answers", json={"answers": [one]})
        self.made += answer.status_code == 201

    def score(self) -> None:
        self.send("score", "POST", "/score", json={"item": "practice-one", "response": f"It keeps {self.number}."})

    def batch(self) -> None:
        responses = [{"id": str(at), "response": f"It keeps {at}."} for at in range(10)]
        self.send("batch", "POST", "/score/batch", json={"item": "practice-one", "responses": responses})

    def stream(self) -> None:
        line = json.dumps({"id": "1", "item": "practice-one", "response": "It keeps results."}) + "\n"
        answer = self.send("stream", "POST", "/score/stream", content=line * 5)
        assert len(answer.text.splitlines()) == 5

    def read(self) -> None:
        for path in ("", "/results", "/statistics", "/reviews?which=all&limit=5", "/jobs"):
            self.send("read", "GET", f"/exams/{self.exam}{path}")
        self.send("read", "GET", "/items")

    def grade(self) -> None:
        self.send("grade", "POST", f"/exams/{self.exam}/grade")

    def decide(self) -> None:
        found = self.send("read", "GET", f"/exams/{self.exam}/reviews?which=all&limit=50").json()["data"]
        for line in random.Random(self.made).sample(found, min(1, len(found))):
            head = {"If-Match": f'"{line["revision"]}"'}
            body = {"score": 2, "reason": "x"}
            self.send("decide", "POST", f"/reviews/{line['answer']}/override", json=body, headers=head)

    def upload(self) -> None:
        table = {"file": ("a.csv", f"candidate,practice-two\nu{self.number},It keeps results.\n".encode())}
        self.send("upload", "POST", f"/exams/{self.exam}/uploads", files=table)


@contextmanager
def served(service: Any) -> Iterator[str]:
    """The application on a port of its own, with a worker."""
    config = uvicorn.Config(service.client.app, port=0, log_config=None, ws="none", timeout_graceful_shutdown=5)
    server, stop = uvicorn.Server(config), threading.Event()
    scorer = service.client.app.state.services.scorer.get()
    threads = [
        threading.Thread(target=server.run),
        threading.Thread(target=run_worker, args=(service.settings, stop, scorer)),
    ]
    for thread in threads:
        thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        stop.set()
        server.should_exit = True
        for thread in threads:
            thread.join()


def crowd(service: Any) -> None:
    exam = service.exam(("practice-two",))
    with served(service) as url:
        clients = [
            Client(n, httpx2.Client(base_url=url, headers=service.teacher, timeout=120), exam["id"])
            for n in range(CLIENTS)
        ]
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=one.run, args=(until,)) for one in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in clients:
            one.http.close()
    statuses = sum((one.statuses for one in clients), Counter())
    allowed = {"grade": {201, 202, 409}, "decide": {200, 409, 412}}
    wrong = {key: count for key, count in statuses.items() if key[1] not in allowed.get(key[0], {200, 201})}
    assert wrong == {}
    assert {name for name, _ in statuses} >= {"add", "score", "batch", "stream", "read", "grade", "decide", "upload"}
    assert all(one.made for one in clients)
    assert service.call("GET", f"/exams/{exam['id']}")["answers"] == sum(one.made for one in clients)


@pytest.mark.slow
def test_fifty_clients(make_service):
    crowd(make_service())


@pytest.mark.slow
def test_fifty_clients_on_postgresql(postgres_service):
    crowd(postgres_service())
