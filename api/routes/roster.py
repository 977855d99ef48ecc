"""Answers and roster of an exam."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from api import exams
from api.db.models import Answer, Candidate, CandidateName, RosterEntry
from api.deps import Staff, Svc, Unit, audit, own, reply
from api.problems import Problem
from api.routes.exams import own_exam
from api.schemas import AnswerText, Body, Id, IdText, Page, SlugText, Time, View

router = APIRouter(tags=["roster"])
External = Annotated[str, Field(min_length=1, max_length=400)]


class NewAnswer(Body):
    """One answer; ``candidate`` is the id by which the school knows the candidate."""

    candidate: External
    item: SlugText
    response: AnswerText


class NewAnswers(Body):
    """Answers to store, all or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"answers": [{"candidate": "0017", "item": "view-vs-reshape", "response": "It copies."}]}]
        }
    )

    answers: Annotated[list[NewAnswer], Field(min_length=1, max_length=1000)]
    replace: bool = Field(default=False, description="Replace answers that have another text.")


class SavedView(View):
    """What became of the answers; ``kept`` have a mark that a person decided."""

    added: int
    replaced: int
    unchanged: int
    kept: int


class RosterLine(View):
    """A candidate of an exam; outside id and name only when they were asked for, which is logged."""

    candidate: str
    external_id: str | None = None
    name: str | None = None
    answers: int
    submitted_at: Time | None


class NewRosterLine(Body):
    """A candidate by the id the school knows, with a name if wanted."""

    external_id: External
    name: Annotated[str, Field(max_length=400)] | None = None


class NewRoster(Body):
    """Candidates to enrol."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"candidates": [{"external_id": "0017"}]}]})

    candidates: Annotated[list[NewRosterLine], Field(min_length=1, max_length=5000)]


class Enrolled(View):
    """Outside id to candidate id, and how many are new on the roster."""

    added: int
    candidates: dict[str, str]


@router.post("/exams/{exam_id}/answers", status_code=201, response_model=SavedView)
def add_answers(exam_id: Id, body: NewAnswers, sender: Staff, unit: Unit) -> Response:
    """Store up to 1,000 answers, all or none."""

    def action(session: Session) -> SavedView:
        exam = own_exam(session, exam_id, sender, lock=True)
        by_slug = {slot.slug: slot.item_id for slot in exams.slots(session, exam.id)}
        errors = _unfit(body.answers, by_slug)
        if errors:
            raise Problem("invalid", f"{len(errors)} answers are not acceptable; nothing was stored", errors[:100])
        ids = exams.candidates_by_external(session, sender.org_id, [one.candidate for one in body.answers])
        exams.enrol(session, exam, ids.values())
        given = [exams.Given(ids[one.candidate], by_slug[one.item], one.response) for one in body.answers]
        saved = exams.save_answers(session, exam, given, replace=body.replace, upload_id=None, actor=sender.actor)
        return SavedView(added=saved.added, replaced=saved.replaced, unchanged=saved.unchanged, kept=saved.kept)

    return unit.run(action, 201)


def _unfit(answers: Sequence[NewAnswer], known: Container[str]) -> list[tuple[str, str]]:
    seen: set[tuple[str, str]] = set()
    errors = []
    for at, one in enumerate(answers):
        if one.item not in known:
            errors.append((f"answers.{at}", "no such item"))
        elif (one.candidate, one.item) in seen:
            errors.append((f"answers.{at}", "the candidate answers this item twice"))
        seen.add((one.candidate, one.item))
    return errors


@router.get("/exams/{exam_id}/roster", response_model=Page[RosterLine])
def get_roster(
    exam_id: Id,
    sender: Staff,
    svc: Svc,
    reveal: Annotated[bool, Query(description="Show outside ids and names; this is logged.")] = False,
) -> Response:
    """Candidates of the exam, opaque unless revealed."""
    with svc.db.write() if reveal else svc.db.read() as session:
        own_exam(session, exam_id, sender)
        if reveal:
            audit(session, sender, "reveal", exam_id)
        query = select(RosterEntry).where(RosterEntry.exam_id == exam_id).order_by(RosterEntry.candidate_id)
        entries = session.scalars(query).all()
        numbers: dict[str, int] = {}
        for one in session.scalars(select(Answer.candidate_id).where(Answer.exam_id == exam_id)):
            numbers[one] = numbers.get(one, 0) + 1
        names = exams.names(session, exam_id) if reveal else {}
    data = [
        RosterLine(
            candidate=one.candidate_id,
            external_id=names.get(one.candidate_id, (None, None))[0],
            name=names.get(one.candidate_id, (None, None))[1],
            answers=numbers.get(one.candidate_id, 0),
            submitted_at=one.submitted_at,
        )
        for one in entries
    ]
    return reply(Page[RosterLine](data=data))


@router.post("/exams/{exam_id}/roster", status_code=201, response_model=Enrolled)
def enrol(exam_id: Id, body: NewRoster, sender: Staff, unit: Unit) -> Response:
    """Enrol candidates by outside id; their opaque ids come back, for making their keys."""

    def action(session: Session) -> Enrolled:
        exam = own_exam(session, exam_id, sender, lock=True)
        given = {one.external_id: one.name for one in body.candidates}
        if len(given) < len(body.candidates):
            raise Problem("duplicate", "a candidate comes twice")
        ids = exams.candidates_by_external(session, sender.org_id, given)
        for external, name in given.items():
            if name is not None:
                session.get_one(CandidateName, ids[external]).name = name
        return Enrolled(added=exams.enrol(session, exam, ids.values()), candidates=ids)

    return unit.run(action, 201)


@router.delete("/exams/{exam_id}/roster/{candidate_id}", response_model=RosterLine)
def leave(exam_id: Id, candidate_id: IdText, sender: Staff, unit: Unit) -> Response:
    """Take a candidate off the roster; one who has answered stays."""

    def action(session: Session) -> RosterLine:
        own_exam(session, exam_id, sender, lock=True)
        own(session, Candidate, candidate_id, sender, "candidate")
        if session.scalar(
            select(Answer.id).where(Answer.exam_id == exam_id, Answer.candidate_id == candidate_id).limit(1)
        ):
            raise Problem("in-use", "the candidate has answered")
        session.execute(
            delete(RosterEntry).where(RosterEntry.exam_id == exam_id, RosterEntry.candidate_id == candidate_id)
        )
        return RosterLine(candidate=candidate_id, answers=0, submitted_at=None)

    return unit.run(action)
