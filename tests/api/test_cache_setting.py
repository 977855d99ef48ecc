"""The service keeps no encodings unless it is told where, and takes as many threads as it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.scoring import load_scorer
from api.settings import Settings
from grader import Grader, Item
from grader.store import NAME

RESPONSES = ["The gravity of the moon pulls the near side more strongly.", "A strong wind heaps everything up."]


def test_off_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADER_CACHE", raising=False)
    assert Settings().cache == "off"
    assert Settings(cache="off").cache == "off"


def test_a_folder_turns_it_on_and_marks_stay(tides: Item, real_grader: Grader, tmp_path: Path) -> None:
    expected = real_grader.grade_many(tides, RESPONSES)
    for _ in range(2):
        scorer = load_scorer(Settings(cache=str(tmp_path)))
        assert scorer.grade_many(tides, RESPONSES) == expected
    assert (tmp_path / NAME).exists()


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_are_bounded(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_THREADS", str(threads))
    scorer = load_scorer(Settings())
    assert isinstance(scorer, Grader)
    assert scorer._threads.count == threads
