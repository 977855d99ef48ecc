"""What the grader says about one response: the mark, the words it rests on, the calculation and the feedback.

Offsets count characters of the response as it was submitted.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

ConditionCode = Literal[
    "blank", "gibberish", "echo", "keyword_list", "off_topic", "dont_know", "dont_know_how", "language", "too_long"
]
Status = Literal["present", "partial", "missing"]
ReferralReason = Literal[
    "language", "too_long", "off_topic", "contradiction", "low_confidence", "unfamiliar", "near_cut"
]

_SURROGATE = re.compile("[\ud800-\udfff]")

#: Words exactly as written; in JSON, which cannot hold a lone surrogate, it is U+FFFD, so offsets stay right.
AsWritten = Annotated[
    str, PlainSerializer(lambda text: _SURROGATE.sub("\ufffd", text), return_type=str, when_used="json")
]


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Evidence(_Result):
    """The candidate's own words that speak for an element.

    Attributes:
        start: Offset of the first character.
        end: Offset behind the last character.
        text: The words, exactly as written.
        element: Id of the element they speak for.
        key_statement: The accepted wording they match best (never shown to a candidate unless the item allows it).
        similarity: Share of that wording found in them, 0 to 1.
        keywords: Places (start, end) of keywords inside the response.
    """

    start: int
    end: int
    text: AsWritten
    element: str
    key_statement: str | None
    similarity: float
    keywords: tuple[tuple[int, int], ...] = ()


class ElementScore(_Result):
    """Credit of one idea, 0 to 1, with what it rests on."""

    id: str
    credit: float
    contradicted: bool = False
    evidence: Evidence | None = None


class ComponentScore(_Result):
    """Credit of one component, 0 to 1, and what it adds to the mark.

    Attributes:
        name: ``definition``, ``reason``, ``example_or_pitfall`` or an item's own.
        weight: Points a full credit earns.
        credit: 0 to 1.
        points: weight * credit, to two decimals.
        status: ``present``, ``partial`` or ``missing``.
        elements: The ideas behind it.
    """

    name: str
    weight: float
    credit: float
    points: float
    status: Status
    elements: tuple[ElementScore, ...] = ()


class ErrorFound(_Result):
    """A false statement.

    Attributes:
        kind: ``misconception`` (listed in the rubric) or how it contradicts a key statement.
        id: Id of the misconception, or of the element that is contradicted.
        start: Offset of the candidate's words.
        end: Offset behind them.
        text: The words, exactly as written.
        refutes: Components that earn nothing because of it.
        explanation: Why it is wrong, for the candidate.
    """

    kind: Literal["misconception", "negation", "roles", "number", "antonym", "contradiction"]
    id: str
    start: int
    end: int
    text: AsWritten
    refutes: tuple[str, ...] = ()
    explanation: str


class Step(_Result):
    """One line of the calculation; the points of all lines sum to the score."""

    label: str
    points: float


class StatementView(_Result):
    """How one statement of the response was read, for highlighting."""

    start: int
    end: int
    role: Literal["claim", "code", "echo", "keyword_list", "gibberish", "dont_know", "find_out", "error"]


class Quoted(_Result):
    """A remark with the candidate's words it is about (``quote`` is empty if it is about none)."""

    component: str | None = None
    quote: AsWritten = ""
    text: str
    hint: str | None = None


class Feedback(_Result):
    """Structured feedback in the order of the guidance: definition, then why, then an example or pitfall.

    Attributes:
        language: Language of the texts.
        summary: One line.
        condition: What a condition code means, or ``None``.
        present: What is there, quoted.
        missing: What is missing or incomplete, with a hint that does not give the answer away.
        wrong: What is wrong and why.
        next_question: The examiner's next question, or ``None``.
        next_question_id: Id of that follow-up in the item.
    """

    language: str
    summary: str
    condition: str | None = None
    present: tuple[Quoted, ...] = ()
    missing: tuple[Quoted, ...] = ()
    wrong: tuple[Quoted, ...] = ()
    next_question: str | None = None
    next_question_id: str | None = None


class Score(_Result):
    """The mark of one response.

    Attributes:
        item: Item id.
        score: Reported score point, or ``None`` where the machine gives none (see ``condition_code``).
        max_score: Top of the scale.
        step: Step of the scale.
        raw: The score before rounding.
        components: Credits, in the order of the item.
        errors: False statements found.
        condition_code: Why the response is special, or ``None``.
        confidence: Probability that a rater's mark lies within one step; ``None`` until the item is calibrated.
        referred: Whether a person should look.
        referral_reasons: Why.
        calculation: Lines whose points sum to ``score``.
        statements: How each part of the response was read.
        feedback: For the candidate.
        signature: Everything needed to compute the same mark again.
    """

    item: str
    score: float | None
    max_score: float
    step: float
    raw: float
    components: tuple[ComponentScore, ...]
    errors: tuple[ErrorFound, ...] = ()
    condition_code: ConditionCode | None = None
    confidence: float | None = Field(default=None, ge=0, le=1)
    referred: bool = False
    referral_reasons: tuple[ReferralReason, ...] = ()
    calculation: tuple[Step, ...] = ()
    statements: tuple[StatementView, ...] = ()
    feedback: Feedback
    signature: str

    def component(self, name: str) -> ComponentScore:
        """The component called ``name``.

        Raises:
            KeyError: The item has no such component.
        """
        for component in self.components:
            if component.name == name:
                return component
        raise KeyError(name)

    def for_candidate(self, show_key: bool = False) -> Score:
        """A copy without key statements (unless ``show_key``), for the candidate's eyes."""
        if show_key:
            return self
        components = tuple(
            component.model_copy(
                update={
                    "elements": tuple(
                        element.model_copy(
                            update={"evidence": element.evidence.model_copy(update={"key_statement": None})}
                        )
                        if element.evidence
                        else element
                        for element in component.elements
                    )
                }
            )
            for component in self.components
        )
        return self.model_copy(update={"components": components})
