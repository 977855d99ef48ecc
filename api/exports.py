"""Exports: a long table of all marks, results written back into an uploaded table, a filled Canvas gradebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from api import exams, results, uploads
from api.db.models import Answer, CandidateName, Exam, Mark, Upload
from api.problems import Problem, from_library
from api.settings import Settings
from grader.errors import InputError
from grader.formats.canvas import GRADEBOOK
from grader.formats.export import Export, Result, write_back, write_long
from grader.formats.gradebook import GradeColumn, write_gradebook
from grader.formats.roster import read_roster
from grader.formats.sheet import Sheet

Format = Literal["csv", "xlsx"]
Columns = Literal["total", "items"]


@dataclass(frozen=True, slots=True)
class Wish:
    """How marks are to be written into a table.

    Attributes:
        overwrite: Also replace marks of others.
        totals: Also fill the total of a row where the layout has one.
        columns: For a gradebook: one column with the weighted total, or one column an item.
        title: For a gradebook: title of the assignment; the exam's by default.
    """

    overwrite: bool = False
    totals: bool = False
    columns: Columns = "total"
    title: str | None = None


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


def back(session: Session, settings: Settings, exam: Exam, upload: Upload, wish: Wish) -> Export:
    """The uploaded table with the marks in its layout's own columns; a gradebook gets the exam's candidates' marks.

    Raises:
        Problem: The upload was not applied yet (a gradebook needs no applying), its file was removed with a
            candidate's data, or a mark does not fit into the table.
    """
    is_gradebook = upload.layout == GRADEBOOK.name
    if upload.mapping is None and not is_gradebook:
        raise Problem("wrong-state", "this table was not applied yet, so it is not known which question is which item")
    if not upload.content:
        raise Problem("wrong-state", "the file was removed together with a candidate's data; use the long table")
    sheet = uploads.read(settings, upload)
    try:
        if is_gradebook:
            return _gradebook(session, exam, sheet, wish)
        return write_back(
            sheet,
            rows(session, exam, upload),
            mapping=upload.mapping,
            replace="all" if wish.overwrite else "zero",
            fill_totals=wish.totals,
        )
    except InputError as error:
        raise from_library(error, "invalid-table") from None


def _gradebook(session: Session, exam: Exam, sheet: Sheet, wish: Wish) -> Export:
    title = wish.title or exam.title
    columns = _item_columns(session, exam, title) if wish.columns == "items" else [_total_column(session, exam, title)]
    return write_gradebook(
        read_roster(sheet.table),
        columns,
        replace="all" if wish.overwrite else "empty",
        format="xlsx" if sheet.table.kind == "xlsx" else "csv",
    )


def _total_column(session: Session, exam: Exam, title: str) -> GradeColumn:
    """Weighted points; who answered nothing, or lacks a mark, gets none."""
    found = results.totals(session, exam)
    known = exams.names(session, exam.id)
    points: dict[str, float | None] = {}
    for one in found:
        name = known[one.candidate][0] if one.candidate in known else one.candidate
        points[name] = one.points if one.cells and not one.pending else None
    return GradeColumn(title, sum(slot.weight for slot in exams.slots(session, exam.id)), points)


def _item_columns(session: Session, exam: Exam, title: str) -> list[GradeColumn]:
    slots = exams.slots(session, exam.id)
    scores: dict[str, dict[str, float | None]] = {slot.slug: {} for slot in slots}
    for one in rows(session, exam):
        scores[one.item][one.candidate] = one.score
    return [GradeColumn(f"{title}: {slot.slug}", slot.item.scale.max, scores[slot.slug]) for slot in slots]
