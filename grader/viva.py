"""The examiner: asks, grades, follows up and sums up.

A pure state machine. `Examiner` holds only the items and the grader; everything about one viva is in `VivaState`, a
value that can be stored as JSON between two questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from grader.errors import InputError
from grader.feedback import next_follow_up
from grader.grading import Grader
from grader.rubric import Component, FollowUp, Item, Scale
from grader.score import AsWritten, Score

#: Name of the only component of a follow-up.
ANSWER = "answer"
#: From this share of the scale on, without a false statement, an answer gets the harder question.
GOOD = 0.8
_FOLLOW_UP_SCALE = Scale(max=2.0, step=0.5)
_NO_FOLLOW_UP = ("blank", "gibberish", "language")


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Question(_Value):
    """What the examiner asks now.

    Attributes:
        item: Id of the item.
        follow_up: Id of the follow-up, ``None`` for the item's own prompt.
        text: The words.
        number: Position of the item in the viva, from 1.
        of: Number of items.
        hint: A hint that does not give the answer away, or ``None``.
    """

    item: str
    follow_up: str | None
    text: str
    number: int
    of: int
    hint: str | None = None


class Turn(_Value):
    """One question with its answer and mark."""

    item: str
    follow_up: str | None = None
    question: str
    answer: AsWritten
    score: Score


class VivaState(_Value):
    """Everything about one viva.

    Attributes:
        items: Ids of the items, in the order they are asked.
        position: Index of the current item; equal to the number of items when the viva is over.
        pending: Id of the follow-up that is asked now, ``None`` for the item's own prompt.
        follow_ups: Most follow-ups asked on one item.
        language: Language of the feedback.
        turns: What has been asked and answered.
    """

    items: tuple[str, ...]
    position: int = Field(default=0, ge=0)
    pending: str | None = None
    follow_ups: int = Field(default=2, ge=0)
    language: str = "en"
    turns: tuple[Turn, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether nothing is left to ask."""
        return self.position >= len(self.items)


class ItemResult(_Value):
    """The marks of one item: its own, which equals that of grading the answer alone, and the follow-ups'."""

    item: str
    prompt: str
    score: float | None
    max_score: float
    follow_up_score: float = 0.0
    follow_up_max: float = 0.0


class Revision(_Value):
    """One thing to revise.

    Attributes:
        kind: A component that was missing, a false statement, or a follow-up not answered.
        item: Id of the item.
        component: The component, if it is about one.
        quote: The candidate's words, for a false statement.
        text: What to look at.
        hint: A hint, or ``None``.
    """

    kind: Literal["missing", "wrong", "follow_up"]
    item: str
    component: str | None = None
    quote: AsWritten = ""
    text: str
    hint: str | None = None


class Summary(_Value):
    """How a viva went; items without a mark count in neither sum."""

    results: tuple[ItemResult, ...]
    score: float
    max_score: float
    follow_up_score: float
    follow_up_max: float
    revise: tuple[Revision, ...]


def follow_up_item(item: Item, follow_up: FollowUp) -> Item:
    """A follow-up as an item of its own: 0 to 2 points, with the item's ways to find out.

    The item's misconceptions stay out: without its key statements beside them right answers are taken for them.
    """
    return Item(
        id=f"{item.id}-{follow_up.id}"[:80].rstrip("-"),
        version=item.version,
        language=item.language,
        prompt=follow_up.question,
        scale=_FOLLOW_UP_SCALE,
        reference_answer=follow_up.reference_answer,
        components={ANSWER: Component(weight=_FOLLOW_UP_SCALE.max, elements=follow_up.elements)},
        find_out=item.find_out,
    )


class Examiner:
    """Runs vivas on the items of a bank."""

    def __init__(self, bank: Mapping[str, Item], grader: Grader) -> None:
        """Asks about items of ``bank`` and has answers marked by ``grader``."""
        self._bank = bank
        self._grader = grader

    def start(self, items: Iterable[str], *, follow_ups: int = 2, language: str = "en") -> VivaState:
        """A new viva on ``items``, each asked with at most ``follow_ups`` further questions.

        Raises:
            InputError: There is no item, one is asked twice, or the bank does not have it.
        """
        ids = tuple(self._bank[name].id for name in items)
        if not ids:
            raise InputError("a viva needs at least one item, got none")
        if len(set(ids)) != len(ids):
            raise InputError(f"an item is asked once in a viva, got {', '.join(ids)}")
        return VivaState(items=ids, follow_ups=follow_ups, language=language)

    def ask(self, state: VivaState) -> Question | None:
        """The question that waits for an answer, ``None`` when the viva is over."""
        if state.finished:
            return None
        item = self._item(state)
        follow_up = _follow_up(item, state.pending)
        hints = [c.hint for c in item.components.values() if c.hint]
        return Question(
            item=item.id,
            follow_up=state.pending,
            text=follow_up.question if follow_up else item.prompt,
            number=state.position + 1,
            of=len(state.items),
            hint=hints[0] if hints and not follow_up else None,
        )

    def answer(self, state: VivaState, text: str) -> tuple[VivaState, Score]:
        """The state after ``text`` was given as the answer to the question that waits, and its mark.

        Raises:
            InputError: The viva is over, or the item or follow-up is no longer in the bank.
        """
        question = self.ask(state)
        if question is None:
            raise InputError("the viva is over, nothing was asked")
        item = self._item(state)
        follow_up = _follow_up(item, state.pending)
        asked = follow_up_item(item, follow_up) if follow_up else item
        score = self._grader.grade(asked, text, language=state.language)
        turn = Turn(item=item.id, follow_up=state.pending, question=question.text, answer=text, score=score)
        turns = (*state.turns, turn)
        following = choose_follow_up(item, [t for t in turns if t.item == item.id], state.follow_ups)
        position = state.position if following else state.position + 1
        pending = following.id if following else None
        return state.model_copy(update={"turns": turns, "position": position, "pending": pending}), score

    def stop(self, state: VivaState) -> VivaState:
        """The same viva with nothing left to ask."""
        return state.model_copy(update={"position": len(state.items), "pending": None})

    def summary(self, state: VivaState) -> Summary:
        """Marks of what was answered so far and what to revise."""
        results, revise = [], []
        for name in dict.fromkeys(turn.item for turn in state.turns):
            turns = [turn for turn in state.turns if turn.item == name]
            results.append(_result(self._bank[name], turns))
            revise += _revise(turns, _recovered(self._bank[name], turns))
        marked = [result for result in results if result.score is not None]
        return Summary(
            results=tuple(results),
            score=round(sum(result.score or 0.0 for result in marked), 6),
            max_score=round(sum(result.max_score for result in marked), 6),
            follow_up_score=round(sum(result.follow_up_score for result in results), 6),
            follow_up_max=round(sum(result.follow_up_max for result in results), 6),
            revise=tuple(revise),
        )

    def _item(self, state: VivaState) -> Item:
        return self._bank[state.items[state.position]]


def choose_follow_up(item: Item, turns: Sequence[Turn], limit: int) -> FollowUp | None:
    """The next question on ``item`` after ``turns`` (its prompt first), ``None`` to go on to the next item.

    After a good answer it is the one that asks for the most, otherwise the first whose condition holds. A component
    that a follow-up brought to light counts as met.
    """
    first, asked = turns[0].score, frozenset(turn.follow_up for turn in turns if turn.follow_up)
    if len(asked) >= limit or first.score is None or first.condition_code in _NO_FOLLOW_UP:
        return None
    recovered = _recovered(item, turns)
    components = [c.model_copy(update={"status": "present"}) if c.name in recovered else c for c in first.components]
    if first.score < GOOD * first.max_score or first.errors:
        return next_follow_up(item, components, asked)
    possible: list[FollowUp] = []
    while found := next_follow_up(item, components, asked | {follow_up.id for follow_up in possible}):
        possible.append(found)
    return max(possible, key=lambda follow_up: len(follow_up.ask_when.met), default=None)


def _follow_up(item: Item, name: str | None) -> FollowUp | None:
    if name is None:
        return None
    for follow_up in item.follow_ups:
        if follow_up.id == name:
            return follow_up
    raise InputError(f"item '{item.id}' has no follow-up '{name}'; the rubric has changed since it was asked")


def _answered(turn: Turn) -> bool:
    return not turn.score.errors and turn.score.components[0].status == "present"


def _recovered(item: Item, turns: Sequence[Turn]) -> frozenset[str]:
    """Components missed in the first answer that a follow-up asked for and got."""
    good = {turn.follow_up for turn in turns if turn.follow_up and _answered(turn)}
    return frozenset(name for f in item.follow_ups if f.id in good for name in f.ask_when.missed)


def _result(item: Item, turns: Sequence[Turn]) -> ItemResult:
    further = [turn.score for turn in turns if turn.follow_up and turn.score.score is not None]
    return ItemResult(
        item=item.id,
        prompt=item.prompt,
        score=turns[0].score.score,
        max_score=turns[0].score.max_score,
        follow_up_score=round(sum(score.score or 0.0 for score in further), 6),
        follow_up_max=round(sum(score.max_score for score in further), 6),
    )


def _revise(turns: Sequence[Turn], recovered: frozenset[str]) -> list[Revision]:
    found: list[Revision] = []
    for turn in turns:
        for entry in turn.score.feedback.wrong:
            found.append(
                Revision(kind="wrong", item=turn.item, component=entry.component, quote=entry.quote, text=entry.text)
            )
        if turn.follow_up and not _answered(turn):
            found.append(Revision(kind="follow_up", item=turn.item, text=turn.question))
        for entry in () if turn.follow_up else turn.score.feedback.missing:
            if entry.component not in recovered:
                found.append(
                    Revision(
                        kind="missing", item=turn.item, component=entry.component, text=entry.text, hint=entry.hint
                    )
                )
    return found
