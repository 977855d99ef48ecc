"""Health, readiness and version."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import Field
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from api.db import current_revision, head_revision
from api.deps import Svc, reply
from api.problems import Problem, documented
from api.schemas import View

router = APIRouter(tags=["system"])


class Health(View):
    """The process answers."""

    status: str = Field(default="ok", examples=["ok"])


class Version(View):
    """What is running."""

    version: str = Field(examples=["0.1.0"])
    api: str = "v1"
    schema_revision: str | None


@router.get("/health", response_model=Health)
async def health() -> Health:
    """Whether the process is alive; needs no thread, so it answers under any load."""
    return Health()


@router.get("/ready", response_model=Health, responses=documented(503))
def ready(svc: Svc) -> Response:
    """Whether the database answers and has the right tables."""
    try:
        with svc.db.read() as session:
            session.execute(text("SELECT 1"))
        found = current_revision(svc.db)
    except SQLAlchemyError:
        raise Problem("unavailable", "the database does not answer") from None
    if found != head_revision():
        raise Problem("unavailable", "the database needs 'grader db upgrade'")
    return reply(Health(status="ready"))


@router.get("/version", response_model=Version)
def version() -> Version:
    """Version of the program and of its tables."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        number = installed("viva-grader")
    except PackageNotFoundError:
        number = "0.0.0"
    return Version(version=number, schema_revision=head_revision())
