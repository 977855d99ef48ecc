"""Oral practice: ask, answer, follow up, sum up; and quick checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field
from sqlalchemy.orm import Session

from api import items
from api.auth import Principal
from api.db.models import VivaSession
from api.deps import Anyone, IfMatch, Services, Svc, Unit, bump, own, reply
from api.practice import PracticeScorer
from api.problems import Problem, from_library
from api.schemas import AnswerText, Body, Id, Page, SlugPath, SlugText, View
from api.views import CandidateScore, candidate_score
from grader.errors import InputError
from grader.grading import Grader
from grader.rubric import Item, QuickCheck
from grader.score import Score
from grader.viva import Examiner, Question, Summary, Turn, VivaState, follow_up_item

router = APIRouter(tags=["viva"])


class NewViva(Body):
    """Items to be asked about, in this order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": ["view-vs-reshape"], "follow_ups": 2}]})

    items: Annotated[list[SlugText], Field(min_length=1, max_length=50)]
    follow_ups: int = Field(default=2, ge=0, le=5, description="Most further questions on one item.")


class VivaAnswer(Body):
    """The answer to the question that waits."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"response": "A view shares its data."}]})

    response: AnswerText


class TurnView(View):
    """A question with its answer and mark."""

    item: str
    follow_up: str | None
    question: str
    answer: str
    score: Score | CandidateScore


class VivaView(View):
    """An oral practice: the question that waits (null when it is over) and what was said so far."""

    id: str
    question: Question | None
    finished: bool
    turns: list[TurnView]
    revision: int = Field(description="Also the ETag.")


class CheckView(View):
    """A multiple choice question without its solution."""

    id: str
    label: str | None
    stem: str
    options: list[str]


class Choice(Body):
    """Number of the chosen option, from 0."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"option": 0}]})

    option: int = Field(ge=0, le=7)


class ChoiceResult(View):
    """Whether the choice is right, and why."""

    correct: bool
    why: str


def _bank(session: Session, sender: Principal, versions: Mapping[str, int | None]) -> dict[str, Item]:
    return {slug: items.usable(session, sender, slug, version)[1] for slug, version in versions.items()}


def _examiner(svc: Services, sender: Principal, bank: Mapping[str, Item]) -> Examiner:
    # The examiner only calls grade(), which the practice scorer has with the same signature.
    return Examiner(bank, cast(Grader, PracticeScorer(svc, sender.org_id)))


def _own(session: Session, session_id: str, sender: Principal, *, lock: bool = False) -> VivaSession:
    row = own(session, VivaSession, session_id, sender, "viva", lock=lock)
    if row.actor != sender.actor and not (sender.candidate_id and row.candidate_id == sender.candidate_id):
        raise Problem("not-found", "no viva of this id")
    return row


def _load(session: Session, row: VivaSession, sender: Principal) -> tuple[VivaState, dict[str, Item]]:
    return VivaState.model_validate(row.state["viva"]), _bank(session, sender, row.state["versions"])


def _turn(turn: Turn, bank: Mapping[str, Item], sender: Principal) -> TurnView:
    item = bank[turn.item]
    if turn.follow_up is not None:
        item = follow_up_item(item, next(one for one in item.follow_ups if one.id == turn.follow_up))
    return TurnView(
        item=turn.item,
        follow_up=turn.follow_up,
        question=turn.question,
        answer=turn.answer,
        score=turn.score if sender.staff else candidate_score(turn.score, item, bank[turn.item].limits.show_key),
    )


def _view(row: VivaSession, state: VivaState, svc: Services, bank: Mapping[str, Item], sender: Principal) -> VivaView:
    return VivaView(
        id=row.id,
        question=_examiner(svc, sender, bank).ask(state),
        finished=state.finished,
        turns=[_turn(turn, bank, sender) for turn in state.turns],
        revision=row.revision,
    )


def _state(state: VivaState, versions: Mapping[str, Any]) -> dict[str, Any]:
    return {"viva": state.model_dump(mode="json"), "versions": dict(versions)}


@router.post("/viva", status_code=201, response_model=VivaView)
def start_viva(body: NewViva, sender: Anyone, svc: Svc, unit: Unit) -> Response:
    """Begin an oral practice on items that are open for practice."""

    def action(session: Session) -> VivaView:
        bank = _bank(session, sender, dict.fromkeys(body.items))
        try:
            state = _examiner(svc, sender, bank).start(body.items, follow_ups=body.follow_ups)
        except InputError as error:
            raise from_library(error) from None
        versions = {slug: item.version for slug, item in bank.items()}
        row = VivaSession(
            org_id=sender.org_id,
            actor=sender.actor,
            candidate_id=sender.candidate_id,
            state=_state(state, versions),
        )
        session.add(row)
        session.flush()
        return _view(row, state, svc, bank, sender)

    return unit.run(action, 201)


@router.get("/viva/{session_id}", response_model=VivaView)
def get_viva(session_id: Id, sender: Anyone, svc: Svc) -> Response:
    """The question that waits and what was said so far."""
    with svc.db.read() as session:
        row = _own(session, session_id, sender)
        state, bank = _load(session, row, sender)
    return reply(_view(row, state, svc, bank, sender))


@router.post("/viva/{session_id}/answers", response_model=VivaView)
def answer_viva(session_id: Id, body: VivaAnswer, sender: Anyone, svc: Svc, unit: Unit, expected: IfMatch) -> Response:
    """Answer the question that waits; the next one comes back."""
    with svc.db.read() as session:
        row = _own(session, session_id, sender)
        state, bank = _load(session, row, sender)
    # Graded outside the transaction, so that nobody waits for it; the ETag tells if it still fits.
    following = state if state.finished else _examiner(svc, sender, bank).answer(state, body.response)[0]

    def action(session: Session) -> VivaView:
        row = _own(session, session_id, sender, lock=True)
        bump(row, expected, "viva")
        if state.finished:
            raise Problem("wrong-state", "the viva is over, nothing was asked")
        if VivaState.model_validate(row.state["viva"]) != state:
            raise Problem("stale-etag", "the viva went on meanwhile; read it again")
        row.state, row.finished = _state(following, row.state["versions"]), following.finished
        return _view(row, following, svc, bank, sender)

    return unit.run(action)


@router.post("/viva/{session_id}/stop", response_model=VivaView)
def stop_viva(session_id: Id, sender: Anyone, svc: Svc, unit: Unit, expected: IfMatch) -> Response:
    """End it before all questions were asked."""

    def action(session: Session) -> VivaView:
        row = _own(session, session_id, sender, lock=True)
        bump(row, expected, "viva")
        state, bank = _load(session, row, sender)
        ended = _examiner(svc, sender, bank).stop(state)
        row.state, row.finished = _state(ended, row.state["versions"]), True
        return _view(row, ended, svc, bank, sender)

    return unit.run(action)


@router.get("/viva/{session_id}/summary", response_model=Summary)
def viva_summary(session_id: Id, sender: Anyone, svc: Svc) -> Response:
    """Marks so far and what to revise."""
    with svc.db.read() as session:
        state, bank = _load(session, _own(session, session_id, sender), sender)
    return reply(_examiner(svc, sender, bank).summary(state))


@router.get("/items/{item_id}/quick-checks", response_model=Page[CheckView])
def quick_checks(item_id: SlugPath, sender: Anyone, svc: Svc) -> Response:
    """The item's multiple choice questions, without solutions."""
    with svc.db.read() as session:
        item = items.usable(session, sender, item_id, None)[1]
    data = [
        CheckView(id=one.id, label=one.label, stem=one.stem, options=[option.text for option in one.options])
        for one in item.quick_checks
    ]
    return reply(Page[CheckView](data=data))


@router.post("/items/{item_id}/quick-checks/{check_id}", response_model=ChoiceResult)
def answer_check(item_id: SlugPath, check_id: SlugPath, body: Choice, sender: Anyone, svc: Svc) -> Response:
    """Whether the chosen option is right, and why."""
    with svc.db.read() as session:
        item = items.usable(session, sender, item_id, None)[1]
    check: QuickCheck | None = next((one for one in item.quick_checks if one.id == check_id), None)
    if check is None:
        raise Problem("not-found", f"the item has no quick check '{check_id}'")
    if body.option >= len(check.options):
        raise Problem("invalid", f"option {body.option}; allowed: 0 to {len(check.options) - 1}")
    option = check.options[body.option]
    return reply(ChoiceResult(correct=option.correct, why=option.why))
