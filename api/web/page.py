"""What every page handler is given, and how errors become pages."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from secrets import compare_digest
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from api.auth import Principal
from api.deps import Services, Svc, Work, check_rate
from api.problems import Problem, from_library
from api.web import access
from api.web.i18n import catalogue, choose
from api.web.render import render
from grader.errors import GraderError
from grader.screen import HARD_LIMIT

LANGUAGE_COOKIE = "grader_language"
PARTIAL = "X-Partial"
_SAFE = ("GET", "HEAD")
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class SignInNeeded(Exception):  # noqa: N818 - a detour and no error
    """The page is for people who have signed in."""


@dataclass
class Ctx:
    """One request of a browser.

    Attributes:
        request: The request.
        svc: Services.
        lang: Language of the page.
        form: What was sent with a POST.
        who: Who is signed in, or a guest.
        cookies: Cookies to set with the answer.
    """

    request: Request
    svc: Services
    lang: str
    form: FormData = field(default_factory=FormData)
    who: Principal | None = None
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def me(self) -> Principal:
        """Who is signed in, or a guest.

        Raises:
            SignInNeeded: Nobody.
        """
        if self.who is None:
            raise SignInNeeded
        return self.who

    @property
    def guest(self) -> bool:
        """Whether somebody practises without an account."""
        return self.who is not None and self.who.actor.startswith("guest:")

    @property
    def partial(self) -> bool:
        """Whether a script asks for a part of the page."""
        return PARTIAL in self.request.headers

    def t(self, message: str) -> str:
        """The message in the language of the page."""
        return catalogue(self.lang).gettext(message)

    def text(self, name: str, limit: int = HARD_LIMIT) -> str:
        """A text field of the form, with line feeds only.

        Raises:
            Problem: It is longer than the limit or no text.
        """
        value = self.form.get(name, "")
        if not isinstance(value, str) or "\x00" in value:
            raise Problem("invalid", f"the field '{name}' is no text")
        value = value.replace("\r\n", "\n")
        if len(value) > limit:
            raise Problem("invalid", f"{len(value):,} characters; allowed: {limit:,}")
        return value

    def number(self, name: str) -> float | None:
        """A number of the form, ``None`` when the field is empty.

        Raises:
            Problem: It is no number.
        """
        value = self.text(name, 40).strip().replace(",", ".")
        try:
            return float(value) if value else None
        except ValueError:
            raise Problem("invalid", f"'{value}' is no number") from None

    def page(self, template: str, status: int = 200, **data: Any) -> Response:
        """A page or a part of one."""
        url = self.request.url
        shared = {
            "ctx": self,
            "lang": self.lang,
            "who": self.who,
            "csrf": self.who.csrf if self.who else "",
            "here": url.path + (f"?{url.query}" if url.query else ""),
            "path": url.path,
        }
        html = render(self.lang, template, **{**shared, **data})
        return self.finish(HTMLResponse(html, status, {"Content-Language": self.lang}))

    def finish(self, response: Response) -> Response:
        """The response with the cookies that are to be set and the pages' stricter policy."""
        response.headers["Content-Security-Policy"] = _CSP
        for name, value in self.cookies.items():
            set_cookie(response, self.svc, name, value)
        return response

    def go(self, path: str) -> Response:
        """Send the browser to another page."""
        if self.partial:
            return self.finish(Response(status_code=204, headers={"X-Location": path}))
        return self.finish(RedirectResponse(path, 303))

    def call(self, handler: Callable[..., Response], *args: Any, **kwargs: Any) -> Any:
        """What a handler of the API answers to this person."""
        return json.loads(bytes(handler(*args, **kwargs).body))

    def unit(self) -> Work:
        """A unit of work for handlers that change something."""
        return Work(self.svc.db, self.me, None, "")


def body_of(model: type[BaseModel], **values: Any) -> Any:
    """A request body of the API.

    Raises:
        Problem: A field is not acceptable.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        found = [(".".join(map(str, one["loc"])), str(one["msg"])) for one in error.errors()[:100]]
        raise Problem("invalid", "some fields are not acceptable", found) from None


def set_cookie(response: Response, svc: Services, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read and other sites' pages do not send."""
    seconds = int(svc.settings.session_hours * 3600) if name != LANGUAGE_COOKIE else 365 * 86400
    response.set_cookie(
        name, value, max_age=seconds, httponly=True, samesite="strict", secure=svc.settings.secure_cookies
    )


def _check_origin(request: Request) -> None:
    origin = request.headers.get("origin")
    if origin and origin != "null" and urlsplit(origin).netloc != request.headers.get("host"):
        raise Problem("csrf", "the form was sent from another site")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem("csrf", "the form was sent from another site")


async def context(request: Request, svc: Svc) -> AsyncIterator[Ctx]:
    """The request with its sender, after the checks that every change needs."""
    cookies = request.cookies
    ctx = Ctx(request, svc, choose(cookies.get(LANGUAGE_COOKIE), request.headers.get("accept-language")))
    request.state.page = ctx
    ctx.who = await run_in_threadpool(access.person_of, svc, cookies)
    if ctx.who is None and (value := cookies.get(access.GUEST_COOKIE)):
        ctx.who = await run_in_threadpool(access.guest_of, svc, value)
    try:
        if request.method not in _SAFE:
            _check_origin(request)
            ctx.form = await request.form(max_part_size=4 * 1024 * 1024)
            _check_token(ctx)
        _check_rate(ctx)
        yield ctx
    finally:
        await ctx.form.close()


def _check_token(ctx: Ctx) -> None:
    if ctx.who is None or ctx.request.url.path in ("/sign-in", "/language", "/set-password"):
        return
    sent = str(ctx.form.get("csrf") or ctx.request.headers.get("X-CSRF-Token", ""))
    if not compare_digest(sent.encode(), (ctx.who.csrf or "").encode()):
        raise Problem("csrf", "the form is older than this session")


def _check_rate(ctx: Ctx) -> None:
    """Guests are counted by address, because they can throw their cookie away."""
    client = ctx.request.client.host if ctx.request.client else "page"
    ctx.request.state.actor = ctx.who.actor if ctx.who else None
    actor = ctx.who.actor if ctx.who and not ctx.guest else client
    check_rate(ctx.svc, "page", actor)


Any_ = Annotated[Ctx, Depends(context)]


def _learner(ctx: Any_) -> Ctx:
    if ctx.who is None and ctx.request.method in _SAFE:
        value = access.new_guest(ctx.svc)
        ctx.who = access.guest_of(ctx.svc, value)
        if ctx.who is not None:
            ctx.cookies[access.GUEST_COOKIE] = value
    assert ctx.me
    return ctx


def _needs(*roles: str) -> Callable[[Ctx], Ctx]:
    def check(ctx: Any_) -> Ctx:
        if ctx.guest:
            raise SignInNeeded
        if ctx.me.role not in roles:
            raise Problem("forbidden", f"this page is for the role {' or '.join(roles)}")
        return ctx

    return check


def _examinee(ctx: Annotated[Ctx, Depends(_needs("candidate"))]) -> Ctx:
    if ctx.me.candidate_id is None:
        raise Problem("forbidden", "the key belongs to no candidate")
    return ctx


Learner = Annotated[Ctx, Depends(_learner)]
Teacher = Annotated[Ctx, Depends(_needs("admin", "teacher"))]
Admin = Annotated[Ctx, Depends(_needs("admin"))]
Examinee = Annotated[Ctx, Depends(_examinee)]


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, GraderError):
        return from_library(error)
    if isinstance(error, RequestValidationError):
        wrong_place = all("path" in one["loc"] for one in error.errors())
        return Problem("not-found" if wrong_place else "invalid", "there is no such page")
    return Problem("bad-request", "the form could not be read")


class PageRoute(APIRoute):
    """A route whose errors are pages too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler with the errors caught."""
        original = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await original(request)
            except SignInNeeded:
                path = "/sign-in?next=" + quote(request.url.path if request.method in _SAFE else "/", safe="")
                return _fallback(request).go(path)
            except (Problem, GraderError, RequestValidationError, HTTPException) as error:
                return error_page(request, _problem_of(error))

        return handler


def _fallback(request: Request) -> Ctx:
    found = getattr(request.state, "page", None)
    return found or Ctx(request, request.app.state.services, choose(None, request.headers.get("accept-language")))


def error_page(request: Request, problem: Problem) -> Response:
    """The problem as a page, or as a part of one for scripts."""
    ctx = _fallback(request)
    answer = ctx.page("_problem.html" if ctx.partial else "problem.html", problem.status, problem=problem)
    for name, value in problem.headers.items():
        answer.headers[name] = value
    return answer
