"""Misspelled words are read as meant; an item's own words, code, names and other languages are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.spelling import correct, correction
from grader.text import normalise

VOCABULARY = frozenset("gradients gradient accumulate memory contiguous logits optimizer strided moon".split())


def corrected(text: str, language: str = "en") -> str:
    return correct(normalise(text), VOCABULARY, language).text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("gradiants", "gradients"),
        ("Gradiants", "gradients"),
        ("acumulate", "accumulate"),
        ("contigous", "contiguous"),
        ("memmory", "memory"),
        ("seperate", "separate"),
        ("becuase", "because"),
        ("dont", "don't"),
        ("doesnt", "doesn't"),
        ("cant", "can't"),
    ],
)
def test_misspelled_words_are_replaced(typed: str, meant: str) -> None:
    assert correction(typed, VOCABULARY) == meant


@pytest.mark.parametrize(
    "word",
    ["logits", "gradient", "strided", "mood", "memories", "colour", "normalises", "vectorised", "softmax", "CUDA",
     "iPhone", "PyTorch", "ReLU", "abc", "x1y2z3", "qqqqqqqqqqqq", "\u092e\u0947\u092e\u094b"],
)  # fmt: skip
def test_right_short_capitalised_and_unknown_words_stay(word: str) -> None:
    assert correction(word, VOCABULARY) == word


def test_an_english_word_is_never_turned_into_the_items_word() -> None:
    assert corrected("a gradient of moods and mood") == "a gradient of moods and mood"


def test_code_and_identifiers_are_protected() -> None:
    text = "gradiants `gradiants` gradiants() self.gradiants no_gradiants\n```\ngradiants\n```\ngradiants"
    assert corrected(text).split() == [
        "gradients", "gradiants", "gradiants()", "self.gradiants", "no_gradiants", "gradiants", "gradients",
    ]  # fmt: skip


def test_offsets_point_at_what_was_typed() -> None:
    source = correct(normalise("<b>Dont</b> let gradiants acumulate"), VOCABULARY)
    assert source.text == "don't let gradients accumulate"
    start = source.text.index("gradients")
    assert source.original[slice(*source.span(start, start + 9))] == "gradiants"
    assert source.original[slice(*source.span(0, 5))] == "Dont"


def test_other_languages_are_left_alone() -> None:
    assert corrected("Die Gradiants dont Anderung", "de") == "Die Gradiants dont Anderung"


@given(st.text(st.sampled_from("abdegimnorstu `.\u2019'<b>"), max_size=40))
def test_correction_is_stable(text: str) -> None:
    once = correct(normalise(text), VOCABULARY)
    assert len(once.text) == len(once.starts) == len(once.ends)
    assert all(0 <= a < b <= len(text) for a, b in zip(once.starts, once.ends, strict=True))


def test_many_unknown_words_are_read() -> None:
    words = [f"{chr(97 + i % 26)}{'qxzjv'[i % 5]}{chr(97 + i // 26 % 26)}kwqyz" for i in range(3000)]
    assert len(corrected(" ".join(words)).split()) == 3000
