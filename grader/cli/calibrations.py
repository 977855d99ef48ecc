"""``grader calibrations``: which calibrations there are, what another one changes, and which is in force."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from grader.cli.calibrate import AnswersArgument, ItemOption
from grader.cli.common import (
    EXIT_PROBLEMS,
    BankOption,
    JsonOption,
    LanguageOption,
    check_language,
    console,
    make_grader,
    open_bank,
    print_json,
)
from grader.cli.labelled import column, of_item, read_rows
from grader.errors import InputError

if TYPE_CHECKING:
    from grader.calibration import Calibration
    from grader.lifecycle import Shelf

app = typer.Typer(help="Calibrations in a folder: list, compare, promote, roll back.", no_args_is_help=True)

FolderOption = Annotated[Path, typer.Option("--folder", metavar="DIR", help="Folder with the calibrations.")]
_FOLDER = Path("calibrations")
_SHOWN = 20


@app.command("list")
def list_all(folder: FolderOption = _FOLDER, as_json: JsonOption = False) -> None:
    """List the calibrations in a folder and say which are in force."""
    shelf = _shelf(folder)
    found = [_plain(one, shelf) for one in shelf.all()]
    if as_json:
        print_json(found)
        return
    table = Table("name", "item", "version", "labels", "components", "in force")
    for one in found:
        table.add_row(one["name"], one["item"], str(one["item_version"]), str(one["labels"]),
                      ", ".join(one["components"]), "yes" if one["in_force"] else "")  # fmt: skip
    console().print(table)


@app.command("compare")
def compare_two(
    ctx: typer.Context,
    file: AnswersArgument,
    item: ItemOption,
    after: Annotated[str, typer.Option("--after", metavar="NAME", help="The calibration that may follow.")],
    before: Annotated[
        str | None, typer.Option("--before", metavar="NAME|none", help="The other one; the one in force by default.")
    ] = None,
    folder: FolderOption = _FOLDER,
    bank: BankOption = None,
    language: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """Say which marks of the answers in FILE change with another calibration."""
    from grader.lifecycle import compare

    check_language(language)
    shelf = _shelf(folder)
    old = shelf.promoted(item) if before is None else _open(shelf, before)
    new = _open(shelf, after)
    wanted = open_bank(bank)[item]
    frame = of_item(read_rows(file), wanted)
    found = compare(make_grader(ctx), wanted, column(frame, "response", file.name), old, new)
    if as_json:
        rows = [{"row": int(frame.index[one.row]), "before": one.before, "after": one.after} for one in found.changes]
        print_json(found.to_dict() | {"changes": rows})
        return
    screen = console()
    screen.print(found.summary(language))
    for one in found.changes[:_SHOWN]:
        screen.print(f"row {frame.index[one.row]}: {_mark(one.before)} → {_mark(one.after)}")


@app.command("promote")
def promote(
    name: Annotated[str, typer.Argument(help="Name of the calibration, or its first digits.")],
    folder: FolderOption = _FOLDER,
) -> None:
    """Put a calibration in force for its item."""
    chosen = _shelf(folder).promote(name)
    console().print(f"Calibration {chosen.name} is in force for '{chosen.item}'")


@app.command("roll-back")
def roll_back(item: ItemOption, folder: FolderOption = _FOLDER) -> None:
    """Put the calibration before back in force."""
    before = _shelf(folder).roll_back(item)
    now = "no calibration" if before is None else f"calibration {before.name}"
    console().print(f"For '{item}' {now} is in force")


@app.command("drift")
def check_drift(
    ctx: typer.Context,
    file: AnswersArgument,
    item: ItemOption,
    name: Annotated[
        str | None, typer.Option("--calibration", metavar="NAME", help="The one in force by default.")
    ] = None,
    folder: FolderOption = _FOLDER,
    bank: BankOption = None,
    language: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """Say whether the answers in FILE are still like the labelled ones; status 1 if they are not."""
    from grader.drift import drift

    check_language(language)
    shelf = _shelf(folder)
    chosen = shelf.promoted(item) if name is None else shelf.open(name)
    if chosen is None:
        raise InputError(f"no calibration is in force for '{item}': promote one, or name it with --calibration")
    wanted = open_bank(bank)[item]
    grader = make_grader(ctx)
    scorer = grader.scorer(wanted)
    chosen.check(wanted, encoder=scorer.encoder.signature, prior=scorer.prior.version)
    frame = of_item(read_rows(file), wanted)
    responses = column(frame, "response", file.name)
    written = [at for at, text in enumerate(responses) if text.strip()]
    found = drift(chosen, grader.represent(wanted, [responses[at] for at in written]))
    rows = [int(frame.index[written[at]]) for at in found.unusual]
    if as_json:
        print_json(found.to_dict() | {"unusual": rows})
    else:
        console().print(found.summary(language))
        if found.warning:
            console().print(f"rows {', '.join(map(str, rows[:_SHOWN]))}")
    if found.warning:
        raise typer.Exit(EXIT_PROBLEMS)


def open_calibrations(paths: list[Path] | None) -> dict[str, Calibration]:
    """Calibrations by item id: of each file, and of each folder those in force.

    Raises:
        InputError: A file is no calibration, two are for one item, or a folder has none in force.
    """
    from grader.calibration import load_calibration

    found: dict[str, Calibration] = {}
    for path in paths or ():
        here = list(_shelf(path).in_force().values()) if path.is_dir() else [load_calibration(path)]
        if not here:
            raise InputError(f"{path}: no calibration is in force; see 'grader calibrations promote'")
        for one in here:
            if one.item in found:
                raise InputError(f"{path}: a second calibration of item '{one.item}'; allowed: one an item")
            found[one.item] = one
    return found


def _shelf(folder: Path) -> Shelf:
    from grader.lifecycle import Shelf

    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; 'grader calibrate' makes one")
    return Shelf(folder)


def _open(shelf: Shelf, name: str) -> Calibration | None:
    from grader.lifecycle import UNCALIBRATED

    return None if name == UNCALIBRATED else shelf.open(name)


def _plain(calibration: Calibration, shelf: Shelf) -> dict[str, Any]:
    return {
        "name": calibration.name,
        "item": calibration.item,
        "item_version": calibration.item_version,
        "rubric": calibration.rubric,
        "labels": len(calibration.fitted.labels),
        "components": [part.name for part in calibration.components],
        "in_force": calibration.name in shelf.history(calibration.item)[-1:],
    }


def _mark(points: float | None) -> str:
    return "none" if points is None else f"{points:g}"
