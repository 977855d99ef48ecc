"""``grader calibrate`` and ``grader suggest-labels``: labelled answers in, a calibration and its figures out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.common import (
    BankOption,
    JsonOption,
    LanguageOption,
    check_language,
    console,
    make_grader,
    note,
    open_bank,
)
from grader.cli.labelled import column, labelled_rows, of_item, read_rows
from grader.errors import InputError

TableArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="Table with columns response and human_score: .csv, .xlsx or .parquet.")
]
AnswersArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Table with a column response.")]
ItemOption = Annotated[str, typer.Option("--item", metavar="ITEM", help="Id of the item the answers belong to.")]


def register(app: typer.Typer) -> None:
    """Adds the commands to ``app``."""
    app.command("calibrate")(calibrate)
    app.command("suggest-labels")(suggest_labels)
    app.command("rubric-advice")(rubric_advice)


def calibrate(
    ctx: typer.Context,
    file: TableArgument,
    item: ItemOption,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for calibrations.")] = Path("calibrations"),
    report: Annotated[Path | None, typer.Option("--report", metavar="HTML", help="Write the report here.")] = None,
    risk: Annotated[float, typer.Option("--risk", help="Share of marks that may be off by more, 0 to 1.")] = 0.02,
    tolerance: Annotated[float, typer.Option("--tolerance", help="… than this many points.")] = 1.0,
    pass_mark: Annotated[float | None, typer.Option("--pass-mark", help="Refer marks that may cross it.")] = None,
    subgroup: Annotated[
        str | None, typer.Option("--subgroup", metavar="COLUMN", help="Report the figures by the values in it.")
    ] = None,
    chance: Annotated[
        str | None,
        typer.Option(
            "--chance",
            metavar="COLUMN",
            help="Probability that the answer was chosen to be marked, for labels that are no random sample "
            "(referred answers: 1, others: the share that was looked at).",
        ),
    ] = None,
    bank: BankOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit an item's scorer to marks that people gave, and say how well it agrees with them.

    Columns: response, human_score, optionally human_score_2, human_<component> (points) and item (other items' rows
    are passed over). The calibration is used once it is promoted ('grader calibrations promote') or named
    ('grader batch --calibration').
    """
    from grader.calibration import Calibrator
    from grader.calibration_study import study
    from grader.referral import Policy

    if not 0 < risk < 1 or tolerance < 0:
        raise InputError(f"--risk {risk:g} must lie between 0 and 1, and --tolerance {tolerance:g} not below 0")
    wanted = open_bank(bank)[item]
    rows = labelled_rows(read_rows(file), wanted, file.name, subgroup=subgroup, chance=chance)
    grader = make_grader(ctx)
    policy = Policy(tolerance=tolerance, risk=risk, pass_mark=pass_mark)
    fitted = Calibrator(grader, policy).fit(
        wanted, rows.responses, rows.scores, components=rows.components, chances=rows.chances
    )
    path = fitted.save(out)
    signature = grader.signature(wanted, fitted.name)
    examined = study(
        fitted, wanted, rows.responses, rows.scores, rows=rows.rows, human2=rows.second, subgroups=rows.subgroups,
        signature=signature,
    )  # fmt: skip
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
    file: AnswersArgument,
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
    frame = of_item(read_rows(file), wanted)
    responses = column(frame, "response", file.name)
    rows = make_grader(ctx).represent(wanted, responses)
    marked = column(frame, "human_score", file.name) if "human_score" in frame else []
    labelled = [at for at, mark in enumerate(marked) if mark.strip()]
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


def rubric_advice(
    ctx: typer.Context,
    file: TableArgument,
    item: ItemOption,
    bank: BankOption = None,
    language: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """Say what marked answers show about an item's rubric: parts nobody earns, ideas it lacks, idle keywords."""
    from grader.advice import LEAST_ANSWERS, advise

    check_language(language)
    wanted = open_bank(bank)[item]
    rows = labelled_rows(read_rows(file), wanted, file.name)
    found = advise(make_grader(ctx), wanted, rows.responses, rows.scores)
    if as_json:
        plain = [one.to_dict(language) | {"rows": [rows.rows[at] for at in one.rows]} for one in found]
        typer.echo(json.dumps(plain, ensure_ascii=False))
        return
    screen = console()
    for one in found:
        where = f" (rows {', '.join(str(rows.rows[at]) for at in one.rows)})" if one.rows else ""
        screen.print(f"{one.sentence(language)}{where}")
    if not found:
        few = len(rows.scores) < LEAST_ANSWERS
        note(f"nothing to advise{f': fewer than {LEAST_ANSWERS} marked answers' if few else ''}")
