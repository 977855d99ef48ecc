from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader import Grader, InputError, Item
from grader.calibration import Calibration, Calibrator
from grader.encoder import HashEncoder
from grader.lifecycle import Shelf, compare, compare_scores
from grader.referral import Policy

ITEM = Item.from_reference(
    "Why does bread rise?", "Yeast gives off gas that is caught in the dough.", max_score=4, step=0.5
)
TEXTS = [
    "Yeast makes gas and the dough holds it.",
    "The dough traps gas of yeast.",
    "Because of yeast.",
    "There is yeast inside.",
    "The oven pulls it up.",
    "Salt lifts the crust.",
]
RESPONSES = [f"{text} {extra}" for extra in ("", "I think.", "Simply put.") for text in TEXTS]
KIND, STRICT = [4.0, 4.0, 3.0, 3.0, 1.0, 0.0] * 3, [3.0, 3.0, 1.0, 1.0, 0.0, 0.5] * 3


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(HashEncoder())


@pytest.fixture(scope="module")
def kind(grader: Grader) -> Calibration:
    return Calibrator(grader, Policy(risk=0.3)).fit(ITEM, RESPONSES, KIND)


@pytest.fixture(scope="module")
def strict(grader: Grader) -> Calibration:
    return Calibrator(grader, Policy(risk=0.3)).fit(ITEM, RESPONSES, STRICT)


def test_changes_are_those_of_the_marks_largest_first(grader: Grader, kind: Calibration, strict: Calibration) -> None:
    found = compare(grader, ITEM, RESPONSES, kind, strict)
    old = [score.score for score in grader.grade_many(ITEM, RESPONSES, calibration=kind)]
    new = [score.score for score in grader.grade_many(ITEM, RESPONSES, calibration=strict)]
    assert {change.row for change in found.changes} == {row for row in range(len(old)) if old[row] != new[row]}
    assert all((change.before, change.after) == (old[change.row], new[change.row]) for change in found.changes)
    sizes = [abs(change.difference) for change in found.changes]
    assert sizes == sorted(sizes, reverse=True)
    assert found.mean_change < -0.5
    assert (found.before, found.after) == (kind.name, strict.name)
    assert found.summary().startswith(f"{len(found.changes)} of {len(RESPONSES)} marks change")
    assert json.loads(json.dumps(found.to_dict()))["total"] == len(RESPONSES)


def test_a_calibration_changes_nothing_against_itself(grader: Grader, kind: Calibration) -> None:
    found = compare(grader, ITEM, RESPONSES, kind, kind)
    assert (found.changes, found.mean_change, found.newly_referred) == ((), 0.0, ())
    assert found.summary() == f"None of {len(RESPONSES)} marks changes."


def test_answers_without_a_mark_are_no_difference(grader: Grader, kind: Calibration) -> None:
    found = compare(grader, ITEM, ["Хлеб поднимается из-за дрожжей и газа в тесте.", TEXTS[4]], None, kind)
    assert found.before == "none"
    assert all(change.row == 1 for change in found.changes)


def test_scores_of_other_answers_are_refused(grader: Grader) -> None:
    scores = grader.grade_many(ITEM, TEXTS)
    with pytest.raises(InputError, match="6 scores before but 5 after"):
        compare_scores(scores, scores[:-1], before="none", after="none")


def test_referrals_are_compared(grader: Grader, kind: Calibration) -> None:
    strict_policy = Calibrator(grader, Policy(risk=0.0001)).fit(ITEM, RESPONSES, KIND)
    found = compare(grader, ITEM, RESPONSES, kind, strict_policy)
    assert found.newly_referred
    assert not found.no_longer_referred
    assert "newly referred" in found.summary()
    back = compare(grader, ITEM, RESPONSES, strict_policy, kind)
    assert back.no_longer_referred == found.newly_referred


def test_promote_and_roll_back(tmp_path: Path, kind: Calibration, strict: Calibration) -> None:
    shelf = Shelf(tmp_path / "new")
    assert shelf.all() == []
    assert shelf.promoted(ITEM.id) is None
    for calibration in (kind, strict):
        calibration.save(shelf.folder)
    assert {calibration.name for calibration in shelf.all()} == {kind.name, strict.name}
    assert shelf.promote(kind.name[:8]).name == kind.name
    shelf.promote(strict.name)
    promoted = Shelf(shelf.folder).promoted(ITEM.id)
    assert promoted is not None
    assert promoted.name == strict.name
    assert list(shelf.in_force()) == [ITEM.id]
    before = shelf.roll_back(ITEM.id)
    assert before is not None
    assert before.name == kind.name
    assert shelf.roll_back(ITEM.id) is None
    assert shelf.promoted(ITEM.id) is None
    with pytest.raises(InputError, match="nothing to roll back"):
        shelf.roll_back(ITEM.id)
    assert sorted(path.suffix for path in shelf.folder.iterdir()) == [".json", ".npz", ".npz"]


def test_what_a_shelf_refuses(tmp_path: Path, kind: Calibration, strict: Calibration) -> None:
    shelf = Shelf(tmp_path)
    with pytest.raises(InputError, match="no calibration 'abc'; there are: none"):
        shelf.open("abc")
    kind.save(tmp_path)
    strict.save(tmp_path)
    with pytest.raises(InputError, match="no calibration ''"):
        shelf.open("")
    shelf.promote(kind.name)
    with pytest.raises(InputError, match="in force for 'ad-hoc' already"):
        shelf.promote(kind.name)
    (tmp_path / f"{kind.name}.npz").write_bytes(b"broken")
    with pytest.raises(InputError, match="damaged"):
        shelf.promoted(ITEM.id)
    (tmp_path / "promoted.json").write_text("[1]")
    with pytest.raises(InputError, match="not a list of promoted calibrations"):
        shelf.history(ITEM.id)
