"""Commands of the web service; it is imported only when one of them runs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from grader.cli.common import console, safe
from grader.errors import InputError, MissingExtraError

database = typer.Typer(no_args_is_help=True, help="Manage the database of the service.")

#: Options before the command that are settings of the service too.
_SCORING = ("encoder", "cache", "cache_mb", "threads")

OrganisationOption = Annotated[
    str | None, typer.Option("--organisation", metavar="ID", help="Which one, if there are several.")
]


def register(app: typer.Typer) -> None:
    """Adds the commands to ``app``."""
    app.command("serve")(serve)
    app.command("worker")(worker)
    app.add_typer(database, name="db")
    app.command("export-all")(export_all)
    app.command("import-all")(import_all)


def serve(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on; default GRADER_HOST.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port; default GRADER_PORT.")] = None,
    workers: Annotated[int | None, typer.Option(min=0, help="Grading processes; default GRADER_WORKERS.")] = None,
) -> None:
    """Start the web service with its pages and grading processes; settings come from GRADER_… variables."""
    _call("serve", settings=_settings(**_chosen(ctx), host=host, port=port, workers=workers))


def worker(ctx: typer.Context) -> None:
    """Grade queued responses of the service until stopped."""
    _call("worker", settings=_settings(**_chosen(ctx)))


@database.command("upgrade")
def upgrade() -> None:
    """Bring the database to this version; does nothing if it is there already."""
    _call("upgrade", settings=_settings())


@database.command("organisations")
def organisations() -> None:
    """List the organisations in the database."""
    for ident, name in _call("organisations", settings=_settings()):
        console().print(safe(f"{ident}  {name}"))


@database.command("add-organisation")
def add_organisation(name: Annotated[str, typer.Argument(help="Its name.")]) -> None:
    """Add an organisation with the bank that ships; its administrator's key is shown this once."""
    ident, key = _call("add_organisation", name, settings=_settings())
    console().print(f"{ident}  {key}", soft_wrap=True)


@database.command("new-key")
def new_key(organisation: OrganisationOption = None) -> None:
    """Make an administrator's key, shown this once, for when none is left or the pepper was changed."""
    settings = _settings()
    chosen = organisation or _only_organisation(settings)
    console().print(_call("add_administrator", chosen, settings=settings), soft_wrap=True)


def export_all(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file to write.")],
    organisation: OrganisationOption = None,
) -> None:
    """Write everything an organisation has stored in the service into one file."""
    settings = _settings()
    chosen = organisation or _only_organisation(settings)
    _call("export_organisation", chosen, path, settings=settings)
    console().print(f"{chosen} written to {path}", soft_wrap=True)


def import_all(path: Annotated[Path, typer.Argument(metavar="PATH", help="A file that export-all wrote.")]) -> None:
    """Read an organisation from a file that export-all wrote, all of it or nothing."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    console().print(f"{_call('import_organisation', path, settings=_settings())} imported")


def _only_organisation(settings: Any) -> str:
    known: list[tuple[str, str]] = _call("organisations", settings=settings)
    if len(known) != 1:
        some = ", ".join(f"{ident} ({name})" for ident, name in known[:10])
        raise InputError(f"the database has {len(known)} organisations; choose with --organisation: {some or 'none'}")
    return known[0][0]


def _chosen(ctx: typer.Context) -> dict[str, object]:
    """What options before the command say of scoring; what the environment says is read by the settings."""
    assert ctx.parent is not None
    given = [name for name in _SCORING if str(ctx.parent.get_parameter_source(name)).endswith("COMMANDLINE")]
    return {name: getattr(ctx.obj, name) for name in given}


def _settings(**given: object) -> Any:
    """The service's settings; options that were given win over the environment."""
    settings = _load("api.settings", "Settings")
    try:
        return settings(**{name: value for name, value in given.items() if value is not None})
    except ValueError as error:
        raise InputError(f"settings: {_first_line(error)}") from None


def _call(name: str, *args: object, **options: object) -> Any:
    """What the service's function ``name`` returns; its own errors become one line."""
    function = _load("api.main", name)
    refused = (ValueError, _load("api.problems", "Problem"), _load("sqlalchemy.exc", "SQLAlchemyError"))
    try:
        return function(*args, **options)
    except refused as error:
        raise InputError(_first_line(error)) from None


def _load(module: str, name: str) -> Any:
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise MissingExtraError(
            f"the web service cannot be loaded ({error}); install the whole package: pip install viva-grader"
        ) from None


def _first_line(error: Exception) -> str:
    """The gist of an error of pydantic, SQLAlchemy or the service."""
    details = getattr(error, "errors", None)
    if callable(details):
        first = details()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return (str(getattr(error, "orig", None) or error).strip() or type(error).__name__).splitlines()[0]
