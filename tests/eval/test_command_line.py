"""`python -m eval`: what each command prints and writes, on made-up data without weights."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from eval import bench, boosting
from eval.__main__ import app
from eval.bench import Bench, Options
from eval.cache import CachedEncoder
from eval.datasets import read_viva
from eval.page_report import data_report
from eval.systems import SHIPPED, default_training, fingerprint, load_training
from eval.viva import item_id
from grader import Bank, Item
from grader.encoder import HashEncoder
from grader.errors import InputError
from grader.scoring import load_prior

VIVA = Path(__file__).parents[1] / "data" / "datasets" / "viva_dev.csv"


@pytest.fixture
def data(tmp_path: Path, raw_frames: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with two sets, and the fake encoder in place of the packaged one."""
    monkeypatch.setattr("eval.datasets.store.NAMES", ("beetle", "hbrs_nn", "mohler"))
    monkeypatch.setattr(bench, "packaged_encoder", lambda folder: CachedEncoder(HashEncoder, "hash@1", folder))
    monkeypatch.setattr(bench, "packaged_judge", lambda folder: None)
    monkeypatch.setattr(bench, "load_bank", lambda: Bank([]))
    monkeypatch.setattr(boosting, "_BOOSTING", {"max_iter": 5, "min_samples_leaf": 3})
    monkeypatch.setattr(boosting, "_TREES", {"n_estimators": 5})
    folder = tmp_path / "data"
    folder.mkdir()
    raw_frames["toy"].assign(dataset="beetle").to_parquet(folder / "beetle.parquet")
    raw_frames["exam"].assign(dataset="hbrs_nn").to_parquet(folder / "hbrs_nn.parquet")
    return folder


def _run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_all_writes_both_files_and_names_what_is_missing(data: Path, tmp_path: Path) -> None:
    common = ("--data", data, "--cache", tmp_path / "cache", "--boot", 5, "--seeds", 1, "--prior", SHIPPED)
    code, output = _run("all", *common, "--out", tmp_path / "docs")
    assert code == 0
    assert "skipped: mohler, not in the data folder" in output
    assert "skipped: viva_dev, not in the data folder" in output
    results = json.loads((tmp_path / "docs" / "results.json").read_text())
    assert {line["protocol"] for line in results["lines"]} == set(bench.PROTOCOLS)
    assert [part["data"] for part in results["abuse"]] == ["beetle", "hbrs_nn"]
    assert results["skipped"] == {"mohler": "not in the data folder", "viva_dev": "not in the data folder"}
    markdown = (tmp_path / "docs" / "results.md").read_text()
    assert markdown.startswith("# Results\n")
    again, second = tmp_path / "again", (*common, "--out", tmp_path / "again")
    assert _run("all", *second)[0] == 0
    assert (again / "results.json").read_bytes() == (tmp_path / "docs" / "results.json").read_bytes()
    (tmp_path / "docs" / "results.md").unlink()
    assert _run("page", tmp_path / "docs")[0] == 0
    assert (tmp_path / "docs" / "results.md").read_text() == markdown


def test_calibration_goes_beside_what_is_there(data: Path, tmp_path: Path) -> None:
    common = ("--data", data, "--cache", tmp_path / "cache", "--boot", 5, "--seeds", 1, "--prior", SHIPPED)
    docs = tmp_path / "docs"
    assert _run("calibration", *common, "--out", docs)[0] == 0
    first = json.loads((docs / "results.json").read_text())
    assert {line["data"] for line in first["calibration"]["curves"]} == {"beetle", "hbrs_nn"}
    marked = first | {"abuse": [{"data": "kept", "rows": []}], "calibration": {}}
    (docs / "results.json").write_text(json.dumps(marked))
    assert _run("calibration", *common, "--out", docs)[0] == 0
    second = json.loads((docs / "results.json").read_text())
    assert second["abuse"] == marked["abuse"]
    assert second["calibration"] == first["calibration"]
    assert "## Calibration" in (docs / "results.md").read_text()


def test_meaning_goes_beside_what_is_known(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    assert _run("meaning", "--data", data, "--cache", tmp_path / "cache", "--out", folder)[0] == 0
    results = json.loads((folder / "results.json").read_text())
    assert results["meaning"] == {}
    (folder / "results.json").write_text(json.dumps(results | {"abuse": []}))
    assert _run("meaning", "--data", data, "--cache", tmp_path / "cache", "--out", folder)[0] == 0
    assert json.loads((folder / "results.json").read_text())["abuse"] == []


def test_quick_runs_stay_out_of_docs(data: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    common = ("--data", data, "--cache", cache, "--boot", 2, "--seeds", 1, "--prior", SHIPPED)
    assert _run("all", *common, "--limit", 8)[0] == 0
    assert "quick run" in (cache / "quick" / "results.md").read_text()


def test_protocol_prints_a_table_or_json(data: Path, tmp_path: Path) -> None:
    common = ("--data", data, "--cache", tmp_path / "cache", "--boot", 2, "--prior", SHIPPED)
    code, output = _run("protocol", "leave-out", *common)
    assert (code, "## Protocol: leave-out" in output) == (0, True)
    assert "| second rater |" in output
    code, output = _run("protocol", "grouped", *common, "--json")
    assert code == 0
    assert '"protocol": "grouped"' in output


def test_abuse_prints_a_table(data: Path, tmp_path: Path) -> None:
    code, output = _run("abuse", "--data", data, "--cache", tmp_path / "cache", "--boot", 2, "--limit", 4)
    assert code == 0
    assert "| unchanged | right answer | 4 |" in output


def test_broken_data_are_one_line_and_status_2(tmp_path: Path) -> None:
    (tmp_path / "beetle.parquet").write_text("no parquet")
    code, output = _run("protocol", "official", "--data", tmp_path, "--prior", SHIPPED)
    assert code == 2
    assert "beetle.parquet: cannot be read as parquet" in output


def test_datasets_check(data: Path) -> None:
    code, output = _run("datasets", "check", data)
    assert code == 1  # the counts are not the published ones
    assert "counts differ from the published ones" in output


def test_viva_without_items_is_empty(data: Path) -> None:
    assert Bench.prepare(Options(data=data, cache=None)).viva() == {}
    (data / "viva_dev.csv").write_bytes(VIVA.read_bytes())
    assert Bench.prepare(Options(data=data, cache=None)).viva() == {}


def test_viva_figures_and_abuse_of_the_bank(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data / "viva_dev.csv").write_bytes(VIVA.read_bytes())
    answers = read_viva(VIVA)
    names = sorted({item_id(question) for question in answers["question_id"]})
    items = [Item.from_reference("Why?", "Gradients add up, so clear them first.", item_id=name) for name in names]
    monkeypatch.setattr(bench, "packaged_judge", lambda folder: None)
    monkeypatch.setattr(bench, "load_bank", lambda: Bank(items))
    found = Bench.prepare(Options(data=data, cache=None, n_boot=5))
    part = found.viva()["all rows"]
    assert part["n"] == len(answers)
    assert {"uncalibrated", "constant", "length"} <= set(part["systems"])
    assert {"r", "qwk", "rmse", "f1_components"} <= set(part["measures"])
    assert found.abuse()[-1]["data"] == ("viva_dev" if (answers["score"] == 5).any() else "hbrs_nn")


def test_report_of_a_data_set(data: Path) -> None:
    encoder = CachedEncoder(HashEncoder, "hash@1", None)
    report = data_report("hbrs_nn", data=data, cache=None, worst=3, encoder=encoder)
    assert report.agreement.n == 120
    assert report.agreement.double_scored == 120
    assert len(report.worst) == 3
    assert "exam-" in report.to_html()
    with pytest.raises(InputError, match=r"no split 'test_ud'; it has none"):
        data_report("hbrs_nn", split="test_ud", data=data, cache=None, encoder=encoder)
    with pytest.raises(InputError, match=r"'mohler': not in the data folder"):
        data_report("mohler", data=data, cache=None, encoder=encoder)


class TestPriors:
    def test_unknown_training(self) -> None:
        for name in ("nowhere", "eval.nowhere:fit", "eval.systems:nothing", ":"):
            with pytest.raises(InputError, match="neither 'shipped' nor module:function"):
                load_training(name)

    def test_the_default_can_be_loaded(self) -> None:
        name = default_training()
        assert name == SHIPPED or callable(load_training(name))

    def test_fingerprint_follows_the_numbers(self) -> None:
        prior = load_prior()
        assert fingerprint(prior) == fingerprint(prior)
        assert fingerprint(prior) != fingerprint("something else")


@pytest.mark.data
@pytest.mark.slow
def test_quick_run_on_the_real_data(tmp_path: Path) -> None:
    from eval.datasets import data_folder

    if data_folder() is None:
        pytest.skip("the labelled data sets are not here (set GRADER_DATA)")
    code, output = _run("protocol", "leave-out", "--limit", 3, "--boot", 2, "--cache", tmp_path, "--prior", SHIPPED)
    assert code == 0
    assert "## Protocol: leave-out" in output
