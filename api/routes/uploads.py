"""Tables of answers: upload with preview, column mapping, storing."""

from __future__ import annotations

import hashlib
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, Response, UploadFile
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import exams, uploads
from api.db.models import Upload
from api.deps import Staff, Svc, Unit, own, reply
from api.problems import Problem
from api.routes.exams import own_exam
from api.routes.roster import SavedView
from api.schemas import Body, Id, Page, SlugText, Time, View

router = APIRouter(tags=["uploads"])


class UploadView(View):
    """An upload with a preview of what it holds."""

    id: str
    exam: str
    name: str
    applied_at: Time | None
    mapping: dict[str, str] | None = None
    preview: dict[str, Any]


class UploadLine(View):
    """An upload in a list."""

    id: str
    name: str
    layout: str
    created_at: Time
    applied_at: Time | None


class ApplyUpload(Body):
    """Which question is which item, and what to do with candidates who answer twice."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"mapping": {"1": "view-vs-reshape"}}]})

    mapping: Annotated[dict[Annotated[str, Field(max_length=20_000)], SlugText], Field(min_length=1, max_length=200)]
    attempts: Literal["refuse", "first", "last"] = "refuse"
    replace: bool = False


class Applied(SavedView):
    """What became of the answers of the table."""

    skipped_rows: list[str] = Field(default_factory=list, description="Rows that hold no candidate, with the reason.")


Name = Annotated[str | None, Form(max_length=400)]


@router.post("/exams/{exam_id}/uploads", status_code=201, response_model=UploadView)
def upload_table(
    exam_id: Id,
    file: Annotated[UploadFile, File(description="CSV, TSV or XLSX; the content decides, not the name.")],
    sender: Staff,
    svc: Svc,
    unit: Unit,
    layout: Annotated[str | None, Form(max_length=60)] = None,
    candidate_column: Name = None,
) -> Response:
    """Send a table and see what is in it; answers are stored by the apply step."""
    content = file.file.read()
    unit.extra += [hashlib.sha256(content).hexdigest(), str(layout), str(candidate_column)]
    row = Upload(
        org_id=sender.org_id,
        exam_id=exam_id,
        name=safe_name(file.filename),
        content=content,
        layout=text_field(layout) or "",
        candidate_column=text_field(candidate_column) or None,
        created_by=sender.actor,
    )
    sheet = uploads.read(svc.settings, row)

    def action(session: Session) -> UploadView:
        own_exam(session, exam_id, sender)
        row.layout = sheet.layout
        session.add(row)
        session.flush()
        return _view(session, row, uploads.preview(sheet, exams.slots(session, exam_id)))

    return unit.run(action, 201)


def text_field(value: str | None) -> str | None:
    """A field of a form as it was sent.

    Raises:
        Problem: It holds a NUL character.
    """
    if value and "\x00" in value:
        raise Problem("invalid", "a NUL character; allowed: text without it")
    return value


def safe_name(name: str | None) -> str:
    """The end of a file name without what no file name should have."""
    kept = "".join(char if char.isprintable() and char not in '/\\"' else "_" for char in name or "table")
    return kept.encode("utf-8", "replace").decode()[-150:] or "table"


def _view(session: Session, row: Upload, preview: dict[str, Any]) -> UploadView:
    return UploadView(
        id=row.id, exam=row.exam_id, name=row.name, applied_at=row.applied_at, mapping=row.mapping, preview=preview
    )


@router.get("/exams/{exam_id}/uploads", response_model=Page[UploadLine])
def list_uploads(exam_id: Id, sender: Staff, svc: Svc) -> Response:
    """The exam's tables, the newest first."""
    with svc.db.read() as session:
        own_exam(session, exam_id, sender)
        query = select(Upload.id, Upload.name, Upload.layout, Upload.created_at, Upload.applied_at)
        rows = session.execute(query.where(Upload.exam_id == exam_id).order_by(Upload.id.desc())).all()
    data = [UploadLine.model_validate(dict(row._mapping)) for row in rows]
    return reply(Page[UploadLine](data=data))


def own_upload(session: Session, exam_id: str, upload_id: str, sender: Staff, *, lock: bool = False) -> Upload:
    """The upload, if it is this exam's."""
    row = own(session, Upload, upload_id, sender, "upload", lock=lock)
    if row.exam_id != exam_id:
        raise Problem("not-found", "no upload of this id")
    return row


@router.get("/exams/{exam_id}/uploads/{upload_id}", response_model=UploadView)
def get_upload(exam_id: Id, upload_id: Id, sender: Staff, svc: Svc) -> Response:
    """The preview again."""
    with svc.db.read() as session:
        row = own_upload(session, exam_id, upload_id, sender)
        sheet = uploads.read(svc.settings, row)
        return reply(_view(session, row, uploads.preview(sheet, exams.slots(session, exam_id))))


@router.post("/exams/{exam_id}/uploads/{upload_id}/apply", response_model=Applied)
def apply_upload(exam_id: Id, upload_id: Id, body: ApplyUpload, sender: Staff, svc: Svc, unit: Unit) -> Response:
    """Store the answers of the mapped questions, all or none."""

    def action(session: Session) -> Applied:
        exam = own_exam(session, exam_id, sender, lock=True)
        row = own_upload(session, exam_id, upload_id, sender, lock=True)
        sheet = uploads.read(svc.settings, row)
        saved = uploads.apply(
            session,
            exam,
            row,
            sheet,
            body.mapping,
            attempts=body.attempts,
            replace=body.replace,
            actor=sender.actor,
        )
        row.mapping, row.applied_at = dict(body.mapping), time.time()
        return Applied(
            added=saved.added,
            replaced=saved.replaced,
            unchanged=saved.unchanged,
            kept=saved.kept,
            skipped_rows=[str(note) for note in sheet.problems if note.code in ("no-candidate", "no-question")][:200],
        )

    return unit.run(action)
