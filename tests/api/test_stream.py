"""Streams of responses: answers while the body arrives, limits, problems that name their line."""

from __future__ import annotations

import asyncio
import json

import pytest

from api.ndjson import LineReader

PATH = "/v1/score/stream"
SECRET = "the accepted wording of the cache key"


def line(number, item="practice-one", response="It keeps results for later use."):
    return json.dumps({"id": str(number), "item": item, "response": response}) + "\n"


def post(service, content, who="teacher"):
    answer = service.client.post(PATH, content=content, headers=getattr(service, who))
    assert answer.headers["content-type"].startswith("application/x-ndjson"), answer.text
    return [json.loads(one) for one in answer.text.splitlines()]


def test_lines_are_cut_wherever_pieces_end():
    text = b"one\n\ntwo\n  \nthree"
    for size in range(1, len(text) + 1):
        reader = LineReader(5)
        found = [one for at in range(0, len(text), size) for one in reader.feed(text[at : at + size])] + reader.end()
        assert [(one.number, one.text) for one in found] == [(1, b"one"), (3, b"two"), (5, b"three")]


def test_a_line_too_long_is_dropped_and_the_next_one_read():
    reader = LineReader(4)
    found = [one for piece in (b"123", b"45", b"678\nab", b"cd\n1234", b"5") for one in reader.feed(piece)]
    assert [(one.number, one.text) for one in found] == [(1, None), (2, b"abcd")]
    assert [(one.number, one.text) for one in reader.end()] == [(3, None)]
    assert reader.end() == []


def test_marks_in_order_and_the_same_as_alone(service):
    lines = [line(at, response=f"It keeps {at} results.") for at in range(100)]
    lines[3] = "no json\n"
    lines[5] = line(5, "unknown")
    lines[7] = "\n"
    lines[9] = json.dumps({"id": "9", "item": "practice-one", "response": 3, "more": 1}) + "\n"
    found = post(service, "".join(lines).rstrip())
    assert [one["line"] for one in found] == [at + 1 for at in range(100) if at != 7]
    by_line = {one["line"]: one for one in found}
    assert by_line[4]["problem"]["code"] == "invalid"
    assert "line 4" in by_line[4]["problem"]["detail"]
    assert (by_line[6]["id"], by_line[6]["problem"]["code"]) == ("5", "not-found")
    assert {one["field"] for one in by_line[10]["problem"]["errors"]} == {"response", "more"}
    body = {"item": "practice-one", "response": "It keeps 42 results."}
    assert by_line[43]["score"] == service.call("POST", "/score", body)


def test_a_candidate_sees_no_key(service):
    answer = service.client.post(PATH, content=line(1) + line(2, response="bananas"), headers=service.candidate)
    assert len(answer.text.splitlines()) == 2
    assert SECRET not in answer.text


def test_the_body_limit_is_not_the_streams(make_service):
    small = make_service(body_limit=2000)
    assert len(post(small, "".join(line(at) for at in range(100)))) == 100


def test_too_many_lines(make_service):
    found = post(make_service(stream_lines=40), "".join(line(at) for at in range(100)))
    assert [one["line"] for one in found[:-1]] == list(range(1, 41))
    assert found[-1]["problem"]["code"] == "too-large"
    assert "40 lines" in found[-1]["problem"]["detail"]


def test_a_long_line(make_service):
    found = post(make_service(stream_line_bytes=1024), line(1) + line(2, response="x" * 3000) + line(3))
    assert [one["line"] for one in found] == [1, 2, 3]
    assert found[1]["problem"]["code"] == "too-large"
    assert found[2]["score"]


@pytest.mark.parametrize("body", ["", "\n \n"])
def test_no_lines(service, body):
    answer = service.client.post(PATH, content=body, headers=service.teacher)
    assert answer.json()["code"] == "invalid"


class Caller:
    """Sends pieces of a body one by one to the application and sees what comes back meanwhile."""

    def __init__(self, service):
        self.app = service.client.app
        self.pieces = asyncio.Queue()
        self.sent = asyncio.Queue()
        head = [(name.lower().encode(), value.encode()) for name, value in service.teacher.items()]
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": PATH,
            "raw_path": PATH.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": head,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }

    def begin(self):
        return asyncio.create_task(self.app(self.scope, self.pieces.get, self.sent.put))

    def send(self, text, more=True):
        self.pieces.put_nowait({"type": "http.request", "body": text.encode(), "more_body": more})

    async def next_lines(self):
        while True:
            message = await asyncio.wait_for(self.sent.get(), 20)
            if body := message.get("body"):
                return [json.loads(one) for one in body.splitlines()]
            if message["type"] == "http.response.body" and not message.get("more_body"):
                return []


def test_marks_come_while_the_body_is_still_being_sent(service):
    async def talk():
        caller = Caller(service)
        running = caller.begin()
        for number in (1, 2, 3):
            caller.send(line(number)[:20])
            caller.send(line(number)[20:])
            assert [one["id"] for one in await caller.next_lines()] == [str(number)]
        caller.send("", more=False)
        assert await caller.next_lines() == []
        await asyncio.wait_for(running, 20)

    asyncio.run(talk())


def test_a_sender_that_stalls(make_service):
    async def talk():
        caller = Caller(make_service(body_seconds=0.2))
        running = caller.begin()
        caller.send(line(1) + "{")
        assert (await caller.next_lines())[0]["score"]
        (last,) = await caller.next_lines()
        assert (last["line"], last["problem"]["code"]) == (1, "timeout")
        await asyncio.wait_for(running, 20)

    asyncio.run(talk())


def test_a_sender_that_leaves(service):
    async def talk():
        caller = Caller(service)
        running = caller.begin()
        caller.send(line(1))
        assert await caller.next_lines()
        caller.pieces.put_nowait({"type": "http.disconnect"})
        await asyncio.wait_for(running, 20)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(talk())
