"""Any table file a teacher may have, as text: CSV, TSV, XLSX or Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import pandas as pd

from grader.errors import InputError
from grader.formats import workbook
from grader.formats.decode import container, decode
from grader.formats.delimited import read_rows
from grader.formats.limits import DEFAULT_LIMITS, Limits, check_limit
from grader.formats.neutral import restore
from grader.formats.notes import Note, NoteLog, column_letter, shorten
from grader.formats.numeric import Decimal, guess_decimal
from grader.formats.workbook import TypedRow, Value, value_text

Kind = Literal["csv", "xlsx", "parquet"]

_EXACT_DIGITS = 1e15
#: Rows from which the decimal mark is guessed.
GUESS_ROWS = 2_000


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it stands in the file: every cell is text and nothing is interpreted.

    Attributes:
        name: File name, for messages.
        kind: Where it came from: csv (also TSV), xlsx or parquet.
        frame: The cells as strings, ``""`` where empty; column labels are the headers made distinct.
        headers: The header texts as written, duplicates and empty ones included, by position.
        rows: Spreadsheet row number of each row of the frame.
        header_row: Spreadsheet row number of the header.
        encoding: Encoding of the text, None for XLSX and Parquet.
        delimiter: Cell delimiter of the text, None for XLSX and Parquet.
        decimal: Decimal mark that the numbers seem to use.
        warnings: What was repaired or looks odd.
        extras: Row number to the cells that stood to the right of the last header.
        values: Typed cells of an XLSX or Parquet file (numbers, dates), row by row; empty for text.
    """

    name: str
    kind: Kind
    frame: pd.DataFrame
    headers: tuple[str, ...]
    rows: tuple[int, ...]
    header_row: int = 1
    encoding: str | None = None
    delimiter: str | None = None
    decimal: Decimal = "."
    warnings: tuple[Note, ...] = ()
    extras: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    values: Sequence[Sequence[Value]] = ()

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The distinct column labels, by position."""
        return tuple(str(label) for label in self.frame.columns)

    def texts(self, position: int) -> list[str]:
        """All cells of one column as text."""
        return [str(cell) for cell in self.frame.iloc[:, position]]


def read_table(source: Path | bytes, *, name: str, limits: Limits = DEFAULT_LIMITS, sheet: str | None = None) -> Table:
    """Read a table file; the kind is told from the content, never from the name.

    Args:
        source: The file, or its bytes.
        name: File name for messages.
        limits: Largest accepted sizes.
        sheet: Sheet of a workbook; None takes the first visible one that is not empty.

    Raises:
        InputError: The file is empty, has a header only, is no table, or passes a limit.
    """
    data = _load(source, name, limits)
    log = NoteLog(limits.max_notes)
    kind = container(data, name)
    if kind == "text":
        text = decode(data, name, log)
        rows, delimiter = read_rows(text.content, name, limits, log)
        return _Builder(name, limits, log).build(rows, "csv", text.encoding, delimiter)
    if kind == "parquet":
        return _Builder(name, limits, log).build(workbook.read_parquet(data, name, limits), "parquet")
    typed = workbook.read_workbook(data, name, limits, log, sheet)
    if not name.lower().endswith((".xlsx", ".xlsm")):
        log.add("excel-content", f"{name} is an Excel file in spite of its name; it was read as one")
    return _Builder(name, limits, log).build(typed, "xlsx")


def table_of(rows: Sequence[TypedRow], kind: Kind, *, name: str, limits: Limits, delimiter: str | None = None) -> Table:
    """A table of numbered rows, header first; see `grader.formats.streaming`.

    Raises:
        InputError: There is a header only, or a limit is passed.
    """
    return _Builder(name, limits, NoteLog(limits.max_notes)).build(rows, kind, delimiter=delimiter)


def _load(source: Path | bytes, name: str, limits: Limits) -> bytes:
    if isinstance(source, Path):
        try:
            size = source.stat().st_size
            data = source.read_bytes() if size <= limits.max_bytes else b""
        except OSError as error:
            raise InputError(f"{name}: cannot be read ({error.strerror}); allowed: a readable file") from None
    else:
        data, size = bytes(source), len(source)
    if size > limits.max_bytes:
        raise InputError(f"{name}: {size:,} bytes; allowed: at most {limits.max_bytes:,}")
    if not data.strip():
        raise InputError(f"{name}: the file is empty; allowed: a header row and at least one row below it")
    return data


@dataclass(frozen=True)
class _Builder:
    """Turns numbered rows of cells into a :class:`Table`."""

    name: str
    limits: Limits
    log: NoteLog
    extras: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def build(
        self,
        typed: Sequence[TypedRow],
        kind: Kind,
        encoding: str | None = None,
        delimiter: str | None = None,
    ) -> Table:
        """The table; its first filled row is the header."""
        filled = [(number, row) for number, row in typed if any(value_text(cell).strip() for cell in row)]
        if not filled:
            raise InputError(f"{self.name}: no filled cell; allowed: a header row and at least one row below it")
        header_row, body = filled[0][0], filled[1:]
        if not body:
            raise InputError(f"{self.name}: a header but no rows; allowed: at least one row below row {header_row}")
        headers = _trim_header([value_text(cell) for cell in filled[0][1]], body)
        self._check_size(len(headers), len(body))
        labels = _labels(headers, self.log, header_row)
        cells = [self._fit(number, row, labels) for number, row in body]
        sample = [cell for row in cells[:GUESS_ROWS] for cell in row]
        return Table(
            name=self.name,
            kind=kind,
            frame=pd.DataFrame(cells, columns=pd.Index(labels), dtype="str"),
            headers=tuple(headers),
            rows=tuple(number for number, _ in body),
            header_row=header_row,
            encoding=encoding,
            delimiter=delimiter,
            decimal=guess_decimal([*sample, *_header_numbers(headers)], delimiter),
            warnings=self.log.notes(),
            extras=self.extras,
            values=() if kind == "csv" else [list(row[: len(headers)]) for _, row in body],
        )

    def _check_size(self, columns: int, rows: int) -> None:
        check_limit(self.name, "columns", columns, self.limits.max_columns)
        check_limit(self.name, "rows", rows, self.limits.max_rows)
        check_limit(self.name, "cells", columns * rows, self.limits.max_cells)

    def _fit(self, number: int, row: Sequence[Value], labels: Sequence[str]) -> list[str]:
        """One row as wide as the header; what is missing is empty, what is too much goes to ``extras``."""
        texts = [value_text(value) for value in row]
        width = len(labels)
        for position, value in enumerate(row):
            self._check_cell(number, position, texts[position], value)
        if len(texts) < width:
            message = f"{len(texts)} cells where the header has {width}; the missing ones are read as empty"
            self.log.add("short-row", message, row=number, column=labels[len(texts)])
        surplus = texts[width:]
        if any(map(str.strip, surplus)):
            self.extras[number] = tuple(surplus)
            self.log.add(
                "extra-cells",
                f"{len(surplus)} cells beyond the header, from {shorten(surplus[0])}; kept aside: check "
                "that the cells of this row did not move (a text with a delimiter needs quotation marks)",
                row=number,
            )
        return [*texts[:width], *[""] * (width - len(texts))]

    def _check_cell(self, number: int, position: int, text: str, value: Value) -> None:
        if isinstance(value, float) and abs(value) >= _EXACT_DIGITS:
            self.log.add(
                "long-number",
                f"{value!r} is a number of more than 15 digits, which Excel does not keep exactly; format ids as text",
                row=number,
                column=column_letter(position),
            )
        if len(text) > self.limits.max_cell_chars or "\x00" in text:
            where = f"{self.name}: row {number}, column {column_letter(position)}"
            check_limit(where, "characters in a cell", len(text), self.limits.max_cell_chars)
            raise InputError(f"{where}: a NUL character; allowed: text without it")


def _header_numbers(headers: Sequence[str]) -> list[str]:
    """Numbers after a slash, as in ``Bewertung/10,00``."""
    return [header.rpartition("/")[2] for header in headers]


def _trim_header(headers: list[str], body: Sequence[TypedRow]) -> list[str]:
    """Drop columns at the right end that have neither a header nor any cell."""
    width = len(headers)
    while width > 1 and not headers[width - 1].strip():
        if any(len(row) >= width and value_text(row[width - 1]).strip() for _, row in body):
            break
        width -= 1
    return headers[:width]


def _labels(headers: Sequence[str], log: NoteLog, header_row: int) -> list[str]:
    """Distinct labels: the header, with its count when it comes again and its letter when it is empty."""
    labels: list[str] = []
    taken: set[str] = set()
    for position, header in enumerate(headers):
        base = restore(header) if header.strip() else f"(column {column_letter(position)})"
        label, count = base, 1
        while label in taken:
            count += 1
            label = f"{base} ({count})"
        if count > 1:
            log.add(
                "duplicate-header",
                f"the header {shorten(header)} comes again in column {column_letter(position)}; kept as {label!r}",
                row=header_row,
                column=label,
            )
        elif not header.strip():
            log.add("empty-header", f"no header; kept as {label!r}", row=header_row, column=label)
        taken.add(label)
        labels.append(label)
    return labels
