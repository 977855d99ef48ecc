"""Items: scale, limits, hash, and the contradictions between fields that no single field shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from grader import Item
from grader.rubric import Keywords, Scale

Content = dict[str, Any]


def set_at(content: Content, path: str, value: Any) -> None:
    node: Any = content
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    for part in parents:
        node = node[part]
    if value is ...:
        del node[last]
    else:
        node[last] = value


@given(st.floats(-10, 20), st.sampled_from([(5, 0.5), (10, 1), (3, 3), (1, 0.25), (100, 0.1)]))
def test_rounding_gives_the_nearest_score_point(raw: float, scale: tuple[float, float]) -> None:
    item_scale = Scale(max=scale[0], step=scale[1])
    score = item_scale.round(raw)
    assert score in item_scale.points
    inside = min(max(raw, 0), item_scale.max)
    assert abs(score - inside) <= item_scale.step / 2 + 1e-6


@pytest.mark.parametrize(
    ("raw", "score"),
    [(2.2499999, 2.5), (2.25, 2.5), (2.249, 2.0), (2.74, 2.5), (2.75, 3.0), (-1, 0.0), (9, 5.0), (4.75, 5.0), (0, 0.0)],
)
def test_halves_go_up_and_the_last_digits_never_decide(raw: float, score: float) -> None:
    assert Scale(max=5, step=0.5).round(raw) == score


def test_points_of_a_scale() -> None:
    assert Scale(max=1, step=0.25).points == (0, 0.25, 0.5, 0.75, 1)
    assert len(Scale(max=5, step=0.5).points) == 11


def test_limits_are_shares_of_the_scale_unless_given(make_item: Callable[..., Item]) -> None:
    item = make_item()
    assert (item.honest_credit, item.error_deduction, item.keyword_list_cap) == (0.75, 1.0, 0.5)
    item = make_item(limits={"honest_credit": 0, "error_deduction": 2, "keyword_list_cap": 0})
    assert (item.honest_credit, item.error_deduction, item.keyword_list_cap) == (0, 2, 0)


def test_the_number_of_groups_needed() -> None:
    groups = [["a"], ["b"], {"any": ["c"], "match": "exact"}]
    assert Keywords.model_validate({"groups": groups}).needed == 1
    assert Keywords.model_validate({"need": "all", "groups": groups}).needed == 3
    assert Keywords.model_validate({"need": 2, "groups": groups}).needed == 2


def test_the_hash_follows_the_content_and_nothing_else(make_item: Callable[..., Item], content: Content) -> None:
    reordered = Item.model_validate(dict(reversed(content.items())))
    spaced = Item.model_validate(content | {"prompt": f"  {content['prompt']} \n"})
    spelled_out = Item.model_validate(content | {"version": 1, "language": "en", "tags": []})
    assert {item.content_hash for item in (make_item(), reordered, spaced, spelled_out)} == {make_item().content_hash}
    assert len(make_item().content_hash) == 64


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 2),
        ("prompt", "What are tides?"),
        ("find_out", []),
        ("components/reason/hint", "Look up."),
        ("components/definition/elements/0/key_statements/0", "The sea rises and falls."),
        ("misconceptions/1/cap", 1.5),
    ],
)
def test_every_change_of_content_changes_the_hash(content: Content, tides: Item, path: str, value: Any) -> None:
    set_at(content, path, value)
    assert Item.model_validate(content).content_hash != tides.content_hash


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("components/reason/weight", 2, "weights sum to 5.5, must sum to scale.max 5"),
        ("components/reason/weight", -1, "greater than or equal to 0"),
        ("components/reason/weight", float("nan"), "finite"),
        ("components/definition/elements/0/weight", float("inf"), "finite"),
        ("components/reason/n", ..., "rule at_least needs n"),
        ("components/reason/n", 3, "n is 3 but there are only 2 elements"),
        ("components/definition/n", 1, "n is only allowed with rule at_least"),
        ("components/example_or_pitfall/rule", "in_order", "in_order needs at least two elements"),
        ("components/definition/elements/1/id", "twice-a-day", "occurs twice in one component"),
        ("components/definition/elements/0/key_statements/1", "the level of the sea rises and falls about twice a day.",
         "the same key statement occurs twice"),
        ("components/definition/elements/0/keywords/need", 3, "needs 3 groups but only 2 are given"),
        ("components/definition/elements/0/keywords/groups/0/0", " ", "at least 1 character"),
        ("components/definition/elements/0/key_statements", [], "at least 1 item"),
        ("misconceptions/1/id", "wind", "id 'wind' occurs twice"),
        ("misconceptions/0/refutes", ["reasons"], "no component 'reasons' in this item"),
        ("misconceptions/1/penalty", 1, "give either penalty or cap, not both"),
        ("misconceptions/1/cap", 6, "6 is more than scale.max 5"),
        ("follow_ups/0/ask_when/met/0", "why", "no component 'why' in this item"),
        ("follow_ups/1/id", "no-moon", "id 'no-moon' occurs twice"),
        ("quick_checks/0/options/1/correct", True, "exactly one option must be correct, found 2"),
        ("quick_checks/0/options/0/correct", False, "exactly one option must be correct, found 0"),
        ("quick_checks/0/options/1/text", "Twice a day", "the same option occurs twice"),
        ("scale", {"max": 5, "step": 0.3}, "max 5 is not a multiple of step 0.3"),
        ("scale", {"max": 5, "step": 0.0001}, "50000 score points, at most 10000 are allowed"),
        ("scale", {"max": 5, "step": 20}, "not a multiple"),
        ("scale", {"max": 5000}, "less than or equal to 1000"),
        ("limits", {"honest_credit": 7}, "7 is more than scale.max 5"),
        ("language", "english", "pattern"),
        ("id", "Tides!", "pattern"),
        ("colour", "blue", "Extra inputs are not permitted"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(content: Content, path: str, value: Any, message: str) -> None:
    set_at(content, path, value)
    with pytest.raises(ValidationError, match=message.replace("(", r"\(")):
        Item.model_validate(content)


def test_all_contradictions_are_told_at_once(content: Content) -> None:
    content["misconceptions"][0]["refutes"] = ["reasons"]
    content["scale"] = {"max": 5, "step": 0.3}
    with pytest.raises(ValidationError, match=r"multiple of step.*no component 'reasons'"):
        Item.model_validate(content)


def test_an_item_may_drop_a_component_or_add_its_own(content: Content) -> None:
    reason = content["components"].pop("reason")
    content["components"]["sketch"] = reason
    content["misconceptions"], content["follow_ups"] = [], []
    assert list(Item.model_validate(content).components) == ["definition", "example_or_pitfall", "sketch"]


def test_an_item_that_is_only_a_model_answer() -> None:
    item = Item.from_reference("Why?", ["Because.", " ", "because. ", "For a reason."], max_score=4)
    wordings = item.components["answer"].elements[0].key_statements
    assert [wording.casefold() for wording in wordings] == ["because.", "for a reason."], "no blanks, none twice"
    assert (item.scale.max, item.scale.step) == (4, 0.4)
    assert Item.from_reference("Why?", "So.", max_score=1, step=1).scale.points == (0, 1)
    with pytest.raises(ValidationError):
        Item.from_reference("Why?", ["  "])
    with pytest.raises(ValidationError):
        Item.from_reference("Why?", "So.", max_score=0)


def test_items_are_frozen(tides: Item) -> None:
    with pytest.raises(ValidationError):
        tides.prompt = "?"  # type: ignore[misc]
