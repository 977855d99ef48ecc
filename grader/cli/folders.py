"""``grader batch`` on a folder of tables, here or on a Ray cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from grader.cli.common import EXIT_INTERRUPTED, EXIT_PROBLEMS, console, note, progress_bar, safe

if TYPE_CHECKING:
    from grader.partitions import Engine, Settings


def grade_tables(source: Path, settings: Settings, engine: Engine) -> None:
    """Grades the tables of ``source`` and says what came of it; ends with status 1 when rows have failed."""
    from grader.partitions import FAILED, grade_folder, partitions

    total = len(partitions(source, settings.out))
    graded = failed = before = 0
    with progress_bar(console(err=True)) as progress:
        task = progress.add_task("Grading tables", total=total)
        try:
            for done in grade_folder(source, settings, engine):
                graded += done.rows
                failed += len(done.failed)
                before += not done.fresh
                progress.advance(task)
        except KeyboardInterrupt:
            note(f"stopped; {settings.out} holds whole tables, and the same command goes on from there")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    there = f" ({before} of {total} tables were there already)" if before else ""
    console().print(f"{graded} responses graded into {safe(str(settings.out))}{there}", soft_wrap=True)
    if failed:
        console().print(f"{failed} failed; see {safe(str(settings.out / FAILED))}", soft_wrap=True)
        raise typer.Exit(EXIT_PROBLEMS)
