"""Migrations of the database, packaged with the service."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event

from api.db.engine import Database

_FOLDER = Path(__file__).resolve().parent.parent / "migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    return config


def upgrade(database_url: str, revision: str = "head") -> None:
    """Bring the database at ``database_url`` to ``revision``; does nothing if it is there already."""
    database = Database(database_url)
    if database.is_sqlite:  # a table that is made anew must not take the rows that refer to it along
        event.listen(database.engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys=OFF"))
    try:
        with database.engine.begin() as connection:
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    finally:
        database.close()


def current_revision(database: Database) -> str | None:
    """The revision the database has, ``None`` before the first upgrade."""
    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head_revision() -> str | None:
    """The revision this version of the service needs."""
    return ScriptDirectory.from_config(_config()).get_current_head()
