"""People: invitation, passwords, sign-in to the pages."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Request, Response
from limits import parse
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import auth
from api.db.models import User, WebSession
from api.deps import COOKIE, Admin, Anyone, Services, Svc, Unit, audit, own, reply
from api.problems import Problem
from api.schemas import Body, Id, Page, Time, View

router = APIRouter(tags=["people"])
_SIGN_IN_RATE = parse("10/minute")
Email = Annotated[str, Field(pattern=r"^[^@\s]{1,64}@[^@\s]{1,100}$")]
Password = Annotated[str, Field(min_length=12, max_length=200)]


class Invitation(Body):
    """A person to invite."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"email": "rater@school.example", "role": "teacher"}]})

    email: Email
    role: Annotated[str, Field(pattern="^(admin|teacher)$")]


class UserView(View):
    """A person with an account."""

    id: str
    email: str
    role: str
    disabled_at: Time | None
    link_token: str | None = Field(default=None, description="One-time token to hand over; shown this once.")


class SignIn(Body):
    """E-mail and password."""

    email: Email
    password: Annotated[str, Field(max_length=200)]


class UseLink(Body):
    """A one-time token and the password to set."""

    token: Annotated[str, Field(min_length=20, max_length=100)]
    password: Password


class SignedIn(View):
    """The token that pages send back in the header X-CSRF-Token."""

    csrf: str


class Done(View):
    """It is done."""

    done: bool = True


@router.get("/users", response_model=Page[UserView])
def list_users(sender: Admin, svc: Svc) -> Response:
    """People with an account."""
    with svc.db.read() as session:
        rows = session.scalars(select(User).where(User.org_id == sender.org_id).order_by(User.id)).all()
    return reply(Page[UserView](data=[_user(row) for row in rows]))


@router.post("/users", status_code=201, response_model=UserView)
def invite(body: Invitation, sender: Admin, svc: Svc) -> Response:
    """Invite a person; hand the one-time token over, no mail is sent."""
    with svc.db.write() as session:
        email = body.email.casefold()
        if session.scalar(select(User.id).where(User.email == email)):
            raise Problem("duplicate", "there is an account with this e-mail address")
        row = User(org_id=sender.org_id, email=email, role=body.role)
        session.add(row)
        session.flush()
        token = auth.create_link(session, svc.secrets, row, "invite", svc.settings.link_hours)
        audit(session, sender, "invite", row.id)
    return reply(_user(row, token), 201)


@router.post("/users/{user_id}/reset", response_model=UserView)
def reset(user_id: Id, sender: Admin, svc: Svc) -> Response:
    """A one-time token with which a person sets a new password."""
    with svc.db.write() as session:
        row = own(session, User, user_id, sender, "user")
        token = auth.create_link(session, svc.secrets, row, "reset", svc.settings.link_hours)
        audit(session, sender, "reset-password", row.id)
    return reply(_user(row, token))


@router.delete("/users/{user_id}", response_model=UserView)
def disable(user_id: Id, sender: Admin, unit: Unit) -> Response:
    """Close an account; its sessions end at once."""

    def action(session: Session) -> UserView:
        row = own(session, User, user_id, sender, "user", lock=True)
        row.disabled_at = row.disabled_at or time.time()
        audit(session, sender, "disable-user", row.id)
        return _user(row)

    return unit.run(action)


def _user(row: User, token: str | None = None) -> UserView:
    return UserView(id=row.id, email=row.email, role=row.role, disabled_at=row.disabled_at, link_token=token)


def _slow_down(request: Request, svc: Services) -> None:
    address = request.client.host if request.client else "unknown"
    if not svc.limiter.hit(_SIGN_IN_RATE, "sign-in", address):
        raise Problem("rate-limited", "too many attempts", headers={"Retry-After": "60"})


@router.post("/session", status_code=201, response_model=SignedIn)
def sign_in(body: SignIn, request: Request, svc: Svc) -> Response:
    """Sign in to the pages with e-mail and password."""
    _slow_down(request, svc)
    with svc.db.write() as session:
        made = auth.sign_in(session, svc.secrets, body.email, body.password, svc.settings.session_hours)
    if made is None:
        raise Problem("unauthorized", "e-mail or password is wrong")
    answer = reply(SignedIn(csrf=made[1]), 201)
    answer.set_cookie(
        COOKIE,
        made[0],
        max_age=int(svc.settings.session_hours * 3600),
        httponly=True,
        samesite="strict",
        secure=svc.settings.secure_cookies,
    )
    return answer


@router.delete("/session", response_model=Done)
def sign_out(request: Request, sender: Anyone, svc: Svc) -> Response:
    """End the session of the cookie."""
    cookie = request.cookies.get(COOKIE)
    if cookie:
        with svc.db.write() as session:
            row = session.get(WebSession, svc.secrets.digest(cookie))
            if row is not None and row.org_id == sender.org_id:
                session.delete(row)
    answer = reply(Done())
    answer.delete_cookie(COOKIE)
    return answer


@router.post("/password", response_model=Done)
def set_password(body: UseLink, request: Request, svc: Svc) -> Response:
    """Set a password with a one-time token."""
    _slow_down(request, svc)
    with svc.db.write() as session:
        if auth.use_link(session, svc.secrets, body.token, body.password) is None:
            raise Problem("not-found", "this link was used, is too old, or never was")
    return reply(Done())
