"""Two calibrations compared on an exam's answers: which marks differ, and by how much."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import calibrations, exams, items
from api.auth import Principal
from api.db import LOCK
from api.db.models import Answer, CalibrationRow, ItemRow
from api.deps import Staff, Svc, Unit, reply
from api.problems import Problem
from api.routes.exams import own_exam
from api.routes.jobs import JobView, job_view
from api.schemas import Body, Id, IdText, View

router = APIRouter(tags=["calibrations"])


class NewComparison(Body):
    """Compare with another calibration on an exam: by default with the one in force, ``none`` for no calibration."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"exam": "0" * 27}]})

    exam: IdText
    other: Annotated[str, Field(pattern=r"^([0-9a-f]{27}|none)$")] | None = None


class MarkChange(View):
    """A mark that differs."""

    answer: str
    old: float | None
    new: float | None


def changes_of(found: dict[str, Any]) -> dict[str, Any]:
    """The fields that views of a job's changed marks share: counts, the mean, and at most 1,000 changes."""
    changes = found.get("changes", [])
    return {
        "total": found.get("total", 0),
        "changed": len(changes),
        "mean_change": found.get("mean_change"),
        "changes": [MarkChange(**one) for one in changes[:1000]],
    }


class ComparisonView(View):
    """What the calibration does to the exam's marks; ``changes`` (the largest first, at most 1,000) once it is done."""

    job: JobView
    exam: str
    before: str
    after: str
    total: int
    changed: int
    mean_change: float | None
    newly_referred: int
    no_longer_referred: int
    changes: list[MarkChange]


@router.post("/calibrations/{calibration_id}/comparisons", status_code=202, response_model=JobView)
def start_comparison(calibration_id: Id, body: NewComparison, sender: Staff, unit: Unit) -> Response:
    """Mark an exam's answers with two calibrations and say which marks differ; no mark changes."""

    def action(session: Session) -> JobView:
        row = calibrations.own(session, sender, calibration_id)
        item = session.get_one(ItemRow, row.item_id, with_for_update=LOCK)
        exam = own_exam(session, body.exam, sender)
        exams.slot_of(session, exam.id, item.slug)
        before = _before(session, sender, row, body.other)
        query = select(Answer.id).where(Answer.exam_id == exam.id, Answer.item_id == item.id).order_by(Answer.id)
        ids = list(session.scalars(query))
        return job_view(session, calibrations.start_comparison(session, item, sender.actor, exam, row, before, ids))

    return unit.run(action, 202)


def _before(session: Session, sender: Principal, row: CalibrationRow, other: str | None) -> str | None:
    """Id of the calibration to compare with, ``None`` for the uncalibrated scorer."""
    if other is None:
        return calibrations.in_force(session, sender.org_id, items.content_of(session, row.item_id, row.item_version))
    if other == "none":
        return None
    found = calibrations.own(session, sender, other)
    if found.rubric != row.rubric:
        raise Problem("other-rubric", f"calibration {found.name} was made for another item or version")
    return found.id


@router.get("/comparisons/{job_id}", response_model=ComparisonView)
def get_comparison(job_id: Id, sender: Staff, svc: Svc) -> Response:
    """Which marks differ, and by how much."""
    with svc.db.read() as session:
        job = calibrations.own_job(session, sender, job_id, "compare")
        view = job_view(session, job)
        names: dict[str, Any] = {
            key: calibrations.own(session, sender, job.params[key]).name if job.params[key] else "none"
            for key in ("before", "after")
        }
    found = job.result or {}
    return reply(
        ComparisonView(
            job=view,
            exam=job.params["exam"],
            **names,
            newly_referred=len(found.get("newly_referred", [])),
            no_longer_referred=len(found.get("no_longer_referred", [])),
            **changes_of(found),
        )
    )
