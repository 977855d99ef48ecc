"""``grader cache``: where encodings are kept, how much there is, and how to be rid of them."""

from __future__ import annotations

import typer

from grader.cli.common import JsonOption, Options, console, print_json
from grader.errors import InputError

app = typer.Typer(
    no_args_is_help=True, help="Look at or delete the cache of encodings and comparisons; --cache chooses it."
)


@app.command("info")
def info(ctx: typer.Context, json: JsonOption = False) -> None:
    """Show where the cache is and how much it holds.

    It holds vectors of statements that candidates wrote, under hashes of their texts, and no texts.
    """
    from grader.loading import cache_folder
    from grader.store import BlobStore

    chosen = ctx.obj if isinstance(ctx.obj, Options) else Options()
    folder = cache_folder(chosen.cache)
    if folder is None:
        count = size = 0
    else:
        count, size = BlobStore(folder, limit=chosen.cache_mb * 2**20).size()
    if json:
        limit = None if folder is None else chosen.cache_mb * 2**20
        print_json({"folder": folder and str(folder), "entries": count, "bytes": size, "limit": limit})
        return
    what = f"{folder}: {count:,} entries, {size / 2**20:,.1f} of at most {chosen.cache_mb:,} MB" if folder else "off"
    console().print(what, soft_wrap=True)


@app.command("clear")
def clear(ctx: typer.Context) -> None:
    """Delete the cache; marks stay what they are, the next run computes its vectors again."""
    from grader.loading import cache_folder
    from grader.store import clear as delete

    folder = cache_folder(ctx.obj.cache if isinstance(ctx.obj, Options) else None)
    if folder is None:
        raise InputError("the cache is off; allowed: a folder, as in 'grader --cache PATH cache clear'")
    delete(folder)
    console().print(f"{folder}: cleared", soft_wrap=True)
