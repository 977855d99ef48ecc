"""What an edit of a rubric would do to an exam's marks, before the edit is stored."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from api import calibrations
from api.calibration_work import Store, Task, finite
from api.db.models import Answer, Chunk, Exam, ItemRow, Job, Mark
from api.problems import Problem
from grader.rubric import Item

_MOST = 20_000


def start(session: Session, row: ItemRow, actor: str, exam: Exam, edited: Item) -> Job:
    """A job that marks the exam's marked answers by an edited rubric; nothing is stored but what differs.

    Args:
        session: A write transaction in which the item is locked.
        row: The item.
        actor: Who starts it.
        exam: An exam that holds the item.
        edited: The rubric as it is in the editor.

    Raises:
        Problem: It has another id, the exam has no mark, or another preview is not finished.
    """
    if edited.id != row.slug:
        raise Problem("invalid", f"the content has the id '{edited.id}', the item is '{row.slug}'")
    query = select(Mark.answer_id).where(Mark.exam_id == exam.id, Mark.item_id == row.id).order_by(Mark.answer_id)
    ids = list(session.scalars(query.limit(_MOST)))
    if not ids:
        raise Problem("wrong-state", "the exam has no mark of this item; grade it first")
    params = {"item": row.slug, "exam": exam.id, "content": edited.model_dump(mode="json")}
    return calibrations.start_job(session, row, actor, "edit", row.version, params, ids=ids, size=len(ids))


def preview(task: Task) -> Store:
    """Marks answers by the edited rubric and keeps which machine marks would differ."""
    edited = Item.model_validate(task.job.params["content"])
    with task.db.read() as session:
        rows = _marked(session, task.chunk.answer_ids)
    scores = task.grade(edited, [text for _, text, _, _ in rows], None)
    free = [
        (answer, old, score.score)
        for (answer, _, old, origin), score in zip(rows, scores, strict=True)
        if origin == "machine"
    ]
    moved = [one for one in free if one[1] != one[2]]
    moved.sort(key=lambda one: -abs((one[2] or 0) - (one[1] or 0)))
    deltas = [new - old for _, old, new in free if old is not None and new is not None]
    found = {
        "total": len(free),
        "decided": len(rows) - len(free),
        "mean_change": round(sum(deltas) / len(deltas), 4) if deltas else None,
        "changes": [{"answer": answer, "old": old, "new": new} for answer, old, new in moved],
    }

    def store(_: Session, __: Chunk, job: Job) -> None:
        job.result = finite(found)

    return store


def _marked(session: Session, ids: list[str]) -> list[tuple[str, str, float | None, str]]:
    """Id, text, machine mark and origin of the mark of answers."""
    found: list[tuple[str, str, float | None, str]] = []
    for start in range(0, len(ids), 400):
        query = (
            select(Answer.id, Answer.text, Mark.machine_score, Mark.origin)
            .join(Mark, Mark.answer_id == Answer.id)
            .where(Answer.id.in_(ids[start : start + 400]))
            .order_by(Answer.id)
        )
        found += [(row[0], row[1], row[2], row[3]) for row in session.execute(query)]
    return found
