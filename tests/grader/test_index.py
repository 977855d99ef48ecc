"""An item prepared for scoring: every statement at its place, thresholds and vocabulary of the item alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from grader import Grader, Item
from grader.encoder import Encoding, HashEncoder
from grader.index import ItemIndex, build_index


@pytest.fixture(scope="module")
def index(tides: Item, hash_grader: Grader) -> ItemIndex:
    return hash_grader.index(tides)


def test_every_key_statement_has_its_slot(index: ItemIndex, tides: Item) -> None:
    assert len(index.keys) == len(index.slots) == 6
    for phrase, slot in zip(index.keys.phrases, index.slots, strict=True):
        element = tides.components[slot.component].elements[slot.element]
        assert phrase.text == element.key_statements[slot.statement]


def test_misconceptions_and_ways_to_find_out(index: ItemIndex) -> None:
    assert index.misconceptions is not None
    assert index.find_out is not None
    assert index.misconception_slots == (0, 1)
    assert len(index.find_out) == 1
    bare = build_index(Item.from_reference("Why?", "Because."), HashEncoder())
    assert bare.misconceptions is bare.find_out is None
    assert bare.misconception_slots == ()


def test_thresholds_are_measured_within_the_item(index: ItemIndex) -> None:
    assert index.background.shape == index.siblings.shape == (6,)
    assert ((index.background >= 0) & (index.background < 1)).all()
    assert (index.siblings[:2] > 0).all()
    assert (index.siblings[2:] == 0).all(), "an only wording has no siblings"


def test_the_vocabulary_protects_all_words_of_the_item(index: ItemIndex) -> None:
    assert {"saint", "malo", "daily", "evaporates", "harbour", "twelve"} <= index.vocabulary
    assert {"tide", "happen"} <= index.prompt_stems
    assert "moon" in index.key_terms
    assert "tide" not in index.key_terms


def test_markup_in_a_rubric_is_read_as_in_a_response(hash_grader: Grader) -> None:
    plain = build_index(Item.from_reference("Why?", "It shares memory."), HashEncoder())
    marked = build_index(Item.from_reference("Why?", "It <b>shares</b>&nbsp;memory."), HashEncoder())
    assert plain.keys.phrases[0].text == marked.keys.phrases[0].text


def test_an_item_is_encoded_once_and_found_by_its_content(make_item: Callable[..., Item]) -> None:
    class Counting(HashEncoder):
        calls = 0

        def encode(self, texts: object) -> list[Encoding]:
            Counting.calls += 1
            return super().encode(texts)  # type: ignore[arg-type]

    grader = Grader(Counting())
    assert grader.index(make_item()) is grader.index(make_item())
    assert Counting.calls == 1
    assert grader.index(make_item(version=2)) is not grader.index(make_item())
    assert Counting.calls == 2


def test_an_index_holds_no_nan(index: ItemIndex) -> None:
    assert np.isfinite(index.background).all()
    assert np.isfinite(index.siblings).all()
    assert np.isfinite(index.wordings).all()
