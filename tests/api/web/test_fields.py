"""The form of a rubric: what it shows of the YAML, and one changed field back into it."""

from __future__ import annotations

import pytest

from api.problems import Problem
from api.web.fields import changed, groups_of
from api.web.routes.rubrics import yaml_of
from grader.bank import default_rubrics, load_item, parse_item
from grader.errors import RubricError

TEXT = """\
# written by hand
id: caching
prompt: What does a cache do?
scale: {max: 5, step: 0.5}
reference_answer: It keeps results.
components:
  definition:  # the core
    weight: 3
    elements:
      - id: keeps
        key_statements: [It keeps results., It stores results.]
  reason:
    weight: 2
    hint: Think of time.
    elements:
      - id: saves
        key_statements:
          - Computing again takes long.
misconceptions:
  - id: ram
    statements: [It is main memory.]
    feedback: A cache is no main memory.
"""


def fields(text):
    return {field.path: field.value for group in groups_of(text) for field in group.fields}


def test_the_form_shows_what_the_yaml_holds():
    found = fields(TEXT)
    assert found["prompt"] == "What does a cache do?"
    assert found["scale/step"] == "0.5"
    assert found["components/definition/elements/0/key_statements"] == "It keeps results.\nIt stores results."
    assert found["components/definition/hint"] == ""
    assert found["misconceptions/0/feedback"] == "A cache is no main memory."
    assert [(group.kind, group.name) for group in groups_of(TEXT)] == [
        ("question", ""),
        ("component", "definition"),
        ("component", "reason"),
        ("misconception", "ram"),
    ]


@pytest.mark.parametrize(
    ("path", "value", "holds"),
    [
        ("components/definition/weight", "2,5", "2.5"),
        ("components/definition/weight", "4", "4"),
        ("components/definition/hint", " Think of\n a cupboard. ", "Think of a cupboard."),
        ("components/reason/hint", "", ""),
        ("components/reason/elements/0/key_statements", "One.\n\n  Two: three.  \n", "One.\nTwo: three."),
        ("misconceptions/0/statements", "It is # main memory.", "It is # main memory."),
        ("reference_answer", "First line.\nSecond line.", "First line.\nSecond line."),
        ("prompt", "Why?", "Why?"),
        ("scale/max", "6", "6"),
    ],
)
def test_one_field_changes_and_nothing_else(path, value, holds):
    after = changed(TEXT, path, value)
    assert fields(after) == {**fields(TEXT), path: holds}
    assert "# written by hand" in after
    assert "# the core" in after


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("id", "other", "no field"),
        ("components/definition/elements/0/id", "x", "no field"),
        ("components/style/weight", "1", "the rubric has no"),
        ("components/definition/elements/7/key_statements", "x", "the rubric has no"),
        ("components/definition/weight", "much", "is no number"),
        ("components/definition/weight", "nan", "allowed"),
        ("components/definition/weight", "1e400", "allowed"),
        ("components/definition/elements/0/key_statements", " \n ", "is empty"),
        ("../../etc", "x", "no field"),
    ],
)
def test_what_does_not_fit_is_refused(path, value, said):
    with pytest.raises(Problem, match=said):
        changed(TEXT, path, value)


@pytest.mark.parametrize("text", ["a: [", "- 1", "a: &x 1\nb: *x", ""])
def test_what_is_no_rubric_is_told(text):
    with pytest.raises(RubricError):
        groups_of(text)


@pytest.mark.parametrize(
    "text", ["prompt: 3\ncomponents: 4", "components: [1, 2]\nmisconceptions: {a: 1}", "scale: no"]
)
def test_odd_shapes_have_no_fields_and_no_error(text):
    assert all(group.kind == "question" for group in groups_of(text))


def test_every_field_of_a_real_rubric_can_be_written_back():
    item = load_item(default_rubrics() / "pytorch" / "zero-grad.yaml")
    text = yaml_of(item)
    for path, value in fields(text).items():
        text = changed(text, path, value)
    assert parse_item(text).model_copy(update={"version": item.version}) == item
