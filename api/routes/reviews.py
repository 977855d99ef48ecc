"""Reviews: the queue ordered by doubt, decisions about a mark, its history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field, model_validator
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from api import marks, reviews
from api.auth import Principal
from api.db import LOCK
from api.db.models import Answer, Appeal, ItemRow, Mark, MarkEvent
from api.deps import IfMatch, Staff, Svc, Unit, bump, decode_cursor, encode_cursor, own, reply
from api.routes.exams import own_exam
from api.schemas import Body, Cursor, Id, IdText, Limit, Page, SlugText, Time, View
from grader.score import Score

router = APIRouter(tags=["reviews"])
Reason = Annotated[str, Field(min_length=1, max_length=2000)]
Which = Literal["waiting", "open", "second_look", "appealed", "accepted", "overridden", "unreviewed", "all"]


class ReviewLine(View):
    """A mark in the queue."""

    answer: str
    item: str
    candidate: str
    score: float | None
    max_score: float
    origin: str
    review: str
    doubt: float
    confidence: float | None
    reasons: list[str]
    text: str
    revision: int


class EventView(View):
    """One change of a mark: who, when, old, new, why."""

    id: str
    action: str
    actor: str
    at: Time
    old: dict[str, Any] | None
    new: dict[str, Any] | None
    reason: str | None
    signature: str | None
    undoes: str | None


class ReviewView(View):
    """A mark with the answer, what the scorer found, and its whole history."""

    answer: str
    exam: str
    item: str
    version: int
    candidate: str
    text: str
    score: float | None
    parts: list[dict[str, Any]] = Field(description="Lines that sum to the mark.")
    origin: str
    review: str
    comment: str | None
    machine: Score
    signature: str
    text_changed: bool = Field(description="The answer changed after it was marked.")
    appeal: str | None
    revision: int = Field(description="Also the ETag.")
    history: list[EventView]


class Note(Body):
    """A remark."""

    note: Annotated[str, Field(max_length=2000)] | None = None


class SecondLook(Body):
    """What the next person should look at."""

    note: Reason


class Override(Body):
    """The whole mark, or points of components, with the reason."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"components": {"reason": 1.5}, "reason": "Says why in other words."}]}
    )

    score: float | None = Field(default=None, ge=0, le=1000)
    components: Annotated[dict[Annotated[str, Field(max_length=60)], float], Field(max_length=50)] = {}  # noqa: RUF012
    reason: Reason
    comment: Annotated[str, Field(max_length=4000)] | None = Field(default=None, description="For the candidate.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Override:
        if (self.score is None) == (not self.components):
            raise ValueError("give either score or components")
        return self


class BulkOverride(Body):
    """One mark for a group of similar answers to one item."""

    answers: Annotated[list[IdText], Field(min_length=1, max_length=500)]
    item: SlugText
    score: float = Field(ge=0, le=1000)
    reason: Reason
    comment: Annotated[str, Field(max_length=4000)] | None = None


class Count(View):
    """How many marks changed, and which were left because a person had decided them."""

    changed: int
    kept: list[str]


@router.get("/exams/{exam_id}/reviews", response_model=Page[ReviewLine])
def queue(
    exam_id: Id,
    sender: Staff,
    svc: Svc,
    which: Annotated[Which, Query()] = "waiting",
    item: Annotated[str | None, Query(max_length=80)] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Marks, the most doubtful first; by default those that wait for a person."""
    start = decode_cursor(cursor, float, str)
    with svc.db.read() as session:
        own_exam(session, exam_id, sender)
        query = (
            select(Mark, Answer, ItemRow.slug)
            .join(Answer, Answer.id == Mark.answer_id)
            .join(ItemRow, ItemRow.id == Mark.item_id)
            .where(Mark.exam_id == exam_id)
            .order_by(Mark.doubt.desc(), Mark.answer_id)
            .limit(limit + 1)
        )
        states = {"waiting": marks.WAITING, "unreviewed": ("none", *marks.WAITING)}.get(which, (which,))
        if which != "all":
            query = query.where(Mark.review.in_(states))
        if item:
            query = query.where(ItemRow.slug == item)
        if start:
            behind = (Mark.doubt == start[0]) & (Mark.answer_id > start[1])
            query = query.where(or_(Mark.doubt < start[0], behind))
        rows = session.execute(query).all()
    data = [_line(mark, answer, slug) for mark, answer, slug in rows[:limit]]
    more = len(rows) > limit
    return reply(Page[ReviewLine](data=data, next=encode_cursor(data[-1].doubt, data[-1].answer) if more else None))


def _line(mark: Mark, answer: Answer, slug: str) -> ReviewLine:
    return ReviewLine(
        answer=mark.answer_id,
        item=slug,
        candidate=answer.candidate_id,
        score=mark.score,
        max_score=mark.result["max_score"],
        origin=mark.origin,
        review=mark.review,
        doubt=mark.doubt,
        confidence=mark.result["confidence"],
        reasons=mark.result["referral_reasons"],
        text=answer.text,
        revision=mark.revision,
    )


def review_view(session: Session, mark: Mark) -> ReviewView:
    """The mark as a person reviews it."""
    answer = session.get_one(Answer, mark.answer_id)
    events = session.scalars(
        select(MarkEvent).where(MarkEvent.answer_id == mark.answer_id).order_by(MarkEvent.at, MarkEvent.id)
    )
    names = list(EventView.model_fields)
    return ReviewView(
        answer=mark.answer_id,
        exam=mark.exam_id,
        item=session.get_one(ItemRow, mark.item_id).slug,
        version=mark.version,
        candidate=answer.candidate_id,
        text=answer.text,
        score=mark.score,
        parts=mark.parts,
        origin=mark.origin,
        review=mark.review,
        comment=mark.comment,
        machine=Score.model_validate(mark.result),
        signature=mark.signature,
        text_changed=answer.revision != mark.text_revision,
        appeal=session.scalar(select(Appeal.text).where(Appeal.answer_id == mark.answer_id)),
        revision=mark.revision,
        history=[EventView.model_validate({name: getattr(event, name) for name in names}) for event in events],
    )


def _own_mark(session: Session, answer_id: str, sender: Principal, expected: int | None = None) -> Mark:
    mark = own(session, Mark, answer_id, sender, "mark", lock=expected is not None)
    if expected is not None:
        bump(mark, expected, "mark")
    return mark


@router.get("/reviews/{answer_id}", response_model=ReviewView)
def get_review(answer_id: Id, sender: Staff, svc: Svc) -> Response:
    """One mark with the answer, what the scorer found, and its history."""
    with svc.db.read() as session:
        return reply(review_view(session, _own_mark(session, answer_id, sender)))


def _decide(
    unit: Unit, sender: Principal, answer_id: str, expected: int, change: Callable[[Session, Mark], None]
) -> Response:
    def action(session: Session) -> ReviewView:
        mark = _own_mark(session, answer_id, sender, expected)
        change(session, mark)
        session.flush()
        return review_view(session, mark)

    return unit.run(action)


@router.post("/reviews/{answer_id}/accept", response_model=ReviewView)
def accept(answer_id: Id, body: Note, sender: Staff, unit: Unit, expected: IfMatch) -> Response:
    """Let the mark stand; later runs do not touch it."""
    return _decide(
        unit, sender, answer_id, expected, lambda session, mark: reviews.accept(session, sender, mark, body.note)
    )


@router.post("/reviews/{answer_id}/override", response_model=ReviewView)
def override(answer_id: Id, body: Override, sender: Staff, unit: Unit, expected: IfMatch) -> Response:
    """Set the whole mark or points of components, with a reason; later runs do not touch it."""

    def change(session: Session, mark: Mark) -> None:
        reviews.override(
            session,
            sender,
            mark,
            score=body.score,
            components=body.components,
            reason=body.reason,
            comment=body.comment,
        )

    return _decide(unit, sender, answer_id, expected, change)


@router.post("/reviews/{answer_id}/second-look", response_model=ReviewView)
def second_look(answer_id: Id, body: SecondLook, sender: Staff, unit: Unit, expected: IfMatch) -> Response:
    """Ask another person to look."""
    return _decide(
        unit, sender, answer_id, expected, lambda session, mark: reviews.second_look(session, sender, mark, body.note)
    )


@router.post("/reviews/{answer_id}/undo", response_model=ReviewView)
def undo(answer_id: Id, body: Note, sender: Staff, unit: Unit, expected: IfMatch) -> Response:
    """Take back the last decision; the history keeps both."""
    return _decide(
        unit, sender, answer_id, expected, lambda session, mark: reviews.undo(session, sender, mark, body.note)
    )


@router.post("/exams/{exam_id}/reviews/override", response_model=Count)
def override_group(exam_id: Id, body: BulkOverride, sender: Staff, unit: Unit) -> Response:
    """Give a group of similar answers one mark; those a person decided before are left and named."""

    def action(session: Session) -> Count:
        own_exam(session, exam_id, sender)
        query = (
            select(Mark)
            .join(ItemRow, ItemRow.id == Mark.item_id)
            .where(Mark.exam_id == exam_id, ItemRow.slug == body.item, Mark.answer_id.in_(body.answers))
            .order_by(Mark.answer_id)
            .with_for_update(**LOCK, of=Mark)
        )
        result = Count(changed=0, kept=[])
        for mark in session.scalars(query):
            if mark.origin != "machine":
                result.kept.append(mark.answer_id)
                continue
            mark.revision += 1
            reviews.override(
                session, sender, mark, score=body.score, components={}, reason=body.reason, comment=body.comment
            )
            result.changed += 1
        return result

    return unit.run(action)
