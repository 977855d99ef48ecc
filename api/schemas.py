"""Shapes that several parts of the API share."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema, model_validator

from grader.screen import HARD_LIMIT

T = TypeVar("T")


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Time = Annotated[
    float,
    PlainSerializer(_iso, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
Id = Annotated[str, Path(pattern=r"^[0-9a-f]{27}$", description="Opaque id.")]
IdText = Annotated[str, Field(pattern=r"^[0-9a-f]{27}$")]
SlugPath = Annotated[str, Path(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80, description="Id of the item.")]
AnswerText = Annotated[str, Field(max_length=HARD_LIMIT, description="What a candidate wrote.")]
SlugText = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
VersionPath = Annotated[int, Path(ge=1, le=1_000_000)]
Cursor = Annotated[str | None, Query(max_length=500, description="Field next of the page before.")]
Language = Annotated[str, Query(pattern="^(en|de|hi)$", description="Language of feedback and headings.")]
Limit = Annotated[int, Query(ge=1, le=500, description="Entries on a page.")]


def _walk(value: Any, depth: int = 0) -> None:
    if depth > 60:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        if "\x00" in value:
            raise ValueError("a NUL character; allowed: text without it")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a number that is not finite")
    elif isinstance(value, dict):
        for key, entry in value.items():
            _walk(key, depth)
            _walk(entry, depth + 1)
    elif isinstance(value, list):
        for entry in value:
            _walk(entry, depth + 1)


class Body(BaseModel):
    """Base of request bodies: no unknown field, no NUL character, finite numbers."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _clean(cls, value: Any) -> Any:
        if cls.__pydantic_root_model__ or isinstance(value, dict):
            _walk(value)
        return value


class View(BaseModel):
    """Base of answers."""

    model_config = ConfigDict(extra="forbid")


class Page(View, Generic[T]):
    """A part of a list; ``next`` is the cursor of the part that follows, or null."""

    data: list[T]
    next: str | None = None
