"""Tables of marks, their history, jobs and appeals."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import (
    ForeignKey,
    Index,
    String,
    Text,
)
from sqlalchemy.orm import Mapped, mapped_column

from api.db.base import Base, Json, id_column, org_column


class Mark(Base):
    """The one mark of an answer: the machine's result and what counts."""

    __tablename__ = "marks"
    __table_args__ = (Index("ix_marks_queue", "exam_id", "review", "doubt"),)
    answer_id: Mapped[str] = mapped_column(ForeignKey("answers.id", ondelete="CASCADE"), primary_key=True)
    org_id: Mapped[str] = org_column()
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
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
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
    """Grading of an exam, the dry run of a regrade, or work on an item: a fit, a comparison, suggestions."""

    __tablename__ = "jobs"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    exam_id: Mapped[str | None] = mapped_column(ForeignKey("exams.id", ondelete="CASCADE"), index=True)
    item_id: Mapped[str | None] = mapped_column(String(40), index=True)
    kind: Mapped[str] = mapped_column(default="grade")
    state: Mapped[str] = mapped_column(default="active", index=True)
    params: Mapped[Json] = mapped_column(default=dict)
    result: Mapped[Json | None]
    error: Mapped[str | None] = mapped_column(Text)
    created_by: Mapped[str]
    created_at: Mapped[float] = mapped_column(default=time.time)
    finished_at: Mapped[float | None]


class Chunk(Base):
    """Answers of one item that are graded and stored together, with the lease of the worker on it.

    ``calibration_id`` is the calibration in force when the job began; ``novelty`` holds how unlike the labelled
    answers each answer is. ``progress`` counts answers of a chunk that is under way.
    """

    __tablename__ = "chunks"
    __table_args__ = (Index("ix_chunks_job_state", "job_id", "state"),)
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    item_id: Mapped[str]
    version: Mapped[int]
    calibration_id: Mapped[str | None] = mapped_column(String(40))
    answer_ids: Mapped[list[Any]]
    size: Mapped[int]
    progress: Mapped[int] = mapped_column(default=0)
    novelty: Mapped[Json | None]
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
    org_id: Mapped[str] = org_column()
    version: Mapped[int]
    text_revision: Mapped[int]
    result: Mapped[Json]


class Appeal(Base):
    """A candidate's request to look at a mark again."""

    __tablename__ = "appeals"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    exam_id: Mapped[str] = mapped_column(ForeignKey("exams.id", ondelete="CASCADE"), index=True)
    answer_id: Mapped[str] = mapped_column(ForeignKey("answers.id", ondelete="CASCADE"), unique=True)
    candidate_id: Mapped[str] = mapped_column(ForeignKey("candidates.id", ondelete="CASCADE"))
    text: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(default="open")
    reply: Mapped[str | None] = mapped_column(Text)
    decided_by: Mapped[str | None]
    decided_at: Mapped[float | None]
    created_at: Mapped[float] = mapped_column(default=time.time)
