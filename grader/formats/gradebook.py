"""Marks into a Canvas gradebook, ready for Canvas's import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.errors import InputError
from grader.formats.grid import Column, Grid, Replace
from grader.formats.headers import Headers, flat
from grader.formats.numeric import Decimal
from grader.formats.results import Export, Result, Unmatched
from grader.formats.roster import ASSIGNMENT, ID_COLUMNS, POINTS_POSSIBLE, Roster, RosterMatch, is_total
from grader.formats.sheet import Cell
from grader.formats.workbook import value_text
from grader.formats.writers import Format

_UNTOUCHABLE = ("EX", "N/A")


@dataclass(frozen=True)
class GradeColumn:
    """One assignment to write.

    Attributes:
        title: Title, with or without Canvas's ``(id)``; an existing column of that title is filled.
        points_possible: Goes into the row Points Possible of a new column.
        scores: Candidate id to score; None leaves the cell.
    """

    title: str
    points_possible: float
    scores: Mapping[str, float | None]


def total_scores(results: Iterable[Result]) -> dict[str, float | None]:
    """Sum of the scores of each candidate; None when one of the candidate's results has no score."""
    sums: dict[str, float | None] = {}
    for result in results:
        so_far = sums.get(result.candidate, 0.0)
        sums[result.candidate] = None if so_far is None or result.score is None else so_far + result.score
    return sums


def write_gradebook(
    roster: Roster,
    columns: Sequence[GradeColumn],
    *,
    replace: Replace = "empty",
    decimal: Decimal | None = None,
    format: Format = "csv",
) -> Export:
    """The gradebook again with the scores of our candidates; only ids decide who is who.

    Every row and header stays: Points Possible (added when missing, because Canvas needs it), the test
    student, totals. ``EX`` and ``N/A`` are never replaced. People without a score keep an empty cell; they
    are listed as unmarked, under their first id.

    Args:
        roster: The gradebook as exported by Canvas, or at least Student, SIS Login ID and Section.
        columns: The assignments.
        replace: Which filled cells may be replaced, as in :func:`grader.formats.export.write_back`.
        decimal: Decimal mark; None takes the file's own.
        format: csv, which Canvas imports, or xlsx.

    Raises:
        InputError: No column is given, or two have the same title.
    """
    titles = [flat(column.title) for column in columns]
    if not columns or len(set(titles)) < len(titles):
        raise InputError(f"assignments {titles}; allowed: at least one, each with a title of its own")
    grid = Grid(roster.table, format)
    updated = unchanged = 0
    points: dict[str, float] = {}
    unmatched: list[Unmatched] = []
    unmarked: list[Cell] = []
    for wanted in columns:
        match = roster.match(wanted.scores)
        unmatched += _unmatched(wanted, match)
        column, is_new = _column(grid, roster, wanted.title)
        unmarked += _unmarked(wanted, column.label, roster, match)
        points[column.label] = float(wanted.points_possible)
        if is_new and roster.points_row is not None:
            column.cells[roster.points_row] = float(wanted.points_possible)
        for candidate, person in match.matched.items():
            changed = _put(grid, column, person.index, wanted.scores[candidate], replace)
            updated += changed
            unchanged += not changed
    data = _to_bytes(grid, roster, points, decimal or roster.table.decimal)
    return Export(
        data, format, updated, unchanged, grid.log.notes(), tuple(unmatched), tuple(unmarked), roster.problems
    )


def _unmatched(wanted: GradeColumn, match: RosterMatch) -> list[Unmatched]:
    missing = [(one, "not in the gradebook") for one in match.unmatched]
    rows = {one: ", ".join(map(str, found)) for one, found in match.ambiguous.items()}
    missing += [(one, f"not clear which person this is (row {found})") for one, found in rows.items()]
    return [Unmatched(one, wanted.title, reason, wanted.scores[one]) for one, reason in missing]


def _unmarked(wanted: GradeColumn, label: str, roster: Roster, match: RosterMatch) -> list[Cell]:
    scored = {person.row for one, person in match.matched.items() if wanted.scores[one] is not None}
    return [Cell(one.ids[0], label, "", one.row, label) for one in roster.people if one.row not in scored]


def _column(grid: Grid, roster: Roster, title: str) -> tuple[Column, bool]:
    """The assignment's column and whether it is new; a new one stands before the totals."""
    titled = list(zip(roster.table.labels, roster.table.headers, strict=True))
    exact = [label for label, header in titled if flat(header) == flat(title)]
    found = exact or [label for label, header in titled if _has_title(header, title)]
    if len(found) > 1:
        raise InputError(
            f"{roster.table.name}: several assignments are called {title!r}: {', '.join(map(repr, found))}; "
            "allowed: the title with its number in parentheses"
        )
    if found:
        return grid.column(found[0]), False
    fixed = [column.label for column in grid.columns if not is_total(str(column.header))]
    return grid.add(title, fixed[-1] if fixed else None), True


def _has_title(header: str, title: str) -> bool:
    match = ASSIGNMENT.fullmatch(header.strip())
    return match is not None and flat(match.group(1)) == flat(title)


def _put(grid: Grid, column: Column, index: int, score: float | None, replace: Replace) -> bool:
    if value_text(column.cells[index]).strip().upper() in _UNTOUCHABLE:
        if score is not None:
            row = grid.table.rows[index]
            grid.log.add("kept", f"holds {column.cells[index]}, which Canvas owns", row=row, column=column.label)
        return False
    return grid.put_number(column, index, score, own=False, replace=replace)


def _to_bytes(grid: Grid, roster: Roster, points: Mapping[str, float], decimal: Decimal) -> bytes:
    """The file; ``points`` is column label to points possible, for the row that Canvas needs."""
    headers = Headers.of(roster.table.headers)
    ids = {roster.table.labels[at] for at, name in enumerate(headers.names) if name in ID_COLUMNS}
    below = None
    if roster.points_row is None:
        first = grid.columns[0].label
        below = [POINTS_POSSIBLE if column.label == first else points.get(column.label, "") for column in grid.columns]
    return grid.to_bytes(decimal=decimal, id_labels=ids, below_header=below)
