"""The file with every number and the page made from it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from eval.frames import Collection
from eval.markdown import estimate, share, table
from eval.measures import Estimate
from eval.protocols import Line
from eval.results import described, header, plain_line, read, write
from eval.results_page import TARGETS, page
from eval.systems import Systems
from grader.errors import InputError


def _line(system: str, value: float, **more: Any) -> dict[str, Any]:
    measures = {"r": Estimate(value, value - 0.1, value + 0.1), "rmse": Estimate(math.nan, math.nan, math.nan)}
    fields = {"protocol": "leave-out", "data": "beetle", "split": "UA", "n": 9, "questions": 3, "mapped": True}
    return plain_line(Line(system=system, measures=measures, **{**fields, **more}))


@pytest.fixture
def results(systems: Systems) -> dict[str, Any]:
    head = header(systems.shipped.grader, seed=1, n_boot=10, limit=None, prior="shipped")
    return head | {
        "skipped": {"mohler": "not in the data folder"},
        "data": [],
        "lines": [_line("uncalibrated", 0.55), _line("constant", math.nan)],
        "abuse": [
            {
                "data": "beetle",
                "rows": [
                    {"group": "no answer", "kind": "blank", "n": 4, "accepted": [0.25, 0.0, 0.5], "moved": None,
                     "referred": 0.0, "limit": 0.01},
                    {"group": "still right", "kind": "case", "n": 4, "accepted": [1.0, 1.0, 1.0],
                     "moved": [0.05, 0.0, 0.1], "referred": 0.0, "limit": 0.1},
                ],
            }
        ],
        "viva": {},
    }  # fmt: skip


class TestPage:
    def test_numbers_stand_with_intervals_and_signature(self, results: dict[str, Any]) -> None:
        text = page(results)
        assert f"Marks: `{results['signature']}`." in text
        assert "| uncalibrated | 9 | .550 (.450–.650) |" in text
        assert "| constant | 9 | – |" in text
        assert "Not run: mohler (not in the data folder)." in text
        assert "| leave-out | beetle | UA | r | at least .600 | .550 | **no** |" in text
        assert "| no answer | blank | 4 | 25.0% (0%–50%) |  | 0% | 1% | **no** |" in text
        assert "| still right | case | 4 | 100.0% (100%–100%) | 5.0% (0%–10%) | 0% | 10% | yes |" in text
        assert "quick run" not in text

    def test_marks_made_from_labels_hide_rmse(self, results: dict[str, Any]) -> None:
        assert "RMSE |" not in page(results).split("## Protocol")[1]
        shown = page(results | {"lines": [_line("uncalibrated", 0.5, mapped=False)]})
        assert "RMSE |" in shown.split("## Protocol")[1]

    def test_quick_runs_say_so(self, results: dict[str, Any]) -> None:
        assert "**A quick run on at most 20 answers of each split: no result.**" in page(results | {"limit": 20})

    def test_signature_names_everything_but_the_item(self, results: dict[str, Any]) -> None:
        names = [part.split(":")[0] for part in results["signature"].split("|")]
        assert {"grader", "enc", "prior", "idf"} <= set(names)
        assert not {"item", "rubric", "scale"} & set(names)

    def test_viva_part(self, results: dict[str, Any]) -> None:
        measures = {"r": [0.9, 0.8, 0.95], "qwk": [0.7, 0.6, 0.8], "f1_components": [0.8, 0.7, 0.9]}
        part = {"n": 5, "questions": 2, "measures": measures, "systems": {"uncalibrated": measures}}
        kinds = {"rows": [{"kind": "full", "n": 2, "human": 5.0, "machine": 4.5}]}
        text = page(results | {"viva": {"without false kinds": part, "by kind": kinds}})
        assert "| viva | viva_dev |  | QWK | at least .800 | .700 | **no** |" in text
        assert "| full | 2 | 5.00 | 4.50 |" in text


class TestFile:
    def test_round_trip_is_stable(self, results: dict[str, Any], tmp_path: Path) -> None:
        path = write(results, tmp_path / "new")
        assert read(path) == json.loads(path.read_text())
        assert path.read_bytes() == write(read(path), tmp_path).read_bytes()

    def test_other_files_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "results.json"
        with pytest.raises(InputError, match=r"results\.json: cannot be read"):
            read(path)
        path.write_text('{"schema": 99}')
        with pytest.raises(InputError, match="schema 99, needed is 1"):
            read(path)

    def test_data_are_described(self, frames: dict[str, pd.DataFrame]) -> None:
        toy = frames["toy"].copy()
        toy.loc[toy["split"] == "test_ua", "answer"] = toy.loc[toy["split"] == "train", "answer"].to_numpy()[:16]
        found = {part["split"]: part for part in described(Collection({"toy": toy}, {}))}
        assert found["train"]["answers"] == 48
        assert found["test_ua"]["verbatim_in_train"] == 7  # four to the first question, one off topic to each other
        assert found["test_uq"]["verbatim_in_train"] == 0
        assert found["train"]["step"] == 0.5


def test_targets_are_complete() -> None:
    assert len(TARGETS) == 27
    assert {target.measure for target in TARGETS} == {"r", "rmse", "f1_2way", "f1_3way"}


def test_cells() -> None:
    assert estimate([1.0, 0.9999, None]) == "1.00 (1.000––)"
    assert estimate([-0.05, -0.1, 0.0]) == "-.050 (-.100–.000)"
    assert estimate(None) == "–"
    assert share([0.015, 0.0, 0.03]) == "1.5% (0%–3%)"
    assert table(["a"], [["x|y"]]) == "| a |\n| --- |\n| x\\|y |"
