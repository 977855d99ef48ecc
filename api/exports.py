"""Exports: a long table of all marks, and results written back into an uploaded table."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from api import exams, results, uploads
from api.db.models import Answer, CandidateName, Exam, Mark, Upload
from api.problems import Problem, from_library
from api.settings import Settings
from grader.errors import InputError
from grader.formats.export import Export, Result, write_back, write_long

Format = Literal["csv", "xlsx"]


def rows(session: Session, exam: Exam, upload: Upload | None = None) -> list[Result]:
    """One result for each answer, under the ids by which the school knows the candidates."""
    slots = {slot.item_id: slot for slot in exams.slots(session, exam.id)}
    query = (
        select(Answer, Mark, CandidateName.external_id)
        .outerjoin(Mark, Mark.answer_id == Answer.id)
        .outerjoin(CandidateName, CandidateName.candidate_id == Answer.candidate_id)
        .where(Answer.exam_id == exam.id)
        .order_by(CandidateName.external_id, Answer.id)
    )
    found = []
    for answer, mark, external in session.execute(query):
        row = answer.upload_row if upload is not None and answer.upload_id == upload.id else None
        found.append(_result(answer, mark, external or answer.candidate_id, slots[answer.item_id], row))
    order = {slot.slug: slot.position for slot in slots.values()}
    return sorted(found, key=lambda one: (one.candidate, order[one.item]))


def _result(answer: Answer, mark: Mark | None, external: str, slot: exams.Slot, row: int | None) -> Result:
    if mark is None:
        return Result(external, slot.slug, None, slot.item.scale.max, row=row, response=answer.text)
    components = {part["name"]: part["points"] for part in mark.result["components"]}
    shown = {part["label"]: part["points"] for part in mark.parts}
    whole = mark.origin == "teacher" and not any(name in shown for name in components)
    return Result(
        external,
        slot.slug,
        mark.score,
        slot.item.scale.max,
        feedback=results.feedback_of(mark),
        row=row,
        response=answer.text,
        components={} if whole else {name: shown.get(name, value) for name, value in components.items()},
        condition=mark.result["condition_code"] or "",
        referred=mark.review in ("open", "second_look", "appealed"),
        reason=", ".join(mark.result["referral_reasons"]),
        confidence=mark.result["confidence"],
        signature=mark.signature,
        extra={"marked_by": mark.origin},
    )


def long(session: Session, exam: Exam, format: Format, decimal: Literal[".", ","]) -> bytes:
    """All marks, one row each.

    Raises:
        Problem: A text does not fit into the format.
    """
    try:
        return write_long(rows(session, exam), format=format, decimal=decimal)
    except InputError as error:
        raise from_library(error, "invalid-table") from None


def back(session: Session, settings: Settings, exam: Exam, upload: Upload, *, overwrite: bool, full: bool) -> Export:
    """The uploaded table with the marks in its layout's own columns.

    Raises:
        Problem: The upload was not applied yet, or its file was removed with a candidate's data.
    """
    if upload.mapping is None:
        raise Problem("wrong-state", "this table was not applied yet, so it is not known which question is which item")
    if not upload.content:
        raise Problem("wrong-state", "the file was removed together with a candidate's data; use the long table")
    sheet = uploads.read(settings, upload)
    try:
        return write_back(
            sheet,
            rows(session, exam, upload),
            mapping=upload.mapping,
            replace="all" if overwrite else "zero",
            fill_totals=full,
        )
    except InputError as error:
        raise from_library(error, "invalid-table") from None
