"""The form of a rubric: what it shows of the YAML, and one changed field back into it."""

from __future__ import annotations

import pytest

from api.problems import Problem
from api.web.fields import changed, fields_of, merged, parts_of
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
        keywords:
          need: 2
          groups: [[keep, store], {any: [get(), put()], match: exact}]
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
follow_ups:
  - id: full
    question: What if it is full?
    ask_when: {met: [definition, reason]}
    reference_answer: The oldest goes.
    elements:
      - id: oldest
        key_statements: [The oldest goes.]
"""


def fields(text):
    return {field.path: field.value for field in fields_of(text)}


def test_the_form_shows_what_the_yaml_holds():
    found = fields(TEXT)
    assert found["prompt"] == "What does a cache do?"
    assert found["scale/step"] == "0.5"
    assert found["components/definition/elements/0/key_statements"] == "It keeps results.\nIt stores results."
    assert found["components/definition/hint"] == ""
    assert found["misconceptions/0/feedback"] == "A cache is no main memory."
    assert [(part.kind, part.name) for part in parts_of(TEXT)] == [
        ("question", ""),
        ("component", "definition"),
        ("component", "reason"),
        ("misconception", "ram"),
        ("follow_up", "full"),
    ]
    assert [(part.name, [one.name for one in part.elements], part.adds) for part in parts_of(TEXT)[1:3]] == [
        ("definition", ["keeps"], "components/definition/elements"),
        ("reason", ["saves"], "components/reason/elements"),
    ]
    assert found["components/definition/elements/0/keywords/groups"] == "keep | store\nexact: get() | put()"
    assert found["components/definition/elements/0/keywords/need"] == "2"
    assert found["components/reason/elements/0/keywords/groups"] == ""
    assert "components/reason/elements/0/keywords/need" not in found
    assert found["follow_ups/0/ask_when/met"] == "definition, reason"
    assert found["follow_ups/0/elements/0/key_statements"] == "The oldest goes."


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
        ("components/definition/elements/0/id", "holds", "holds"),
        ("components/definition/elements/0/weight", "2", "2"),
        ("components/definition/rule", "in_order", "in_order"),
        (
            "components/definition/elements/0/keywords/groups",
            "hold|keep \n phrase: at hand",
            "hold | keep\nphrase: at hand",
        ),
        ("components/definition/elements/0/keywords/need", "all", "all"),
        ("components/reason/elements/0/keywords/groups", "time", "time"),
        ("misconceptions/0/refutes", "definition , reason", "definition, reason"),
        ("misconceptions/0/penalty", "0,5", "0.5"),
        ("follow_ups/0/ask_when/missed", "reason", "reason"),
        ("follow_ups/0/ask_when/met", "", ""),
        ("follow_ups/0/elements/0/key_statements", "The oldest goes.\nLRU.", "The oldest goes.\nLRU."),
        ("scale/max", "6", "6"),
    ],
)
def test_one_field_changes_and_nothing_else(path, value, holds):
    after = changed(TEXT, {path: value})
    made = (
        {"components/reason/elements/0/keywords/need": ""} if path.endswith("reason/elements/0/keywords/groups") else {}
    )
    assert fields(after) == {**fields(TEXT), path: holds, **made}
    assert "# written by hand" in after
    assert "# the core" in after


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("id", "other", "no field"),
        ("components/definition/elements/0/keywords/match", "x", "no field"),
        ("components/definition/rule", "most", "allowed: required, at_least, in_order"),
        ("components/definition/elements/0/keywords/groups", "keep\nexact:", "is empty"),
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
        changed(TEXT, {path: value})


@pytest.mark.parametrize("text", ["a: [", "- 1", "a: &x 1\nb: *x", ""])
def test_what_is_no_rubric_is_told(text):
    with pytest.raises(RubricError):
        parts_of(text)


@pytest.mark.parametrize(
    "text", ["prompt: 3\ncomponents: 4", "components: [1, 2]\nmisconceptions: {a: 1}", "scale: no"]
)
def test_odd_shapes_have_no_fields_and_no_error(text):
    assert all(part.kind == "question" for part in parts_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "components: {a: {elements: [{id: x, keywords: 3, key_statements: {b: 1}}]}}",
        "components: {a: {elements: [{id: x, keywords: {groups: [3, [a | b]]}}]}}",
        "follow_ups: [{id: x, ask_when: [], question: [1]}]",
    ],
)
def test_what_a_field_cannot_hold_is_left_to_the_yaml(text):
    assert {path.rpartition("/")[2] for path in fields(text)} <= {"id", "weight", "hint", "rule", "n", "need"}


def test_emptied_options_leave_the_yaml():
    after = changed(TEXT, {"components/definition/elements/0/keywords/groups": " "})
    assert "keywords" not in after
    assert "ask_when" not in changed(TEXT, {"follow_ups/0/ask_when/met": ""})
    assert "need: 3" not in changed(TEXT, {"components/reason/elements/0/keywords/need": "3"})


@pytest.mark.parametrize("path", ["pytorch/zero-grad.yaml", "pytorch/autograd.yaml", "statistics/p-value.yaml"])
def test_every_field_of_a_real_rubric_can_be_written_back(path):
    item = load_item(default_rubrics() / path)
    text = yaml_of(item)
    found = fields(text)
    assert sum(name.endswith("keywords/groups") and bool(value) for name, value in found.items()) >= 3
    assert sum(name.startswith("follow_ups/") for name in found) >= 5
    assert parse_item(changed(text, found)).model_copy(update={"version": item.version}) == item


def test_a_form_sent_without_a_script_changes_only_what_was_changed_in_it():
    edited = TEXT.replace("What does a cache do?", "What is a cache for?").replace("weight: 3", "weight: 2")
    sent = {**fields(TEXT), "components/definition/weight": "2.5", "misconceptions/0/feedback": "No.\n", "csrf": "x"}
    after = merged(edited, TEXT, sent)
    assert fields(after) == {
        **fields(edited),
        "components/definition/weight": "2.5",
        "misconceptions/0/feedback": "No.",
    }
    assert merged(edited, TEXT, fields(TEXT)) == edited
    with pytest.raises(Problem, match="is no number"):
        merged(edited, TEXT, {"scale/max": "five"})
