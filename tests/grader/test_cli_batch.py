"""Batch: shapes of tables and kinds of files, and what an interruption leaves behind."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from grader import Grader, load_bank, sinks, sources
from grader.cli import app
from grader.encoder import HashEncoder
from grader.sources import read_frame

ROOT = Path(__file__).parents[2]
BANK = ROOT / "tests" / "data" / "bank"
GAS = "Yeast eats sugar and gives off carbon dioxide, and gluten traps the gas in small bubbles."
TEARS = "Cutting breaks cells, and an enzyme then forms an irritating gas."


def grader(*args: str) -> Result:
    return CliRunner(env={"GRADER_ENCODER": "hash", "COLUMNS": "120", "NO_COLOR": "1"}).invoke(app, args)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def answers(count: int = 4) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "candidate": [f"{at:03}" for at in range(count)],
            "item": ["dough-rises", "onion-tears"] * (count // 2),
            "response": [GAS, TEARS] * (count // 2),
            "human_score": [2.5, 1.0] * (count // 2),
            "when": pd.Timestamp("2026-03-01"),
        }
    )


@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx", "parquet"])
def test_every_kind_of_file_in_and_out(kind: str, tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / f"out.{kind}"
    answers().to_csv(source, index=False)
    result = grader("batch", str(source), "-o", str(out), "--bank", str(BANK))
    assert result.exit_code == 0, result.output
    assert "4 of 4 responses graded" in " ".join(result.stdout.split())
    readers: dict[str, Any] = {
        "csv": lambda: pd.read_csv(out, dtype={"candidate": str}),
        "tsv": lambda: pd.read_csv(out, dtype={"candidate": str}, sep="\t"),
        "xlsx": lambda: pd.read_excel(out, dtype={"candidate": str}, engine="openpyxl"),
        "parquet": lambda: pd.read_parquet(out),
    }
    frame = readers[kind]()
    assert frame["candidate"].tolist() == ["000", "001", "002", "003"]
    assert frame["score"].tolist() == [2.5, 1.0, 2.5, 1.0]
    assert frame["defence"].isna().tolist() == [True, False, True, False]
    assert [name for name in tmp_path.iterdir() if name.suffix == ".part"] == []


def test_numbers_and_dates_of_a_workbook_stay_what_they_are(tmp_path: Path) -> None:
    source, out = tmp_path / "in.xlsx", tmp_path / "out.xlsx"
    answers().to_excel(source, index=False)
    assert grader("batch", str(source), "-o", str(out), "--bank", str(BANK)).exit_code == 0
    sheet = openpyxl.load_workbook(out).active
    assert sheet is not None
    cells = {cell.value: at for at, cell in enumerate(sheet[1])}
    first = [cell.value for cell in sheet[2]]
    assert first[cells["candidate"]] == "000"
    assert (first[cells["human_score"]], first[cells["score"]]) == (2.5, 2.5)
    assert str(first[cells["when"]]) == "2026-03-01 00:00:00"
    assert sheet.cell(2, cells["signature"] + 1).data_type == "s"


def test_the_summary_compares_with_human_marks_and_counts_codes(tmp_path: Path) -> None:
    frame = answers(8)
    frame.loc[7, "response"] = ""
    frame.loc[7, "human_score"] = 0.0
    frame.to_csv(tmp_path / "in.csv", index=False)
    result = grader("batch", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv"), "--bank", str(BANK))
    lines = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line}
    assert lines["onion-tears"] == ["onion-tears", "4", "0.75", "38%", "0.75", "1.00", "1", "0"]
    assert lines["dough-rises"][:4] == ["dough-rises", "4", "2.50", "50%"]
    assert lines["all"][1] == "8"
    assert "Condition codes: blank 1" in result.stdout


def test_wide_and_ad_hoc(tmp_path: Path) -> None:
    wide = pd.DataFrame({"candidate": ["a", "b"], "dough-rises": [GAS, ""], "rising": ["x", "y"]})
    wide.to_csv(tmp_path / "wide.csv", index=False)
    out = tmp_path / "out.csv"
    assert grader("batch", str(tmp_path / "wide.csv"), "-o", str(out), "--bank", str(BANK)).exit_code == 0
    assert [(row["item"], row["score"], row["rising"]) for row in rows(out)] == [
        ("dough-rises", "2.5", "x"),
        ("dough-rises", "0", "y"),
    ]
    frame = pd.DataFrame(
        {"prompt": ["Why?"], "reference_1": ["It rains."], "reference_2": ["It snows."], "response": ["It snows."]}
    )
    frame.to_csv(tmp_path / "adhoc.csv", index=False)
    result = grader("batch", str(tmp_path / "adhoc.csv"), "-o", str(out), "--ad-hoc")
    assert result.exit_code == 0, result.output
    assert (rows(out)[0]["score"], rows(out)[0]["max_score"]) == ("5", "5")
    assert float(rows(out)[0]["answer"]) > 0.9


def test_marks_in_the_file_are_those_of_the_library(tmp_path: Path) -> None:
    answers().to_csv(tmp_path / "in.csv", index=False)
    out = tmp_path / "out.csv"
    grader("batch", str(tmp_path / "in.csv"), "-o", str(out), "--bank", str(BANK))
    bank, alone = load_bank(BANK), Grader(HashEncoder())
    for row in rows(out):
        score = alone.grade(bank[row["item"]], row["response"])
        assert (float(row["score"]), row["signature"]) == (score.score, score.signature)


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("out.docx", "cannot write '.docx'; allowed: .csv"),
        ("in.csv", "would overwrite the answers"),
        ("no-folder/out.csv", "no such folder"),
    ],
)
def test_results_that_cannot_be_written_are_refused_before_grading(out: str, words: str, tmp_path: Path) -> None:
    answers().to_csv(tmp_path / "in.csv", index=False)
    before = (tmp_path / "in.csv").read_bytes()
    result = grader("batch", str(tmp_path / "in.csv"), "-o", str(tmp_path / out), "--bank", str(BANK))
    assert result.exit_code == 2
    assert words in result.stderr
    assert (tmp_path / "in.csv").read_bytes() == before


def test_texts_too_long_for_a_workbook_are_refused_before_grading(tmp_path: Path) -> None:
    frame = answers(2)
    frame.loc[1, "response"] = "long " * 8_000
    frame.to_csv(tmp_path / "in.csv", index=False)
    result = grader("batch", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.xlsx"), "--bank", str(BANK))
    assert result.exit_code == 2
    assert "row 3, column response: 40,000 characters do not fit" in result.stderr
    assert not (tmp_path / "out.xlsx").exists()


def interrupted_blocks(blocks: Iterator[pd.DataFrame], after: int) -> Iterator[pd.DataFrame]:
    for at, block in enumerate(blocks):
        if at == after:
            raise KeyboardInterrupt
        yield block


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize("after", [0, 2])
def test_an_interruption_leaves_whole_rows(
    kind: str, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grader.tables import Plan

    answers(300).to_csv(tmp_path / "in.csv", index=False)
    out = tmp_path / f"out.{kind}"
    out.write_text("old", "utf-8")
    real = Plan.blocks
    monkeypatch.setattr(Plan, "blocks", lambda self, *a, **k: interrupted_blocks(real(self, *a, **k), after))
    result = grader("batch", str(tmp_path / "in.csv"), "-o", str(out), "--bank", str(BANK))
    assert result.exit_code == 130
    if after == 0:
        assert out.read_text("utf-8") == "old"
        assert "stopped before the first rows" in result.stderr
    else:
        assert len(read_frame(out)[0]) == 128
        assert "128 whole rows" in result.stderr
    assert list(tmp_path.glob("*.part")) == []


def test_half_a_written_block_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, whole = answers(2), sinks.write_csv

    def write_twice() -> None:
        with sinks.open_sink(tmp_path / "out.csv") as sink:

            def half(*args: Any, **options: Any) -> bytes:
                sink._file.write(whole(*args, **options)[:-10])  # type: ignore[attr-defined]
                raise KeyboardInterrupt

            sink.write(kept)
            monkeypatch.setattr(sinks, "write_csv", half)
            sink.write(kept)

    with pytest.raises(KeyboardInterrupt):
        write_twice()
    assert [row["candidate"] for row in rows(tmp_path / "out.csv")] == ["000", "001"]


@pytest.mark.slow
def test_a_real_signal_leaves_whole_rows(tmp_path: Path) -> None:
    answers(20_000).to_csv(tmp_path / "in.csv", index=False)
    out = tmp_path / "out.csv"
    part = tmp_path / "out.csv.part"
    command = [
        sys.executable,
        "-c",
        "from grader.cli import main; main()",
        "batch",
        str(tmp_path / "in.csv"),
        "-o",
        str(out),
    ]
    process = subprocess.Popen(
        [*command, "--bank", str(BANK)], cwd=ROOT, env={**os.environ, "GRADER_ENCODER": "hash"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job inherits it ignored
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (part.exists() and part.stat().st_size > 50_000) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "whole rows" in errors
    assert "Traceback" not in errors
    found = rows(out)
    assert 0 < len(found) < 20_000
    assert [row["candidate"] for row in found] == [f"{at:03}" for at in range(len(found))]
    assert all(row["signature"].endswith("/0.5") for row in found)


def test_pieces_of_a_table_are_checked_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.open_pieces, "__kwdefaults__", {"size": 4})
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    frame = answers(20)
    frame.loc[17, ["candidate", "item"]] = ["002", "dough-rises"]
    frame.to_csv(source, index=False)
    result = grader("batch", str(source), "-o", str(out), "--bank", str(BANK))
    assert result.exit_code == 2
    assert "rows 4 and 19: candidate '002' answers item 'dough-rises' twice" in result.stderr
    frame = answers(20).sort_values("item").assign(reason="mine")
    frame.to_csv(source, index=False)
    result = grader("batch", str(source), "-o", str(out), "--bank", str(BANK))
    assert result.exit_code == 2
    assert "column 'reason' is one that the result adds" in result.stderr
    frame = answers(20)
    frame.loc[18, "item"] = "dough-rise"
    frame.to_csv(source, index=False)
    result = grader("batch", str(source), "-o", str(out), "--bank", str(BANK))
    assert "row 20, column item: no item 'dough-rise'" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_pieces_make_the_same_result_as_one(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, whole, parts = (tmp_path / f"{name}.{kind}" for name in ("in", "whole", "parts"))
    frame = answers(30)
    frame["mixed"] = [*range(15), *"abcdefghijklmno"] if kind == "csv" else [None] * 20 + [1.5] * 10
    frame.to_csv(source, index=False) if kind == "csv" else frame.to_parquet(source)
    assert grader("batch", str(source), "-o", str(whole), "--bank", str(BANK)).exit_code == 0
    monkeypatch.setattr(sources.open_pieces, "__kwdefaults__", {"size": 4})
    monkeypatch.setattr(sinks, "_ROW_GROUP", 10)
    assert grader("batch", str(source), "-o", str(parts), "--bank", str(BANK)).exit_code == 0
    if kind == "csv":
        assert whole.read_bytes() == parts.read_bytes()
    else:
        pd.testing.assert_frame_equal(pd.read_parquet(whole), pd.read_parquet(parts))
        assert pd.read_parquet(parts)["mixed"].tolist()[20:] == [1.5] * 10


def test_columns_of_several_types_become_text_in_parquet(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    frames = [answers(2).assign(mixed=values, score=1.0, referred=False) for values in ([1, 2], ["a", None])]
    types = None
    for frame in frames:
        types = sinks.column_types(frame.drop(columns=["score", "referred"]), types)
    with sinks.open_sink(out, types=types) as sink:
        for frame in frames:
            sink.write(frame)
    assert pd.read_parquet(out)["mixed"].tolist()[:3] == ["1", "2", "a"]


_MEMORY = """
import pathlib, sys
from grader.cli import app
try:
    app()
finally:
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM")), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's account of a process's memory")
def test_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    peaks = []
    for count in (4_000, 30_000):
        frame = pd.DataFrame({"candidate": range(count), "item": "dough-rises", "response": "", "rest": "x" * 2_000})
        frame.to_csv(tmp_path / "in.csv", index=False)
        command = [sys.executable, "-c", _MEMORY, "batch", "in.csv", "-o", "out.csv", "--bank", str(BANK)]
        environment = {**os.environ, "GRADER_ENCODER": "hash", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        peaks.append(int(done.stderr.split()[-1]) // 1024)
    assert (tmp_path / "in.csv").stat().st_size > 60_000_000
    assert peaks[1] - peaks[0] < 30, peaks
