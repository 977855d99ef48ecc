"""Answering online: what a candidate may see and do, by the window of the exam."""

from __future__ import annotations

import time

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.auth import Principal
from api.db import LOCK
from api.db.models import Answer, Exam, RosterEntry
from api.deps import own
from api.problems import Problem


def phase(exam: Exam, now: float | None = None) -> str:
    """``before``, ``open``, ``closed`` or ``released``; an exam without an opening time is never open."""
    now = time.time() if now is None else now
    if exam.released_at is not None:
        return "released"
    if exam.opens_at is None or now < exam.opens_at:
        return "before" if exam.opens_at is not None else "closed"
    return "closed" if exam.closes_at is not None and now >= exam.closes_at else "open"


def entry_of(session: Session, exam_id: str, sender: Principal, *, lock: bool = False) -> tuple[Exam, RosterEntry]:
    """The exam and the candidate's place on its roster.

    Raises:
        Problem: There is no such exam for this candidate; others' exams look the same.
    """
    exam = own(session, Exam, exam_id, sender, "exam")
    entry = session.get(RosterEntry, (exam_id, sender.candidate_id), with_for_update=LOCK if lock else None)
    if entry is None:
        raise Problem("not-found", "no exam of this id")
    return exam, entry


def answers_of(session: Session, exam_id: str, candidate_id: str) -> dict[str, Answer]:
    """Item (of the table) to the candidate's answer."""
    query = select(Answer).where(Answer.exam_id == exam_id, Answer.candidate_id == candidate_id)
    return {row.item_id: row for row in session.scalars(query)}


def save(session: Session, exam: Exam, entry: RosterEntry, item_id: str, text: str, expected: int) -> Answer:
    """Save an answer; ``expected`` is the revision that was read, 0 when there was none.

    Raises:
        Problem: The window is not open, the candidate handed in already, or the answer was changed elsewhere.
    """
    if phase(exam) != "open":
        raise Problem("wrong-state", f"the exam is {phase(exam)}; answers are saved while it is open")
    if entry.submitted_at is not None:
        raise Problem("wrong-state", "you have handed in already")
    query = select(Answer).where(
        Answer.exam_id == exam.id, Answer.candidate_id == entry.candidate_id, Answer.item_id == item_id
    )
    row = session.scalar(query.with_for_update(**LOCK))
    if (row.revision if row else 0) != expected:
        raise Problem("stale-etag", "the answer was changed elsewhere; read it again and send its new ETag")
    if row is None:
        row = Answer(
            org_id=exam.org_id,
            exam_id=exam.id,
            item_id=item_id,
            candidate_id=entry.candidate_id,
            text=text,
            revision=1,
        )
        session.add(row)
    elif row.text != text:
        row.text, row.saved_at = text, time.time()
        row.revision += 1
    session.flush()
    return row
