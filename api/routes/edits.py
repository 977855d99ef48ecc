"""Edits of a rubric tried on an exam's answers before they are stored."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field
from sqlalchemy.orm import Session

from api import calibrations, edits, exams, items
from api.deps import Staff, Svc, Unit, reply
from api.routes.comparisons import MarkChange, changes_of
from api.routes.exams import own_exam
from api.routes.jobs import JobView, job_view
from api.schemas import Body, Id, IdText, SlugPath, View

router = APIRouter(tags=["items"])


class NewEditPreview(Body):
    """An edited rubric and the exam to try it on."""

    exam: IdText
    content: dict[str, Any] = Field(description="The whole item as it is in the editor.")


class EditPreviewView(View):
    """What the edit would do to the exam's machine marks; ``changes`` (at most 1,000) once the job is done."""

    job: JobView
    exam: str
    total: int
    changed: int
    decided: int = Field(description="Marks that a person decided; no edit changes them.")
    mean_change: float | None
    changes: list[MarkChange]


@router.post("/items/{item_id}/edit-previews", status_code=202, response_model=JobView)
def start_preview(item_id: SlugPath, body: NewEditPreview, sender: Staff, unit: Unit) -> Response:
    """Mark an exam's answers by an edited rubric and say which marks would change; nothing does."""
    edited = items.parse_content(body.content)

    def action(session: Session) -> JobView:
        row = items.row_of(session, sender, item_id, lock=True)
        exam = own_exam(session, body.exam, sender)
        exams.slot_of(session, exam.id, item_id)
        return job_view(session, edits.start(session, row, sender.actor, exam, edited))

    return unit.run(action, 202)


@router.get("/edit-previews/{job_id}", response_model=EditPreviewView)
def get_preview(job_id: Id, sender: Staff, svc: Svc) -> Response:
    """Which marks would change, and by how much."""
    with svc.db.read() as session:
        job = calibrations.own_job(session, sender, job_id, "edit")
        view = job_view(session, job)
    found = job.result or {}
    return reply(
        EditPreviewView(
            job=view,
            exam=job.params["exam"],
            decided=found.get("decided", 0),
            **changes_of(found),
        )
    )
