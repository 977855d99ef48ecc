"""How much traffic the service takes: ``python -m eval.load``.

Starts the service with one worker on a new SQLite file and lets a growing number of people use it at once: each waits
a second on average, then asks for a single score, looks at a page, looks how far an exam is, or has a batch of 20
scored. Whoever is refused waits as long as ``Retry-After`` says. With ``--candidates`` an exam of so many people and 10
items is graded meanwhile. Prints one JSON line a step; the last step repeats the first and shows whether the service
recovers.

The knee is the last step before something is refused or a single score takes more than a second in one of 20 cases.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eval.exam_speed import Plan, Service, make_answer, material, new_exam, running, table, upload
from grader import Item, load_bank

#: How often each kind of request is made.
SHARES: Mapping[str, float] = {"score": 0.60, "page": 0.25, "progress": 0.12, "batch": 0.03}
_BATCH = 20
_SLOW = 1.0
_LONGEST_WAIT = 10.0
_REFUSED = (429, 503)


@dataclass(frozen=True, slots=True)
class Sample:
    """One request.

    Attributes:
        kind: One of `SHARES`.
        status: HTTP status, 0 when the connection broke.
        seconds: Until the answer was read.
    """

    kind: str
    status: int
    seconds: float


@dataclass
class Traffic:
    """What people do with the service.

    Attributes:
        service: The service.
        item: The item that is practised.
        answers: Answers to it.
        job: Id of the exam's job.
    """

    service: Service
    item: Item
    answers: Sequence[str]
    job: str

    def request(self, kind: str, chance: random.Random) -> urllib.request.Request:
        """A request of one kind."""
        if kind == "score":
            return self._api("/v1/score", {"item": self.item.id, "response": chance.choice(self.answers)})
        if kind == "batch":
            chosen = chance.sample(self.answers, _BATCH)
            responses = [{"id": str(at), "response": text} for at, text in enumerate(chosen)]
            return self._api("/v1/score/batch", {"item": self.item.id, "responses": responses})
        if kind == "progress":
            return self._api(f"/v1/jobs/{self.job}")
        return urllib.request.Request(f"{self.service.url}/practice/{self.item.id}")

    def _api(self, path: str, body: Any = None) -> urllib.request.Request:
        head = {"Authorization": f"Bearer {self.service.key}", "Content-Type": "application/json"}
        return urllib.request.Request(f"{self.service.url}{path}", json.dumps(body).encode() if body else None, head)


def send(request: urllib.request.Request) -> tuple[int, float]:
    """Status of the answer, 0 without one, and seconds to wait before coming back."""
    try:
        with urllib.request.urlopen(request, timeout=150) as answer:
            answer.read()
            return answer.status, 0.0
    except urllib.error.HTTPError as error:
        with error:
            error.read()
            return error.code, float(error.headers.get("Retry-After", 0))
    except OSError:
        return 0, 1.0


@dataclass
class Step:
    """A number of people for some seconds.

    Attributes:
        traffic: What they do.
        people: How many.
        seconds: How long.
        pause: Mean seconds between an answer and the next request of one person.
        samples: What came of it.
    """

    traffic: Traffic
    people: int
    seconds: float
    pause: float
    samples: list[Sample] = field(default_factory=list)

    def run(self) -> dict[str, Any]:
        """Let them work, and sum up."""
        begun = time.monotonic()
        threads = [threading.Thread(target=self._person, args=(at, begun + self.seconds)) for at in range(self.people)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return summary(self.people, self.samples, time.monotonic() - begun)

    def _person(self, number: int, end: float) -> None:
        chance = random.Random(1000 * self.people + number)
        wait = chance.uniform(0, self.pause)
        while time.monotonic() + wait < end:
            time.sleep(wait)
            kind = chance.choices(list(SHARES), list(SHARES.values()))[0]
            begun = time.perf_counter()
            status, back = send(self.traffic.request(kind, chance))
            self.samples.append(Sample(kind, status, time.perf_counter() - begun))
            wait = chance.expovariate(1 / self.pause) + min(back, _LONGEST_WAIT)


def summary(people: int, samples: Sequence[Sample], seconds: float) -> dict[str, Any]:
    """Rates, percentiles in milliseconds and counts of a step."""
    statuses = Counter(one.status for one in samples)
    found: dict[str, Any] = {"people": people, "requests_per_second": round(statuses[200] / seconds, 1)}
    for kind in SHARES:
        times = [1000 * one.seconds for one in samples if one.kind == kind and one.status == 200]
        if times:
            p50, p95 = np.percentile(times, [50, 95])
            found |= {f"{kind}_p50_ms": round(float(p50)), f"{kind}_p95_ms": round(float(p95))}
    refused = sum(statuses[status] for status in _REFUSED)
    return {**found, "refused": refused, "errors": len(samples) - refused - statuses[200]}


def knee(steps: Sequence[Mapping[str, Any]]) -> int | None:
    """People of the last step before the service has too much to do, ``None`` when the first is too much.

    >>> knee([{"people": 5, "score_p95_ms": 90, "refused": 0, "errors": 0}, {"people": 9, "refused": 3, "errors": 0}])
    5
    """
    found = None
    for step in steps:
        slow = step.get("score_p95_ms", np.inf) > 1000 * _SLOW
        if slow or step["refused"] or step["errors"]:
            break
        found = step["people"]
    return found


def measure(people: Sequence[int], seconds: float, pause: float, candidates: int) -> Iterator[dict[str, Any]]:
    """The steps, the first once more, and the knee."""
    bank = sorted(load_bank().values(), key=lambda item: item.id)
    items, practised = bank[:10], bank[10]
    chance, sentences = random.Random(0), material([practised])[practised.id]
    answers = [make_answer(sentences, 40, chance) for _ in range(3000)]
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as service:
        exam = new_exam(service, items)
        upload(service, exam, table(Plan(candidates=max(candidates, 1)), items))
        job = service.call("POST", f"/v1/exams/{exam}/grade")
        traffic = Traffic(service, practised, answers, job["id"])
        send(traffic.request("score", chance))
        if not candidates:
            wait_until(lambda: service.call("GET", f"/v1/jobs/{job['id']}")["state"] == "done")
        steps = []
        for count in (*people, people[0]):
            steps.append(Step(traffic, count, seconds, pause).run())
            yield steps[-1]
        left = service.call("GET", f"/v1/jobs/{job['id']}")
        yield {"knee": knee(steps[:-1]), "exam_answers": left["total"], "exam_done": left["done"]}


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until ``condition`` holds.

    Raises:
        TimeoutError: It does not in that time.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the service is not ready")
        time.sleep(0.2)


def main() -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description="Measure how much traffic the service takes.")
    parser.add_argument("--people", type=int, nargs="+", default=[5, 10, 20, 40, 80, 160, 320])
    parser.add_argument("--seconds", type=float, default=20.0, help="Of each step.")
    parser.add_argument("--pause", type=float, default=1.0, help="Mean seconds between two requests of one person.")
    parser.add_argument("--candidates", type=int, default=0, help="Of an exam that is graded meanwhile.")
    chosen = parser.parse_args()
    for line in measure(chosen.people, chosen.seconds, chosen.pause, chosen.candidates):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
