"""Triples: who says what of whom, and what is kept for testing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from eval.contradiction_data import NOT_ENTAILED, ONLY_CONTRADICTS, ONLY_ENTAILS, in_test_tenth
from eval.contradiction_graded import HELD_OUT_ITEMS
from eval.contradiction_triples import TRIPLES, read_triples, triple_pairs
from grader import load_bank
from grader.encoder import Encoder

ROOT = Path(__file__).resolve().parents[2]


def test_a_triple_gives_pairs_in_both_directions(encoder: Encoder) -> None:
    row = {"pack": "", "item": "", "component": "", "element": "physics", "kind": "role"}
    row |= {"right": "Heat flows to the cold.", "other_words": "The cold body gains heat.", "wrong": "Cold flows out."}
    pairs = triple_pairs(pd.DataFrame([row]), {}, encoder)
    entailed = {(pair.premise, pair.hypothesis) for pair in pairs if pair.allowed == ONLY_ENTAILS}
    opposed = {(pair.premise, pair.hypothesis) for pair in pairs if pair.allowed == ONLY_CONTRADICTS}
    assert entailed == {(row["right"], row["other_words"]), (row["other_words"], row["right"])}
    assert opposed == {
        pair for true in (row["right"], row["other_words"]) for pair in ((row["wrong"], true), (true, row["wrong"]))
    }


def test_with_an_item_nothing_true_is_a_misconception(encoder: Encoder) -> None:
    frame = read_triples()
    frame = frame[frame["item"] == "zero-grad"].head(4)
    item = load_bank(ROOT / "rubrics" / "pytorch")["zero-grad"]
    believed = {text for known in item.misconceptions for text in known.statements}
    pairs = triple_pairs(frame, {"zero-grad": item}, encoder)
    against = [pair for pair in pairs if pair.hypothesis in believed]
    assert len(against) == 8
    assert all(pair.allowed == NOT_ENTAILED for pair in against)


def test_triples_kept_for_testing_are_not_trained_on() -> None:
    trained, kept = read_triples(), read_triples(held_out=True)
    assert not HELD_OUT_ITEMS & set(trained["item"])
    assert set(kept["item"]) >= HELD_OUT_ITEMS
    assert "statistics" not in set(trained["pack"])
    assert not any(in_test_tenth(text) for text in trained.loc[trained["item"] == "", "right"])
    assert len(trained) + len(kept) == len(pd.read_csv(TRIPLES))


def test_triples_name_items_and_elements_of_the_bank() -> None:
    frame = pd.read_csv(TRIPLES, dtype=str, keep_default_na=False)
    bank = {pack: load_bank(ROOT / "rubrics" / pack) for pack in ("pytorch", "statistics")}
    for row in frame[frame["item"] != ""].itertuples():
        item = bank[str(row.pack)][str(row.item)]
        if row.element:
            assert row.element in {element.id for element in item.components[str(row.component)].elements}


@pytest.mark.parametrize("column", ["right", "other_words", "wrong"])
def test_every_statement_is_there_and_short(column: str) -> None:
    frame = pd.read_csv(TRIPLES, dtype=str, keep_default_na=False)
    lengths = frame[column].str.split().str.len()
    assert lengths.between(2, 30).all()


def test_negations_are_no_cue() -> None:
    frame = pd.read_csv(TRIPLES, dtype=str, keep_default_na=False)
    negated = frame[["right", "other_words", "wrong"]].apply(
        lambda texts: texts.str.contains(r"\b(?:not|no|never|without|cannot)\b|n't", case=False).mean()
    )
    assert abs(negated["wrong"] - negated[["right", "other_words"]].mean()) < 0.15
