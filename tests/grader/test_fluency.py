"""The order of words: learned counts, what they say of sentences, shuffles and lists."""

from __future__ import annotations

import random

import pytest

from grader import Bank
from grader.fluency import WordOrder, longest_run, out_of_order, word_order
from grader.text import tokenise

SENTENCES = (
    "The moon pulls the near side of the sea more strongly than the far side, so the water rises twice a day.",
    "You have to reset the gradients before every step because PyTorch adds the new ones to the old ones.",
    "If the tensor is not contiguous then view raises an error, while reshape makes a copy without saying so.",
)


def shuffled(text: str, seed: int) -> str:
    words = text.split()
    random.Random(seed).shuffle(words)
    return " ".join(words)


@pytest.mark.parametrize("text", SENTENCES)
def test_sentences_are_in_order_and_most_of_their_shuffles_are_not(text: str) -> None:
    assert not out_of_order(text)
    assert sum(out_of_order(shuffled(text, seed)) for seed in range(40)) >= 24


def test_every_statement_of_the_bank_is_in_order(pytorch_bank: Bank) -> None:
    wordings = [
        text
        for item in pytorch_bank.values()
        for component in item.components.values()
        for element in component.elements
        for text in element.key_statements
    ]
    assert len(wordings) > 1000
    assert not [text for text in wordings if out_of_order(text)]


@pytest.mark.parametrize("text", ["", "?!", "because the of", "moon sea pull tide water"])
def test_few_words_are_not_judged(text: str) -> None:
    assert not out_of_order(text)


def test_text_without_words_gains_nothing() -> None:
    assert word_order().gain("... !") == 0


def test_counts_survive_their_file() -> None:
    counts = WordOrder.learn(SENTENCES, "7")
    back = WordOrder.from_json(counts.to_json())
    assert (back.counts, back.version) == (counts.counts, "7")
    assert back.gain(SENTENCES[0]) == counts.gain(SENTENCES[0]) > 0


def test_what_was_learned_is_likelier_in_its_order() -> None:
    counts = WordOrder.learn(SENTENCES)
    assert all(counts.gain(shuffled(text, 1)) < counts.gain(text) for text in SENTENCES)


def test_the_shipped_counts_hold_no_content_words() -> None:
    known = {"moon", "gradient", "tensor", "battery", "circuit", "water", "network", "packet"}
    assert not {name for sequence in word_order().counts for name in sequence} & known


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("the of and", 0),
        ("moon gravity ocean", 3),
        ("moon, gravity ocean", 2),
        ("moon gravity and ocean", 2),
        ("height x width x depth", 1),
        ("moon 3 gravity = ocean", 1),
    ],
)
def test_longest_run(text: str, expected: int) -> None:
    assert longest_run(text) == expected
    assert longest_run(text) <= len(tokenise(text))
