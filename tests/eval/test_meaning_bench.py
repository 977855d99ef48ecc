"""The bench of meaning on made-up items and a judge without weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eval.cache import CachedEncoder
from eval.contradiction_graded import HELD_OUT_ITEMS
from eval.meaning_bench import LEVELS, meaning_results, verdicts
from eval.meaning_page import tables, wanted
from eval.results_page import _meaning
from grader import Bank, Grader, Item
from grader.encoder import HashEncoder
from grader.evidence.crossencoder import CLASSES, CONTRADICTS, ENTAILS
from grader.evidence.polarity import negations

RULE = "The pump pushes the water through the long pipe."


class ParityJudge:
    """Counts negations, and counts its calls."""

    signature = "parity@1"

    def __init__(self) -> None:
        self.calls = 0

    def predict(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.calls += bool(pairs)
        rows = np.zeros((len(pairs), len(CLASSES)), dtype=np.float32)
        for row, (first, second) in zip(rows, pairs, strict=True):
            row[ENTAILS if negations(first) % 2 == negations(second) % 2 else CONTRADICTS] = 1.0
        return rows


@pytest.fixture
def bank() -> Bank:
    plain = Item.from_reference("What does the pump do?", RULE).model_dump()
    return Bank([Item.model_validate({**plain, "id": sorted(HELD_OUT_ITEMS)[0]})])


@pytest.fixture
def results(bank: Bank, raw_frames: dict[str, pd.DataFrame], tmp_path: Path) -> dict[str, object]:
    raw_frames["toy"].assign(dataset="beetle").to_parquet(tmp_path / "beetle.parquet")
    encoder = CachedEncoder(HashEncoder, "hash@1", None)
    return meaning_results(encoder, ParityJudge(), bank, tmp_path, None)


def test_a_negated_copy_is_caught_from_the_grammar_checks_on() -> None:
    item = Item.from_reference("What does the pump do?", RULE)
    encoder = CachedEncoder(HashEncoder, "hash@1", None)
    graders = {"features": Grader(encoder), "grammar": Grader(encoder), "model": Grader(encoder, judge=ParityJudge())}
    found = verdicts(graders, [(item, RULE.replace("pushes", "does not push")), (item, RULE)])
    assert list(found) == list(LEVELS)
    assert [found[level][0].false for level in LEVELS] == [False, False, True, True]
    assert [found[level][1].false for level in LEVELS] == [False] * 4
    assert found["features"][0].accepted


def test_every_level_and_both_directions_are_reported(results: dict[str, object]) -> None:
    flips = pd.DataFrame(results["flips"])
    assert set(flips["level"]) == set(LEVELS)
    assert set(flips["wrong"]) == {True, False}
    assert set(flips["rules"]) == {"held out", "of training"}
    caught = flips[flips["wrong"]].groupby("level")["caught"].mean()
    assert caught["grammar"] > caught["features"]
    shares = flips[["false", "not_accepted", "referred", "caught"]].dropna()
    assert ((shares >= 0) & (shares <= 1)).all().all()


def test_right_answers_are_reported_apart_where_they_contain_a_negation(results: dict[str, object]) -> None:
    right = pd.DataFrame(results["right"])
    assert set(right["answers"]) == {"all", "with a negation"}


def test_the_aims_say_whether_they_are_reached(results: dict[str, object]) -> None:
    aims = wanted(results)
    assert any("marked wrong or referred" in aim.what for aim in aims)
    for aim in aims:
        if aim.value is not None:
            assert aim.reached is (aim.value <= aim.limit if aim.most else aim.value >= aim.limit)


def test_tables_are_rectangular(results: dict[str, object]) -> None:
    found = list(tables(results))
    assert [heading for heading, *_ in found][:2] == ["What was aimed at", "Edited right statements"]
    for _, _, head, rows in found:
        assert rows
        assert {len(row) for row in rows} == {len(head)}


def test_the_page_shows_the_tables_and_what_marks_they_are_of(results: dict[str, object]) -> None:
    shown = "\n".join(_meaning({"meaning": results | {"signature": "enc:x|judge:y"}}))
    assert "Marks: `enc:x|judge:y`." in shown
    assert "### Edited right statements" in shown
