"""Rows of values into CSV or XLSX bytes that no spreadsheet runs as formulas."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import re
from collections.abc import Container, Sequence
from typing import Literal

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.worksheet._write_only import WriteOnlyWorksheet

from grader.errors import InputError
from grader.formats.neutral import neutralise
from grader.formats.notes import column_letter
from grader.formats.numeric import Decimal, format_number
from grader.formats.workbook import value_text

Format = Literal["csv", "xlsx"]
OutRow = Sequence[object]

EXCEL_CELL_CHARS = 32_767
_EXCEL_DIGITS = 15
_EXCEL_FIRST_YEAR = 1900
_EXCEL_ROWS, _EXCEL_COLUMNS = 1_048_576, 16_384
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
# Excel writes characters that XML cannot hold as _x000D_, so a text that looks like that is escaped too.
_LOOKS_ESCAPED = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
_XML_FORBIDDEN = re.compile("[\x01-\x08\x0b-\x1f]")
# Two code points that are no characters and that no XML holds, escaped or not.
_NONCHARACTERS = str.maketrans("\ufffe\uffff", "\ufffd\ufffd")


def write_csv(
    rows: Sequence[OutRow], *, delimiter: str = ",", encoding: str = "utf-8-sig", decimal: Decimal = "."
) -> bytes:
    """CSV bytes; texts are neutralised, numbers written plainly with the decimal mark.

    Raises:
        InputError: A text holds a lone surrogate or NUL, or a number is not finite.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    for number, row in enumerate(rows, 1):
        writer.writerow([_csv_text(value, number, at, decimal) for at, value in enumerate(row)])
    return out.getvalue().encode(encoding)


def _csv_text(value: object, row: int, column: int, decimal: Decimal) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return format_number(value, decimal)
    return neutralise(_writable(value_text(value), row, column))


def write_xlsx(rows: Sequence[OutRow], *, id_columns: Container[int] = (), title: str = "Marks") -> bytes:
    """XLSX bytes with one sheet; numbers stay numbers, ids and other texts stay text.

    Args:
        rows: The rows, header first.
        id_columns: Positions whose cells are formatted as text, so that Excel keeps leading zeros.
        title: Name of the sheet.

    Raises:
        InputError: A text is longer than Excel's 32,767 characters or holds a lone surrogate or NUL, or the
            table is larger than a sheet.
    """
    width = max((len(row) for row in rows), default=0)
    if len(rows) > _EXCEL_ROWS or width > _EXCEL_COLUMNS:
        raise InputError(
            f"{len(rows):,} rows and {width:,} columns do not fit into a sheet; "
            f"allowed: {_EXCEL_ROWS:,} rows and {_EXCEL_COLUMNS:,} columns, or CSV"
        )
    book = Workbook(write_only=True)
    sheet = book.create_sheet(title)
    # All cells before the first append: an error between two appends leaves openpyxl's stream open.
    ready = [
        [_xlsx_cell(sheet, value, number, at, at in id_columns) for at, value in enumerate(row)]
        for number, row in enumerate(rows, 1)
    ]
    for cells in ready:
        sheet.append(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _xlsx_cell(sheet: WriteOnlyWorksheet, value: object, row: int, column: int, is_id: bool) -> object:
    """A value openpyxl writes as a number or date, or a cell that is text whatever it looks like."""
    plain = _excel_value(value)
    if plain is None or not (is_id or isinstance(plain, str)):
        return plain
    text = neutralise(_writable(value_text(plain), row, column))
    if len(text) > EXCEL_CELL_CHARS:
        raise InputError(
            f"row {row}, column {column_letter(column)}: a text of {len(text):,} characters; "
            f"allowed in Excel: at most {EXCEL_CELL_CHARS:,}; write CSV instead"
        )
    cell = WriteOnlyCell(sheet, value=_escape(text))
    # openpyxl takes "=…" for a formula and "#N/A" for an error.
    cell.data_type = "s"
    if is_id:
        cell.number_format = "@"
    return cell


def _excel_value(value: object) -> object:
    """The value as Excel can hold it exactly, else its text; None for an empty cell."""
    if value is None or value == "":
        return None
    if isinstance(value, float | int) and not isinstance(value, bool):
        if not math.isfinite(value):
            return value_text(value) or None
        digits = format_number(value).lstrip("-").replace(".", "")
        return value if len(digits) <= _EXCEL_DIGITS else value_text(value)
    if isinstance(value, dt.date):
        naive = not isinstance(value, dt.datetime) or value.tzinfo is None
        return value if naive and value.year >= _EXCEL_FIRST_YEAR else value_text(value)
    if isinstance(value, dt.time) and value.tzinfo is None:
        return value
    return value if isinstance(value, bool | str | dt.timedelta) else value_text(value)


def _writable(text: str, row: int, column: int) -> str:
    found = _UNWRITABLE.search(text)
    if found:
        what = "NUL" if found.group() == "\x00" else f"lone surrogate U+{ord(found.group()):04X}"
        raise InputError(
            f"row {row}, column {column_letter(column)}: the text holds a {what}, which no file can store; "
            "allowed: whole Unicode characters"
        )
    return text


def _escape(text: str) -> str:
    marked = _LOOKS_ESCAPED.sub("_x005F_", text.translate(_NONCHARACTERS))
    return _XML_FORBIDDEN.sub(lambda found: f"_x{ord(found.group()):04X}_", marked)
