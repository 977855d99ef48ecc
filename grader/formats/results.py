"""What is written into files (results) and what came of it (exports)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.errors import InputError
from grader.formats.notes import Note
from grader.formats.sheet import Cell
from grader.formats.writers import Format, write_csv

Extra = str | float | None


@dataclass(frozen=True, slots=True)
class Result:
    """One mark to be written.

    Attributes:
        candidate: Candidate id as read.
        item: Item id, or the key of the question where no mapping is used.
        score: Score point; None when there is none (referred, not graded). None is never written as 0.
        max_score: Top of the item's scale.
        feedback: Text for the candidate; None leaves what stands in the file, ``""`` clears our own.
        row: Spreadsheet row of the response; needed when a candidate has several attempts.
        response: What the candidate wrote, for the long table.
        components: Component to credit or points, for the long table.
        condition: Condition code, for the long table.
        referred: Whether a person must look; ``reason`` says why.
        reason: Why it was referred.
        confidence: 0..1.
        signature: The line that makes the mark reproducible.
        extra: Further columns of the long table.
    """

    candidate: str
    item: str
    score: float | None
    max_score: float | None = None
    feedback: str | None = None
    row: int | None = None
    response: str | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    condition: str = ""
    referred: bool = False
    reason: str = ""
    confidence: float | None = None
    signature: str = ""
    extra: Mapping[str, Extra] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = {"score": self.score, "max_score": self.max_score, "confidence": self.confidence}
        for name, value in {**numbers, **self.components}.items():
            if value is not None and not math.isfinite(value):
                raise InputError(
                    f"result of {self.candidate!r} for {self.item!r}: {name} is {value}; "
                    "allowed: a finite number or None"
                )


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A result that found no place in the file, and why."""

    candidate: str
    item: str
    reason: str
    score: float | None = None


@dataclass(frozen=True)
class Export:
    """A written file and the account of it.

    Attributes:
        data: The file.
        format: csv or xlsx.
        updated: Results that changed at least one cell; 0 means that the file holds nothing new.
        unchanged: Results that stood there already, or had nothing to write.
        kept: Cells whose mark or feedback was left because it is not ours to replace.
        unmatched: Results without a place in the file.
        unmarked: Responses of the mapped items for which there was no result.
        notes: Other remarks, such as totals that could not be filled.
    """

    data: bytes
    format: Format
    updated: int
    unchanged: int = 0
    kept: tuple[Note, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    unmarked: tuple[Cell, ...] = ()
    notes: tuple[Note, ...] = ()

    def unmatched_csv(self) -> bytes:
        """What did not get through, both ways, as a CSV file of its own."""
        rows: list[list[object]] = [["candidate", "item", "score", "row", "reason"]]
        rows += [[one.candidate, one.item, one.score, None, one.reason] for one in self.unmatched]
        rows += [[one.candidate, one.item_key, None, one.row, "no result for this response"] for one in self.unmarked]
        return write_csv(rows)
