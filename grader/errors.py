"""Exceptions of the library.

    GraderError
    ├── InputError (also ValueError)   what a caller passed in is not acceptable
    │   ├── RubricError                one or more problems in rubric files, all reported at once
    │   └── UnknownItemError           no item of that id in the bank
    ├── ModelError                     weights or shipped models are missing or were altered
    └── MissingExtraError              an optional dependency is not installed

Every message says what was wrong, which value, and what is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class GraderError(Exception):
    """Base of all errors this library raises on purpose."""


class InputError(GraderError, ValueError):
    """What a caller passed in is not acceptable."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding about a rubric file.

    Attributes:
        code: Stable short name of the rule, for waivers (``keyword-in-prompt``).
        message: What is wrong and what is allowed.
        file: File name, or ``<string>``.
        line: Line in the file, from 1; 0 when unknown.
        field: Dotted path of the field (``components.reason.weight``).
        severity: ``error`` or ``warning``.
    """

    code: str
    message: str
    file: str
    line: int
    field: str
    severity: str = "error"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        where = f" {self.field}:" if self.field else ""
        return f"{place}:{where} {self.message} [{self.code}]"


class RubricError(InputError):
    """One or more rubric problems; ``problems`` holds every one of them."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UnknownItemError(InputError):
    """The bank has no item of that id."""


class ModelError(GraderError):
    """Weights or a shipped model file are missing or do not match their hash."""


class MissingExtraError(GraderError):
    """An optional dependency is not installed; the message names the pip command."""
