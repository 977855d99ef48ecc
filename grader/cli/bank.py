"""``grader items``: what is in the bank, and what is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.cli.common import (
    EXIT_PROBLEMS,
    BankOption,
    ItemArgument,
    JsonOption,
    busy,
    console,
    find_item,
    make_grader,
    open_bank,
    print_json,
    safe,
)

if TYPE_CHECKING:
    from grader.errors import Problem
    from grader.rubric import Item

app = typer.Typer(no_args_is_help=True, help="List, show and check the items of a bank.")


@app.command("list")
def list_items(bank: BankOption = None, json: JsonOption = False) -> None:
    """List the items of the bank."""
    items = list(open_bank(bank).values())
    if json:
        print_json([_entry(item) for item in items])
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "lang", "max", "prompt"):
        table.add_column(name, justify="right" if name == "max" else "left", no_wrap=name == "id")
    for item in items:
        row = (item.id, item.language, f"{item.scale.max:g}", " ".join(item.prompt.split()))
        table.add_row(*(Text(safe(cell)) for cell in row))
    console().print(table)


def _entry(item: Item) -> dict[str, object]:
    return {
        "id": item.id,
        "version": item.version,
        "content_hash": item.content_hash,
        "language": item.language,
        "tags": list(item.tags),
        "aliases": list(item.aliases),
        "prompt": item.prompt,
        "max_score": item.scale.max,
        "step": item.scale.step,
        "components": {name: component.weight for name, component in item.components.items()},
        "follow_ups": len(item.follow_ups),
        "quick_checks": len(item.quick_checks),
    }


@app.command("show")
def show_item(
    item: ItemArgument,
    bank: BankOption = None,
    key: Annotated[bool, typer.Option("--key", help="Show accepted wordings and the model answer too.")] = False,
    json: JsonOption = False,
) -> None:
    """Show one item: prompt, components, misconceptions, follow-ups (JSON: the whole rubric)."""
    found = find_item(bank, item)
    if json:
        print_json({**found.model_dump(mode="json"), "content_hash": found.content_hash})
        return
    from grader.cli.render import heading, paragraph

    screen = console()
    paragraph(screen, found.prompt, style="bold")
    facts = f"{found.id}, version {found.version}, {found.language}, 0 to {found.scale.max:g} in steps of "
    paragraph(screen, f"{facts}{found.scale.step:g}, rubric {found.content_hash[:8]}", style="dim")
    paragraph(screen, f"tags: {', '.join(found.tags) or 'none'}; source: {found.source or 'not given'}", style="dim")
    _show_components(screen, found, key)
    for title, lines in (
        ("Misconceptions", [f"{m.id}: {m.statements[0]}" for m in found.misconceptions]),
        ("Follow-ups", [f"{f.id}: {f.question}" for f in found.follow_ups]),
        ("Quick checks", [f"{check.id}: {check.stem}" for check in found.quick_checks]),
    ):
        if lines:
            heading(screen, title)
        for line in lines:
            paragraph(screen, line, indent=2)
    if key:
        heading(screen, "Model answer")
        paragraph(screen, found.reference_answer, indent=2)


def _show_components(screen: Console, item: Item, key: bool) -> None:
    from grader.cli.render import heading, paragraph

    for name, component in item.components.items():
        rule = f"{component.rule} {component.n}" if component.n else component.rule
        heading(screen, f"{name} (weight {component.weight:g}, {rule})")
        for element in component.elements:
            count = len(element.key_statements)
            paragraph(screen, f"{element.id}: {count} key statement{'s' * (count != 1)}", indent=2)
            for statement in element.key_statements if key else ():
                paragraph(screen, f"- {statement}", indent=4)
        if component.hint:
            paragraph(screen, f"hint: {component.hint}", style="italic", indent=2)


@app.command("lint")
def lint_items(
    ctx: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Rubric files or folders; the bank that ships.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only what needs no language model.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
    json: JsonOption = False,
) -> None:
    """Check rubrics beyond syntax; exit status 1 when something has to be mended.

    Codes and the waivers that accept a warning are described in docs/rubric-format.md.
    """
    from grader.bank import default_rubrics, rubric_files

    lint_files(ctx, list(rubric_files(paths or [default_rubrics()])), quick=quick, strict=strict, json=json)


def lint_files(
    ctx: typer.Context,
    files: Sequence[Path],
    before: Sequence[Problem] = (),
    *,
    quick: bool,
    strict: bool,
    json: bool,
) -> None:
    """Lints ``files`` and reports what is found, after the problems found ``before``; ends with status 1 if bad."""
    from grader.lint import lint_file

    grader = None if quick else make_grader(ctx)
    problems = list(before)
    owners: dict[str, Path] = {}
    for problem in () if json else problems:
        _show_problem(problem)
    for number, path in enumerate(files, 1):
        with busy(f"{number}/{len(files)} {safe(path.name)}"):
            found = lint_file(path, grader, owners)
        problems += found
        for problem in () if json else found:
            _show_problem(problem)
    if json:
        print_json([_problem_entry(problem) for problem in problems])
    else:
        counts = Counter(problem.severity for problem in problems)
        console().print(f"{len(files)} files, {counts['error']} errors, {counts['warning']} warnings")
    if any(strict or problem.severity == "error" for problem in problems):
        raise typer.Exit(EXIT_PROBLEMS)


def _show_problem(problem: Problem) -> None:
    text = Text(f"{problem.severity}: ", style="red" if problem.severity == "error" else "yellow")
    console().print(text.append(safe(str(problem)), style="default"), soft_wrap=True)


def _problem_entry(problem: Problem) -> dict[str, object]:
    names = ("code", "severity", "file", "line", "field", "message")
    return {name: getattr(problem, name) for name in names}
