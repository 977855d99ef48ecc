"""Everything of one organisation into one file, and back."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Table, insert, select
from sqlalchemy.orm import Session

from api.db import Database, current_revision
from api.db.models import Base, Organisation
from api.problems import Problem

_FORMAT = "grader-organisation/1"
#: Short-lived rows that make no sense elsewhere.
_LEFT_OUT = frozenset({"web_sessions", "one_time_links", "idempotency"})
_MANY = 200


def _tables() -> list[Table]:
    return [table for table in Base.metadata.sorted_tables if table.name not in _LEFT_OUT]


def export_all(db: Database, org_id: str) -> bytes:
    """A zip with every row of the organisation; keys keep working where the pepper is the same.

    Raises:
        Problem: There is no such organisation.
    """
    out = io.BytesIO()
    with db.read() as session, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        if session.get(Organisation, org_id) is None:
            raise Problem("not-found", "no organisation of this id")
        head = {"format": _FORMAT, "revision": current_revision(db), "organisation": org_id}
        archive.writestr("manifest.json", json.dumps(head))
        for table in _tables():
            column = table.c.id if table.name == "organisations" else table.c.org_id
            rows = session.execute(select(table).where(column == org_id)).mappings()
            archive.writestr(f"{table.name}.ndjson", "".join(json.dumps(_plain(dict(row))) + "\n" for row in rows))
    return out.getvalue()


def import_all(db: Database, data: bytes) -> str:
    """Put an exported organisation into this database, all of it or nothing; returns its id.

    Raises:
        Problem: The file is none of ours, from another revision, or the organisation is here already.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        head = json.loads(archive.read("manifest.json"))
    except (zipfile.BadZipFile, KeyError, ValueError):
        raise Problem("invalid", "this is no exported organisation") from None
    if head.get("format") != _FORMAT or head.get("revision") != current_revision(db):
        raise Problem("invalid", f"the file has revision {head.get('revision')}, this database {current_revision(db)}")
    with archive, db.write() as session:
        if session.get(Organisation, head["organisation"]) is not None:
            raise Problem("duplicate", "this organisation is in the database already")
        for table in _tables():
            _fill(session, table, archive.read(f"{table.name}.ndjson").decode().splitlines(), head["organisation"])
    return str(head["organisation"])


def _fill(session: Session, table: Table, lines: Iterable[str], org_id: str) -> None:
    rows = [_rich(json.loads(line)) for line in lines]
    own = "id" if table.name == "organisations" else "org_id"
    if any(row[own] != org_id for row in rows):
        raise Problem("invalid", f"{table.name}: a row of another organisation")
    for start in range(0, len(rows), _MANY):
        session.execute(insert(table), rows[start : start + _MANY])


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def _rich(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: base64.b64decode(value["base64"]) if isinstance(value, dict) and set(value) == {"base64"} else value
        for name, value in row.items()
    }
