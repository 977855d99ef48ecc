"""The one mark of an answer: stored by runs, decided by people, with every change in the history."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.db import LOCK
from api.db.models import Answer, Chunk, Job, Mark, MarkEvent, Proposal
from api.problems import Problem
from grader.score import Score

Graded = Sequence[tuple[str, int, Score]]
#: Review states in which a person still has something to do.
WAITING = ("open", "second_look", "appealed")


def doubt(score: Score) -> float:
    """How much a person should look: above 1 when referred, above 2 when there is no mark."""
    unsure = 1 - (0.5 if score.confidence is None else score.confidence)
    return round(unsure + score.referred + (score.score is None), 4)


def parts_of(score: Score) -> list[dict[str, Any]]:
    """The lines of the calculation as plain data."""
    return [{"label": step.label, "points": step.points} for step in score.calculation]


def snapshot(mark: Mark) -> dict[str, Any]:
    """What an entry of the history keeps of a mark."""
    return {
        "score": mark.score,
        "origin": mark.origin,
        "review": mark.review,
        "parts": mark.parts,
        "version": mark.version,
    }


def set_machine(mark: Mark, score: Score, version: int, revision: int) -> None:
    """Make the scorer's result the mark."""
    mark.version, mark.text_revision, mark.result = version, revision, score.model_dump(mode="json")
    mark.machine_score = mark.score = score.score
    mark.parts, mark.signature, mark.doubt = parts_of(score), score.signature, doubt(score)
    mark.origin, mark.review = "machine", "open" if score.referred else "none"
    mark.graded_at = time.time()


def add_event(
    session: Session,
    mark: Mark,
    action: str,
    actor: str,
    old: Mapping[str, Any] | None,
    reason: str | None = None,
    undoes: str | None = None,
) -> None:
    """Write one entry of the history."""
    session.add(
        MarkEvent(
            org_id=mark.org_id,
            answer_id=mark.answer_id,
            action=action,
            actor=actor,
            old=dict(old) if old is not None else None,
            new=snapshot(mark),
            reason=reason,
            signature=mark.signature,
            undoes=undoes,
        )
    )


def store(session: Session, chunk: Chunk, job: Job, graded: Graded) -> None:
    """Store a chunk's results: as marks, or as proposals of a dry run.

    A mark that a person decided is not touched; an answer that changed while it was graded is left for the next run.
    """
    ids = [answer_id for answer_id, _, _ in graded]
    query = select(Answer).where(Answer.id.in_(ids)).order_by(Answer.id).with_for_update(**LOCK)
    answers = {row.id: row for row in session.scalars(query)}
    current = [entry for entry in graded if entry[0] in answers and answers[entry[0]].revision == entry[1]]
    if job.kind == "dry_run":
        _propose(session, chunk, job, current)
        return
    known = {
        row.answer_id: row
        for row in session.scalars(select(Mark).where(Mark.answer_id.in_(ids)).with_for_update(**LOCK))
    }
    for answer_id, revision, score in current:
        answer = answers[answer_id]
        mark = known.get(answer_id) or Mark(
            answer_id=answer_id, org_id=answer.org_id, exam_id=answer.exam_id, item_id=answer.item_id, revision=0
        )
        if answer_id in known and mark.origin != "machine":
            continue
        old = snapshot(mark) if answer_id in known else None
        set_machine(mark, score, chunk.version, revision)
        mark.revision += 1
        session.add(mark)
        add_event(session, mark, "graded", f"job:{job.id}", old)


def _propose(session: Session, chunk: Chunk, job: Job, graded: Graded) -> None:
    for answer_id, revision, score in graded:
        session.merge(
            Proposal(
                job_id=job.id,
                answer_id=answer_id,
                org_id=job.org_id,
                version=chunk.version,
                text_revision=revision,
                result=score.model_dump(mode="json"),
            )
        )


def override_parts(
    score: Score, whole: float | None, components: Mapping[str, float], points: Sequence[float]
) -> tuple[float, list[dict[str, Any]]]:
    """A person's mark and the lines that sum to it.

    Args:
        score: The scorer's result.
        whole: The whole mark, or ``None`` when components are given.
        components: Points of single components; the others keep what the scorer gave.
        points: The score points of the item's scale.

    Raises:
        Problem: A value is outside the scale, or a component is unknown.
    """
    if whole is not None:
        if not any(abs(whole - point) < 1e-6 for point in points):
            raise Problem("invalid", f"the mark {whole:g} is not on the scale; allowed: {_scale(points)}")
        return round(whole, 6), [{"label": "teacher", "points": round(whole, 6)}]
    weights = {component.name: component.weight for component in score.components}
    for name, value in components.items():
        if name not in weights:
            raise Problem("invalid", f"no component '{name}'; allowed: {', '.join(weights)}")
        if not 0 <= value <= weights[name] + 1e-6:
            raise Problem("invalid", f"{name} is {value:g}; allowed: 0 to {weights[name]:g}")
    machine = {part["label"]: part["points"] for part in parts_of(score) if part["label"] != "rounding"}
    machine = {**{one.name: one.points for one in score.components}, **machine}
    lines = [{"label": label, "points": components.get(label, value)} for label, value in machine.items()]
    total = sum(line["points"] for line in lines)
    final = min(points, key=lambda point: (abs(round(point - total, 6)), -point))
    if abs(final - total) > 1e-9:
        lines.append({"label": "rounding", "points": round(final - total, 6)})
    return final, lines


def _scale(points: Sequence[float]) -> str:
    return f"{points[0]:g} to {points[-1]:g} in steps of {points[1] - points[0]:g}" if len(points) > 1 else "0"
