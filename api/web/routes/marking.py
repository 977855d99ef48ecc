"""Marking: answers of one item in a stable random order, one at a time or in groups."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import exams, items, marks
from api.db.models import Answer, Mark
from api.problems import Problem
from api.routes import results as result_routes
from api.routes import reviews as review_routes
from api.schemas import Id, SlugPath
from api.web.markup import Piece, pieces, spans_of
from api.web.page import Ctx, PageRoute, Teacher, body_of
from api.web.routes.account import safe_next
from api.web.routes.teach import exam_of, item_counts
from grader.retelling import in_language
from grader.score import Score

router = APIRouter(route_class=PageRoute, prefix="/teach")
Which = Literal["waiting", "unreviewed", "decided", "all"]
Sort = Literal["mixed", "doubt"]
_PAGE = 40
#: Groups on a page, answers shown of each, and answers shown of one group by itself.
_GROUPS, _SHOWN, _ALL = 15, 12, 300


@dataclass(frozen=True, slots=True)
class Entry:
    """An answer's place in the queue."""

    answer: str
    review: str
    origin: str

    def fits(self, which: str) -> bool:
        """Whether the filter shows it."""
        if which == "waiting":
            return self.review in marks.WAITING
        if which == "unreviewed":
            return self.origin in ("", "machine")
        return which == "all" or self.origin in ("teacher", "accepted")


def queue(session: Session, exam_id: str, item_id: str, sort: str, q: str = "") -> list[Entry]:
    """All answers to an item: in an order that is random but always the same, or the most doubtful first."""
    query = (
        select(Answer.id, Mark.review, Mark.origin, Mark.doubt)
        .outerjoin(Mark, Mark.answer_id == Answer.id)
        .where(Answer.exam_id == exam_id, Answer.item_id == item_id)
    )
    if q:
        query = query.where(Answer.text.icontains(q, autoescape=True))
    rows = list(session.execute(query))

    def place(row: Any) -> tuple[float, str]:
        mixed = hashlib.sha256(f"{exam_id}{row[0]}".encode()).hexdigest()
        return (-(row[3] if row[3] is not None else 9.0) if sort == "doubt" else 0.0, mixed)

    return [Entry(row[0], row[1] or "", row[2] or "") for row in sorted(rows, key=place)]


@router.get("/exams/{exam_id}/marking")
def choose(ctx: Teacher, exam_id: Id) -> Response:
    """The items, with what is left to do."""
    exam = exam_of(ctx, exam_id)
    with ctx.svc.db.read() as session:
        counts = item_counts(session, exam_id)
    return ctx.page("marking.html", exam=exam, counts=counts, tab="marking")


@router.get("/exams/{exam_id}/marking/{slug}")
def answers(
    ctx: Teacher,
    exam_id: Id,
    slug: SlugPath,
    which: Which = "all",
    sort: Sort = "mixed",
    q: Annotated[str, Query(max_length=100)] = "",
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> Response:
    """The answers to one item, a page at a time."""
    exam = exam_of(ctx, exam_id)
    with ctx.svc.db.read() as session:
        slot = exams.slot_of(session, exam_id, slug)
        found = [one for one in queue(session, exam_id, slot.item_id, sort, q.strip()) if one.fits(which)]
        shown = found[(page - 1) * _PAGE : page * _PAGE]
        rows = _rows(session, [one.answer for one in shown])
    filters = {"which": which, "sort": sort, "q": q}
    data: dict[str, Any] = {
        "item": slot.item,
        "slug": slug,
        "rows": rows,
        "total": len(found),
        "page": page,
        "filters": filters,
    }
    pages = max(1, -(-len(found) // _PAGE))
    return ctx.page("marking_list.html", exam=exam, tab="marking", pages=pages, query=urlencode(filters), **data)


def _rows(session: Session, ids: list[str]) -> list[dict[str, Any]]:
    query = select(Answer, Mark).outerjoin(Mark, Mark.answer_id == Answer.id).where(Answer.id.in_(ids))
    found = {answer.id: (answer, mark) for answer, mark in session.execute(query)}
    return [
        {
            "answer": one,
            "text": found[one][0].text,
            "score": found[one][1].score if found[one][1] else None,
            "review": found[one][1].review if found[one][1] else "",
            "origin": found[one][1].origin if found[one][1] else "",
        }
        for one in ids
    ]


def _around(found: list[Entry], answer_id: str, which: str) -> dict[str, Any]:
    at = next((n for n, one in enumerate(found) if one.answer == answer_id), 0)
    after = next((one.answer for one in found[at + 1 :] if one.fits(which)), None)
    before = next((one.answer for one in reversed(found[:at]) if one.fits(which)), None)
    return {"number": at + 1, "total": len(found), "next": after, "previous": before}


@router.get("/answers/{answer_id}")
def answer(
    ctx: Teacher,
    answer_id: Id,
    which: Which = "all",
    sort: Sort = "mixed",
    q: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """One answer with the rubric, the suggestion, and what can be done."""
    view = ctx.call(review_routes.get_review, answer_id, ctx.me, ctx.svc)
    with ctx.svc.db.read() as session:
        slot = exams.slot_of(session, view["exam"], view["item"])
        item = items.content_of(session, slot.item_id, view["version"])
        around = _around(queue(session, view["exam"], slot.item_id, sort, q.strip()), answer_id, which)
    machine = in_language(Score.model_validate(view["machine"]), item, ctx.lang)
    text = view["text"]
    shown = [Piece(text)] if view["text_changed"] else pieces(text, spans_of(machine))
    query = urlencode({"which": which, "sort": sort, **({"q": q} if q else {})})
    data = {"view": view, "item": item, "machine": machine, "pieces": shown, "around": around, "query": query}
    return ctx.page(
        "marking_answer.html", exam=exam_of(ctx, view["exam"]), tab="marking", **_points(view, machine), **data
    )


def _points(view: dict[str, Any], machine: Score) -> dict[str, Any]:
    """Points of each component as they stand, and the sum of the lines that are none."""
    names = [one.name for one in machine.components]
    shown = {line["label"]: line["points"] for line in view["parts"]}
    lines = {step.label: step.points for step in machine.calculation}
    points = {one.name: shown.get(one.name, one.points) for one in machine.components}
    fixed = sum(value for label, value in lines.items() if label not in names and label != "rounding")
    return {"points": points, "fixed": round(fixed, 6)}


def _decision(ctx: Ctx, answer_id: str, action: str) -> None:
    revision = int(ctx.number("revision") or 0)
    note = ctx.text("reason", 2000).strip()
    if action == "override":
        whole = ctx.number("score")
        names = [name.removeprefix("part-") for name in ctx.form if name.startswith("part-")]
        parts = {} if whole is not None else {name: ctx.number(f"part-{name}") or 0.0 for name in names}
        comment = ctx.text("comment", 4000).strip() or None
        body = body_of(review_routes.Override, score=whole, components=parts, reason=note, comment=comment)
        ctx.call(review_routes.override, answer_id, body, ctx.me, ctx.unit(), revision)
    elif action == "second-look":
        body = body_of(review_routes.SecondLook, note=note or ctx.t("Please look at this again."))
        ctx.call(review_routes.second_look, answer_id, body, ctx.me, ctx.unit(), revision)
    elif action in ("accept", "undo"):
        handler = review_routes.accept if action == "accept" else review_routes.undo
        ctx.call(handler, answer_id, body_of(review_routes.Note, note=None), ctx.me, ctx.unit(), revision)
    else:
        raise Problem("not-found", "there is no such action")


@router.post("/answers/{answer_id}/{action}")
def decide(ctx: Teacher, answer_id: Id, action: str) -> Response:
    """Accept, override, ask for a second look, or undo; then go on to the next answer."""
    _decision(ctx, answer_id, action)
    return ctx.go(safe_next(ctx.text("next", 300)) if ctx.text("next", 300) else f"/teach/answers/{answer_id}")


@router.get("/exams/{exam_id}/groups/{slug}")
def groups(ctx: Teacher, exam_id: Id, slug: SlugPath, alone: Annotated[str, Query(max_length=40)] = "") -> Response:
    """Answers that say the same, to mark at once; of a large group only the first answers, unless it is alone."""
    exam = exam_of(ctx, exam_id)
    found = ctx.call(result_routes.similar_groups, exam_id, slug, ctx.me, ctx.svc)["data"]
    found = [one for one in found if one["size"] > 1 and alone in ("", one["answers"][0])][:_GROUPS]
    shown = _ALL if alone else _SHOWN
    with ctx.svc.db.read() as session:
        slot = exams.slot_of(session, exam_id, slug)
        for one in found:
            one["members"] = _rows(session, one["answers"][:shown])
            one["rest"] = one["answers"][shown:]
    data: dict[str, Any] = {"slug": slug, "item": slot.item, "groups": found, "alone": alone}
    return ctx.page("marking_groups.html", exam=exam, tab="marking", **data)


@router.post("/exams/{exam_id}/groups/{slug}")
def mark_group(ctx: Teacher, exam_id: Id, slug: SlugPath) -> Response:
    """Give the chosen answers of a group one mark."""
    body = body_of(
        review_routes.BulkOverride,
        answers=[str(one) for one in ctx.form.getlist("answer")],
        item=slug,
        score=ctx.number("score"),
        reason=ctx.text("reason", 2000).strip(),
    )
    result = ctx.call(review_routes.override_group, exam_id, body, ctx.me, ctx.unit())
    return ctx.page("_group_done.html" if ctx.partial else "group_done.html", result=result, exam_id=exam_id, slug=slug)
