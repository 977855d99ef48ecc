"""XLSX and Parquet bytes into rows of cells, with the typed values kept beside their text."""

from __future__ import annotations

import datetime as dt
import io
import math
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from grader.errors import InputError
from grader.formats.archive import check_workbook
from grader.formats.limits import Limits, check_limit
from grader.formats.notes import NoteLog

Value = str | float | int | bool | dt.datetime | dt.date | dt.time | dt.timedelta
TypedRow = tuple[int, Sequence[Value]]

_EXACT_DIGITS = 1e15
_BATCH_ROWS = 1_000


def value_text(value: object) -> str:
    """What a cell holds, as text: whole numbers without a decimal part, dates in ISO order.

    >>> value_text(12345.0), value_text(True), value_text(None)
    ('12345', 'TRUE', '')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_DIGITS:
        return str(int(value))
    return str(value)


def read_workbook(data: bytes, name: str, limits: Limits, log: NoteLog, sheet: str | None) -> list[TypedRow]:
    """The rows of one sheet: the one named, else the first visible one that holds anything.

    Raises:
        InputError: The file is damaged, is no workbook, passes a limit, or has no such sheet.
    """
    check_workbook(data, name, limits)
    try:
        names, grids = _sheets(data)
    except BaseException as error:
        # The Rust parser panics on some damaged files, and a panic is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise InputError(f"{name}: a damaged Excel file ({error}); allowed: save it again in Excel") from None
    chosen = _choose(names, grids, name, log, sheet)
    return list(enumerate(grids[chosen], 1))


def _sheets(data: bytes) -> tuple[list[str], dict[str, list[list[Value]]]]:
    """Names of the readable sheets in order (visible ones first) and their cells."""
    book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    tables = [meta for meta in book.sheets_metadata if meta.typ == SheetTypeEnum.WorkSheet]
    tables.sort(key=lambda meta: meta.visible != SheetVisibleEnum.Visible)
    grids: dict[str, list[list[Value]]] = {}
    for meta in tables:
        rows = book.get_sheet_by_name(meta.name).to_python(skip_empty_area=False)
        grids[meta.name] = [list(row) for row in rows]
    return [meta.name for meta in tables], grids


def _choose(names: list[str], grids: dict[str, list[list[Value]]], name: str, log: NoteLog, sheet: str | None) -> str:
    if sheet is not None:
        if sheet not in grids:
            raise InputError(f"{name}: no sheet {sheet!r}; allowed: {', '.join(map(repr, names)) or 'none'}")
        return sheet
    filled = [one for one in names if any(value_text(cell).strip() for row in grids[one] for cell in row)]
    if not filled:
        raise InputError(f"{name}: every sheet of the Excel file is empty; allowed: a header row and rows below it")
    if len(filled) > 1:
        others = ", ".join(map(repr, filled[1:]))
        log.add("other-sheets", f"only the sheet {filled[0]!r} was read; not read: {others}")
    return filled[0]


def read_parquet(data: bytes, name: str, limits: Limits) -> list[TypedRow]:
    """Header and rows of a Parquet file, numbered as if the header stood in row 1.

    Raises:
        InputError: The file is damaged, holds nested or binary columns, or passes a limit.
    """
    return list(parquet_rows(io.BytesIO(data), name, limits))


def parquet_rows(source: Path | io.BytesIO, name: str, limits: Limits) -> Iterator[TypedRow]:
    """As `read_parquet`, a thousand rows in memory at a time."""
    pa: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    try:
        with parquet.ParquetFile(source) as file:
            _check_parquet(file.metadata, name, limits)
            for field in file.schema_arrow:
                if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
                    raise InputError(f"{name}: column {field.name!r} holds {field.type}; allowed: text, numbers, dates")
            yield 1, list(file.schema_arrow.names)
            number = 1
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
                columns = [column.to_pylist() for column in batch.columns]
                for row in zip(*columns, strict=True):
                    number += 1
                    yield number, ["" if cell is None else cell for cell in row]
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        raise InputError(f"{name}: a damaged Parquet file ({error}); allowed: write it again") from None


def parquet_texts(source: Path) -> set[str]:
    """Names of the columns of a readable Parquet file that hold text."""
    pa: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    schema = parquet.read_schema(source)
    return {field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)}


def _check_parquet(metadata: Any, name: str, limits: Limits) -> None:
    rows, columns = metadata.num_rows, metadata.num_columns
    size = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    check_limit(name, "rows", rows, limits.max_rows)
    check_limit(name, "columns", columns, limits.max_columns)
    check_limit(name, "cells", rows * columns, limits.max_cells)
    check_limit(name, "bytes when expanded", size, limits.max_uncompressed_bytes)
