"""Jobs: start grading, watch, pause, resume, cancel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse
from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from api import exams
from api.auth import Principal
from api.db.models import Chunk, Job
from api.deps import Services, Staff, Svc, Unit, own, reply
from api.problems import Problem
from api.routes.exams import own_exam
from api.schemas import Id, Page, Time, View

router = APIRouter(tags=["jobs"])
_OVER = ("done", "failed", "cancelled")


class JobView(View):
    """A job and how far it is, in answers."""

    id: str
    exam: str | None
    item: str | None = Field(description="Id of the item, for work on a calibration.")
    kind: str = Field(examples=["grade", "dry_run", "fit", "compare", "suggest", "edit"])
    state: str = Field(examples=["active", "paused", "done", "failed", "cancelled"])
    total: int
    done: int
    failed: int
    error: str | None
    calibration: str | None = Field(description="Id of the calibration that a fit made, once it is done.")
    created_at: Time
    finished_at: Time | None


def job_view(session: Session, job: Job) -> JobView:
    """The job as it is answered."""
    query = select(Chunk.state, func.sum(Chunk.size), func.sum(Chunk.progress)).where(Chunk.job_id == job.id)
    rows = session.execute(query.group_by(Chunk.state)).all()
    sizes = {state: int(size) for state, size, _ in rows}
    under_way = sum(int(progress) for state, _, progress in rows if state == "pending")
    return JobView(
        id=job.id,
        exam=job.exam_id,
        item=job.params["item"] if job.item_id else None,
        kind=job.kind,
        state=job.state,
        total=sum(sizes.values()),
        done=sizes.get("done", 0) + under_way,
        failed=sizes.get("failed", 0),
        error=job.error,
        calibration=(job.result or {}).get("calibration"),
        created_at=job.created_at,
        finished_at=job.finished_at,
    )


@router.post("/exams/{exam_id}/grade", status_code=202, response_model=JobView)
def grade(exam_id: Id, sender: Staff, svc: Svc, unit: Unit) -> Response:
    """Grade what has no mark yet or changed since; marks that a person decided are never touched."""

    def action(session: Session) -> JobView:
        exam = own_exam(session, exam_id, sender, lock=True)
        job = exams.start_job(session, exam, sender.actor, svc.settings.chunk_size)
        return job_view(session, job)

    return unit.run(action, 202)


@router.get("/exams/{exam_id}/jobs", response_model=Page[JobView])
def list_jobs(exam_id: Id, sender: Staff, svc: Svc) -> Response:
    """The exam's jobs, the newest first."""
    with svc.db.read() as session:
        own_exam(session, exam_id, sender)
        rows = session.scalars(select(Job).where(Job.exam_id == exam_id).order_by(Job.id.desc()).limit(500)).all()
        return reply(Page[JobView](data=[job_view(session, row) for row in rows]))


@router.get("/jobs/{job_id}", response_model=JobView)
def get_job(job_id: Id, sender: Staff, svc: Svc) -> Response:
    """How far a job is."""
    return reply(_read(svc, job_id, sender))


def _read(svc: Services, job_id: str, sender: Principal) -> JobView:
    with svc.db.read() as session:
        return job_view(session, own(session, Job, job_id, sender, "job"))


@router.get(
    "/jobs/{job_id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Progress."}},
)
def job_events(job_id: Id, sender: Staff, svc: Svc) -> Response:
    """Progress as server-sent events until the job is over; reconnect when the stream ends before."""
    first = _read(svc, job_id, sender)

    async def events() -> AsyncIterator[str]:
        view, sent, end = first, "", time.monotonic() + svc.settings.stream_seconds
        while True:
            text = view.model_dump_json()
            yield f"event: progress\ndata: {text}\n\n" if text != sent else ": waiting\n\n"
            sent = text
            if view.state in _OVER or time.monotonic() > end:
                return
            await asyncio.sleep(svc.settings.poll_seconds)
            try:
                view = await run_in_threadpool(_read, svc, job_id, sender)
            except Problem:
                return

    return StreamingResponse(events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _move(sender: Principal, unit: Unit, job_id: str, allowed: tuple[str, ...], target: str) -> Response:
    def action(session: Session) -> JobView:
        job = own(session, Job, job_id, sender, "job", lock=True)
        if job.state not in (*allowed, target):
            raise Problem("wrong-state", f"the job is {job.state}; allowed: {' or '.join(allowed)}")
        job.state = target
        if target == "cancelled" and job.finished_at is None:
            job.finished_at = time.time()
        return job_view(session, job)

    return unit.run(action)


@router.post("/jobs/{job_id}/pause", response_model=JobView)
def pause(job_id: Id, sender: Staff, unit: Unit) -> Response:
    """Start no more chunks; one under way is finished and stored."""
    return _move(sender, unit, job_id, ("active",), "paused")


@router.post("/jobs/{job_id}/resume", response_model=JobView)
def resume(job_id: Id, sender: Staff, unit: Unit) -> Response:
    """Go on with a paused job."""
    return _move(sender, unit, job_id, ("paused",), "active")


@router.post("/jobs/{job_id}/cancel", response_model=JobView)
def cancel(job_id: Id, sender: Staff, unit: Unit) -> Response:
    """End a job; marks stored so far stay, a chunk under way is not stored."""
    return _move(sender, unit, job_id, ("active", "paused"), "cancelled")
