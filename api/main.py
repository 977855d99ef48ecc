"""What the commands call: serve, work, upgrade, export, import."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

import structlog
import uvicorn

from api import db as database
from api.app import create_app
from api.auth import Secrets
from api.backup import export_all, import_all
from api.db import Database
from api.logs import configure
from api.processes import Workers
from api.settings import Settings
from api.setup import create_organisation, first_key, new_administrator
from api.worker import run_worker
from grader import load_bank
from grader.errors import GraderError


def serve(settings: Settings | None = None, announce: Callable[[str], None] = print) -> None:
    """Run API and workers until interrupted; a new installation prints its administrator's key once.

    Args:
        settings: Deployment settings; from the environment if not given.
        announce: Receives the lines for the person who started it.
    """
    settings = settings or Settings()
    configure(settings.log_level)
    prepare(settings, announce)
    announce(f"Listening on http://{settings.host}:{settings.port}  (API description: /docs)")
    config = uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=20,
        h11_max_incomplete_event_size=64 * 1024,
        server_header=False,
    )
    with Workers(partial(_start_worker, settings), settings.workers):
        uvicorn.Server(config).run()


def prepare(settings: Settings, announce: Callable[[str], None] = print) -> None:
    """Make a SQLite file ready, and a first organisation if there is none; PostgreSQL is upgraded by command only."""
    db = Database(settings.database_url)
    try:
        if db.is_sqlite:
            database.upgrade(settings.database_url)
        key = first_key(db, Secrets(settings.resolve_pepper()), load_bank().values())
        if key is not None:
            announce(f"Administrator's key, shown this once: {key}")
    finally:
        db.close()


def _start_worker(settings: Settings) -> BaseProcess:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_worker_process, args=(settings, os.getpid()), daemon=True)
    process.start()
    return process


def _worker_process(settings: Settings, parent: int) -> None:
    stop = threading.Event()

    def watch() -> None:
        while os.getppid() == parent and not stop.wait(1.0):
            pass
        stop.set()

    threading.Thread(target=watch, daemon=True).start()
    try:
        worker(settings, stop)
    except GraderError as error:
        structlog.get_logger("worker").error("scorer", reason=str(error))
        sys.exit(2)


def worker(settings: Settings | None = None, stop: threading.Event | None = None) -> None:
    """Grade until SIGTERM, SIGINT or ``stop``; the chunk under way is finished and stored.

    Raises:
        GraderError: The scorer cannot be loaded.
    """
    settings = settings or Settings()
    configure(settings.log_level)
    stop = stop or threading.Event()

    def on_signal(_: int, __: FrameType | None) -> None:
        stop.set()

    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, on_signal)
        signal.signal(signal.SIGINT, on_signal)
    run_worker(settings, stop)


def upgrade(settings: Settings | None = None) -> None:
    """Apply the migrations."""
    database.upgrade((settings or Settings()).database_url)


def add_organisation(name: str, settings: Settings | None = None) -> tuple[str, str]:
    """Id and administrator's key of a new organisation with the bank that ships."""
    settings = settings or Settings()
    db = Database(settings.database_url)
    try:
        return create_organisation(db, Secrets(settings.resolve_pepper()), name, load_bank().values())
    finally:
        db.close()


def add_administrator(org_id: str, settings: Settings | None = None) -> str:
    """A new administrator's key of an organisation.

    Raises:
        Problem: There is no such organisation.
    """
    settings = settings or Settings()
    db = Database(settings.database_url)
    try:
        return new_administrator(db, Secrets(settings.resolve_pepper()), org_id)
    finally:
        db.close()


def export_organisation(org_id: str, path: Path, settings: Settings | None = None) -> None:
    """Write everything of an organisation into a file, whole or not at all.

    Raises:
        OSError: It cannot be written, as on a full disk; a file that was there before stays.
    """
    db = Database((settings or Settings()).database_url)
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(export_all(db, org_id))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
        db.close()


def import_organisation(path: Path, settings: Settings | None = None) -> str:
    """Read an organisation from a file; returns its id."""
    db = Database((settings or Settings()).database_url)
    try:
        return import_all(db, path.read_bytes())
    finally:
        db.close()


def organisations(settings: Settings | None = None) -> list[tuple[str, str]]:
    """Id and name of every organisation."""
    from sqlalchemy import select

    from api.db.models import Organisation

    db = Database((settings or Settings()).database_url)
    try:
        with db.read() as session:
            rows = session.execute(select(Organisation.id, Organisation.name).order_by(Organisation.id))
            return [(row.id, row.name) for row in rows]
    finally:
        db.close()
