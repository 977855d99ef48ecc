"""Packs: items that travel together."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import items
from api.db import LOCK
from api.db.models import ItemRow
from api.deps import Staff, Svc, Unit, reply
from api.problems import Problem
from api.routes.items import EXAMPLE
from api.schemas import Body, View
from grader.rubric import Item

router = APIRouter(tags=["items"])


class Pack(Body):
    """Items that travel together."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"format": "grader-pack/1", "items": [EXAMPLE]}]})

    format: Literal["grader-pack/1"] = "grader-pack/1"
    items: Annotated[list[dict[str, Any]], Field(max_length=2000)]


class PackResult(View):
    """What an import did; it did nothing at all if one item was not acceptable."""

    created: list[str]
    new_versions: list[str]
    unchanged: list[str]


@router.get("/pack", response_model=Pack)
def export_pack(sender: Staff, svc: Svc, tag: Annotated[str | None, Query(max_length=80)] = None) -> Response:
    """All items of the organisation, or those with a tag, in their current version."""
    with svc.db.read() as session:
        query = select(ItemRow).where(ItemRow.org_id == sender.org_id, ItemRow.deleted_at.is_(None))
        found = [
            items.content_of(session, row.id, row.version) for row in session.scalars(query.order_by(ItemRow.slug))
        ]
    chosen = [item for item in found if tag is None or tag in item.tags]
    return reply(Pack(items=[item.model_dump(mode="json") for item in chosen]))


@router.post("/pack", response_model=PackResult)
def import_pack(
    body: Pack, sender: Staff, unit: Unit, use: Annotated[items.Use, Query(description="For new items.")] = "practice"
) -> Response:
    """Store all items of a pack, or none: unknown ids are created, known ones get a new version."""
    parsed = _parse_all(body.items)

    def action(session: Session) -> PackResult:
        result = PackResult(created=[], new_versions=[], unchanged=[])
        query = select(ItemRow).where(ItemRow.org_id == sender.org_id).with_for_update(**LOCK)
        known = {row.slug: row for row in session.scalars(query)}
        for item in parsed:
            row = known.get(item.id)
            if row is None:
                items.add_item(session, sender.org_id, sender.actor, item, use)
                result.created.append(item.id)
            elif row.deleted_at is not None:
                raise Problem("duplicate", f"the item '{item.id}' was deleted; allowed: another id")
            elif items.dump(items.content_of(session, row.id, row.version), 0) == items.dump(item, 0):
                result.unchanged.append(item.id)
            else:
                items.add_version(session, row, sender.actor, item)
                row.revision += 1
                result.new_versions.append(item.id)
        return result

    return unit.run(action)


def _parse_all(contents: list[dict[str, Any]]) -> list[Item]:
    errors: list[tuple[str, str]] = []
    parsed: dict[str, Item] = {}
    for at, content in enumerate(contents):
        try:
            item = items.parse_content(content)
        except Problem as problem:
            errors.extend((f"items.{at}.{where}", what) for where, what in problem.errors)
            continue
        if item.id in parsed:
            errors.append((f"items.{at}.id", f"the id '{item.id}' comes twice"))
        parsed[item.id] = item
    if errors:
        raise Problem("invalid-rubric", f"{len(errors)} problems; nothing was stored", errors[:100])
    return list(parsed.values())
