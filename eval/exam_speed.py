"""How fast the service grades a class exam: ``python -m eval.exam_speed``.

Starts the service with one worker on a new SQLite file, lets both load their models, uploads a table of made answers,
grades it, and meanwhile asks for single scores. Prints one JSON object: seconds, seconds to the first progress,
percentiles of the single scores, and processor seconds, which say more than the clock on a machine that others use.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from grader import Item, load_bank

_AUTHORED = Path(__file__).with_name("data") / "authored_answers.csv"
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Plan:
    """Size of the exam.

    Attributes:
        candidates: Candidates, each of whom answers every item.
        items: Items of the bank, in the order of their ids.
        words: Words of an answer, about.
        seed: Of the answers.
        pause: Seconds between two single scores.
    """

    candidates: int = 300
    items: int = 20
    words: int = 40
    seed: int = 0
    pause: float = 0.2


def material(items: Sequence[Item]) -> dict[str, list[str]]:
    """Sentences for each item: wordings of its rubric and what its author wrote as a candidate."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for item in items:
        for component in item.components.values():
            for element in component.elements:
                found[item.id] += element.key_statements
        for misconception in item.misconceptions:
            found[item.id] += misconception.statements
    with _AUTHORED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["question_id"] in found:
                found[row["question_id"]] += [one for one in row["answer"].splitlines() if one.strip()]
    return dict(found)


def make_answer(sentences: Sequence[str], words: int, chance: random.Random) -> str:
    """An answer of about ``words`` words: drawn sentences, each with a word left out or two letters swapped."""
    chosen: list[str] = []
    while len(" ".join(chosen).split()) < words:
        parts = chance.choice(sentences).split()
        at = chance.randrange(len(parts))
        if chance.random() < 0.5 and len(parts) > 3:
            del parts[at]
        elif len(parts[at]) > 3:
            parts[at] = parts[at][:1] + parts[at][2] + parts[at][1] + parts[at][3:]
        chosen.append(" ".join(parts))
    return " ".join(chosen)


def table(plan: Plan, items: Sequence[Item]) -> bytes:
    """The answers of the exam as a wide CSV file."""
    chance, sentences = random.Random(plan.seed), material(items)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["candidate", *(item.id for item in items)])
    for number in range(plan.candidates):
        answers = [make_answer(sentences[item.id], plan.words, chance) for item in items]
        writer.writerow([f"{number:05}", *answers])
    return out.getvalue().encode()


@dataclass
class Service:
    """A running service, reached with its administrator's key."""

    url: str
    key: str
    pid: int

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """What the service answers, as JSON.

        Raises:
            urllib.error.HTTPError: It refuses.
        """
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        head = {"Authorization": f"Bearer {self.key}", "Content-Type": kind}
        request = urllib.request.Request(f"{self.url}{path}", data, head, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def processor_seconds(self) -> float:
        """Seconds that the service and its workers have computed so far (Linux only)."""
        parents: dict[int, tuple[int, float]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                parents[int(path.parent.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICK
        return sum(seconds for pid, (_, seconds) in parents.items() if self._mine(pid, parents))

    def _mine(self, pid: int, parents: Mapping[int, tuple[int, float]]) -> bool:
        while pid != self.pid and pid in parents:
            pid = parents[pid][0]
        return pid == self.pid


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Service]:
    """A service with one worker on a new database in ``folder``."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    database = f"sqlite:///{folder / 'exam.db'}"
    settings = {"DATABASE_URL": database, "PORT": str(port), "WORKERS": "1", "RATE_LIMIT": "1000000/minute"}
    environment = {**os.environ, **{f"GRADER_{name}": value for name, value in settings.items()}}
    log = (folder / "log").open("wb")
    command = [sys.executable, "-m", "grader", "serve"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout
        key = next(word for line in process.stdout for word in line.split() if word.startswith("gk_"))
        threading.Thread(target=process.stdout.read, daemon=True).start()
        service = Service(f"http://127.0.0.1:{port}", key, process.pid)
        _wait_until_ready(service)
        yield service
    finally:
        process.terminate()
        process.wait(60)
        log.close()


def _wait_until_ready(service: Service) -> None:
    for _ in range(600):
        try:
            service.call("GET", "/ready")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the service does not start")


@dataclass
class Prober:
    """Asks for single scores until it is stopped, and notes how long each took.

    Attributes:
        service: The service.
        item: The item.
        answers: What is scored, each once.
        pause: Seconds between two.
        seconds: How long each took.
    """

    service: Service
    item: str
    answers: Sequence[str]
    pause: float
    seconds: list[float] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Ask until stopped."""
        for answer in self.answers:
            begun = time.perf_counter()
            self.service.call("POST", "/v1/score", {"item": self.item, "response": answer})
            self.seconds.append(time.perf_counter() - begun)
            if self.stop.wait(self.pause):
                return


def new_exam(service: Service, items: Sequence[Item]) -> str:
    """Id of a new exam of these items."""
    body = {"title": "Speed", "items": [{"item": item.id} for item in items], "take_from_practice": True}
    return str(service.call("POST", "/v1/exams", body)["id"])


def upload(service: Service, exam: str, data: bytes) -> None:
    """Send the table and store its answers."""
    edge = "exam-speed"
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="answers.csv"\r\n\r\n'
    body = head.encode() + data + f"\r\n--{edge}--\r\n".encode()
    made = service.call("POST", f"/v1/exams/{exam}/uploads", body, f"multipart/form-data; boundary={edge}")
    mapping = {one["key"]: one["item"] for one in made["preview"]["questions"]}
    service.call("POST", f"/v1/exams/{exam}/uploads/{made['id']}/apply", {"mapping": mapping})


def grade(service: Service, exam: str) -> dict[str, float]:
    """Grade the exam; seconds until done and until the first progress is seen, answers graded.

    Raises:
        RuntimeError: The job failed.
    """
    begun, first = time.perf_counter(), 0.0
    used = service.processor_seconds()
    job = service.call("POST", f"/v1/exams/{exam}/grade")
    while job["state"] == "active":
        time.sleep(0.5 if first else 0.05)
        job = service.call("GET", f"/v1/jobs/{job['id']}")
        if job["done"] and not first:
            first = time.perf_counter() - begun
    if job["state"] != "done":
        raise RuntimeError(f"the job is {job['state']}: {job['error']}")
    return {
        "answers": job["done"],
        "grade_seconds": time.perf_counter() - begun,
        "first_progress_seconds": first,
        "grade_processor_seconds": service.processor_seconds() - used,
    }


def measure(plan: Plan) -> dict[str, float]:
    """Grade one exam and report; see the module."""
    bank = sorted(load_bank().values(), key=lambda item: item.id)
    items, other = bank[: plan.items], bank[plan.items]
    chance, own = random.Random(plan.seed + 1), material([other])[other.id]
    probes = [make_answer(own, plan.words, chance) for _ in range(5_000)]
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as service:
        warm = new_exam(service, [other])
        upload(service, warm, table(replace(plan, candidates=2), [other]))
        grade(service, warm)
        exam = new_exam(service, items)
        begun = time.perf_counter()
        upload(service, exam, table(plan, items))
        uploaded = time.perf_counter() - begun
        service.call("POST", "/v1/score", {"item": other.id, "response": probes.pop()})
        prober = Prober(service, other.id, probes, plan.pause)
        thread = threading.Thread(target=prober.run)
        thread.start()
        try:
            graded = grade(service, exam)
        finally:
            prober.stop.set()
            thread.join()
    p50, p95 = np.percentile(prober.seconds, [50, 95])
    scores = {"single_scores": len(prober.seconds), "single_p50_ms": 1000 * p50, "single_p95_ms": 1000 * p95}
    return {"upload_seconds": uploaded, **graded, **scores}


def main() -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description="Measure how fast the service grades a class exam.")
    for name, value in (("candidates", 300), ("items", 20), ("words", 40), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--pause", type=float, default=0.2, help="Seconds between two single scores.")
    found = measure(Plan(**vars(parser.parse_args())))
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))


if __name__ == "__main__":
    main()
