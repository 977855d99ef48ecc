"""A database of every earlier version of the service is upgraded with everything in it, on both databases."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, select
from starlette.testclient import TestClient

import api.migrations
from api.app import create_app
from api.db import Database, current_revision, head_revision, upgrade

OLDER = [
    one.revision
    for one in ScriptDirectory(Path(api.migrations.__file__).parent).walk_revisions()
    if one.revision != head_revision()
]
Tables = dict[str, list[dict[str, Any]]]


def rows_of(url: str, only: MetaData | None = None) -> Tables:
    """All rows of all tables, or of the tables and columns of ``only``."""
    db, tables = Database(url), MetaData()
    try:
        tables.reflect(db.engine)
        with db.engine.connect() as connection:
            found = {
                name: [dict(row._mapping) for row in connection.execute(select(table))]
                for name, table in tables.tables.items()
                if name != "alembic_version" and (only is None or name in only.tables)
            }
    finally:
        db.close()
    if only is not None:
        found = {name: [_columns(row, only, name) for row in rows] for name, rows in found.items()}
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def _columns(row: dict[str, Any], tables: MetaData, name: str) -> dict[str, Any]:
    return {column: value for column, value in row.items() if column in tables.tables[name].c}


def fill(url: str, rows: Tables) -> MetaData:
    """Put what an earlier version has tables and columns for into its database; returns its tables."""
    db, tables = Database(url), MetaData()
    try:
        tables.reflect(db.engine)
        with db.engine.begin() as connection:
            for table in tables.sorted_tables:
                if found := [_columns(row, tables, table.name) for row in rows.get(table.name, [])]:
                    connection.execute(table.insert(), found)
    finally:
        db.close()
    return tables


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, build_service: Callable[..., Any]) -> Any:
    """A service that was used: answers, a table, marks, a decision, a regrade."""
    service = build_service(tmp_path_factory.mktemp("filled"))
    exam = service.graded()
    table = {"file": ("a.csv", io.BytesIO(b"candidate,practice-one\n1,x\n"))}
    service.client.post(f"/v1/exams/{exam['id']}/uploads", files=table, headers=service.teacher)
    line = service.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"][0]
    service.call("POST", f"/reviews/{line['answer']}/override", {"score": 2, "reason": "x"}, etag=line["revision"])
    service.call("POST", f"/exams/{exam['id']}/regrades", {"items": [{"item": "practice-one"}]})
    service.work()
    service.call("POST", "/users", {"email": "a@b.example", "role": "teacher"}, who="admin")
    return service, exam


def check(filled: Any, url: str, revision: str) -> None:
    service, exam = filled
    rows = rows_of(service.settings.database_url)
    assert sum(bool(found) for found in rows.values()) >= 15
    upgrade(url, revision)
    old = fill(url, rows)
    before = rows_of(url, old)
    assert before["marks"]
    upgrade(url)
    db = Database(url)
    assert current_revision(db) == head_revision()
    db.close()
    assert rows_of(url, old) == before

    app = create_app(
        service.settings.model_copy(update={"database_url": url}), service.client.app.state.services.scorer.get()
    )
    with TestClient(app, raise_server_exceptions=False) as client:
        assert client.get("/ready").status_code == 200
        moved = replace(service, client=client)
        for path in (f"/exams/{exam['id']}/results", f"/exams/{exam['id']}/reviews?which=all"):
            assert moved.call("GET", path) == service.call("GET", path)
        moved.answer(exam["id"], {"new": {"practice-one": "It keeps results for later use."}})
        moved.call("POST", f"/exams/{exam['id']}/grade")
        moved.work()
        assert moved.call("GET", f"/exams/{exam['id']}")["marked"] == 9


@pytest.mark.parametrize("revision", OLDER)
def test_sqlite(filled, tmp_path, revision):
    check(filled, f"sqlite:///{tmp_path / 'old.db'}", revision)


@pytest.mark.parametrize("revision", OLDER)
def test_postgresql(filled, postgres_database, revision):
    check(filled, postgres_database(), revision)
