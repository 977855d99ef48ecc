"""``grader calibrate`` and ``grader suggest-labels``: labelled answers in, a calibration and its figures out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.common import BankOption, JsonOption, console, make_grader, note, open_bank
from grader.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from grader.rubric import Item

TableArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="Table with columns response and human_score: .csv, .xlsx or .parquet.")
]
ItemOption = Annotated[str, typer.Option("--item", metavar="ITEM", help="Id of the item the answers belong to.")]


def register(app: typer.Typer) -> None:
    """Adds the commands to ``app``."""
    app.command("calibrate")(calibrate)
    app.command("suggest-labels")(suggest_labels)


def calibrate(
    ctx: typer.Context,
    file: TableArgument,
    item: ItemOption,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for calibrations.")] = Path("calibrations"),
    report: Annotated[Path | None, typer.Option("--report", metavar="HTML", help="Write the report here.")] = None,
    risk: Annotated[float, typer.Option("--risk", help="Share of marks that may be off by more, 0 to 1.")] = 0.02,
    tolerance: Annotated[float, typer.Option("--tolerance", help="… than this many points.")] = 1.0,
    pass_mark: Annotated[float | None, typer.Option("--pass-mark", help="Refer marks that may cross it.")] = None,
    bank: BankOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit an item's scorer to marks that people gave, and say how well it agrees with them.

    Columns: response, human_score, optionally human_score_2 and item (other items' rows are passed over).
    """
    from grader.calibration import Calibrator
    from grader.calibration_study import study
    from grader.referral import Policy

    if not 0 < risk < 1 or tolerance < 0:
        raise InputError(f"--risk {risk:g} must lie between 0 and 1, and --tolerance {tolerance:g} not below 0")
    wanted = open_bank(bank)[item]
    responses, scores, second = labelled_rows(_read(file), wanted, file.name)
    grader = make_grader(ctx)
    policy = Policy(tolerance=tolerance, risk=risk, pass_mark=pass_mark)
    fitted = Calibrator(grader, policy).fit(wanted, responses, scores)
    path = fitted.save(out)
    signature = grader.signature(wanted, fitted.name)
    examined = study(fitted, wanted, responses, scores, human2=second, signature=signature)
    if report:
        report.write_text(examined.report.to_html(), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(examined.to_dict(), ensure_ascii=False))
        return
    screen = console()
    for sentence in examined.sentences:
        screen.print(sentence)
    screen.print(f"Calibration {fitted.name} is in {path}", soft_wrap=True)


def suggest_labels(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Table with a column response.")],
    item: ItemOption,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many answers to suggest.")] = 20,
    bank: BankOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which answers a person should mark next so that the calibration learns most.

    Rows that have a human_score already count as marked.
    """
    from grader.labelling import effort_saved, groups, suggest

    wanted = open_bank(bank)[item]
    frame = _of_item(_read(file), wanted)
    responses = _column(frame, "response", file.name)
    rows = make_grader(ctx).represent(wanted, responses)
    marked = [str(value).strip() != "" for value in frame["human_score"]] if "human_score" in frame else []
    labelled = [at for at, is_marked in enumerate(marked) if is_marked]
    alike = groups(responses, rows)
    chosen = [
        {"row": int(frame.index[at]), "response": responses[at]} for at in suggest(rows, count, labelled=labelled)
    ]
    if as_json:
        found = {"suggested": chosen, "groups": [[int(frame.index[at]) for at in members] for members in alike]}
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    screen = console()
    for entry in chosen:
        screen.print(f"row {entry['row']}: {entry['response']}", markup=False, highlight=False)
    if alike:
        note(
            f"{len(alike)} groups of near-identical answers: marking each once saves "
            f"{effort_saved(len(responses), alike):.0%} of the work"
        )


def _read(file: Path) -> pd.DataFrame:
    from grader.cli.sinks import read_frame

    frame, table = read_frame(file)
    for warning in table.warnings:
        note(f"{file.name}: {warning}")
    return frame


def _of_item(frame: pd.DataFrame, item: Item) -> pd.DataFrame:
    """Rows of ``item``; all rows of a table without a column item."""
    if "item" not in frame:
        return frame
    names = {item.id, *item.aliases}
    chosen = frame[[str(name).strip() in names for name in frame["item"]]]
    if chosen.empty:
        raise InputError(f"column 'item': no row belongs to item '{item.id}'")
    return chosen


def _column(frame: pd.DataFrame, name: str, file: str) -> list[str]:
    if name not in frame:
        extra = " (a column 'score' is the machine's and is not read as a person's)" if "score" in frame else ""
        raise InputError(f"{file}: no column '{name}'; it has {', '.join(map(str, frame.columns))}{extra}")
    return ["" if value is None else str(value) for value in frame[name]]


def labelled_rows(
    frame: pd.DataFrame, item: Item, file: str
) -> tuple[list[str], list[float], list[float | None] | None]:
    """Responses, marks and second marks of the rows of ``item`` that a person has marked.

    Raises:
        InputError: A column is missing, or a mark is no number or outside the scale; names the row.
    """
    chosen = _of_item(frame, item)
    responses = _column(chosen, "response", file)
    marks = [
        _mark(v, item, row, "human_score")
        for row, v in zip(chosen.index, _column(chosen, "human_score", file), strict=True)
    ]
    kept = [at for at, mark in enumerate(marks) if mark is not None]
    second = None
    if "human_score_2" in chosen:
        cells = zip(chosen.index, _column(chosen, "human_score_2", file), strict=True)
        others = [_mark(value, item, row, "human_score_2") for row, value in cells]
        second = [others[at] for at in kept]
    return [responses[at] for at in kept], [float(marks[at] or 0.0) for at in kept], second


def _mark(text: str, item: Item, row: object, column: str) -> float | None:
    """The mark in a cell, ``None`` if it is empty."""
    if not text.strip():
        return None
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        value = float("nan")
    if not 0 <= value <= item.scale.max:
        raise InputError(f"row {row}, column '{column}': {text!r} is no mark; allowed: 0 to {item.scale.max:g}")
    return value
