"""Exams: create, read, change, delete, release; answers and roster."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field, model_validator
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import exams
from api.auth import Principal
from api.db.models import Exam
from api.deps import IfMatch, Staff, Svc, Unit, audit, bump, decode_cursor, encode_cursor, own, reply
from api.problems import Problem
from api.schemas import Body, Cursor, Id, Limit, Page, SlugText, Time, View

router = APIRouter(tags=["exams"])
Percent = Annotated[float, Field(ge=0, le=100)]


class Boundary(Body):
    """The least percentage of a grade."""

    grade: Annotated[str, Field(min_length=1, max_length=40)]
    from_percent: Percent


class NewExamItem(Body):
    """An item with its weight (by default the top of its scale) and version (by default the current one)."""

    item: SlugText
    version: int | None = Field(default=None, ge=1, le=1_000_000)
    weight: float | None = Field(default=None, gt=0, le=1000)


class _Settings(Body):
    pass_percent: Percent | None = None
    boundaries: Annotated[list[Boundary], Field(max_length=50)] = []  # noqa: RUF012
    opens_at: datetime | None = None
    closes_at: datetime | None = None

    @model_validator(mode="after")
    def _ordered(self) -> _Settings:
        if self.opens_at and self.closes_at and seconds(self.opens_at) >= seconds(self.closes_at):  # type: ignore[operator]
            raise ValueError("closes_at must be after opens_at")
        return self


class NewExam(_Settings):
    """An exam to create."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "title": "PyTorch, class 10b",
                    "items": [{"item": "view-vs-reshape", "weight": 5}],
                    "take_from_practice": True,
                    "pass_percent": 50,
                    "boundaries": [{"grade": "A", "from_percent": 85}, {"grade": "B", "from_percent": 50}],
                }
            ]
        }
    )

    title: Annotated[str, Field(min_length=1, max_length=200)]
    items: Annotated[list[NewExamItem], Field(min_length=1, max_length=200)]
    take_from_practice: bool = Field(default=False, description="Move items from practice to exams.")


class ExamPatch(_Settings):
    """Fields to change; a field that is not sent stays."""

    title: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class ExamItemView(View):
    """An item of an exam."""

    item: str
    version: int
    weight: float
    max_score: float


class ExamView(View):
    """An exam and how far it is."""

    id: str
    title: str
    revision: int = Field(description="Also the ETag.")
    items: list[ExamItemView]
    pass_percent: float | None
    boundaries: list[Boundary]
    opens_at: Time | None
    closes_at: Time | None
    released_at: Time | None
    created_at: Time
    candidates: int
    answers: int
    marked: int
    waiting: int = Field(description="Marks that wait for a person.")


class ExamLine(View):
    """An exam in a list."""

    id: str
    title: str
    created_at: Time
    released_at: Time | None


def seconds(value: datetime | None) -> float | None:
    """Seconds since 1970; a time without zone is UTC."""
    if value is None:
        return None
    from datetime import UTC

    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()


def view(session: Session, exam: Exam) -> ExamView:
    """The exam as it is answered."""
    found = exams.counts(session, exam.id)
    return ExamView(
        id=exam.id,
        title=exam.title,
        revision=exam.revision,
        items=[
            ExamItemView(item=slot.slug, version=slot.version, weight=slot.weight, max_score=slot.item.scale.max)
            for slot in exams.slots(session, exam.id)
        ],
        pass_percent=exam.pass_percent,
        boundaries=[Boundary.model_validate(one) for one in exam.boundaries],
        opens_at=exam.opens_at,
        closes_at=exam.closes_at,
        released_at=exam.released_at,
        created_at=exam.created_at,
        candidates=found.candidates,
        answers=found.answers,
        marked=found.marked,
        waiting=found.waiting,
    )


def own_exam(session: Session, exam_id: str, sender: Principal, *, lock: bool = False) -> Exam:
    """The exam, if it is the sender's organisation's."""
    return own(session, Exam, exam_id, sender, "exam", lock=lock)


@router.post("/exams", status_code=201, response_model=ExamView)
def create_exam(body: NewExam, sender: Staff, unit: Unit) -> Response:
    """Create an exam with its items, weights, pass mark and window for answering online."""

    def action(session: Session) -> ExamView:
        exam = Exam(
            org_id=sender.org_id,
            title=body.title,
            created_by=sender.actor,
            pass_percent=body.pass_percent,
            boundaries=_boundaries(body.boundaries),
            opens_at=seconds(body.opens_at),
            closes_at=seconds(body.closes_at),
        )
        session.add(exam)
        session.flush()
        wanted = [(one.item, one.version, one.weight) for one in body.items]
        exams.add_items(session, sender, exam, wanted, body.take_from_practice)
        return view(session, exam)

    return unit.run(action, 201)


def _boundaries(given: list[Boundary]) -> list[dict[str, Any]]:
    if len({one.from_percent for one in given}) < len(given):
        raise Problem("invalid", "two grades begin at the same percentage")
    return [one.model_dump() for one in sorted(given, key=lambda one: -one.from_percent)]


@router.get("/exams", response_model=Page[ExamLine])
def list_exams(sender: Staff, svc: Svc, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """Exams, the newest first."""
    start = decode_cursor(cursor, str)
    with svc.db.read() as session:
        query = select(Exam).where(Exam.org_id == sender.org_id).order_by(Exam.id.desc()).limit(limit + 1)
        rows = session.scalars(query.where(Exam.id < start[0]) if start else query).all()
    data = [
        ExamLine(id=row.id, title=row.title, created_at=row.created_at, released_at=row.released_at)
        for row in rows[:limit]
    ]
    return reply(Page[ExamLine](data=data, next=encode_cursor(data[-1].id) if len(rows) > limit else None))


@router.get("/exams/{exam_id}", response_model=ExamView)
def get_exam(exam_id: Id, sender: Staff, svc: Svc) -> Response:
    """One exam and how far it is."""
    with svc.db.read() as session:
        return reply(view(session, own_exam(session, exam_id, sender)))


@router.patch("/exams/{exam_id}", response_model=ExamView)
def change_exam(exam_id: Id, body: ExamPatch, sender: Staff, unit: Unit, expected: IfMatch) -> Response:
    """Change title, pass mark, grade boundaries or window; results follow at once, marks stay."""

    def action(session: Session) -> ExamView:
        exam = own_exam(session, exam_id, sender, lock=True)
        bump(exam, expected, "exam")
        sent = body.model_fields_set
        if body.title is not None:
            exam.title = body.title
        if "pass_percent" in sent:
            exam.pass_percent = body.pass_percent
        if "boundaries" in sent:
            exam.boundaries = _boundaries(body.boundaries)
        if "opens_at" in sent:
            exam.opens_at = seconds(body.opens_at)
        if "closes_at" in sent:
            exam.closes_at = seconds(body.closes_at)
        if exam.opens_at and exam.closes_at and exam.opens_at >= exam.closes_at:
            raise Problem("invalid", "closes_at must be after opens_at")
        return view(session, exam)

    return unit.run(action)


@router.delete("/exams/{exam_id}", response_model=ExamLine)
def delete_exam(exam_id: Id, sender: Staff, unit: Unit, expected: IfMatch) -> Response:
    """Delete an exam with its answers and marks, for good; export it before."""

    def action(session: Session) -> ExamLine:
        exam = own_exam(session, exam_id, sender, lock=True)
        bump(exam, expected, "exam")
        line = ExamLine(id=exam.id, title=exam.title, created_at=exam.created_at, released_at=exam.released_at)
        exams.delete_exam(session, exam)
        audit(session, sender, "delete-exam", exam_id)
        return line

    return unit.run(action)


@router.post("/exams/{exam_id}/release", response_model=ExamView)
def release(
    exam_id: Id, sender: Staff, unit: Unit, expected: IfMatch, withdraw: Annotated[bool, Query()] = False
) -> Response:
    """Show results to the candidates, or take that back; all answers must be marked."""

    def action(session: Session) -> ExamView:
        exam = own_exam(session, exam_id, sender, lock=True)
        bump(exam, expected, "exam")
        if not withdraw:
            _check_releasable(session, exam)
        exam.released_at = None if withdraw else time.time()
        audit(session, sender, "withdraw" if withdraw else "release", exam_id)
        return view(session, exam)

    return unit.run(action)


def _check_releasable(session: Session, exam: Exam) -> None:
    found = exams.counts(session, exam.id)
    if found.marked < found.answers:
        raise Problem("wrong-state", f"{found.answers - found.marked} answers have no mark yet")
    if exam.closes_at is not None and exam.closes_at > time.time():
        raise Problem("wrong-state", "candidates can still answer; close the window before")
