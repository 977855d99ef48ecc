"""Responses as a report shows them: the marks side by side, with the words each mark rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from grader.errors import InputError
from grader.intervals import Gappy
from grader.score import Score


@dataclass(frozen=True, slots=True)
class Passage:
    """Words of a response that a mark rests on.

    Attributes:
        start: Offset of the first character in the response.
        end: Offset behind the last.
        label: What they were read as: an element's id, or a false statement's.
        kind: Whether they speak for the element or are false.
        note: The accepted wording they match, or why they are wrong.
    """

    start: int
    end: int
    label: str
    kind: Literal["evidence", "error"] = "evidence"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One response in the list of the worst disagreements."""

    id: str
    question: str
    response: str
    human: float
    machine: float
    human2: float | None = None
    confidence: float | None = None
    referred: bool = False
    passages: tuple[Passage, ...] = ()

    @property
    def difference(self) -> float:
        """Machine minus human mark."""
        return self.machine - self.human

    def pieces(self) -> list[tuple[str, Passage | None]]:
        """The response cut into runs, each with the passage it belongs to (the earlier one where two overlap)."""
        found: list[tuple[str, Passage | None]] = []
        position = 0
        for passage in sorted(self.passages, key=lambda p: (p.start, p.end)):
            start, end = max(passage.start, position), min(passage.end, len(self.response))
            if start >= end:
                continue
            found += [(self.response[position:start], None), (self.response[start:end], passage)]
            position = end
        found.append((self.response[position:], None))
        return [(text, passage) for text, passage in found if text]


@dataclass(frozen=True, slots=True)
class Details:
    """What is known of the responses besides their marks, one value a response.

    Attributes:
        ids: What to call them; their number by default.
        questions: The question of each; intervals then resample questions.
        prompts: Wording of questions by their id.
        responses: Texts; without them no disagreements are listed.
        passages: Evidence of each.
        subgroups: Subgroup of each.
        human2: Marks of a second rater, ``nan`` or ``None`` where there is none.
        confidence: Stated chance that the mark is within one step of the rater's, 0..1.
        referred: Which were sent to a person.
    """

    ids: Sequence[object] | None = None
    questions: Sequence[object] | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    responses: Sequence[str] | None = None
    passages: Sequence[Sequence[Passage]] | None = None
    subgroups: Sequence[object] | None = None
    human2: Gappy | None = None
    confidence: npt.ArrayLike | None = None
    referred: Sequence[bool] | None = None

    def check(self, n: int) -> None:
        """Refuses columns that are not of length ``n``.

        Raises:
            InputError: Names the column.
        """
        for name in ("ids", "responses", "passages", "referred"):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise InputError(f"{name} has {len(column)} values but human has {n}; they must be equal")

    def case(self, at: int, human: float, machine: float) -> Case:
        """The response at position ``at``."""
        question = "" if self.questions is None else str(self.questions[at])
        second, sure = (None if x is None else float(np.asarray(x, float)[at]) for x in (self.human2, self.confidence))
        return Case(
            id=str(at + 1 if self.ids is None else self.ids[at]),
            question=self.prompts.get(question, question),
            response="" if self.responses is None else str(self.responses[at]),
            human=human,
            machine=machine,
            human2=None if second is None or np.isnan(second) else second,
            confidence=sure,
            referred=self.referred is not None and bool(self.referred[at]),
            passages=() if self.passages is None else tuple(self.passages[at]),
        )


def passages_of(score: Score) -> tuple[Passage, ...]:
    """The passages of a `Score`: its evidence and its errors."""
    evidence = [
        Passage(e.evidence.start, e.evidence.end, f"{c.name}: {e.id}", note=e.evidence.key_statement or "")
        for c in score.components
        for e in c.elements
        if e.evidence is not None
    ]
    wrong = [Passage(e.start, e.end, e.id, kind="error", note=e.explanation) for e in score.errors]
    return (*wrong, *evidence)
