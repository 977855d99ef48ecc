"""Table files of any length, read some rows at a time.

Clean files are streamed: Parquet, and CSV text in UTF-8 or UTF-16 whose rows are all as wide as its header. Whatever
needs a note or a repair, and every workbook, is read whole by `grader.formats.table` and comes as one piece.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

from grader.errors import InputError
from grader.formats.decode import MARKUP, container, utf16
from grader.formats.delimited import SEP_LINE, SNIFF_CHARS, sniff_delimiter
from grader.formats.limits import Limits
from grader.formats.notes import Note
from grader.formats.numeric import Decimal
from grader.formats.table import GUESS_ROWS, Table, read_table, table_of
from grader.formats.workbook import TypedRow, Value, parquet_rows, parquet_texts, value_text

PIECE = 2_048
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_HEAD = 65_536


@dataclass(frozen=True, slots=True)
class Pieces:
    """A table file in pieces of some thousand rows, which can be read again and again.

    Attributes:
        name: File name, for messages.
        tables: Reads the file from its beginning; every piece has the header, and row numbers of the whole file.
        delimiter: Cell delimiter of a text file.
        decimal: Decimal mark that the numbers seem to use.
        warnings: What was repaired or looks odd.
        texts: Labels of the columns that hold text; ``None`` where the cells have to tell.
    """

    name: str
    tables: Callable[[], Iterator[Table]]
    delimiter: str | None = None
    decimal: Decimal = "."
    warnings: tuple[Note, ...] = ()
    texts: frozenset[str] | None = None


def read_pieces(path: Path, *, limits: Limits, sheet: str | None = None, size: int = PIECE) -> Pieces:
    """A table file, ready to be read in pieces of ``size`` rows.

    Raises:
        InputError: See `grader.formats.table.read_table`; a file that is streamed may be larger than ``max_bytes``.
    """
    name = path.name
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror}); allowed: a readable file") from None
    kind = container(head, name)
    found = None
    if kind == "parquet":
        found = _parquet(path, limits, size)
    elif kind == "text":
        found = _text(path, head, limits, size)
    if found is not None:
        return found
    table = read_table(path, name=name, limits=limits, sheet=sheet)
    return Pieces(name, lambda: iter([table]), table.delimiter, table.decimal, table.warnings)


def _parquet(path: Path, limits: Limits, size: int) -> Pieces | None:
    rows = parquet_rows(path, path.name, limits)
    header = [value_text(cell) for cell in next(rows)[1]]
    if not any(_filled(row) for _, row in rows) or not _plain_header(header):
        return None

    def tables() -> Iterator[Table]:
        rows = parquet_rows(path, path.name, limits)
        first = next(rows)
        for part in _parts((row for row in rows if _filled(row[1])), size):
            yield table_of([first, *part], "parquet", name=path.name, limits=limits)

    return Pieces(path.name, tables, texts=frozenset(parquet_texts(path)))


def _text(path: Path, head: bytes, limits: Limits, size: int) -> Pieces | None:
    encoding = "utf-16" if utf16(head) else "utf-8-sig"
    try:
        with path.open(encoding=encoding, newline="") as file:
            start = file.read(SNIFF_CHARS)
            if SEP_LINE.match(start) or start.lstrip().lower().startswith((*MARKUP, "[{", '{"')):
                return None
            delimiter = sniff_delimiter(start, path.name)
            file.seek(0)
            sample = _survey(file, delimiter, limits)
    except (UnicodeError, csv.Error):
        return None
    if sample is None:
        return None

    def tables() -> Iterator[Table]:
        with path.open(encoding=encoding, newline="") as file:
            rows = _records(file, delimiter)
            first = next(rows)
            for part in _parts(rows, size):
                yield table_of([first, *part], "csv", name=path.name, limits=limits, delimiter=delimiter)

    guessed = table_of(sample, "csv", name=path.name, limits=limits, delimiter=delimiter).decimal
    return Pieces(path.name, tables, delimiter, guessed, texts=frozenset(sample[0][1]))


def _survey(file: TextIO, delimiter: str, limits: Limits) -> list[tuple[int, list[str]]] | None:
    """Header and first rows of a clean text; ``None`` where something needs the careful reader."""
    rows = _records(file, delimiter)
    sample = list(islice(rows, GUESS_ROWS + 1))
    if len(sample) < 2 or not _plain_header(sample[0][1]):
        return None
    width, count = len(sample[0][1]), 0
    for part in (sample, rows):
        for _, record in part:
            count += 1
            if len(record) != width or _ODD.search("".join(record)):
                return None
            if max(map(len, record)) > limits.max_cell_chars:
                return None
    within = width <= limits.max_columns and count - 1 <= limits.max_rows and width * count <= limits.max_cells
    return sample if within else None


def _records(file: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The filled rows with their numbers, as a spreadsheet counts them."""
    for number, record in enumerate(csv.reader(file, delimiter=delimiter, strict=True), 1):
        if _filled(record):
            yield number, record


def _filled(row: Sequence[Value]) -> bool:
    return any(value_text(cell).strip() for cell in row)


def _plain_header(header: Sequence[str]) -> bool:
    return all(label.strip() for label in header) and len(set(header)) == len(header)


def _parts(rows: Iterator[TypedRow], size: int) -> Iterator[list[TypedRow]]:
    while part := list(islice(rows, size)):
        yield part
