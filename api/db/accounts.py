"""Tables of organisations, their keys and people."""

from __future__ import annotations

import time

from sqlalchemy import (
    ForeignKey,
    Integer,
    Text,
)
from sqlalchemy.orm import Mapped, mapped_column

from api.db.base import Base, id_column, org_column


class Organisation(Base):
    """A school; nothing of it is visible to another one."""

    __tablename__ = "organisations"
    id: Mapped[str] = id_column()
    name: Mapped[str]
    retention_days: Mapped[int | None]
    created_at: Mapped[float] = mapped_column(default=time.time)


class ApiKey(Base):
    """A key's digest; the key itself is shown once and never stored."""

    __tablename__ = "api_keys"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    role: Mapped[str]
    label: Mapped[str]
    digest: Mapped[str] = mapped_column(unique=True)
    candidate_id: Mapped[str | None] = mapped_column(ForeignKey("candidates.id", ondelete="CASCADE"))
    created_at: Mapped[float] = mapped_column(default=time.time)
    expires_at: Mapped[float | None]
    revoked_at: Mapped[float | None]


class User(Base):
    """A person who signs in to the pages."""

    __tablename__ = "users"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    email: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    password_hash: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[float] = mapped_column(default=time.time)
    disabled_at: Mapped[float | None]


class WebSession(Base):
    """A signed-in browser; the cookie's digest is the key."""

    __tablename__ = "web_sessions"
    digest: Mapped[str] = mapped_column(primary_key=True)
    org_id: Mapped[str] = org_column()
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    csrf: Mapped[str]
    expires_at: Mapped[float]


class OneTimeLink(Base):
    """An invitation or password reset that works once."""

    __tablename__ = "one_time_links"
    digest: Mapped[str] = mapped_column(primary_key=True)
    org_id: Mapped[str] = org_column()
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    purpose: Mapped[str]
    expires_at: Mapped[float]
    used_at: Mapped[float | None]


class Idempotency(Base):
    """The answer to a request that may be sent again, stored with what it changed."""

    __tablename__ = "idempotency"
    actor: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    org_id: Mapped[str] = org_column()
    fingerprint: Mapped[str]
    status: Mapped[int] = mapped_column(Integer)
    body: Mapped[str] = mapped_column(Text)
    created_at: Mapped[float] = mapped_column(default=time.time)


class Audit(Base):
    """Who looked at names, exported, deleted or changed accounts."""

    __tablename__ = "audit"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    actor: Mapped[str]
    action: Mapped[str]
    subject: Mapped[str]
    at: Mapped[float] = mapped_column(default=time.time)
