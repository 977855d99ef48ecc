"""Migrations, backup, settings."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from api.backup import export_all, import_all
from api.db import Database
from api.db.models import Base
from api.problems import Problem
from api.settings import Settings, SettingsError
from api.setup import new_administrator


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


def test_an_administrators_key_made_on_the_server(service):
    svc = service.client.app.state.services
    head = {"Authorization": f"Bearer {new_administrator(svc.db, svc.secrets, service.org_id)}"}
    assert service.client.get("/v1/me", headers=head).json()["role"] == "admin"
    newest = service.client.get("/v1/audit", headers=head).json()["data"][0]
    assert (newest["actor"], newest["action"]) == ("server", "key")
    with pytest.raises(Problem, match="no organisation"):
        new_administrator(svc.db, svc.secrets, "unknown")
