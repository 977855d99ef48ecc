"""The examiner: order of questions, marks, what is left to revise, and that a viva survives as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import Bank, Grader, load_bank
from grader.encoder import HashEncoder
from grader.errors import InputError, UnknownItemError
from grader.viva import Examiner, VivaState, follow_up_item

KITCHEN = Path(__file__).parents[1] / "data" / "bank" / "kitchen"
GAS = "Yeast eats sugar and gives off carbon dioxide, and gluten traps the gas in small bubbles."
WRONG = "Kneading pumps air into the lump, and this air alone lifts it."


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank(KITCHEN)


@pytest.fixture(scope="module")
def examiner(bank: Bank) -> Examiner:
    return Examiner(bank, Grader(HashEncoder()))


def run(examiner: Examiner, state: VivaState, *answers: str) -> VivaState:
    for answer in answers:
        state, _ = examiner.answer(state, answer)
    return state


def asked(examiner: Examiner, state: VivaState) -> str | None:
    question = examiner.ask(state)
    return question and (question.follow_up or question.item)


def test_items_are_asked_in_order_and_counted(examiner: Examiner) -> None:
    state = examiner.start(["onion-tears", "rising-dough"])
    question = examiner.ask(state)
    assert question is not None
    assert (question.item, question.number, question.of, question.follow_up) == ("onion-tears", 1, 2, None)
    state = run(examiner, state, "The eyes wash it out with tears.")
    question = examiner.ask(state)
    assert question is not None
    assert (question.item, question.number) == ("dough-rises", 2), "no follow-ups, and the alias is resolved"
    assert question.hint == "What do you see when you cut a slice?"


def test_a_full_answer_gets_the_harder_question(examiner: Examiner, bank: Bank) -> None:
    state = run(examiner, examiner.start(["dough-rises"]), bank["dough-rises"].reference_answer)
    assert asked(examiner, state) == "no-gluten"
    state = run(examiner, state, "Rice flour fails, since it has no gluten to hold the bubbles.")
    assert asked(examiner, state) == "in-the-fridge", "the next hardest"
    state = run(examiner, state, "Fermentation slows down a lot.")
    assert examiner.ask(state) is None
    assert state.finished


def test_a_partial_answer_gets_the_first_question_whose_condition_holds(examiner: Examiner) -> None:
    state = run(examiner, examiner.start(["dough-rises"]), GAS)
    assert asked(examiner, state) == "in-the-fridge"


def test_a_missed_definition_is_asked_for_and_counts_as_met_afterwards(examiner: Examiner) -> None:
    state = run(examiner, examiner.start(["dough-rises"]), "Warmth makes the cells work faster.")
    assert asked(examiner, state) == "where-from"
    state = run(examiner, state, "Living cells turn sugar into carbon dioxide.")
    assert asked(examiner, state) == "in-the-fridge"
    summary = examiner.summary(state)
    assert {entry.component for entry in summary.revise} == {"example_or_pitfall"} | (
        {"reason"} if summary.results[0].score == 0 else set()
    )


def test_a_missed_definition_that_stays_missed_is_left_to_revise(examiner: Examiner) -> None:
    state = run(examiner, examiner.start(["dough-rises"], follow_ups=1), "Salt.", "No idea.")
    revise = examiner.summary(state).revise
    assert [entry.kind for entry in revise if entry.kind == "follow_up"] == ["follow_up"]
    assert "definition" in {entry.component for entry in revise}


@pytest.mark.parametrize("answer", ["", "qqq zzzx kjhgf", "खमीर गैस बनाता है और आटा फूलता है"])
def test_no_further_question_on_nothing(examiner: Examiner, answer: str) -> None:
    state = run(examiner, examiner.start(["dough-rises"]), answer)
    assert state.finished
    summary = examiner.summary(state)
    assert summary.score == 0.0
    assert summary.max_score == (0.0 if summary.results[0].score is None else 5.0)


def test_follow_ups_can_be_switched_off(examiner: Examiner) -> None:
    assert run(examiner, examiner.start(["dough-rises"], follow_ups=0), GAS).finished


def test_a_false_statement_is_named_and_gets_the_easier_question(examiner: Examiner) -> None:
    state = run(examiner, examiner.start(["dough-rises"], follow_ups=1), WRONG)
    assert asked(examiner, state) == "where-from"
    wrong = [entry for entry in examiner.summary(state).revise if entry.kind == "wrong"]
    assert [entry.quote for entry in wrong] == [WRONG]
    assert "fermentation" in wrong[0].text


def test_the_main_mark_is_that_of_the_answer_alone(examiner: Examiner, bank: Bank) -> None:
    state, score = examiner.answer(examiner.start(["dough-rises"]), GAS)
    assert score == Grader(HashEncoder()).grade(bank["dough-rises"], GAS)
    state = run(examiner, state, "Fermentation slows down a lot.")
    result = examiner.summary(state).results[0]
    assert (result.score, result.max_score) == (score.score, 5.0)
    assert (result.follow_up_score, result.follow_up_max) == (2.0, 2.0)


def test_the_state_survives_as_json_and_is_never_changed_in_place(examiner: Examiner) -> None:
    start = examiner.start(["dough-rises", "onion-tears"])
    first = run(examiner, start, GAS)
    again = VivaState.model_validate_json(first.model_dump_json())
    assert again == first
    assert start.turns == ()
    assert examiner.ask(again) == examiner.ask(first)
    assert run(examiner, again, "cold -> slow") == run(examiner, first, "cold -> slow")


def test_lone_surrogates_in_an_answer_do_not_break_the_json(examiner: Examiner) -> None:
    state = run(examiner, examiner.start(["dough-rises"]), GAS + " \ud800")
    assert VivaState.model_validate_json(state.model_dump_json()).turns[0].answer == GAS + " \ufffd"


def test_stopping_early_keeps_what_was_answered(examiner: Examiner) -> None:
    state = examiner.stop(run(examiner, examiner.start(["dough-rises", "onion-tears"]), GAS))
    assert state.finished
    assert [result.item for result in examiner.summary(state).results] == ["dough-rises"]
    with pytest.raises(InputError, match="over"):
        examiner.answer(state, "more")


def test_what_cannot_be_started(examiner: Examiner) -> None:
    with pytest.raises(UnknownItemError):
        examiner.start(["nope"])
    with pytest.raises(InputError, match="at least one item"):
        examiner.start([])
    with pytest.raises(InputError, match="asked once"):
        examiner.start(["dough-rises", "rising-dough"])


def test_a_follow_up_that_left_the_rubric_is_named(examiner: Examiner) -> None:
    state = examiner.start(["dough-rises"]).model_copy(update={"pending": "gone"})
    with pytest.raises(InputError, match="no follow-up 'gone'"):
        examiner.ask(state)


def test_a_follow_up_is_an_item_of_its_own(bank: Bank) -> None:
    item = bank["dough-rises"]
    small = follow_up_item(item, item.follow_ups[0])
    assert (small.id, small.scale.max, list(small.components)) == ("dough-rises-where-from", 2.0, ["answer"])
    assert small.find_out == item.find_out
    assert Grader(HashEncoder()).grade(small, item.follow_ups[0].reference_answer).score == 2.0
    long_named = item.model_copy(update={"id": "x" * 70})
    assert len(follow_up_item(long_named, item.follow_ups[0]).id) <= 80
