"""Exports of marks as files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from api import exports
from api.deps import Staff, Svc, audit, reply
from api.routes.exams import own_exam
from api.routes.uploads import own_upload
from api.schemas import Id, View

router = APIRouter(tags=["exports"])
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {kind.split(";")[0]: {"schema": {"type": "string", "format": "binary"}} for kind in _TYPES.values()},
    }
}


class BackReport(View):
    """What writing back into the table would do."""

    updated: int
    unchanged: int
    kept: list[str] = Field(description="Cells with a mark of others that stay.")
    unmatched: list[dict[str, str]] = Field(description="Marks without a place in the table, with the reason.")
    unmarked: list[dict[str, str]] = Field(description="Answers, or people of a gradebook, without a mark.")
    notes: list[str]


Overwrite = Annotated[bool, Query(description="Also replace marks of others in the table.")]
Columns = Annotated[exports.Columns, Query(description="Of a gradebook: one column of totals, or one an item.")]
Title = Annotated[
    str | None, Query(min_length=1, max_length=200, description="Of a gradebook: the assignment; by default the exam.")
]


def _file(data: bytes, kind: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(data, 200, headers, _TYPES[kind])


@router.get("/exams/{exam_id}/export", response_class=Response, responses=_FILES)
def export_long(
    exam_id: Id,
    sender: Staff,
    svc: Svc,
    format: Annotated[exports.Format, Query()] = "csv",
    decimal: Annotated[Literal[".", ","], Query(description="Decimal mark of the CSV.")] = ".",
) -> Response:
    """All marks, one row each, with the outside ids; the export is logged."""
    with svc.db.write() as session:
        exam = own_exam(session, exam_id, sender)
        audit(session, sender, "export", exam_id)
        data = exports.long(session, exam, format, decimal)
    return _file(data, format, f"marks-{exam_id}")


@router.get("/exams/{exam_id}/uploads/{upload_id}/export", response_class=Response, responses=_FILES)
def export_back(
    exam_id: Id,
    upload_id: Id,
    sender: Staff,
    svc: Svc,
    overwrite: Overwrite = False,
    totals: Annotated[bool, Query(description="Also fill the total of a row where the layout has one.")] = False,
    columns: Columns = "total",
    title: Title = None,
) -> Response:
    """The table that was sent, in its layout, with the marks in it; the export is logged.

    A Canvas gradebook needs no applying: it gets the marks of all candidates of the exam whose ids it holds.
    """
    wish = exports.Wish(overwrite, totals, columns, title)
    with svc.db.write() as session:
        exam = own_exam(session, exam_id, sender)
        upload = own_upload(session, exam_id, upload_id, sender)
        audit(session, sender, "export", exam_id)
        done = exports.back(session, svc.settings, exam, upload, wish)
    return _file(done.data, done.format, f"marked-{upload_id}")


@router.get("/exams/{exam_id}/uploads/{upload_id}/export/report", response_model=BackReport)
def report_back(
    exam_id: Id,
    upload_id: Id,
    sender: Staff,
    svc: Svc,
    overwrite: Overwrite = False,
    columns: Columns = "total",
    title: Title = None,
) -> Response:
    """What the export would write, keep and not find a place for."""
    with svc.db.write() as session:
        exam = own_exam(session, exam_id, sender)
        upload = own_upload(session, exam_id, upload_id, sender)
        audit(session, sender, "export", exam_id)
        done = exports.back(session, svc.settings, exam, upload, exports.Wish(overwrite, False, columns, title))
    return reply(
        BackReport(
            updated=done.updated,
            unchanged=done.unchanged,
            kept=[str(note) for note in done.kept],
            unmatched=[{"candidate": one.candidate, "item": one.item, "reason": one.reason} for one in done.unmatched],
            unmarked=[{"candidate": one.candidate, "item": one.item_key, "row": str(one.row)} for one in done.unmarked],
            notes=[str(note) for note in done.notes],
        )
    )
