"""The candidate's exams: answer online, hand in, read the feedback, appeal."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Response

from api.routes import mine
from api.schemas import Id, SlugPath
from api.web.markup import Piece, pieces, quoted
from api.web.page import Ctx, Examinee, PageRoute, body_of

router = APIRouter(route_class=PageRoute)


@router.get("/my")
def exams(ctx: Examinee) -> Response:
    """The candidate's exams."""
    return ctx.page("my_list.html", exams=ctx.call(mine.my_exams, ctx.me, ctx.svc)["data"])


def _marked(mark: dict[str, Any]) -> list[Piece]:
    found = mark["feedback"]
    if found is None:
        return [Piece(mark["response"])]
    parts = [part["quotes"] for part in found["parts"]]
    return pieces(mark["response"], quoted(mark["response"], parts, [one["quote"] for one in found["errors"]]))


@router.get("/my/{exam_id}")
def exam(ctx: Examinee, exam_id: Id) -> Response:
    """An exam: its questions while it is open, its result once it is released."""
    found = ctx.call(mine.my_exam, exam_id, ctx.me, ctx.svc)
    if found["phase"] == "released":
        result = ctx.call(mine.my_result, exam_id, ctx.me, ctx.svc, ctx.lang)
        prompts = {one["item"]: one["prompt"] for one in found["questions"]}
        shown = [{**mark, "pieces": _marked(mark), "prompt": prompts[mark["item"]]} for mark in result["marks"]]
        return ctx.page("my_result.html", exam=found, result=result, marks=shown)
    return ctx.page("my_exam.html", exam=found)


def _save(ctx: Ctx, exam_id: str, slug: str) -> dict[str, Any]:
    body = body_of(mine.SaveAnswer, response=ctx.text("response"))
    revision = int(ctx.number("revision") or 0)
    saved: dict[str, Any] = ctx.call(mine.save_answer, exam_id, slug, body, ctx.me, ctx.unit(), revision)
    return saved


@router.post("/my/{exam_id}/answers/{slug}")
def save(ctx: Examinee, exam_id: Id, slug: SlugPath) -> Response:
    """Save an answer, as the page does while one types."""
    saved = _save(ctx, exam_id, slug)
    if not ctx.partial:
        return ctx.go(f"/my/{exam_id}#{slug}")
    message = f"{ctx.t('Saved')} {saved['saved_at'][11:16]}"
    text = json.dumps({"revision": saved["revision"], "message": message})
    return ctx.finish(Response(text, media_type="application/json"))


@router.post("/my/{exam_id}/submit")
def submit(ctx: Examinee, exam_id: Id) -> Response:
    """Hand in."""
    ctx.call(mine.submit, exam_id, ctx.me, ctx.unit())
    return ctx.go(f"/my/{exam_id}")


@router.post("/my/{exam_id}/appeals")
def appeal(ctx: Examinee, exam_id: Id) -> Response:
    """Ask a person to look at a mark again."""
    slug = ctx.text("item", 80)
    body = body_of(mine.NewAppeal, item=slug, text=ctx.text("text", 4000).strip())
    ctx.call(mine.appeal, exam_id, body, ctx.me, ctx.unit())
    return ctx.go(f"/my/{exam_id}#{slug}")
