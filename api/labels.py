"""Labelled answers: stored from tables, given one by one, or taken over from decisions of a review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from api.auth import Principal
from api.db import new_id
from api.db.models import Answer, Exam, ItemRow, Label, LabelUpload, Mark
from api.label_tables import LabelledRow
from api.problems import Problem
from grader.labelling import audit_sample
from grader.rubric import Item

#: Most labels of an item.
MOST = 5000


def count(session: Session, row: ItemRow) -> int:
    """Number of labels of an item."""
    return int(session.scalar(select(func.count()).select_from(Label).where(Label.item_id == row.id)) or 0)


def of_item(session: Session, row: ItemRow) -> list[Label]:
    """All labels of an item in the order they came."""
    return list(session.scalars(select(Label).where(Label.item_id == row.id).order_by(Label.id)))


def apply(session: Session, row: ItemRow, upload: LabelUpload, actor: str, *, replace: bool) -> dict[str, int]:
    """Store the labels of an upload; rows that are stored already are not stored twice.

    Args:
        session: A write transaction in which the item is locked.
        row: The item.
        upload: The upload that was read from it.
        actor: Who does it.
        replace: Remove the labels of earlier tables first.

    Raises:
        Problem: It was stored before, or there would be too many labels.
    """
    if upload.applied_at is not None:
        raise Problem("wrong-state", "the labels of this table are stored already")
    removed = 0
    if replace:
        query = delete(Label).where(Label.item_id == row.id, Label.source == "upload")
        removed = int(session.execute(query).rowcount)  # type: ignore[attr-defined]
    known = Counter(_key(one) for one in of_item(session, row) if one.source == "upload")
    fresh = []
    for values in upload.rows:
        one = LabelledRow(*values)
        key = _key(one)
        if known[key]:
            known[key] -= 1
        else:
            fresh.append(one)
    add(session, row, actor, "upload", [(one, None) for one in fresh])
    result = {"added": len(fresh), "unchanged": len(upload.rows) - len(fresh), "removed": removed}
    upload.rows = []
    return result


def _key(one: Label | LabelledRow) -> tuple[Any, ...]:
    return (one.text, one.human_score, one.human_score_2, tuple(sorted(one.components.items())), one.subgroup)


def add(
    session: Session,
    row: ItemRow,
    actor: str,
    source: str,
    given: Sequence[tuple[LabelledRow, str | None]],
    chance: float = 1.0,
) -> None:
    """Store labels with the answers they belong to, if any; an answer's earlier label is replaced.

    Raises:
        Problem: There would be too many.
    """
    ids = [answer for _, answer in given if answer is not None]
    for start in range(0, len(ids), 400):
        session.execute(delete(Label).where(Label.answer_id.in_(ids[start : start + 400])))
    if count(session, row) + len(given) > MOST:
        raise Problem("invalid", f"the item would have more than {MOST:,} labels; remove some first")
    ordered = sorted(new_id() for _ in given)  # so that labels of one table keep the table's order
    for label_id, (one, answer) in zip(ordered, given, strict=True):
        session.add(
            Label(
                id=label_id,
                org_id=row.org_id,
                item_id=row.id,
                answer_id=answer,
                text=one.text,
                human_score=one.human_score,
                human_score_2=one.human_score_2,
                components=dict(one.components),
                source=source,
                subgroup=one.subgroup,
                chance=chance,
                created_by=actor,
            )
        )
    session.flush()


def check_points(item: Item, whole: Iterable[float | None], components: Mapping[str, float]) -> None:
    """Refuses marks that the item does not allow.

    Raises:
        Problem: A mark is outside the scale, or a component is unknown.
    """
    for value in whole:
        if value is not None and not 0 <= value <= item.scale.max:
            raise Problem("invalid", f"the mark {value:g} is outside the scale; allowed: 0 to {item.scale.max:g}")
    for name, value in components.items():
        if name not in item.components:
            raise Problem("invalid", f"no component '{name}'; allowed: {', '.join(item.components)}")
        if not 0 <= value <= item.components[name].weight:
            raise Problem("invalid", f"{name} is {value:g}; allowed: 0 to {item.components[name].weight:g}")


@dataclass(frozen=True, slots=True)
class Stratum:
    """Marks of one kind, and how many of them a person decided."""

    total: int
    decided: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of the decisions of a review.

    Attributes:
        labels: How many became labels.
        referred: The marks that were referred.
        others: The marks that were not.
    """

    labels: int
    referred: Stratum
    others: Stratum

    @property
    def audit_wanted(self) -> bool:
        """Whether nobody has looked at a mark that was not referred, so that nothing is known about those."""
        return self.others.total > 0 and self.others.decided == 0


def take_decisions(session: Session, row: ItemRow, exam: Exam, actor: str) -> Taken:
    """Make labels of the marks that people set or accepted.

    Referred answers are looked at more often than others, so decisions are no random sample. Each label keeps the
    share of its kind (referred or not) that was decided; figures weigh it by the inverse of that share.
    """
    query = (
        select(Answer.id, Answer.text, Mark.score, Mark.origin, Mark.result)
        .join(Mark, Mark.answer_id == Answer.id)
        .where(Mark.exam_id == exam.id, Mark.item_id == row.id)
        .order_by(Answer.id)
    )
    kinds: dict[bool, list[tuple[LabelledRow, str]]] = {True: [], False: []}
    totals = {True: 0, False: 0}
    for answer_id, text, score, origin, result in session.execute(query):
        if result["condition_code"] == "blank":
            continue
        totals[result["referred"]] += 1
        if origin != "machine" and score is not None:
            kinds[result["referred"]].append((LabelledRow(0, text, score), answer_id))
    for referred, given in kinds.items():
        if given:
            add(session, row, actor, "decision", given, len(given) / totals[referred])
    strata = {kind: Stratum(totals[kind], len(kinds[kind])) for kind in (True, False)}
    return Taken(sum(map(len, kinds.values())), strata[True], strata[False])


def to_audit(session: Session, row: ItemRow, exam: Exam, size: int) -> tuple[list[tuple[str, str]], int]:
    """A simple random sample of the exam's answers that nobody has looked at, always the same, and their number."""
    labelled = select(Label.answer_id).where(Label.item_id == row.id, Label.answer_id.is_not(None))
    query = (
        select(Answer.id, Answer.text)
        .outerjoin(Mark, Mark.answer_id == Answer.id)
        .where(Answer.exam_id == exam.id, Answer.item_id == row.id, Answer.text != "", Answer.id.not_in(labelled))
        .where(Mark.origin.is_(None) | (Mark.origin == "machine"))
        .order_by(Answer.id)
    )
    rows = [(one.id, one.text) for one in session.execute(query)]
    chosen = audit_sample(size, len(rows), seed=int(exam.id[-8:], 16))
    return [rows[at] for at in chosen], len(rows)


def audit_chance(session: Session, row: ItemRow, exam_id: str, size: int) -> float:
    """Probability with which an answer nobody has looked at came into an audit sample of ``size``."""
    return min(size / max(to_audit(session, row, session.get_one(Exam, exam_id), 0)[1], 1), 1.0)


def own_label(session: Session, principal: Principal, row: ItemRow, label_id: str) -> Label:
    """The label, if it is this item's.

    Raises:
        Problem: There is none.
    """
    label = session.get(Label, label_id)
    if label is None or label.org_id != principal.org_id or label.item_id != row.id:
        raise Problem("not-found", "no label of this id")
    return label
