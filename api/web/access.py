"""Who looks at a page: a signed-in person, the owner of a key, or a guest who practises."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping

from sqlalchemy import select

from api.auth import Principal, principal_of_key, principal_of_session
from api.db.models import ApiKey, Organisation
from api.deps import COOKIE, Services

KEY_COOKIE = "grader_key"
GUEST_COOKIE = "grader_guest"


def _signed(svc: Services, kind: str, body: str) -> str:
    return f"{body}.{svc.secrets.digest(f'page:{kind}:{body}')}"


def _body(svc: Services, kind: str, value: str) -> str | None:
    body = value.rpartition(".")[0]
    fits = secrets.compare_digest(_signed(svc, kind, body).encode(), value.encode("utf-8", "replace"))
    return body if body and fits else None


def csrf_of(svc: Services, value: str) -> str:
    """The token that a page of this cookie sends back with a change."""
    return svc.secrets.digest(f"page:csrf:{value}")


def key_cookie(svc: Services, text: str) -> tuple[str, Principal] | None:
    """The cookie of somebody who signs in with a key (it holds the key's id only), ``None`` for a wrong key."""
    with svc.db.read() as session:
        found = principal_of_key(session, svc.secrets, text)
    if found is None:
        return None
    end = int(time.time() + svc.settings.session_hours * 3600)
    return _signed(svc, "key", f"{found.actor.removeprefix('key:')}.{end}"), found


def _of_key_cookie(svc: Services, value: str) -> Principal | None:
    body = _body(svc, "key", value)
    if body is None:
        return None
    key_id, _, end = body.partition(".")
    now = time.time()
    if float(end) <= now:
        return None
    with svc.db.read() as session:
        row = session.get(ApiKey, key_id)
    if row is None or row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now):
        return None
    return Principal(row.org_id, row.role, f"key:{row.id}", row.candidate_id, csrf_of(svc, value))


def open_practice(svc: Services) -> bool:
    """Whether people may practise without an account."""
    wanted = svc.settings.open_practice
    return svc.db.is_sqlite if wanted is None else wanted


def _guest(svc: Services, value: str) -> Principal | None:
    body = _body(svc, "guest", value)
    if body is None or not open_practice(svc):
        return None
    with svc.db.read() as session:
        found = session.scalars(select(Organisation.id).limit(2)).all()
    if len(found) != 1:  # whose items to show would be a guess
        return None
    return Principal(found[0], "candidate", f"guest:{body}", None, csrf_of(svc, value))


def new_guest(svc: Services) -> str:
    """The cookie of a new guest."""
    return _signed(svc, "guest", secrets.token_hex(8))


def guest_of(svc: Services, value: str) -> Principal | None:
    """The guest of a cookie, ``None`` where guests may not practise."""
    return _guest(svc, value)


def person_of(svc: Services, cookies: Mapping[str, str]) -> Principal | None:
    """Who is signed in."""
    if value := cookies.get(COOKIE):
        with svc.db.read() as session:
            found = principal_of_session(session, svc.secrets, value)
        if found is not None:
            return found
    value = cookies.get(KEY_COOKIE)
    return _of_key_cookie(svc, value) if value else None
