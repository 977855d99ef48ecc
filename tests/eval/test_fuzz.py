"""A few made and damaged inputs for every reader; ``python -m eval.fuzz`` goes on for minutes."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from openpyxl import Workbook

from eval import fuzz_coverage
from eval.fuzz import Target, check, main, run, targets
from grader.errors import InputError
from grader.formats.layouts import read_sheet

EXAMPLES = int(os.environ.get("GRADER_FUZZ_EXAMPLES", "20"))
SEEDS = [path.read_bytes() for path in sorted((Path(__file__).parents[1] / "data" / "formats").iterdir())]
TARGETS = targets(SEEDS)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_readers_answer_or_refuse(target: Target) -> None:
    check(target, EXAMPLES)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_some_inputs_are_read_and_some_refused(target: Target) -> None:
    """Otherwise the fuzzing would test nothing but the first check of a reader."""
    seen = {True: 0, False: 0}

    def read(case: object) -> None:
        try:
            target.read(case)
        except InputError:
            seen[False] += 1
        else:
            seen[True] += 1

    check(Target(target.name, target.inputs, read), 60)
    assert seen[True]
    assert seen[False] or target.name == "answers"


def broken(case: object) -> None:
    if case:
        raise KeyError("x")


def test_a_fault_is_found_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = Target("faulty", TARGETS[1].inputs, broken)
    with pytest.raises(KeyError):
        check(faulty, 20)
    monkeypatch.setattr("eval.fuzz.targets", lambda seeds: (faulty,))
    lines = list(run(0.001, [], []))
    assert lines[-1]["faults"] == len(lines) - 1 > 0
    assert "KeyError" in lines[0]["trace"]


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    book, out = Workbook(), io.BytesIO()
    book.active.append(["candidate", "item", "response"])  # type: ignore[union-attr]
    book.active.append(["1", "a", "It is."])  # type: ignore[union-attr]
    book.save(out)
    (tmp_path / "seed.xlsx").write_bytes(out.getvalue())
    assert read_sheet(out.getvalue(), name="seed").cells
    monkeypatch.setattr("sys.argv", ["fuzz", "--minutes", "0.001", "--seeds", str(tmp_path), "--only", "tables"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert '"faults": 0' in capsys.readouterr().out


@pytest.mark.parametrize("name", ["answers", "rubrics", "tables", "gradebooks", "questions"])
@pytest.mark.parametrize(
    "data", [b"", b"\x01It adds.", b"id: x\n", b"candidate,item\n1,2\n", b"\xff\xfe\x00", *SEEDS[:2]]
)
def test_bytes_of_a_fuzzer_are_read_or_refused(name: str, data: bytes) -> None:
    fuzz_coverage.reader(name)(data)


def test_an_unknown_reader_is_refused() -> None:
    with pytest.raises(InputError, match="target 'x', allowed: answers, rubrics"):
        fuzz_coverage.reader("x")


def test_a_reader_that_breaks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.fuzz.targets", lambda: (Target("faulty", TARGETS[1].inputs, broken),))
    with pytest.raises(KeyError):
        fuzz_coverage.reader("faulty")(b"x")
