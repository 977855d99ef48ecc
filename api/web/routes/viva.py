"""Oral practice: the examiner asks, follows up on gaps, and sums up; and quick checks."""

from __future__ import annotations

import random
from typing import Any

from fastapi import APIRouter, Response

from api import items
from api.db.models import VivaSession
from api.problems import Problem
from api.routes import viva as handlers
from api.schemas import Id, SlugPath
from api.web.choosing import Wish, Wished, all_items, choice
from api.web.page import Ctx, Learner, PageRoute, body_of

router = APIRouter(route_class=PageRoute)
#: Points of certainty-based marking: how sure, right, wrong.
CERTAINTY = {1: (1, 0), 2: (2, -2), 3: (3, -6)}


@router.get("/viva")
def setup(ctx: Learner, wished: Wished) -> Response:
    """Choose what to be asked about."""
    return ctx.page("viva_start.html", choice=choice(ctx, all_items(ctx), wished))


@router.post("/viva")
def start(ctx: Learner) -> Response:
    """Begin with questions drawn by chance."""
    wished = Wish(ctx.text("pack", 80), ctx.text("tag", 80), ctx.text("language", 2))
    slugs = [one["id"] for one in all_items(ctx) if wished.fits(one)]
    count = max(1, min(int(ctx.number("count") or 3), 10, len(slugs)))
    if not slugs:
        raise Problem("not-found", "there is no question of this pack, topic and language")
    chosen = random.SystemRandom().sample(slugs, count)
    body = body_of(handlers.NewViva, items=chosen, follow_ups=int(ctx.number("follow_ups") or 0))
    made = ctx.call(handlers.start_viva, body, ctx.me, ctx.svc, ctx.unit())
    return ctx.go(f"/viva/{made['id']}")


def _show(ctx: Ctx, view: dict[str, Any]) -> Response:
    summary = ctx.call(handlers.viva_summary, view["id"], ctx.me, ctx.svc) if view["finished"] else None
    template = "_viva.html" if ctx.partial else "viva.html"
    return ctx.page(template, viva=view, summary=summary)


@router.get("/viva/{viva_id}")
def talk(ctx: Learner, viva_id: Id) -> Response:
    """The question that waits and what was said."""
    return _show(ctx, ctx.call(handlers.get_viva, viva_id, ctx.me, ctx.svc))


def _revision(ctx: Ctx) -> int:
    return int(ctx.number("revision") or 0)


@router.post("/viva/{viva_id}")
def answer(ctx: Learner, viva_id: Id) -> Response:
    """Answer the question that waits."""
    body = body_of(handlers.VivaAnswer, response=ctx.text("response"))
    _translate(ctx, viva_id)
    return _show(ctx, ctx.call(handlers.answer_viva, viva_id, body, ctx.me, ctx.svc, ctx.unit(), _revision(ctx)))


def _translate(ctx: Ctx, viva_id: str) -> None:
    """Let the feedback that follows be in the language of the page."""
    with ctx.svc.db.write() as session:
        row = session.get(VivaSession, viva_id)
        if row is not None and row.actor == ctx.me.actor and row.state["viva"]["language"] != ctx.lang:
            row.state = {**row.state, "viva": {**row.state["viva"], "language": ctx.lang}}


@router.post("/viva/{viva_id}/stop")
def stop(ctx: Learner, viva_id: Id) -> Response:
    """End before all questions were asked."""
    return _show(ctx, ctx.call(handlers.stop_viva, viva_id, ctx.me, ctx.svc, ctx.unit(), _revision(ctx)))


@router.get("/checks")
def choose(ctx: Learner, wished: Wished) -> Response:
    """Items that have multiple choice questions."""
    found = [one for one in all_items(ctx) if _checks(ctx, one["id"])]
    return ctx.page("checks.html", choice=choice(ctx, found, wished))


def _checks(ctx: Ctx, slug: str) -> bool:
    with ctx.svc.db.read() as session:
        return bool(items.usable(session, ctx.me, slug, None)[1].quick_checks)


@router.get("/checks/{slug}")
def check(ctx: Learner, slug: SlugPath) -> Response:
    """The multiple choice questions of an item."""
    with ctx.svc.db.read() as session:
        item = items.usable(session, ctx.me, slug, None)[1]
    return ctx.page("check.html", item=item, outcomes={}, certainty=CERTAINTY)


@router.post("/checks/{slug}/{check_id}")
def decide(ctx: Learner, slug: SlugPath, check_id: SlugPath) -> Response:
    """Whether the choice is right, and why each option is right or wrong."""
    with ctx.svc.db.read() as session:
        item = items.usable(session, ctx.me, slug, None)[1]
    found = next((one for one in item.quick_checks if one.id == check_id), None)
    if found is None:
        raise Problem("not-found", "there is no such question")
    option = ctx.number("option")
    if option is None or not 0 <= option < len(found.options):
        raise Problem("invalid", "choose one of the options")
    right = found.options[int(option)].correct
    sure = int(ctx.number("sure") or 0)
    points = CERTAINTY[sure][0 if right else 1] if sure in CERTAINTY else None
    outcome = {"picked": int(option), "right": right, "points": points}
    if ctx.partial:
        return ctx.page("_check.html", item=item, check=found, outcome=outcome, certainty=CERTAINTY)
    return ctx.page("check.html", item=item, outcomes={check_id: outcome}, certainty=CERTAINTY)
