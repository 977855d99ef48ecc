"""Exams of a teacher: list, create, overview, grading with progress, release, statistics."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from api import exams, marks
from api.db.models import Answer, Mark
from api.problems import Problem
from api.routes import exams as exam_routes
from api.routes import jobs as job_routes
from api.routes import results as result_routes
from api.schemas import Id
from api.web.choosing import all_items
from api.web.page import Ctx, PageRoute, Teacher, body_of

router = APIRouter(route_class=PageRoute, prefix="/teach")
#: From this many answers on, statistics are counted after the page is shown.
_MANY = 1000
_RUNNING = ("active", "paused")


@router.get("")
def list_exams(ctx: Teacher, cursor: Annotated[str | None, Query(max_length=500)] = None) -> Response:
    """All exams, the newest first."""
    page = ctx.call(exam_routes.list_exams, ctx.me, ctx.svc, cursor=cursor, limit=50)
    return ctx.page("teach_list.html", exams=page["data"], next=page["next"])


@router.get("/new")
def new_exam(ctx: Teacher) -> Response:
    """The form for an exam."""
    return ctx.page("teach_new.html", items=all_items(ctx))


def _boundaries(text: str) -> list[dict[str, Any]]:
    found = []
    for line in text.splitlines():
        grade, _, least = line.strip().rpartition(" ")
        if not line.strip():
            continue
        try:
            found.append({"grade": grade.strip(), "from_percent": float(least.strip(" %").replace(",", "."))})
        except ValueError:
            raise Problem("invalid", f"'{line.strip()[:60]}' is no grade with a percentage, such as 'A 85'") from None
    return found


def _settings(ctx: Ctx) -> dict[str, Any]:
    return {
        "pass_percent": ctx.number("pass_percent"),
        "boundaries": _boundaries(ctx.text("boundaries", 2000)),
        "opens_at": ctx.text("opens_at", 40) or None,
        "closes_at": ctx.text("closes_at", 40) or None,
    }


def _slugs(ctx: Ctx) -> list[str]:
    return [str(one) for one in ctx.form.getlist("item")]


@router.post("/new")
def create_exam(ctx: Teacher) -> Response:
    """Create an exam."""
    body = body_of(
        exam_routes.NewExam,
        title=ctx.text("title", 300).strip(),
        items=[{"item": slug, "weight": ctx.number(f"weight-{slug}")} for slug in _slugs(ctx)],
        take_from_practice=True,
        **_settings(ctx),
    )
    made = ctx.call(exam_routes.create_exam, body, ctx.me, ctx.unit())
    return ctx.go(f"/teach/exams/{made['id']}")


def exam_of(ctx: Ctx, exam_id: str) -> dict[str, Any]:
    """An exam as every page of it shows it."""
    found: dict[str, Any] = ctx.call(exam_routes.get_exam, exam_id, ctx.me, ctx.svc)
    return found


def item_counts(session: Session, exam_id: str) -> list[dict[str, Any]]:
    """For each item of the exam: its prompt and how many answers, marks, waiting and decided ones it has."""
    waiting = func.sum(case((Mark.review.in_(marks.WAITING), 1), else_=0))
    decided = func.sum(case((Mark.origin.is_distinct_from("machine") & Mark.answer_id.is_not(None), 1), else_=0))
    query = (
        select(Answer.item_id, func.count(), func.count(Mark.answer_id), waiting, decided)
        .outerjoin(Mark, Mark.answer_id == Answer.id)
        .where(Answer.exam_id == exam_id)
        .group_by(Answer.item_id)
    )
    counts = {row[0]: [int(one or 0) for one in row[1:]] for row in session.execute(query)}
    found = []
    for slot in exams.slots(session, exam_id):
        answers, marked, wait, done = counts.get(slot.item_id, [0, 0, 0, 0])
        found.append(
            {
                "item": slot.slug,
                "prompt": slot.item.prompt,
                "version": slot.version,
                "weight": slot.weight,
                "answers": answers,
                "marked": marked,
                "waiting": wait,
                "decided": done,
            }
        )
    return found


@router.get("/exams/{exam_id}")
def overview(ctx: Teacher, exam_id: Id) -> Response:
    """How far an exam is and what to do next."""
    exam = exam_of(ctx, exam_id)
    jobs = ctx.call(job_routes.list_jobs, exam_id, ctx.me, ctx.svc)["data"][:5]
    with ctx.svc.db.read() as session:
        counts = item_counts(session, exam_id)
    running = next((one for one in jobs if one["state"] in _RUNNING), None)
    return ctx.page("teach_exam.html", exam=exam, jobs=jobs, running=running, counts=counts, tab="overview")


@router.post("/exams/{exam_id}/grade")
def grade(ctx: Teacher, exam_id: Id) -> Response:
    """Start grading."""
    ctx.call(job_routes.grade, exam_id, ctx.me, ctx.svc, ctx.unit())
    return ctx.go(f"/teach/exams/{exam_id}")


@router.get("/jobs/{job_id}/events")
def events(ctx: Teacher, job_id: Id) -> Response:
    """Progress of a job, live."""
    return job_routes.job_events(job_id, ctx.me, ctx.svc)


@router.post("/jobs/{job_id}/{action}")
def control(ctx: Teacher, job_id: Id, action: str) -> Response:
    """Pause, resume or cancel a job."""
    handlers = {"pause": job_routes.pause, "resume": job_routes.resume, "cancel": job_routes.cancel}
    if action not in handlers:
        raise Problem("not-found", "there is no such action")
    job = ctx.call(handlers[action], job_id, ctx.me, ctx.unit())
    if job["item"]:
        return ctx.go(f"/rubrics/{job['item']}{'' if job['kind'] == 'edit' else '/calibration'}")
    return ctx.go(f"/teach/exams/{job['exam']}" if job["kind"] == "grade" else f"/teach/regrades/{job_id}")


@router.post("/exams/{exam_id}/release")
def release(ctx: Teacher, exam_id: Id) -> Response:
    """Show the results to the candidates, or take that back."""
    revision = int(ctx.number("revision") or 0)
    withdraw = ctx.text("withdraw", 5) == "1"
    ctx.call(exam_routes.release, exam_id, ctx.me, ctx.unit(), revision, withdraw=withdraw)
    return ctx.go(f"/teach/exams/{exam_id}")


@router.post("/exams/{exam_id}/settings")
def change(ctx: Teacher, exam_id: Id) -> Response:
    """Change title, window, pass mark and grades."""
    body = body_of(exam_routes.ExamPatch, title=ctx.text("title", 300).strip() or None, **_settings(ctx))
    revision = int(ctx.number("revision") or 0)
    ctx.call(exam_routes.change_exam, exam_id, body, ctx.me, ctx.unit(), revision)
    return ctx.go(f"/teach/exams/{exam_id}")


@router.post("/exams/{exam_id}/delete")
def delete(ctx: Teacher, exam_id: Id) -> Response:
    """Delete an exam for good."""
    ctx.call(exam_routes.delete_exam, exam_id, ctx.me, ctx.unit(), int(ctx.number("revision") or 0))
    return ctx.go("/teach")


def _misconceptions(session: Session, exam_id: str) -> list[tuple[str, str, int]]:
    found: Counter[tuple[str, str]] = Counter()
    texts: dict[tuple[str, str], str] = {}
    slugs = {slot.item_id: slot.slug for slot in exams.slots(session, exam_id)}
    for item_id, result in session.execute(select(Mark.item_id, Mark.result).where(Mark.exam_id == exam_id)):
        for one in {(error["id"], error["explanation"]) for error in result["errors"]}:
            key = (slugs[item_id], one[0])
            found[key] += 1
            texts[key] = one[1]
    return [(key[0], texts[key], count) for key, count in found.most_common(12)]


@router.get("/exams/{exam_id}/statistics")
def statistics(ctx: Teacher, exam_id: Id, now: bool = False) -> Response:
    """How items, components and the class did; for a large exam the numbers follow the page."""
    exam = exam_of(ctx, exam_id)
    if exam["answers"] > _MANY and not now:
        return ctx.page("teach_statistics.html", exam=exam, tab="statistics", stats=None)
    found = ctx.call(result_routes.exam_statistics, exam_id, ctx.me, ctx.svc)
    with ctx.svc.db.read() as session:
        wrong = _misconceptions(session, exam_id)
        slots = exams.slots(session, exam_id)
    parts = [(one["item"], name, part) for one in found["items"] for name, part in one["parts"].items()]
    parts.sort(key=lambda one: float(one[2]["mean_share"]))
    data = {
        "stats": found,
        "wrong": wrong,
        "prompts": {slot.slug: slot.item.prompt for slot in slots},
        "scales": {slot.slug: [f"{point:g}" for point in slot.item.scale.points][:41] for slot in slots},
        "parts": parts,
        "never": [one for one in parts if not one[2]["full"]],
    }
    template = "_statistics.html" if ctx.partial else "teach_statistics.html"
    return ctx.page(template, exam=exam, tab="statistics", **data)
