"""What each edit makes of an answer, in exact words."""

from __future__ import annotations

import re

import numpy as np
import pytest

from eval.edits import MADE_WRONG, NO_ANSWER, Source, antonym, number_changed, polarity_flipped, roles_swapped
from eval.kept_edits import STILL_RIGHT
from eval.wordlists import ANTONYMS, BLANKS, INJECTIONS, JUNK, REMARKS

QUESTION = "Why does the  water level rise?"
ANSWER = "The water level is higher because the stone pushes the water aside."
SOURCE = Source(QUESTION, ANSWER, "The stone displaces water, so the level rises.", "Iron rusts in air.", "It is wet.")


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _of(answer: str) -> Source:
    return Source(QUESTION, answer, answer)


@pytest.mark.parametrize(
    ("answer", "flipped"),
    [
        ("The bulb is not connected.", "The bulb is connected."),
        ("It isn't closed", "It is closed"),
        ("Water cannot flow", "Water can flow"),
        ("The bulb is connected.", "The bulb is not connected."),
        ("Water flows", None),
        ("Nobody knows", None),
        ("No gap is there", None),
    ],
)
def test_polarity(answer: str, flipped: str | None) -> None:
    assert polarity_flipped(_of(answer), _rng()) == flipped


@pytest.mark.parametrize(
    ("answer", "swapped"),
    [
        ("Ice is lighter than water.", "water is lighter than Ice."),
        ("Heat flows from the stove to the pot, slowly.", "Heat flows from the pot to the stove, slowly."),
        ("Friction causes heat.", "heat causes Friction."),
        ("the path is open because the switch is open", "the switch is open because the path is open"),
        ("Water flows", None),
        ("heat causes heat", None),
    ],
)
def test_roles(answer: str, swapped: str | None) -> None:
    assert roles_swapped(_of(answer), _rng()) == swapped


def test_numbers() -> None:
    changed = number_changed(_of("It has 12 legs, 1.5 volts and Two wings"), _rng()) or ""
    found = re.fullmatch(r"It has (\d+) legs, (\d+)\.5 volts and ([A-Z][a-z]+) wings", changed)
    assert found
    assert (found[1] != "12", found[2] != "1", found[3] != "Two") == (True, True, True)
    assert number_changed(_of("one leg"), _rng()) is None
    assert number_changed(_of("9" * 40), _rng()) is not None


def test_antonyms_keep_the_case() -> None:
    assert antonym(_of("Higher"), _rng()) == "Lower"
    assert antonym(_of("HIGHER"), _rng()) == "LOWER"
    assert antonym(_of("stone"), _rng()) is None
    assert all(word in ANTONYMS[other] for word, others in ANTONYMS.items() for other in others)


class TestNoAnswer:
    @pytest.mark.parametrize("kind", list(NO_ANSWER))
    def test_never_the_answer_itself(self, kind: str) -> None:
        made = [NO_ANSWER[kind](SOURCE, _rng(seed)) for seed in range(5)]
        assert ANSWER not in made
        assert made == [NO_ANSWER[kind](SOURCE, _rng(seed)) for seed in range(5)]

    def test_contents(self) -> None:
        made = {kind: edit(SOURCE, _rng(1)) or "" for kind, edit in NO_ANSWER.items()}
        assert made["blank"] in BLANKS
        assert "Why does the water level rise?" in made["restated question"]
        assert made["another question's right answer"] == "Iron rusts in air."
        assert sorted(made["shuffled words"].split()) == sorted(ANSWER.split())
        assert {"stone", "displaces", "water"} <= set(made["bare keyword list"].split(", "))
        assert made["prompt injection alone"] in INJECTIONS
        assert made["wrong answer, prompt injection behind"].startswith("It is wet. ")
        assert made["wrong answer, junk before"].endswith(" It is wet.")
        assert len(made["gibberish"].split()) == len(made["random words"].split()) == len(ANSWER.split())

    def test_nothing_where_nothing_can_be_made(self) -> None:
        bare = Source("Why?", "So.", "So.")
        kinds = [kind for kind, edit in NO_ANSWER.items() if edit(bare, _rng()) is None]
        assert kinds == [
            "another question's right answer", "shuffled words", "bare keyword list", "wrong answer",
            "wrong answer, prompt injection behind", "wrong answer, junk before",
        ]  # fmt: skip


class TestStillRight:
    @pytest.mark.parametrize("kind", list(STILL_RIGHT))
    def test_changes_something_and_is_repeatable(self, kind: str) -> None:
        for seed in range(8):
            made = STILL_RIGHT[kind](SOURCE, _rng(seed))
            assert made is not None
            assert made != ANSWER
            assert made == STILL_RIGHT[kind](SOURCE, _rng(seed))

    def test_typos_leave_the_length_near(self) -> None:
        made = STILL_RIGHT["typos"](SOURCE, _rng()) or ""
        assert abs(len(made) - len(ANSWER)) <= 1
        assert STILL_RIGHT["typos"](_of("so it is"), _rng()) is None

    def test_insertions(self) -> None:
        made = STILL_RIGHT["adverbs and adjectives inserted"](SOURCE, _rng()) or ""
        assert len(made.split()) == len(ANSWER.split()) + 2
        kept = iter(made.split())
        assert all(word in kept for word in ANSWER.split())

    def test_additions(self) -> None:
        made = {kind: edit(_of("A gap"), _rng()) or "" for kind, edit in STILL_RIGHT.items()}
        assert made["doubled answer"] == "A gap. A gap"
        assert made["harmless extra"].removeprefix("A gap. ") in REMARKS
        assert made["junk before"].removesuffix(" A gap") in JUNK
        assert made["junk behind"].removeprefix("A gap ") in JUNK


def test_kinds_are_named_once() -> None:
    kinds = [*NO_ANSWER, *MADE_WRONG, *STILL_RIGHT]
    assert len(kinds) == len(set(kinds)) == 22
