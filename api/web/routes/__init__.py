"""Page handlers, one file an area."""

from __future__ import annotations

from fastapi import APIRouter

from api.web.routes import (
    account,
    admin,
    calibrate,
    marking,
    my,
    practice,
    regrade,
    roster,
    rubrics,
    tables,
    teach,
    viva,
)

ROUTERS: tuple[APIRouter, ...] = (
    account.router,
    practice.router,
    viva.router,
    my.router,
    teach.router,
    tables.router,
    roster.router,
    marking.router,
    regrade.router,
    rubrics.router,
    calibrate.router,
    admin.router,
)
