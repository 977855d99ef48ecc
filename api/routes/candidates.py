"""Candidates' data and appeals, for staff."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import candidates, marks
from api.db import LOCK
from api.db.models import Answer, Appeal, Candidate, CandidateName, ItemRow, Mark, RosterEntry
from api.deps import Admin, Staff, Svc, Unit, audit, own, reply
from api.printing import feedback_page
from api.problems import Problem
from api.routes.exams import own_exam
from api.routes.mine import result_of
from api.schemas import Body, Id, Language, Page, Time, View

router = APIRouter(tags=["candidates"])


class CandidateData(View):
    """Everything stored about one candidate."""

    candidate: str
    external_id: str | None
    name: str | None
    exams: list[str]
    answers: list[dict[str, Any]]
    appeals: list[dict[str, Any]]


class Deleted(View):
    """What was deleted."""

    candidate: str
    answers: int


class Purge(View):
    """Exams whose answers are kept longer than the organisation wants."""

    dry_run: bool
    exams: list[str]
    answers: int


class AppealView(View):
    """An appeal with the current mark; its history is at the review of the answer."""

    id: str
    exam: str
    answer: str
    item: str
    candidate: str
    response: str
    text: str
    state: str
    reply: str | None
    score: float | None
    created_at: Time
    decided_by: str | None
    decided_at: Time | None


class Decision(Body):
    """What is told to the candidate; a mark is changed by overriding it before."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"accept": False, "reply": "The reason is missing."}]})

    accept: bool
    reply: Annotated[str, Field(min_length=1, max_length=4000)]


@router.get("/candidates/{candidate_id}/data", response_model=CandidateData)
def export_candidate(candidate_id: Id, sender: Admin, svc: Svc) -> Response:
    """Everything stored about a candidate; this is logged."""
    with svc.db.write() as session:
        found = candidates.data_of(session, sender, candidate_id)
        audit(session, sender, "export-candidate", candidate_id)
    return reply(CandidateData.model_validate(found))


@router.delete("/candidates/{candidate_id}", response_model=Deleted)
def delete_candidate(candidate_id: Id, sender: Admin, unit: Unit) -> Response:
    """Delete a candidate with answers, marks, names and keys, for good."""

    def action(session: Session) -> Deleted:
        count = candidates.delete_candidate(session, sender, candidate_id)
        audit(session, sender, "delete-candidate", candidate_id)
        return Deleted(candidate=candidate_id, answers=count)

    return unit.run(action)


@router.post("/organisation/purge", response_model=Purge)
def purge(
    sender: Admin, svc: Svc, dry_run: Annotated[bool, Query(description="Only tell what would be deleted.")] = True
) -> Response:
    """Delete answers that are kept longer than the retention setting; export them before."""
    with svc.db.write() as session:
        found = candidates.overdue(session, sender)
        if not dry_run:
            count = candidates.purge(session, found)
            audit(session, sender, "purge", f"{len(found)} exams")
        else:
            count = sum(
                len(session.scalars(select(Answer.id).where(Answer.exam_id == exam.id)).all()) for exam in found
            )
        result = Purge(dry_run=dry_run, exams=[exam.id for exam in found], answers=count)
    return reply(result)


@router.get("/exams/{exam_id}/feedback/{candidate_id}", response_class=HTMLResponse)
def print_feedback(
    exam_id: Id,
    candidate_id: Id,
    sender: Staff,
    svc: Svc,
    reveal: Annotated[bool, Query(description="Print the name; this is logged.")] = False,
    language: Language = "en",
) -> Response:
    """A candidate's feedback to print, as the candidate will see it."""
    with svc.db.write() if reveal else svc.db.read() as session:
        exam = own_exam(session, exam_id, sender)
        own(session, Candidate, candidate_id, sender, "candidate")
        if session.get(RosterEntry, (exam_id, candidate_id)) is None:
            raise Problem("not-found", "the candidate does not take this exam")
        name = None
        if reveal:
            audit(session, sender, "reveal", candidate_id)
            row = session.get(CandidateName, candidate_id)
            name = (row.name or row.external_id) if row else None
        found = result_of(session, exam, candidate_id, language)
        return HTMLResponse(feedback_page(found, name, language))


@router.get("/exams/{exam_id}/appeals", response_model=Page[AppealView])
def list_appeals(
    exam_id: Id,
    sender: Staff,
    svc: Svc,
    state: Annotated[Literal["open", "accepted", "rejected"] | None, Query()] = None,
) -> Response:
    """Appeals against marks of the exam, the oldest first."""
    with svc.db.read() as session:
        own_exam(session, exam_id, sender)
        query = select(Appeal).where(Appeal.exam_id == exam_id).order_by(Appeal.id)
        rows = session.scalars(query.where(Appeal.state == state) if state else query).all()
        return reply(Page[AppealView](data=[_appeal(session, row) for row in rows]))


def _appeal(session: Session, row: Appeal) -> AppealView:
    answer, mark = session.get_one(Answer, row.answer_id), session.get_one(Mark, row.answer_id)
    return AppealView(
        id=row.id,
        exam=row.exam_id,
        answer=row.answer_id,
        item=session.get_one(ItemRow, answer.item_id).slug,
        candidate=row.candidate_id,
        response=answer.text,
        text=row.text,
        state=row.state,
        reply=row.reply,
        score=mark.score,
        created_at=row.created_at,
        decided_by=row.decided_by,
        decided_at=row.decided_at,
    )


@router.post("/appeals/{appeal_id}/decision", response_model=AppealView)
def decide(appeal_id: Id, body: Decision, sender: Staff, unit: Unit) -> Response:
    """Accept or reject an appeal, with a reply; an accepted one needs a mark that a person changed."""

    def action(session: Session) -> AppealView:
        row = own(session, Appeal, appeal_id, sender, "appeal", lock=True)
        if row.state != "open":
            raise Problem("wrong-state", f"the appeal is {row.state} already")
        mark = session.get_one(Mark, row.answer_id, with_for_update=LOCK)
        if body.accept and mark.origin != "teacher":
            raise Problem("wrong-state", "override the mark before accepting the appeal")
        row.state, row.reply = ("accepted" if body.accept else "rejected"), body.reply
        row.decided_by, row.decided_at = sender.actor, time.time()
        old = marks.snapshot(mark)
        if mark.review == "appealed":
            mark.review = "accepted"
            mark.origin = "accepted" if mark.origin == "machine" else mark.origin
        mark.revision += 1
        marks.add_event(session, mark, "appeal_decided", sender.actor, old, body.reply)
        session.flush()
        return _appeal(session, row)

    return unit.run(action)
