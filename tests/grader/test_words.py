"""What is known about words is fixed and offline."""

from __future__ import annotations

from grader.words import FUNCTION_WORDS, frequencies, information, is_word, readable_share, table_hash


def test_information_runs_from_function_words_to_identifiers() -> None:
    order = ["the", "time", "memory", "gradient", "optimizer.zero_grad()"]
    values = [information(word) for word in order]
    assert values == sorted(values)
    assert values[0] == 0.05
    assert values[-1] == 1.0
    assert all(0.05 <= information(word) <= 1 for word in frequencies())


def test_case_and_genitive_make_no_difference() -> None:
    assert information("Memory") == information("memory")
    assert information("optimizer's") == information("optimizer")
    assert information("n't") == 1.0, "no word at all"


def test_words_of_english() -> None:
    assert all(is_word(word) for word in ("Memory", "don't", "nobody's", "whereas"))
    assert not any(is_word(word) for word in ("", "qwrtz", "zero_grad", "\u092e\u0947"))
    assert all(is_word(word) for word in FUNCTION_WORDS)


def test_readable_share_counts_letters() -> None:
    assert readable_share([], frozenset()) == 0.0
    assert readable_share(["memory", "qwrtzp"], frozenset()) == 0.5
    assert readable_share(["memory", "qwrtzp"], frozenset({"qwrtzp"})) == 1.0
    assert readable_share(["MemoryCopy"], frozenset()) == 1.0, "an identifier made of words"


def test_the_table_is_the_one_that_marks_were_made_with() -> None:
    assert len(frequencies()) > 80_000
    assert table_hash() == "68e9dc81"
