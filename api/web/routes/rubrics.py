"""Rubrics: read, edit as YAML with findings while one types, try on sample answers, versions and their difference."""

from __future__ import annotations

import difflib
from typing import Any

from fastapi import APIRouter, Response
from sqlalchemy import select

from api import items
from api.db.models import Exam, ExamItem
from api.problems import Problem
from api.routes import edits as edit_routes
from api.routes import items as item_routes
from api.schemas import Id, SlugPath
from api.web.choosing import Wished, all_items, choice
from api.web.fields import Part, changed, merged, parts_of
from api.web.markup import pieces, spans_of
from api.web.page import Ctx, PageRoute, Teacher, body_of
from api.web.parts import added, removed
from api.web.yamltext import dumped
from grader.bank import parse_item
from grader.errors import RubricError
from grader.rubric import Item

router = APIRouter(route_class=PageRoute, prefix="/rubrics")
_LIMIT = 200_000
_NEW = """\
id: new-question
language: en
tags: []
prompt: What is …, and why does it matter?
scale: {max: 5, step: 0.5}
reference_answer: A complete answer in two or three sentences.
components:
  definition:
    weight: 2.5
    elements:
      - id: what-it-is
        key_statements:
          - One wording of the idea.
          - Another wording of the same idea.
    hint: A hint that does not give the answer away.
  reason:
    weight: 1.5
    elements:
      - id: why
        key_statements: [Because of this cause.]
  example_or_pitfall:
    weight: 1
    elements:
      - id: example
        key_statements: [For example this one.]
misconceptions: []
"""


def yaml_of(item: Item) -> str:
    """The rubric as a person would write it: without what is a default anyway.

    >>> print(yaml_of(Item.from_reference("What?", "That.")).splitlines()[0])
    id: ad-hoc
    """
    return dumped(item.model_dump(mode="json", exclude_defaults=True, exclude={"version"}))


@router.get("")
def list_rubrics(ctx: Teacher, wished: Wished) -> Response:
    """All items."""
    return ctx.page("rubrics.html", choice=choice(ctx, all_items(ctx), wished))


@router.get("/new")
def new(ctx: Teacher) -> Response:
    """An empty rubric."""
    return _editor(ctx, None, _NEW)


def _editor(ctx: Ctx, view: dict[str, Any] | None, text: str, status: int = 200, message: str = "") -> Response:
    versions = ctx.call(item_routes.list_versions, view["id"], ctx.me, ctx.svc)["data"] if view else []
    found = exams_with(ctx, view["id"]) if view else []
    data = {"view": view, "yaml": text, "parts": _parts(text), "lint": _lint(ctx, text)}
    return ctx.page("rubric.html", status, versions=versions, message=message, exams=found, **data)


def exams_with(ctx: Ctx, slug: str) -> list[tuple[str, str]]:
    """Id and title of the exams that hold an item, the newest first."""
    with ctx.svc.db.read() as session:
        row = items.row_of(session, ctx.me, slug)
        query = select(Exam.id, Exam.title).join(ExamItem, ExamItem.exam_id == Exam.id)
        found = session.execute(query.where(ExamItem.item_id == row.id).order_by(Exam.id.desc()).limit(200))
        return [(one.id, one.title) for one in found]


def _lint(ctx: Ctx, text: str) -> dict[str, Any]:
    found: dict[str, Any] = ctx.call(item_routes.lint_item, body_of(item_routes.LintRequest, yaml=text), ctx.me)
    return found


@router.post("/lint")
def lint(ctx: Teacher) -> Response:
    """What is wrong with a rubric or could be better."""
    return ctx.page("_lint.html", lint=_lint(ctx, ctx.text("yaml", _LIMIT)))


def _parts(text: str) -> list[Part]:
    try:
        return parts_of(text)
    except RubricError:
        return []


def _typed(ctx: Ctx) -> str:
    """The YAML of the editor, with what was changed in the form where no script writes that into the YAML."""
    text, was = ctx.text("yaml", _LIMIT), ctx.text("was", _LIMIT)
    if not was:
        return text
    sent = {name: ctx.text(name) for name in ctx.form if "/" in name or name in ("prompt", "reference_answer")}
    return merged(text, was, sent)


def _acted(ctx: Ctx, text: str) -> tuple[str, str]:
    """The YAML after the button that adds or removes a part, and the path of a new part."""
    action, _, path = ctx.text("part", 300).partition(" ")
    if action == "add":
        return added(text, path, ctx.text("component", 100))
    return (removed(text, path) if action == "remove" else text), ""


@router.post("/fields")
def fields(ctx: Teacher) -> Response:
    """The rubric of the editor as a form."""
    return ctx.page("_fields.html", parts=_parts(ctx.text("yaml", _LIMIT)))


@router.post("/fields/part")
def change_part(ctx: Teacher) -> Response:
    """The rubric of the editor with a part added or removed, as YAML; a header names a new part."""
    text, place = _acted(ctx, ctx.text("yaml", _LIMIT))
    return ctx.finish(Response(text, media_type="text/plain; charset=utf-8", headers={"X-Part": place}))


@router.post("/fields/apply")
def change_field(ctx: Teacher) -> Response:
    """The rubric of the editor with one field of the form changed, as YAML."""
    text = changed(ctx.text("yaml", _LIMIT), {ctx.text("path", 300): ctx.text("value")})
    return ctx.finish(Response(text, media_type="text/plain; charset=utf-8"))


@router.post("/try")
def try_it(ctx: Teacher) -> Response:
    """The marks of sample answers by the rubric as it is in the editor."""
    text = ctx.text("yaml", _LIMIT)
    found = _lint(ctx, text)
    if not found["ok"]:
        return ctx.page("_lint.html", lint=found)
    item = parse_item(text)
    answers = [one.strip() for one in ctx.text("samples").split("\n\n") if one.strip()][:20]
    scores = ctx.svc.scorer.grade_many(item, answers, language=ctx.lang)
    tried = [(score, pieces(answer, spans_of(score))) for answer, score in zip(answers, scores, strict=True)]
    return ctx.page("_tried.html", tried=tried)


@router.post("/new/form")
def new_form(ctx: Teacher) -> Response:
    """A new rubric in the editor, with what was changed in the form or added to it."""
    return _redrawn(ctx, None)


@router.post("/{slug}/form")
def form(ctx: Teacher, slug: SlugPath) -> Response:
    """The rubric in the editor, with what was changed in the form or added to it; nothing is stored."""
    view = ctx.call(item_routes.get_item, slug, ctx.me, ctx.svc)
    return _redrawn(ctx, view)


def _redrawn(ctx: Ctx, view: dict[str, Any] | None) -> Response:
    try:
        return _editor(ctx, view, _acted(ctx, _typed(ctx))[0])
    except (Problem, RubricError) as error:
        message = error.detail if isinstance(error, Problem) else ctx.t("The YAML cannot be read; correct it first.")
        return _editor(ctx, view, ctx.text("yaml", _LIMIT), 422, message)


@router.get("/{slug}")
def edit(ctx: Teacher, slug: SlugPath) -> Response:
    """The newest version in the editor."""
    view = ctx.call(item_routes.get_item, slug, ctx.me, ctx.svc)
    return _editor(ctx, view, yaml_of(Item.model_validate(view["content"])))


@router.post("/new")
def create(ctx: Teacher) -> Response:
    """Store a new item."""
    text = _typed(ctx)
    if not _lint(ctx, text)["ok"]:
        return _editor(ctx, None, text, 422, ctx.t("Not stored: correct what is listed as wrong."))
    content = parse_item(text).model_dump(mode="json")
    use = "exam" if ctx.text("use", 10) == "exam" else "practice"
    made = ctx.call(item_routes.create_item, body_of(item_routes.NewItem, use=use, content=content), ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{made['id']}")


@router.post("/{slug}")
def save(ctx: Teacher, slug: SlugPath) -> Response:
    """Store the next version."""
    text = _typed(ctx)
    view = ctx.call(item_routes.get_item, slug, ctx.me, ctx.svc)
    if not _lint(ctx, text)["ok"]:
        return _editor(ctx, view, text, 422, ctx.t("Not stored: correct what is listed as wrong."))
    body = body_of(item_routes.NewVersion, content=parse_item(text).model_dump(mode="json"))
    revision = int(ctx.number("revision") or 0)
    ctx.call(item_routes.create_version, slug, body, ctx.me, ctx.unit(), revision)
    return ctx.go(f"/rubrics/{slug}")


@router.post("/{slug}/preview")
def start_preview(ctx: Teacher, slug: SlugPath) -> Response:
    """Try the edited rubric on an exam's answers."""
    text = _typed(ctx)
    if not _lint(ctx, text)["ok"]:
        view = ctx.call(item_routes.get_item, slug, ctx.me, ctx.svc)
        return _editor(ctx, view, text, 422, ctx.t("Not tried: correct what is listed as wrong."))
    content = parse_item(text).model_dump(mode="json")
    body = body_of(edit_routes.NewEditPreview, exam=ctx.text("exam", 40), content=content)
    job = ctx.call(edit_routes.start_preview, slug, body, ctx.me, ctx.unit())
    return ctx.go(f"/rubrics/{slug}/preview/{job['id']}")


@router.get("/{slug}/preview/{job_id}")
def look_at_preview(ctx: Teacher, slug: SlugPath, job_id: Id) -> Response:
    """Which marks an edit would change."""
    found = ctx.call(edit_routes.get_preview, job_id, ctx.me, ctx.svc)
    return ctx.page("rubric_preview.html", slug=slug, preview=found, job=found["job"])


@router.get("/{slug}/diff")
def diff(ctx: Teacher, slug: SlugPath, old: int, new: int) -> Response:
    """What differs between two versions."""
    with ctx.svc.db.read() as session:
        row = items.row_of(session, ctx.me, slug)
        before, after = (yaml_of(items.content_of(session, row.id, one)).splitlines() for one in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
    return ctx.page("rubric_diff.html", slug=slug, old=old, new=new, lines=lines)
