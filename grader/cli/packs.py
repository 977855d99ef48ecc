"""``grader pack``: items that travel together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from grader.cli.bank import lint_files
from grader.cli.common import JsonOption, console, print_json, safe

if TYPE_CHECKING:
    from grader.errors import Problem

if TYPE_CHECKING:
    pass

app = typer.Typer(no_args_is_help=True, help="Make, check, build and install packs of items.")

FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with pack.yaml and the items.")]
RootOption = Annotated[
    Path | None,
    typer.Option("--into", metavar="FOLDER", help="Folder of packs; by default the one that is always searched."),
]


@app.command("list")
def list_packs(json: JsonOption = False) -> None:
    """List the packs that ship and those that are installed."""
    from grader.packs import find_packs

    packs = find_packs()
    if json:
        print_json([{**p.manifest.model_dump(mode="json"), "items": len(p.items)} for p in packs])
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "version", "lang", "items", "licence", "title"):
        table.add_column(name, justify="right" if name == "items" else "left", no_wrap=name == "id")
    for pack in packs:
        about = pack.manifest
        row = (about.id, about.version, about.language, str(len(pack.items)), about.licence, about.title)
        table.add_row(*(Text(safe(cell)) for cell in row))
    console().print(table)


@app.command("new")
def new_pack(
    folder: FolderArgument,
    title: Annotated[str, typer.Option("--title", help="What readers see.")],
    author: Annotated[list[str], typer.Option("--author", help="Who wrote it; repeatable.")],
    topic: Annotated[list[str], typer.Option("--topic", help="What it is about, such as 'statistics'; repeatable.")],
    licence: Annotated[str, typer.Option("--licence", help="SPDX name or a sentence.")] = "CC-BY-4.0",
    language: Annotated[str, typer.Option("--language", help="Two-letter code that all items share.")] = "en",
) -> None:
    """Make FOLDER a pack: write its manifest. 'grader items draft' then makes items for it."""
    from pydantic import ValidationError

    from grader import packs
    from grader.errors import InputError
    from grader.yamlfile import found_problems

    about = {"id": folder.resolve().name, "title": title, "language": language, "licence": licence}
    try:
        manifest = packs.Manifest.model_validate({**about, "authors": author, "version": "0.1.0", "topics": topic})
    except ValidationError as error:
        where, what = found_problems(error.errors(include_url=False))[0]
        raise InputError(f"{'.'.join(map(str, where))}: {what}") from None
    path = packs.new_pack(folder, manifest)
    console().print(safe(f"{path} written; put one rubric file an item beside it"), soft_wrap=True)


@app.command("check")
def check_pack(
    ctx: typer.Context,
    folder: FolderArgument,
    quick: Annotated[bool, typer.Option("--quick", help="Only what needs no language model.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
    json: JsonOption = False,
) -> None:
    """Check the manifest and lint the items; exit status 1 when something has to be mended."""
    from grader.bank import MANIFEST, rubric_files
    from grader.errors import RubricError
    from grader.packs import load_pack

    try:
        load_pack(folder)
        problems: list[Problem] = []
    except RubricError as error:
        problems = [p for p in error.problems if p.code.startswith("pack-") or Path(p.file).name == MANIFEST]
    lint_files(ctx, list(rubric_files([folder])), problems, quick=quick, strict=strict, json=json)


@app.command("build")
def build_pack(
    folder: FolderArgument,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="File or folder; by default the current folder.")
    ] = None,
) -> None:
    """Write the pack as one archive with checksums."""
    from grader import packs

    path = packs.build_pack(folder, out)
    console().print(safe(f"{path} written"), soft_wrap=True)


@app.command("install")
def install_pack(
    archive: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="What 'grader pack build' wrote.")],
    into: RootOption = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the same or a later version too.")] = False,
) -> None:
    """Check an archive and put the pack where every command finds it."""
    from grader import packs

    pack = packs.install_pack(archive, into, replace=replace)
    about = pack.manifest
    text = f"{about.title}, version {about.version}: {len(pack.items)} items in {pack.folder}"
    console().print(safe(text), soft_wrap=True)


@app.command("remove")
def remove_pack(
    pack: Annotated[str, typer.Argument(metavar="PACK", help="Id of an installed pack.")], into: RootOption = None
) -> None:
    """Delete an installed pack."""
    from grader import packs

    packs.remove_pack(pack, into)
    console().print(safe(f"{pack} removed"), soft_wrap=True)
