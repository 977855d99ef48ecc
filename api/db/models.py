"""All tables in one place, so that their metadata is complete. Times are seconds since 1970 (UTC)."""

from __future__ import annotations

from api.db.accounts import ApiKey, Audit, Idempotency, OneTimeLink, Organisation, User, WebSession
from api.db.base import Base
from api.db.calibrating import CalibrationRow, Label, LabelUpload, Promotion
from api.db.content import (
    Answer,
    Candidate,
    CandidateName,
    Exam,
    ExamItem,
    ItemRow,
    ItemVersion,
    RosterEntry,
    Upload,
    VivaSession,
)
from api.db.grading import Appeal, Chunk, Job, Mark, MarkEvent, Proposal

__all__ = [
    "Answer",
    "ApiKey",
    "Appeal",
    "Audit",
    "Base",
    "CalibrationRow",
    "Candidate",
    "CandidateName",
    "Chunk",
    "Exam",
    "ExamItem",
    "Idempotency",
    "ItemRow",
    "ItemVersion",
    "Job",
    "Label",
    "LabelUpload",
    "Mark",
    "MarkEvent",
    "OneTimeLink",
    "Organisation",
    "Promotion",
    "Proposal",
    "RosterEntry",
    "Upload",
    "User",
    "VivaSession",
    "WebSession",
]
