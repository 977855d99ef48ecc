"""One response, read: normalised, spelling corrected, cut into statements, each with its role."""

from __future__ import annotations

from dataclasses import dataclass

from grader.index import ItemIndex
from grader.score import ConditionCode
from grader.screen import HARD_LIMIT, Role, foreign_language, has_dont_know, is_blank, roles
from grader.segment import Statement, statements
from grader.spelling import correct
from grader.text import Normalised, normalise


@dataclass(slots=True)
class Reading:
    """One response as the scorer reads it.

    Attributes:
        source: The normalised, spelling corrected text.
        statements: Its statements.
        roles: What each of them is.
        condition: Condition code so far, or ``None``.
        gradable: Whether a mark can be given at all.
    """

    source: Normalised
    statements: list[Statement]
    roles: list[Role]
    condition: ConditionCode | None = None
    gradable: bool = True

    def chosen(self, *wanted: Role) -> list[int]:
        """Indices of the statements in one of the given roles."""
        return [at for at, found in enumerate(self.roles) if found in wanted]


def read_response(response: str, index: ItemIndex) -> Reading:
    """Normalises, screens and segments one response."""
    item = index.item
    if len(response) > HARD_LIMIT:
        return Reading(Normalised(response, "", (), ()), [], [], "too_long", gradable=False)
    source = normalise(response)
    if is_blank(source.text):
        return Reading(source, [], [], "blank")
    if foreign_language(source.text, item.language):
        return Reading(source, [], [], "language", gradable=False)
    source = correct(source, index.vocabulary, item.language)
    parts = statements(source)
    reading = Reading(source, parts, roles(parts, index, honest=has_dont_know(source.text)))
    if not parts:
        reading.condition = "gibberish"
    elif not reading.chosen("claim", "code"):
        order: tuple[tuple[Role, ConditionCode], ...] = (
            ("find_out", "dont_know_how"), ("dont_know", "dont_know"), ("keyword_list", "keyword_list"),
            ("echo", "echo"), ("gibberish", "gibberish"),
        )  # fmt: skip
        reading.condition = next(code for wanted, code in order if wanted in reading.roles)
    elif len(source.text.split()) > item.limits.max_words:
        reading.condition = "too_long"
    return reading


def counted_statements(reading: Reading) -> list[int]:
    """Statements that may earn a credit: claims and code, or the terms of a bare list (which has a cap)."""
    if not reading.gradable:
        return []
    return reading.chosen("keyword_list") if reading.condition == "keyword_list" else reading.chosen("claim", "code")
