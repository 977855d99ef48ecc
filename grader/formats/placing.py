"""Puts marks and feedback into the places a layout has for them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.formats.grid import Column, Grid, Replace
from grader.formats.notes import NoteLog
from grader.formats.numeric import Decimal
from grader.formats.results import Result
from grader.formats.sheet import Cell, Place, Sheet


@dataclass
class Placing:
    """Puts results into the cells of a sheet, one export."""

    sheet: Sheet
    grid: Grid
    replace: Replace
    decimal: Decimal
    updated: int = 0
    log: NoteLog = field(default_factory=NoteLog)
    points: dict[str, Column] = field(default_factory=dict)
    feedback: dict[str, Column] = field(default_factory=dict)
    indexes: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if any(note.code == "other-sheets" for note in self.sheet.table.warnings):
            self.log.add("other-sheets", "the file had more sheets; only the one that was read is written")
        self.indexes = {row: index for index, row in enumerate(self.sheet.table.rows)}

    def write(self, cell: Cell, result: Result) -> None:
        """Put one result into its cells, adding the columns when they are needed."""
        place, index = self.sheet.places[cell.column], self.indexes[cell.row]
        score, feedback, changed = result.score, result.feedback, False
        if score is not None or place.points is not None:
            points = self._points(cell.column, place)
            changed = self.grid.put_number(points, index, score, own=place.own, replace=self.replace)
            # Feedback to another mark than the one that stands there would contradict it.
            if score is not None and self.grid.number_at(points, index) != score:
                feedback = None
        if feedback is not None and (feedback or place.feedback is not None):
            column = self._feedback(cell.column, place)
            changed |= self.grid.put_text(column, index, feedback, own=place.own, replace=self.replace)
        self.updated += changed

    def _points(self, label: str, place: Place) -> Column:
        if label not in self.points:
            existing = place.points is not None
            column = (
                self.grid.column(place.points)
                if place.points is not None
                else self.grid.add(place.points_header, place.after)
            )
            if existing and self.grid.format == "xlsx":
                self.grid.numbers(column)
            self.points[label] = column
        return self.points[label]

    def _feedback(self, label: str, place: Place) -> Column:
        if label not in self.feedback:
            if place.feedback is not None:
                self.feedback[label] = self.grid.column(place.feedback)
            else:
                points = self.points[label].label if label in self.points else place.points
                after = None if place.after is None else points or place.after
                self.feedback[label] = self.grid.add(place.feedback_header, after)
        return self.feedback[label]

    def fill_totals(self, cells: Sequence[Cell], matched: Sequence[tuple[Cell, Result]]) -> None:
        """Fill the total of each row whose responses all have a score."""
        if self.sheet.total_column is None:
            self.log.add("no-total", f"the layout {self.sheet.layout!r} has no total that can be filled")
            return
        column = self.grid.column(self.sheet.total_column)
        if self.grid.format == "xlsx":
            self.grid.numbers(column)
        scored: defaultdict[int, list[Result]] = defaultdict(list)
        for cell, result in matched:
            if result.score is not None:
                scored[cell.row].append(result)
        # A scaled grade needs every question of the row; a plain sum takes other points as they are.
        needed = Counter(cell.row for cell in (cells if self.sheet.total_max is None else self.sheet.cells))
        for row in dict.fromkeys(cell.row for cell in cells):
            index = self.indexes[row]
            total = self._sum(index) if self.sheet.total_max is None else self._scaled(scored[row])
            if len(scored[row]) < needed[row] or total is None:
                what = "a question has no score" if len(scored[row]) < needed[row] else "a top score is unknown"
                self.log.add("total-left", f"the total was not filled: {what}", row=row, column=column.label)
                continue
            self.grid.put_number(column, index, total, own=False, replace=self.replace)

    def _sum(self, index: int) -> float:
        """Sum of all points in a row, those of other questions included."""
        filled = dict(self.points)
        for label, place in self.sheet.places.items():
            if place.points is not None:
                filled.setdefault(label, self.grid.column(place.points))
        return sum(self.grid.number_at(column, index) or 0.0 for column in filled.values())

    def _scaled(self, results: Sequence[Result]) -> float | None:
        """Sum of the scores scaled to the total that means full marks."""
        tops = [result.max_score for result in results if result.max_score]
        if not tops or len(tops) < len(results) or self.sheet.total_max is None:
            return None
        points = sum(result.score for result in results if result.score is not None)
        return round(points / sum(tops) * self.sheet.total_max, 5)

    def to_bytes(self) -> bytes:
        """The file; candidate ids stay text."""
        ids = {self.sheet.candidate_column} if self.sheet.candidate_column else set()
        return self.grid.to_bytes(decimal=self.decimal, id_labels=ids)
