"""Scores of any number of responses, line by line, while they are being sent."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from pydantic import Field, ValidationError
from sqlalchemy.exc import OperationalError
from starlette.requests import ClientDisconnect

from api.auth import Principal
from api.deps import Anyone, Services, Svc
from api.ndjson import MEDIA_TYPE, Lines, NumberedLine, arriving_lines
from api.problems import Problem, from_fields, from_library
from api.routes.score import item_of, views_of
from api.schemas import AnswerText, Body, SlugText
from grader.errors import GraderError

router = APIRouter(tags=["score"])
#: Where bodies are read as they arrive, so that no limit on the whole body applies.
PATH = "/score/stream"
#: Streams that score at once, in threads of their own; further ones wait without a thread.
AT_ONCE = 4
_PART = 32
_ABOUT: Any = {
    "responses": {200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}, "description": "Marks."}},
    "openapi_extra": {
        "requestBody": {
            "required": True,
            "content": {
                MEDIA_TYPE: {
                    "schema": {"type": "string"},
                    "example": '{"id": "1", "item": "view-vs-reshape", "response": "view never copies."}\n',
                }
            },
        }
    },
}


class ResponseLine(Body):
    """One line of a stream."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    item: SlugText
    response: AnswerText


@router.post(PATH, response_class=Response, **_ABOUT)
async def score_stream(request: Request, sender: Anyone, svc: Svc) -> Response:
    """One line a response in, one line a mark out, in order and as soon as it is made; nothing is stored.

    In: `id`, `item`, `response`. Out: `line` (from 1) and `id` with `score`, or with `problem` when the line is not
    acceptable; the lines after it are still scored. A stream that ends early ends with a `problem` without an `id`.
    Read while you send: after a few megabytes nothing more is taken until marks are read. Streams are never refused
    because others score; they get slower.
    """
    lines = _scored(request, sender, svc)
    first = await anext(lines, None)
    if first is None:
        raise Problem("invalid", "the body has no lines; allowed: one JSON object a line")
    return Lines(first, lines)


async def _scored(request: Request, sender: Principal, svc: Services) -> AsyncGenerator[bytes]:
    """Answers to the lines, a few at a time; a stream that cannot go on ends with a problem."""
    settings = svc.settings
    arriving = arriving_lines(request, settings.stream_line_bytes, settings.body_seconds)
    number = 0
    try:
        async for lines in arriving:
            number = lines[-1].number
            allowed = [line for line in lines if line.number <= settings.stream_lines]
            for start in range(0, len(allowed), _PART):
                part = allowed[start : start + _PART]
                yield await to_thread.run_sync(_answers, svc, sender, part, limiter=svc.stream_threads)
            if len(allowed) < len(lines):
                raise Problem("too-large", f"line {number}: allowed: at most {settings.stream_lines:,} lines")
    except Problem as problem:
        yield _as_line({"line": number, "problem": problem.document()})
    except ClientDisconnect:
        return
    finally:
        await arriving.aclose()


def _answers(svc: Services, sender: Principal, lines: Sequence[NumberedLine]) -> bytes:
    found: dict[int, dict[str, Any]] = {}
    by_item: defaultdict[str, list[tuple[int, ResponseLine]]] = defaultdict(list)
    for line in lines:
        try:
            parsed = _parse(line, svc.settings.stream_line_bytes)
            by_item[parsed.item].append((line.number, parsed))
        except Problem as problem:
            found[line.number] = {"problem": problem.document()}
    for slug, group in by_item.items():
        found.update(_of_item(svc, sender, slug, group))
    return b"".join(_as_line({"line": line.number, **found[line.number]}) for line in lines)


def _parse(line: NumberedLine, limit: int) -> ResponseLine:
    if line.text is None:
        raise Problem("too-large", f"line {line.number}: allowed: at most {limit:,} bytes")
    try:
        return ResponseLine.model_validate_json(line.text)
    except ValidationError as error:
        raise from_fields(error.errors(), f"line {line.number}: no object with id, item and response") from None


def _of_item(
    svc: Services, sender: Principal, slug: str, group: Sequence[tuple[int, ResponseLine]]
) -> dict[int, dict[str, Any]]:
    try:
        item = item_of(svc, sender, slug, None, None)
        views = views_of(svc, sender, item, [line.response for _, line in group], patient=True)
    except (Problem, GraderError, OperationalError) as error:
        document = _problem(error).document()
        return {at: {"id": line.id, "problem": document} for at, line in group}
    return {
        at: {"id": line.id, "score": view.model_dump(mode="json")}
        for (at, line), view in zip(group, views, strict=True)
    }


def _problem(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, GraderError):
        return from_library(error)
    return Problem("unavailable", "the database does not answer; try again")


def _as_line(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer).encode() + b"\n"
