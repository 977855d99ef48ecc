"""The upload wizard (file, preview, mapping, apply) and exports."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi import UploadFile as FastUpload
from starlette.datastructures import UploadFile

from api.problems import Problem
from api.routes import exports as export_routes
from api.routes import results as result_routes
from api.routes import uploads as upload_routes
from api.routes.candidates import print_feedback
from api.schemas import Id
from api.web.page import Ctx, PageRoute, Teacher, body_of
from api.web.routes.teach import exam_of
from grader.formats.canvas import GRADEBOOK

router = APIRouter(route_class=PageRoute, prefix="/teach/exams/{exam_id}")


def _uploads(ctx: Ctx, exam_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ctx.call(upload_routes.list_uploads, exam_id, ctx.me, ctx.svc)["data"]
    return found


@router.get("/uploads")
def uploads(ctx: Teacher, exam_id: Id) -> Response:
    """Choose a table; those that were sent before."""
    return ctx.page("teach_uploads.html", exam=exam_of(ctx, exam_id), uploads=_uploads(ctx, exam_id), tab="uploads")


@router.post("/uploads")
def send(ctx: Teacher, exam_id: Id) -> Response:
    """Read a table; nothing of it counts before it is applied."""
    file = ctx.form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise Problem("invalid", "choose a file: CSV, TSV or XLSX")
    column = ctx.text("candidate_column", 400).strip() or None
    upload = FastUpload(file.file, size=file.size, filename=file.filename, headers=file.headers)
    made = ctx.call(
        upload_routes.upload_table, exam_id, upload, ctx.me, ctx.svc, ctx.unit(), layout=None, candidate_column=column
    )
    # A gradebook has no questions to map: it only waits for marks.
    rest = "/report" if made["preview"]["layout"] == GRADEBOOK.name else ""
    return ctx.go(f"/teach/exams/{exam_id}/uploads/{made['id']}{rest}")


@router.get("/uploads/{upload_id}")
def preview(ctx: Teacher, exam_id: Id, upload_id: Id) -> Response:
    """What the table holds, and which question is which item."""
    found = ctx.call(upload_routes.get_upload, exam_id, upload_id, ctx.me, ctx.svc)
    return ctx.page("teach_upload.html", exam=exam_of(ctx, exam_id), upload=found, applied=None, tab="uploads")


@router.post("/uploads/{upload_id}")
def apply(ctx: Teacher, exam_id: Id, upload_id: Id) -> Response:
    """Store the answers of the mapped questions."""
    mapping = {}
    for at in range(int(ctx.number("questions") or 0)):
        item = ctx.text(f"item-{at}", 80)
        if item:
            mapping[ctx.text(f"key-{at}")] = item
    body = body_of(
        upload_routes.ApplyUpload,
        mapping=mapping,
        attempts=ctx.text("attempts", 10) or "refuse",
        replace=ctx.text("replace", 5) == "1",
    )
    applied = ctx.call(upload_routes.apply_upload, exam_id, upload_id, body, ctx.me, ctx.svc, ctx.unit())
    found = ctx.call(upload_routes.get_upload, exam_id, upload_id, ctx.me, ctx.svc)
    return ctx.page("teach_upload.html", exam=exam_of(ctx, exam_id), upload=found, applied=applied, tab="uploads")


@router.get("/results")
def results(
    ctx: Teacher,
    exam_id: Id,
    cursor: Annotated[str | None, Query(max_length=500)] = None,
    reveal: bool = False,
) -> Response:
    """Marks by candidate, and exports."""
    found = ctx.call(result_routes.by_candidate, exam_id, ctx.me, ctx.svc, cursor=cursor, limit=100, reveal=reveal)
    ready = [one for one in _uploads(ctx, exam_id) if one["applied_at"] or one["layout"] == GRADEBOOK.name]
    data = {"rows": found["data"], "next": found["next"], "reveal": reveal, "uploads": ready}
    return ctx.page("teach_results.html", exam=exam_of(ctx, exam_id), tab="results", **data)


@router.get("/marks.{kind}")
def download(ctx: Teacher, exam_id: Id, kind: str, decimal: str = ".") -> Response:
    """All marks as a file."""
    if kind not in ("csv", "xlsx") or decimal not in (".", ","):
        raise Problem("not-found", "there is no such file")
    return export_routes.export_long(exam_id, ctx.me, ctx.svc, format=kind, decimal=decimal)  # type: ignore[arg-type]


@router.get("/uploads/{upload_id}/marked")
def download_back(ctx: Teacher, exam_id: Id, upload_id: Id, overwrite: bool = False, totals: bool = False) -> Response:
    """The table that was sent, with the marks in it."""
    return export_routes.export_back(exam_id, upload_id, ctx.me, ctx.svc, overwrite=overwrite, totals=totals)


@router.get("/uploads/{upload_id}/report")
def report(ctx: Teacher, exam_id: Id, upload_id: Id, overwrite: bool = False) -> Response:
    """What writing back would do, and what finds no place."""
    found = ctx.call(export_routes.report_back, exam_id, upload_id, ctx.me, ctx.svc, overwrite=overwrite)
    data = {"report": found, "upload_id": upload_id, "overwrite": overwrite}
    return ctx.page("teach_report.html", exam=exam_of(ctx, exam_id), tab="results", **data)


@router.get("/feedback/{candidate_id}")
def feedback(ctx: Teacher, exam_id: Id, candidate_id: Id) -> Response:
    """A candidate's feedback to print."""
    return print_feedback(exam_id, candidate_id, ctx.me, ctx.svc, language=ctx.lang)
