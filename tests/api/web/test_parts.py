"""Parts of a rubric are added and removed; everything else stays as it was written."""

from __future__ import annotations

import pytest

from api.problems import Problem
from api.web.fields import changed, fields_of
from api.web.parts import added, removed
from api.web.routes.rubrics import _NEW
from grader.bank import parse_item

TEXT = _NEW.replace("components:", "# the heart of it\ncomponents:")


def ids(text):
    item = parse_item(text)
    return {name: [one.id for one in part.elements] for name, part in item.components.items()}


def test_an_element_is_added_filled_and_removed():
    text, place = added(TEXT, "components/reason/elements")
    assert place == "components/reason/elements/1"
    assert {one.path: one.value for one in fields_of(text)}[f"{place}/key_statements"] == ""
    text = changed(
        text, {f"{place}/key_statements": "Since it costs less.", f"{place}/keywords/groups": "cost | cheap"}
    )
    assert ids(text)["reason"] == ["why", "idea-1"]
    assert "# the heart of it" in text
    assert ids(removed(text, "components/reason/elements/0"))["reason"] == ["idea-1"]
    assert parse_item(removed(text, place)) == parse_item(TEXT)


def test_new_ids_are_free():
    once, _ = added(TEXT, "components/reason/elements")
    twice, place = added(once, "components/reason/elements")
    assert place == "components/reason/elements/2"
    assert {"idea-1", "idea-2"} <= {one.value for one in fields_of(twice)}


def test_a_component_is_added_and_removed():
    text, place = added(TEXT, "components", " style ")
    assert place == "components/style"
    text = changed(text, {f"{place}/elements/0/key_statements": "Said in a sentence."})
    assert list(ids(text)) == ["definition", "reason", "example_or_pitfall", "style"]
    assert parse_item(text).components["style"].weight == 0
    assert parse_item(removed(text, place)) == parse_item(TEXT)


def test_misconceptions_and_follow_ups():
    text, place = added(TEXT, "misconceptions")
    assert place == "misconceptions/0"
    text = changed(text, {f"{place}/statements": "It is free.\nIt costs nothing.", f"{place}/feedback": "It is not."})
    text = changed(text, {f"{place}/refutes": "reason", f"{place}/penalty": "1"})
    assert parse_item(text).misconceptions[0].refutes == ("reason",)
    text, place = added(text, "follow_ups")
    answer = {f"{place}/question": "And then?", f"{place}/reference_answer": "Then it ends."}
    text = changed(text, {**answer, f"{place}/elements/0/key_statements": "It ends."})
    text, inner = added(text, f"{place}/elements")
    text = changed(text, {f"{inner}/key_statements": "It stops."})
    assert [one.id for one in parse_item(text).follow_ups[0].elements] == ["idea-1", "idea-2"]
    text = removed(removed(text, "follow_ups/0"), "misconceptions/0")
    assert parse_item(text) == parse_item(TEXT)
    assert removed(TEXT.replace("misconceptions: []", "misconceptions: [{id: x}]"), "misconceptions/0")


@pytest.mark.parametrize(
    ("path", "name", "said"),
    [
        ("components", "", "is no new name"),
        ("components", "reason", "is no new name"),
        ("components", "Über", "is no new name"),
        ("components/style/elements", "", "the rubric has no"),
        ("scale", "", "nothing can be added"),
        ("components/reason/elements/0/keywords", "", "nothing can be added"),
    ],
)
def test_what_cannot_be_added_is_told(path, name, said):
    with pytest.raises(Problem, match=said):
        added(TEXT, path, name)


@pytest.mark.parametrize("path", ["prompt", "scale", "components", "components/style", "components/reason/elements/4"])
def test_what_cannot_be_removed_is_told(path):
    with pytest.raises(Problem):
        removed(TEXT, path)


@pytest.mark.parametrize("text", ["components: 3", "misconceptions: 3\nfollow_ups: {a: 1}"])
def test_odd_shapes_are_told(text):
    path = "components" if text.startswith("components") else "misconceptions"
    with pytest.raises(Problem, match="correct the YAML first"):
        added(text, path, "style")
