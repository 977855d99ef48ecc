"""Exams: their items, answers, candidates and jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, exists, func, or_, select
from sqlalchemy.orm import Session

from api import calibrations, items, marks
from api.auth import Principal
from api.db import LOCK, new_id
from api.db.models import Answer, Candidate, CandidateName, Chunk, Exam, ExamItem, ItemRow, Job, Mark, RosterEntry
from api.problems import Problem
from grader.rubric import Item

_MANY = 400
# The first chunk of a job is small, so that its progress shows at once.
_FIRST = 8


@dataclass(frozen=True, slots=True)
class Slot:
    """An item of an exam with what is needed to grade and report it."""

    item_id: str
    slug: str
    position: int
    version: int
    weight: float
    item: Item


def slots(session: Session, exam_id: str) -> list[Slot]:
    """The exam's items in their order."""
    query = (
        select(ExamItem, ItemRow.slug)
        .join(ItemRow, ItemRow.id == ExamItem.item_id)
        .where(ExamItem.exam_id == exam_id)
        .order_by(ExamItem.position)
    )
    return [
        Slot(
            row.item_id,
            slug,
            row.position,
            row.version,
            row.weight,
            items.content_of(session, row.item_id, row.version),
        )
        for row, slug in session.execute(query)
    ]


def slot_of(session: Session, exam_id: str, slug: str) -> Slot:
    """One item of the exam.

    Raises:
        Problem: The exam has no such item.
    """
    for slot in slots(session, exam_id):
        if slot.slug == slug:
            return slot
    raise Problem("not-found", f"the exam has no item '{slug}'")


def add_items(
    session: Session, sender: Principal, exam: Exam, wanted: Sequence[tuple[str, int | None, float | None]], take: bool
) -> None:
    """Put items (id, version, weight) into a new exam.

    Raises:
        Problem: An item is unknown, comes twice, or is for practice and ``take`` is not set.
    """
    seen: set[str] = set()
    for position, (slug, version, weight) in enumerate(wanted):
        if slug in seen:
            raise Problem("invalid", f"the item '{slug}' comes twice")
        seen.add(slug)
        row = items.row_of(session, sender, slug, lock=True)
        if row.use == "practice":
            if not take:
                raise Problem(
                    "item-in-practice",
                    f"the item '{slug}' is for practice; allowed: items for exams, or 'take_from_practice': true",
                )
            items.take_for_exam(session, row)
        item = items.content_of(session, row.id, version or row.version)
        session.add(
            ExamItem(
                exam_id=exam.id,
                position=position,
                org_id=exam.org_id,
                item_id=row.id,
                version=version or row.version,
                weight=item.scale.max if weight is None else weight,
            )
        )
    session.flush()


def candidates_by_external(session: Session, org_id: str, wanted: Iterable[str]) -> dict[str, str]:
    """Candidate ids for outside ids; unknown ones become new candidates."""
    names = list(dict.fromkeys(wanted))
    found: dict[str, str] = {}
    for start in range(0, len(names), _MANY):
        part = names[start : start + _MANY]
        query = select(CandidateName.external_id, CandidateName.candidate_id).where(
            CandidateName.org_id == org_id, CandidateName.external_id.in_(part)
        )
        found.update((external, candidate) for external, candidate in session.execute(query))
    made = {name: new_id() for name in names if name not in found}
    session.add_all(Candidate(id=one, org_id=org_id) for one in made.values())
    session.flush()
    session.add_all(
        CandidateName(candidate_id=one, org_id=org_id, external_id=name, name=None) for name, one in made.items()
    )
    session.flush()
    return {**found, **made}


def names(session: Session, exam_id: str) -> dict[str, tuple[str, str | None]]:
    """Candidate id to outside id and name; callers log that they looked."""
    query = (
        select(CandidateName.candidate_id, CandidateName.external_id, CandidateName.name)
        .join(RosterEntry, RosterEntry.candidate_id == CandidateName.candidate_id)
        .where(RosterEntry.exam_id == exam_id)
    )
    return {row.candidate_id: (row.external_id, row.name) for row in session.execute(query)}


def enrol(session: Session, exam: Exam, candidate_ids: Iterable[str]) -> int:
    """Put candidates on the exam's roster; returns how many were not on it."""
    known = set(session.scalars(select(RosterEntry.candidate_id).where(RosterEntry.exam_id == exam.id)))
    fresh = [one for one in dict.fromkeys(candidate_ids) if one not in known]
    session.add_all(RosterEntry(exam_id=exam.id, candidate_id=one, org_id=exam.org_id) for one in fresh)
    session.flush()
    return len(fresh)


@dataclass(frozen=True, slots=True)
class Given:
    """One answer to store."""

    candidate_id: str
    item_id: str
    text: str
    row: int | None = None


@dataclass(slots=True)
class Saved:
    """What became of answers."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    kept: int = 0


def save_answers(
    session: Session, exam: Exam, given: Sequence[Given], *, replace: bool, upload_id: str | None, actor: str
) -> Saved:
    """Store answers; one whose mark a person decided is kept as it is.

    Raises:
        Problem: There is another answer of the candidate and ``replace`` is not set.
    """
    query = select(Answer).where(Answer.exam_id == exam.id).order_by(Answer.id).with_for_update(**LOCK)
    known = {(row.candidate_id, row.item_id): row for row in session.scalars(query)}
    decided = set(session.scalars(select(Mark.answer_id).where(Mark.exam_id == exam.id, Mark.origin != "machine")))
    saved, clashes = Saved(), []
    for one in given:
        row = known.get((one.candidate_id, one.item_id))
        if row is None:
            session.add(_answer(exam, one, upload_id))
            saved.added += 1
        elif row.text == one.text:
            saved.unchanged += 1
        elif row.id in decided:
            saved.kept += 1
        elif not replace:
            clashes.append((f"row {one.row}" if one.row else "answer", "the candidate has another answer to this item"))
        else:
            row.text, row.upload_id, row.upload_row = one.text, upload_id, one.row
            row.revision += 1
            saved.replaced += 1
    if clashes:
        raise Problem("duplicate", f"{len(clashes)} answers exist with another text; nothing was stored", clashes[:100])
    session.flush()
    return saved


def _answer(exam: Exam, one: Given, upload_id: str | None) -> Answer:
    return Answer(
        id=new_id(),
        org_id=exam.org_id,
        exam_id=exam.id,
        item_id=one.item_id,
        candidate_id=one.candidate_id,
        text=one.text,
        upload_id=upload_id,
        upload_row=one.row,
    )


def start_job(
    session: Session,
    exam: Exam,
    actor: str,
    size: int,
    kind: str = "grade",
    versions: Mapping[str, int] | None = None,
) -> Job:
    """A job over the exam's answers, cut into chunks of one item each, with the calibrations in force now.

    Args:
        session: A write transaction in which the exam is locked.
        exam: The exam.
        actor: Who starts it.
        size: Most answers of a chunk.
        kind: ``grade`` takes what has no mark or changed since; ``dry_run`` takes every answer of ``versions``.
        versions: For a dry run, item id (of the table) to version.

    Raises:
        Problem: Another job of the exam is not finished.
    """
    unfinished = exists().where(Job.exam_id == exam.id, Job.state.in_(("active", "paused")))
    if session.scalar(select(unfinished)):
        raise Problem("wrong-state", "a job of this exam is not finished; wait for it or cancel it")
    job = Job(org_id=exam.org_id, exam_id=exam.id, kind=kind, created_by=actor, params=dict(versions or {}))
    session.add(job)
    session.flush()
    count = 0
    for slot in slots(session, exam.id):
        if versions is not None and slot.item_id not in versions:
            continue
        version = versions[slot.item_id] if versions else slot.version
        item = items.content_of(session, slot.item_id, version)
        calibration = calibrations.in_force(session, exam.org_id, item)
        ids = _to_grade(session, exam.id, slot.item_id, everything=kind == "dry_run")
        while ids:
            most = size if count else min(size, _FIRST)
            session.add(_chunk(job, slot.item_id, version, ids[:most], calibration))
            ids = ids[most:]
            count += 1
    if count == 0:
        job.state, job.finished_at = "done", job.created_at
    session.flush()
    return job


def _chunk(job: Job, item_id: str, version: int, ids: list[str], calibration_id: str | None) -> Chunk:
    return Chunk(
        id=new_id(),
        org_id=job.org_id,
        job_id=job.id,
        item_id=item_id,
        version=version,
        calibration_id=calibration_id,
        answer_ids=ids,
        size=len(ids),
    )


def _to_grade(session: Session, exam_id: str, item_id: str, *, everything: bool) -> list[str]:
    query = (
        select(Answer.id)
        .outerjoin(Mark, Mark.answer_id == Answer.id)
        .where(Answer.exam_id == exam_id, Answer.item_id == item_id)
        .order_by(Answer.id)
    )
    if not everything:
        stale = (Mark.origin == "machine") & (Mark.text_revision != Answer.revision)
        query = query.where(or_(Mark.answer_id.is_(None), stale))
    return list(session.scalars(query))


@dataclass(frozen=True, slots=True)
class Counts:
    """How far an exam is."""

    candidates: int
    answers: int
    marked: int
    waiting: int


def counts(session: Session, exam_id: str) -> Counts:
    """Candidates, answers, stored marks and marks that wait for a person."""

    def number(query: object) -> int:
        return int(session.scalar(query) or 0)  # type: ignore[call-overload]

    return Counts(
        number(select(func.count()).select_from(RosterEntry).where(RosterEntry.exam_id == exam_id)),
        number(select(func.count()).select_from(Answer).where(Answer.exam_id == exam_id)),
        number(select(func.count()).select_from(Mark).where(Mark.exam_id == exam_id)),
        number(select(func.count()).select_from(Mark).where(Mark.exam_id == exam_id, Mark.review.in_(marks.WAITING))),
    )


def delete_exam(session: Session, exam: Exam) -> None:
    """Delete an exam with its answers and marks; items and candidates stay."""
    calibrations.forget_answers(session, list(session.scalars(select(Answer.id).where(Answer.exam_id == exam.id))))
    for table in (Mark, Answer):
        session.execute(delete(table).where(table.exam_id == exam.id))
    session.delete(exam)
    session.flush()
