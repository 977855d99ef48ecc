"""One door to the database: short read and write transactions on SQLite (WAL) or PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Float, cast, create_engine, event, extract, func
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.expression import literal

#: How rows are locked (``FOR NO KEY UPDATE``): keys never change, so rows that refer to a locked one may be added.
LOCK: dict[str, Any] = {"key_share": True}


class Database:
    """An engine with the two kinds of transaction the service uses.

    Attributes:
        engine: The SQLAlchemy engine.
        is_sqlite: Whether it is SQLite.
    """

    def __init__(self, url: str) -> None:
        """Connects lazily to ``url``.

        Raises:
            ValueError: It is a SQLite database in memory, which would lose everything at the end.
        """
        self.is_sqlite = url.startswith("sqlite")
        if self.is_sqlite and make_url(url).database in (None, "", ":memory:"):
            raise ValueError("the database would be in memory; allowed: sqlite:///<file> or postgresql+psycopg://…")
        options: dict[str, Any] = {"pool_size": 20, "max_overflow": 30, "pool_timeout": 20}
        if self.is_sqlite:
            options["connect_args"] = {"check_same_thread": False, "timeout": 30}
        else:
            options["pool_pre_ping"] = True
        self.engine: Engine = create_engine(url, **options)
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        self._writer = self.engine.execution_options(sqlite_begin="BEGIN IMMEDIATE")

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A transaction that is rolled back at the end."""
        with Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction that is committed at the end, or rolled back when an exception leaves the block."""
        with Session(self._writer, expire_on_commit=False) as session, session.begin():
            yield session

    def now(self) -> ColumnElement[float]:
        """The clock that leases are compared with: the server's on PostgreSQL, this host's on SQLite."""
        if self.is_sqlite:
            return literal(time.time())
        return cast(extract("epoch", func.clock_timestamp()), Float(53))

    def close(self) -> None:
        """Close all idle connections."""
        self.engine.dispose()


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("sqlite_begin", "BEGIN"))
