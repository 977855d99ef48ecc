"""Items: list, read, create, new version, lint, packs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import items
from api.db.models import ItemRow, ItemVersion
from api.deps import Anyone, IfMatch, Staff, Svc, Unit, audit, bump, decode_cursor, encode_cursor, reply
from api.problems import Problem, from_library
from api.schemas import Body, Cursor, Limit, Page, SlugPath, Time, VersionPath, View
from api.views import ItemLine, ItemView, QuestionView, item_line, item_view, question_view
from grader.bank import parse_item
from grader.errors import RubricError
from grader.rubric import Item

router = APIRouter(tags=["items"])
_CONTENT: dict[str, Any] = {
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

    model_config = ConfigDict(json_schema_extra={"examples": [{"use": "practice", "content": _CONTENT}]})

    use: items.Use = "practice"
    content: dict[str, Any]


class NewVersion(Body):
    """The next version of an item."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": _CONTENT}]})

    content: dict[str, Any]


class LintRequest(Body):
    """A rubric to look at: as an object or as YAML text."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": _CONTENT}]})

    content: dict[str, Any] | None = None
    yaml: Annotated[str, Field(max_length=1_000_000)] | None = None


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


class Pack(Body):
    """Items that travel together."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"format": "grader-pack/1", "items": [_CONTENT]}]})

    format: Literal["grader-pack/1"] = "grader-pack/1"
    items: Annotated[list[dict[str, Any]], Field(max_length=2000)]


class PackResult(View):
    """What an import did; it did nothing at all if one item was not acceptable."""

    created: list[str]
    new_versions: list[str]
    unchanged: list[str]


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
    try:
        item = items.parse_content(body.content) if body.content is not None else parse_item(body.yaml or "")
    except Problem as problem:
        found = [Finding(severity="error", code="field", field=where, message=what) for where, what in problem.errors]
        return reply(LintResult(ok=False, findings=found))
    except RubricError as error:
        found = [
            Finding(severity="error", code=one.code, field=one.field, line=one.line, message=one.message)
            for one in error.problems
        ]
        return reply(LintResult(ok=False, findings=found))
    warnings = [
        Finding(severity="warning", code=code, field=where, message=what) for code, where, what in items.findings(item)
    ]
    return reply(LintResult(ok=True, findings=warnings, item=item.model_dump(mode="json")))


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
        row.deleted_at = row.created_at
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
        query = select(ItemRow).where(ItemRow.org_id == sender.org_id).with_for_update()
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
        except RubricError as error:
            raise from_library(error) from None
        if item.id in parsed:
            errors.append((f"items.{at}.id", f"the id '{item.id}' comes twice"))
        parsed[item.id] = item
    if errors:
        raise Problem("invalid-rubric", f"{len(errors)} problems; nothing was stored", errors[:100])
    return list(parsed.values())
