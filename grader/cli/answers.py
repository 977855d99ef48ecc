"""``grader grade`` and ``grader explain``: one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.cli.common import (
    BankOption,
    FileOption,
    ItemArgument,
    JsonOption,
    LanguageOption,
    TextArgument,
    check_language,
    console,
    find_item,
    make_grader,
    print_json,
    read_answer,
    safe,
)

if TYPE_CHECKING:
    from grader.explain import ElementCalculation, Explanation
    from grader.rubric import Item


def register(app: typer.Typer) -> None:
    """Adds the commands to ``app``."""
    app.command("grade")(grade)
    app.command("explain")(explain)


def grade(
    ctx: typer.Context,
    item: ItemArgument,
    text: TextArgument = None,
    file: FileOption = None,
    bank: BankOption = None,
    answer: Annotated[bool, typer.Option("--answer", help="Show the model answer too.")] = False,
    language: LanguageOption = "en",
    json: JsonOption = False,
) -> None:
    """Grade one answer and say what is there, what is missing and what is wrong.

    The answer is TEXT, the content of --file, or standard input. An answer that starts with a dash goes after '--'.
    """
    check_language(language)
    found = find_item(bank, item)
    response = read_answer(text, file, found.prompt)
    score = make_grader(ctx).grade(found, response, language=language)
    if json:
        data = score.for_candidate(show_key=answer or found.limits.show_key).model_dump(mode="json")
        print_json({**data, "reference_answer": found.reference_answer} if answer else data)
        return
    from grader.cli.render import show_score

    show_score(console(), score, found, show_answer=answer)


def explain(
    ctx: typer.Context,
    item: ItemArgument,
    text: TextArgument = None,
    file: FileOption = None,
    bank: BankOption = None,
    json: JsonOption = False,
) -> None:
    """Show the calculation of a mark line by line; for authors, since it names accepted wordings."""
    from grader.explain import explain as calculate

    found = find_item(bank, item)
    response = read_answer(text, file, found.prompt)
    explanation = calculate(make_grader(ctx), found, response)
    if json:
        print_json(explanation.model_dump(mode="json"))
        return
    _show_explanation(console(), explanation, found, response)


def _show_explanation(screen: Console, explanation: Explanation, item: Item, response: str) -> None:
    from grader.cli.render import heading, paragraph

    score = explanation.score
    paragraph(screen, f"{item.id}  {item.prompt}", style="dim")
    heading(screen, "How the answer was read")
    for view in score.statements:
        paragraph(screen, f"{view.role:13} {' '.join(response[view.start : view.end].split())}", indent=2)
    if score.condition_code:
        paragraph(screen, f"condition: {score.condition_code}", style="yellow", indent=2)
    for component in score.components:
        rubric = item.components[component.name]
        rule = f"{rubric.rule} {rubric.n}" if rubric.n else rubric.rule
        heading(screen, f"{component.name} (weight {component.weight:g}, {rule})")
        for number, part in enumerate(p for p in explanation.elements if p.component == component.name):
            _show_element(screen, part, rubric.elements[number].weight, component.elements[number].contradicted)
        paragraph(
            screen,
            f"credit {component.credit:.4f} x weight {component.weight:g} = {component.points:.2f} points",
            indent=2,
        )
    for error in score.errors:
        heading(screen, f"False statement: {error.kind} {error.id}")
        paragraph(screen, f"\u201c{' '.join(error.text.split())}\u201d {error.explanation}", style="red", indent=2)
    _show_steps(screen, explanation)
    if explanation.elements:
        heading(screen, "What the measures mean")
        for measure in explanation.elements[0].measures:
            paragraph(screen, f"{measure.name}: {measure.meaning}", style="dim", indent=2)
    screen.print()
    screen.print(Text(safe(score.signature), style="dim"), soft_wrap=True)


def _show_element(screen: Console, part: ElementCalculation, weight: float, contradicted: bool) -> None:
    from grader.cli.render import paragraph

    paragraph(screen, f"{part.element} (weight {weight:g}): credit {part.credit:.4f}", style="bold", indent=2)
    paragraph(screen, f"nearest wording: {part.wording}", indent=4)
    if part.keywords:
        paragraph(screen, f"keywords met: {', '.join(part.keywords)}", indent=4)
    table = Table.grid(padding=(0, 2))
    for measure in part.measures:
        sums = f"{measure.value:.4f} x {measure.weight:+.4f} = {measure.product:+.4f}"
        table.add_row(Text(f"      {measure.name}"), Text(sums))
    table.add_row(Text("      constant"), Text(f"{part.bias:+.4f}", justify="right"))
    table.add_row(Text("      sum"), Text(f"{part.total:+.4f}", justify="right"))
    screen.print(table)
    curve = f"through the {part.scorer} curve, stretched by {part.stretch:g}: {part.computed:.4f}"
    paragraph(screen, curve, indent=6)
    if part.credit != part.computed:
        why = "contradicted by a false statement" if contradicted else "does not count, the answer is off topic"
        paragraph(screen, f"{why}: credit {part.credit:.4f}", style="red", indent=4)


def _show_steps(screen: Console, explanation: Explanation) -> None:
    from grader.cli.render import heading, step_name

    score = explanation.score
    heading(screen, "The mark")
    table = Table.grid(padding=(0, 2))
    for step in score.calculation:
        table.add_row(Text(f"  {step_name(step.label, str)}"), Text(f"{step.points:+.2f}", justify="right"))
    total = "none" if score.score is None else f"{score.score:g} / {score.max_score:g}"
    table.add_row(Text("  score", style="bold"), Text(total, style="bold", justify="right"))
    screen.print(table)
