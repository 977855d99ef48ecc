"""Results into files: whatever the kind of file is, it holds whole rows only."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol

import pandas as pd

from grader.errors import InputError
from grader.formats.numeric import Decimal
from grader.formats.writers import EXCEL_CELL_CHARS, write_csv, write_xlsx

Kind = Literal["csv", "xlsx", "parquet"]

_KINDS: dict[str, Kind] = {".csv": "csv", ".tsv": "csv", ".tab": "csv", ".xlsx": "xlsx", ".parquet": "parquet"}
_ROW_GROUP = 4_096


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


def column_types(kept: pd.DataFrame, before: Any = None) -> Any:
    """Arrow schema of the input's columns, together with that of the pieces before; text where types do not agree.

    Raises:
        InputError: A value cannot be stored.
    """
    pa: Any = import_module("pyarrow")
    fields = []
    for label in kept.columns:
        fields.append(pa.field(str(label), _arrow_type(pa, kept[label])))
    found = pa.schema(fields)
    if before is None:
        return found
    return pa.schema(
        [pa.field(new.name, _joint_type(pa, old.type, new.type)) for old, new in zip(before, found, strict=True)]
    )


def _arrow_type(pa: Any, column: pd.Series[Any]) -> Any:
    try:
        return pa.Array.from_pandas(column).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.string()


def _joint_type(pa: Any, old: Any, new: Any) -> Any:
    try:
        sides = [pa.schema([pa.field("column", kind)]) for kind in (old, new)]
        return pa.unify_schemas(sides, promote_options="permissive").field("column").type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.string()


@contextlib.contextmanager
def open_sink(out: Path, *, delimiter: str | None = None, decimal: Decimal = ".", types: Any = None) -> Iterator[Sink]:
    """A sink for ``out``; at the end, and after an error too, ``out`` gets the rows that are complete.

    Where even these cannot be written, as on a full disk, ``out`` stays as it was.

    Args:
        out: The result file.
        delimiter: Of a CSV result; a comma if not given.
        decimal: Decimal mark of a CSV result.
        types: What `column_types` found, for a Parquet result.
    """
    part = out.with_name(f"{out.name}.part")
    sink = _sink(part, out.suffix.lower(), delimiter, decimal, types)
    try:
        yield sink
    finally:
        whole = False
        try:
            sink.close()
            whole = sink.rows > 0
        finally:
            if whole:
                part.replace(out)
            else:
                part.unlink(missing_ok=True)


def _sink(part: Path, suffix: str, delimiter: str | None, decimal: Decimal, types: Any) -> _Csv | _Parquet | _Workbook:
    kind = _KINDS[suffix]
    if kind == "parquet":
        return _Parquet(part, types)
    if kind == "xlsx":
        return _Workbook(part)
    return _Csv(part, (delimiter or ",") if suffix == ".csv" else "\t", decimal)


def check_cells(out: Path, kept: pd.DataFrame) -> None:
    """Refuses rows that the kind of file of ``out`` cannot hold.

    Raises:
        InputError: A text is too long for a workbook.
    """
    if _KINDS[out.suffix.lower()] != "xlsx":
        return
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
        self._part, self._file = part, part.open("wb")
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
        with contextlib.suppress(OSError):  # what did not fit on the disk is still in the buffer
            self._file.close()
        os.truncate(self._part, self._safe)


class _Parquet:
    """Writes some thousand rows at a time, each time a row group."""

    def __init__(self, part: Path, types: Any) -> None:
        self.rows = 0
        part.touch()
        self._part, self._types = part, types
        self._blocks: list[pd.DataFrame] = []
        self._waiting = self._written = 0
        self._writer: Any = None

    def write(self, block: pd.DataFrame) -> None:
        self._blocks.append(block)
        self._waiting += len(block)
        self.rows += len(block)
        if self._waiting >= _ROW_GROUP:
            self._write_group()

    def close(self) -> None:
        if self._blocks:
            self._write_group()
        self.rows = self._written
        if self._writer is not None:
            self._writer.close()

    def _write_group(self) -> None:
        pa: Any = import_module("pyarrow")
        blocks, self._blocks, self._waiting = self._blocks, [], 0
        frame = pd.concat(blocks, ignore_index=True)
        schema = _result_schema(pa, frame, self._types)
        for field in schema:
            if pa.types.is_string(field.type):
                frame[field.name] = frame[field.name].astype(object).map(_text)
        group = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if self._writer is None:
            self._writer = import_module("pyarrow.parquet").ParquetWriter(self._part, group.schema)
        self._writer.write_table(group)
        self._written += len(frame)


class _Workbook:
    """Keeps the blocks and writes the file at the end: a workbook cannot be appended to."""

    def __init__(self, part: Path) -> None:
        self.rows = 0
        part.touch()
        self._part = part
        self._blocks: list[pd.DataFrame] = []

    def write(self, block: pd.DataFrame) -> None:
        self._blocks.append(block)
        self.rows += len(block)

    def close(self) -> None:
        self.rows = sum(map(len, self._blocks))
        if not self._blocks:
            return
        frame = pd.concat(self._blocks, ignore_index=True)
        ids = {at for at, label in enumerate(frame.columns) if str(label).lower() in ("candidate", "item")}
        self._part.write_bytes(write_xlsx([list(frame.columns), *_plain(frame)], id_columns=ids))


def _result_schema(pa: Any, frame: pd.DataFrame, types: Any) -> Any:
    """Types of the input's columns as `column_types` found them, and of those that the result adds."""
    known = {field.name: field.type for field in types or ()}
    added = {"condition_code": pa.string(), "summary": pa.string(), "signature": pa.string(), "referred": pa.bool_()}
    start = list(frame.columns).index("score")
    names = [str(label) for label in frame.columns]
    chosen = {name: added.get(name, pa.float64()) if at >= start else known.get(name) for at, name in enumerate(names)}
    found = {name: kind or pa.Array.from_pandas(frame[name]).type for name, kind in chosen.items()}
    return pa.schema([pa.field(name, kind) for name, kind in found.items()])


def _text(value: object) -> str | None:
    """A value of a column of mixed types as text."""
    return None if value is None or value is pd.NaT or value != value else str(value)


def _plain(frame: pd.DataFrame) -> list[list[object]]:
    """Rows of Python values, ``None`` for nothing."""
    objects = frame.astype(object)
    return [list(row) for row in objects.where(frame.notna(), None).itertuples(index=False, name=None)]
