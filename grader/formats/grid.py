"""A table being written back: original columns in their order, new ones between them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.formats.neutral import restore
from grader.formats.notes import NoteLog, shorten
from grader.formats.numeric import Decimal, format_number, parse_number
from grader.formats.table import Table
from grader.formats.workbook import value_text
from grader.formats.writers import Format, write_csv, write_xlsx

Replace = Literal["empty", "zero", "all"]

_BLANK = ("", "-", "–", "—")


@dataclass
class Column:
    """One column: its label, the header to write, and its cells."""

    label: str
    header: object
    cells: list[object]


class Grid:
    """The cells of a table, changed cell by cell."""

    def __init__(self, table: Table, format: Format) -> None:
        self.table = table
        self.format = format
        self.log = NoteLog(repeats=1_000)
        typed: Sequence[Sequence[object]] = table.values if format == "xlsx" else ()
        self.columns = [
            Column(label, restore(table.headers[at]), self._cells(at, typed)) for at, label in enumerate(table.labels)
        ]

    def _cells(self, at: int, typed: Sequence[Sequence[object]]) -> list[object]:
        texts: list[object] = [restore(text) for text in self.table.texts(at)]
        for index, row in enumerate(typed):
            if at < len(row) and not isinstance(row[at], str):
                texts[index] = row[at]
        return texts

    def column(self, label: str) -> Column:
        """The column of a label, original or added."""
        return next(column for column in self.columns if column.label == label)

    def add(self, header: str, after: str | None) -> Column:
        """A new empty column right of ``after``, or at the right end."""
        labels = [column.label for column in self.columns]
        label = header
        while label in labels:
            label += "'"
        column = Column(label, header, [""] * len(self.table.rows))
        self.columns.insert(len(labels) if after is None else labels.index(after) + 1, column)
        return column

    def put_number(self, column: Column, index: int, value: float | None, *, own: bool, replace: Replace) -> bool:
        """Write a mark unless one stands there that is not ours to replace; tells whether it changed."""
        text = value_text(column.cells[index]).strip()
        present = self.number_at(column, index)
        if value is None:
            if own and text:
                column.cells[index] = ""
                return True
            return False
        if present == value:
            return False
        free = text in _BLANK or own or replace == "all" or (replace == "zero" and present == 0)
        if free:
            column.cells[index] = float(value)
            return True
        message = f"holds {shorten(text)}, so {format_number(value)} was not written"
        self.log.add("kept", message, row=self.table.rows[index], column=str(column.header))
        return False

    def put_text(self, column: Column, index: int, text: str, *, own: bool, replace: Replace) -> bool:
        """Write feedback under the same rule; tells whether the cell changed."""
        present = value_text(column.cells[index])
        if present == text:
            return False
        if not present.strip() or own or replace == "all":
            column.cells[index] = text
            return True
        message = f"holds the feedback {shorten(present)}, which was not replaced"
        self.log.add("kept", message, row=self.table.rows[index], column=str(column.header))
        return False

    def numbers(self, column: Column) -> None:
        """Turn the texts of a mark column into numbers where they are numbers, for a spreadsheet."""
        for index, value in enumerate(column.cells):
            if isinstance(value, str):
                number = parse_number(value, self.table.decimal)
                column.cells[index] = value if number is None else number

    def number_at(self, column: Column, index: int) -> float | None:
        """The number in a cell, None when it holds none."""
        cell = column.cells[index]
        return float(cell) if isinstance(cell, float | int) else parse_number(str(cell), self.table.decimal)

    def to_bytes(
        self, *, decimal: Decimal, id_labels: Container[str], below_header: Sequence[object] | None = None
    ) -> bytes:
        """The file, with every row at the row number it had and the cells beyond the header kept.

        Args:
            decimal: Decimal mark of numbers in CSV.
            id_labels: Columns whose cells are text in XLSX even where they look like numbers.
            below_header: A row to insert right below the header; the rows after it move down by one.
        """
        rows: list[list[object]] = [[] for _ in range(self.table.header_row - 1)]
        rows.append([column.header for column in self.columns])
        for index, number in enumerate(self.table.rows):
            rows += [[] for _ in range(number - len(rows) - 1)]
            rows.append([*(column.cells[index] for column in self.columns), *self.table.extras.get(number, ())])
        if below_header is not None:
            rows.insert(self.table.header_row, list(below_header))
        if self.format == "xlsx":
            ids = {at for at, column in enumerate(self.columns) if column.label in id_labels}
            return write_xlsx(rows, id_columns=ids, title="Marks")
        encoding = self.table.encoding or "utf-8-sig"
        return write_csv(
            rows,
            delimiter=self.table.delimiter or ",",
            # cp1252 cannot hold every feedback, and Excel needs the mark to read UTF-8.
            encoding="utf-8-sig" if encoding == "cp1252" else encoding,
            decimal=decimal,
        )
