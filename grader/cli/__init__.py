"""The command ``grader``: one module a group of commands, started by `main`.

Nothing heavy is imported before a command needs it, so that help and lists come at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from grader.cli import answers, bank, batch, calibrate, calibrations, drafting, packs, quick, service, viva
from grader.cli import cache as cache_commands
from grader.cli.common import GraderGroup, Options

app = typer.Typer(
    name="grader",
    cls=GraderGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Grades written short answers with rubrics: the same answer always gets the same mark.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from grader.signature import package_version

        typer.echo(f"grader {package_version()}")
        raise typer.Exit


@app.callback()
def _options(
    ctx: typer.Context,
    encoder: Annotated[
        str,
        typer.Option(
            envvar="GRADER_ENCODER",
            help="Language model: 'default' (packaged), a folder or hub name of a sentence-transformers model, or "
            "'hash' (a fake for tests).",
        ),
    ] = "default",
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|off",
            envvar="GRADER_CACHE",
            help="Folder of encodings computed before, or 'off'; the user's cache folder if not given.",
        ),
    ] = None,
    cache_mb: Annotated[
        int, typer.Option("--cache-mb", envvar="GRADER_CACHE_MB", min=1, help="Megabytes that the cache may take.")
    ] = 2048,
    threads: Annotated[
        int | None,
        typer.Option(envvar="GRADER_THREADS", min=1, max=256, help="Threads that grade; one a core if not given."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    ctx.obj = Options(encoder=encoder, cache=cache, cache_mb=cache_mb, threads=threads)


answers.register(app)
drafting.register(bank.app)
app.add_typer(bank.app, name="items")
app.add_typer(packs.app, name="pack")
viva.register(app)
quick.register(app)
batch.register(app)
app.add_typer(cache_commands.app, name="cache")
calibrate.register(app)
app.add_typer(calibrations.app, name="calibrations")
service.register(app)


def main() -> None:
    """Entry point of the command line."""
    app(prog_name="grader")
