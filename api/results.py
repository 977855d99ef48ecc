"""Results of an exam: marks by candidate and item, totals, grades."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from api import exams
from api.db.models import Answer, Exam, Mark, RosterEntry
from grader.score import Feedback, Score


@dataclass(frozen=True, slots=True)
class Cell:
    """A candidate's mark for one item; ``score`` is ``None`` without a mark, which is not 0."""

    answer: str
    score: float | None
    review: str
    origin: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Total:
    """A candidate's result.

    Attributes:
        candidate: Candidate id.
        cells: Item to mark, answered items only.
        points: Weighted points so far.
        max_points: Points of the whole exam.
        missing: Items without an answer; they count 0.
        pending: Answers without a mark.
        percent: Share of the points in percent, ``None`` while answers have no mark.
        passed: Whether the pass mark is reached, ``None`` without one or while marks are missing.
        grade: Name of the grade, ``None`` without boundaries or while marks are missing.
    """

    candidate: str
    cells: Mapping[str, Cell]
    points: float
    max_points: float
    missing: int
    pending: int
    percent: float | None
    passed: bool | None
    grade: str | None


def totals(session: Session, exam: Exam, candidate_id: str | None = None) -> list[Total]:
    """The results of all candidates of the roster, or of one."""
    slots = exams.slots(session, exam.id)
    by_id = {slot.item_id: slot for slot in slots}
    roster = select(RosterEntry.candidate_id).where(RosterEntry.exam_id == exam.id)
    query = (
        select(Answer.candidate_id, Answer.item_id, Answer.id, Mark.score, Mark.review, Mark.origin, Mark.answer_id)
        .outerjoin(Mark, Mark.answer_id == Answer.id)
        .where(Answer.exam_id == exam.id)
    )
    if candidate_id is not None:
        roster = roster.where(RosterEntry.candidate_id == candidate_id)
        query = query.where(Answer.candidate_id == candidate_id)
    cells: defaultdict[str, dict[str, Cell]] = defaultdict(dict)
    for candidate, item, answer, score, review, origin, marked in session.execute(query):
        slug = by_id[item].slug
        cells[candidate][slug] = Cell(answer, score, review or "", origin or "", marked is not None)
    return [_total(exam, one, cells[one], slots) for one in session.scalars(roster.order_by(RosterEntry.candidate_id))]


def _total(exam: Exam, candidate: str, cells: Mapping[str, Cell], slots: Sequence[exams.Slot]) -> Total:
    points = maximum = 0.0
    pending = 0
    for slot in slots:
        maximum += slot.weight
        cell = cells.get(slot.slug)
        if cell is not None and cell.score is None:
            pending += 1
        elif cell is not None and cell.score is not None:
            points += cell.score / slot.item.scale.max * slot.weight
    percent = None if pending else round(100 * points / maximum, 4)
    return Total(
        candidate=candidate,
        cells=cells,
        points=round(points, 4),
        max_points=round(maximum, 4),
        missing=sum(slot.slug not in cells for slot in slots),
        pending=pending,
        percent=percent,
        passed=None if percent is None or exam.pass_percent is None else percent >= exam.pass_percent,
        grade=None if percent is None else grade_of(percent, exam.boundaries),
    )


def grade_of(percent: float, boundaries: Sequence[Mapping[str, Any]]) -> str | None:
    """The highest grade whose boundary is reached."""
    reached = [one for one in boundaries if percent >= one["from_percent"]]
    return str(max(reached, key=lambda one: one["from_percent"])["grade"]) if reached else None


def feedback_text(feedback: Feedback, comment: str | None, decided: bool) -> str:
    """Feedback as plain lines: a person's comment, and the scorer's remarks where no person set the mark."""
    lines = [comment] if comment else []
    if not decided:
        lines.append(feedback.summary)
        lines += [feedback.condition] if feedback.condition else []
        for one in (*feedback.present, *feedback.missing, *feedback.wrong):
            quote = f"“{one.quote}”: " if one.quote else ""
            hint = f" ({one.hint})" if one.hint else ""
            lines.append(f"{quote}{one.text}{hint}")
        lines += [feedback.next_question] if feedback.next_question else []
    return "\n".join(lines)


def feedback_of(mark: Mark) -> str:
    """Feedback of a stored mark as plain lines."""
    score = Score.model_validate(mark.result)
    return feedback_text(score.feedback, mark.comment, mark.origin == "teacher")
