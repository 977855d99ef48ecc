"""Folders of tables: whole results, resumed where they are whole and still fit, failures with their reasons."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from grader import Grader, InputError, ModelError, load_bank, partitions
from grader.bank import Bank
from grader.cli import app
from grader.encoder import HashEncoder
from grader.partitions import Done, Settings, grade_folder, grade_partition, local
from grader.rubric import Item

BANK = Path(__file__).parents[1] / "data" / "bank"
GAS = "Yeast eats sugar and gives off carbon dioxide, and gluten traps the gas in small bubbles."


def table(path: Path, count: int = 4, **changes: Any) -> pd.DataFrame:
    columns = {"candidate": [f"{at:03}" for at in range(count)], "item": "dough-rises", "response": GAS}
    frame = pd.DataFrame(columns | changes)
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return frame


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    table(folder / "a.csv")
    table(folder / "b.parquet", 6)
    table(folder / "year=2026" / "c.csv", 5)
    (folder / "_SUCCESS").touch()
    return folder


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank(BANK)


def settings(tmp_path: Path, bank: Bank, **changes: Any) -> Settings:
    return Settings(tmp_path / "out", bank, encoder="hash", **changes)


def run(source: Path, chosen: Settings) -> dict[str, Done]:
    return {done.name: done for done in grade_folder(source, chosen, local)}


def failures(out: Path) -> list[dict[str, str]]:
    with (out / "failed.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_every_table_gets_a_result_of_its_name(source: Path, tmp_path: Path, bank: Bank) -> None:
    done = run(source, settings(tmp_path, bank))
    assert {name: one.rows for name, one in done.items()} == {"a.csv": 4, "b.parquet": 6, "year=2026/c.csv": 5}
    expected = Grader(HashEncoder()).grade(bank["dough-rises"], GAS)
    for name, one in done.items():
        path = tmp_path / "out" / name
        frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype={"candidate": str})
        assert frame["candidate"].tolist() == [f"{at:03}" for at in range(one.rows)]
        assert set(frame["score"]) == {expected.score}
        assert set(frame["signature"]) == {expected.signature}
    assert not (tmp_path / "out" / "failed.csv").exists()
    assert len([path for path in (tmp_path / "out").rglob("*") if path.is_file()]) == 6, "results and records"


def test_what_is_there_and_fits_is_not_graded_again(source: Path, tmp_path: Path, bank: Bank) -> None:
    run(source, settings(tmp_path, bank))
    (tmp_path / "out" / "b.parquet").unlink()
    table(source / "a.csv", 3)
    again = run(source, settings(tmp_path, bank))
    assert {name: one.fresh for name, one in again.items()} == {
        "a.csv": True, "b.parquet": True, "year=2026/c.csv": False
    }  # fmt: skip
    assert len(pd.read_csv(tmp_path / "out" / "a.csv")) == 3
    assert not any(one.fresh for one in run(source, settings(tmp_path, bank)).values())


def test_another_language_grades_everything_again(source: Path, tmp_path: Path, bank: Bank) -> None:
    run(source, settings(tmp_path, bank))
    assert all(one.fresh for one in run(source, settings(tmp_path, bank, language="de")).values())


def edited(bank: Bank, name: str) -> dict[str, Item]:
    changed = {**bank[name].model_dump(), "reference_answer": f"{bank[name].reference_answer} And so on."}
    return {**bank, name: Item.model_validate(changed)}


def test_an_edited_rubric_grades_the_tables_with_its_item_again(source: Path, tmp_path: Path, bank: Bank) -> None:
    table(source / "d.csv", item="onion-tears")
    table(source / "e.csv", item=["onion-tears", "dough-rises", "unknown", "onion-tears"])
    run(source, settings(tmp_path, bank))
    again = run(source, Settings(tmp_path / "out", edited(bank, "onion-tears"), encoder="hash"))
    assert {name for name, one in again.items() if one.fresh} == {"d.csv", "e.csv"}
    added = Item.model_validate({**bank["dough-rises"].model_dump(), "id": "unknown", "aliases": []})
    more = {**edited(bank, "onion-tears"), "unknown": added}
    again = run(source, Settings(tmp_path / "out", more, encoder="hash"))
    assert {name for name, one in again.items() if one.fresh} == {"e.csv"}
    assert again["e.csv"].failed == (), "its row 4 can be graded now"


def test_a_damaged_record_is_no_record(source: Path, tmp_path: Path, bank: Bank) -> None:
    run(source, settings(tmp_path, bank))
    records = sorted((tmp_path / "out" / ".grader").rglob("*.json"))
    for record, content in zip(records, ("{", "[]", json.dumps({"rows": 1})), strict=True):
        record.write_text(content)
    assert all(one.fresh for one in run(source, settings(tmp_path, bank)).values())


def test_an_interruption_leaves_whole_tables_only(
    source: Path, tmp_path: Path, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = partitions._blocks

    def stops(checked: Any, *rest: Any) -> Iterator[pd.DataFrame]:
        yield from whole(checked, *rest)
        if checked.pieces.name == "b.parquet":
            raise KeyboardInterrupt

    monkeypatch.setattr(partitions, "_blocks", stops)
    with pytest.raises(KeyboardInterrupt):
        run(source, settings(tmp_path, bank))
    left = [str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert sorted(left) == [".grader/a.csv.json", "a.csv"]
    monkeypatch.setattr(partitions, "_blocks", whole)
    again = run(source, settings(tmp_path, bank))
    assert [one.fresh for one in again.values()] == [False, True, True]


def test_failed_rows_are_named_with_their_reasons(source: Path, tmp_path: Path, bank: Bank) -> None:
    frame = table(source / "a.csv", 300)
    frame.loc[3, "item"] = "dough-risen"
    frame.loc[5, "candidate"] = " "
    frame.loc[[7, 299], "candidate"] = "=twice"
    frame.to_csv(source / "a.csv", index=False)
    (source / "z.csv").write_text("answer\nx\n")
    done = run(source, settings(tmp_path, bank))
    assert done["a.csv"].rows == 297
    found = failures(tmp_path / "out")
    assert [(row["table"], row["row"]) for row in found] == [
        ("a.csv", "5"),
        ("a.csv", "7"),
        ("a.csv", "301"),
        ("z.csv", ""),
    ]
    reasons = [row["reason"] for row in found]
    assert "no item 'dough-risen'" in reasons[0]
    assert "column candidate: empty" in reasons[1]
    assert "answers item 'dough-rises' twice; the first row counts" in reasons[2]
    assert "column candidate missing" in reasons[3]
    names = pd.read_csv(tmp_path / "out" / "a.csv", dtype=str)["candidate"].tolist()
    assert len(names) == 297
    assert not {"003", "005", "299"} & set(names)
    again = run(source, settings(tmp_path, bank))
    assert [again[name].fresh for name in ("a.csv", "z.csv")] == [False, True]
    assert failures(tmp_path / "out") == found, "also when nothing is graded again"


def test_a_wide_table_loses_the_candidate_and_not_the_table(tmp_path: Path, bank: Bank) -> None:
    frame = pd.DataFrame({"candidate": ["a", "", "a", "b"], "dough-rises": GAS, "onion-tears": "Tears."})
    (tmp_path / "source").mkdir()
    frame.to_csv(tmp_path / "source" / "wide.csv", index=False)
    done = run(tmp_path / "source", settings(tmp_path, bank))["wide.csv"]
    assert done.rows == 4
    assert [row for row, _ in done.failed] == [3, 4]


def test_a_table_without_a_good_row_gets_no_result(tmp_path: Path, bank: Bank) -> None:
    table(tmp_path / "source" / "a.csv", item="nothing")
    assert run(tmp_path / "source", settings(tmp_path, bank))["a.csv"].rows == 0
    assert not (tmp_path / "out" / "a.csv").exists()
    assert run(tmp_path / "source", settings(tmp_path, bank))["a.csv"].fresh is False


def test_tables_with_their_own_questions(tmp_path: Path) -> None:
    frame = pd.DataFrame({"prompt": ["Why?", "", "Why?"], "reference": "It rains.", "response": "It rains."})
    (tmp_path / "source").mkdir()
    frame.to_csv(tmp_path / "source" / "a.csv", index=False)
    done = run(tmp_path / "source", Settings(tmp_path / "out", None, encoder="hash"))["a.csv"]
    assert (done.rows, [row for row, _ in done.failed]) == (2, [3])


class Broken(HashEncoder):
    """Fails on one text, as a faulty model might."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def encode(self, texts: Sequence[str]) -> Any:
        if any("poison" in text for text in texts):
            raise self._error
        return super().encode(texts)


def test_an_answer_that_breaks_the_grader_costs_itself_only(tmp_path: Path, bank: Bank) -> None:
    table(tmp_path / "source" / "a.csv", response=[GAS, "poison", GAS, GAS])
    chosen, grader = settings(tmp_path, bank), Grader(Broken(RuntimeError("the answer was: poison")))
    done = grade_partition(Path("a.csv"), tmp_path / "source", chosen, chosen.signatures(grader), grader)
    assert (done.rows, done.failed) == (3, ((3, "RuntimeError"),))


@pytest.mark.parametrize("error", [ModelError("altered"), OSError(28, "No space left on device")])
def test_what_concerns_all_answers_ends_the_run(error: Exception, tmp_path: Path, bank: Bank) -> None:
    table(tmp_path / "source" / "a.csv", response=[GAS, "poison", GAS, GAS])
    chosen, grader = settings(tmp_path, bank), Grader(Broken(error))
    with pytest.raises(type(error)):
        grade_partition(Path("a.csv"), tmp_path / "source", chosen, chosen.signatures(grader), grader)
    assert not (tmp_path / "out" / "a.csv").exists()


def empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def with_workbook(folder: Path) -> Path:
    table(folder / "a.csv")
    (folder / "b.xlsx").touch()
    return folder


def with_failed(folder: Path) -> Path:
    table(folder / "failed.csv")
    return folder


@pytest.mark.parametrize(
    ("make", "words"),
    [(empty, "no table"), (with_workbook, "holds .csv, .tsv, .parquet only"), (with_failed, "a file of this name")],
)
def test_folders_that_are_refused(make: Callable[[Path], Path], words: str, tmp_path: Path, bank: Bank) -> None:
    with pytest.raises(InputError, match=words):
        run(make(tmp_path / "source"), settings(tmp_path, bank))


def test_results_do_not_go_among_the_answers(source: Path, bank: Bank) -> None:
    for out in (source, source / "out"):
        with pytest.raises(InputError, match="give another one"):
            run(source, Settings(out, bank, encoder="hash"))


def command(*args: str) -> Result:
    return CliRunner(env={"GRADER_ENCODER": "hash", "COLUMNS": "120"}).invoke(
        app, ["batch", *args, "--bank", str(BANK)]
    )


def test_the_command(source: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    result = command(str(source), "-o", out)
    assert (result.exit_code, result.stdout) == (0, f"15 responses graded into {out}\n")
    table(source / "a.csv", item=["dough-rises"] * 3 + ["x"])
    result = command(str(source), "-o", out)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"14 responses graded into {out} (2 of 3 tables were there already)",
        f"1 failed; see {out}/failed.csv",
    ]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("{source}/a.csv", "-o", "{tmp}/x.csv", "--engine", "ray"), "go with a folder of tables"),
        (("{source}/a.csv", "-o", "{tmp}/x.csv", "--workers", "2"), "go with a folder of tables"),
        (("{source}", "-o", "{tmp}/x", "--workers", "2"), "--workers goes with --engine ray"),
        (("{source}", "-o", "{tmp}/x", "--sheet", "1"), "--sheet goes with a workbook"),
        (("{source}", "-o", "{source}/a.csv"), "a file; the results of a folder go into a folder"),
    ],
)
def test_options_that_do_not_fit(args: Sequence[str], words: str, source: Path, tmp_path: Path) -> None:
    result = command(*(arg.format(source=source, tmp=tmp_path) for arg in args))
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
