"""The load test's figures, and one short run of it against a service that refuses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from eval.exam_speed import Service
from eval.load import SHARES, Sample, Step, Traffic, knee, summary
from grader import Item


class Handler(BaseHTTPRequestHandler):
    """Answers what it is asked and refuses every batch."""

    def do_GET(self) -> None:
        self.answer(200)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(503 if "responses" in body else 200)

    def answer(self, status: int) -> None:
        self.send_response(status)
        if status == 503:
            self.send_header("Retry-After", "0")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_step(address: str) -> None:
    item = Item.from_reference("Why?", "Because it is.")
    traffic = Traffic(Service(address, "gk_x", 0), item, [f"It is {n}." for n in range(30)], "job")
    step = Step(traffic, 5, 1.0, 0.005)
    found = step.run()
    assert {one.kind for one in step.samples} == set(SHARES)
    batches = [one for one in step.samples if one.kind == "batch"]
    assert found["refused"] == len(batches) > 0
    assert found["errors"] == 0
    assert "batch_p95_ms" not in found
    assert 0 <= found["score_p50_ms"] <= found["score_p95_ms"]


def test_nobody_answers() -> None:
    traffic = Traffic(Service("http://127.0.0.1:1", "gk_x", 0), Item.from_reference("Why?", "It is."), ["x"] * 20, "j")
    found = Step(traffic, 1, 0.2, 0.01).run()
    assert found["errors"] >= 1
    assert found["requests_per_second"] == 0


def test_summary() -> None:
    samples = [Sample("score", 200, 0.1), Sample("score", 200, 0.3), Sample("page", 429, 0.0), Sample("page", 500, 0.0)]
    assert summary(3, samples, 2.0) == {
        "people": 3, "requests_per_second": 1.0, "score_p50_ms": 200, "score_p95_ms": 290, "refused": 1, "errors": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [({}, 20), ({"score_p95_ms": 1500}, 10), ({"refused": 1}, 10), ({"errors": 2}, 10), ({"score_p95_ms": None}, 10)],
)
def test_knee(changed: dict[str, int | None], expected: int) -> None:
    fine = {"score_p95_ms": 100, "refused": 0, "errors": 0}
    last = {name: value for name, value in {**fine, **changed}.items() if value is not None}
    assert knee([{"people": 10, **fine}, {"people": 20, **last}]) == expected
    assert knee([{"people": 20, **last}] if changed else []) is None
