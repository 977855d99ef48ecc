"""``grader items draft``, ``import`` and ``export``: rubrics from model answers, and back into other systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.common import BankOption, console, find_item, make_grader, note, open_bank, read_answer, safe
from grader.errors import InputError

if TYPE_CHECKING:
    from grader.draft import Draft
    from grader.encoder import Encoder
    from grader.formats.question import ModelQuestion

QuickOption = Annotated[
    bool, typer.Option("--quick", help="Sort by cue phrases and position only, without the language model.")
]
LanguageOption = Annotated[str, typer.Option("--language", help="Two-letter code of the items' language.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Folder to write rubric files to, such as a pack.")
]


class ExportFormat(StrEnum):
    """What items are exported as."""

    MOODLE = "moodle"
    CSV = "csv"


def register(app: typer.Typer) -> None:
    """Adds the commands to ``grader items``."""
    app.command("draft")(draft)
    app.command("import")(import_items)
    app.command("export")(export_items)


def draft(
    ctx: typer.Context,
    question: Annotated[str, typer.Option("--question", help="The prompt.")],
    answer: Annotated[str | None, typer.Option("--answer", help="The model answer; '-' reads it.")] = None,
    file: Annotated[Path | None, typer.Option("--file", metavar="PATH", help="File with the model answer.")] = None,
    name: Annotated[str | None, typer.Option("--id", help="Id of the item; made from the question if missing.")] = None,
    language: LanguageOption = "en",
    max_score: Annotated[float, typer.Option("--max", help="Top of the scale.")] = 5.0,
    out: OutOption = None,
    quick: QuickOption = False,
) -> None:
    """Make a first rubric of a question and a model answer; comments say what needs a human eye."""
    from grader.draft import draft_item, item_id_of

    text = read_answer(answer, file, f"{question}\nThe model answer:")
    made = draft_item(
        question,
        text,
        item_id=name or item_id_of(question),
        language=language,
        max_score=max_score,
        encoder=_encoder(ctx, quick),
    )
    if out is None:
        typer.echo(safe(made.text), nl=False)
    else:
        console().print(safe(f"{_write(made, out)} written; look at the lines with CHECK"), soft_wrap=True)


def import_items(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Moodle XML, GIFT, QTI item or package, CSV or XLSX.")],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder to write rubric files to.")],
    language: LanguageOption = "en",
    quick: QuickOption = False,
) -> None:
    """Make a first rubric of every question with a model answer in FILE."""
    from grader.formats.limits import DEFAULT_LIMITS
    from grader.formats.model_answers import read_model_answers

    with file.open("rb") as opened:
        found = read_model_answers(opened.read(DEFAULT_LIMITS.max_bytes + 1), name=file.name)
    for remark in found.notes:
        note(str(remark))
    drafts = list(_drafts(found.questions, out, language, _encoder(ctx, quick)))
    for made in drafts:
        _write(made, out)
    text = f"{len(drafts)} items written to {out}; look at the lines with CHECK"
    console().print(safe(text), soft_wrap=True)


def _drafts(questions: Sequence[ModelQuestion], out: Path, language: str, encoder: Encoder | None) -> Iterator[Draft]:
    from grader.draft import draft_item, item_id_of

    taken = {path.stem for path in out.glob("*.yaml")}
    for question in questions:
        item_id = item_id_of(question.name or question.prompt, taken)
        taken.add(item_id)
        yield draft_item(
            question.prompt,
            question.answers,
            item_id=item_id,
            language=question.language or language,
            max_score=question.max_score or 5.0,
            encoder=encoder,
        )


def _encoder(ctx: typer.Context, quick: bool) -> Encoder | None:
    return None if quick else make_grader(ctx).encoder


def _write(made: Draft, out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{made.item.id}.yaml"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(made.text)
    except FileExistsError:
        raise InputError(f"{path}: there is an item of this id already; allowed: another --id") from None
    return path


def export_items(
    to: Annotated[ExportFormat, typer.Option("--to", help="Moodle XML (essays with grader information) or CSV.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write.")],
    items: Annotated[list[str] | None, typer.Argument(metavar="[ITEM]...", help="Ids; all items if none.")] = None,
    bank: BankOption = None,
) -> None:
    """Write questions and model answers for another system."""
    from grader.formats.model_csv import write_table_answers
    from grader.formats.model_moodle import write_moodle

    chosen = [find_item(bank, name) for name in items] if items else list(open_bank(bank).values())
    write = write_moodle if to is ExportFormat.MOODLE else write_table_answers
    out.write_bytes(write(chosen))
    console().print(safe(f"{len(chosen)} items written to {out}"), soft_wrap=True)
