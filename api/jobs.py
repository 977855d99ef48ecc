"""Durable jobs: chunks with a lease, each graded and stored in one transaction.

A worker that dies leaves an expired lease behind and another one does the chunk again; marks are stored together
with the chunk's state, so each answer gets exactly one whatever dies when.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import exists, func, not_, or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement

from api.db import LOCK, Database, made_at
from api.db.models import Chunk, Job

#: Seconds that a lease may seem to end too late, because the clock was read before a wait for the database.
_SLACK = 60.0
Store = Callable[[Session, Chunk, Job], None]


def owner_name() -> str:
    """Host, process and thread, as leases name them."""
    return f"{socket.gethostname()[:80]}:{os.getpid()}:{threading.get_ident()}"


def claim(db: Database, owner: str, lease: float, attempts: int) -> Chunk | None:
    """The next free chunk of an active job, now leased to ``owner``; ``None`` when there is none."""
    free = (
        select(Chunk.id)
        .join(Job, Job.id == Chunk.job_id)
        .where(Job.state == "active", Chunk.state == "pending", _over(db, lease))
        .order_by(Chunk.id)
        .limit(1)
    )
    with db.read() as session:
        if session.scalar(free) is None:
            return None
    with db.write() as session:
        chunk_id = session.scalar(free.with_for_update(**LOCK, skip_locked=True, of=Chunk))
        chunk = session.get(Chunk, chunk_id) if chunk_id else None
        if chunk is not None and chunk.attempts < attempts:
            session.execute(
                update(Chunk)
                .where(Chunk.id == chunk_id)
                .values(owner=owner, lease_until=db.now() + lease, attempts=Chunk.attempts + 1)
                .execution_options(synchronize_session=False)
            )
            return chunk
    if chunk is not None:
        fail(db, chunk, chunk.owner, attempts, "workers died on it")
    return None


def _over(db: Database, lease: float) -> ColumnElement[bool]:
    """Whether nobody works on a chunk.

    A lease that ends later than any could was given before the clock was set back, and counts as over.
    """
    now = db.now()
    return or_(Chunk.lease_until < now, Chunk.lease_until > now + lease + _SLACK)


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is left of the active jobs of all organisations.

    Attributes:
        waiting: Chunks that nobody works on.
        running: Chunks that a worker holds.
        oldest_seconds: How long ago the oldest waiting chunk was made, by the database's clock; 0 if none waits.
    """

    waiting: int
    running: int
    oldest_seconds: float


def backlog(db: Database, lease: float) -> Backlog:
    """Counts what is left, on indices of the states of jobs and chunks; paused jobs do not wait for a worker."""
    free = _over(db, lease)
    count = func.count()
    query = (
        select(db.now(), count.filter(free), count.filter(not_(free)), func.min(Chunk.id).filter(free))
        .select_from(Chunk)
        .join(Job, Job.id == Chunk.job_id)
        .where(Job.state == "active", Chunk.state == "pending")
    )
    with db.read() as session:
        now, waiting, running, oldest = session.execute(query).one()
    return Backlog(waiting, running, 0.0 if oldest is None else max(now - made_at(oldest), 0.0))


def renew(db: Database, chunk: Chunk, owner: str, lease: float, progress: int | None = None) -> None:
    """Keep a chunk that takes long, and note how many of its answers are done."""
    query = update(Chunk).where(Chunk.id == chunk.id, Chunk.owner == owner, Chunk.state == "pending")
    values = {"lease_until": db.now() + lease, **({} if progress is None else {"progress": progress})}
    with db.write() as session:
        session.execute(query.values(values).execution_options(synchronize_session=False))


@contextmanager
def kept(db: Database, chunk: Chunk, owner: str, lease: float) -> Iterator[None]:
    """Renews the lease again and again while the block runs, however long one step of it takes."""
    over = threading.Event()

    def renewing() -> None:
        while not over.wait(lease / 3):
            try:
                renew(db, chunk, owner, lease)
            except SQLAlchemyError:
                continue  # the next turn may succeed; if none does, another worker takes the chunk

    thread = threading.Thread(target=renewing, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def finish(db: Database, chunk: Chunk, owner: str, store: Store) -> bool:
    """Store a chunk's marks and its state together; ``False`` when it is another worker's by now or cancelled."""
    with db.write() as session:
        job = session.get_one(Job, chunk.job_id, with_for_update=LOCK)
        row = session.get_one(Chunk, chunk.id, with_for_update=LOCK)
        if row.owner != owner or row.state != "pending" or job.state == "cancelled":
            return False
        store(session, row, job)
        row.state = "done"
        _settle(session, job)
        return True


def fail(db: Database, chunk: Chunk, owner: str | None, attempts: int, reason: str) -> None:
    """Give a chunk back for another try, or give it up after ``attempts``."""
    with db.write() as session:
        job = session.get_one(Job, chunk.job_id, with_for_update=LOCK)
        row = session.get_one(Chunk, chunk.id, with_for_update=LOCK)
        if row.owner != owner or row.state != "pending":
            return
        row.error, row.lease_until = reason[:500], 0.0
        if row.attempts >= attempts:
            row.state, job.error = "failed", reason[:500]
            _settle(session, job)


def _settle(session: Session, job: Job) -> None:
    session.flush()
    if job.state in ("active", "paused") and not session.scalar(
        select(exists().where(Chunk.job_id == job.id, Chunk.state == "pending"))
    ):
        failed = session.scalar(select(exists().where(Chunk.job_id == job.id, Chunk.state == "failed")))
        job.state, job.finished_at = ("failed" if failed else "done"), time.time()


def free_dead(db: Database) -> None:
    """End the leases of processes of this host that are no more, so that a restart goes on at once."""
    host = owner_name().rsplit(":", 2)[0]
    with db.write() as session:
        query = select(Chunk).where(Chunk.state == "pending", Chunk.lease_until > 0, Chunk.owner.startswith(host + ":"))
        for chunk in session.scalars(query):
            pid = int((chunk.owner or "::").rsplit(":", 2)[1] or 0)
            if pid != os.getpid() and not _alive(pid):
                chunk.lease_until = 0.0


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
