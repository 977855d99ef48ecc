"""Migrations, backup, settings."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from api.backup import export_all, import_all
from api.db import Database, current_revision, upgrade
from api.db.models import Base
from api.problems import Problem
from api.settings import Settings, SettingsError


def test_upgrade_from_the_previous_migration(tmp_path):
    url = f"sqlite:///{tmp_path / 'old.db'}"
    upgrade(url, "0001")
    db = Database(url)
    with db.engine.begin() as connection:
        connection.execute(text("INSERT INTO organisations (id, name, created_at) VALUES ('o', 'School', 1.0)"))
        for table in ("items", "exams", "candidates", "answers", "marks"):
            assert inspect(connection).has_table(table)
        connection.execute(
            text(
                "INSERT INTO items (id, org_id, slug, use, version, revision, created_at) "
                "VALUES ('i','o','s','exam',1,1,1)"
            )
        )
        connection.execute(text("INSERT INTO candidates (id, org_id, created_at) VALUES ('c','o',1)"))
        connection.execute(
            text(
                "INSERT INTO exams (id, org_id, title, boundaries, revision, created_by, created_at) "
                "VALUES ('e','o','t','[]',1,'x',1)"
            )
        )
        connection.execute(
            text(
                "INSERT INTO answers (id, org_id, exam_id, item_id, candidate_id, text, revision, saved_at) "
                "VALUES ('a','o','e','i','c','words',1,1)"
            )
        )
        connection.execute(
            text(
                "INSERT INTO marks (answer_id, org_id, exam_id, item_id, version, text_revision, result, score, parts, "
                "origin, review, doubt, signature, revision, graded_at) "
                "VALUES ('a','o','e','i',1,1,'{}',3.5,'[]','teacher','overridden',0,'sig',1,1)"
            )
        )
    upgrade(url)
    with db.engine.connect() as connection:
        row = connection.execute(text("SELECT score, origin, comment FROM marks")).one()
    assert tuple(row) == (3.5, "teacher", None)
    assert current_revision(db) != "0001"
    db.close()


def test_migrations_make_the_tables_of_the_models(empty_database):
    db = Database(f"sqlite:///{empty_database}")
    with db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    db.close()


def test_every_table_names_its_organisation():
    for table in Base.metadata.sorted_tables:
        assert table.name == "organisations" or "org_id" in table.c, table.name


def test_backup_round_trip(make_service):
    one, two = make_service(), make_service()
    exam = one.graded()
    line = one.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"][0]
    one.call("POST", f"/reviews/{line['answer']}/override", {"score": 2, "reason": "x"}, etag=line["revision"])
    one.client.post(
        f"/v1/exams/{exam['id']}/uploads",
        files={"file": ("a.csv", io.BytesIO(b"candidate,practice-one\n1,x\n"))},
        headers=one.teacher,
    )
    data = export_all(one.client.app.state.services.db, one.org_id)
    target = two.client.app.state.services.db
    assert import_all(target, data) == one.org_id
    assert export_all(target, one.org_id)
    for path in (f"/exams/{exam['id']}/results", f"/reviews/{line['answer']}", "/pack", f"/exams/{exam['id']}/uploads"):
        mine = one.call("GET", path)
        answer = two.client.get(f"/v1{path}", headers=one.teacher)
        assert answer.json() == mine
    with pytest.raises(Problem, match="already"):
        import_all(target, data)


def test_backup_refuses_what_is_not_its_own(service):
    db = service.client.app.state.services.db
    with pytest.raises(Problem, match="no exported"):
        import_all(db, b"nonsense")
    data = export_all(db, service.org_id)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "manifest.json":
                content = json.dumps({**json.loads(content), "organisation": "f" * 27}).encode()
            target.writestr(name, content)
    with pytest.raises(Problem, match="another organisation"):
        import_all(db, out.getvalue())


def test_pepper(tmp_path):
    url = f"sqlite:///{tmp_path / 'x.db'}"
    first = Settings(database_url=url).resolve_pepper()
    assert first == Settings(database_url=url).resolve_pepper()
    assert len(first) >= 16
    with pytest.raises(SettingsError, match="16 or more"):
        Settings(database_url=url, pepper="short").resolve_pepper()
    with pytest.raises(SettingsError, match="not set"):
        Settings(database_url="postgresql+psycopg://x/y").resolve_pepper()
