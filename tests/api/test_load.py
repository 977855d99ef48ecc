"""Fifty clients at once: no answer of the kind 5xx, and nothing lost."""

from __future__ import annotations

import os
import random
import threading
import time

import pytest

SECONDS = float(os.environ.get("GRADER_LOAD_SECONDS", "60"))


def one_client(service, exam, number, until, statuses):
    chance = random.Random(number)
    made = 0
    while time.monotonic() < until or made == 0:
        action = chance.randrange(4)
        if action == 0 or made == 0:
            answers = [{"candidate": f"{number}-{made}", "item": "practice-two", "response": f"It keeps {made}."}]
            sent = ("POST", f"/exams/{exam['id']}/answers", {"answers": answers})
            made += 1
        elif action == 1:
            sent = ("POST", "/score", {"item": "practice-one", "response": f"It keeps {number}."})
        elif action == 2:
            sent = ("GET", f"/exams/{exam['id']}", None)
        else:
            sent = ("GET", "/items", None)
        answer = service.client.request(sent[0], f"/v1{sent[1]}", json=sent[2], headers=service.teacher)
        statuses.append((sent[1], answer.status_code))
        if answer.status_code >= 500:
            return
    statuses.append(("made", made))


def crowd(service):
    exam = service.exam(("practice-two",))
    statuses: list[tuple[str, int]] = []
    until = time.monotonic() + SECONDS
    threads = [threading.Thread(target=one_client, args=(service, exam, n, until, statuses)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = [count for name, count in statuses if name == "made"]
    assert {status for name, status in statuses if name != "made"} <= {200, 201}
    assert len(made) == 50
    assert service.call("GET", f"/exams/{exam['id']}")["answers"] == sum(made)


@pytest.mark.slow
def test_fifty_clients(make_service):
    crowd(make_service())


@pytest.mark.slow
def test_fifty_clients_on_postgresql(postgres_service):
    crowd(postgres_service())
