"""Scores of responses that are not stored: one, up to 1,000, or a stream of lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from api.auth import Principal
from api.deps import Anyone, Services, Svc, reply
from api.items import parse_content, usable
from api.problems import Problem, from_library
from api.schemas import Body, SlugText, View
from api.views import CandidateScore, candidate_score
from grader.errors import GraderError
from grader.rubric import Item
from grader.score import Score

router = APIRouter(tags=["score"])
Words = Annotated[str, Field(max_length=20_000)]
_EXAMPLE: Any = {"item": "view-vs-reshape", "response": "view never copies, reshape copies when it has to."}


class ScoreRequest(Body):
    """A response, and the item by its id or written out."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    item: SlugText | None = None
    version: int | None = Field(default=None, ge=1, le=1_000_000)
    content: dict[str, Any] | None = Field(default=None, description="A whole item, instead of an id; staff only.")
    response: Words


class Response_(Body):  # noqa: N801 - the plain name is the web framework's
    """One response of a batch."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    response: Words


class BatchRequest(Body):
    """Responses to one item."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"item": "view-vs-reshape", "responses": [{"id": "1", "response": "No copy."}]}]
        }
    )

    item: SlugText | None = None
    version: int | None = Field(default=None, ge=1, le=1_000_000)
    content: dict[str, Any] | None = None
    responses: Annotated[list[Response_], Field(min_length=1, max_length=1000)]


class Line(Body):
    """One line of a stream."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    item: SlugText
    response: Words


class BatchEntry(View):
    """The mark of one response of a batch."""

    id: str
    score: Score | CandidateScore


class BatchResult(View):
    """Marks in the order of the request."""

    results: list[BatchEntry]


def _item(svc: Services, sender: Principal, slug: str | None, version: int | None, content: Any) -> Item:
    if (slug is None) == (content is None):
        raise Problem("invalid", "give either item or content")
    if content is not None:
        if not sender.staff:
            raise Problem("forbidden", "a candidate's key scores items of the bank only")
        return parse_content(content)
    assert slug is not None
    with svc.db.read() as session:
        return usable(session, sender, slug, version)[1]


def _views(svc: Services, sender: Principal, item: Item, texts: Sequence[str]) -> list[Score | CandidateScore]:
    scores = svc.scorer.grade_many(item, texts)
    return list(scores) if sender.staff else [candidate_score(score, item) for score in scores]


@router.post("/score", response_model=Score | CandidateScore)
def score_one(body: ScoreRequest, sender: Anyone, svc: Svc) -> Response:
    """The mark of one response; nothing is stored."""
    item = _item(svc, sender, body.item, body.version, body.content)
    return reply(_views(svc, sender, item, [body.response])[0])


@router.post("/score/batch", response_model=BatchResult)
def score_batch(body: BatchRequest, sender: Anyone, svc: Svc) -> Response:
    """The marks of up to 1,000 responses to one item; nothing is stored."""
    item = _item(svc, sender, body.item, body.version, body.content)
    views = _views(svc, sender, item, [one.response for one in body.responses])
    entries = [BatchEntry(id=one.id, score=view) for one, view in zip(body.responses, views, strict=True)]
    return reply(BatchResult(results=entries))


@router.post(
    "/score/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}, "description": "Marks."}},
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
    },
)
async def score_stream(request: Request, sender: Anyone, svc: Svc) -> Response:
    """One line a response in (``id``, ``item``, ``response``), one line a mark or problem out, in order."""
    body = await request.body()
    lines = [line for line in body.split(b"\n") if line.strip()]
    if not lines:
        raise Problem("invalid", "the body has no lines; allowed: one JSON object a line")

    async def marks() -> Any:
        for part in _batches(lines, 100):
            yield await run_in_threadpool(_score_lines, svc, sender, part)

    return StreamingResponse(marks(), media_type="application/x-ndjson")


def _batches(lines: list[bytes], size: int) -> Iterator[list[bytes]]:
    for start in range(0, len(lines), size):
        yield lines[start : start + size]


def _score_lines(svc: Services, sender: Principal, lines: list[bytes]) -> bytes:
    answers: list[dict[str, Any]] = [{} for _ in lines]
    by_item: dict[str, list[tuple[int, Line]]] = {}
    for at, raw in enumerate(lines):
        try:
            line = Line.model_validate_json(raw)
            by_item.setdefault(line.item, []).append((at, line))
        except (ValidationError, ValueError):
            answers[at] = {"problem": Problem("invalid", "no object with id, item and response").document()}
    for slug, group in by_item.items():
        try:
            item = _item(svc, sender, slug, None, None)
            views = _views(svc, sender, item, [line.response for _, line in group])
        except (Problem, GraderError) as error:
            problem = error if isinstance(error, Problem) else from_library(error)
            for at, line in group:
                answers[at] = {"id": line.id, "problem": problem.document()}
            continue
        for (at, line), view in zip(group, views, strict=True):
            answers[at] = {"id": line.id, "score": view.model_dump(mode="json")}
    return b"".join(json.dumps(answer).encode() + b"\n" for answer in answers)
