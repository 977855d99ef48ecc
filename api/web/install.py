"""Adds the pages to an application."""

from __future__ import annotations

from fastapi import FastAPI

from api.web import routes


def install(app: FastAPI) -> None:
    """Add every page and the style sheet, scripts and pictures they use."""
    for router in routes.ROUTERS:
        app.include_router(router, include_in_schema=False)
