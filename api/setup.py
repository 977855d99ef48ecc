"""First steps of an installation: an organisation with the bank and an administrator's key."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from api import items
from api.auth import Secrets, create_key
from api.db import Database
from api.db.models import Audit, Organisation
from api.problems import Problem
from grader.rubric import Item


def create_organisation(db: Database, hashes: Secrets, name: str, bank: Iterable[Item]) -> tuple[str, str]:
    """Id of a new organisation and the key of its administrator, which is shown this once."""
    with db.write() as session:
        return _create(session, hashes, name, bank)


def first_key(db: Database, hashes: Secrets, bank: Iterable[Item]) -> str | None:
    """The administrator's key of a new installation, ``None`` when there is an organisation already."""
    with db.write() as session:
        if not db.is_sqlite:  # replicas that start together must not make one each; SQLite has one writer anyway
            session.execute(text("LOCK TABLE organisations IN SHARE ROW EXCLUSIVE MODE"))
        if session.scalar(select(Organisation.id).limit(1)):
            return None
        return _create(session, hashes, "School", bank)[1]


def new_administrator(db: Database, hashes: Secrets, org_id: str) -> str:
    """A new administrator's key; the others go on.

    Raises:
        Problem: There is no organisation of this id.
    """
    with db.write() as session:
        if session.get(Organisation, org_id) is None:
            raise Problem("not-found", "no organisation of this id")
        row, key = create_key(session, hashes, org_id=org_id, role="admin", label="made on the server")
        session.add(Audit(org_id=org_id, actor="server", action="key", subject=row.id))
        return key


def _create(session: Session, hashes: Secrets, name: str, bank: Iterable[Item]) -> tuple[str, str]:
    organisation = Organisation(name=name)
    session.add(organisation)
    session.flush()
    items.seed(session, organisation.id, bank)
    _, key = create_key(session, hashes, org_id=organisation.id, role="admin", label="first key")
    return organisation.id, key
