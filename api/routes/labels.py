"""Labelled answers of an item: tables with a preview, single labels, decisions of a review."""

from __future__ import annotations

import hashlib
import time
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from pydantic import ConfigDict, Field, model_validator
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import exams, items, label_tables, labels
from api.auth import Principal
from api.db.models import Answer, ItemRow, Label, LabelUpload
from api.deps import Staff, Svc, Unit, decode_cursor, encode_cursor, own, reply
from api.label_tables import LabelledRow
from api.problems import Problem
from api.routes.exams import own_exam
from api.routes.uploads import safe_name, text_field
from api.schemas import AnswerText, Body, Cursor, Id, IdText, Limit, Page, SlugPath, Time, View
from api.uploads import scrub

router = APIRouter(tags=["labels"])
Points = Annotated[float, Field(ge=0, le=1000)]
Components = dict[Annotated[str, Field(max_length=80)], Points]


class LabelUploadView(View):
    """A labelled table with what it holds; its labels count once they are applied."""

    id: str
    item: str
    name: str
    applied_at: Time | None
    preview: dict[str, Any]


class ApplyLabels(Body):
    """Whether labels of earlier tables go."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"replace": False}]})

    replace: bool = False


class AppliedLabels(View):
    """What became of the labels of a table."""

    added: int
    unchanged: int = Field(description="Rows that were stored already.")
    removed: int = Field(description="Labels of earlier tables.")
    labels: int = Field(description="Labels of the item now.")


class LabelView(View):
    """A labelled answer."""

    id: str
    response: str
    human_score: float
    human_score_2: float | None
    components: dict[str, float]
    source: str = Field(examples=["upload", "label", "decision", "audit"])
    subgroup: str | None
    answer: str | None = Field(description="Id of the exam's answer it was taken from, or null.")
    created_at: Time


class NewLabel(Body):
    """The marks of one answer: of an exam's answer by its id, or of any text."""

    answer: IdText | None = None
    response: AnswerText | None = None
    human_score: Points
    human_score_2: Points | None = None
    components: Components = Field(default_factory=dict, description="Points by component, where they are known.")

    @model_validator(mode="after")
    def _one_of_both(self) -> NewLabel:
        if (self.answer is None) == (self.response is None):
            raise ValueError("give either answer or response")
        return self


class NewLabels(Body):
    """Labels that a person gives; ``audit`` says that the answers are those of the audit sample."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"labels": [{"response": "A view shares its data.", "human_score": 2.5}]}]}
    )

    labels: Annotated[list[NewLabel], Field(min_length=1, max_length=500)]
    audit: bool = False


class StoredLabels(View):
    """How many labels were stored, and how many the item has now."""

    stored: int
    labels: int


class TakeDecisions(Body):
    """The exam whose decisions become labels."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"exam": "0" * 27}]})

    exam: IdText


class StratumView(View):
    """Marks of one kind, and how many of them a person decided."""

    total: int
    decided: int


class TakenDecisions(View):
    """What became of an exam's decisions."""

    stored: int
    labels: int
    referred: StratumView
    others: StratumView
    audit_wanted: bool = Field(description="Nobody looked at a mark that was not referred: mark an audit sample.")


class AuditAnswer(View):
    """An answer of the audit sample."""

    answer: str
    response: str


class AuditSample(View):
    """A simple random sample of the answers that nobody has looked at."""

    total: int
    answers: list[AuditAnswer]


@router.post("/items/{item_id}/labels/uploads", status_code=201, response_model=LabelUploadView)
def upload_labels(
    item_id: SlugPath,
    file: Annotated[
        UploadFile,
        File(description="CSV, TSV or XLSX with columns response, human_score, human_score_2, human_<component>."),
    ],
    sender: Staff,
    svc: Svc,
    unit: Unit,
    subgroup: Annotated[str | None, Form(max_length=400, description="Column to report figures by.")] = None,
) -> Response:
    """Send a labelled table and see what is in it; its labels are stored by the apply step."""
    content = file.file.read()
    unit.extra += [hashlib.sha256(content).hexdigest(), str(subgroup)]
    with svc.db.read() as session:
        row = items.row_of(session, sender, item_id)
        item = items.content_of(session, row.id, row.version)
    name = safe_name(file.filename)
    table = label_tables.read(svc.settings, item, content, name, text_field(subgroup) or None)

    def action(session: Session) -> LabelUploadView:
        upload = LabelUpload(
            org_id=sender.org_id,
            item_id=row.id,
            name=name,
            preview=table.preview,
            rows=[one.to_list() for one in table.rows],
            created_by=sender.actor,
        )
        session.add(upload)
        session.flush()
        return _upload_view(upload, row)

    return unit.run(action, 201)


def _upload_view(upload: LabelUpload, row: ItemRow) -> LabelUploadView:
    return LabelUploadView(
        id=upload.id, item=row.slug, name=upload.name, applied_at=upload.applied_at, preview=upload.preview
    )


def _own_upload(
    session: Session, sender: Principal, row: ItemRow, upload_id: str, *, lock: bool = False
) -> LabelUpload:
    upload = own(session, LabelUpload, upload_id, sender, "labelled table", lock=lock)
    if upload.item_id != row.id:
        raise Problem("not-found", "no labelled table of this id")
    return upload


@router.get("/items/{item_id}/labels/uploads/{upload_id}", response_model=LabelUploadView)
def get_label_upload(item_id: SlugPath, upload_id: Id, sender: Staff, svc: Svc) -> Response:
    """The preview again."""
    with svc.db.read() as session:
        row = items.row_of(session, sender, item_id)
        return reply(_upload_view(_own_upload(session, sender, row, upload_id), row))


@router.post("/items/{item_id}/labels/uploads/{upload_id}/apply", response_model=AppliedLabels)
def apply_labels(item_id: SlugPath, upload_id: Id, body: ApplyLabels, sender: Staff, unit: Unit) -> Response:
    """Store the labels of a table, all or none."""

    def action(session: Session) -> AppliedLabels:
        row = items.row_of(session, sender, item_id, lock=True)
        upload = _own_upload(session, sender, row, upload_id, lock=True)
        result = labels.apply(session, row, upload, sender.actor, replace=body.replace)
        upload.applied_at = time.time()
        return AppliedLabels(**result, labels=labels.count(session, row))

    return unit.run(action)


@router.get("/items/{item_id}/labels", response_model=Page[LabelView])
def list_labels(item_id: SlugPath, sender: Staff, svc: Svc, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """The item's labels in the order they came."""
    start = decode_cursor(cursor, str)
    with svc.db.read() as session:
        row = items.row_of(session, sender, item_id)
        query = select(Label).where(Label.item_id == row.id).order_by(Label.id).limit(limit + 1)
        found = session.scalars(query.where(Label.id > start[0]) if start else query).all()
    data = [_label_view(one) for one in found[:limit]]
    return reply(Page[LabelView](data=data, next=encode_cursor(data[-1].id) if len(found) > limit else None))


def _label_view(label: Label) -> LabelView:
    return LabelView(
        id=label.id,
        response=label.text,
        human_score=label.human_score,
        human_score_2=label.human_score_2,
        components=label.components,
        source=label.source,
        subgroup=label.subgroup,
        answer=label.answer_id,
        created_at=label.created_at,
    )


@router.post("/items/{item_id}/labels", status_code=201, response_model=StoredLabels)
def add_labels(item_id: SlugPath, body: NewLabels, sender: Staff, unit: Unit) -> Response:
    """Store labels that a person gives, such as those of suggested answers; an answer's earlier label goes."""

    def action(session: Session) -> StoredLabels:
        row = items.row_of(session, sender, item_id, lock=True)
        item = items.content_of(session, row.id, row.version)
        given: dict[str, tuple[LabelledRow, str | None]] = {}
        exam_ids: set[str] = set()
        for at, one in enumerate(body.labels):
            labels.check_points(item, (one.human_score, one.human_score_2), one.components)
            answer = _own_answer(session, sender, row, one.answer) if one.answer else None
            if body.audit and answer is None:
                raise Problem("invalid", f"labels.{at}: an audit sample consists of answers; allowed: their ids")
            text = answer.text if answer else scrub(one.response or "")
            marked = LabelledRow(0, text, one.human_score, one.human_score_2, one.components)
            given[one.answer or str(at)] = (marked, one.answer)
            exam_ids.update({answer.exam_id} if answer else ())
        if body.audit and len(exam_ids) != 1:
            raise Problem("invalid", "the answers are of several exams; allowed: the audit sample of one")
        chance = labels.audit_chance(session, row, exam_ids.pop(), len(given)) if body.audit else 1.0
        source = "audit" if body.audit else "label"
        labels.add(session, row, sender.actor, source, list(given.values()), chance)
        return StoredLabels(stored=len(given), labels=labels.count(session, row))

    return unit.run(action, 201)


def _own_answer(session: Session, sender: Principal, row: ItemRow, answer_id: str) -> Answer:
    answer = own(session, Answer, answer_id, sender, "answer")
    if answer.item_id != row.id:
        raise Problem("invalid", f"the answer {answer_id} belongs to another item")
    return answer


@router.delete("/items/{item_id}/labels/{label_id}", response_model=StoredLabels)
def delete_label(item_id: SlugPath, label_id: Id, sender: Staff, unit: Unit) -> Response:
    """Remove a label; calibrations that were made with it stay as they are."""

    def action(session: Session) -> StoredLabels:
        row = items.row_of(session, sender, item_id, lock=True)
        session.delete(labels.own_label(session, sender, row, label_id))
        session.flush()
        return StoredLabels(stored=0, labels=labels.count(session, row))

    return unit.run(action)


@router.post("/items/{item_id}/labels/decisions", response_model=TakenDecisions)
def take_decisions(item_id: SlugPath, body: TakeDecisions, sender: Staff, unit: Unit) -> Response:
    """Make labels of the marks that people set or accepted in an exam.

    Referred answers are looked at more often than others, so these labels are no random sample; figures of a
    calibration weigh each of them by the inverse of the share of its kind that was decided.
    """

    def action(session: Session) -> TakenDecisions:
        row = items.row_of(session, sender, item_id, lock=True)
        exam = own_exam(session, body.exam, sender)
        exams.slot_of(session, exam.id, item_id)
        taken = labels.take_decisions(session, row, exam, sender.actor)
        return TakenDecisions(
            stored=taken.labels,
            labels=labels.count(session, row),
            referred=StratumView(total=taken.referred.total, decided=taken.referred.decided),
            others=StratumView(total=taken.others.total, decided=taken.others.decided),
            audit_wanted=taken.audit_wanted,
        )

    return unit.run(action)


@router.get("/exams/{exam_id}/items/{item_id}/audit-sample", response_model=AuditSample)
def audit_sample(
    exam_id: Id,
    item_id: SlugPath,
    sender: Staff,
    svc: Svc,
    size: Annotated[int, Query(ge=1, le=200, description="Answers of the sample.")] = 20,
) -> Response:
    """A random sample of the answers nobody has looked at, always the same; label it with ``audit``."""
    with svc.db.read() as session:
        exam = own_exam(session, exam_id, sender)
        exams.slot_of(session, exam_id, item_id)
        rows, total = labels.to_audit(session, items.row_of(session, sender, item_id), exam, size)
    return reply(AuditSample(total=total, answers=[AuditAnswer(answer=one, response=text) for one, text in rows]))
