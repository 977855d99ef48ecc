"""Calibration of an item: labels in, fit with progress, report, comparison, in force and back, what to label next."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi import UploadFile as FastUpload
from starlette.datastructures import UploadFile

from api.problems import Problem
from api.routes import calibrations as calibration_routes
from api.routes import comparisons as comparison_routes
from api.routes import items as item_routes
from api.routes import labels as label_routes
from api.routes import suggestions as suggestion_routes
from api.schemas import Id, SlugPath
from api.web.page import Ctx, PageRoute, Teacher, body_of
from api.web.routes.rubrics import exams_with
from grader.advice import Advice

router = APIRouter(route_class=PageRoute, prefix="/rubrics/{slug}/calibration")
_RUNNING = ("active", "paused")
#: The report is shown inside a page of this service and nowhere else; it has no script.
_FRAMED = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}


def _item(ctx: Ctx, slug: str) -> dict[str, Any]:
    found: dict[str, Any] = ctx.call(item_routes.get_item, slug, ctx.me, ctx.svc)
    return found


def _show(ctx: Ctx, template: str, slug: str, **data: Any) -> Response:
    return ctx.page(template, view=_item(ctx, slug), **data)


@router.get("")
def overview(ctx: Teacher, slug: SlugPath) -> Response:
    """Labels so far, calibrations so far, and what to do next."""
    return _overview(ctx, slug)


def _overview(ctx: Ctx, slug: str, **more: Any) -> Response:
    jobs = ctx.call(calibration_routes.list_jobs, slug, ctx.me, ctx.svc)["data"]
    data = {
        "shelf": ctx.call(calibration_routes.list_calibrations, slug, ctx.me, ctx.svc),
        "running": next((one for one in jobs if one["kind"] == "fit" and one["state"] in _RUNNING), None),
        "failed": next((one for one in jobs[:1] if one["state"] == "failed"), None),
        "exams": exams_with(ctx, slug),
        "taken": None,
    }
    return _show(ctx, "calibration.html", slug, **{**data, **more})


@router.get("/labels")
def list_labels(ctx: Teacher, slug: SlugPath, cursor: Annotated[str | None, Query(max_length=500)] = None) -> Response:
    """The answers that people marked, with where the marks came from."""
    found = ctx.call(label_routes.list_labels, slug, ctx.me, ctx.svc, cursor=cursor, limit=100)
    return _show(ctx, "calibration_labels.html", slug, labels=found["data"], next=found["next"])


@router.post("/labels")
def send(ctx: Teacher, slug: SlugPath) -> Response:
    """Read a labelled table; nothing of it counts before it is applied."""
    file = ctx.form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise Problem("invalid", "choose a file: CSV, TSV or XLSX")
    upload = FastUpload(file.file, size=file.size, filename=file.filename, headers=file.headers)
    subgroup = ctx.text("subgroup", 400).strip() or None
    made = ctx.call(label_routes.upload_labels, slug, upload, ctx.me, ctx.svc, ctx.unit(), subgroup=subgroup)
    return ctx.go(f"/rubrics/{slug}/calibration/labels/{made['id']}")


@router.get("/labels/{upload_id}")
def preview(ctx: Teacher, slug: SlugPath, upload_id: Id) -> Response:
    """What a labelled table holds."""
    found = ctx.call(label_routes.get_label_upload, slug, upload_id, ctx.me, ctx.svc)
    return _show(ctx, "calibration_upload.html", slug, upload=found)


@router.post("/labels/{upload_id}")
def apply(ctx: Teacher, slug: SlugPath, upload_id: Id) -> Response:
    """Store the labels of a table."""
    body = body_of(label_routes.ApplyLabels, replace=ctx.text("replace", 5) == "1")
    ctx.call(label_routes.apply_labels, slug, upload_id, body, ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{slug}/calibration")


@router.post("/fit")
def fit(ctx: Teacher, slug: SlugPath) -> Response:
    """Start a fit with the teacher's risk."""
    policy = {
        "risk": (ctx.number("risk") or 0) / 100,
        "tolerance": ctx.number("tolerance") or 0,
        "pass_mark": ctx.number("pass_mark"),
    }
    body = body_of(calibration_routes.NewCalibration, policy=policy)
    ctx.call(calibration_routes.start_fit, slug, body, ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{slug}/calibration")


@router.post("/roll-back")
def roll_back(ctx: Teacher, slug: SlugPath) -> Response:
    """Put the calibration before back in force."""
    ctx.call(calibration_routes.roll_back, slug, body_of(calibration_routes.OfVersion), ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{slug}/calibration")


@router.post("/decisions")
def decisions(ctx: Teacher, slug: SlugPath) -> Response:
    """Make labels of the marks that people set or accepted in an exam."""
    exam = ctx.text("exam", 40)
    body = body_of(label_routes.TakeDecisions, exam=exam)
    taken = ctx.call(label_routes.take_decisions, slug, body, ctx.me, ctx.unit())
    return _overview(ctx, slug, taken=taken, taken_exam=exam)


@router.post("/suggestions")
def suggest(ctx: Teacher, slug: SlugPath) -> Response:
    """Look for the answers whose labels would tell most."""
    body = body_of(suggestion_routes.NewSuggestion, number=int(ctx.number("number") or 10))
    exam = ctx.text("exam", 40)
    job = ctx.call(suggestion_routes.start_suggestion, exam, slug, body, ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{slug}/calibration/suggestions/{job['id']}")


@router.get("/suggestions/{job_id}")
def suggested(ctx: Teacher, slug: SlugPath, job_id: Id) -> Response:
    """The suggested answers, to be marked right there."""
    found = ctx.call(suggestion_routes.get_suggestion, job_id, ctx.me, ctx.svc)
    return _show(ctx, "calibration_label.html", slug, job=found["job"], answers=found["answers"], audit=False, total=0)


@router.get("/audit")
def audit(ctx: Teacher, slug: SlugPath, exam: Annotated[str, Query(pattern="^[0-9a-f]{27}$")]) -> Response:
    """A random sample of the answers nobody has looked at, to be marked right there."""
    found = ctx.call(label_routes.audit_sample, exam, slug, ctx.me, ctx.svc, size=20)
    data = {"job": None, "answers": found["answers"], "total": found["total"], "audit": True}
    return _show(ctx, "calibration_label.html", slug, **data)


@router.post("/marks")
def mark(ctx: Teacher, slug: SlugPath) -> Response:
    """Store the labels that were given; answers left empty are left out."""
    given = []
    for answer in ctx.form.getlist("answer"):
        score = ctx.number(f"score-{answer}")
        if score is not None:
            given.append({"answer": str(answer), "human_score": score})
    if not given:
        raise Problem("invalid", "no answer was marked; allowed: a mark for at least one")
    body = body_of(label_routes.NewLabels, labels=given, audit=ctx.text("audit", 5) == "1")
    ctx.call(label_routes.add_labels, slug, body, ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{slug}/calibration")


@router.get("/comparisons/{job_id}")
def compared(ctx: Teacher, slug: SlugPath, job_id: Id) -> Response:
    """Which marks of an exam differ."""
    found = ctx.call(comparison_routes.get_comparison, job_id, ctx.me, ctx.svc)
    return _show(ctx, "calibration_compare.html", slug, comparison=found, job=found["job"])


@router.get("/{calibration_id}")
def look(ctx: Teacher, slug: SlugPath, calibration_id: Id) -> Response:
    """One calibration with its figures and report."""
    found = ctx.call(calibration_routes.get_calibration, calibration_id, ctx.me, ctx.svc)
    study = ctx.call(calibration_routes.get_study, calibration_id, ctx.me, ctx.svc)["study"]
    shelf = ctx.call(calibration_routes.list_calibrations, slug, ctx.me, ctx.svc)
    others = [one for one in shelf["data"] if one["item_version"] == found["item_version"] and one["id"] != found["id"]]
    advice = [Advice(**one).sentence(ctx.lang) for one in study["advice"]]
    data = {"one": found, "study": study, "advice": advice, "others": others, "exams": exams_with(ctx, slug)}
    return _show(ctx, "calibration_one.html", slug, **data)


@router.post("/labels/{label_id}/remove")
def remove_label(ctx: Teacher, slug: SlugPath, label_id: Id) -> Response:
    """Remove one label."""
    ctx.call(label_routes.delete_label, slug, label_id, ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{slug}/calibration/labels")


@router.get("/{calibration_id}/report")
def report(ctx: Teacher, slug: SlugPath, calibration_id: Id) -> Response:
    """The report, for showing inside the page."""
    found = calibration_routes.get_report(calibration_id, ctx.me, ctx.svc, ctx.lang)
    found.headers.update(_FRAMED)
    return found


@router.get("/{calibration_id}/file")
def download(ctx: Teacher, slug: SlugPath, calibration_id: Id) -> Response:
    """The calibration as a file."""
    return calibration_routes.get_file(calibration_id, ctx.me, ctx.svc)


@router.post("/{calibration_id}/promote")
def promote(ctx: Teacher, slug: SlugPath, calibration_id: Id) -> Response:
    """Put a calibration in force."""
    body = body_of(calibration_routes.OfVersion)
    ctx.call(calibration_routes.promote, calibration_id, body, ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{slug}/calibration")


@router.post("/{calibration_id}/carry-over")
def carry_over(ctx: Teacher, slug: SlugPath, calibration_id: Id) -> Response:
    """Fit the newest version of the item to the same labels."""
    body = body_of(calibration_routes.OfVersion)
    ctx.call(calibration_routes.carry_over, calibration_id, body, ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{slug}/calibration")


@router.post("/{calibration_id}/compare")
def compare(ctx: Teacher, slug: SlugPath, calibration_id: Id) -> Response:
    """Start to compare with another calibration on an exam."""
    other = ctx.text("other", 40) or None
    body = body_of(comparison_routes.NewComparison, exam=ctx.text("exam", 40), other=other)
    job = ctx.call(comparison_routes.start_comparison, calibration_id, body, ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{slug}/calibration/comparisons/{job['id']}")
