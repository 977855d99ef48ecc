"""Builds a sheet while a layout reader walks over the rows of a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Literal

from grader.formats.neutral import restore
from grader.formats.notes import NoteLog, shorten
from grader.formats.numeric import parse_number
from grader.formats.sheet import Cell, Mark, Place, Question, Sheet
from grader.formats.table import Table


class SheetBuilder:
    """Collects cells, marks and problems while a layout reader walks over the rows of a table."""

    def __init__(self, layout: str, table: Table) -> None:
        self.layout = layout
        self.table = table
        self.cells: list[Cell] = []
        self.marks: list[Mark] = []
        self.questions: dict[str, Question] = {}
        self.places: dict[str, Place] = {}
        self.log = NoteLog()
        self.sentinels: list[int] = []
        self.used: set[int] = set()
        self.columns: dict[int, list[str]] = {}

    def at(self, position: int, index: int) -> str:
        """The cell text of a column, without a neutralising apostrophe."""
        if position not in self.columns:
            self.columns[position] = self.table.texts(position)
        return restore(self.columns[position][index])

    def label(self, position: int | None) -> str | None:
        """The label of a column, None for no column."""
        return None if position is None else self.table.labels[position]

    def candidates(
        self,
        column: int | None,
        *,
        sentinel: Callable[[int], bool] = lambda index: False,
        missing: Literal["skip", "row"] = "skip",
    ) -> Iterator[tuple[int, int, str]]:
        """Index, spreadsheet row and candidate id of each row that is a candidate.

        Args:
            column: Position of the id column, or None to name candidates by their row (``row-7``).
            sentinel: Tells for a row index whether it is no candidate.
            missing: What becomes of a row without id: skipped with a problem, or named by its row.
        """
        for index, row in enumerate(self.table.rows):
            if sentinel(index):
                self.sentinels.append(row)
                continue
            candidate = "" if column is None else self.at(column, index).strip()
            if candidate:
                yield index, row, candidate
            elif column is None or missing == "row":
                if column is not None:
                    self.log.add(
                        "no-candidate",
                        f"no candidate id; named row-{row}",
                        row=row,
                        column=self.label(column),
                    )
                yield index, row, f"row-{row}"
            else:
                message = "no candidate id, so the row is not graded"
                self.log.add("no-candidate", message, row=row, column=self.label(column))

    def add_cell(self, candidate: str, key: str, response: str, row: int, column: int) -> None:
        """Record one response."""
        self.cells.append(Cell(candidate, key, response, row, self.table.labels[column]))

    def add_mark(self, candidate: str, key: str, kind: str, index: int, column: int) -> None:
        """Record the number in a mark column; text that is no number is a problem, an empty cell is none."""
        text, row = self.at(column, index).strip(), self.table.rows[index]
        if text in ("", "-", "–", "—"):
            return
        value = parse_number(text, self.table.decimal)
        if value is None:
            message = f"{shorten(text)} is no number, so no mark is read; allowed: a number or an empty cell"
            self.log.add("not-a-number", message, row=row, column=self.label(column))
            return
        self.marks.append(Mark(candidate, key, kind, value, row, self.table.labels[column]))

    def finish(self, candidate: int | None, *, total: int | None = None, total_max: float | None = None) -> Sheet:
        """The sheet; repeated responses of one candidate become a problem."""
        self._note_repeats()
        used = self.used | ({candidate} if candidate is not None else set())
        return Sheet(
            layout=self.layout,
            table=self.table,
            cells=tuple(self.cells),
            questions=tuple(self.questions.values()),
            marks=tuple(self.marks),
            problems=self.log.notes(),
            candidate_column=self.label(candidate),
            other_columns=tuple(label for position, label in enumerate(self.table.labels) if position not in used),
            places=self.places,
            sentinel_rows=tuple(self.sentinels),
            total_column=self.label(total),
            total_max=total_max,
        )

    def _note_repeats(self) -> None:
        rows: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for cell in self.cells:
            rows[cell.candidate, cell.item_key].append(cell.row)
        told: set[tuple[str, tuple[int, ...]]] = set()
        for (candidate, _), places in rows.items():
            if len(places) > 1 and (candidate, tuple(places)) not in told:
                told.add((candidate, tuple(places)))
                listed = ", ".join(map(str, places[:10]))
                self.log.add(
                    "several-attempts",
                    f"candidate {shorten(candidate)} answers the same question in rows {listed}; "
                    "each row is kept and is graded by itself",
                    row=places[-1],
                )
