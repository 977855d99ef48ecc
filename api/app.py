"""The application: services, layers and routes put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response
from limits import parse
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter
from prometheus_client import CollectorRegistry
from prometheus_fastapi_instrumentator import Instrumentator
from starlette.middleware.cors import CORSMiddleware

from api import jobs, problems, routes, web
from api.auth import Secrets
from api.db import Database
from api.deps import Services
from api.metrics import JobMetrics
from api.middleware import Admission, BodyLimit, Deadline, Outer
from api.problems import Problem
from api.routes import stream
from api.scoring import Scorer, ScorerBox, load_scorer
from api.settings import Settings
from api.web.page import error_page

_ABOUT = """Grades written short answers with rubrics, the same way each time.

Send an API key as `Authorization: Bearer gk_…`. Errors are problem documents with a stable `code`. A request with
an `Idempotency-Key` can be sent again safely. Resources with an `ETag` are changed with `If-Match`."""


def create_services(settings: Settings, scorer: Scorer | None = None) -> Services:
    """What an application of these settings needs; ``scorer`` replaces the library's grader."""
    load = (lambda: scorer) if scorer is not None else (lambda: load_scorer(settings))
    return Services(
        settings=settings,
        db=Database(settings.database_url),
        secrets=Secrets(settings.resolve_pepper()),
        scorer=ScorerBox(load, backlog=settings.score_backlog),
        limiter=MovingWindowRateLimiter(storage_from_string(settings.rate_storage)),
        rate=parse(settings.rate_limit),
        stream_threads=CapacityLimiter(stream.AT_ONCE),
    )


def _refuse(request: Request, problem: Problem) -> Response:
    return problem.response() if request.url.path.startswith("/v1/") else error_page(request, problem)


def _backlog(svc: Services) -> jobs.Backlog:
    return jobs.backlog(svc.db, svc.settings.lease_seconds)


def create_app(settings: Settings | None = None, scorer: Scorer | None = None) -> FastAPI:
    """The ASGI application.

    Args:
        settings: Deployment settings; from the environment if not given.
        scorer: Replaces the library's grader, for tests.
    """
    settings = settings or Settings()
    svc = create_services(settings, scorer)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        svc.db.close()

    app = FastAPI(
        title="Short-answer grader",
        version="1",
        description=_ABOUT,
        lifespan=lifespan,
        strict_content_type=True,
    )
    app.state.services = svc
    problems.install(app)
    routes.install(app)
    web.install(app)
    app.add_middleware(Admission, limit=settings.queue_limit, refuse=_refuse, always=("/health", "/ready", "/metrics"))
    registry = CollectorRegistry()
    registry.register(JobMetrics(lambda: _backlog(app.state.services)))
    Instrumentator(registry=registry, excluded_handlers=["/metrics"]).instrument(app).expose(
        app, include_in_schema=False
    )
    app.add_middleware(
        BodyLimit, limit=settings.body_limit, seconds=settings.body_seconds, streamed=(f"/v1{stream.PATH}",)
    )
    app.add_middleware(Deadline, seconds=settings.request_seconds)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match"],
            expose_headers=["ETag", "Idempotent-Replay", "Retry-After", "X-Request-Id"],
        )
    app.add_middleware(Outer)
    return app
