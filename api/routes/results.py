"""Results: by candidate, by item, statistics, similar answers, near-identical pairs."""

from __future__ import annotations

from statistics import fmean, pstdev
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import calibrations, exams, results, similar, statistics
from api.db.models import Answer, CalibrationRow, Exam, Mark
from api.deps import Staff, Svc, audit, decode_cursor, encode_cursor, reply
from api.routes.exams import own_exam
from api.schemas import Cursor, Id, Limit, Page, SlugPath, View

router = APIRouter(tags=["results"])


class CellView(View):
    """A candidate's mark for one item."""

    item: str
    answer: str | None = Field(description="Null when the candidate did not answer; that counts 0.")
    score: float | None
    max_score: float
    weight: float
    review: str


class TotalView(View):
    """A candidate's result."""

    candidate: str
    external_id: str | None = None
    name: str | None = None
    points: float
    max_points: float
    percent: float | None = Field(description="Null while answers have no mark.")
    passed: bool | None
    grade: str | None
    missing: int
    pending: int
    marks: list[CellView]


class AnswerView(View):
    """A candidate's answer to one item with its mark."""

    answer: str
    candidate: str
    text: str
    score: float | None
    origin: str
    review: str
    condition_code: str | None
    referred: bool
    reasons: list[str] = Field(description="Why a person should look.")
    confidence: float | None
    signature: str | None


class Group(View):
    """Answers that say the same in nearly the same words."""

    size: int
    example: str
    answers: list[str]
    scores: list[float | None]


class NearPair(View):
    """Two answers that are nearly equal letter by letter; a notice to look, not a verdict."""

    item: str
    left: str
    right: str
    left_candidate: str
    right_candidate: str
    likeness: float


class Notice(View):
    """Pairs of near-identical answers of different candidates."""

    note: str = "Nearly equal answers have many innocent causes; a person decides what they mean."
    pairs: list[NearPair]


@router.get("/exams/{exam_id}/results", response_model=Page[TotalView])
def by_candidate(
    exam_id: Id,
    sender: Staff,
    svc: Svc,
    cursor: Cursor = None,
    limit: Limit = 100,
    reveal: Annotated[bool, Query(description="Show outside ids and names; this is logged.")] = False,
) -> Response:
    """Results by candidate, opaque unless revealed."""
    start = decode_cursor(cursor, str)
    with svc.db.write() if reveal else svc.db.read() as session:
        exam = own_exam(session, exam_id, sender)
        if reveal:
            audit(session, sender, "reveal", exam_id)
        names = exams.names(session, exam_id) if reveal else {}
        slots = exams.slots(session, exam_id)
        found = [one for one in results.totals(session, exam) if not start or one.candidate > start[0]]
    data = [_total_view(one, slots, names) for one in found[:limit]]
    return reply(Page[TotalView](data=data, next=encode_cursor(data[-1].candidate) if len(found) > limit else None))


def _total_view(total: results.Total, slots: list[exams.Slot], names: dict[str, tuple[str, str | None]]) -> TotalView:
    external, name = names.get(total.candidate, (None, None))
    cells = []
    for slot in slots:
        cell = total.cells.get(slot.slug)
        cells.append(
            CellView(
                item=slot.slug,
                answer=cell.answer if cell else None,
                score=cell.score if cell else None,
                max_score=slot.item.scale.max,
                weight=slot.weight,
                review=cell.review if cell else "",
            )
        )
    return TotalView(
        candidate=total.candidate,
        external_id=external,
        name=name,
        points=total.points,
        max_points=total.max_points,
        percent=total.percent,
        passed=total.passed,
        grade=total.grade,
        missing=total.missing,
        pending=total.pending,
        marks=cells,
    )


@router.get("/exams/{exam_id}/items/{item_id}/results", response_model=Page[AnswerView])
def by_item(
    exam_id: Id, item_id: SlugPath, sender: Staff, svc: Svc, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """All answers to one item, in an order that has nothing to do with names."""
    start = decode_cursor(cursor, str)
    with svc.db.read() as session:
        own_exam(session, exam_id, sender)
        slot = exams.slot_of(session, exam_id, item_id)
        query = (
            select(Answer, Mark)
            .outerjoin(Mark, Mark.answer_id == Answer.id)
            .where(Answer.exam_id == exam_id, Answer.item_id == slot.item_id)
            .order_by(Answer.id)
            .limit(limit + 1)
        )
        rows = session.execute(query.where(Answer.id > start[0]) if start else query).all()
    data = [_answer_view(answer, mark) for answer, mark in rows[:limit]]
    return reply(Page[AnswerView](data=data, next=encode_cursor(data[-1].answer) if len(rows) > limit else None))


def _answer_view(answer: Answer, mark: Mark | None) -> AnswerView:
    return AnswerView(
        answer=answer.id,
        candidate=answer.candidate_id,
        text=answer.text,
        score=mark.score if mark else None,
        origin=mark.origin if mark else "",
        review=mark.review if mark else "",
        condition_code=mark.result["condition_code"] if mark else None,
        referred=bool(mark and mark.result["referred"]),
        reasons=mark.result["referral_reasons"] if mark else [],
        confidence=mark.result["confidence"] if mark else None,
        signature=mark.signature if mark else None,
    )


@router.get("/exams/{exam_id}/statistics", response_model=statistics.ExamStatistics)
def exam_statistics(exam_id: Id, sender: Staff, svc: Svc) -> Response:
    """Means, distributions, difficulty, discrimination, grades, reliability."""
    with svc.db.read() as session:
        exam = own_exam(session, exam_id, sender)
        return reply(_statistics(session, exam))


def _statistics(session: Session, exam: Exam) -> statistics.ExamStatistics:
    slots = exams.slots(session, exam.id)
    found = results.totals(session, exam)
    table = statistics.matrix(found, [slot.slug for slot in slots])
    worth = statistics.discriminations(table) or [None] * len(slots)
    entries = []
    for slot, discrimination in zip(slots, worth, strict=True):
        query = select(Mark.score, Mark.origin, Mark.result, Mark.parts)
        query = query.where(Mark.exam_id == exam.id, Mark.item_id == slot.item_id)
        rows: list[statistics.Row] = [(row[0], row[1], row[2], row[3]) for row in session.execute(query)]
        answers = sum(slot.slug in one.cells for one in found)
        entry = statistics.item_statistics(slot.slug, slot.item.scale.max, answers, rows, discrimination)
        entries.append(_with_calibration(session, exam, slot, entry))
    percents = [one.percent for one in found if one.percent is not None]
    grades: dict[str, int] = {}
    for one in found:
        if one.grade is not None:
            grades[one.grade] = grades.get(one.grade, 0) + 1
    return statistics.ExamStatistics(
        candidates=len(found),
        complete=len(percents),
        mean_percent=round(fmean(percents), 4) if percents else None,
        sd_percent=round(pstdev(percents), 4) if percents else None,
        passed=None if exam.pass_percent is None else sum(bool(one.passed) for one in found),
        grades=grades,
        alpha=statistics.alpha(table),
        items=entries,
    )


def _with_calibration(
    session: Session, exam: Exam, slot: exams.Slot, entry: statistics.ItemStatistics
) -> statistics.ItemStatistics:
    """The entry with the calibration in force and whether the answers are like those it learned from."""
    found = calibrations.in_force(session, exam.org_id, slot.item)
    if found is None:
        return entry
    drift = calibrations.drift_in(session, exam.id, slot.item_id, found)
    name = session.get_one(CalibrationRow, found).name
    view = drift and statistics.DriftView(
        total=drift.total,
        unusual=len(drift.unusual),
        share=round(drift.share, 4),
        expected=round(drift.expected, 4),
        warning=drift.warning,
    )
    return entry.model_copy(update={"calibration": name, "drift": view})


def _texts(session: Session, exam_id: str, item_id: str) -> list[tuple[str, str, str, float | None]]:
    query = (
        select(Answer.id, Answer.text, Answer.candidate_id, Mark.score)
        .outerjoin(Mark, Mark.answer_id == Answer.id)
        .where(Answer.exam_id == exam_id, Answer.item_id == item_id)
        .order_by(Answer.id)
    )
    return [(row[0], row[1], row[2], row[3]) for row in session.execute(query)]


@router.get("/exams/{exam_id}/items/{item_id}/groups", response_model=Page[Group])
def similar_groups(exam_id: Id, item_id: SlugPath, sender: Staff, svc: Svc) -> Response:
    """Answers to one item in groups that say the same, the largest first; blank ones together."""
    with svc.db.read() as session:
        own_exam(session, exam_id, sender)
        rows = _texts(session, exam_id, exams.slot_of(session, exam_id, item_id).item_id)
    text, score = {row[0]: row[1] for row in rows}, {row[0]: row[3] for row in rows}
    found = similar.groups([(row[0], row[1]) for row in rows])
    data = [
        Group(size=len(ids), example=text[ids[0]], answers=ids, scores=[score[one] for one in ids]) for ids in found
    ]
    return reply(Page[Group](data=data))


@router.get("/exams/{exam_id}/near-identical", response_model=Notice)
def near_identical(exam_id: Id, sender: Staff, svc: Svc) -> Response:
    """Pairs of nearly equal answers of different candidates: a notice for the teacher, never a verdict."""
    pairs: list[NearPair] = []
    with svc.db.read() as session:
        own_exam(session, exam_id, sender)
        for slot in exams.slots(session, exam_id):
            rows = _texts(session, exam_id, slot.item_id)
            who = {row[0]: row[2] for row in rows}
            pairs += [
                NearPair(
                    item=slot.slug,
                    left=pair.left,
                    right=pair.right,
                    left_candidate=who[pair.left],
                    right_candidate=who[pair.right],
                    likeness=pair.likeness,
                )
                for pair in similar.near_identical([(row[0], row[1]) for row in rows])
            ]
    return reply(Notice(pairs=pairs))
