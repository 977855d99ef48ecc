"""A question with its model answers, as a file of another system holds it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.text import normalise

_BLANKS = re.compile(r"[ \t]+")
_LINES = re.compile(r"\s*\n\s*")


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A question and what its author holds for a full answer.

    Attributes:
        name: Title or number in the file, may be empty.
        prompt: The question as plain text.
        answers: Model answers as plain text, at least one, the fullest first.
        max_score: Top of the scale, ``None`` if the file does not say.
        language: Two-letter code, ``None`` if the file does not say.
    """

    name: str
    prompt: str
    answers: tuple[str, ...]
    max_score: float | None = None
    language: str | None = None


def plain(text: str) -> str:
    """``text`` without markup; paragraphs and list entries become lines."""
    return _LINES.sub("\n", _BLANKS.sub(" ", normalise(text).text)).strip()
