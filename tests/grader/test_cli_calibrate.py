"""From a table of marked answers to marks: calibrate, compare, promote, use, roll back."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from grader.cli import app
from grader.cli.labelled import labelled_rows
from grader.errors import InputError
from grader.rubric import Item

ROOT = Path(__file__).parents[2]
BANK = str(ROOT / "tests" / "data" / "bank")
ITEM = "dough-rises"
TEXTS = [
    "Yeast eats sugar and gives off carbon dioxide, and gluten traps the gas in small bubbles.",
    "The yeast makes gas and the gluten net holds it.",
    "Because of the yeast.",
    "The oven pulls it up.",
]
SCORES = [4.0, 3.5, 1.5, 0.0]
OTHER = [2.0, 2.0, 0.5, 0.0]


def grader(*args: object) -> Result:
    command = [str(arg) for arg in args]
    return CliRunner(env={"GRADER_ENCODER": "hash", "COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, command)


def output(*args: object) -> str:
    result = grader(*args)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def table(scores: list[float], folder: Path, **columns: list[object]) -> Path:
    texts = [f"{text} {extra}" for extra in ("", "I think.", "So it is.", "In short.") for text in TEXTS]
    top = max(scores)
    frame = pd.DataFrame({"item": ITEM, "response": texts, "human_score": [min(s, top) for s in scores] * 4, **columns})
    path = folder / f"marked-{top:g}.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def top() -> float:
    from grader import load_bank

    return load_bank(Path(BANK))[ITEM].scale.max


def fit(path: Path, folder: Path, *more: object) -> str:
    found = output("calibrate", path, "--item", ITEM, "--bank", BANK, "--out", folder, "--risk", 0.4, *more)
    return found.split("Calibration ")[1].split()[0]


def scaled(scores: list[float], top: float) -> list[float]:
    return [score * top / 4 for score in scores]


def test_from_labels_to_marks_and_back(tmp_path: Path, top: float) -> None:
    folder = tmp_path / "cal"
    kind, strict = (table(scaled(scores, top), tmp_path) for scores in (SCORES, OTHER))
    first, second = fit(kind, folder), fit(strict, folder)
    assert first != second
    listed = json.loads(output("calibrations", "list", "--folder", folder, "--json"))
    assert {one["name"]: one["in_force"] for one in listed} == {first: False, second: False}

    refused = grader("batch", kind, "-o", tmp_path / "x.csv", "--bank", BANK, "--calibration", folder)
    assert refused.exit_code == 2
    assert "no calibration is in force" in refused.stderr
    output("calibrations", "promote", first[:6], "--folder", folder)
    assert f"{first} │ {ITEM}" in output("calibrations", "list", "--folder", folder).replace("|", "│")
    options = ("--item", ITEM, "--folder", folder, "--bank", BANK)
    compared = json.loads(output("calibrations", "compare", kind, "--after", second, *options, "--json"))
    assert (compared["before"], compared["after"]) == (first, second)
    assert compared["changes"]
    assert all(change["after"] < change["before"] for change in compared["changes"])
    assert f"{len(compared['changes'])} of 16 marks change" in output(
        "calibrations", "compare", kind, "--after", second, *options
    )

    output("calibrations", "promote", second, "--folder", folder)
    answers = tmp_path / "answers.csv"
    pd.DataFrame({"candidate": ["a", "b"], "item": ITEM, "response": TEXTS[:2]}).to_csv(answers, index=False)
    out = tmp_path / "out.csv"
    marked = {}
    for name in (second, first):
        output("batch", answers, "-o", out, "--bank", BANK, "--calibration", folder)
        frame = pd.read_csv(out)
        assert frame["signature"].str.contains(f"cal:{name}").all()
        assert frame["confidence"].between(0, 1).all()
        marked[name] = frame["score"].tolist()
        assert "is in force" in output("calibrations", "roll-back", "--item", ITEM, "--folder", folder)
    assert sum(marked[first]) > sum(marked[second])
    assert grader("calibrations", "roll-back", "--item", ITEM, "--folder", folder).exit_code == 2
    output("batch", answers, "-o", out, "--bank", BANK, "--calibration", folder / f"{first}.npz")
    assert pd.read_csv(out)["score"].tolist() == marked[first]


def test_components_subgroups_chances_and_second_marks(tmp_path: Path, top: float) -> None:
    from grader import load_bank

    name, component = next(iter(load_bank(Path(BANK))[ITEM].components.items()))
    columns: dict[str, list[object]] = {
        f"human_{name}": [component.weight, component.weight, 0.0, 0.0] * 4,
        "human_score_2": [value * top / 4 for value in (4.0, 3.0, 2.0, 0.0)] * 4,
        "school": ["north", "north", "south", "south"] * 4,
        "looked_at": [1.0, 1.0, 0.2, 0.2] * 4,
    }
    path = table(scaled(SCORES, top), tmp_path, **columns)
    page = tmp_path / "report.html"
    more = ("--subgroup", "school", "--chance", "looked_at", "--report", page, "--json")
    found = json.loads(output("calibrate", path, "--item", ITEM, "--bank", BANK, "--out", tmp_path / "cal", *more))
    assert [part["name"] for part in found["calibrated"]["agreement"]["subgroups"]] == ["north", "south"]
    assert found["calibrated"]["agreement"]["human_human"]["qwk"] > 0.5
    [credits] = found["components"]
    assert (credits["name"], credits["labels"]) == (name, 16)
    assert credits["rmse"] < credits["rmse_before"]
    assert found["weighted"]["rmse"] > 0
    assert any("no random sample" in sentence for sentence in found["sentences"])
    html = page.read_text(encoding="utf-8")
    assert "By subgroup" in html
    assert "north" in html
    listed = json.loads(output("calibrations", "list", "--folder", tmp_path / "cal", "--json"))
    assert listed[0]["components"] == [name]


def test_suggestions_leave_out_what_is_marked(tmp_path: Path, top: float) -> None:
    path = tmp_path / "open.csv"
    pd.DataFrame({"response": TEXTS, "human_score": [top, "", "", ""]}).to_csv(path, index=False)
    found = json.loads(output("suggest-labels", path, "--item", ITEM, "--bank", BANK, "-n", 9, "--json"))
    assert sorted(one["response"] for one in found["suggested"]) == sorted(TEXTS[1:])


def test_drift_is_a_finding_of_its_own(tmp_path: Path, top: float) -> None:
    folder = tmp_path / "cal"
    path = table(scaled(SCORES, top), tmp_path)
    name = fit(path, folder)
    options = ("--item", ITEM, "--folder", folder, "--bank", BANK)
    none = grader("calibrations", "drift", path, *options)
    assert none.exit_code == 2
    assert "no calibration is in force" in none.stderr
    assert "16 answers are like the labelled ones" in output(
        "calibrations", "drift", path, *options, "--calibration", name
    )
    strange = tmp_path / "strange.csv"
    texts = [f"Volcano {n} erupted over distant islands, nobody noticed." for n in range(12)]
    pd.DataFrame({"response": ["", *texts]}).to_csv(strange, index=False)
    found = grader("calibrations", "drift", strange, *options, "--calibration", name, "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["total"] == 12


def test_advice_names_the_rows(tmp_path: Path, top: float) -> None:
    path = table(scaled(SCORES, top), tmp_path)
    found = json.loads(output("rubric-advice", path, "--item", ITEM, "--bank", BANK, "--json"))
    assert found
    assert all(set(one["rows"]) <= set(range(2, 18)) for one in found)
    said = output("rubric-advice", path, "--item", ITEM, "--bank", BANK, "--language", "de")
    assert "Antworten" in said


PLAIN = Item.from_reference("Why?", "Because of the yeast.", max_score=4)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"score": [1.0]}, "no column 'human_score'; it has response, score .a column 'score' is the machine's"),
        ({"human_score": ["good"]}, "row 2, column 'human_score': 'good' is no mark; allowed: 0 to 4"),
        ({"human_score": [9.0]}, "row 2, column 'human_score': '9.0' is no mark; allowed: 0 to 4"),
        ({"human_score": [1.0], "human_score_2": [7.0]}, "row 2, column 'human_score_2'"),
        (
            {"human_score": [1.0], "human_answer": [5.0]},
            "row 2, column 'human_answer': '5.0' is no mark; allowed: 0 to 4",
        ),
        ({"human_score": [1.0], "human_reason": [1.0]}, "'human_reason' names no component .*allowed: human_answer"),
        ({"human_score": [1.0], "item": ["another"]}, "column 'item': no row belongs to item 'ad-hoc'"),
    ],
)
def test_bad_tables(columns: dict[str, list[object]], message: str) -> None:
    frame = pd.DataFrame({"response": ["Yeast."], **columns}, index=[2])
    with pytest.raises(InputError, match=message):
        labelled_rows(frame, PLAIN, "marks.csv")


def test_rows_without_a_mark_and_of_other_items_are_passed_over() -> None:
    frame = pd.DataFrame(
        {
            "item": ["ad-hoc", "ad-hoc", "other"],
            "response": ["Yeast.", "Gas.", "Rain."],
            "human_score": ["1,5", "", "3"],
            "human_other_part": ["", "", "2"],
        },
        index=[2, 3, 4],
    )
    found = labelled_rows(frame, PLAIN, "marks.csv")
    assert (found.rows, found.responses, found.scores, found.components) == ([2], ["Yeast."], [1.5], {})


def test_what_batch_refuses(tmp_path: Path, top: float) -> None:
    folder = tmp_path / "cal"
    path = table(scaled(SCORES, top), tmp_path)
    name = fit(path, folder)
    answers = tmp_path / "answers.csv"
    pd.DataFrame({"candidate": ["a"], "item": "onion-tears", "response": "Gas."}).to_csv(answers, index=False)
    file = folder / f"{name}.npz"
    base = ("batch", answers, "-o", tmp_path / "out.csv")
    twice = grader(*base, "--bank", BANK, "--calibration", file, "--calibration", file)
    assert "a second calibration of item 'dough-rises'" in twice.stderr
    assert "goes with the items of a bank" in grader(*base, "--ad-hoc", "--calibration", file).stderr
    unused = grader(*base, "--bank", BANK, "--calibration", file)
    assert unused.exit_code == 0
    assert "which the table does not have" in unused.stderr
    file.write_bytes(file.read_bytes()[:100])
    damaged = grader(*base, "--bank", BANK, "--calibration", file)
    assert damaged.exit_code == 2
    assert "damaged" in damaged.stderr
    assert "no such folder" in grader("calibrations", "list", "--folder", tmp_path / "none").stderr
