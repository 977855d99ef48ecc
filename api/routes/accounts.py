"""API keys, people, sign-in, and the log of who did what."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import auth
from api.db.models import ApiKey, Audit, Candidate, Organisation
from api.deps import Admin, Anyone, Svc, Unit, audit, decode_cursor, encode_cursor, own, reply
from api.problems import Problem
from api.schemas import Body, Cursor, Id, IdText, Limit, Page, Time, View

router = APIRouter(tags=["accounts"])


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
