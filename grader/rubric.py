"""Items and their rubrics: what a response is scored against.

Everything here is content: frozen, validated, without behaviour beyond look-ups. The YAML form is described in
``docs/rubric-format.md`` and read by `grader.bank`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Line = Annotated[str, Field(min_length=1, max_length=4_000)]
Location = tuple[str | int, ...]

#: Component names with a meaning of their own; an item may leave some out or add others.
STANDARD_COMPONENTS = ("definition", "reason", "example_or_pitfall")
#: A scale has at most this many score points above 0.
MAX_POINTS = 10_000


class _Content(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, strict=False, allow_inf_nan=False)


class Scale(_Content):
    """Score points run from 0 to ``max`` in steps of ``step``."""

    max: float = Field(gt=0, le=1000)
    step: float = Field(default=0.5, gt=0)

    @property
    def points(self) -> tuple[float, ...]:
        """All score points in ascending order, from 0 to ``max``."""
        return tuple(round(i * self.step, 6) for i in range(round(self.max / self.step) + 1))

    def round(self, raw: float) -> float:
        """The score point nearest to ``raw`` (halves go up), within 0..max.

        ``raw`` is rounded to six decimals first so that the last digits of a matrix product never decide.

        >>> Scale(max=5, step=0.5).round(2.25)
        2.5
        """
        steps = int(round(raw, 6) / self.step + 0.5 + 1e-9)
        return round(min(max(steps * self.step, 0.0), self.max), 6)


class KeywordGroup(_Content):
    """Alternatives of which one suffices.

    ``stem`` compares word stems, ``exact`` whole tokens with case, ``phrase`` consecutive words without stemming.
    """

    any: tuple[Line, ...] = Field(min_length=1)
    match: Literal["stem", "exact", "phrase"] = "stem"


class Keywords(_Content):
    """Groups of alternatives and how many of the groups must be met."""

    need: Literal["any", "all"] | Annotated[int, Field(ge=1)] = "any"
    groups: tuple[KeywordGroup, ...] = Field(min_length=1)

    @field_validator("groups", mode="before")
    @classmethod
    def _lists_are_groups(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [{"any": list(group)} if isinstance(group, (list, tuple)) else group for group in value]
        return value

    @property
    def needed(self) -> int:
        """Number of groups that must be met, at least 1."""
        if self.need == "all":
            return len(self.groups)
        return 1 if self.need == "any" else min(self.need, len(self.groups))


class Element(_Content):
    """One idea: accepted in any of its ``key_statements`` (OR), supported by ``keywords``."""

    id: Slug
    weight: float = Field(default=1.0, gt=0)
    key_statements: tuple[Line, ...] = Field(min_length=1)
    keywords: Keywords | None = None


class ComponentFeedback(_Content):
    """What to tell a candidate whose component is present, partial or missing."""

    present: Line = "You cover this."
    partial: Line = "You are close, but this is not complete yet."
    missing: Line = "This part is missing."


class Component(_Content):
    """A weighted part of the mark made of elements.

    ``required``: all elements; ``at_least``: any ``n``; ``in_order``: all, said in the listed order.
    """

    weight: float = Field(ge=0)
    rule: Literal["required", "at_least", "in_order"] = "required"
    n: int | None = Field(default=None, ge=1)
    elements: tuple[Element, ...] = Field(min_length=1)
    feedback: ComponentFeedback = ComponentFeedback()
    hint: Line | None = None


class Misconception(_Content):
    """A false belief worth naming; lowers the mark by ``penalty`` or limits it to ``cap``."""

    id: Slug
    statements: tuple[Line, ...] = Field(min_length=1)
    refutes: tuple[Name, ...] = ()
    penalty: float | None = Field(default=None, ge=0)
    cap: float | None = Field(default=None, ge=0)
    feedback: Line


class AskWhen(_Content):
    """Condition on components that makes a follow-up sensible; empty means always."""

    met: tuple[Name, ...] = ()
    missed: tuple[Name, ...] = ()


class FollowUp(_Content):
    """A viva examiner's next question with a small rubric of its own."""

    id: Slug
    question: Line
    ask_when: AskWhen = AskWhen()
    reference_answer: Text
    elements: tuple[Element, ...] = Field(min_length=1)


class Option(_Content):
    """One answer of a quick check and why it is right or wrong."""

    text: Line
    correct: bool = False
    why: Line


class QuickCheck(_Content):
    """A multiple choice question with exactly one right option."""

    id: Slug
    label: Line | None = None
    stem: Line
    options: tuple[Option, ...] = Field(min_length=2, max_length=8)


class Limits(_Content):
    """Rules of the mark that an item may change; ``None`` means the default share of the scale."""

    keyword_list_cap: float | None = Field(default=None, ge=0)
    honest_credit: float | None = Field(default=None, ge=0)
    error_deduction: float | None = Field(default=None, ge=0)
    max_words: int = Field(default=1500, ge=1)
    refer_off_topic: bool = False
    show_key: bool = False


class Waiver(_Content):
    """A content warning the author accepts, with the reason."""

    code: Slug
    where: Line
    reason: Line


class Item(_Content):
    """A prompt with its rubric.

    Raises:
        pydantic.ValidationError: Fields are missing, of the wrong type or contradict one another.
    """

    id: Slug
    version: int = Field(default=1, ge=1)
    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")] = "en"
    tags: tuple[Slug, ...] = ()
    source: Line | None = None
    aliases: tuple[Slug, ...] = ()
    prompt: Text
    scale: Scale = Scale(max=5.0, step=0.5)
    reference_answer: Text
    components: dict[Name, Component] = Field(min_length=1)
    misconceptions: tuple[Misconception, ...] = ()
    find_out: tuple[Line, ...] = ()
    follow_ups: tuple[FollowUp, ...] = ()
    quick_checks: tuple[QuickCheck, ...] = ()
    limits: Limits = Limits()
    lint_waivers: tuple[Waiver, ...] = ()

    @model_validator(mode="after")
    def _fields_agree(self, info: ValidationInfo) -> Item:
        problems = list(cross_field_problems(self))
        collected = (info.context or {}).get("problems")
        if collected is not None:
            collected.extend(problems)
        elif problems:
            raise ValueError("; ".join(f"{'.'.join(map(str, where))}: {what}" for where, what in problems))
        return self

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hex) of the content; equal exactly when two rubrics say the same."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def honest_credit(self) -> float:
        """Points for an honest "I don't know" with a way to find out."""
        limit = self.limits.honest_credit
        return self.scale.max * 0.15 if limit is None else limit

    @property
    def error_deduction(self) -> float:
        """Points taken once for a false statement."""
        limit = self.limits.error_deduction
        return self.scale.max * 0.2 if limit is None else limit

    @property
    def keyword_list_cap(self) -> float:
        """The most a list of terms without a claim can earn."""
        limit = self.limits.keyword_list_cap
        return self.scale.max * 0.1 if limit is None else limit

    @property
    def is_model_answer(self) -> bool:
        """Whether the item is only one or more model answers, as `from_reference` makes it."""
        if set(self.components) != {"answer"} or len(self.components["answer"].elements) > 1:
            return False
        return self.components["answer"].elements[0].key_statements[0] == self.reference_answer

    @classmethod
    def from_reference(
        cls,
        prompt: str,
        references: Sequence[str] | str,
        *,
        max_score: float = 5.0,
        step: float | None = None,
        item_id: str = "ad-hoc",
        language: str = "en",
    ) -> Item:
        """An item that is only a model answer: one component, ``answer``, with the references as key statements.

        Args:
            prompt: The question.
            references: One or more complete right answers.
            max_score: Top of the scale, above 0.
            step: Score step; a tenth of the scale if not given.
            item_id: Id for signatures and tables.
            language: Two-letter code.

        Raises:
            pydantic.ValidationError: A text is empty or the scale is not positive.
        """
        given = [references] if isinstance(references, str) else references
        texts = list({text.strip().casefold(): text for text in given if text.strip()}.values())
        element = {"id": "answer", "key_statements": texts}
        return cls.model_validate(
            {
                "id": item_id,
                "language": language,
                "prompt": prompt,
                "scale": {"max": max_score, "step": step or max_score / 10},
                "reference_answer": texts[0] if texts else "",
                "components": {"answer": {"weight": max_score, "elements": [element]}},
            }
        )


def _duplicates(values: Sequence[str]) -> list[int]:
    seen: set[str] = set()
    repeated = []
    for index, value in enumerate(values):
        if value in seen:
            repeated.append(index)
        seen.add(value)
    return repeated


def _element_problems(elements: Sequence[Element], where: Location) -> Iterator[tuple[Location, str]]:
    for index in _duplicates([element.id for element in elements]):
        yield (*where, index, "id"), f"element id '{elements[index].id}' occurs twice in one component"
    for index, element in enumerate(elements):
        for at in _duplicates([text.casefold() for text in element.key_statements]):
            yield (*where, index, "key_statements", at), "the same key statement occurs twice"
        keywords = element.keywords
        if keywords and isinstance(keywords.need, int) and keywords.need > len(keywords.groups):
            yield (
                (*where, index, "keywords", "need"),
                f"needs {keywords.need} groups but only {len(keywords.groups)} are given",
            )


def _component_problems(name: str, component: Component) -> Iterator[tuple[Location, str]]:
    where: Location = ("components", name)
    count = len(component.elements)
    if component.rule == "at_least" and component.n is None:
        yield (*where, "n"), "rule at_least needs n, the number of elements that suffice"
    if component.rule != "at_least" and component.n is not None:
        yield (*where, "n"), f"n is only allowed with rule at_least, not with {component.rule}"
    if component.n is not None and component.n > count:
        yield (*where, "n"), f"n is {component.n} but there are only {count} elements"
    if component.rule == "in_order" and count < 2:
        yield (*where, "rule"), "in_order needs at least two elements"
    yield from _element_problems(component.elements, (*where, "elements"))


def _quick_check_problems(checks: Sequence[QuickCheck]) -> Iterator[tuple[Location, str]]:
    for index, check in enumerate(checks):
        right = sum(option.correct for option in check.options)
        if right != 1:
            yield ("quick_checks", index, "options"), f"exactly one option must be correct, found {right}"
        for at in _duplicates([option.text for option in check.options]):
            yield ("quick_checks", index, "options", at), "the same option occurs twice"


def _scale_problems(item: Item) -> Iterator[tuple[Location, str]]:
    top = item.scale.max
    steps = top / item.scale.step
    if steps > MAX_POINTS:
        yield ("scale", "step"), f"{steps:.0f} score points, at most {MAX_POINTS} are allowed"
    elif steps < 0.5 or abs(steps - round(steps)) > 1e-6:
        yield ("scale", "step"), f"max {top:g} is not a multiple of step {item.scale.step:g}"
    for field in ("keyword_list_cap", "honest_credit", "error_deduction"):
        value = getattr(item.limits, field)
        if value is not None and value > top:
            yield ("limits", field), f"{value:g} is more than scale.max {top:g}"
    for index, misconception in enumerate(item.misconceptions):
        for field in ("penalty", "cap"):
            value = getattr(misconception, field)
            if value is not None and value > top:
                yield ("misconceptions", index, field), f"{value:g} is more than scale.max {top:g}"


def cross_field_problems(item: Item) -> Iterator[tuple[Location, str]]:
    """Contradictions between fields of an item that no single field shows, with their place."""
    yield from _scale_problems(item)
    total = sum(component.weight for component in item.components.values())
    if abs(total - item.scale.max) > 1e-6:
        yield ("components",), f"weights sum to {total:g}, must sum to scale.max {item.scale.max:g}"
    for name, component in item.components.items():
        yield from _component_problems(name, component)
    for field in ("misconceptions", "follow_ups", "quick_checks"):
        ids = [entry.id for entry in getattr(item, field)]
        for index in _duplicates(ids):
            yield (field, index, "id"), f"id '{ids[index]}' occurs twice"
    for index, misconception in enumerate(item.misconceptions):
        for at, name in enumerate(misconception.refutes):
            if name not in item.components:
                yield ("misconceptions", index, "refutes", at), f"no component '{name}' in this item"
        if misconception.cap is not None and misconception.penalty is not None:
            yield ("misconceptions", index, "cap"), "give either penalty or cap, not both"
    for index, follow_up in enumerate(item.follow_ups):
        for side in ("met", "missed"):
            for at, name in enumerate(getattr(follow_up.ask_when, side)):
                if name not in item.components:
                    yield ("follow_ups", index, "ask_when", side, at), f"no component '{name}' in this item"
        yield from _element_problems(follow_up.elements, ("follow_ups", index, "elements"))
    yield from _quick_check_problems(item.quick_checks)
