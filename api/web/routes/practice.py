"""Practice: pick a question, answer it, see what is there and what is missing, try again."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from secrets import compare_digest
from typing import Any

from fastapi import APIRouter, Response

from api import items
from api.deps import Services
from api.practice import PracticeScorer
from api.problems import Problem
from api.schemas import SlugPath
from api.web.choosing import Wished, all_items, choice
from api.web.markup import pieces, spans_of, word_changes
from api.web.page import Ctx, Learner, PageRoute
from grader.errors import GraderError
from grader.rubric import Item
from grader.score import Score

router = APIRouter(route_class=PageRoute)
_FIND_OUT = {
    "en": "I don't know, but I would find out by ",
    "de": "Ich weiß es nicht, aber ich würde es herausfinden, indem ich ",
    "hi": "मुझे नहीं पता, लेकिन मैं ऐसे पता करूँगा: ",
}
_warm: set[tuple[int, str]] = set()
_NO_TRY = ("blank", "gibberish", "echo")


@router.get("/practice")
def choose(ctx: Learner, wished: Wished) -> Response:
    """Questions to pick from."""
    return ctx.page("practice_list.html", choice=choice(ctx, all_items(ctx), wished))


def warm_up(svc: Services, org_id: str, item: Item) -> None:
    """Prepare the scorer for an item while its question is read, so that the first answer need not wait."""
    key = (id(svc), item.content_hash)
    if key in _warm:
        return
    if len(_warm) > 2000:
        _warm.clear()
    _warm.add(key)

    def run() -> None:
        with suppress(GraderError, Problem):  # told when an answer is sent
            PracticeScorer(svc, org_id).grade(item, "warm up")

    threading.Thread(target=run, daemon=True).start()


def _item(ctx: Ctx, slug: str) -> tuple[str, Item]:
    with ctx.svc.db.read() as session:
        row, item = items.usable(session, ctx.me, slug, None)
    return row.use, item


@router.get("/practice/{slug}")
def ask(ctx: Learner, slug: SlugPath) -> Response:
    """One question."""
    use, item = _item(ctx, slug)
    warm_up(ctx.svc, ctx.me.org_id, item)
    return ctx.page("practice.html", item=item, use=use, response="", mode="answer", result=None)


@router.post("/practice/{slug}")
def answer(ctx: Learner, slug: SlugPath) -> Response:
    """The mark of an answer, which is not stored."""
    use, item = _item(ctx, slug)
    mode = "find_out" if ctx.text("mode", 20) == "find_out" else "answer"
    typed = ctx.text("response")
    prefix = _FIND_OUT.get(item.language, _FIND_OUT["en"]) if mode == "find_out" and typed.strip() else ""
    score = PracticeScorer(ctx.svc, ctx.me.org_id).grade(item, prefix + typed, language=ctx.lang)
    result = _result(ctx, use, item, prefix + typed, score)
    if ctx.partial:
        return ctx.page("_practice_result.html", item=item, result=result)
    return ctx.page("practice.html", item=item, use=use, response=typed, mode=mode, result=result)


def _result(ctx: Ctx, use: str, item: Item, text: str, score: Score) -> dict[str, Any]:
    before = _before(ctx)
    tried = score.condition_code not in _NO_TRY and (use == "practice" or item.limits.show_key)
    return {
        "score": score,
        "pieces": pieces(text, spans_of(score)),
        "hints": [one.hint for one in score.feedback.missing if one.hint],
        "before": before,
        "changes": word_changes(before["text"], text) if before else [],
        "number": before["number"] + 1 if before else 1,
        "keep": json.dumps(
            {
                "number": before["number"] + 1 if before else 1,
                "score": score.score,
                "parts": {one.name: one.points for one in score.components},
                "text": text,
            }
        ),
        "tried": _tried(ctx, item.id) if tried else "",
    }


def _before(ctx: Ctx) -> dict[str, Any] | None:
    """The last try as this page sent it along; only ever shown to the person who sent it."""
    try:
        data = json.loads(ctx.text("previous", 200_000))
        parts = {str(name): float(value) for name, value in data["parts"].items()}
        score = None if data["score"] is None else float(data["score"])
        return {"number": int(data["number"]), "score": score, "parts": parts, "text": str(data["text"])}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _tried(ctx: Ctx, slug: str) -> str:
    return ctx.svc.secrets.digest(f"page:tried:{ctx.me.actor}:{slug}")


@router.post("/practice/{slug}/model")
def model_answer(ctx: Learner, slug: SlugPath) -> Response:
    """A full answer, for those who have tried."""
    _, item = _item(ctx, slug)
    if not compare_digest(ctx.text("tried", 100).encode(), _tried(ctx, item.id).encode()):
        raise Problem("forbidden", "try first, then look")
    return ctx.page("_model.html" if ctx.partial else "model.html", item=item)
