"""Database access: engine, tables, migrations."""

from __future__ import annotations

from api.db.engine import LOCK, Database
from api.db.ids import made_at, new_id
from api.db.migrate import current_revision, head_revision, upgrade

__all__ = ["LOCK", "Database", "current_revision", "head_revision", "made_at", "new_id", "upgrade"]
