"""Deployment settings, read from the environment with the prefix ``GRADER_``."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import make_url


class SettingsError(ValueError):
    """The settings contradict one another or a required one is missing."""


class Settings(BaseSettings):
    """How one installation runs; what a mark is made of is never set here.

    Attributes:
        database_url: SQLAlchemy URL, SQLite or PostgreSQL (``postgresql+psycopg://``).
        pepper: Secret that keys and links are hashed with; SQLite keeps its own in a file beside the database.
        host: Address to listen on.
        port: Port to listen on.
        workers: Worker processes that ``serve`` starts.
        threads: Threads that share the work of one call; one a core if not given.
        encoder: ``default`` for the shipped weights, ``hash`` for the fake used by tests, else a model folder.
        cache: Folder of a cache of encodings, outside of the database; off by default, because deleting a candidate
            would leave vectors of their statements in it.
        cache_mb: Megabytes that it may take.
        body_limit: Largest request body in bytes.
        body_seconds: Longest wait for the next piece of a request body.
        request_seconds: Longest wait until an answer begins.
        queue_limit: Requests that may wait to be worked on before new ones are refused.
        score_backlog: Responses that may wait to be scored before new ones are refused; streams wait instead.
        stream_lines: Lines of a stream of responses, whose whole body has no limit.
        stream_line_bytes: Bytes of one of these lines.
        max_rows: Rows of an uploaded table.
        max_columns: Columns of an uploaded table.
        max_cell_chars: Characters in one cell or response.
        chunk_size: Responses graded and stored in one transaction.
        lease_seconds: Time after which a silent worker's chunk is given to another one.
        poll_seconds: Pause of an idle worker, and between two progress events.
        max_attempts: Times a chunk is tried before its job fails.
        stream_seconds: Longest progress stream; clients reconnect.
        rate_limit: Requests per API key, in the notation of ``limits``.
        rate_storage: Where ``limits`` counts; use Redis for several replicas.
        session_hours: Life of a page session.
        link_hours: Life of a one-time link.
        secure_cookies: Send session cookies over HTTPS only.
        cors_origins: Origins (``https://school.example``) that browsers may call from; none by default.
        open_practice: Whether people may practise on the pages without an account; by default only on SQLite.
        log_level: Least severe level that is logged.
    """

    model_config = SettingsConfigDict(env_prefix="GRADER_", env_ignore_empty=True, extra="ignore", frozen=True)

    database_url: str = "sqlite:///grader.db"
    pepper: SecretStr | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    workers: int = Field(default=1, ge=0, le=64)
    threads: int | None = Field(default=None, ge=1, le=256)
    encoder: str = "default"
    cache: str = Field(default="off", min_length=1)
    cache_mb: int = Field(default=2048, ge=1)
    body_limit: int = Field(default=20 * 1024 * 1024, ge=1024)
    body_seconds: float = Field(default=30, gt=0)
    request_seconds: float = Field(default=120, gt=0)
    queue_limit: int = Field(default=100, ge=1)
    score_backlog: int = Field(default=2000, ge=1)
    stream_lines: int = Field(default=100_000, ge=1)
    stream_line_bytes: int = Field(default=256 * 1024, ge=1024)
    max_rows: int = Field(default=20_000, ge=1)
    max_columns: int = Field(default=1_000, ge=1)
    max_cell_chars: int = Field(default=60_000, ge=1)
    chunk_size: int = Field(default=100, ge=1, le=1000)
    lease_seconds: float = Field(default=60, gt=0)
    poll_seconds: float = Field(default=0.25, gt=0)
    max_attempts: int = Field(default=5, ge=1)
    stream_seconds: float = Field(default=300, gt=0)
    rate_limit: str = "600/minute"
    rate_storage: str = "memory://"
    session_hours: float = Field(default=12, gt=0)
    link_hours: float = Field(default=72, gt=0)
    secure_cookies: bool = False
    cors_origins: tuple[str, ...] = ()
    open_practice: bool | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @field_validator("cors_origins")
    @classmethod
    def _named_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            parts = urlsplit(origin)
            if parts.scheme not in ("http", "https") or origin != f"{parts.scheme}://{parts.netloc}" or "*" in origin:
                raise ValueError(f"{origin!r} is no origin; allowed: addresses such as https://school.example")
        return origins

    def resolve_pepper(self) -> bytes:
        """The secret for hashing keys, at least 16 bytes; made once for a SQLite file if none is set.

        Raises:
            SettingsError: None is set and the database is not a SQLite file, or it is too short.
        """
        if self.pepper is not None:
            value = self.pepper.get_secret_value().encode()
            if len(value) < 16:
                raise SettingsError(f"GRADER_PEPPER has {len(value)} bytes; allowed: 16 or more")
            return value
        url = make_url(self.database_url)
        if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
            raise SettingsError(
                "GRADER_PEPPER is not set; allowed: a secret of 16 or more bytes, equal on all replicas"
            )
        return _pepper_file(Path(url.database + ".pepper"))


def _pepper_file(path: Path) -> bytes:
    try:
        with path.open("x", encoding="ascii") as file:
            path.chmod(0o600)
            file.write(secrets.token_urlsafe(32))
    except FileExistsError:
        pass
    value = path.read_text("ascii").strip().encode()
    if len(value) < 16:
        raise SettingsError(f"{path} is damaged; allowed: the file as it was made, from a backup")
    return value
