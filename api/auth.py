"""API keys, passwords and one-time links: made here, stored as digests only."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import Literal

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.db import LOCK
from api.db.models import ApiKey, Candidate, OneTimeLink, User, WebSession

Role = Literal["admin", "teacher", "candidate"]
_PREFIX = "gk_"
_HASHER = PasswordHasher()


@dataclass(frozen=True, slots=True)
class Principal:
    """Who sends a request.

    Attributes:
        org_id: The organisation; nothing else is visible.
        role: What may be done.
        actor: ``key:<id>`` or ``user:<id>``, as it appears in histories.
        candidate_id: The candidate that a candidate's key belongs to.
        csrf: Token that a page must send back with a change; ``None`` for keys.
    """

    org_id: str
    role: str
    actor: str
    candidate_id: str | None = None
    csrf: str | None = None

    @property
    def staff(self) -> bool:
        """Whether it is a teacher or an administrator."""
        return self.role in ("admin", "teacher")


class Secrets:
    """Makes random secrets and their digests under one pepper."""

    def __init__(self, pepper: bytes) -> None:
        """Keeps ``pepper`` in memory only."""
        self._pepper = pepper

    def digest(self, secret: str) -> str:
        """HMAC-SHA256 (hex) of a secret of high entropy."""
        return hmac.new(self._pepper, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def new(self) -> str:
        """A secret of 256 random bits, safe in addresses."""
        return secrets.token_urlsafe(32)


def create_key(
    session: Session,
    hashes: Secrets,
    *,
    org_id: str,
    role: Role,
    label: str,
    candidate_id: str | None = None,
    expires_at: float | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its text, which is not stored; a candidate's key without candidate gets a new one."""
    if role == "candidate" and candidate_id is None:
        candidate = Candidate(org_id=org_id)
        session.add(candidate)
        session.flush()
        candidate_id = candidate.id
    text = _PREFIX + hashes.new()
    row = ApiKey(
        org_id=org_id,
        role=role,
        label=label,
        digest=hashes.digest(text),
        candidate_id=candidate_id,
        expires_at=expires_at,
    )
    session.add(row)
    session.flush()
    return row, text


def principal_of_key(session: Session, hashes: Secrets, text: str) -> Principal | None:
    """Who owns the key, ``None`` when it is unknown, expired or revoked."""
    row = session.scalar(select(ApiKey).where(ApiKey.digest == hashes.digest(text)))
    if row is None or row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= time.time()):
        return None
    return Principal(row.org_id, row.role, f"key:{row.id}", row.candidate_id)


def hash_password(password: str) -> str:
    """An argon2id hash with its parameters and salt."""
    return _HASHER.hash(password)


def password_fits(stored: str | None, password: str) -> bool:
    """Whether the password is right; takes as long when there is no user."""
    if stored is None:
        _HASHER.hash(password)
        return False
    try:
        return _HASHER.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False


def sign_in(session: Session, hashes: Secrets, email: str, password: str, hours: float) -> tuple[str, str] | None:
    """A session's cookie and CSRF token, ``None`` when e-mail or password is wrong."""
    user = session.scalar(select(User).where(User.email == email.strip().casefold(), User.disabled_at.is_(None)))
    if not password_fits(user.password_hash if user else None, password) or user is None:
        return None
    cookie, csrf = hashes.new(), hashes.new()
    session.add(
        WebSession(
            digest=hashes.digest(cookie),
            org_id=user.org_id,
            user_id=user.id,
            csrf=csrf,
            expires_at=time.time() + hours * 3600,
        )
    )
    return cookie, csrf


def principal_of_session(session: Session, hashes: Secrets, cookie: str) -> Principal | None:
    """Who is signed in with the cookie, ``None`` when it is unknown or over."""
    row = session.get(WebSession, hashes.digest(cookie))
    if row is None or row.expires_at <= time.time():
        return None
    user = session.get(User, row.user_id)
    if user is None or user.disabled_at is not None:
        return None
    return Principal(user.org_id, user.role, f"user:{user.id}", csrf=row.csrf)


def create_link(session: Session, hashes: Secrets, user: User, purpose: str, hours: float) -> str:
    """The token of a link that works once, to invite a person or to reset a password."""
    token = hashes.new()
    session.add(
        OneTimeLink(
            digest=hashes.digest(token),
            org_id=user.org_id,
            user_id=user.id,
            purpose=purpose,
            expires_at=time.time() + hours * 3600,
        )
    )
    return token


def use_link(session: Session, hashes: Secrets, token: str, password: str) -> User | None:
    """Set the password of the link's user and end the person's sessions; ``None`` when it works no more."""
    link = session.get(OneTimeLink, hashes.digest(token), with_for_update=LOCK)
    if link is None or link.used_at is not None or link.expires_at <= time.time():
        return None
    user = session.get(User, link.user_id)
    if user is None or user.disabled_at is not None:
        return None
    link.used_at = time.time()
    user.password_hash = hash_password(password)
    for row in session.scalars(select(WebSession).where(WebSession.user_id == user.id)):
        session.delete(row)
    return user
