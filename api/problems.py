"""Problem documents (RFC 9457) with stable codes, for every error the service answers with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.responses import Response

from grader.errors import GraderError, InputError, RubricError, UnknownItemError

MEDIA_TYPE = "application/problem+json"

#: Every code with its HTTP status; a code never changes its meaning.
CODES: Mapping[str, int] = {
    "bad-request": 400,
    "bad-cursor": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "exam-item-locked": 403,
    "csrf": 403,
    "not-found": 404,
    "method-not-allowed": 405,
    "timeout": 408,
    "conflict": 409,
    "duplicate": 409,
    "in-use": 409,
    "wrong-state": 409,
    "other-rubric": 409,
    "item-in-practice": 409,
    "stale-etag": 412,
    "too-large": 413,
    "unsupported-media-type": 415,
    "invalid": 422,
    "invalid-rubric": 422,
    "invalid-table": 422,
    "idempotency-key-reused": 422,
    "etag-required": 428,
    "rate-limited": 429,
    "internal": 500,
    "overloaded": 503,
    "unavailable": 503,
    "too-slow": 504,
}


class FieldProblem(BaseModel):
    """One finding about one field."""

    model_config = ConfigDict(extra="forbid")

    field: str = Field(description="Dotted path of the field, or row and column of a table.")
    message: str


class ProblemDocument(BaseModel):
    """What went wrong, in a form that programs can act on."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "type": "urn:grader:problem:stale-etag",
                "title": "Precondition Failed",
                "status": 412,
                "code": "stale-etag",
                "detail": "the exam was changed meanwhile; read it again and send its new ETag",
                "errors": [],
            }
        },
    )

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[FieldProblem] = []


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """An error with a stable code; becomes a problem document."""

    def __init__(
        self,
        code: str,
        detail: str,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.code = code
        self.status = CODES[code]
        self.detail = detail
        self.errors = list(errors)
        self.headers = dict(headers or {})
        super().__init__(detail)

    def document(self) -> dict[str, Any]:
        """The JSON object of the document."""
        return {
            "type": f"urn:grader:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "errors": [{"field": field, "message": message} for field, message in self.errors],
        }

    def response(self) -> Response:
        """The HTTP answer; ASCII only, so that odd characters in a message cannot break it."""
        return Response(json.dumps(self.document()), self.status, self.headers, MEDIA_TYPE)


def overloaded(why: str) -> Problem:
    """The problem of a service that has more to do than it should let wait; it is over by itself."""
    return Problem("overloaded", f"{why}; try again in a moment", headers={"Retry-After": "5"})


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI entries for the given error statuses."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "model": ProblemDocument, "content": content}
        for status in sorted(statuses)
    }


def from_library(error: GraderError, code: str = "invalid") -> Problem:
    """The problem for an error of the library."""
    if isinstance(error, RubricError):
        found = [(problem.field or f"line {problem.line}", problem.message) for problem in error.problems[:100]]
        return Problem("invalid-rubric", f"{len(error.problems)} problems in the rubric", found)
    if isinstance(error, UnknownItemError):
        return Problem("not-found", str(error))
    if isinstance(error, InputError):
        return Problem(code, str(error))
    structlog.get_logger("api").error("scorer", reason=str(error))
    return Problem("unavailable", "the scorer is not available; an administrator finds the reason in the log")


def from_fields(errors: Sequence[Mapping[str, Any]], detail: str) -> Problem:
    """The problem for what pydantic found wrong with fields."""
    found = [(".".join(map(str, one["loc"]))[:200], str(one["msg"])[:500]) for one in errors[:100]]
    return Problem("invalid", detail, found)


_BY_STATUS = {400: "bad-request", 404: "not-found", 405: "method-not-allowed", 413: "too-large", 422: "invalid"}


def install(app: FastAPI) -> None:
    """Make every error of ``app`` a problem document."""
    log = structlog.get_logger("api")

    def on_problem(_: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return error.response()

    def on_http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = _BY_STATUS.get(error.status_code, "bad-request" if error.status_code < 500 else "internal")
        return Problem(code, str(error.detail), headers=error.headers).response()

    def on_validation(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return from_fields(error.errors(), f"{len(error.errors())} fields are not acceptable").response()

    def on_library(_: Request, error: Exception) -> Response:
        assert isinstance(error, GraderError)
        return from_library(error).response()

    def on_conflict(_: Request, error: Exception) -> Response:
        log.warning("conflict", kind=type(error).__name__)
        return Problem("conflict", "another request changed the same data at the same time; try again").response()

    def on_busy(_: Request, error: Exception) -> Response:
        log.error("database", kind=type(error).__name__)
        return Problem(
            "unavailable", "the database does not answer; try again", headers={"Retry-After": "2"}
        ).response()

    app.add_exception_handler(Problem, on_problem)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(GraderError, on_library)
    app.add_exception_handler(IntegrityError, on_conflict)
    for busy in (OperationalError, PoolTimeout):
        app.add_exception_handler(busy, on_busy)
