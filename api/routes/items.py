"""Items: list, read, create, new version, lint, packs."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import items
from api.db.models import ItemRow, ItemVersion
from api.deps import Anyone, IfMatch, Staff, Svc, Unit, audit, bump, decode_cursor, encode_cursor, reply
from api.problems import Problem
from api.schemas import Body, Cursor, Limit, Page, SlugPath, Time, VersionPath, View
from api.views import ItemLine, ItemView, QuestionView, item_line, item_view, question_view
from grader.bank import parse_item
from grader.lint import lint_text

router = APIRouter(tags=["items"])
EXAMPLE: dict[str, Any] = {
    "id": "caching",
    "prompt": "What does a cache do?",
    "reference_answer": "It keeps results so that they need not be computed again.",
    "scale": {"max": 5, "step": 0.5},
    "components": {
        "definition": {
            "weight": 5,
            "elements": [{"id": "keeps", "key_statements": ["It keeps results for later use."]}],
        }
    },
}


class NewItem(Body):
    """A new item; ``content`` has the fields of the rubric format."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"use": "practice", "content": EXAMPLE}]})

    use: items.Use = "practice"
    content: dict[str, Any]


class NewVersion(Body):
    """The next version of an item."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": EXAMPLE}]})

    content: dict[str, Any]


class LintRequest(Body):
    """A rubric to look at: as an object or as YAML text."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": EXAMPLE}]})

    content: dict[str, Any] | None = None
    yaml: Annotated[str, Field(max_length=200_000)] | None = None


class Finding(View):
    """Something to correct (error) or to think about (warning)."""

    severity: Literal["error", "warning"]
    code: str
    field: str
    line: int = 0
    message: str


class LintResult(View):
    """Findings about a rubric; ``ok`` when none is an error."""

    ok: bool
    findings: list[Finding]
    item: dict[str, Any] | None = None


class UsePatch(Body):
    """Move an item between practice and exams."""

    use: items.Use


class VersionLine(View):
    """One version of an item."""

    version: int
    content_hash: str
    created_by: str
    created_at: Time


@router.get("/items", response_model=Page[ItemLine])
def list_items(
    sender: Anyone,
    svc: Svc,
    cursor: Cursor = None,
    limit: Limit = 100,
    use: Annotated[items.Use | None, Query()] = None,
    tag: Annotated[str | None, Query(max_length=80)] = None,
) -> Response:
    """Items in the order of their ids; a candidate sees those open for practice."""
    start = decode_cursor(cursor, str)
    with svc.db.read() as session:
        query = (
            select(ItemRow).where(ItemRow.org_id == sender.org_id, ItemRow.deleted_at.is_(None)).order_by(ItemRow.slug)
        )
        if start:
            query = query.where(ItemRow.slug > start[0])
        if use:
            query = query.where(ItemRow.use == use)
        lines: list[ItemLine] = []
        for row in session.scalars(query):
            item = items.content_of(session, row.id, row.version)
            if (tag and tag not in item.tags) or (not sender.staff and items.locked_for_candidates(session, row)):
                continue
            if len(lines) == limit:
                return reply(Page[ItemLine](data=lines, next=encode_cursor(lines[-1].id)))
            lines.append(item_line(row, item))
    return reply(Page[ItemLine](data=lines))


@router.post("/items", status_code=201, response_model=ItemView)
def create_item(body: NewItem, sender: Staff, unit: Unit) -> Response:
    """Store a new item as version 1."""
    item = items.parse_content(body.content)

    def action(session: Session) -> ItemView:
        row = items.add_item(session, sender.org_id, sender.actor, item, body.use)
        return item_view(row, items.content_of(session, row.id, 1), 1)

    return unit.run(action, 201)


@router.post("/items/lint", response_model=LintResult)
def lint_item(body: LintRequest, sender: Staff) -> Response:
    """What is wrong with a rubric, or could be better; nothing is stored."""
    if (body.content is None) == (body.yaml is None):
        raise Problem("invalid", "give either content or yaml")
    # JSON is YAML, so both forms are looked at by the same rules.
    text = body.yaml if body.yaml is not None else json.dumps(body.content, indent=1, ensure_ascii=False)
    problems = lint_text(text)
    found = [
        Finding(
            severity="error" if one.severity == "error" else "warning",
            code=one.code,
            field=one.field,
            line=one.line,
            message=one.message,
        )
        for one in problems
    ]
    ok = all(one.severity != "error" for one in problems)
    return reply(LintResult(ok=ok, findings=found, item=parse_item(text).model_dump(mode="json") if ok else None))


@router.get("/items/{item_id}", response_model=ItemView | QuestionView)
def get_item(item_id: SlugPath, sender: Anyone, svc: Svc) -> Response:
    """The current version: with its rubric for staff, without any key for a candidate."""
    with svc.db.read() as session:
        row, item = items.usable(session, sender, item_id, None)
    return reply(item_view(row, item, row.version) if sender.staff else question_view(item))


@router.patch("/items/{item_id}", response_model=ItemView)
def move_item(item_id: SlugPath, body: UsePatch, sender: Staff, unit: Unit, expected: IfMatch) -> Response:
    """Move an item between practice and exams."""

    def action(session: Session) -> ItemView:
        row = items.row_of(session, sender, item_id, lock=True)
        bump(row, expected, "item")
        if body.use == "practice" and items.in_exams(session, row):
            raise Problem("in-use", "an exam holds this item, so it cannot be for practice")
        row.use = body.use
        return item_view(row, items.content_of(session, row.id, row.version), row.version)

    return unit.run(action)


@router.delete("/items/{item_id}", response_model=ItemLine)
def delete_item(item_id: SlugPath, sender: Staff, unit: Unit, expected: IfMatch) -> Response:
    """Take an item out of the bank; one that an exam holds stays."""

    def action(session: Session) -> ItemLine:
        row = items.row_of(session, sender, item_id, lock=True)
        bump(row, expected, "item")
        if items.in_exams(session, row):
            raise Problem("in-use", "an exam holds this item, and its marks name it")
        row.deleted_at = time.time()
        audit(session, sender, "delete-item", row.slug)
        return item_line(row, items.content_of(session, row.id, row.version))

    return unit.run(action)


@router.get("/items/{item_id}/versions", response_model=Page[VersionLine])
def list_versions(item_id: SlugPath, sender: Staff, svc: Svc) -> Response:
    """All versions, the newest first."""
    with svc.db.read() as session:
        row = items.row_of(session, sender, item_id)
        query = select(ItemVersion).where(ItemVersion.item_id == row.id).order_by(ItemVersion.version.desc())
        lines = [VersionLine.model_validate(one, from_attributes=True) for one in session.scalars(query)]
    return reply(Page[VersionLine](data=lines))


@router.post("/items/{item_id}/versions", status_code=201, response_model=ItemView)
def create_version(item_id: SlugPath, body: NewVersion, sender: Staff, unit: Unit, expected: IfMatch) -> Response:
    """Store the next version; exams are graded with the one they name until a regrade is applied."""
    item = items.parse_content(body.content)

    def action(session: Session) -> ItemView:
        row = items.row_of(session, sender, item_id, lock=True)
        bump(row, expected, "item")
        items.add_version(session, row, sender.actor, item)
        return item_view(row, items.content_of(session, row.id, row.version), row.version)

    return unit.run(action, 201)


@router.get("/items/{item_id}/versions/{version}", response_model=ItemView)
def get_version(item_id: SlugPath, version: VersionPath, sender: Staff, svc: Svc) -> Response:
    """One version, old ones included."""
    with svc.db.read() as session:
        row = items.row_of(session, sender, item_id)
        item = items.content_of(session, row.id, version)
    return reply(item_view(row, item, version))
