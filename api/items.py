"""Items of an organisation: stored in versions, looked up by role, linted, packed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import ValidationError
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from api.auth import Principal
from api.db import LOCK
from api.db.models import Exam, ExamItem, ItemRow, ItemVersion
from api.problems import Problem
from grader.rubric import Item

Use = Literal["practice", "exam"]


_MOST_PARSED = 512
_parsed: dict[str, Item] = {}


def parse_content(content: Mapping[str, Any]) -> Item:
    """The item of a JSON object.

    Raises:
        Problem: It is not acceptable; every finding has its field.
    """
    try:
        return Item.model_validate(content)
    except ValidationError as error:
        found = [(".".join(map(str, one["loc"])) or "item", str(one["msg"])) for one in error.errors()[:100]]
        raise Problem("invalid-rubric", f"{error.error_count()} problems in the rubric", found) from None


def dump(item: Item, version: int) -> dict[str, Any]:
    """The item as a JSON object that names ``version``."""
    return {**item.model_dump(mode="json"), "version": version}


def row_of(session: Session, principal: Principal, slug: str, *, lock: bool = False) -> ItemRow:
    """The item's row.

    Raises:
        Problem: The organisation has no such item.
    """
    query = select(ItemRow).where(ItemRow.org_id == principal.org_id, ItemRow.slug == slug)
    row = session.scalar(query.with_for_update(**LOCK) if lock else query)
    if row is None or row.deleted_at is not None:
        raise Problem("not-found", f"no item '{slug}'")
    return row


def content_of(session: Session, item_id: str, version: int) -> Item:
    """The item as it stands in one version.

    Raises:
        Problem: There is no such version.
    """
    where = (ItemVersion.item_id == item_id, ItemVersion.version == version)
    key = session.scalar(select(ItemVersion.content_hash).where(*where))
    if key is None:
        raise Problem("not-found", f"the item has no version {version}")
    item = _parsed.get(key)
    if item is None:
        item = Item.model_validate(session.scalar(select(ItemVersion.content).where(*where)))
        if len(_parsed) >= _MOST_PARSED:
            _parsed.clear()
        _parsed[key] = item
    return item


def locked_for_candidates(session: Session, row: ItemRow) -> bool:
    """Whether candidates may not practise with the item: it is an exam's that is not released."""
    if row.use == "practice":
        return False
    exams = session.scalars(
        select(Exam.released_at).join(ExamItem, ExamItem.exam_id == Exam.id).where(ExamItem.item_id == row.id)
    ).all()
    return not exams or any(released is None for released in exams)


def usable(session: Session, principal: Principal, slug: str, version: int | None) -> tuple[ItemRow, Item]:
    """The item for scoring or reading by the sender.

    Raises:
        Problem: There is none, or a candidate asks for an item of an exam that is not released.
    """
    row = row_of(session, principal, slug)
    if not principal.staff and locked_for_candidates(session, row):
        raise Problem("exam-item-locked", "this item belongs to an exam whose results are not released")
    return row, content_of(session, row.id, version or row.version)


def add_item(session: Session, org_id: str, actor: str, item: Item, use: str, version: int = 1) -> ItemRow:
    """Store a new item.

    Raises:
        Problem: The organisation has (or had) an item of this id.
    """
    if session.scalar(select(ItemRow.id).where(ItemRow.org_id == org_id, ItemRow.slug == item.id)):
        raise Problem("duplicate", f"there is or was an item '{item.id}'; allowed: another id, or a new version")
    row = ItemRow(org_id=org_id, slug=item.id, use=use, version=version)
    session.add(row)
    session.flush()
    _add_version(session, row, actor, item, version)
    return row


def add_version(session: Session, row: ItemRow, actor: str, item: Item) -> None:
    """Store the next version of an item; exams keep the version they are graded with.

    Raises:
        Problem: The content has another id, or equals the current version.
    """
    if item.id != row.slug:
        raise Problem("invalid", f"the content has the id '{item.id}', the item is '{row.slug}'")
    if dump(content_of(session, row.id, row.version), 0) == dump(item, 0):
        raise Problem("conflict", f"the content equals version {row.version}; nothing was stored")
    row.version += 1
    _add_version(session, row, actor, item, row.version)


def _add_version(session: Session, row: ItemRow, actor: str, item: Item, version: int) -> None:
    content = dump(item, version)
    session.add(
        ItemVersion(
            item_id=row.id,
            version=version,
            org_id=row.org_id,
            content=content,
            content_hash=Item.model_validate(content).content_hash,
            created_by=actor,
        )
    )
    session.flush()


def in_exams(session: Session, row: ItemRow) -> int:
    """Number of exams that hold the item."""
    query = select(func.count()).select_from(ExamItem).where(ExamItem.item_id == row.id)
    return int(session.scalar(query) or 0)


def take_for_exam(session: Session, row: ItemRow) -> None:
    """Move an item from practice to exams."""
    session.execute(update(ItemRow).where(ItemRow.id == row.id).values(use="exam", revision=ItemRow.revision + 1))
    session.refresh(row)


def seed(session: Session, org_id: str, items: Iterable[Item]) -> int:
    """Give a new organisation the items of a bank for practice; returns their number."""
    count = 0
    for item in items:
        add_item(session, org_id, "system", item, "practice", item.version)
        count += 1
    return count
