"""What all tables share. Times are seconds since 1970 (UTC); every row names its organisation."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    Float,
    ForeignKey,
    MetaData,
    String,
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


def org_column() -> Mapped[str]:
    """The organisation a row belongs to; the row goes when it goes."""
    return mapped_column(ForeignKey("organisations.id", ondelete="CASCADE"), index=True)


def id_column() -> Mapped[str]:
    """An opaque id that sorts by time."""
    return mapped_column(String(40), primary_key=True, default=new_id)
