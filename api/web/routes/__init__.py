"""Page handlers, one file an area."""

from __future__ import annotations

from fastapi import APIRouter

from api.web.routes import account, practice

ROUTERS: tuple[APIRouter, ...] = (account.router, practice.router)
