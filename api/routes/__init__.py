"""Request handlers, one file a resource."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from api.problems import documented
from api.routes import (
    accounts,
    calibrations,
    candidates,
    comparisons,
    edits,
    exams,
    exports,
    items,
    jobs,
    labels,
    mine,
    packs,
    people,
    regrades,
    results,
    reviews,
    roster,
    score,
    stream,
    suggestions,
    system,
    uploads,
    viva,
)

_V1: tuple[APIRouter, ...] = (
    score.router,
    stream.router,
    items.router,
    packs.router,
    exams.router,
    roster.router,
    uploads.router,
    jobs.router,
    results.router,
    reviews.router,
    regrades.router,
    labels.router,
    calibrations.router,
    comparisons.router,
    suggestions.router,
    edits.router,
    exports.router,
    mine.router,
    viva.router,
    candidates.router,
    accounts.router,
    people.router,
)


def install(app: FastAPI) -> None:
    """Add every route to ``app``."""
    app.include_router(system.router)
    for router in _V1:
        app.include_router(
            router,
            prefix="/v1",
            responses=documented(400, 401, 403, 404, 408, 409, 412, 413, 415, 422, 428, 429, 503, 504),
        )
