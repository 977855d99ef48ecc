"""Values by key in one SQLite file of bounded size, for several processes and threads at a time.

What is stored here can be computed again, so nothing the file does may stop the work: what cannot be written is left
out, and a file that is damaged is noticed by its checksums, set aside and begun anew.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import TypeVar

NAME = "encodings.sqlite"
DEFAULT_LIMIT = 2048 * 2**20
_FORMAT = 2
_PAGE = 16_384
_BUSY_SECONDS = 5.0
_PENDING_BYTES = 4 * 2**20
_ASKED = 500
_FREED = 0.1
_HOUR = 3600
#: Errors of the moment: another process writes, the disk is full or read-only. All others mean a damaged file.
_PASSING = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_AUTH,
}  # fmt: skip
_SCHEMA = """
create table if not exists entries (
    id integer primary key, key blob not null unique, used integer not null, size integer not null
);
create index if not exists entries_used on entries (used, id);
create table if not exists contents (id integer primary key, checksum integer not null, value blob not null);
"""

log = logging.getLogger(__name__)
_Found = TypeVar("_Found")
_Default = TypeVar("_Default")


class DamagedError(Exception):
    """The file holds something else than what was written."""


class BlobStore:
    """A dictionary of bytes on disk that forgets what was not used for longest."""

    def __init__(self, folder: Path, *, limit: int = DEFAULT_LIMIT) -> None:
        """Opens the file in ``folder``, which is made if it does not exist.

        Args:
            folder: Readable by the owner only if it is made here.
            limit: Bytes that the file may take, about; at least a megabyte is sensible.
        """
        self.path = folder / NAME
        self._limit = limit
        self._lock = RLock()
        self._pending: dict[bytes, bytes] = {}
        self._pending_bytes = 0
        self._used: set[bytes] = set()
        self._warned = False
        self._database: sqlite3.Connection | None = None
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            log.warning("no cache of encodings in %s: %s", folder, error.strerror)
            return
        self._guarded(self._open, None)
        atexit.register(self.close)

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values that are known, by key."""
        with self._lock:
            waiting = {key: self._pending[key] for key in keys if key in self._pending}
            stored = self._guarded(lambda: self._select([key for key in keys if key not in waiting]), None)
            return waiting | (stored or {})

    def write(self, values: Mapping[bytes, bytes]) -> None:
        """Adds values; they reach the disk after a while, or with `flush`."""
        with self._lock:
            if self._database is None:
                return
            self._pending.update(values)
            self._pending_bytes += sum(map(len, values.values()))
            if self._pending_bytes > _PENDING_BYTES:
                self.flush()

    def flush(self) -> None:
        """Writes what is waiting."""
        with self._lock:
            if self._pending or self._used:
                self._guarded(self._insert, None)
            self._pending.clear()
            self._used.clear()
            self._pending_bytes = 0

    def close(self) -> None:
        """Writes what is waiting and closes the file; reads find nothing afterwards."""
        with self._lock:
            self.flush()
            self._disconnect()
        atexit.unregister(self.close)

    def size(self) -> tuple[int, int]:
        """Number of values on disk, and bytes they take."""
        with self._lock:
            self.flush()
            return self._guarded(self._measure, (0, 0))

    def _guarded(self, action: Callable[[], _Found], otherwise: _Default) -> _Found | _Default:
        """What ``action`` returns; ``otherwise`` when the file cannot be used now, or is damaged and begun anew."""
        if self._database is None and action != self._open:
            return otherwise
        try:
            return action()
        except DamagedError as error:
            self._begin_anew(str(error))
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            if isinstance(error, sqlite3.OperationalError) and code is not None and code & 0xFF in _PASSING:
                self._warn_once(error)
                self._roll_back()
            else:
                self._begin_anew(str(error))
        return otherwise

    def _warn_once(self, error: sqlite3.Error) -> None:
        if not self._warned:
            log.warning("the cache of encodings in %s cannot be used now: %s", self.path, error)
        self._warned = True

    def _open(self) -> None:
        database = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            database.execute(f"pragma page_size = {_PAGE}")
            database.execute("pragma journal_mode = wal")
            database.execute("pragma synchronous = normal")
            database.execute("begin immediate")
            found = database.execute("pragma user_version").fetchone()[0]
            if found not in (0, _FORMAT):
                raise DamagedError(f"format {found}, expected {_FORMAT}")
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
            database.execute(f"pragma user_version = {_FORMAT}")
            database.execute("commit")
        except BaseException:
            database.close()
            raise
        self._database = database

    def _begin_anew(self, reason: str) -> None:
        """Puts the damaged file aside, for whoever wants to look at it, and opens a new one."""
        self._disconnect()
        aside = self.path.with_name(f"{NAME}.damaged")
        log.warning("the cache of encodings in %s is damaged (%s): set aside as %s", self.path, reason, aside.name)
        try:
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                self.path.replace(aside)
            for end in ("-wal", "-shm"):
                self.path.with_name(NAME + end).unlink(missing_ok=True)
            self._open()
        except (OSError, sqlite3.Error, DamagedError) as error:
            log.warning("no cache of encodings in %s: %s", self.path, error)

    def _disconnect(self) -> None:
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
        self._database = None

    def _roll_back(self) -> None:
        if self._database is not None and self._database.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("rollback")

    def _execute(self, query: str, values: Iterable[object] = ()) -> sqlite3.Cursor:
        assert self._database is not None
        return self._database.execute(query, tuple(values))

    def _select(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _ASKED):
            part = keys[start : start + _ASKED]
            query = (
                "select key, used, checksum, value from entries join contents on contents.id = entries.id"
                f" where key in ({','.join('?' * len(part))})"
            )
            for key, used, total, value in self._execute(query, part):
                if total != checksum(key, value):
                    raise DamagedError("a checksum does not fit")
                found[key] = value
                if used < _hour():
                    self._used.add(key)
        return found

    def _insert(self) -> None:
        now = _hour()
        self._execute("begin immediate")
        for key in self._used:
            self._execute("update entries set used = ? where key = ?", (now, key))
        for key, value in self._pending.items():
            added = "insert into entries (key, used, size) values (?, ?, ?) on conflict (key) do nothing returning id"
            for (ident,) in self._execute(added, (key, now, len(value))).fetchall():
                row = (ident, checksum(key, value), value)
                self._execute("insert or replace into contents (id, checksum, value) values (?, ?, ?)", row)
        self._forget()
        self._execute("commit")

    def _forget(self) -> None:
        """Deletes what was not used for longest until a tenth of the limit is free."""
        excess = self._measure()[1] - self._limit
        if excess <= 0:
            return
        wanted, old = excess + int(self._limit * _FREED), list[tuple[int]]()
        for ident, size in self._execute("select id, size from entries order by used, id"):
            if wanted <= 0:
                break
            wanted -= size
            old.append((ident,))
        assert self._database is not None
        for table in ("entries", "contents"):
            self._database.executemany(f"delete from {table} where id = ?", old)

    def _measure(self) -> tuple[int, int]:
        count = self._execute("select count(*) from entries").fetchone()[0]
        pages, free = (self._execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
        return count, (pages - free) * _PAGE


def checksum(key: bytes, value: bytes) -> int:
    """Of a value under its key, so that values in each other's place are noticed too."""
    return zlib.crc32(value, zlib.crc32(key))


def clear(folder: Path) -> None:
    """Deletes the file in ``folder`` and what belongs to it.

    Raises:
        OSError: A file cannot be deleted.
    """
    for end in ("", "-wal", "-shm", ".damaged"):
        (folder / (NAME + end)).unlink(missing_ok=True)


def _hour() -> int:
    return int(time.time()) // _HOUR
