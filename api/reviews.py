"""What people do with marks: accept, override, ask for a second look, undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from api import items, marks
from api.auth import Principal
from api.db.models import Mark, MarkEvent
from api.problems import Problem
from grader.score import Score

#: Actions that undo can take back.
_DECISIONS = ("accept", "override", "second_look", "comment")


def accept(session: Session, sender: Principal, mark: Mark, note: str | None) -> None:
    """Let the current mark stand; later runs do not touch it.

    Raises:
        Problem: There is no mark to accept.
    """
    if mark.score is None:
        raise Problem("wrong-state", "the scorer gave no mark, so there is none to accept; override it")
    old = marks.snapshot(mark)
    mark.review = "accepted"
    if mark.origin == "machine":
        mark.origin = "accepted"
    marks.add_event(session, mark, "accept", sender.actor, old, note)


def override(
    session: Session,
    sender: Principal,
    mark: Mark,
    *,
    score: float | None,
    components: Mapping[str, float],
    reason: str,
    comment: str | None,
) -> None:
    """Set the whole mark or the points of components; later runs do not touch it.

    Raises:
        Problem: A value is outside the scale or a component is unknown.
    """
    item = items.content_of(session, mark.item_id, mark.version)
    machine = Score.model_validate(mark.result)
    old = marks.snapshot(mark)
    mark.score, mark.parts = marks.override_parts(machine, score, components, item.scale.points)
    mark.origin, mark.review = "teacher", "overridden"
    if comment is not None:
        mark.comment = comment
    marks.add_event(session, mark, "override", sender.actor, old, reason)


def second_look(session: Session, sender: Principal, mark: Mark, note: str) -> None:
    """Put the mark back into the queue for another person."""
    old = marks.snapshot(mark)
    mark.review = "second_look"
    marks.add_event(session, mark, "second_look", sender.actor, old, note)


def undo(session: Session, sender: Principal, mark: Mark, note: str | None) -> None:
    """Take back the last decision that was not taken back yet.

    Raises:
        Problem: There is none.
    """
    query = select(MarkEvent).where(MarkEvent.answer_id == mark.answer_id).order_by(MarkEvent.at, MarkEvent.id)
    events = session.scalars(query).all()
    undone = {event.undoes for event in events if event.undoes}
    last = next((one for one in reversed(events) if one.action in _DECISIONS and one.id not in undone), None)
    if last is None or last.old is None:
        raise Problem("wrong-state", "there is no decision to undo")
    old = marks.snapshot(mark)
    _restore(mark, last.old)
    marks.add_event(session, mark, "undo", sender.actor, old, note, undoes=last.id)


def _restore(mark: Mark, state: Mapping[str, Any]) -> None:
    mark.origin, mark.review = state["origin"], state["review"]
    if mark.origin == "machine":
        score = Score.model_validate(mark.result)
        mark.score, mark.parts = mark.machine_score, marks.parts_of(score)
        return
    mark.score, mark.parts = state["score"], state["parts"]
