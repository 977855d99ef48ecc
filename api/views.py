"""What each role sees of a mark and of an item: a candidate never sees the key."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.db.models import ItemRow
from api.schemas import View
from grader.rubric import Item
from grader.score import Feedback, Score, Step


class PartView(View):
    """One part of the mark, without the accepted wordings."""

    name: str
    points: float
    weight: float
    status: str
    quotes: list[str] = Field(default_factory=list)


class ErrorView(View):
    """A false statement in the candidate's own words and why it is wrong."""

    quote: str
    explanation: str


class CandidateScore(View):
    """A mark as a candidate sees it.

    Attributes:
        item: Item id.
        score: The mark, or null when a person has to give it.
        max_score: Top of the scale.
        parts: What each part earned.
        errors: What is wrong.
        condition_code: Why the response is special, or null.
        pending: Whether the machine leaves the mark to a person: in an exam one looks at it, in practice nobody does.
        calculation: Lines whose points sum to the mark.
        feedback: What is there, what is missing, what is wrong.
        key: Reference answer and accepted wordings, only where the item shows them.
        signature: From which the same mark can be computed again.
    """

    item: str
    score: float | None
    max_score: float
    parts: list[PartView]
    errors: list[ErrorView] = Field(default_factory=list)
    condition_code: str | None = None
    pending: bool = False
    calculation: list[Step] = Field(default_factory=list)
    feedback: Feedback
    key: dict[str, Any] | None = None
    signature: str


def candidate_score(score: Score, item: Item, show_key: bool | None = None) -> CandidateScore:
    """The candidate's view of a mark by ``item``; ``show_key`` replaces what the item says."""
    show = item.limits.show_key if show_key is None else show_key
    safe = score.for_candidate(show)
    parts = []
    for component in safe.components:
        spans = [element.evidence for element in component.elements if element.evidence and element.credit > 0]
        quotes = list(dict.fromkeys(span.text for span in spans))
        parts.append(
            PartView(
                name=component.name,
                points=component.points,
                weight=component.weight,
                status=component.status,
                quotes=quotes,
            )
        )
    return CandidateScore(
        item=safe.item,
        score=safe.score,
        max_score=safe.max_score,
        parts=parts,
        errors=[ErrorView(quote=error.text, explanation=error.explanation) for error in safe.errors],
        condition_code=safe.condition_code,
        pending=safe.referred,
        calculation=list(safe.calculation),
        feedback=safe.feedback,
        key=shown_key(item) if show else None,
        signature=safe.signature,
    )


def shown_key(item: Item) -> dict[str, Any]:
    """Reference answer and accepted wordings, for items that show them."""
    return {
        "reference_answer": item.reference_answer,
        "components": {
            name: [list(element.key_statements) for element in component.elements]
            for name, component in item.components.items()
        },
    }


class ItemView(View):
    """An item with its whole rubric, for staff."""

    id: str
    version: int
    current_version: int
    use: str
    revision: int = Field(description="Also the ETag.")
    content_hash: str
    content: dict[str, Any]


class QuestionView(View):
    """An item as a candidate sees it for practice: the question and hints, no key."""

    id: str
    version: int
    language: str
    prompt: str
    max_score: float
    step: float
    tags: list[str]
    parts: list[str]
    hints: dict[str, str]
    quick_checks: list[str] = Field(default_factory=list)


class ItemLine(View):
    """An item in a list."""

    id: str
    version: int
    use: str
    language: str
    prompt: str
    max_score: float
    tags: list[str]


def item_view(row: ItemRow, item: Item, version: int) -> ItemView:
    """The staff's view."""
    return ItemView(
        id=row.slug,
        version=version,
        current_version=row.version,
        use=row.use,
        revision=row.revision,
        content_hash=item.content_hash,
        content=item.model_dump(mode="json"),
    )


def question_view(item: Item) -> QuestionView:
    """The candidate's view."""
    return QuestionView(
        id=item.id,
        version=item.version,
        language=item.language,
        prompt=item.prompt,
        max_score=item.scale.max,
        step=item.scale.step,
        tags=list(item.tags),
        parts=list(item.components),
        hints={name: component.hint for name, component in item.components.items() if component.hint},
        quick_checks=[check.id for check in item.quick_checks],
    )


def item_line(row: ItemRow, item: Item) -> ItemLine:
    """The entry of a list."""
    return ItemLine(
        id=row.slug,
        version=row.version,
        use=row.use,
        language=item.language,
        prompt=item.prompt,
        max_score=item.scale.max,
        tags=list(item.tags),
    )
