"""Regrades with a dry run first, and appeals."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from api import calibrations, exams, items
from api.db.models import CalibrationRow, ItemRow
from api.routes import candidates as candidate_routes
from api.routes import regrades as regrade_routes
from api.schemas import Id
from api.web.page import PageRoute, Teacher, body_of
from api.web.routes.teach import exam_of

router = APIRouter(route_class=PageRoute, prefix="/teach")


@router.get("/exams/{exam_id}/regrade")
def choose(ctx: Teacher, exam_id: Id) -> Response:
    """Items with the version the exam uses, the newest one, and the calibration that would mark it."""
    exam = exam_of(ctx, exam_id)
    with ctx.svc.db.read() as session:
        rows: list[dict[str, Any]] = []
        for slot in exams.slots(session, exam_id):
            row = session.get_one(ItemRow, slot.item_id)
            found = calibrations.in_force(session, row.org_id, items.content_of(session, row.id, row.version))
            name = session.get_one(CalibrationRow, found).name if found else ""
            entry = {"item": slot.slug, "prompt": slot.item.prompt, "version": slot.version, "newest": row.version}
            rows.append({**entry, "calibration": name})
    return ctx.page("regrade.html", exam=exam, rows=rows, tab="regrade")


@router.post("/exams/{exam_id}/regrade")
def start(ctx: Teacher, exam_id: Id) -> Response:
    """Start the dry run."""
    wanted = [{"item": str(slug)} for slug in ctx.form.getlist("item")]
    body = body_of(regrade_routes.NewRegrade, items=wanted)
    job = ctx.call(regrade_routes.start_regrade, exam_id, body, ctx.me, ctx.svc, ctx.unit())
    return ctx.go(f"/teach/regrades/{job['id']}")


@router.get("/regrades/{job_id}")
def look(ctx: Teacher, job_id: Id) -> Response:
    """Which marks would change."""
    found = ctx.call(regrade_routes.get_regrade, job_id, ctx.me, ctx.svc)
    return ctx.page("regrade_view.html", exam=exam_of(ctx, found["job"]["exam"]), regrade=found, tab="regrade")


@router.post("/regrades/{job_id}/apply")
def apply(ctx: Teacher, job_id: Id) -> Response:
    """Make the dry run's results the marks."""
    body = body_of(regrade_routes.ApplyRegrade, reason=ctx.text("reason", 2000).strip())
    ctx.call(regrade_routes.apply_regrade, job_id, body, ctx.me, ctx.unit())
    return ctx.go(f"/teach/regrades/{job_id}")


@router.get("/exams/{exam_id}/appeals")
def appeals(ctx: Teacher, exam_id: Id) -> Response:
    """What candidates want to be looked at again."""
    found = ctx.call(candidate_routes.list_appeals, exam_id, ctx.me, ctx.svc, state=None)["data"]
    found.sort(key=lambda one: one["state"] != "open")
    return ctx.page("appeals.html", exam=exam_of(ctx, exam_id), appeals=found, tab="appeals")


@router.post("/exams/{exam_id}/appeals/{appeal_id}")
def decide(ctx: Teacher, exam_id: Id, appeal_id: Id) -> Response:
    """Accept or reject an appeal."""
    accepted = ctx.text("decision", 10) == "accept"
    body = body_of(candidate_routes.Decision, accept=accepted, reply=ctx.text("reply", 4000).strip())
    ctx.call(candidate_routes.decide, appeal_id, body, ctx.me, ctx.unit())
    return ctx.go(f"/teach/exams/{exam_id}/appeals")
