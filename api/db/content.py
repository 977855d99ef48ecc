"""Tables of items, candidates, exams and answers."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import (
    Boolean,
    ForeignKey,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from api.db.base import Base, Json, id_column, org_column


class ItemRow(Base):
    """An item of an organisation; its content lives in versions."""

    __tablename__ = "items"
    __table_args__ = (UniqueConstraint("org_id", "slug"),)
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
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
    org_id: Mapped[str] = org_column()
    content: Mapped[Json]
    content_hash: Mapped[str]
    created_by: Mapped[str]
    created_at: Mapped[float] = mapped_column(default=time.time)


class Candidate(Base):
    """Who is scored: an opaque id and nothing else."""

    __tablename__ = "candidates"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    created_at: Mapped[float] = mapped_column(default=time.time)


class CandidateName(Base):
    """Who a candidate is outside; read only for roster, reveal and export, never by a scorer."""

    __tablename__ = "candidate_names"
    __table_args__ = (UniqueConstraint("org_id", "external_id"),)
    candidate_id: Mapped[str] = mapped_column(ForeignKey("candidates.id", ondelete="CASCADE"), primary_key=True)
    org_id: Mapped[str] = org_column()
    external_id: Mapped[str] = mapped_column(String(400))
    name: Mapped[str | None] = mapped_column(String(400))


class Exam(Base):
    """An exam of a class."""

    __tablename__ = "exams"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
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
    org_id: Mapped[str] = org_column()
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
    org_id: Mapped[str] = org_column()
    submitted_at: Mapped[float | None]


class Upload(Base):
    """A table as it was sent, kept for the export back into its layout."""

    __tablename__ = "uploads"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
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
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    exam_id: Mapped[str] = mapped_column(ForeignKey("exams.id", ondelete="CASCADE"))
    item_id: Mapped[str] = mapped_column(ForeignKey("items.id"))
    candidate_id: Mapped[str] = mapped_column(ForeignKey("candidates.id", ondelete="CASCADE"), index=True)
    text: Mapped[str] = mapped_column(Text)
    revision: Mapped[int] = mapped_column(default=1)
    upload_id: Mapped[str | None] = mapped_column(ForeignKey("uploads.id", ondelete="SET NULL"))
    upload_row: Mapped[int | None]
    saved_at: Mapped[float] = mapped_column(default=time.time)


class VivaSession(Base):
    """An oral practice with one candidate."""

    __tablename__ = "viva_sessions"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    actor: Mapped[str]
    candidate_id: Mapped[str | None] = mapped_column(ForeignKey("candidates.id", ondelete="CASCADE"))
    state: Mapped[Json]
    revision: Mapped[int] = mapped_column(default=1)
    finished: Mapped[bool] = mapped_column(Boolean, default=False)
    created_at: Mapped[float] = mapped_column(default=time.time)
