"""One candidate's data: export, deletion, and the end of its keeping."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from api import calibrations
from api.auth import Principal
from api.db.models import (
    Answer,
    Appeal,
    Candidate,
    CandidateName,
    Exam,
    Idempotency,
    ItemRow,
    Mark,
    MarkEvent,
    Organisation,
    RosterEntry,
    Upload,
)
from api.deps import own


def data_of(session: Session, sender: Principal, candidate_id: str) -> dict[str, Any]:
    """Everything that is stored about a candidate.

    Raises:
        Problem: The organisation has no such candidate.
    """
    own(session, Candidate, candidate_id, sender, "candidate")
    name = session.get(CandidateName, candidate_id)
    slugs = {row.id: row.slug for row in session.scalars(select(ItemRow).where(ItemRow.org_id == sender.org_id))}
    answers = session.scalars(select(Answer).where(Answer.candidate_id == candidate_id).order_by(Answer.id)).all()
    return {
        "candidate": candidate_id,
        "external_id": name.external_id if name else None,
        "name": name.name if name else None,
        "exams": list(session.scalars(select(RosterEntry.exam_id).where(RosterEntry.candidate_id == candidate_id))),
        "answers": [_answer(session, one, slugs[one.item_id]) for one in answers],
        "appeals": [
            {"answer": one.answer_id, "text": one.text, "state": one.state, "reply": one.reply}
            for one in session.scalars(select(Appeal).where(Appeal.candidate_id == candidate_id))
        ],
    }


def _answer(session: Session, answer: Answer, slug: str) -> dict[str, Any]:
    mark = session.get(Mark, answer.id)
    events = session.scalars(select(MarkEvent).where(MarkEvent.answer_id == answer.id).order_by(MarkEvent.at))
    return {
        "exam": answer.exam_id,
        "item": slug,
        "text": answer.text,
        "score": mark.score if mark else None,
        "parts": mark.parts if mark else [],
        "origin": mark.origin if mark else None,
        "signature": mark.signature if mark else None,
        "history": [{"action": one.action, "at": one.at, "new": one.new, "reason": one.reason} for one in events],
    }


def delete_candidate(session: Session, sender: Principal, candidate_id: str) -> int:
    """Delete a candidate with answers, marks, names and keys; returns the number of answers.

    Uploaded files that held an answer of the candidate lose their content, labels go with their answers, and reports of
    calibrations that may quote one are emptied, so that nothing of it is left.

    Raises:
        Problem: The organisation has no such candidate.
    """
    row = own(session, Candidate, candidate_id, sender, "candidate", lock=True)
    answers = session.scalars(select(Answer).where(Answer.candidate_id == candidate_id)).all()
    _empty_files(session, {one.exam_id for one in answers})
    ids = [one.id for one in answers]
    calibrations.forget_answers(session, ids)
    for start in range(0, len(ids), 400):
        session.execute(delete(Mark).where(Mark.answer_id.in_(ids[start : start + 400])))
    session.execute(delete(Idempotency).where(Idempotency.org_id == sender.org_id))
    session.delete(row)
    session.flush()
    return len(ids)


def _empty_files(session: Session, exam_ids: set[str]) -> None:
    for exam_id in exam_ids:
        session.execute(update(Upload).where(Upload.exam_id == exam_id).values(content=b""))


def overdue(session: Session, sender: Principal, now: float | None = None) -> list[Exam]:
    """Exams that were released longer ago than the organisation keeps answers; none without a limit."""
    days = session.get_one(Organisation, sender.org_id).retention_days
    if days is None:
        return []
    before = (time.time() if now is None else now) - days * 86400
    query = select(Exam).where(Exam.org_id == sender.org_id, Exam.released_at < before).order_by(Exam.id)
    return list(session.scalars(query))


def purge(session: Session, found: list[Exam]) -> int:
    """Delete answers, marks and files of exams; the exams themselves stay. Returns the number of answers."""
    count = 0
    for exam in found:
        ids = list(session.scalars(select(Answer.id).where(Answer.exam_id == exam.id)))
        calibrations.forget_answers(session, ids)
        session.execute(delete(Mark).where(Mark.exam_id == exam.id))
        session.execute(delete(Answer).where(Answer.exam_id == exam.id))
        _empty_files(session, {exam.id})
        count += len(ids)
    return count
