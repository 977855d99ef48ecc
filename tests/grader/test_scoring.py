"""The marking guide's arithmetic: component rules, weights, one deduction, honest credit, caps and rounding."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import Item, ModelError
from grader.evidence.features import CONSTANTS, FEATURES
from grader.rubric import Component
from grader.scoring import Mark, component_credit, load_prior, mark, status

POINTS = {"definition": 2.4, "reason": 1.5, "example_or_pitfall": 1.1}


def component(rule: str, weights: Sequence[float], n: int | None = None) -> Component:
    elements = [{"id": f"e{i}", "weight": w, "key_statements": [f"Idea {i}."]} for i, w in enumerate(weights)]
    return Component.model_validate({"weight": 1, "rule": rule, "n": n, "elements": elements})


@pytest.mark.parametrize(
    ("rule", "n", "weights", "credits", "expected"),
    [
        ("required", None, [1], [0.7], 0.7),
        ("required", None, [1, 1], [1, 0], 0.5),
        ("required", None, [2, 1], [1, 0], 2 / 3),
        ("required", None, [2, 1], [0, 1], 1 / 3),
        ("at_least", 1, [1, 1, 1], [0, 0.8, 0.3], 0.8),
        ("at_least", 2, [1, 1, 1], [0, 0.8, 0.3], 0.55),
        ("at_least", 2, [1, 1, 1], [1, 1, 1], 1),
        ("at_least", 3, [1, 1, 1], [1, 1, 0], 2 / 3),
    ],
)
def test_component_rules(rule: str, n: int | None, weights: list[float], credits: list[float], expected: float) -> None:
    places = list(range(len(credits)))
    assert component_credit(component(rule, weights, n), credits, places) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([0, 1, 2], 1),
        ([0, 0, 0], 1),
        ([0, 2, 1], 5 / 6),
        ([2, 1, 0], 2 / 3),
        ([2, 0, 1], 5 / 6),
        ([0, 2, 2], 1),
    ],
)
def test_elements_out_of_order_earn_half(places: list[int], expected: float) -> None:
    assert component_credit(component("in_order", [1, 1, 1]), [1, 1, 1], places) == pytest.approx(expected)


def test_a_missing_element_is_not_out_of_order() -> None:
    rule = component("in_order", [1, 1, 1])
    assert component_credit(rule, [1, 0, 1], [0, None, 1]) == pytest.approx(2 / 3)
    assert component_credit(rule, [0, 0, 0], [None, None, None]) == 0


@given(
    st.sampled_from(["required", "at_least", "in_order"]),
    st.lists(st.tuples(st.floats(0.1, 5), st.floats(0, 1), st.integers(0, 5)), min_size=2, max_size=5),
    st.data(),
)
def test_a_component_credit_lies_within_0_and_1_and_grows_with_its_elements(
    rule: str, elements: list[tuple[float, float, int]], data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, len(elements))) if rule == "at_least" else None
    made = component(rule, [weight for weight, _, _ in elements], n)
    places = [place for *_, place in elements]
    credits = [credit for _, credit, _ in elements]
    before = component_credit(made, credits, places)
    at = data.draw(st.integers(0, len(elements) - 1))
    credits[at] = data.draw(st.floats(credits[at], 1))
    assert -1e-9 <= before <= component_credit(made, credits, places) + 1e-9 <= 1 + 2e-9


@pytest.mark.parametrize(("credit", "expected"), [(1, "present"), (0.65, "present"), (0.64, "partial"),
                                                  (0.3, "partial"), (0.29, "missing"), (0, "missing")])  # fmt: skip
def test_status(credit: float, expected: str) -> None:
    assert status(credit) == expected


def steps(found: Mark) -> dict[str, float]:
    return {step.label: step.points for step in found.steps}


def test_full_marks_need_no_further_lines(tides: Item) -> None:
    found = mark(tides, POINTS)
    assert found.raw == 5
    assert steps(found) == POINTS
    assert found.rounded(tides.scale) == (5, found.steps)


def test_one_deduction_for_error_and_never_below_zero(tides: Item) -> None:
    assert steps(mark(tides, POINTS, error_deduction=1))["error_deduction"] == -1
    found = mark(tides, {"definition": 0.4, "reason": 0}, error_deduction=1)
    assert found.raw == 0
    assert steps(found)["error_deduction"] == -0.4
    assert "error_deduction" not in steps(mark(tides, {"definition": 0}, error_deduction=1)), "nothing left to take"


def test_right_definition_wrong_reason(tides: Item) -> None:
    """The guide's own example: definition 1, reason 0, error 1 gives 2.4 - 1.0 = 1.4, so 1.5."""
    score, _ = mark(tides, {"definition": 2.4, "reason": 0}, error_deduction=1).rounded(tides.scale)
    assert score == 1.5


def test_the_honest_credit_lifts_but_never_adds(tides: Item) -> None:
    found = mark(tides, {"definition": 0}, honest=True)
    assert steps(found) == {"definition": 0, "honest_credit": 0.75}
    assert found.rounded(tides.scale)[0] == 1.0
    assert steps(mark(tides, {"definition": 0.5}, honest=True))["honest_credit"] == 0.25
    assert "honest_credit" not in steps(mark(tides, {"definition": 0.8}, honest=True))


def test_caps_apply_after_the_deduction_and_the_lowest_wins(tides: Item) -> None:
    found = mark(tides, POINTS, error_deduction=1, caps={"keyword_list": 0.5, "misconception:x": 3.0})
    assert found.raw == 0.5
    assert steps(found)["cap:keyword_list"] == -3.5
    assert "cap:misconception:x" not in steps(found)
    assert not [
        label for label in steps(mark(tides, {"definition": 0.3}, caps={"keyword_list": 0.5})) if "cap" in label
    ]


def test_an_item_may_set_its_own_rules(make_item: Callable[..., Item]) -> None:
    item = make_item(limits={"honest_credit": 0})
    assert steps(mark(item, {"definition": 0}, honest=True)) == {"definition": 0}


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.sampled_from([0.0, 0.5, 1.0, 5.0]),
    st.dictionaries(st.sampled_from(["keyword_list", "misconception:a"]), st.sampled_from([0.0, 0.33, 1.0, 5.0])),
    st.booleans(),
    st.one_of(st.none(), st.floats(0, 5)),
)
def test_the_shown_parts_sum_to_the_mark(
    tides: Item,
    credits: list[float],
    deduction: float,
    caps: dict[str, float],
    honest: bool,
    calibrated: float | None,
) -> None:
    points = {name: round(weight * c, 2) for (name, weight), c in zip(POINTS.items(), credits, strict=True)}
    found = mark(tides, points, error_deduction=deduction, caps=caps, honest=honest)
    assert sum(step.points for step in found.steps) == pytest.approx(found.raw, abs=1e-9)
    assert 0 <= found.raw <= 5
    if calibrated is not None:
        found = found.corrected(calibrated)
    score, lines = found.rounded(tides.scale)
    assert sum(line.points for line in lines) == pytest.approx(score, abs=1e-9)
    assert score in tides.scale.points
    assert len({line.label for line in lines}) == len(lines)


def test_more_evidence_never_lowers_a_credit() -> None:
    """Every feature that can grow when a statement is added has a weight of at least 0 in the shipped prior."""
    prior = load_prior()
    growing = [at for at, name in enumerate(FEATURES) if name not in CONSTANTS]
    for curve in (prior.rubric, prior.reference):
        assert (curve.weights[growing] >= 0).all()


@given(st.lists(st.floats(0, 1, width=32), min_size=len(FEATURES), max_size=len(FEATURES)))
def test_credits_lie_within_0_and_1(row: list[float]) -> None:
    found = load_prior().credits(np.array([row], dtype=np.float32))
    assert found.shape == (1,)
    assert 0 <= found[0] <= 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": "1"}', '{"version": "1", "rubric": {}, "reference": 3}'])
def test_what_is_no_prior_is_a_model_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prior.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ModelError, match=r"prior\.json is not a prior"):
        load_prior(path)
    with pytest.raises(ModelError):
        load_prior(tmp_path / "missing.json")


def test_the_version_of_a_prior_follows_its_content(tmp_path: Path) -> None:
    shipped = load_prior()
    curve = {"weights": dict.fromkeys(FEATURES, 0.5), "bias": 0, "stretch": 0.1}
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"version": "9", "rubric": curve, "reference": curve}), "utf-8")
    assert load_prior(path).version.startswith("9@")
    assert load_prior(path).version != shipped.version
