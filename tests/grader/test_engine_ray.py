"""Partitions on a Ray cluster: the same files as without one, also when a node dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from grader import ModelError, load_bank
from grader.cli import app
from grader.engine_ray import worker
from grader.partitions import Settings, grade_folder, local

ROOT = Path(__file__).parents[2]
BANK = ROOT / "tests" / "data" / "bank"
TABLES, ROWS = 16, 60
GAS = "Yeast eats sugar and gives off carbon dioxide, and gluten traps the gas in small bubbles."

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install viva-grader[ray]")


@needs_ray
def test_a_node_that_dies_midway_changes_nothing(tmp_path: Path) -> None:
    source, here, there = (tmp_path / name for name in ("source", "here", "there"))
    source.mkdir()
    for table in range(TABLES):
        names = [f"{table}-{at}" for at in range(ROWS)]
        frame = pd.DataFrame({"candidate": names, "item": "dough-rises", "response": [f"{GAS} {n}" for n in names]})
        frame.to_csv(source / f"{table:02}.csv", index=False)
    assert len(list(grade_folder(source, Settings(here, load_bank(BANK), encoder="hash"), local))) == TABLES
    command = [sys.executable, str(ROOT / "tests" / "grader" / "two_nodes.py"), source, there, BANK, "2"]
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0", "RAY_raylet_start_wait_time_s": "180",
    }  # fmt: skip
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=environment, timeout=400, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert 2 <= report["killed_at"][0] < TABLES, "killed midway"
    assert report["alive"] == 1
    assert (report["tables"], report["rows"]) == (TABLES, TABLES * ROWS)
    files = sorted(path.relative_to(here) for path in here.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(there) for path in there.rglob("*") if path.is_file())
    assert len(files) == 2 * TABLES
    for name in files:
        if name.suffix == ".csv":
            assert (here / name).read_bytes() == (there / name).read_bytes()


def test_a_machine_with_other_models_does_no_work(tmp_path: Path) -> None:
    settings = Settings(tmp_path, load_bank(BANK), encoder="hash")
    assert worker(tmp_path, settings, settings.signatures(settings.load()))()
    with pytest.raises(ModelError, match="another version"):
        worker(tmp_path, settings, {"dough-rises": "made elsewhere"})()


def test_without_ray_the_command_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "a.csv").write_text("candidate,item,response\nx,dough-rises,y\n")
    command = ["--encoder", "hash", "batch", str(tmp_path), "-o", str(tmp_path.parent / "out"), "--engine", "ray"]
    result = CliRunner().invoke(app, [*command, "--bank", str(BANK)])
    assert result.exit_code == 2
    assert "pip install 'viva-grader[ray]'" in result.stderr


def test_a_worker_has_one_thread(tmp_path: Path) -> None:
    settings = Settings(tmp_path, load_bank(BANK), threads=4)
    one = worker(tmp_path, settings, settings.signatures(settings.load()))()
    assert one._grader._threads.count == 1
