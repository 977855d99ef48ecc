"""Alignment of key statements with statements, on a fake encoder whose vectors are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.encoder import HashEncoder
from grader.evidence.similarity import PROMPT_WEIGHT, KeyStatements, Phrase, phrase

ENCODER = HashEncoder(256)
WORDS = "gradient memory tensor copy share view stride buffer the of and not".split()
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def make(text: str, prompt: frozenset[str] = frozenset()) -> Phrase:
    return phrase(text, ENCODER.encode([text])[0], prompt)


def test_a_copy_is_found_completely_and_nothing_else_hardly() -> None:
    keys = KeyStatements([make("views share memory"), make("gradients accumulate")])
    found = keys.align([make("Views share memory.")])
    for measure in (found.recall, found.precision, found.cosine, found.lexical):
        assert measure.shape == (2, 1)
        assert measure[0, 0] == pytest.approx(1, abs=1e-4)
        assert measure[1, 0] < 0.5
    assert found.full_recall.shape == (2,)


def test_recall_is_of_the_key_and_precision_of_the_statement() -> None:
    found = KeyStatements([make("views share memory")]).align([make("views share memory and gradients accumulate")])
    assert found.recall[0, 0] == pytest.approx(1, abs=1e-4)
    assert found.precision[0, 0] < 0.8
    found = KeyStatements([make("views share memory and gradients accumulate")]).align([make("views share memory")])
    assert found.precision[0, 0] == pytest.approx(1, abs=1e-4)
    assert found.recall[0, 0] < 0.8


def test_neighbours_are_taken_together() -> None:
    found = KeyStatements([make("views share memory")]).align([make("views share"), make("gradients"), make("memory")])
    assert found.recall.max() < found.full_recall[0] == pytest.approx(1, abs=1e-4)
    assert found.pair_recall.shape == (1, 2)
    assert found.full_lexical[0] == pytest.approx(1, abs=1e-4)


def test_the_prompts_words_weigh_a_fifth() -> None:
    plain, demoted = make("gradient buffer"), make("gradient buffer", frozenset({"gradient"}))
    assert demoted.weights[0] == pytest.approx(plain.weights[0] * PROMPT_WEIGHT)
    assert demoted.weights[1] == plain.weights[1]


@pytest.mark.parametrize("text", ["", "?!", "\ud800", "\u0301", "5", "a", "word " * 300])
def test_any_text_can_be_compared(text: str) -> None:
    found = KeyStatements([make("views share memory"), make("5")]).align([make(text), make("views")])
    for name in found.__dataclass_fields__:
        assert np.isfinite(getattr(found, name)).all(), name


@given(st.lists(SENTENCES, min_size=1, max_size=4), SENTENCES, st.lists(SENTENCES, min_size=1, max_size=3))
def test_nothing_shrinks_when_a_statement_is_added(response: list[str], added: str, keys: list[str]) -> None:
    stacked = KeyStatements([make(key) for key in keys])
    before = stacked.align([make(text) for text in response])
    after = stacked.align([make(text) for text in [*response, added]])
    for name in ("recall", "precision", "cosine", "lexical", "pair_recall"):
        assert (getattr(after, name).max(axis=1) >= getattr(before, name).max(axis=1) - 1e-6).all(), name
    assert (after.full_recall >= before.full_recall - 1e-6).all()
    assert (after.full_lexical >= before.full_lexical - 1e-6).all()


@given(st.lists(SENTENCES, min_size=2, max_size=4))
def test_measures_do_not_depend_on_how_keys_are_stacked(keys: list[str]) -> None:
    response = [make("the view and the memory share a stride"), make("not a copy")]
    together = KeyStatements([make(key) for key in keys]).align(response)
    for row, key in enumerate(keys):
        alone = KeyStatements([make(key)]).align(response)
        np.testing.assert_allclose(together.recall[row], alone.recall[0], atol=2e-5)
        np.testing.assert_allclose(together.lexical[row], alone.lexical[0], atol=2e-5)


@pytest.mark.parametrize("size", [2, 10, 700])
def test_a_statement_measures_the_same_alone_and_among_others(size: int) -> None:
    words = "the view shares its memory and never makes a copy of strides".split()
    stacked = KeyStatements([make(" ".join(words) + f" {at}") for at in range(size)])
    phrases = [make("memory"), *(make(" ".join(words[: 1 + at % len(words)]) + f" {at}") for at in range(120))]
    together = stacked.compare(phrases)
    for row in (0, 1, 2, 77, 120):
        assert np.array_equal(together.best[row], stacked.compare([phrases[row]]).best[0])
    rows = [3, 90, 17]
    found, alone = together.align(rows), stacked.align([phrases[row] for row in rows])
    for name in found.__dataclass_fields__:
        assert np.array_equal(getattr(found, name), getattr(alone, name)), name


def test_wordings_that_a_text_says_whole() -> None:
    keys = KeyStatements([make("views share memory"), make("views share a layout")])
    assert keys.within(frozenset(make("Memory, views share!").terms))
    assert not keys.within(frozenset(make("views share").terms))
    assert not keys.within(frozenset(make("views share memory with tensors whose strides look quite alike").terms))
