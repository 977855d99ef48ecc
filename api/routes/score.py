"""Scores of responses that are not stored: one, or up to 1,000."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field

from api.auth import Principal
from api.deps import Anyone, Services, Svc, reply
from api.items import parse_content, usable
from api.practice import PracticeScorer
from api.problems import Problem
from api.schemas import AnswerText, Body, SlugText, View
from api.views import CandidateScore, candidate_score
from grader.rubric import Item
from grader.score import Score

router = APIRouter(tags=["score"])
_EXAMPLE: Any = {"item": "view-vs-reshape", "response": "view never copies, reshape copies when it has to."}


class ScoreRequest(Body):
    """A response, and the item by its id or written out."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    item: SlugText | None = None
    version: int | None = Field(default=None, ge=1, le=1_000_000)
    content: dict[str, Any] | None = Field(default=None, description="A whole item, instead of an id; staff only.")
    response: AnswerText


class Response_(Body):  # noqa: N801 - the plain name is the web framework's
    """One response of a batch."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    response: AnswerText


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


class BatchEntry(View):
    """The mark of one response of a batch."""

    id: str
    score: Score | CandidateScore


class BatchResult(View):
    """Marks in the order of the request."""

    results: list[BatchEntry]


def item_of(svc: Services, sender: Principal, slug: str | None, version: int | None, content: Any) -> Item:
    """The item by its id or written out.

    Raises:
        Problem: Neither or both are given, it is unknown, or the sender may not score it.
    """
    if (slug is None) == (content is None):
        raise Problem("invalid", "give either item or content")
    if content is not None:
        if not sender.staff:
            raise Problem("forbidden", "a candidate's key scores items of the bank only")
        return parse_content(content)
    assert slug is not None
    with svc.db.read() as session:
        return usable(session, sender, slug, version)[1]


def views_of(
    svc: Services, sender: Principal, item: Item, texts: Sequence[str], *, patient: bool = False
) -> list[Score | CandidateScore]:
    """The marks of ``texts`` as the sender may see them; ``patient`` waits however many wait already."""
    scores = PracticeScorer(svc, sender.org_id, patient).grade_many(item, texts)
    return list(scores) if sender.staff else [candidate_score(score, item) for score in scores]


@router.post("/score", response_model=Score | CandidateScore)
def score_one(body: ScoreRequest, sender: Anyone, svc: Svc) -> Response:
    """The mark of one response; nothing is stored."""
    item = item_of(svc, sender, body.item, body.version, body.content)
    return reply(views_of(svc, sender, item, [body.response])[0])


@router.post("/score/batch", response_model=BatchResult)
def score_batch(body: BatchRequest, sender: Anyone, svc: Svc) -> Response:
    """The marks of up to 1,000 responses to one item; nothing is stored."""
    item = item_of(svc, sender, body.item, body.version, body.content)
    views = views_of(svc, sender, item, [one.response for one in body.responses])
    entries = [BatchEntry(id=one.id, score=view) for one, view in zip(body.responses, views, strict=True)]
    return reply(BatchResult(results=entries))
