"""``grader batch``: a table of answers in, the same table with marks out."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.calibrations import open_calibrations
from grader.cli.common import (
    EXIT_INTERRUPTED,
    BankOption,
    LanguageOption,
    Options,
    busy,
    check_language,
    console,
    make_grader,
    note,
    open_bank,
    progress_bar,
)
from grader.errors import InputError

if TYPE_CHECKING:
    from grader.bank import Bank
    from grader.calibration import Calibration
    from grader.cli.tally import Tally
    from grader.grading import Grader
    from grader.sinks import Sink
    from grader.table_stream import CheckedTable

_BLOCK = 64


class Engine(StrEnum):
    """Where the tables of a folder are graded."""

    LOCAL = "local"
    RAY = "ray"


def register(app: typer.Typer) -> None:
    """Adds the command to ``app``."""
    app.command("batch")(batch)


def batch(
    ctx: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Table of answers: .csv, .tsv, .xlsx or .parquet; or a folder of tables."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="OUT", help="Result: .csv, .tsv, .xlsx or .parquet; or a folder.")
    ],
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
    engine: Annotated[
        Engine, typer.Option(help="Where a folder is graded: in this process, or by the workers of a Ray cluster.")
    ] = Engine.LOCAL,
    workers: Annotated[int | None, typer.Option(min=1, help="Workers of --engine ray; one a processor core.")] = None,
) -> None:
    """Grade a table: columns candidate, item, response; or candidate and one column an item.

    Other columns are kept. Ctrl-C leaves a result with whole rows. A result that is there already is replaced.
    A folder of CSV and Parquet tables is graded table by table into the folder OUT: tables that are there already and
    were made from the same answers, rubrics and models are not graded again, and rows that cannot be graded go with
    their reasons into OUT/failed.csv.
    """
    check_language(language)
    calibrations = open_calibrations(calibration)
    if ad_hoc and calibrations:
        raise InputError("--calibration goes with the items of a bank, not with --ad-hoc")
    if file.is_dir():
        if sheet is not None:
            raise InputError("--sheet goes with a workbook, not with a folder")
        _grade_folder(ctx, file, out, engine, workers, bank=None if ad_hoc else open_bank(bank),
                      language=language, calibrations=calibrations)  # fmt: skip
    elif engine is not Engine.LOCAL or workers is not None:
        raise InputError(f"{file}: --engine ray and --workers go with a folder of tables; put the table into one")
    else:
        items = None if ad_hoc else open_bank(bank)
        _grade_file(ctx, file, out, sheet, bank=items, language=language, calibrations=calibrations)


def _grade_folder(
    ctx: typer.Context,
    source: Path,
    out: Path,
    engine: Engine,
    workers: int | None,
    *,
    bank: Bank | None,
    language: str,
    calibrations: Mapping[str, Calibration],
) -> None:
    from grader.cli.folders import grade_tables
    from grader.loading import cache_folder
    from grader.partitions import Settings, local

    if workers is not None and engine is Engine.LOCAL:
        raise InputError("--workers goes with --engine ray")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: a file; the results of a folder go into a folder")
    chosen = ctx.obj if isinstance(ctx.obj, Options) else Options()
    cache = cache_folder(chosen.cache)
    settings = Settings(
        out.absolute(),
        bank,
        encoder=chosen.encoder,
        cache=cache and cache.absolute(),
        limit=chosen.cache_mb * 2**20,
        threads=chosen.threads,
        language=language,
        calibrations=calibrations,
    )
    if engine is Engine.LOCAL:
        grade_tables(source, settings, local)
        return
    from grader.engine_ray import RayEngine

    grade_tables(source, settings, RayEngine(workers=workers))


def _grade_file(
    ctx: typer.Context,
    file: Path,
    out: Path,
    sheet: str | None,
    *,
    bank: Bank | None,
    language: str,
    calibrations: Mapping[str, Calibration],
) -> None:
    from grader.cli.tally import Tally
    from grader.sinks import check_cells, check_output, open_sink
    from grader.sources import open_pieces
    from grader.table_stream import check_table

    check_output(file, out)
    pieces = open_pieces(file, sheet)
    for warning in pieces.warnings:
        note(f"{file.name}: {warning}")
    with busy("Checking the table …"):
        table = check_table(pieces, bank, lambda kept: check_cells(out, kept))
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
    with progress_bar(console(err=True)) as progress:
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
