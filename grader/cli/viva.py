"""``grader viva``: the examiner at a terminal."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from grader.cli.common import (
    BankOption,
    LanguageOption,
    check_language,
    console,
    find_item,
    make_grader,
    open_bank,
    prompt_line,
)
from grader.errors import InputError

if TYPE_CHECKING:
    from grader.rubric import Item
    from grader.score import Score
    from grader.viva import Question, Summary

_HELP = "End an answer with an empty line. '?' gives a hint, 'q' stops."


def register(app: typer.Typer) -> None:
    """Adds the command to ``app``."""
    app.command("viva")(viva)


def viva(
    ctx: typer.Context,
    item: Annotated[str | None, typer.Argument(metavar="[ITEM]", help="Ask about this item only.")] = None,
    pack: Annotated[str | None, typer.Option("--pack", help="Ask about all items of a pack, e.g. pytorch.")] = None,
    bank: BankOption = None,
    questions: Annotated[int | None, typer.Option("--questions", min=1, help="Ask at most this many items.")] = None,
    shuffle: Annotated[int | None, typer.Option("--shuffle", metavar="SEED", help="Shuffle the items.")] = None,
    follow_ups: Annotated[int, typer.Option("--follow-ups", min=0, help="Most further questions an item.")] = 2,
    language: LanguageOption = "en",
) -> None:
    """Ask, grade, follow up, keep score, and end with what to revise."""
    from grader.viva import Examiner

    check_language(language)
    items = _choose(item, pack, bank)
    order = list(items)
    if shuffle is not None:
        random.Random(shuffle).shuffle(order)
    examiner = Examiner(items, make_grader(ctx))
    state = examiner.start(order[:questions], follow_ups=follow_ups, language=language)
    screen = console()
    screen.print(_HELP)
    try:
        while question := examiner.ask(state):
            answer = _ask(screen, question)
            if answer is None:
                break
            state, score = examiner.answer(state, answer)
            _show(screen, items[question.item], question, score)
    except KeyboardInterrupt:
        screen.print()
    _show_summary(screen, examiner.summary(examiner.stop(state)))


def _choose(item: str | None, pack: str | None, bank: list[Path] | None) -> dict[str, Item]:
    if item is not None and pack is not None:
        raise InputError("give an ITEM or --pack, not both")
    if item is not None:
        found = find_item(bank, item)
        return {found.id: found}
    if pack is None:
        return dict(open_bank(bank))
    return dict(open_bank(_pack_folders(pack, bank)))


def _pack_folders(pack: str, bank: list[Path] | None) -> list[Path]:
    from grader.bank import default_places

    packs = [entry for root in bank or default_places() if root.is_dir() for entry in root.iterdir() if entry.is_dir()]
    found = [entry for entry in packs if entry.name == pack]
    if not found:
        known = ", ".join(sorted(entry.name for entry in packs))
        raise InputError(f"no pack '{pack}'; allowed: {known or 'none in this bank'}")
    return found


def _ask(screen: Console, question: Question) -> str | None:
    """The typed answer, ``None`` to stop."""
    from grader.cli.render import paragraph

    screen.print()
    kind = "follow-up" if question.follow_up else f"{question.number}/{question.of}"
    paragraph(screen, f"[{kind}] {question.text}", style="bold cyan")
    lines: list[str] = []
    while True:
        line = prompt_line("> " if not lines else ". ")
        if line is None:
            return "\n".join(lines) if lines else None
        if not lines and line.strip().casefold() == "q":
            return None
        if not lines and line.strip() == "?":
            paragraph(screen, question.hint or "No hint for this one.", style="italic", indent=2)
        elif line.strip():
            lines.append(line)
        else:
            return "\n".join(lines)


def _show(screen: Console, item: Item, question: Question, score: Score) -> None:
    from grader.cli.render import paragraph, show_feedback

    screen.print()
    show_feedback(screen, score)
    if question.follow_up:
        asked = next(f for f in item.follow_ups if f.id == question.follow_up)
        paragraph(screen, f"A full answer: {asked.reference_answer}", style="dim", indent=2)


def _show_summary(screen: Console, summary: Summary) -> None:
    from grader.cli.render import heading, paragraph

    if not summary.results:
        screen.print("Nothing was answered.")
        return
    heading(screen, "Your viva")
    for result in summary.results:
        mark = "no mark" if result.score is None else f"{result.score:g} / {result.max_score:g}"
        more = f", follow-ups {result.follow_up_score:g} / {result.follow_up_max:g}" if result.follow_up_max else ""
        paragraph(screen, f"{mark}{more}  {result.prompt}", indent=2)
    total = f"Total: {summary.score:g} / {summary.max_score:g}"
    if summary.follow_up_max:
        total += f", follow-ups {summary.follow_up_score:g} / {summary.follow_up_max:g}"
    paragraph(screen, total, style="bold")
    if not summary.revise:
        screen.print("Nothing to revise: well done.")
        return
    heading(screen, "What to revise")
    for entry in summary.revise:
        quote = f" (you said \u201c{' '.join(entry.quote.split())}\u201d)" if entry.quote else ""
        paragraph(screen, f"- {entry.item}: {entry.text}{quote}", indent=2)
        if entry.hint:
            paragraph(screen, f"Hint: {entry.hint}", style="italic", indent=4)
