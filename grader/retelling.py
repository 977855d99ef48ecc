"""A stored mark told again in another language: the mark stays, what it says about the answer is translated."""

from __future__ import annotations

import re
from functools import lru_cache

from grader.feedback import build_feedback
from grader.i18n import translator
from grader.judging import EXPLANATIONS
from grader.rubric import Item
from grader.score import ErrorFound, Score


def in_language(score: Score, item: Item, language: str) -> Score:
    """The mark with its feedback in ``language``; texts of the rubric stay as they were written.

    Args:
        score: A mark of the item.
        item: The item as it was when it was marked; a mark of another version is returned as it is.
        language: ``en``, ``de`` or ``hi``; others give English.
    """
    if score.feedback.language == language or any(part.name not in item.components for part in score.components):
        return score
    errors = tuple(_retold(error, score.feedback.language, language) for error in score.errors)
    feedback = build_feedback(item, score.components, errors, score.condition_code, score.score, language=language)
    return score.model_copy(update={"errors": errors, "feedback": feedback})


def _retold(error: ErrorFound, before: str, language: str) -> ErrorFound:
    """An error whose explanation is ours in ``language``; the explanation of a misconception is the rubric's."""
    if error.kind == "misconception":
        return error
    for message, pattern in _patterns(before):
        if said := pattern.fullmatch(error.explanation):
            explanation = translator(language)(message).format(**said.groupdict())
            return error.model_copy(update={"explanation": explanation})
    return error


@lru_cache(maxsize=8)
def _patterns(language: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each message with what it looks like in a language once its words are filled in."""
    found = []
    for message in EXPLANATIONS.values():
        told = re.escape(translator(language)(message))
        for name in ("first", "second"):
            told = told.replace(re.escape(f"{{{name}}}"), f"(?P<{name}>.*)")
        found.append((message, re.compile(told, re.DOTALL)))
    return tuple(found)
