"""Home, sign-in, language, and the files that pages use."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import FileResponse
from limits import parse

from api import auth
from api.db.models import WebSession
from api.deps import COOKIE
from api.problems import Problem
from api.routes import people
from api.web import access
from api.web.i18n import LANGUAGES
from api.web.page import LANGUAGE_COOKIE, Any_, PageRoute, body_of
from api.web.render import STATIC

router = APIRouter(route_class=PageRoute)
_RATE = parse("10/minute")
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def safe_next(path: str) -> str:
    """The path if it is one of this site, else the start page.

    >>> safe_next("//evil.example"), safe_next("/practice")
    ('/', '/practice')
    """
    inside = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if inside else "/"


@router.get("/")
def home(ctx: Any_) -> Response:
    """The page that suits who comes."""
    if ctx.who is not None and ctx.who.staff:
        return ctx.go("/teach")
    if ctx.who is not None and ctx.who.candidate_id:
        return ctx.go("/my")
    return ctx.page("home.html", open_practice=access.open_practice(ctx.svc))


@router.get("/sign-in")
def sign_in_page(ctx: Any_, next: Annotated[str, Query(max_length=2000)] = "/") -> Response:
    """The form to sign in."""
    return ctx.page("sign_in.html", next=safe_next(next), failed="", open_practice=access.open_practice(ctx.svc))


@router.post("/sign-in")
def sign_in(ctx: Any_) -> Response:
    """Sign in with e-mail and password, or with a key."""
    address = ctx.request.client.host if ctx.request.client else "unknown"
    # Only failures count: a whole class may sign in from one address.
    if not ctx.svc.limiter.test(_RATE, "sign-in", address):
        raise Problem("rate-limited", "too many attempts; wait a minute", headers={"Retry-After": "60"})
    target = safe_next(ctx.text("next", 2000))
    key = ctx.text("key", 200).strip()
    if key:
        made = access.key_cookie(ctx.svc, key)
        if made is not None:
            ctx.cookies[access.KEY_COOKIE] = made[0]
            return _without(ctx.go(target), COOKIE)
    else:
        with ctx.svc.db.write() as session:
            email, password = ctx.text("email", 200), ctx.text("password", 200)
            found = auth.sign_in(session, ctx.svc.secrets, email, password, ctx.svc.settings.session_hours)
        if found is not None:
            ctx.cookies[COOKIE] = found[0]
            return _without(ctx.go(target), access.KEY_COOKIE)
    ctx.svc.limiter.hit(_RATE, "sign-in", address)
    failed = ctx.t("This key is not known.") if key else ctx.t("E-mail or password is wrong.")
    return ctx.page("sign_in.html", 401, next=target, failed=failed, open_practice=access.open_practice(ctx.svc))


def _without(response: Response, *names: str) -> Response:
    for name in names:
        response.delete_cookie(name)
    return response


@router.post("/sign-out")
def sign_out(ctx: Any_) -> Response:
    """End the session."""
    value = ctx.request.cookies.get(COOKIE)
    if value:
        with ctx.svc.db.write() as session:
            row = session.get(WebSession, ctx.svc.secrets.digest(value))
            if row is not None:
                session.delete(row)
    return _without(ctx.go("/"), COOKIE, access.KEY_COOKIE, access.GUEST_COOKIE)


@router.get("/set-password")
def password_page(ctx: Any_, token: Annotated[str, Query(max_length=100)] = "") -> Response:
    """The form behind an invitation or a reset."""
    return ctx.page("set_password.html", token=token)


@router.post("/set-password")
def set_password(ctx: Any_) -> Response:
    """Set a password with a one-time link."""
    if ctx.text("password", 200) != ctx.text("again", 200):
        raise Problem("invalid", "the two passwords differ")
    body = body_of(people.UseLink, token=ctx.text("token", 100), password=ctx.text("password", 200))
    people.set_password(body, ctx.request, ctx.svc)
    return ctx.go("/sign-in")


@router.post("/language")
def language(ctx: Any_) -> Response:
    """Pick the language of the pages."""
    wanted = ctx.text("language", 5)
    if wanted in LANGUAGES:
        ctx.cookies[LANGUAGE_COOKIE] = wanted
    return ctx.go(safe_next(ctx.text("next", 2000)))


def _file(name: str) -> Response:
    path = (STATIC / name).resolve()
    if not path.is_relative_to(STATIC.resolve()) or not path.is_file():
        raise Problem("not-found", "no such file")
    kind = _TYPES.get(path.suffix, "text/plain")
    return FileResponse(path, media_type=kind, headers={"Cache-Control": "public, max-age=31536000, immutable"})


@router.get("/static/{name:path}")
def static_file(name: Annotated[str, Path(max_length=100)]) -> Response:
    """A style sheet, script or picture."""
    return _file(name)


@router.get("/favicon.ico")
def icon() -> Response:
    """The picture of the tab."""
    return _file("icon.svg")
