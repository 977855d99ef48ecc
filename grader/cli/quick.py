"""``grader quick-check``: multiple choice, with the reason behind every option."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from grader.cli.common import BankOption, console, find_item, open_bank, prompt_line
from grader.errors import InputError

if TYPE_CHECKING:
    from grader.rubric import Option, QuickCheck

_LETTERS = "ABCDEFGH"


def register(app: typer.Typer) -> None:
    """Adds the command to ``app``."""
    app.command("quick-check")(quick_check)


def quick_check(
    item: Annotated[str | None, typer.Argument(metavar="[ITEM]", help="Only this item's; otherwise all.")] = None,
    bank: BankOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Changes the order of the options.")] = 0,
) -> None:
    """Answer multiple choice questions by letter; every answer is explained. 'q' stops."""
    items = [find_item(bank, item)] if item is not None else list(open_bank(bank).values())
    checks = [check for entry in items for check in entry.quick_checks]
    if not checks:
        raise InputError(f"item '{item}' has no quick check" if item else "this bank has no quick check")
    screen = console()
    right = asked = 0
    for number, check in enumerate(checks, 1):
        options = shuffled(check, seed)
        chosen = _ask(screen, check, options, f"{number}/{len(checks)}")
        if chosen is None:
            break
        asked += 1
        right += options[chosen].correct
        _explain(screen, options, chosen)
    screen.print()
    screen.print(f"{right} of {asked} right")


def shuffled(check: QuickCheck, seed: int) -> list[Option]:
    """The options in an order that depends on the check and ``seed`` alone."""
    options = list(check.options)
    random.Random(f"{seed}:{check.id}").shuffle(options)
    return options


def _ask(screen: Console, check: QuickCheck, options: Sequence[Option], place: str) -> int | None:
    """Index of the chosen option, ``None`` to stop."""
    from grader.cli.render import paragraph

    screen.print()
    if check.label:
        paragraph(screen, check.label, style="dim")
    paragraph(screen, f"[{place}] {check.stem}", style="bold cyan")
    for letter, option in zip(_LETTERS, options, strict=False):
        paragraph(screen, f"{letter}  {option.text}", indent=2)
    letters = _LETTERS[: len(options)]
    while True:
        line = prompt_line(f"{letters[0]}-{letters[-1]}> ")
        if line is None or line.strip().casefold() == "q":
            return None
        typed = line.strip().upper()
        if len(typed) == 1 and typed in letters:
            return letters.index(typed)
        screen.print(f"one letter from {letters[0]} to {letters[-1]}, or q to stop")


def _explain(screen: Console, options: Sequence[Option], chosen: int) -> None:
    from grader.cli.render import paragraph

    picked = options[chosen]
    verdict, style = ("Right.", "green") if picked.correct else ("Not right.", "red")
    paragraph(screen, f"{verdict} {picked.why}", style=style, indent=2)
    if not picked.correct:
        at = next(place for place, option in enumerate(options) if option.correct)
        paragraph(screen, f"{_LETTERS[at]} is right: {options[at].text}. {options[at].why}", indent=2)
