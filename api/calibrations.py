"""Calibrations of an item: started, kept, put in force, rolled back, opened for scoring."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from api import items, labels
from api.auth import Principal
from api.db import LOCK, new_id
from api.db.models import CalibrationRow, Chunk, Exam, ItemRow, Job, Label, Promotion
from api.problems import Problem, from_library
from grader.calibration import Calibration, load_calibration
from grader.correction import MIN_LABELS
from grader.drift import Drift, drift_of
from grader.errors import InputError
from grader.labels import check_labels
from grader.referral import Policy
from grader.rubric import Item

_OPEN: OrderedDict[str, Calibration] = OrderedDict()
_MOST_OPEN = 16
_lock = threading.Lock()


def opened(session: Session, calibration_id: str) -> Calibration:
    """The calibration ready for use; kept in memory, because a calibration never changes.

    Raises:
        Problem: There is none of this id.
    """
    with _lock:
        if calibration_id in _OPEN:
            _OPEN.move_to_end(calibration_id)
            return _OPEN[calibration_id]
    content = session.scalar(select(CalibrationRow.content).where(CalibrationRow.id == calibration_id))
    if content is None:
        raise Problem("not-found", "no calibration of this id")
    found = load_calibration(content)
    with _lock:
        _OPEN[calibration_id] = found
        while len(_OPEN) > _MOST_OPEN:
            _OPEN.popitem(last=False)
    return found


def in_force(session: Session, org_id: str, item: Item) -> str | None:
    """Id of the calibration that marks this version of an item, ``None`` if it is marked without one."""
    query = select(CalibrationRow.id).where(
        CalibrationRow.org_id == org_id, CalibrationRow.rubric == item.content_hash, CalibrationRow.state == "promoted"
    )
    return session.scalar(query)


def own(session: Session, principal: Principal, calibration_id: str, *, lock: bool = False) -> CalibrationRow:
    """The row, if it belongs to the sender's organisation.

    Raises:
        Problem: There is none.
    """
    row = session.get(CalibrationRow, calibration_id, with_for_update=LOCK if lock else None)
    if row is None or row.org_id != principal.org_id:
        raise Problem("not-found", "no calibration of this id")
    return row


def start_fit(
    session: Session,
    row: ItemRow,
    actor: str,
    version: int,
    policy: Policy,
    *,
    label_ids: Sequence[str] | None = None,
    carried_from: str | None = None,
) -> Job:
    """A job that fits one version of an item to its labels.

    Args:
        session: A write transaction in which the item is locked.
        row: The item.
        actor: Who starts it.
        version: The version to fit.
        policy: The teacher's risk.
        label_ids: Labels to use; all of the item if not given.
        carried_from: Id of the calibration whose labels are measured again.

    Raises:
        Problem: Another fit is not finished, or the labels teach nothing: too few, all equal, outside the scale.
    """
    item = items.content_of(session, row.id, version)
    found = labels.of_item(session, row)
    if label_ids is not None:
        wanted = set(label_ids)
        found = [one for one in found if one.id in wanted]
    if len(found) < MIN_LABELS:
        raise Problem("invalid", f"{len(found)} labels are too few to calibrate; allowed: {MIN_LABELS} or more")
    try:
        check_labels(item, [one.text for one in found], [one.human_score for one in found])
    except InputError as error:
        raise from_library(error) from None
    params = {
        "item": row.slug,
        "version": version,
        "policy": asdict(policy),
        "labels": [one.id for one in found],
        "carried_from": carried_from,
    }
    return start_job(session, row, actor, "fit", version, params, size=len(found))


def start_comparison(
    session: Session, row: ItemRow, actor: str, exam: Exam, after: CalibrationRow, before_id: str | None, ids: list[str]
) -> Job:
    """A job that marks an exam's answers with two calibrations; no mark changes."""
    params = {"item": row.slug, "exam": exam.id, "before": before_id, "after": after.id}
    return start_job(session, row, actor, "compare", after.item_version, params, ids=ids, size=len(ids))


def start_suggestion(
    session: Session, row: ItemRow, actor: str, exam: Exam, version: int, number: int, ids: list[str]
) -> Job:
    """A job that finds the answers of an exam whose labels would tell most."""
    params = {"item": row.slug, "exam": exam.id, "number": number}
    return start_job(session, row, actor, "suggest", version, params, ids=ids, size=len(ids))


def start_job(
    session: Session,
    row: ItemRow,
    actor: str,
    kind: str,
    version: int,
    params: Mapping[str, Any],
    *,
    size: int,
    ids: Sequence[str] = (),
) -> Job:
    """A job of one chunk about an item.

    Args:
        session: A write transaction in which the item is locked.
        row: The item.
        actor: Who starts it.
        kind: What to do.
        version: Version of the item.
        params: What else the worker needs to know.
        size: What progress is counted in.
        ids: Answers it is about.

    Raises:
        Problem: Another job of this kind is not finished for the item.
    """
    running = exists().where(Job.item_id == row.id, Job.kind == kind, Job.state.in_(("active", "paused")))
    if session.scalar(select(running)):
        raise Problem("wrong-state", f"a job of this kind ({kind}) is not finished for the item; wait or cancel it")
    job = Job(org_id=row.org_id, item_id=row.id, kind=kind, created_by=actor, params=dict(params))
    session.add(job)
    session.flush()
    session.add(
        Chunk(
            id=new_id(),
            org_id=row.org_id,
            job_id=job.id,
            item_id=row.id,
            version=version,
            answer_ids=list(ids),
            size=max(size, 1),
        )
    )
    session.flush()
    return job


def own_job(session: Session, principal: Principal, job_id: str, kind: str) -> Job:
    """The job of one kind, if it belongs to the sender's organisation.

    Raises:
        Problem: There is none.
    """
    job = session.get(Job, job_id)
    if job is None or job.org_id != principal.org_id or job.kind != kind:
        raise Problem("not-found", "no job of this id and kind")
    return job


def promote(session: Session, principal: Principal, row: CalibrationRow, version: int | None) -> None:
    """Put a calibration in force for its version of the item.

    Args:
        session: A write transaction in which the item is locked.
        principal: Who does it.
        row: The calibration.
        version: The version it shall mark; the item's current one if not given.

    Raises:
        Problem: It is in force already, or was made for another version.
    """
    item = session.get_one(ItemRow, row.item_id)
    wanted = version or item.version
    rubric = items.content_of(session, item.id, wanted).content_hash
    if rubric != row.rubric:
        raise Problem(
            "other-rubric",
            f"calibration {row.name} was made for version {row.item_version} of '{item.slug}', not for version "
            f"{wanted}; allowed: carry it over, which measures it again, or name version {row.item_version} for exams "
            "that use it",
        )
    before = _current(session, row.item_id, row.rubric)
    if before is not None and before.id == row.id:
        raise Problem("wrong-state", f"calibration {row.name} is in force already")
    if before is not None:
        before.state = "retired"
    row.state = "promoted"
    session.add(
        Promotion(
            org_id=row.org_id,
            item_id=row.item_id,
            rubric=row.rubric,
            calibration_id=row.id,
            before_id=before.id if before else None,
            actor=principal.actor,
        )
    )
    session.flush()


def roll_back(session: Session, principal: Principal, item: ItemRow, version: int | None) -> CalibrationRow | None:
    """Put the calibration before back in force; returns it, or ``None`` when there was none before.

    Raises:
        Problem: No calibration is in force for this version.
    """
    wanted = version or item.version
    rubric = items.content_of(session, item.id, wanted).content_hash
    current = _current(session, item.id, rubric)
    if current is None:
        raise Problem("wrong-state", f"no calibration is in force for version {wanted} of '{item.slug}'")
    query = select(Promotion).where(
        Promotion.item_id == item.id, Promotion.rubric == rubric, Promotion.undone_at.is_(None)
    )
    last = session.scalars(query.order_by(Promotion.id.desc())).first()
    before = session.get(CalibrationRow, last.before_id) if last and last.before_id else None
    current.state = "retired"
    if before is not None:
        before.state = "promoted"
    if last is not None:
        last.undone_at, last.undone_by = time.time(), principal.actor
    session.flush()
    return before


def _current(session: Session, item_id: str, rubric: str) -> CalibrationRow | None:
    query = select(CalibrationRow).where(
        CalibrationRow.item_id == item_id, CalibrationRow.rubric == rubric, CalibrationRow.state == "promoted"
    )
    return session.scalar(query)


def drift_in(session: Session, exam_id: str, item_id: str, calibration_id: str) -> Drift | None:
    """How unlike the labelled answers an exam's answers are, as noted when they were marked; ``None`` before that."""
    query = (
        select(Chunk.novelty)
        .join(Job, Job.id == Chunk.job_id)
        .where(Job.exam_id == exam_id, Chunk.item_id == item_id, Chunk.calibration_id == calibration_id)
        .order_by(Chunk.id)
    )
    novelty: dict[str, float] = {}
    for found in session.scalars(query):
        novelty.update(found or {})
    if not novelty:
        return None
    known = session.get_one(CalibrationRow, calibration_id).study["novelty"]
    return drift_of(np.array(known), np.array(list(novelty.values())))


def forget_answers(session: Session, answer_ids: Sequence[str]) -> None:
    """Remove reports and advice that may quote answers which are about to be deleted; the figures stay."""
    for start in range(0, len(answer_ids), 400):
        part = answer_ids[start : start + 400]
        concerned = select(Label.item_id).where(Label.answer_id.in_(part)).distinct()
        for row in session.scalars(select(CalibrationRow).where(CalibrationRow.item_id.in_(concerned))):
            row.report, row.reports, row.study = "", {}, {**row.study, "advice": []}
    session.flush()


class Watched:
    """A calibration that notes how unlike the labelled answers each response is while it marks them."""

    def __init__(self, calibration: Calibration) -> None:
        """Stands in for ``calibration``."""
        self._inner = calibration
        self.novelty: list[float] = []
        self.name = calibration.name
        self.check: Callable[..., None] = calibration.check

    def verdicts(self, rows: Any) -> Any:
        """As `Calibration.verdicts`."""
        self.novelty += [round(float(one), 6) for one in self._inner.fitted.predict(rows).novelty]
        return self._inner.verdicts(rows)
