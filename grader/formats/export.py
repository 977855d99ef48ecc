"""Writing results: as a long table, or back into the file the responses came from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from grader.errors import InputError
from grader.formats.grid import Grid, Replace
from grader.formats.mapping import check_mapping, mapped_cells
from grader.formats.numeric import Decimal
from grader.formats.placing import Placing
from grader.formats.results import Export, Result, Unmatched
from grader.formats.sheet import Cell, Sheet
from grader.formats.writers import Format, write_csv, write_xlsx

__all__ = ["Export", "Result", "Unmatched", "write_back", "write_long"]

_LONG = ("candidate", "item", "response", "score", "max_score")
_AFTER = ("condition", "referred", "reason", "confidence", "feedback", "signature")
_ALWAYS = ("candidate", "item", "score")


def write_long(
    results: Iterable[Result],
    *,
    format: Format = "csv",
    decimal: Decimal = ".",
    delimiter: str | None = None,
) -> bytes:
    """One row a result; columns that no result fills are left out, a missing score is an empty cell.

    Args:
        results: The results, already filtered as wanted.
        format: csv (UTF-8 with byte order mark) or xlsx.
        decimal: Decimal mark of the CSV; in XLSX numbers are numbers and Excel shows its own mark.
        delimiter: Of the CSV; None takes ``;`` with a decimal comma, else ``,``.

    Raises:
        InputError: An extra column has the name of a fixed one, or a text cannot be written.
    """
    entries = [_long_row(result) for result in results]
    filled = {name for row in entries for name, value in row.items() if value not in (None, "")}
    others = dict.fromkeys(name for row in entries for name in row)
    middle = [name for name in others if name.startswith("component_")]
    extra = [name for name in others if name not in {*_LONG, *_AFTER, *middle}]
    names = [name for name in (*_LONG, *middle, *_AFTER, *extra) if name in filled or name in _ALWAYS]
    rows: list[list[object]] = [list(names), *([row.get(name) for name in names] for row in entries)]
    if format == "xlsx":
        return write_xlsx(rows, id_columns={0, 1}, title="Marks")
    return write_csv(rows, delimiter=delimiter or (";" if decimal == "," else ","), decimal=decimal)


def _long_row(result: Result) -> dict[str, object]:
    row: dict[str, object] = {
        "candidate": result.candidate,
        "item": result.item,
        "response": result.response,
        "score": result.score,
        "max_score": result.max_score,
        **{f"component_{name}": credit for name, credit in result.components.items()},
        "condition": result.condition,
        "referred": "yes" if result.referred else "",
        "reason": result.reason,
        "confidence": result.confidence,
        "feedback": result.feedback,
        "signature": result.signature,
    }
    clash = sorted(set(result.extra) & set(row))
    if clash:
        raise InputError(f"extra column {clash[0]!r} has the name of a fixed one; allowed: any other name")
    return {**row, **result.extra}


def write_back(
    sheet: Sheet,
    results: Iterable[Result],
    *,
    mapping: Mapping[str, str] | None = None,
    replace: Replace = "empty",
    fill_totals: bool = False,
    decimal: Decimal | None = None,
    format: Format | None = None,
) -> Export:
    """The file again, every original cell in its place, with the results in the layout's own columns.

    Marks of others are not touched: a filled points or feedback cell is kept and listed unless ``replace``
    says otherwise. Columns that only our exports add are brought up to date. No score means an empty cell.

    Args:
        sheet: The sheet as read.
        results: The results.
        mapping: Question key to item id; None when results name the questions by their keys.
        replace: Which filled cells of others may be replaced: none (``empty``), those that hold 0, which
            Canvas writes for unmarked answers (``zero``), or ``all``.
        fill_totals: Also fill the total of a row where all its responses have a score: Moodle's grade (scaled
            by the items' top scores) and Microsoft's total points. Totals of other layouts are left alone.
        decimal: Decimal mark of new numbers in CSV; None takes the file's own.
        format: csv or xlsx; None takes the kind of the file (Parquet becomes csv).

    Raises:
        InputError: The mapping does not fit, or the layout holds no responses.
    """
    if not sheet.places:
        raise InputError(
            f"{sheet.table.name}: the layout {sheet.layout!r} holds no responses; "
            "allowed: write_gradebook for a Canvas gradebook"
        )
    check_mapping(sheet, mapping or {})
    cells = sheet.cells if mapping is None else mapped_cells(sheet, mapping)
    out = format or ("xlsx" if sheet.table.kind == "xlsx" else "csv")
    work = Placing(sheet, Grid(sheet.table, out), replace, decimal or sheet.table.decimal)
    matched, unmatched = _match(cells, results)
    for cell, result in matched:
        work.write(cell, result)
    if fill_totals:
        work.fill_totals(cells, matched)
    done = {(cell.row, cell.column) for cell, _ in matched}
    return Export(
        data=work.to_bytes(),
        format=out,
        updated=work.updated,
        unchanged=len(matched) - work.updated,
        kept=work.grid.log.notes(),
        unmatched=unmatched,
        unmarked=tuple(cell for cell in cells if (cell.row, cell.column) not in done),
        notes=work.log.notes(),
    )


def _match(cells: Sequence[Cell], results: Iterable[Result]) -> tuple[list[tuple[Cell, Result]], tuple[Unmatched, ...]]:
    """Pairs of response and result, and the results that found none."""
    places: defaultdict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        places[cell.candidate, cell.item_key].append(cell)
    candidates, items = {cell.candidate for cell in cells}, {cell.item_key for cell in cells}
    matched: list[tuple[Cell, Result]] = []
    unmatched: list[Unmatched] = []
    taken: set[tuple[int, str]] = set()
    for result in results:
        found = places.get((result.candidate, result.item), [])
        fitting = [cell for cell in found if result.row in (None, cell.row)]
        reason = _reason(result, found, fitting, candidates, items)
        if not reason and (fitting[0].row, fitting[0].column) in taken:
            reason = f"a second result for the response in row {fitting[0].row}"
        if reason:
            unmatched.append(Unmatched(result.candidate, result.item, reason, result.score))
            continue
        taken.add((fitting[0].row, fitting[0].column))
        matched.append((fitting[0], result))
    return matched, tuple(unmatched)


def _reason(
    result: Result, found: Sequence[Cell], fitting: Sequence[Cell], candidates: set[str], items: set[str]
) -> str:
    """Why a result cannot be placed, ``""`` when it can."""
    if result.candidate not in candidates:
        return "no such candidate in the file"
    if result.item not in items:
        return "no such item in the file"
    if not found:
        return "the candidate has no response to this item in the file"
    rows = ", ".join(str(cell.row) for cell in found)
    if not fitting:
        return f"the candidate's response is not in row {result.row} but in row {rows}"
    if len(fitting) > 1:
        return f"the candidate has several responses to this item (rows {rows}): the result must name the row"
    return ""
