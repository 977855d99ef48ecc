"""Regrades: a dry run computes proposals, people see what would change, then it is applied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from api import marks
from api.auth import Principal
from api.db import LOCK
from api.db.models import Answer, ExamItem, ItemRow, Job, Mark, Proposal
from api.problems import Problem
from grader.score import Score


@dataclass(frozen=True, slots=True)
class Change:
    """A mark and what a regrade would make of it."""

    answer: str
    item: str
    old: float | None
    new: float | None
    decided: bool
    stale: bool

    @property
    def delta(self) -> float | None:
        """New minus old, ``None`` where one of them is missing."""
        return None if self.old is None or self.new is None else round(self.new - self.old, 6)


def changes(session: Session, job: Job) -> Iterator[Change]:
    """Every proposal of a dry run beside the current mark."""
    query = (
        select(Proposal, Mark, Answer.revision, ItemRow.slug)
        .join(Answer, Answer.id == Proposal.answer_id)
        .join(ItemRow, ItemRow.id == Answer.item_id)
        .outerjoin(Mark, Mark.answer_id == Proposal.answer_id)
        .where(Proposal.job_id == job.id)
        .order_by(Proposal.answer_id)
    )
    for proposal, mark, revision, slug in session.execute(query):
        yield Change(
            answer=proposal.answer_id,
            item=slug,
            old=mark.score if mark else None,
            new=proposal.result["score"],
            decided=mark is not None and mark.origin != "machine",
            stale=revision != proposal.text_revision,
        )


def apply(session: Session, sender: Principal, job: Job, reason: str) -> tuple[int, int]:
    """Make a dry run's proposals the marks; returns how many changed and how many were left to people.

    Raises:
        Problem: The dry run is not done, or was applied before.
    """
    if job.kind != "dry_run" or job.state != "done":
        raise Problem("wrong-state", f"the dry run is {job.state}; allowed: done and not applied yet")
    query = select(Proposal, Answer).join(Answer, Answer.id == Proposal.answer_id).where(Proposal.job_id == job.id)
    known = {
        mark.answer_id: mark
        for mark in session.scalars(select(Mark).where(Mark.exam_id == job.exam_id).with_for_update(**LOCK))
    }
    changed = left = 0
    for proposal, answer in session.execute(query.order_by(Answer.id).with_for_update(**LOCK, of=Answer)):
        mark = known.get(answer.id)
        if (mark is not None and mark.origin != "machine") or answer.revision != proposal.text_revision:
            left += 1
            continue
        changed += _apply_one(session, sender, job, proposal, answer, mark, reason)
    for item_id, version in job.params.items():
        row = session.scalar(select(ExamItem).where(ExamItem.exam_id == job.exam_id, ExamItem.item_id == item_id))
        if row is not None:
            row.version = version
    job.state = "applied"
    session.flush()
    return changed, left


def _apply_one(
    session: Session, sender: Principal, job: Job, proposal: Proposal, answer: Answer, mark: Mark | None, reason: str
) -> int:
    old = marks.snapshot(mark) if mark else None
    if mark is None:
        mark = Mark(answer_id=answer.id, org_id=job.org_id, exam_id=job.exam_id, item_id=answer.item_id, revision=0)
        session.add(mark)
    marks.set_machine(mark, Score.model_validate(proposal.result), proposal.version, proposal.text_revision)
    mark.revision += 1
    marks.add_event(session, mark, "regrade", sender.actor, old, reason)
    return int(old is None or old["score"] != mark.score)
