"""API keys, people, sign-in, and the log of who did what."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Request, Response
from limits import parse
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import auth
from api.db.models import ApiKey, Audit, Candidate, Organisation, User, WebSession
from api.deps import COOKIE, Admin, Anyone, Services, Svc, Unit, audit, decode_cursor, encode_cursor, own, reply
from api.problems import Problem
from api.schemas import Body, Cursor, Id, IdText, Limit, Page, Time, View

router = APIRouter(tags=["accounts"])
_SIGN_IN_RATE = parse("10/minute")
Email = Annotated[str, Field(pattern=r"^[^@\s]{1,64}@[^@\s]{1,100}$")]
Password = Annotated[str, Field(min_length=12, max_length=200)]


class NewKey(Body):
    """A key to make; a candidate's key without ``candidate`` gets a new opaque candidate."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "teacher", "label": "class 10b"}]})

    role: auth.Role
    label: Annotated[str, Field(min_length=1, max_length=200)]
    candidate: IdText | None = None
    expires_in_days: float | None = Field(default=None, gt=0, le=3650)


class KeyView(View):
    """A key without its text."""

    id: str
    role: str
    label: str
    candidate: str | None
    created_at: Time
    expires_at: Time | None
    revoked_at: Time | None


class MadeKey(KeyView):
    """A new key with its text, which is shown this once."""

    key: str


class Me(View):
    """Who the sender is."""

    organisation: str
    organisation_name: str
    role: str
    actor: str
    candidate: str | None
    csrf: str | None = None


class OrganisationView(View):
    """Settings of the organisation."""

    id: str
    name: str
    retention_days: int | None = Field(description="Days after release for which answers are kept; null keeps them.")


class OrganisationPatch(Body):
    """Settings to change."""

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    retention_days: Annotated[int, Field(ge=1, le=36500)] | None = None


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


class AuditLine(View):
    """One entry of the log."""

    id: str
    actor: str
    action: str
    subject: str
    at: Time


def _key_fields(row: ApiKey) -> dict[str, object]:
    names = ("id", "role", "label", "created_at", "expires_at", "revoked_at")
    return {**{name: getattr(row, name) for name in names}, "candidate": row.candidate_id}


@router.get("/me", response_model=Me)
def me(sender: Anyone, svc: Svc) -> Response:
    """Who the key or session belongs to."""
    with svc.db.read() as session:
        name = own_organisation(session, sender).name
    return reply(
        Me(
            organisation=sender.org_id,
            organisation_name=name,
            role=sender.role,
            actor=sender.actor,
            candidate=sender.candidate_id,
            csrf=sender.csrf,
        )
    )


def own_organisation(session: Session, sender: auth.Principal) -> Organisation:
    """The sender's organisation."""
    return session.get_one(Organisation, sender.org_id)


@router.get("/organisation", response_model=OrganisationView)
def get_organisation(sender: Admin, svc: Svc) -> Response:
    """Settings of the organisation."""
    with svc.db.read() as session:
        return reply(OrganisationView.model_validate(_organisation(own_organisation(session, sender))))


@router.patch("/organisation", response_model=OrganisationView)
def change_organisation(body: OrganisationPatch, sender: Admin, unit: Unit) -> Response:
    """Change settings; ``retention_days: null`` keeps answers without limit."""

    def action(session: Session) -> OrganisationView:
        row = own_organisation(session, sender)
        if body.name is not None:
            row.name = body.name
        if "retention_days" in body.model_fields_set:
            row.retention_days = body.retention_days
        audit(session, sender, "change-organisation", row.id)
        return OrganisationView.model_validate(_organisation(row))

    return unit.run(action)


def _organisation(row: Organisation) -> dict[str, object]:
    return {"id": row.id, "name": row.name, "retention_days": row.retention_days}


@router.get("/keys", response_model=Page[KeyView])
def list_keys(sender: Admin, svc: Svc, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """The organisation's keys, without their text."""
    start = decode_cursor(cursor, str)
    with svc.db.read() as session:
        query = select(ApiKey).where(ApiKey.org_id == sender.org_id).order_by(ApiKey.id).limit(limit + 1)
        rows = session.scalars(query.where(ApiKey.id > start[0]) if start else query).all()
    data = [KeyView.model_validate(_key_fields(row)) for row in rows[:limit]]
    return reply(Page[KeyView](data=data, next=encode_cursor(data[-1].id) if len(rows) > limit else None))


@router.post("/keys", status_code=201, response_model=MadeKey)
def create_key(body: NewKey, sender: Admin, svc: Svc) -> Response:
    """Make a key; its text is in this answer and nowhere else, so an Idempotency-Key has no effect here."""
    if body.candidate and body.role != "candidate":
        raise Problem("invalid", "only a candidate's key names a candidate")
    with svc.db.write() as session:
        if body.candidate:
            own(session, Candidate, body.candidate, sender, "candidate")
        expires = time.time() + body.expires_in_days * 86400 if body.expires_in_days else None
        row, text = auth.create_key(
            session,
            svc.secrets,
            org_id=sender.org_id,
            role=body.role,
            label=body.label,
            candidate_id=body.candidate,
            expires_at=expires,
        )
        audit(session, sender, "create-key", row.id)
        made = MadeKey.model_validate({**_key_fields(row), "key": text})
    return reply(made, 201)


@router.delete("/keys/{key_id}", response_model=KeyView)
def revoke_key(key_id: Id, sender: Admin, unit: Unit) -> Response:
    """Revoke a key, at once and for good."""

    def action(session: Session) -> KeyView:
        row = own(session, ApiKey, key_id, sender, "key", lock=True)
        if row.revoked_at is None:
            row.revoked_at = time.time()
            audit(session, sender, "revoke-key", row.id)
        return KeyView.model_validate(_key_fields(row))

    return unit.run(action)


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


@router.get("/audit", response_model=Page[AuditLine])
def list_audit(sender: Admin, svc: Svc, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """Who looked at names, exported, deleted or changed accounts, the newest first."""
    start = decode_cursor(cursor, str)
    with svc.db.read() as session:
        query = select(Audit).where(Audit.org_id == sender.org_id).order_by(Audit.id.desc()).limit(limit + 1)
        rows = session.scalars(query.where(Audit.id < start[0]) if start else query).all()
    data = [AuditLine.model_validate(row, from_attributes=True) for row in map(_audit_fields, rows[:limit])]
    return reply(Page[AuditLine](data=data, next=encode_cursor(data[-1].id) if len(rows) > limit else None))


def _audit_fields(row: Audit) -> dict[str, object]:
    return {name: getattr(row, name) for name in ("id", "actor", "action", "subject", "at")}
