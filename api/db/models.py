"""The tables. Times are seconds since 1970 (UTC); every row names its organisation."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from api.db.ids import new_id

Json = dict[str, Any]
_NAMES = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """Base of all tables."""

    metadata = MetaData(naming_convention=_NAMES)
    type_annotation_map = {Json: JSON, list[Any]: JSON, str: String(200), float: Float(53)}  # noqa: RUF012


def _org() -> Mapped[str]:
    return mapped_column(ForeignKey("organisations.id", ondelete="CASCADE"), index=True)


def _id() -> Mapped[str]:
    return mapped_column(String(40), primary_key=True, default=new_id)


class Organisation(Base):
    """A school; nothing of it is visible to another one."""

    __tablename__ = "organisations"
    id: Mapped[str] = _id()
    name: Mapped[str]
    retention_days: Mapped[int | None]
    created_at: Mapped[float] = mapped_column(default=time.time)


class ApiKey(Base):
    """A key's digest; the key itself is shown once and never stored."""

    __tablename__ = "api_keys"
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
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
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    email: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    password_hash: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[float] = mapped_column(default=time.time)
    disabled_at: Mapped[float | None]


class WebSession(Base):
    """A signed-in browser; the cookie's digest is the key."""

    __tablename__ = "web_sessions"
    digest: Mapped[str] = mapped_column(primary_key=True)
    org_id: Mapped[str] = _org()
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    csrf: Mapped[str]
    expires_at: Mapped[float]


class OneTimeLink(Base):
    """An invitation or password reset that works once."""

    __tablename__ = "one_time_links"
    digest: Mapped[str] = mapped_column(primary_key=True)
    org_id: Mapped[str] = _org()
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    purpose: Mapped[str]
    expires_at: Mapped[float]
    used_at: Mapped[float | None]


class ItemRow(Base):
    """An item of an organisation; its content lives in versions."""

    __tablename__ = "items"
    __table_args__ = (UniqueConstraint("org_id", "slug"),)
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    slug: Mapped[str]
    use: Mapped[str] = mapped_column(default="practice")
    version: Mapped[int]
    revision: Mapped[int] = mapped_column(default=1)
    deleted_at: Mapped[float | None]
    created_at: Mapped[float] = mapped_column(default=time.time)


class ItemVersion(Base):
    """The content of one version, never changed."""

    __tablename__ = "item_versions"
    item_id: Mapped[str] = mapped_column(ForeignKey("items.id", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    org_id: Mapped[str] = _org()
    content: Mapped[Json]
    content_hash: Mapped[str]
    created_by: Mapped[str]
    created_at: Mapped[float] = mapped_column(default=time.time)


class Candidate(Base):
    """Who is scored: an opaque id and nothing else."""

    __tablename__ = "candidates"
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    created_at: Mapped[float] = mapped_column(default=time.time)


class CandidateName(Base):
    """Who a candidate is outside; read only for roster, reveal and export, never by a scorer."""

    __tablename__ = "candidate_names"
    __table_args__ = (UniqueConstraint("org_id", "external_id"),)
    candidate_id: Mapped[str] = mapped_column(ForeignKey("candidates.id", ondelete="CASCADE"), primary_key=True)
    org_id: Mapped[str] = _org()
    external_id: Mapped[str] = mapped_column(String(400))
    name: Mapped[str | None] = mapped_column(String(400))


class Exam(Base):
    """An exam of a class."""

    __tablename__ = "exams"
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    title: Mapped[str]
    pass_percent: Mapped[float | None]
    boundaries: Mapped[list[Any]] = mapped_column(default=list)
    opens_at: Mapped[float | None]
    closes_at: Mapped[float | None]
    released_at: Mapped[float | None]
    revision: Mapped[int] = mapped_column(default=1)
    created_by: Mapped[str]
    created_at: Mapped[float] = mapped_column(default=time.time)


class ExamItem(Base):
    """An item of an exam with its weight and the version it is graded with."""

    __tablename__ = "exam_items"
    __table_args__ = (UniqueConstraint("exam_id", "item_id"),)
    exam_id: Mapped[str] = mapped_column(ForeignKey("exams.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    org_id: Mapped[str] = _org()
    item_id: Mapped[str] = mapped_column(ForeignKey("items.id"), index=True)
    version: Mapped[int]
    weight: Mapped[float]


class RosterEntry(Base):
    """A candidate who takes an exam."""

    __tablename__ = "roster"
    exam_id: Mapped[str] = mapped_column(ForeignKey("exams.id", ondelete="CASCADE"), primary_key=True)
    candidate_id: Mapped[str] = mapped_column(
        ForeignKey("candidates.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    org_id: Mapped[str] = _org()
    submitted_at: Mapped[float | None]


class Upload(Base):
    """A table as it was sent, kept for the export back into its layout."""

    __tablename__ = "uploads"
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    exam_id: Mapped[str] = mapped_column(ForeignKey("exams.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    content: Mapped[bytes] = mapped_column(LargeBinary)
    layout: Mapped[str]
    candidate_column: Mapped[str | None]
    mapping: Mapped[Json | None]
    created_by: Mapped[str]
    created_at: Mapped[float] = mapped_column(default=time.time)
    applied_at: Mapped[float | None]


class Answer(Base):
    """What a candidate wrote for an item of an exam."""

    __tablename__ = "answers"
    __table_args__ = (UniqueConstraint("exam_id", "item_id", "candidate_id"),)
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    exam_id: Mapped[str] = mapped_column(ForeignKey("exams.id", ondelete="CASCADE"))
    item_id: Mapped[str] = mapped_column(ForeignKey("items.id"))
    candidate_id: Mapped[str] = mapped_column(ForeignKey("candidates.id", ondelete="CASCADE"), index=True)
    text: Mapped[str] = mapped_column(Text)
    revision: Mapped[int] = mapped_column(default=1)
    upload_id: Mapped[str | None] = mapped_column(ForeignKey("uploads.id", ondelete="SET NULL"))
    upload_row: Mapped[int | None]
    saved_at: Mapped[float] = mapped_column(default=time.time)


class Mark(Base):
    """The one mark of an answer: the machine's result and what counts."""

    __tablename__ = "marks"
    __table_args__ = (Index("ix_marks_queue", "exam_id", "review", "doubt"),)
    answer_id: Mapped[str] = mapped_column(ForeignKey("answers.id", ondelete="CASCADE"), primary_key=True)
    org_id: Mapped[str] = _org()
    exam_id: Mapped[str] = mapped_column(ForeignKey("exams.id", ondelete="CASCADE"))
    item_id: Mapped[str] = mapped_column(ForeignKey("items.id"), index=True)
    version: Mapped[int]
    text_revision: Mapped[int]
    result: Mapped[Json]
    machine_score: Mapped[float | None]
    score: Mapped[float | None]
    parts: Mapped[list[Any]]
    origin: Mapped[str] = mapped_column(default="machine")
    review: Mapped[str] = mapped_column(default="none")
    doubt: Mapped[float] = mapped_column(default=0.0)
    signature: Mapped[str] = mapped_column(Text)
    comment: Mapped[str | None] = mapped_column(Text)
    revision: Mapped[int] = mapped_column(default=1)
    graded_at: Mapped[float] = mapped_column(default=time.time)


class MarkEvent(Base):
    """One change of a mark; never changed itself."""

    __tablename__ = "mark_events"
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    answer_id: Mapped[str] = mapped_column(ForeignKey("answers.id", ondelete="CASCADE"), index=True)
    action: Mapped[str]
    actor: Mapped[str]
    at: Mapped[float] = mapped_column(default=time.time)
    old: Mapped[Json | None]
    new: Mapped[Json | None]
    reason: Mapped[str | None] = mapped_column(Text)
    signature: Mapped[str | None] = mapped_column(Text)
    undoes: Mapped[str | None]


class Job(Base):
    """Grading of an exam, or the dry run of a regrade."""

    __tablename__ = "jobs"
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    exam_id: Mapped[str] = mapped_column(ForeignKey("exams.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(default="grade")
    state: Mapped[str] = mapped_column(default="active", index=True)
    params: Mapped[Json] = mapped_column(default=dict)
    error: Mapped[str | None] = mapped_column(Text)
    created_by: Mapped[str]
    created_at: Mapped[float] = mapped_column(default=time.time)
    finished_at: Mapped[float | None]


class Chunk(Base):
    """Answers of one item that are graded and stored together, with the lease of the worker on it."""

    __tablename__ = "chunks"
    __table_args__ = (Index("ix_chunks_job_state", "job_id", "state"),)
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    item_id: Mapped[str]
    version: Mapped[int]
    answer_ids: Mapped[list[Any]]
    size: Mapped[int]
    state: Mapped[str] = mapped_column(default="pending")
    owner: Mapped[str | None]
    lease_until: Mapped[float] = mapped_column(default=0.0)
    attempts: Mapped[int] = mapped_column(default=0)
    error: Mapped[str | None] = mapped_column(Text)


class Proposal(Base):
    """A mark that a dry run computed and that is not applied yet."""

    __tablename__ = "proposals"
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    answer_id: Mapped[str] = mapped_column(ForeignKey("answers.id", ondelete="CASCADE"), primary_key=True, index=True)
    org_id: Mapped[str] = _org()
    version: Mapped[int]
    text_revision: Mapped[int]
    result: Mapped[Json]


class Appeal(Base):
    """A candidate's request to look at a mark again."""

    __tablename__ = "appeals"
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    exam_id: Mapped[str] = mapped_column(ForeignKey("exams.id", ondelete="CASCADE"), index=True)
    answer_id: Mapped[str] = mapped_column(ForeignKey("answers.id", ondelete="CASCADE"), unique=True)
    candidate_id: Mapped[str] = mapped_column(ForeignKey("candidates.id", ondelete="CASCADE"))
    text: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(default="open")
    reply: Mapped[str | None] = mapped_column(Text)
    decided_by: Mapped[str | None]
    decided_at: Mapped[float | None]
    created_at: Mapped[float] = mapped_column(default=time.time)


class VivaSession(Base):
    """An oral practice with one candidate."""

    __tablename__ = "viva_sessions"
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    actor: Mapped[str]
    candidate_id: Mapped[str | None] = mapped_column(ForeignKey("candidates.id", ondelete="CASCADE"))
    state: Mapped[Json]
    revision: Mapped[int] = mapped_column(default=1)
    finished: Mapped[bool] = mapped_column(Boolean, default=False)
    created_at: Mapped[float] = mapped_column(default=time.time)


class Idempotency(Base):
    """The answer to a request that may be sent again, stored with what it changed."""

    __tablename__ = "idempotency"
    actor: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    org_id: Mapped[str] = _org()
    fingerprint: Mapped[str]
    status: Mapped[int] = mapped_column(Integer)
    body: Mapped[str] = mapped_column(Text)
    created_at: Mapped[float] = mapped_column(default=time.time)


class Audit(Base):
    """Who looked at names, exported, deleted or changed accounts."""

    __tablename__ = "audit"
    id: Mapped[str] = _id()
    org_id: Mapped[str] = _org()
    actor: Mapped[str]
    action: Mapped[str]
    subject: Mapped[str]
    at: Mapped[float] = mapped_column(default=time.time)
