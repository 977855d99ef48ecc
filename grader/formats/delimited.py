"""CSV and TSV text into rows of cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice

from grader.errors import InputError
from grader.formats.limits import Limits, check_limit
from grader.formats.notes import NoteLog

DELIMITERS = (",", ";", "\t")
_SNIFF_RECORDS = 50
#: Characters from which the delimiter is told.
SNIFF_CHARS = 65_536
#: How Excel may name the delimiter, in a line before the header.
SEP_LINE = re.compile(r"sep=([,;\t])\r?\n", re.IGNORECASE)
_END = "\ue000end of table\ue000"

Row = tuple[int, list[str]]


def read_rows(text: str, name: str, limits: Limits, log: NoteLog) -> tuple[list[Row], str]:
    """The filled rows with their spreadsheet row numbers, and the delimiter.

    The number counts records, as a spreadsheet does, so a cell with line breaks counts once.
    An Excel line ``sep=;`` sets the delimiter and is no row.

    Raises:
        InputError: A quotation mark never closes, or a limit is passed.
    """
    declared = SEP_LINE.match(text)
    if declared:
        text = text[declared.end() :]
    delimiter = declared.group(1) if declared else sniff_delimiter(text, name)
    if _parses_strictly(text, delimiter, name, log):
        records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    else:
        closed = io.StringIO(f"{text}\n{_END}\n", newline="")
        records = csv.reader(closed, delimiter=delimiter)
    return list(_collect(_guarded(records, name), name, limits)), delimiter


def _parses_strictly(text: str, delimiter: str, name: str, log: NoteLog) -> bool:
    """Whether every quotation mark is where the CSV rules allow it; a note says where not."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    row = 1
    try:
        for _ in reader:
            row += 1
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            raise _unclosed(name, row) from None
        if "field larger" in str(error):
            raise _too_long(name, row) from None
        log.add("stray-quote", 'text stands after a closing ": check this row', row=row)
        return False
    return True


def _guarded(records: Iterator[list[str]], name: str) -> Iterator[list[str]]:
    row = 0
    try:
        for row, record in enumerate(records, 1):
            if record == [_END]:
                return
            if any(_END in cell for cell in record):
                raise _unclosed(name, row)
            yield record
    except csv.Error as error:
        if "field larger" in str(error):
            raise _too_long(name, row + 1) from None
        raise InputError(f"{name}: row {row + 1} cannot be read as CSV ({error})") from None


def _unclosed(name: str, row: int) -> InputError:
    return InputError(
        f'{name}: row {row}: a quotation mark (") opens and never closes, so the rest of the file would be '
        'one cell; allowed: close it, or double it ("") inside a quoted cell'
    )


def _too_long(name: str, row: int) -> InputError:
    return InputError(
        f"{name}: row {row}: a cell is longer than 131,072 characters; allowed: shorter cells (is a "
        "quotation mark missing?)"
    )


def _collect(records: Iterator[list[str]], name: str, limits: Limits) -> Iterator[Row]:
    filled = cells = 0
    for number, record in enumerate(records, 1):
        check_limit(f"{name}: row {number}", "columns", len(record), limits.max_columns)
        if not any(cell.strip() for cell in record):
            continue
        filled += 1
        cells += len(record)
        check_limit(name, "or more rows", filled - 1, limits.max_rows)
        check_limit(name, "or more cells", cells, limits.max_cells)
        yield number, record


def sniff_delimiter(text: str, name: str = "") -> str:
    """``,``, ``;`` or TAB: the one that cuts most of the first rows into as many cells as the header.

    A name ending in .tsv decides between equals; a table of one column gives ``,``.
    """
    order = ("\t", ",", ";") if name.lower().endswith((".tsv", ".tab")) else DELIMITERS
    scores = [(_fit(text[:SNIFF_CHARS], delimiter), delimiter) for delimiter in order]
    best = max(scores, key=lambda scored: scored[0])
    return best[1] if best[0] > (0.0, 1) else ","


def _fit(text: str, delimiter: str) -> tuple[float, int]:
    """Share of rows as wide as the header, and that width; (0, 1) when there is one column only."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        records = [record for record in islice(reader, _SNIFF_RECORDS) if any(record)]
    except csv.Error:
        return 0.0, 1
    if not records or len(records[0]) < 2:
        return 0.0, 1
    width = len(records[0])
    same = sum(len(record) == width for record in records[1:])
    return (same + 1) / len(records), width
