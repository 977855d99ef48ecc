"""The packs that ship: reference answers earn full marks, quick checks have one right option, lint is clean."""

from __future__ import annotations

import pytest

from grader import Grader, load_bank
from grader.bank import default_rubrics
from grader.lint import lint

BANK = load_bank(default_rubrics())


def test_there_are_two_packs() -> None:
    assert {path.name for path in default_rubrics().iterdir()} == {"pytorch", "statistics"}
    assert len(BANK) == 45


@pytest.mark.parametrize("name", BANK)
def test_the_reference_answer_earns_full_marks_without_a_doubt(name: str, real_grader: Grader) -> None:
    item = BANK[name]
    score = real_grader.grade(item, item.reference_answer)
    assert (score.score, score.errors, score.referred) == (item.scale.max, (), False)
    assert {component.status for component in score.components} == {"present"}


@pytest.mark.parametrize("name", BANK)
def test_every_quick_check_has_exactly_one_right_option(name: str) -> None:
    assert BANK[name].quick_checks
    for check in BANK[name].quick_checks:
        assert sum(option.correct for option in check.options) == 1
        assert len({option.text for option in check.options}) == len(check.options)
        assert all(option.why for option in check.options)


@pytest.mark.parametrize("name", BANK)
def test_there_is_a_harder_question_for_a_good_answer_and_a_basic_one_for_a_poor_one(name: str) -> None:
    item, conditions = BANK[name], [follow_up.ask_when for follow_up in BANK[name].follow_ups]
    assert any(len(when.met) >= 2 and not when.missed for when in conditions)
    assert any(not when.met and when.missed for when in conditions)
    assert all({*when.met, *when.missed} <= set(item.components) for when in conditions)


@pytest.mark.slow
def test_lint_finds_nothing(real_grader: Grader) -> None:
    assert [str(problem) for problem in lint([default_rubrics()], real_grader)] == []
