"""What to label next: the answers of an exam whose labels would tell most."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import calibrations, exams, items
from api.db.models import Answer, Exam, ItemRow, Label
from api.deps import Staff, Svc, Unit, own, reply
from api.routes.exams import own_exam
from api.routes.jobs import JobView, job_view
from api.schemas import Body, Id, SlugPath, View

router = APIRouter(tags=["calibrations"])
#: Answers of an exam that suggestions choose from, a random sample of more.
_POOL = 300


class NewSuggestion(Body):
    """How many answers to suggest."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"number": 10}]})

    number: int = Field(default=10, ge=1, le=100)


class SuggestedAnswer(View):
    """An answer whose label would tell much."""

    answer: str
    response: str


class SuggestionView(View):
    """Answers to label next, the most telling first, once the job is done; labelled ones are left out."""

    job: JobView
    exam: str
    answers: list[SuggestedAnswer]


@router.post("/exams/{exam_id}/items/{item_id}/suggestions", status_code=202, response_model=JobView)
def start_suggestion(exam_id: Id, item_id: SlugPath, body: NewSuggestion, sender: Staff, unit: Unit) -> Response:
    """Find the answers without a label whose labels would tell most."""

    def action(session: Session) -> JobView:
        exam = own_exam(session, exam_id, sender)
        slot = exams.slot_of(session, exam_id, item_id)
        row = items.row_of(session, sender, item_id, lock=True)
        ids = _pool(session, exam, row)
        job = calibrations.start_suggestion(session, row, sender.actor, exam, slot.version, body.number, ids)
        return job_view(session, job)

    return unit.run(action, 202)


def _pool(session: Session, exam: Exam, row: ItemRow) -> list[str]:
    """Answers to choose from: those with a text and without a label, a random sample of many."""
    labelled = select(Label.answer_id).where(Label.item_id == row.id, Label.answer_id.is_not(None))
    query = select(Answer.id).where(
        Answer.exam_id == exam.id, Answer.item_id == row.id, Answer.text != "", Answer.id.not_in(labelled)
    )
    ids = list(session.scalars(query.order_by(Answer.id)))
    if len(ids) <= _POOL:
        return ids
    chosen = np.random.default_rng(int(exam.id[-8:], 16)).choice(len(ids), size=_POOL, replace=False)
    return [ids[at] for at in sorted(chosen.tolist())]


@router.get("/suggestions/{job_id}", response_model=SuggestionView)
def get_suggestion(job_id: Id, sender: Staff, svc: Svc) -> Response:
    """The suggested answers, for marking; the post goes to the item's labels."""
    with svc.db.read() as session:
        job = calibrations.own_job(session, sender, job_id, "suggest")
        view = job_view(session, job)
        ids: list[str] = (job.result or {}).get("answers", [])
        labelled = set(session.scalars(select(Label.answer_id).where(Label.answer_id.in_(ids))))
        texts = {one: own(session, Answer, one, sender, "answer").text for one in _still(session, ids)}
    shown = [SuggestedAnswer(answer=one, response=texts[one]) for one in ids if one in texts and one not in labelled]
    return reply(SuggestionView(job=view, exam=job.params["exam"], answers=shown))


def _still(session: Session, ids: list[str]) -> list[str]:
    return list(session.scalars(select(Answer.id).where(Answer.id.in_(ids))))
