"""Administration: keys, people, retention, health, log."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from api.routes import accounts, candidates, people
from api.schemas import Id
from api.web.page import Admin, Ctx, PageRoute, body_of

router = APIRouter(route_class=PageRoute, prefix="/admin")


def _show(
    ctx: Ctx, made: dict[str, Any] | None = None, link: str = "", purge: dict[str, Any] | None = None
) -> Response:
    data = {
        "keys": ctx.call(accounts.list_keys, ctx.me, ctx.svc, cursor=None, limit=500)["data"],
        "users": ctx.call(people.list_users, ctx.me, ctx.svc)["data"],
        "organisation": ctx.call(accounts.get_organisation, ctx.me, ctx.svc),
        "log": ctx.call(accounts.list_audit, ctx.me, ctx.svc, cursor=None, limit=30)["data"],
        "loaded": ctx.svc.scorer.loaded,
        "database": "SQLite" if ctx.svc.db.is_sqlite else "PostgreSQL",
    }
    return ctx.page("admin.html", made=made, link=link, purge=purge, **data)


@router.get("")
def overview(ctx: Admin) -> Response:
    """Keys, people, settings, log."""
    return _show(ctx)


@router.post("/keys")
def make_key(ctx: Admin) -> Response:
    """Make a key and show it, this once."""
    body = body_of(
        accounts.NewKey,
        role=ctx.text("role", 20),
        label=ctx.text("label", 300).strip(),
        candidate=ctx.text("candidate", 40).strip() or None,
        expires_in_days=ctx.number("days"),
    )
    return _show(ctx, made=ctx.call(accounts.create_key, body, ctx.me, ctx.svc))


@router.post("/keys/{key_id}/revoke")
def revoke_key(ctx: Admin, key_id: Id) -> Response:
    """Revoke a key."""
    ctx.call(accounts.revoke_key, key_id, ctx.me, ctx.unit())
    return ctx.go("/admin")


@router.post("/people")
def invite(ctx: Admin) -> Response:
    """Invite a person; the link is shown this once."""
    body = body_of(people.Invitation, email=ctx.text("email", 200).strip(), role=ctx.text("role", 20))
    made = ctx.call(people.invite, body, ctx.me, ctx.svc)
    return _show(ctx, link=_link(ctx, made))


def _link(ctx: Ctx, made: dict[str, Any]) -> str:
    return f"{ctx.request.url.scheme}://{ctx.request.url.netloc}/set-password?token={made['link_token']}"


@router.post("/people/{user_id}/{action}")
def change_person(ctx: Admin, user_id: Id, action: str) -> Response:
    """Close an account, or make a link for a new password."""
    if action == "reset":
        return _show(ctx, link=_link(ctx, ctx.call(people.reset, user_id, ctx.me, ctx.svc)))
    ctx.call(people.disable, user_id, ctx.me, ctx.unit())
    return ctx.go("/admin")


@router.post("/organisation")
def change_organisation(ctx: Admin) -> Response:
    """Change the name and how long answers are kept."""
    days = ctx.number("retention_days")
    body = body_of(
        accounts.OrganisationPatch,
        name=ctx.text("name", 200).strip() or None,
        retention_days=None if days is None else int(days),
    )
    ctx.call(accounts.change_organisation, body, ctx.me, ctx.unit())
    return ctx.go("/admin")


@router.post("/purge")
def purge(ctx: Admin) -> Response:
    """Tell what is kept too long, or delete it."""
    dry = ctx.text("really", 5) != "1"
    return _show(ctx, purge=ctx.call(candidates.purge, ctx.me, ctx.svc, dry_run=dry))
