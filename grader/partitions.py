"""Folders of tables, graded one partition at a time so that a run can be stopped, resumed and spread over machines.

For every table of the source folder the result folder gets a table of the same name, written whole or not at all, and
under ``.grader`` a record of what it was made from. A partition whose record still fits is not graded again. Rows that
cannot be graded are left out and named with their reasons in ``failed.csv``.
"""

from __future__ import annotations

import csv
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from grader.calibration import Calibration
from grader.encoder import file_sha256
from grader.errors import InputError, ModelError
from grader.formats.neutral import neutralise
from grader.grading import Grader
from grader.loading import load_grader
from grader.rubric import Item
from grader.sinks import open_sink
from grader.sources import open_pieces
from grader.store import DEFAULT_LIMIT
from grader.table_stream import CheckedTable, check_table
from grader.tables import Plan

KINDS = (".csv", ".tsv", ".parquet")
FAILED = "failed.csv"
_RECORDS = ".grader"
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Settings:
    """What every partition of a run is graded with; goes to other machines as it is.

    Attributes:
        out: The result folder.
        bank: Items by id; ``None`` for tables that bring their own questions.
        encoder: See `grader.loading.load_grader`.
        cache: Folder of the cache of encodings on each machine.
        limit: Bytes that the cache may take.
        threads: Threads that grade in one process; ``None`` for as many as there are cores.
        language: Language of the summaries.
        calibrations: Calibrations by item id.
        run: Distinguishes unfinished files of this run from those of others.
    """

    out: Path
    bank: Mapping[str, Item] | None
    encoder: str = "default"
    cache: Path | None = None
    limit: int = DEFAULT_LIMIT
    threads: int | None = None
    language: str = "en"
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    run: str = field(default_factory=lambda: uuid.uuid4().hex)

    def load(self) -> Grader:
        """The grader."""
        return load_grader(self.encoder, cache=self.cache, limit=self.limit, threads=self.threads)

    def signatures(self, grader: Grader) -> dict[str, str]:
        """Everything that marks of each item depend on besides the answers, by item id."""
        items = [Item.from_reference("?", "!")] if self.bank is None else self.bank.values()
        names = {item.id: self.calibrations[item.id].name for item in items if item.id in self.calibrations}
        return {item.id: grader.signature(item, names.get(item.id, "none")) for item in items}


@dataclass(frozen=True, slots=True)
class Done:
    """A partition that was worked on.

    Attributes:
        name: Its place below the folder.
        rows: Responses with a mark.
        failed: Row number (``None``: the whole table) and reason of what could not be graded.
        fresh: Whether it was graded now; if not, it had been before.
    """

    name: str
    rows: int
    failed: tuple[tuple[int | None, str], ...] = ()
    fresh: bool = True


Signatures = Mapping[str, str]
#: Tables, their folder, settings, signatures, and a grader for engines that work in this process.
Engine = Callable[[Sequence[Path], Path, Settings, Signatures, Grader], Iterable[Done]]


def partitions(source: Path, out: Path) -> list[Path]:
    """The tables below ``source``, relative to it, in the order of their names.

    Hidden files and files whose names start with ``_`` are left alone.

    Raises:
        InputError: There is none, a file is of another kind, or the results would go into the source folder.
    """
    if out.resolve() == source.resolve() or source.resolve() in out.resolve().parents:
        raise InputError(f"{out}: the results would go into the folder of the answers; give another one")
    found = []
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        if not path.is_file() or any(part.startswith((".", "_")) for part in name.parts):
            continue
        if path.suffix.lower() not in KINDS:
            raise InputError(f"{path}: a folder holds {', '.join(KINDS)} only; move this file elsewhere")
        if str(name) == FAILED:
            raise InputError(f"{path}: the results have a file of this name; rename it")
        found.append(name)
    if not found:
        raise InputError(f"{source}: no table; allowed: {', '.join(KINDS)}")
    return found


def grade_folder(source: Path, settings: Settings, engine: Engine) -> Iterator[Done]:
    """Grades every partition of ``source`` that has not been graded yet; writes the list of failures at the end.

    Args:
        source: Folder of tables.
        settings: What they are graded with.
        engine: Where the work is done.

    Raises:
        InputError: See `partitions`.
        ModelError: The weights are missing or altered.
    """
    names = partitions(source, settings.out)
    grader = settings.load()
    signatures = settings.signatures(grader)
    (settings.out / _RECORDS).mkdir(parents=True, exist_ok=True)
    all_done = []
    try:
        for done in engine(names, source, settings, signatures, grader):
            all_done.append(done)
            yield done
    finally:
        for left in (settings.out / _RECORDS).rglob(f"*{settings.run}*"):
            left.unlink(missing_ok=True)
    _write_failed(settings.out / FAILED, all_done)


def local(
    names: Sequence[Path], source: Path, settings: Settings, signatures: Signatures, grader: Grader
) -> Iterator[Done]:
    """The engine that works in this process, partition by partition."""
    for name in names:
        yield grade_partition(name, source, settings, signatures, grader)


def grade_partition(name: Path, source: Path, settings: Settings, signatures: Signatures, grader: Grader) -> Done:
    """Grades one table, unless that was done before with the same table and settings.

    Nothing is lost when this is interrupted, or done twice at the same time: the result is renamed into place when it
    is whole, and both times it is the same.

    Raises:
        ModelError: The weights are missing or altered.
        OSError: The result cannot be written.
    """
    out, record = settings.out / name, settings.out / _RECORDS / f"{name}.json"
    made_from = {"source": file_sha256(source / name), "language": settings.language}
    known = _read_record(record)
    if known is not None and _fits(known, made_from, signatures) and (known["rows"] == 0 or out.exists()):
        return Done(str(name), known["rows"], tuple((row, why) for row, why in known["failed"]), fresh=False)
    for folder in (out.parent, record.parent):
        folder.mkdir(parents=True, exist_ok=True)
    record.unlink(missing_ok=True)
    out.unlink(missing_ok=True)  # it was made from something else
    unfinished = record.with_name(f"{uuid.uuid4().hex}-{settings.run}{name.suffix}")
    try:
        done, items = _grade(name, source, settings, grader, unfinished)
    except InputError as error:
        return Done(str(name), 0, ((None, str(error)),))
    if done.rows:
        unfinished.replace(out)
    used = signatures if done.failed else {item: signatures[item] for item in items}
    _write_whole(record, settings.run, json.dumps({**asdict(done), "made_from": made_from, "signatures": dict(used)}))
    return done


def _fits(record: Mapping[str, Any], made_from: Mapping[str, str], signatures: Signatures) -> bool:
    """Whether a record's result would be the same today; where rows have failed, another rubric may mend them."""
    if record["made_from"] != made_from:
        return False
    if record["failed"]:
        return bool(record["signatures"] == dict(signatures))
    return all(signatures.get(item) == line for item, line in record["signatures"].items())


def _grade(name: Path, source: Path, settings: Settings, grader: Grader, out: Path) -> tuple[Done, set[str]]:
    """Writes the result, and returns what came of it and the ids of the items that were answered."""
    pieces = open_pieces(source / name)
    table = check_table(pieces, settings.bank, tolerant=True)
    failed = dict(table.refused)
    with open_sink(out, delimiter=pieces.delimiter, decimal=pieces.decimal, types=table.types) as sink:
        for block in _blocks(table, settings, grader, failed):
            sink.write(block)
    return Done(str(name), sink.rows, tuple(sorted(failed.items()))), set(table.items)


def _blocks(table: CheckedTable, settings: Settings, grader: Grader, failed: dict[int, str]) -> Iterator[pd.DataFrame]:
    """The result block by block; a response that cannot be graded costs itself only."""
    options: dict[str, Any] = {"language": settings.language, "calibrations": settings.calibrations}
    for planned in table.plans():
        for part in _parts(planned, _BLOCK):
            try:
                yield from list(part.blocks(grader, size=_BLOCK, **options))
            except (ModelError, OSError, MemoryError):
                raise
            except Exception:
                yield from _one_by_one(part, grader, failed, options)


def _one_by_one(
    planned: Plan, grader: Grader, failed: dict[int, str], options: Mapping[str, Any]
) -> Iterator[pd.DataFrame]:
    for part in _parts(planned, 1):
        try:
            yield from list(part.blocks(grader, size=1, **options))
        except (ModelError, OSError, MemoryError):
            raise
        except Exception as error:
            # Messages of unknown errors may quote an answer, so only their kind is kept.
            failed[int(part.kept.index[0])] = str(error) if isinstance(error, InputError) else type(error).__name__


def _parts(planned: Plan, size: int) -> Iterator[Plan]:
    for start in range(0, len(planned.jobs), size):
        end = start + size
        yield Plan(planned.kept.iloc[start:end], planned.jobs[start:end], planned.components)


def _read_record(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(found, dict) and {"made_from", "rows", "failed", "signatures"} <= found.keys()
    return found if whole else None


def _write_whole(path: Path, run: str, text: str) -> None:
    unfinished = path.with_name(f"{uuid.uuid4().hex}-{run}")
    unfinished.write_text(text, "utf-8")
    unfinished.replace(path)


def _write_failed(path: Path, done: Sequence[Done]) -> None:
    """One line a row that has no mark; no file when there is none."""
    lines = [
        (one.name, "" if row is None else row, neutralise(why))
        for one in sorted(done, key=lambda one: one.name)
        for row, why in one.failed
    ]
    if not lines:
        path.unlink(missing_ok=True)
        return
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("table", "row", "reason"))
        writer.writerows(lines)
