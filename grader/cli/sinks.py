"""Tables from and to files: whatever the file is, a result holds whole rows only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

import pandas as pd

from grader.errors import InputError
from grader.formats.limits import Limits
from grader.formats.neutral import restore
from grader.formats.numeric import Decimal
from grader.formats.table import Table, read_table
from grader.formats.writers import EXCEL_CELL_CHARS, write_csv, write_xlsx

Kind = Literal["csv", "xlsx", "parquet"]

_KINDS: dict[str, Kind] = {".csv": "csv", ".tsv": "csv", ".tab": "csv", ".xlsx": "xlsx", ".parquet": "parquet"}
#: A file on one's own disk may be larger than one that is sent to the service.
_LIMITS = Limits(
    max_bytes=1_000_000_000,
    max_uncompressed_bytes=4_000_000_000,
    max_rows=2_000_000,
    max_cells=100_000_000,
    max_cell_chars=131_072,
    max_notes=5,
)


class Sink(Protocol):
    """Where finished blocks go; ``rows`` counts the rows that are safe."""

    rows: int

    def write(self, block: pd.DataFrame) -> None:
        """Adds the rows of ``block``, all or none."""
        ...


def check_output(source: Path, out: Path) -> None:
    """Refuses a result that could not be written, before anything is graded.

    Raises:
        InputError: The kind of ``out`` is unknown, it is the source itself, or its folder does not exist.
    """
    if out.suffix.lower() not in _KINDS:
        raise InputError(f"{out}: cannot write '{out.suffix}'; allowed: {', '.join(_KINDS)}")
    if out.exists() and source.exists() and out.samefile(source):
        raise InputError(f"{out}: the result would overwrite the answers; give another name")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out.parent}: no such folder")


def read_frame(path: Path, sheet: str | None = None) -> tuple[pd.DataFrame, Table]:
    """The cells of a table file, named by the file's own row numbers, and the table they came from.

    Raises:
        InputError: It is no readable table.
    """
    table = read_table(path, name=path.name, limits=_LIMITS, sheet=sheet)
    columns = {}
    for at, label in enumerate(table.labels):
        typed = [row[at] if at < len(row) else "" for row in table.values]
        if any(not isinstance(value, str) for value in typed):
            cells: list[object] = [None if value == "" else value for value in typed]
            columns[label] = pd.Series(cells, index=table.rows, dtype=object).infer_objects()
        else:
            columns[label] = pd.Series([restore(text) for text in table.texts(at)], index=table.rows, dtype=object)
    return pd.DataFrame(columns, index=pd.Index(table.rows)), table


@contextlib.contextmanager
def open_sink(out: Path, kept: pd.DataFrame, *, delimiter: str | None, decimal: Decimal) -> Iterator[Sink]:
    """A sink for ``out``; at the end, and after an error too, ``out`` gets the rows that are complete.

    Args:
        out: The result file.
        kept: The input's columns, checked against what the kind of file can hold.
        delimiter: Of a CSV result; a comma if not given.
        decimal: Decimal mark of a CSV result.

    Raises:
        InputError: A text is too long for a workbook.
    """
    kind = _KINDS[out.suffix.lower()]
    if kind == "xlsx":
        _check_workbook(out, kept)
    part = out.with_name(f"{out.name}.part")
    tab = out.suffix.lower() != ".csv"
    sink = _Csv(part, "\t" if tab else delimiter or ",", decimal) if kind == "csv" else _Whole(part, kind)
    try:
        yield sink
    finally:
        sink.close()
        if sink.rows:
            part.replace(out)
        else:
            part.unlink(missing_ok=True)


def _check_workbook(out: Path, kept: pd.DataFrame) -> None:
    for label in kept.columns:
        for row, value in zip(kept.index, kept[label], strict=True):
            if isinstance(value, str) and len(value) >= EXCEL_CELL_CHARS:
                raise InputError(
                    f"row {row}, column {label}: {len(value):,} characters do not fit into a cell of {out.name}; "
                    "write .csv or .parquet"
                )


class _Csv:
    """Appends block by block; what an interruption leaves of a block is cut off."""

    def __init__(self, part: Path, delimiter: str, decimal: Decimal) -> None:
        self.rows = 0
        self._file = part.open("wb")
        self._delimiter, self._decimal = delimiter, decimal
        self._safe = 0

    def write(self, block: pd.DataFrame) -> None:
        first = self._safe == 0
        rows: list[list[object]] = [list(block.columns)] if first else []
        encoding = "utf-8-sig" if first else "utf-8"
        rows += _plain(block)
        self._file.write(write_csv(rows, delimiter=self._delimiter, encoding=encoding, decimal=self._decimal))
        self._file.flush()
        self._safe, self.rows = self._file.tell(), self.rows + len(block)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.truncate(self._safe)
        self._file.close()


class _Whole:
    """Keeps the blocks and writes the file at the end: these kinds cannot be appended to."""

    def __init__(self, part: Path, kind: Kind) -> None:
        self.rows = 0
        part.touch()
        self._part, self._kind = part, kind
        self._blocks: list[pd.DataFrame] = []

    def write(self, block: pd.DataFrame) -> None:
        self._blocks.append(block)
        self.rows += len(block)

    def close(self) -> None:
        self._blocks = self._blocks[:]
        self.rows = sum(map(len, self._blocks))
        if not self._blocks:
            return
        frame = pd.concat(self._blocks, ignore_index=True)
        if self._kind == "xlsx":
            ids = {at for at, label in enumerate(frame.columns) if str(label).lower() in ("candidate", "item")}
            self._part.write_bytes(write_xlsx([list(frame.columns), *_plain(frame)], id_columns=ids))
        else:
            _uniform(frame).to_parquet(self._part, index=False)


def _plain(frame: pd.DataFrame) -> list[list[object]]:
    """Rows of Python values, ``None`` for nothing."""
    objects = frame.astype(object)
    return [list(row) for row in objects.where(frame.notna(), None).itertuples(index=False, name=None)]


def _uniform(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of mixed types as text, since a Parquet column has one type."""
    frame = frame.copy()
    for label in frame.columns:
        kinds = {type(value) for value in frame[label].dropna()} if frame[label].dtype == object else set()
        if len(kinds) > 1:
            frame[label] = frame[label].map(lambda value: None if value is None else str(value))
    return frame
