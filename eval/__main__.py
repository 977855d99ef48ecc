"""The bench's command line: ``python -m eval --help``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from eval.bench import Bench, Options
from eval.datasets import main_check
from eval.progress import timed
from eval.results import read, write
from eval.results_page import page
from grader.errors import GraderError

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
datasets = typer.Typer(help="Look at labelled answers.", no_args_is_help=True)
app.add_typer(datasets, name="datasets")

Data = Annotated[Path | None, typer.Option(help="Folder with the data; else GRADER_DATA, else ../shared/data.")]
Cache = Annotated[Path, typer.Option(help="Folder of encodings and features computed before.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Answers a split at most, for a quick run.")]
Seeds = Annotated[int, typer.Option(min=1, help="Drawings of few labels.")]
Boot = Annotated[int, typer.Option(min=1, help="Resamples of the intervals.")]
Seed = Annotated[int, typer.Option(help="Of everything that is drawn.")]
Prior = Annotated[
    str,
    typer.Option(help="For protocols that leave data sets out: shipped, module:function that trains, or auto."),
]
_CACHE = Path(".cache")


class Protocol(StrEnum):
    """Protocols by name."""

    OFFICIAL = "official"
    LEAVE_OUT = "leave-out"
    GROUPED = "grouped"
    FEW_LABELS = "few-labels"


@app.command("all")
def run_all(
    data: Data = None,
    cache: Cache = _CACHE,
    limit: Limit = None,
    seeds: Seeds = 20,
    boot: Boot = 1000,
    seed: Seed = 0,
    prior: Prior = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for results.json and results.md; docs by default.")] = None,
) -> None:
    """Everything that has data: results.json and results.md in docs (a quick run: in the cache folder).

    What ``python -m eval speed`` wrote there stays.
    """
    with _work():
        began = time.monotonic()
        bench = Bench.prepare(_options(data, cache, limit, seeds, boot, seed, prior), timed())
        folder, known = _kept(out, limit, cache)
        speed = {"speed": known["speed"]} if "speed" in known else {}
        for results in bench.everything():
            path = write(results | speed, folder)
            _write_page(path)
        print(f"{path} and {path.with_suffix('.md').name}, {(time.monotonic() - began) / 60:.1f} minutes")


@app.command("protocol")
def run_protocol(
    name: Protocol,
    data: Data = None,
    cache: Cache = _CACHE,
    limit: Limit = None,
    seeds: Seeds = 20,
    boot: Boot = 1000,
    seed: Seed = 0,
    prior: Prior = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """One protocol, printed."""
    with _work():
        bench = Bench.prepare(_options(data, cache, limit, seeds, boot, seed, prior), timed())
        results = bench.header() | {"lines": bench.protocol(name.value)}
        _print(results, as_json)


@app.command("abuse")
def run_abuse(
    data: Data = None,
    cache: Cache = _CACHE,
    limit: Limit = None,
    boot: Boot = 1000,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """The abuse suite, printed."""
    with _work():
        bench = Bench.prepare(_options(data, cache, limit, 1, boot, seed, "shipped"), timed())
        _print(bench.header() | {"abuse": bench.abuse()}, as_json)


@app.command("viva")
def run_viva_answers(
    data: Data = None,
    cache: Cache = _CACHE,
    boot: Boot = 1000,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """The authored viva answers, printed."""
    with _work():
        bench = Bench.prepare(_options(data, cache, None, 1, boot, seed, "shipped"), timed())
        _print(bench.header() | {"viva": bench.viva()}, as_json)


@app.command("calibration")
def run_calibration(
    data: Data = None,
    cache: Cache = _CACHE,
    limit: Limit = None,
    seeds: Seeds = 20,
    boot: Boot = 1000,
    seed: Seed = 0,
    prior: Prior = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for results.json and results.md; docs by default.")] = None,
) -> None:
    """What labels are worth; goes into results.json and results.md beside what is there (a quick run: a file apart)."""
    with _work():
        bench = Bench.prepare(_options(data, cache, limit, seeds, boot, seed, prior), timed())
        folder, known = _kept(out, limit, cache)
        path = write((known or bench.header()) | {"calibration": bench.calibration()}, folder)
        print(f"{path} and {_write_page(path).name}")


@app.command("meaning")
def run_meaning(
    data: Data = None,
    cache: Cache = _CACHE,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of results.json and results.md.")] = Path("docs"),
) -> None:
    """Whether right is told from wrong, each part of the check left out in turn; goes into results.json."""
    with _work():
        bench = Bench.prepare(_options(data, cache, None, 1, 1, seed, "shipped"), timed())
        known = read(out / "results.json") if (out / "results.json").is_file() else bench.header()
        path = write(known | {"meaning": bench.meaning()}, out)
        print(f"{path} and {_write_page(path).name}")


@app.command("speed")
def run_speed(
    data: Data = None,
    answers: Annotated[int, typer.Option(min=10, help="Answers that each system grades.")] = 1000,
    growth: Annotated[
        list[int] | None, typer.Option(min=10, help="Sizes of the tables for the growth; repeatable.")
    ] = None,
    long: Annotated[int, typer.Option(min=10, help="Answers of a table that repeats 2,000 different ones.")] = 100_000,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of results.json and results.md.")] = Path("docs"),
) -> None:
    """How fast the grader is beside plain sentence-transformers; goes into results.json beside what is there.

    Takes about half an hour; --answers, --growth and --long choose smaller tables.
    """
    from eval.datasets.store import data_folder
    from eval.speed import run

    with _work():
        found = run(answers, seed, growth or [100, 1000, 10_000], long, data_folder(data))
        path = out / "results.json"
        target = write((read(path) if path.is_file() else {}) | {"speed": found}, out)
        print(f"{target} and {_write_page(target).name}")


@app.command("backends")
def run_backends(
    data: Data = None,
    sentences: Annotated[int, typer.Option(min=3, help="Sentences that each backend encodes.")] = 300,
    answers: Annotated[int, typer.Option(min=1, help="Answers a data set and split to grade, beside viva.")] = 300,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """What other runtimes and arithmetics for the encoder would bring and cost, printed; see the extra ``bench``."""
    from eval.backends import page as backend_page
    from eval.backends import run as measure
    from eval.datasets.store import data_folder

    with _work():
        found = measure(sentences, answers, seed, data_folder(data), timed())
        print(json.dumps(found, indent=1) if as_json else backend_page(found))


@app.command("report")
def run_report(
    name: Annotated[str, typer.Argument(help="Data set.")],
    split: Annotated[str | None, typer.Option(help="train, test_ua, test_uq, test_ud or none; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="The page; the JSON goes beside it.")] = Path("report.html"),
    data: Data = None,
    cache: Cache = _CACHE,
    limit: Limit = None,
    worst: Annotated[int, typer.Option(min=0, help="Disagreements to list.")] = 20,
) -> None:
    """A self-contained HTML report of the grader on one data set, and the same as JSON."""
    from eval.page_report import data_report

    with _work():
        found = data_report(name, split=split, data=data, cache=cache, limit=limit, worst=worst)
        out.write_text(found.to_html(), encoding="utf-8")
        out.with_suffix(".json").write_text(found.to_json(), encoding="utf-8")
        print(f"{out} and {out.with_suffix('.json').name}")


@app.command("page")
def run_page(folder: Annotated[Path, typer.Argument(help="Folder with results.json.")] = Path("docs")) -> None:
    """results.md again from results.json."""
    with _work():
        print(_write_page(folder / "results.json"))


@datasets.command("check")
def check_data(folder: Path) -> None:
    """Counts, encoding damage, duplicates and leakage of everything in FOLDER."""
    raise typer.Exit(main_check(folder))


@datasets.callback()
def _datasets() -> None:
    """Look at labelled answers."""


def _kept(out: Path | None, limit: int | None, cache: Path) -> tuple[Path, dict[str, Any]]:
    """The folder of the results, and what is in it already; quick runs have one of their own."""
    folder = out or (Path("docs") if limit is None else cache / "quick")
    path = folder / "results.json"
    return folder, read(path) if path.is_file() else {}


def _options(
    data: Path | None, cache: Path, limit: int | None, seeds: int, boot: int, seed: int, prior: str
) -> Options:
    from eval.systems import default_training

    chosen = default_training() if prior == "auto" else prior
    return Options(data=data, cache=cache, limit=limit, seeds=seeds, n_boot=boot, seed=seed, prior=chosen)


def _print(results: dict[str, object], as_json: bool) -> None:
    print(json.dumps(results, ensure_ascii=False, indent=1) if as_json else page(results))


def _write_page(path: Path) -> Path:
    target = path.with_suffix(".md")
    target.write_text(page(read(path)), encoding="utf-8")
    return target


@contextmanager
def _work() -> Iterator[None]:
    """One thread, and errors as one line with status 2."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

    try:
        with threadpool_limits(1):
            yield
    except GraderError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from None


if __name__ == "__main__":
    app()
