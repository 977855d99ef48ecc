"""``grader batch``: a table of answers in, the same table with marks out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from grader.cli.calibrations import open_calibrations
from grader.cli.common import (
    EXIT_INTERRUPTED,
    BankOption,
    LanguageOption,
    busy,
    check_language,
    console,
    make_grader,
    note,
    open_bank,
)
from grader.errors import InputError

if TYPE_CHECKING:
    from grader.calibration import Calibration
    from grader.cli.tally import Tally
    from grader.grading import Grader
    from grader.sinks import Sink
    from grader.table_stream import CheckedTable

_BLOCK = 64


def register(app: typer.Typer) -> None:
    """Adds the command to ``app``."""
    app.command("batch")(batch)


def batch(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Table of answers: .csv, .tsv, .xlsx or .parquet.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT", help="Result: .csv, .tsv, .xlsx or .parquet.")],
    ad_hoc: Annotated[
        bool, typer.Option("--ad-hoc", help="The table has columns prompt, reference, response (and max_score).")
    ] = False,
    bank: BankOption = None,
    language: LanguageOption = "en",
    sheet: Annotated[str | None, typer.Option("--sheet", help="Sheet of a workbook; the first filled one.")] = None,
    calibration: Annotated[
        list[Path] | None,
        typer.Option(
            "--calibration",
            metavar="PATH",
            help="Mark with a calibration file, or with those in force in a folder; repeatable.",
        ),
    ] = None,
) -> None:
    """Grade a table: columns candidate, item, response; or candidate and one column an item.

    Other columns are kept. Ctrl-C leaves a result with whole rows. A result that is there already is replaced.
    """
    from grader.cli.tally import Tally
    from grader.sinks import check_cells, check_output, open_sink
    from grader.sources import open_pieces
    from grader.table_stream import check_table

    check_language(language)
    check_output(file, out)
    calibrations = open_calibrations(calibration)
    if ad_hoc and calibrations:
        raise InputError("--calibration goes with the items of a bank, not with --ad-hoc")
    pieces = open_pieces(file, sheet)
    for warning in pieces.warnings:
        note(f"{file.name}: {warning}")
    with busy("Checking the table …"):
        table = check_table(pieces, None if ad_hoc else open_bank(bank), lambda kept: check_cells(out, kept))
    grader = make_grader(ctx)
    _check(table, grader, calibrations)
    with open_sink(out, delimiter=pieces.delimiter, decimal=pieces.decimal, types=table.types) as sink:
        tally = Tally()
        interrupted = not _run(table, grader, sink, tally, language, calibrations)
    screen = console()
    screen.print(tally.table())
    if codes := tally.codes():
        screen.print(f"Condition codes: {codes}")
    screen.print(f"{sink.rows} of {table.rows} responses graded into {out}", soft_wrap=True)
    if interrupted:
        note(f"stopped; {out} holds {sink.rows} whole rows" if sink.rows else "stopped before the first rows")
        raise typer.Exit(EXIT_INTERRUPTED)


def _check(table: CheckedTable, grader: Grader, calibrations: Mapping[str, Calibration]) -> None:
    """Refuses calibrations of another rubric or scorer before anything is graded; notes those that are not used."""
    for name, one in calibrations.items():
        if name in table.items:
            scorer = grader.scorer(table.items[name])
            one.check(table.items[name], encoder=scorer.encoder.signature, prior=scorer.prior.version)
        else:
            note(f"calibration {one.name} is for item '{name}', which the table does not have")


def _run(
    table: CheckedTable,
    grader: Grader,
    sink: Sink,
    tally: Tally,
    language: str,
    calibrations: Mapping[str, Calibration],
) -> bool:
    """Grades block by block; whether it came to the end."""
    with _progress(console(err=True)) as progress:
        task = progress.add_task("Grading", total=table.rows)
        blocks = table.blocks(
            grader, size=_BLOCK, language=language, progress=lambda rows: progress.advance(task, rows),
            calibrations=calibrations,
        )  # fmt: skip
        try:
            for block in blocks:
                sink.write(block)
                tally.add(block)
        except KeyboardInterrupt:
            return False
    return True


def _progress(screen: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=screen, disable=not screen.is_terminal)
