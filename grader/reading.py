"""One response, read: normalised, spelling corrected, cut into statements, each with its role."""

from __future__ import annotations

from dataclasses import dataclass

from grader.index import ItemIndex
from grader.score import ConditionCode
from grader.screen import HARD_LIMIT, Role, foreign_language, has_dont_know, is_blank, roles
from grader.segment import Statement, statements
from grader.spelling import correct
from grader.text import Normalised, normalise, tokenise


@dataclass(slots=True)
class Reading:
    """One response as the scorer reads it.

    Attributes:
        source: The normalised, spelling corrected text.
        statements: Its statements.
        roles: What each of them is.
        condition: Condition code so far, or ``None``.
        gradable: Whether a mark can be given at all.
        honest: Whether the candidate says that they do not know.
    """

    source: Normalised
    statements: list[Statement]
    roles: list[Role]
    condition: ConditionCode | None = None
    gradable: bool = True
    honest: bool = False

    def chosen(self, *wanted: Role) -> list[int]:
        """Indices of the statements in one of the given roles."""
        return [at for at, found in enumerate(self.roles) if found in wanted]


def read_response(response: str, index: ItemIndex) -> Reading:
    """Normalises, screens and segments one response."""
    item = index.item
    if len(response) > HARD_LIMIT:
        nothing = not response.strip()
        code: ConditionCode = "blank" if nothing else "too_long"
        return Reading(Normalised(response, "", (), ()), [], [], code, gradable=nothing)
    source = normalise(response)
    if is_blank(source.text) and not _is_the_answer(source.text, index):
        return Reading(source, [], [], "blank")
    if foreign_language(source.text, item.language):
        return Reading(source, [], [], "language", gradable=False)
    source = correct(source, index.vocabulary, item.language)
    parts = statements(source)
    honest = has_dont_know(source.text)
    reading = Reading(source, parts, roles(parts, index, honest=honest), honest=honest)
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


def _is_the_answer(text: str, index: ItemIndex) -> bool:
    """Whether "None." or the like is just what a key statement says."""
    said = [token.text.casefold() for token in tokenise(text)]
    return bool(said) and any(
        said == [token.text.casefold() for token in tokenise(key.text)] for key in index.keys.phrases
    )


def counted_statements(reading: Reading) -> list[int]:
    """Statements that may earn a credit: claims and code, or the terms of a bare list (which has a cap).

    "I would run it twice and print …" beside a claim is as likely an example as a way to find out, unless the candidate
    says that they do not know.
    """
    if not reading.gradable:
        return []
    if reading.condition == "keyword_list":
        return reading.chosen("keyword_list")
    claims = reading.chosen("claim", "code")
    if claims and not reading.honest:
        return reading.chosen("claim", "code", "find_out")
    return claims
