"""Regrades after a change of rubric or calibration: dry run, difference, apply."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field
from sqlalchemy.orm import Session

from api import exams, items, regrades
from api.auth import Principal
from api.db import LOCK
from api.db.models import Exam, Job
from api.deps import Staff, Svc, Unit, audit, own, reply
from api.problems import Problem
from api.routes.exams import own_exam
from api.routes.jobs import JobView, job_view
from api.schemas import Body, Id, SlugText, View

router = APIRouter(tags=["regrades"])


class RegradeItem(Body):
    """An item and the version to grade it with; by default its current one."""

    item: SlugText
    version: int | None = Field(default=None, ge=1, le=1_000_000)


class NewRegrade(Body):
    """Items to grade again."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [{"item": "view-vs-reshape"}]}]})

    items: Annotated[list[RegradeItem], Field(min_length=1, max_length=200)]


class ChangeView(View):
    """A mark that would change."""

    answer: str
    item: str
    old: float | None
    new: float | None
    delta: float | None


class RegradeView(View):
    """What a regrade would change, the largest changes first (at most 1,000)."""

    job: JobView
    compared: int
    unchanged: int
    changed: int
    decided: int = Field(description="Marks that a person decided; they stay.")
    stale: int = Field(description="Answers that changed since; they stay for the next grading.")
    mean_delta: float | None
    changes: list[ChangeView]


class ApplyRegrade(Body):
    """Why the marks change."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "Added an accepted wording."}]})

    reason: Annotated[str, Field(min_length=1, max_length=2000)]


class AppliedRegrade(View):
    """What was changed."""

    changed: int
    left: int


@router.post("/exams/{exam_id}/regrades", status_code=202, response_model=JobView)
def start_regrade(exam_id: Id, body: NewRegrade, sender: Staff, svc: Svc, unit: Unit) -> Response:
    """Start the dry run: every answer to these items is graded again, no mark changes."""

    def action(session: Session) -> JobView:
        exam = own_exam(session, exam_id, sender, lock=True)
        versions: dict[str, int] = {}
        for one in body.items:
            slot = exams.slot_of(session, exam.id, one.item)
            row = items.row_of(session, sender, one.item)
            version = one.version or row.version
            items.content_of(session, slot.item_id, version)
            versions[slot.item_id] = version
        job = exams.start_job(session, exam, sender.actor, svc.settings.chunk_size, "dry_run", versions)
        return job_view(session, job)

    return unit.run(action, 202)


@router.get("/regrades/{job_id}", response_model=RegradeView)
def get_regrade(job_id: Id, sender: Staff, svc: Svc) -> Response:
    """Which marks would change, and by how much."""
    with svc.db.read() as session:
        job = _own_regrade(session, job_id, sender)
        found = list(regrades.changes(session, job))
        view = job_view(session, job)
    free = [one for one in found if not one.decided and not one.stale]
    moved = [one for one in free if one.old != one.new]
    moved.sort(key=lambda one: -abs(one.delta) if one.delta is not None else -1e9)
    deltas = [one.delta for one in free if one.delta is not None]
    return reply(
        RegradeView(
            job=view,
            compared=len(found),
            unchanged=len(free) - len(moved),
            changed=len(moved),
            decided=sum(one.decided for one in found),
            stale=sum(one.stale and not one.decided for one in found),
            mean_delta=round(sum(deltas) / len(deltas), 4) if deltas else None,
            changes=[
                ChangeView(answer=one.answer, item=one.item, old=one.old, new=one.new, delta=one.delta)
                for one in moved[:1000]
            ],
        )
    )


def _own_regrade(session: Session, job_id: str, sender: Principal, *, lock: bool = False) -> Job:
    job = own(session, Job, job_id, sender, "regrade", lock=lock)
    if job.kind != "dry_run":
        raise Problem("not-found", "no regrade of this id")
    return job


@router.post("/regrades/{job_id}/apply", response_model=AppliedRegrade)
def apply_regrade(job_id: Id, body: ApplyRegrade, sender: Staff, unit: Unit) -> Response:
    """Make the dry run's results the marks; what a person decided stays."""

    def action(session: Session) -> AppliedRegrade:
        job = _own_regrade(session, job_id, sender)
        exam = own(session, Exam, job.exam_id, sender, "exam", lock=True)
        session.refresh(job, with_for_update=LOCK)
        changed, left = regrades.apply(session, sender, job, body.reason)
        audit(session, sender, "regrade", exam.id)
        return AppliedRegrade(changed=changed, left=left)

    return unit.run(action)
