"""Scores for a terminal; everything shown comes from `Score` and `Feedback`, as in the JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.cli.common import safe
from grader.feedback import component_name
from grader.i18n import translator
from grader.rubric import Item
from grader.score import Quoted, Score, Step

_METER = 20
_STYLES = {"present": "green", "partial": "yellow", "missing": "red"}
_STEP_NAMES = {
    "error_deduction": "false statement",
    "honest_credit": "says how to find out",
    "rounding": "rounding to a score point",
}

Translate = Callable[[str], str]


def paragraph(screen: Console, text: str, *, style: str = "", indent: int = 0) -> None:
    """Wrapped text as it is, without markup."""
    for line in Text(safe(text), style=style).wrap(screen, max(screen.width - indent, 20)):
        line.rstrip()
        screen.print(Text(" " * indent).append_text(line))


def heading(screen: Console, text: str) -> None:
    """A heading with an empty line above it."""
    screen.print()
    screen.print(Text(safe(text), style="bold"))


def meter(screen: Console, share: float) -> str:
    """A bar of twenty characters, filled by ``share`` (0 to 1)."""
    full, empty = ("█", "░") if (screen.encoding or "").lower().startswith("utf") else ("#", "-")
    filled = round(min(max(share, 0.0), 1.0) * _METER)
    return full * filled + empty * (_METER - filled)


def show_score(screen: Console, score: Score, item: Item, *, show_answer: bool = False) -> None:
    """Summary, meters, quotes, what is missing or wrong, the next question, the calculation and the signature."""
    feedback, translate = score.feedback, translator(score.feedback.language)
    paragraph(screen, f"{item.id}  {item.prompt}", style="dim")
    screen.print()
    show_feedback(screen, score)
    if feedback.next_question:
        heading(screen, translate("The examiner's next question"))
        paragraph(screen, feedback.next_question, indent=2)
    if show_answer:
        heading(screen, translate("A full answer"))
        paragraph(screen, item.reference_answer, indent=2)
    if score.calculation and score.score is not None:
        screen.print()
        total = f"{score.score:g} / {score.max_score:g}"
        paragraph(screen, f"{sum_line(score.calculation, translate)} = {total}", style="dim")
    if score.referred:
        paragraph(screen, f"Referred to a person: {', '.join(score.referral_reasons)}", style="yellow")
    screen.print(Text(safe(score.signature), style="dim"), soft_wrap=True)


def show_feedback(screen: Console, score: Score) -> None:
    """Summary, condition, meters, what is there, what is wrong and what is missing."""
    feedback, translate = score.feedback, translator(score.feedback.language)
    paragraph(screen, feedback.summary, style="bold")
    if feedback.condition:
        paragraph(screen, f"{feedback.condition} [{score.condition_code}]", style="yellow")
    if score.score is not None:
        screen.print()
        screen.print(_components(screen, score, translate))
    missing = feedback.missing if score.score is not None else ()
    said_below = {(entry.component, entry.text) for entry in missing}
    present = [
        e.model_copy(update={"text": ""}) if (e.component, e.text) in said_below else e for e in feedback.present
    ]
    for title, style, entries in (
        ("What is there", "green", present),
        ("What is wrong", "red", feedback.wrong),
        ("What is missing", "yellow", missing),
    ):
        _entries(screen, translate(title), style, entries, translate)


def _components(screen: Console, score: Score, translate: Translate) -> Table:
    table = Table.grid(padding=(0, 2))
    for component in score.components:
        name = component_name(component.name, translate)
        bar = Text(meter(screen, component.credit), style=_STYLES[component.status])
        points = f"{component.points:.2f} / {component.weight:g}"
        table.add_row(Text(f"  {safe(name)}"), bar, Text(f"{component.credit:.2f}"), Text(points, style="dim"))
    return table


def _entries(screen: Console, title: str, style: str, entries: Sequence[Quoted], translate: Translate) -> None:
    if not entries:
        return
    heading(screen, title)
    for entry in entries:
        name = f"{component_name(entry.component, translate)}: " if entry.component else ""
        paragraph(screen, f"{name}{entry.text}".rstrip(), indent=2)
        if entry.quote:
            paragraph(screen, f"\u201c{' '.join(entry.quote.split())}\u201d", style=style, indent=4)
        if entry.hint:
            paragraph(screen, f"{translate('Hint')}: {entry.hint}", style="italic", indent=4)


def step_name(label: str, translate: Translate) -> str:
    """The name of a line of the calculation."""
    if label.startswith("cap:"):
        return f"cap ({label.removeprefix('cap:')})"
    return _STEP_NAMES.get(label) or component_name(label, translate)


def sum_line(steps: Sequence[Step], translate: Translate) -> str:
    """The calculation in one line: ``definition 2.21 + reason 1.32 - false statement 1``."""
    parts: list[str] = []
    for step in steps:
        sign = "-" if step.points < 0 else "+" if parts else ""
        parts.append(f"{sign} {step_name(step.label, translate)} {abs(step.points):g}".strip())
    return " ".join(parts)
