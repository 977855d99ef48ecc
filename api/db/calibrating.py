"""Tables of labelled answers, calibrations and which of them is in force."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import ForeignKey, LargeBinary, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from api.db.base import Base, Json, id_column, org_column


class LabelUpload(Base):
    """A labelled table that was read and waits to be stored; its rows go once it is."""

    __tablename__ = "label_uploads"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    item_id: Mapped[str] = mapped_column(ForeignKey("items.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    preview: Mapped[Json]
    rows: Mapped[list[Any]]
    created_by: Mapped[str]
    created_at: Mapped[float] = mapped_column(default=time.time)
    applied_at: Mapped[float | None]


class Label(Base):
    """An answer with the marks people gave it; it goes with the answer it was taken from.

    ``chance`` is the probability that the answer was chosen to be labelled, where that is known.
    """

    __tablename__ = "labels"
    __table_args__ = (UniqueConstraint("answer_id"),)
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    item_id: Mapped[str] = mapped_column(ForeignKey("items.id", ondelete="CASCADE"), index=True)
    answer_id: Mapped[str | None] = mapped_column(ForeignKey("answers.id", ondelete="CASCADE"))
    text: Mapped[str] = mapped_column(Text)
    human_score: Mapped[float]
    human_score_2: Mapped[float | None]
    components: Mapped[Json]
    source: Mapped[str]
    subgroup: Mapped[str | None]
    chance: Mapped[float] = mapped_column(default=1.0)
    created_by: Mapped[str]
    created_at: Mapped[float] = mapped_column(default=time.time)


class CalibrationRow(Base):
    """One calibration, never changed but for its state; ``name`` is the hash of its content.

    ``report`` is in English; ``reports`` has it by language, without those made before there were others.
    """

    __tablename__ = "calibrations"
    __table_args__ = (UniqueConstraint("org_id", "name"),)
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    item_id: Mapped[str] = mapped_column(ForeignKey("items.id", ondelete="CASCADE"), index=True)
    item_version: Mapped[int]
    rubric: Mapped[str]
    name: Mapped[str]
    state: Mapped[str] = mapped_column(default="candidate")
    policy: Mapped[Json]
    label_ids: Mapped[list[Any]]
    study: Mapped[Json]
    content: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)
    report: Mapped[str] = mapped_column(Text, deferred=True)
    reports: Mapped[Json] = mapped_column(default=dict, deferred=True)
    carried_from: Mapped[str | None]
    created_by: Mapped[str]
    created_at: Mapped[float] = mapped_column(default=time.time)


class Promotion(Base):
    """A calibration was put in force for its rubric; a roll-back notes when and by whom it was undone."""

    __tablename__ = "promotions"
    id: Mapped[str] = id_column()
    org_id: Mapped[str] = org_column()
    item_id: Mapped[str] = mapped_column(ForeignKey("items.id", ondelete="CASCADE"), index=True)
    rubric: Mapped[str]
    calibration_id: Mapped[str] = mapped_column(ForeignKey("calibrations.id", ondelete="CASCADE"))
    before_id: Mapped[str | None]
    actor: Mapped[str]
    at: Mapped[float] = mapped_column(default=time.time)
    undone_by: Mapped[str | None]
    undone_at: Mapped[float | None]
