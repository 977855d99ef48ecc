"""The store of what was computed before: bounded, shared, and never a wrong value."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from grader import store as module
from grader.store import NAME, BlobStore, clear

ROOT = Path(__file__).parents[2]


def value(at: int, size: int = 3_000) -> tuple[bytes, bytes]:
    return b"key %d" % at, bytes([at % 251]) * size


def test_values_come_back_in_this_process_and_the_next(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "new" / "folder")
    known = dict(map(value, range(1_200)))
    store.write(known)
    assert store.read([*known, b"other"]) == known
    store.close()
    again = BlobStore(tmp_path / "new" / "folder")
    assert again.read([*known, b"other"]) == known
    assert again.size()[0] == 1_200
    assert (tmp_path / "new" / "folder").stat().st_mode & 0o077 == 0
    assert again.read([]) == {}
    again.close()
    assert again.read(list(known)) == {}


def test_the_oldest_used_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hour = [1_000]
    monkeypatch.setattr(module, "_hour", lambda: hour[0])
    store = BlobStore(tmp_path, limit=2 * 2**20)
    for at in range(300):
        hour[0] += 1
        store.write(dict([value(at, 20_000)]))
        store.flush()
        store.read([b"key 0"])
    count, size = store.size()
    assert size <= 2.1 * 2**20
    assert 50 < count < 110
    found = store.read([value(at)[0] for at in range(300)])
    assert b"key 0" in found, "it was read all the time"
    assert b"key 299" in found
    assert b"key 1" not in found
    assert (tmp_path / NAME).stat().st_size <= 3 * 2**20


def damage_the_head(path: Path) -> None:
    path.write_bytes(b"no database" + path.read_bytes()[11:])


def damage_a_value(path: Path) -> None:
    data = path.read_bytes()
    assert data.count(b"\x07" * 1_000) == 1
    path.write_bytes(data.replace(b"\x07" * 1_000, b"\x08" * 1_000))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40_000])


def other_format(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("pragma user_version = 99")
    database.close()


def drop_a_table(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("drop table contents")
        database.execute("create table contents (other)")
    database.close()


def swap_values(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("update entries set id = -id")
        database.execute("update entries set id = 21 + id")
    database.close()


@pytest.mark.parametrize(
    "damage", [damage_the_head, damage_a_value, cut, other_format, drop_a_table, swap_values], ids=lambda f: f.__name__
)
def test_a_damaged_file_is_set_aside_and_begun_anew(
    damage: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = {value(at)[0]: bytes([at]) * 1_000 for at in range(20)}
    store = BlobStore(tmp_path)
    store.write(known)
    store.close()
    damage(tmp_path / NAME)  # type: ignore[operator]
    again = BlobStore(tmp_path)
    with caplog.at_level(logging.WARNING):
        found = again.read(list(known))
    assert all(found[key] == known[key] for key in found), "never a wrong value"
    assert found == {}
    assert "damaged" in caplog.text
    assert (tmp_path / f"{NAME}.damaged").exists()
    again.write(known)
    again.close()
    assert BlobStore(tmp_path).read(list(known)) == known
    clear(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_damaged_under_a_running_process(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    known = dict(map(value, range(400)))
    store.write(known)
    store.flush()
    with sqlite3.connect(tmp_path / NAME) as database:
        database.execute("update contents set value = zeroblob(length(value)) where id = 7")
    database.close()
    assert store.read(list(known)) == {}
    store.write(known)
    store.flush()
    assert store.read(list(known)) == known


@pytest.mark.parametrize("what", ["file", "unwritable"])
def test_a_place_that_cannot_be_used_is_no_error(what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = tmp_path / "place"
    if what == "file":
        place.write_text("a file")
    else:
        place.mkdir()
        (place / NAME).mkdir()
    store = BlobStore(place)
    store.write({b"a": b"b"})
    store.flush()
    assert store.read([b"a"]) == {}
    assert store.size() == (0, 0)
    assert "cache of encodings" in caplog.text


def test_a_full_disk_loses_values_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = BlobStore(tmp_path)
    store.write({b"small": b"value"})
    store.flush()
    assert store._database is not None
    store._database.execute("pragma max_page_count = 12")
    store.write(dict([value(1, 1_000_000)]))
    store.flush()
    store.write(dict([value(2, 1_000_000)]))
    store.flush()
    assert store.read([b"small", b"key 1"]) == {b"small": b"value"}
    assert len([line for line in caplog.messages if "cannot be used now" in line]) == 1


def test_a_clock_that_jumps_back_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = BlobStore(tmp_path)
    store.write({b"before": b"1"})
    store.flush()
    monkeypatch.setattr(module.time, "time", lambda: 0.0)
    store.write({b"after": b"2"})
    store.flush()
    assert store.read([b"before", b"after"]) == {b"before": b"1", b"after": b"2"}


def test_threads_share_a_store(tmp_path: Path) -> None:
    store, wrong = BlobStore(tmp_path, limit=2**20), list[int]()

    def work(start: int) -> None:
        for at in range(start, start + 300):
            key, content = value(at % 400)
            wrong.extend([at] if store.read([key]).get(key, content) != content else [])
            store.write({key: content})

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


_PROCESS = """
import sys
from pathlib import Path
from grader.store import BlobStore
store, wrong, found = BlobStore(Path(sys.argv[1]), limit=3_000_000), 0, 0
for at in range(int(sys.argv[2]), int(sys.argv[2]) + 400):
    key, content = b"key %d" % (at % 500), bytes([at % 250]) * 20_000
    known = store.read([key])
    found += len(known)
    wrong += known.get(key, content) != content
    store.write({key: content})
    if at % 10 == 0:
        store.flush()
store.close()
print(wrong, found)
"""


def test_processes_share_a_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROCESS, str(tmp_path)]
    running = [
        subprocess.Popen([*command, str(start)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env=os.environ | {"PYTHONWARNINGS": "error"})
        for start in (0, 100, 200)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=120) for process in running]
    assert [(out.split()[0], err) for out, err in outputs] == [("0", "")] * 3
    assert BlobStore(tmp_path).size()[1] <= 3_300_000
