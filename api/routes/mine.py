"""The candidate's side of exams: answer, hand in, read results, appeal."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import exams, marks, online, results
from api.db import LOCK
from api.db.models import Answer, Appeal, Exam, Mark, RosterEntry
from api.deps import Examinee, IfMatch, Svc, Unit, reply
from api.printing import feedback_page
from api.problems import Problem
from api.schemas import AnswerText, Body, Id, Language, Page, SlugPath, SlugText, Time, View
from api.views import CandidateScore, candidate_score
from grader.retelling import in_language
from grader.rubric import Item
from grader.score import Score, Step

router = APIRouter(prefix="/my", tags=["my exams"])


class MyExamLine(View):
    """An exam of the candidate."""

    id: str
    title: str
    phase: str = Field(examples=["before", "open", "closed", "released"])
    opens_at: Time | None
    closes_at: Time | None
    submitted_at: Time | None


class MyQuestion(View):
    """A question with what was saved so far."""

    item: str
    prompt: str
    max_score: float
    weight: float
    response: str | None
    revision: int = Field(description="ETag to save with; 0 while nothing is saved.")


class MyExam(MyExamLine):
    """An exam with its questions, which are there once it has opened."""

    questions: list[MyQuestion]


class MyAnswer(View):
    """A saved answer."""

    item: str
    response: str
    revision: int = Field(description="Also the ETag.")
    saved_at: Time


class SaveAnswer(Body):
    """The answer as it stands now."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"response": "A view shares the data."}]})

    response: AnswerText


class MyMark(View):
    """A mark with its feedback; what a person decided replaces what the scorer found."""

    item: str
    response: str
    score: float | None
    max_score: float
    parts: list[Step] = Field(description="Lines that sum to the mark.")
    decided_by_person: bool
    comment: str | None
    feedback: CandidateScore | None = Field(description="The scorer's findings; null when a person set the mark.")
    appeal: str | None
    appeal_reply: str | None


class MyResult(View):
    """A candidate's result of a released exam."""

    exam: str
    title: str
    points: float
    max_points: float
    percent: float | None
    passed: bool | None
    grade: str | None
    marks: list[MyMark]


class NewAppeal(Body):
    """Why the mark should be looked at again."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"item": "view-vs-reshape", "text": "I did say why."}]})

    item: SlugText
    text: Annotated[str, Field(min_length=1, max_length=4000)]


class AppealState(View):
    """An appeal and what came of it."""

    id: str
    item: str
    text: str
    state: str
    reply: str | None
    created_at: Time


def _line(exam: Exam, entry: RosterEntry) -> dict[str, object]:
    return {
        "id": exam.id,
        "title": exam.title,
        "phase": online.phase(exam),
        "opens_at": exam.opens_at,
        "closes_at": exam.closes_at,
        "submitted_at": entry.submitted_at,
    }


@router.get("/exams", response_model=Page[MyExamLine])
def my_exams(sender: Examinee, svc: Svc) -> Response:
    """The candidate's exams, the newest first."""
    with svc.db.read() as session:
        query = (
            select(Exam, RosterEntry)
            .join(RosterEntry, RosterEntry.exam_id == Exam.id)
            .where(RosterEntry.candidate_id == sender.candidate_id, Exam.org_id == sender.org_id)
            .order_by(Exam.id.desc())
        )
        data = [MyExamLine.model_validate(_line(exam, entry)) for exam, entry in session.execute(query)]
    return reply(Page[MyExamLine](data=data))


@router.get("/exams/{exam_id}", response_model=MyExam)
def my_exam(exam_id: Id, sender: Examinee, svc: Svc) -> Response:
    """Questions and saved answers; no question before the exam opens."""
    with svc.db.read() as session:
        exam, entry = online.entry_of(session, exam_id, sender)
        saved = online.answers_of(session, exam_id, entry.candidate_id)
        shown = [] if online.phase(exam) == "before" else exams.slots(session, exam_id)
    questions = [
        MyQuestion(
            item=slot.slug,
            prompt=slot.item.prompt,
            max_score=slot.item.scale.max,
            weight=slot.weight,
            response=saved[slot.item_id].text if slot.item_id in saved else None,
            revision=saved[slot.item_id].revision if slot.item_id in saved else 0,
        )
        for slot in shown
    ]
    return reply(MyExam.model_validate({**_line(exam, entry), "questions": questions}))


@router.put("/exams/{exam_id}/answers/{item_id}", response_model=MyAnswer)
def save_answer(
    exam_id: Id, item_id: SlugPath, body: SaveAnswer, sender: Examinee, unit: Unit, expected: IfMatch
) -> Response:
    """Save an answer while the exam is open; send it as often as wanted, with the ETag of the last save (first "0")."""

    def action(session: Session) -> MyAnswer:
        exam, entry = online.entry_of(session, exam_id, sender, lock=True)
        slot = exams.slot_of(session, exam_id, item_id)
        row = online.save(session, exam, entry, slot.item_id, body.response, expected)
        return MyAnswer(item=item_id, response=row.text, revision=row.revision, saved_at=row.saved_at)

    return unit.run(action)


@router.post("/exams/{exam_id}/submit", response_model=MyExamLine)
def submit(exam_id: Id, sender: Examinee, unit: Unit) -> Response:
    """Hand in; after that answers cannot be changed."""

    def action(session: Session) -> MyExamLine:
        exam, entry = online.entry_of(session, exam_id, sender, lock=True)
        if online.phase(exam) != "open":
            raise Problem("wrong-state", f"the exam is {online.phase(exam)}; it can be handed in while it is open")
        entry.submitted_at = entry.submitted_at or time.time()
        return MyExamLine.model_validate(_line(exam, entry))

    return unit.run(action)


def _released(session: Session, exam_id: str, sender: Examinee, *, lock: bool = False) -> tuple[Exam, RosterEntry]:
    exam, entry = online.entry_of(session, exam_id, sender, lock=lock)
    if exam.released_at is None:
        raise Problem("wrong-state", "the results are not released yet")
    return exam, entry


def result_of(session: Session, exam: Exam, candidate_id: str, language: str = "en") -> MyResult:
    """The candidate's result with the feedback a candidate may see, in a language."""
    total = results.totals(session, exam, candidate_id)[0]
    answers = online.answers_of(session, exam.id, candidate_id)
    shown = []
    for slot in exams.slots(session, exam.id):
        answer = answers.get(slot.item_id)
        mark = session.get(Mark, answer.id) if answer else None
        appeal = session.scalar(select(Appeal).where(Appeal.answer_id == answer.id)) if answer else None
        decided = mark is not None and mark.origin == "teacher"
        view = _view(mark, slot.item, language) if mark and not decided else None
        shown.append(
            MyMark(
                item=slot.slug,
                response=answer.text if answer else "",
                score=mark.score if mark else (None if answer else 0.0),
                max_score=slot.item.scale.max,
                parts=[Step.model_validate(part) for part in mark.parts] if mark else [],
                decided_by_person=mark is not None and mark.origin != "machine",
                comment=mark.comment if mark else None,
                feedback=view,
                appeal=appeal.state if appeal else None,
                appeal_reply=appeal.reply if appeal else None,
            )
        )
    return MyResult(
        exam=exam.id,
        title=exam.title,
        points=total.points,
        max_points=total.max_points,
        percent=total.percent,
        passed=total.passed,
        grade=total.grade,
        marks=shown,
    )


def _view(mark: Mark, item: Item, language: str) -> CandidateScore:
    return candidate_score(in_language(Score.model_validate(mark.result), item, language), item)


@router.get("/exams/{exam_id}/result", response_model=MyResult)
def my_result(exam_id: Id, sender: Examinee, svc: Svc, language: Language = "en") -> Response:
    """Marks and feedback, once they are released."""
    with svc.db.read() as session:
        exam, entry = _released(session, exam_id, sender)
        return reply(result_of(session, exam, entry.candidate_id, language))


@router.get("/exams/{exam_id}/feedback", response_class=HTMLResponse)
def my_feedback(exam_id: Id, sender: Examinee, svc: Svc, language: Language = "en") -> Response:
    """The same to print."""
    with svc.db.read() as session:
        exam, entry = _released(session, exam_id, sender)
        found = result_of(session, exam, entry.candidate_id, language)
        return HTMLResponse(feedback_page(found, None, language))


@router.post("/exams/{exam_id}/appeals", status_code=201, response_model=AppealState)
def appeal(exam_id: Id, body: NewAppeal, sender: Examinee, unit: Unit) -> Response:
    """Ask a person to look at a mark again, once a mark."""

    def action(session: Session) -> AppealState:
        exam, entry = _released(session, exam_id, sender, lock=True)
        slot = exams.slot_of(session, exam.id, body.item)
        query = select(Answer.id).where(
            Answer.exam_id == exam.id, Answer.item_id == slot.item_id, Answer.candidate_id == entry.candidate_id
        )
        answer_id = session.scalar(query)
        mark = session.get(Mark, answer_id, with_for_update=LOCK) if answer_id else None
        if mark is None:
            raise Problem("wrong-state", "there is no answer of yours to this item")
        if session.scalar(select(Appeal.id).where(Appeal.answer_id == mark.answer_id)):
            raise Problem("duplicate", "you have appealed against this mark already")
        row = Appeal(
            org_id=exam.org_id,
            exam_id=exam.id,
            answer_id=mark.answer_id,
            candidate_id=entry.candidate_id,
            text=body.text,
        )
        session.add(row)
        old = marks.snapshot(mark)
        mark.review = "appealed"
        mark.revision += 1
        marks.add_event(session, mark, "appeal", sender.actor, old)
        session.flush()
        return _appeal(row, body.item)

    return unit.run(action, 201)


def _appeal(row: Appeal, slug: str) -> AppealState:
    return AppealState(id=row.id, item=slug, text=row.text, state=row.state, reply=row.reply, created_at=row.created_at)
