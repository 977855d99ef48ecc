"""Candidates of an exam: enrol them, and make the keys with which they answer online."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from api.problems import Problem
from api.routes import accounts
from api.routes import roster as roster_routes
from api.schemas import Id
from api.web.page import Ctx, PageRoute, Teacher, body_of
from api.web.routes.teach import exam_of

router = APIRouter(route_class=PageRoute, prefix="/teach/exams/{exam_id}/candidates")
_PAGE = 200


def _show(
    ctx: Ctx, exam_id: str, *, page: int = 1, reveal: bool = False, made: list[dict[str, str]] | None = None
) -> Response:
    rows = ctx.call(roster_routes.get_roster, exam_id, ctx.me, ctx.svc, reveal=reveal)["data"]
    shown, pages = rows[(page - 1) * _PAGE : page * _PAGE], max(1, -(-len(rows) // _PAGE))
    data = {"rows": shown, "total": len(rows), "page": page, "pages": pages, "reveal": reveal, "made": made or []}
    return ctx.page("teach_candidates.html", exam=exam_of(ctx, exam_id), tab="candidates", **data)


@router.get("")
def candidates(
    ctx: Teacher, exam_id: Id, reveal: bool = False, page: Annotated[int, Query(ge=1, le=100_000)] = 1
) -> Response:
    """Who takes the exam, opaque unless revealed."""
    return _show(ctx, exam_id, page=page, reveal=reveal)


def _people(text: str) -> list[dict[str, Any]]:
    found = []
    for line in text.splitlines():
        external, _, name = (part.strip() for part in line.replace("\t", ",").partition(","))
        if external:
            found.append({"external_id": external, "name": name or None})
    return found


@router.post("")
def enrol(ctx: Teacher, exam_id: Id) -> Response:
    """Enrol candidates; an administrator gets their keys, shown this once."""
    body = body_of(roster_routes.NewRoster, candidates=_people(ctx.text("people", 200_000)))
    wanted = ctx.text("keys", 5) == "1"
    if wanted and ctx.me.role != "admin":
        raise Problem("forbidden", "keys are made by an administrator")
    found = ctx.call(roster_routes.enrol, exam_id, body, ctx.me, ctx.unit())["candidates"]
    made = [{"who": external, "key": _key(ctx, external, one)} for external, one in found.items()] if wanted else []
    return _show(ctx, exam_id, made=made)


def _key(ctx: Ctx, external: str, candidate_id: str) -> str:
    body = body_of(accounts.NewKey, role="candidate", label=external[:200], candidate=candidate_id)
    return str(ctx.call(accounts.create_key, body, ctx.me, ctx.svc)["key"])
