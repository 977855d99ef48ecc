"""The tables of calibrations: an older database keeps its jobs, and a newer one can go back."""

from __future__ import annotations

from alembic import command
from sqlalchemy import text

from api.db import Database, migrate, upgrade

_ROWS = (
    "INSERT INTO organisations (id, name, created_at) VALUES ('o', 'School', 1.0)",
    "INSERT INTO exams (id, org_id, title, boundaries, revision, created_by, created_at) "
    "VALUES ('e', 'o', 't', '[]', 1, 'x', 1)",
    "INSERT INTO jobs (id, org_id, exam_id, kind, state, params, created_by, created_at) "
    "VALUES ('j', 'o', 'e', 'grade', 'active', '{}', 'x', 1)",
    "INSERT INTO chunks (id, org_id, job_id, item_id, version, answer_ids, size, state, lease_until, attempts) "
    "VALUES ('c', 'o', 'j', 'i', 1, '[]', 3, 'pending', 0, 0)",
)


def check_upgrade(url: str) -> None:
    upgrade(url, "0002")
    db = Database(url)
    with db.engine.begin() as connection:
        for row in _ROWS:
            connection.execute(text(row))
    upgrade(url)
    with db.engine.connect() as connection:
        assert connection.execute(text("SELECT exam_id, item_id FROM jobs")).one() == ("e", None)
        assert connection.execute(text("SELECT size, progress, calibration_id FROM chunks")).one() == (3, 0, None)
    db.close()


def test_upgrade_keeps_jobs_and_their_chunks(tmp_path):
    check_upgrade(f"sqlite:///{tmp_path / 'old.db'}")


def test_going_back_drops_only_what_is_new(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'old.db'}"
    check_upgrade(url)
    monkeypatch.setattr(command, "upgrade", command.downgrade)
    migrate.upgrade(url, "0002")
    db = Database(url)
    with db.engine.connect() as connection:
        assert connection.execute(text("SELECT id FROM chunks")).scalars().all() == ["c"]
    db.close()


def test_upgrade_on_postgresql(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS olddb")
        connection.execute("CREATE DATABASE olddb")
    head, _, tail = postgres_url.replace("postgresql://", "postgresql+psycopg://").partition("?")
    check_upgrade(f"{head.rpartition('/')[0]}/olddb{'?' + tail if tail else ''}")
