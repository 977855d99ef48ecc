"""What request handlers are given: services, the sender, a unit of work, ETags and cursors."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter
from fastapi import Depends, Header, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from limits import RateLimitItem
from limits.strategies import RateLimiter
from pydantic import BaseModel
from sqlalchemy.orm import Session

from api.auth import Principal, Secrets, principal_of_key, principal_of_session
from api.db import LOCK, Database
from api.db.models import Audit, Base, Idempotency
from api.problems import Problem
from api.scoring import ScorerBox
from api.settings import Settings

COOKIE = "grader_session"
CSRF_HEADER = "X-CSRF-Token"
_SAFE = ("GET", "HEAD", "OPTIONS")
_Row = TypeVar("_Row", bound=Base)


@dataclass(frozen=True)
class Services:
    """Everything that lives as long as the application."""

    settings: Settings
    db: Database
    secrets: Secrets
    scorer: ScorerBox
    limiter: RateLimiter
    rate: RateLimitItem
    stream_threads: CapacityLimiter


def services(request: Request) -> Services:
    """The services of the running application."""
    found: Services = request.app.state.services
    return found


Svc = Annotated[Services, Depends(services)]
_bearer = HTTPBearer(auto_error=False, scheme_name="ApiKey", description="An API key, shown once when it was made.")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, scheme_name="Session", description="Cookie of the web pages.")


def _check_csrf(request: Request, principal: Principal) -> None:
    if request.method in _SAFE or principal.csrf is None:
        return
    sent = request.headers.get(CSRF_HEADER, "")
    if not secrets.compare_digest(sent.encode(), principal.csrf.encode()):
        raise Problem("csrf", f"the header {CSRF_HEADER} does not hold the token of this session")


def sender(
    request: Request,
    svc: Svc,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    cookie: Annotated[str | None, Security(_cookie)],
) -> Principal:
    """Who sends the request.

    Raises:
        Problem: There is no valid key or session, the CSRF token is wrong, or there were too many requests.
    """
    principal = None
    with svc.db.read() as session:
        if bearer is not None:
            principal = principal_of_key(session, svc.secrets, bearer.credentials)
        elif cookie is not None:
            principal = principal_of_session(session, svc.secrets, cookie)
    if principal is None:
        challenge = {"WWW-Authenticate": "Bearer"}
        raise Problem("unauthorized", "no valid API key; send 'Authorization: Bearer gk_…'", headers=challenge)
    if bearer is None:
        _check_csrf(request, principal)
    request.state.actor = principal.actor
    check_rate(svc, principal.actor)
    return principal


def check_rate(svc: Services, *who: str) -> None:
    """Count a request of ``who``.

    Raises:
        Problem: There were too many; ``Retry-After`` tells when the next one is allowed.
    """
    if not svc.limiter.hit(svc.rate, *who):
        free = svc.limiter.get_window_stats(svc.rate, *who).reset_time - time.time()
        retry = {"Retry-After": str(max(1, math.ceil(free)))}
        raise Problem("rate-limited", f"more than {svc.settings.rate_limit} requests", headers=retry)


def _needs(*roles: str) -> Callable[[Principal], Principal]:
    def check(principal: Annotated[Principal, Depends(sender)]) -> Principal:
        if principal.role not in roles:
            raise Problem("forbidden", f"this needs the role {' or '.join(roles)}; the key has {principal.role}")
        return principal

    return check


Anyone = Annotated[Principal, Depends(sender)]
Staff = Annotated[Principal, Depends(_needs("admin", "teacher"))]
Admin = Annotated[Principal, Depends(_needs("admin"))]


def _own_candidate(principal: Annotated[Principal, Depends(_needs("candidate"))]) -> Principal:
    if principal.candidate_id is None:
        raise Problem("forbidden", "the key belongs to no candidate")
    return principal


Examinee = Annotated[Principal, Depends(_own_candidate)]


def reply(model: BaseModel, status: int = 200) -> Response:
    """The model as JSON, with an ETag when it has a revision."""
    return _json(model.model_dump_json(), status, getattr(model, "revision", None))


def _json(body: str, status: int, revision: int | None) -> Response:
    headers = {} if revision is None else {"ETag": f'"{revision}"'}
    return Response(body, status, headers, "application/json")


@dataclass
class Work:
    """Runs a change in one transaction, together with the answer kept for its idempotency key."""

    db: Database
    principal: Principal
    key: str | None
    fingerprint: str
    extra: list[str] = field(default_factory=list)

    def run(self, action: Callable[[Session], BaseModel], status: int = 200) -> Response:
        """The answer of ``action``, or the one stored when the same request came before.

        Raises:
            Problem: The idempotency key was used for another request.
        """
        with self.db.write() as session:
            stored = session.get(Idempotency, (self.principal.actor, self.key)) if self.key else None
            if stored is not None:
                return self._replay(stored)
            model = action(session)
            body, revision = model.model_dump_json(), getattr(model, "revision", None)
            if self.key:
                session.add(self._record(status, json.dumps([body, revision])))
        return _json(body, status, revision)

    def _print(self) -> str:
        return hashlib.sha256("\n".join([self.fingerprint, *self.extra]).encode()).hexdigest()

    def _record(self, status: int, body: str) -> Idempotency:
        return Idempotency(
            actor=self.principal.actor,
            key=self.key,
            org_id=self.principal.org_id,
            fingerprint=self._print(),
            status=status,
            body=body,
        )

    def _replay(self, stored: Idempotency) -> Response:
        if stored.fingerprint != self._print():
            raise Problem("idempotency-key-reused", "this Idempotency-Key was sent with another request before")
        body, revision = json.loads(stored.body)
        answer = _json(body, stored.status, revision)
        answer.headers["Idempotent-Replay"] = "true"
        return answer


async def _work(
    request: Request,
    svc: Svc,
    principal: Anyone,
    idempotency_key: Annotated[
        str | None,
        Header(pattern=r"^[\x21-\x7e]{1,120}$", description="The same key and request again gets the same answer."),
    ] = None,
) -> Work:
    multipart = request.headers.get("content-type", "").startswith("multipart/")
    body = b"" if multipart else await request.body()
    query = request.url.query
    fingerprint = f"{request.method} {request.url.path}?{query} {hashlib.sha256(body).hexdigest()}"
    return Work(svc.db, principal, idempotency_key, fingerprint)


Unit = Annotated[Work, Depends(_work)]


def _if_match(if_match: Annotated[str | None, Header(max_length=100, description="ETag that was read.")] = None) -> int:
    if if_match is None:
        raise Problem("etag-required", "this change needs the header If-Match with the ETag that was read")
    text = if_match.strip().strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Problem("stale-etag", "the ETag is none of this resource; read it again")
    return int(text)


IfMatch = Annotated[int, Depends(_if_match)]


def own(
    session: Session, model: type[_Row], row_id: Any, principal: Principal, what: str, *, lock: bool = False
) -> _Row:
    """The row, if it belongs to the sender's organisation.

    Raises:
        Problem: There is none, or it is another organisation's: the answer is the same.
    """
    row = session.get(model, row_id, with_for_update=LOCK if lock else None)
    if row is None or getattr(row, "org_id", None) != principal.org_id:
        raise Problem("not-found", f"no {what} of this id")
    return row


def bump(row: Any, expected: int, what: str) -> None:
    """Count one more revision of a locked row.

    Raises:
        Problem: It is not the expected one.
    """
    if row.revision != expected:
        raise Problem("stale-etag", f"the {what} was changed meanwhile; read it again and send its new ETag")
    row.revision += 1


def audit(session: Session, principal: Principal, action: str, subject: str) -> None:
    """Note who did what, for the organisation's log."""
    session.add(Audit(org_id=principal.org_id, actor=principal.actor, action=action, subject=subject[:200]))


def encode_cursor(*values: str | float) -> str:
    """An opaque place in a list."""
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None, *kinds: type) -> list[Any] | None:
    """The values of :func:`encode_cursor`, ``None`` for the beginning.

    Raises:
        Problem: It is no cursor of this list.
    """
    if cursor is None:
        return None
    try:
        values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if isinstance(values, list) and [type(value) for value in values] == list(kinds):
            return values
    except ValueError:
        pass
    raise Problem("bad-cursor", "the cursor is not one that this list gave")
