"""One response, read: its condition code so far, and which of its statements count."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader import Grader, Item
from grader.index import ItemIndex
from grader.reading import counted_statements, read_response
from grader.screen import HARD_LIMIT

MOON = "The gravity of the moon pulls the near side more strongly."


@pytest.fixture(scope="module")
def index(tides: Item, hash_grader: Grader) -> ItemIndex:
    return hash_grader.index(tides)


@pytest.mark.parametrize(
    ("response", "condition", "gradable"),
    [
        (MOON, None, True),
        ("", "blank", True),
        ("?", "blank", True),
        ("\u00a0\u200b\u3000", "blank", True),
        ("<p>&nbsp;</p>", "blank", True),
        ("\U0001f600", "blank", True),
        ("qwrt zxcvb asdfg hjkl", "gibberish", True),
        ("\u0301\u0301 1\u0301", None, True),
        ("What are tides, and why do they happen?", "echo", True),
        ("moon, gravity, sun, ocean, water, planet", "keyword_list", True),
        ("I don't know.", "dont_know", True),
        ("I don't know. I would look it up.", "dont_know_how", True),
        ("What are tides? I don't know. moon, sun, sea, level, pull, day", "dont_know", True),
        ("\u092a\u0924\u093e \u0928\u0939\u0940\u0902", "language", False),
        ("x" * (HARD_LIMIT + 1), "too_long", False),
        (" \n" * 500_000, "blank", True),
    ],
)
def test_conditions(response: str, condition: str | None, gradable: bool, index: ItemIndex) -> None:
    reading = read_response(response, index)
    assert (reading.condition, reading.gradable) == (condition, gradable)
    assert len(reading.roles) == len(reading.statements)


def test_a_claim_lifts_every_condition(index: ItemIndex) -> None:
    for junk in ("I don't know.", "What are tides?", "qwrt zxcvb asdfg", "moon, gravity, sun, ocean, water, planet"):
        reading = read_response(f"{junk}\n\n{MOON}", index)
        assert reading.condition is None
        assert [reading.statements[at].text for at in counted_statements(reading)] == [MOON]


def test_only_a_bare_list_counts_as_such(index: ItemIndex) -> None:
    reading = read_response("moon, gravity, sun, ocean, water, planet", index)
    assert counted_statements(reading) == [0]


def test_what_one_would_do_counts_beside_a_claim_of_a_candidate_who_knows(index: ItemIndex) -> None:
    check = "I would measure the level at the pier twice a day and compare."
    assert len(counted_statements(read_response(f"{MOON} {check}", index))) == 2
    assert len(counted_statements(read_response(f"I am not sure. {MOON} {check}", index))) == 1
    assert counted_statements(read_response(check, index)) == []


@pytest.mark.parametrize("response", ["None.", "nothing", "NOTHING!"])
def test_nothing_may_be_the_answer(response: str, hash_grader: Grader) -> None:
    references = ["None", "Nothing."]
    item = Item.from_reference("What does a photon weigh at rest?", references, max_score=1)
    assert read_response(response, hash_grader.index(item)).condition is None
    assert read_response("n/a", hash_grader.index(item)).condition == "blank"


def test_more_words_than_the_item_allows(make_item: Callable[..., Item], hash_grader: Grader) -> None:
    index = hash_grader.index(make_item(limits={"max_words": 8}))
    assert read_response(MOON, index).condition == "too_long"
    assert counted_statements(read_response(MOON, index)) == [0], "still graded in full"
    assert read_response("It is the moon.", index).condition is None


def test_spelling_is_forgiven_in_english_only(hash_grader: Grader) -> None:
    english = Item.from_reference("Why?", "Because gradients accumulate.")
    german = Item.from_reference("Warum?", "Weil Gradienten akkumulieren.", language="de")
    assert read_response("gradiants acumulate", hash_grader.index(english)).source.text == "gradients accumulate"
    reading = read_response("Weil sich die Gradiants sonst becuase aufaddieren.", hash_grader.index(german))
    assert reading.source.text == "Weil sich die Gradiants sonst becuase aufaddieren."
    assert reading.roles == ["claim"], "German is not gibberish"
