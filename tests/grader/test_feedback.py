"""Feedback: what is there, what is wrong, what is missing in the guidance's order, and never the key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from grader import Grader, Item
from grader.feedback import ADVICE, CONDITIONS, build_feedback, next_follow_up, render_text
from grader.score import ComponentScore, ConditionCode, ElementScore, ErrorFound, Evidence, Status

SAID = "The sea goes up and down."


def component(name: str, status: Status, quote: str = "") -> ComponentScore:
    evidence = Evidence(start=0, end=len(quote), text=quote, element="e", key_statement=None, similarity=1)
    elements = (ElementScore(id="e", credit=0.5, evidence=evidence if quote else None), ElementScore(id="f", credit=1))
    return ComponentScore(name=name, weight=1, credit=0.5, points=0.5, status=status, elements=elements)


ALL: tuple[ComponentScore, ...] = (
    component("definition", "present", SAID),
    component("reason", "partial", "the moon"),
    component("example_or_pitfall", "missing"),
)
WRONG = ErrorFound(kind="misconception", id="wind", start=0, end=4, text="Wind", refutes=("reason",), explanation="No.")


def test_present_partial_and_missing(tides: Item) -> None:
    feedback = build_feedback(tides, ALL, [], None, 3.0)
    assert [(entry.component, entry.quote, entry.text) for entry in feedback.present] == [
        ("definition", SAID, "You say what they are."),
        ("reason", "the moon", "This counts for part of it."),
    ]
    assert feedback.missing[0].text == "You are close, but this is not complete yet."
    assert [entry.component for entry in feedback.missing] == ["reason", "example_or_pitfall"]
    assert feedback.missing[1].text.startswith(ADVICE["example_or_pitfall"])
    assert feedback.summary == "3 of 5 points; there: definition; incomplete: reason; missing: example or pitfall."


def test_nothing_said_gets_the_guidance_in_its_order_and_hints(tides: Item) -> None:
    nothing = [component(name, "missing") for name in tides.components]
    feedback = build_feedback(tides, nothing, [], "blank", 0.0)
    assert [entry.component for entry in feedback.missing] == ["definition", "reason", "example_or_pitfall"]
    assert feedback.missing[0].hint == "Sit down at the shore with a watch."
    assert feedback.missing[0].text.endswith("Say what one sees on a beach.")
    assert feedback.present == ()
    assert feedback.next_question is None


def test_errors_are_named_with_their_reason(tides: Item) -> None:
    feedback = build_feedback(tides, ALL, [WRONG], None, 2.0)
    assert [(entry.component, entry.quote, entry.text) for entry in feedback.wrong] == [("reason", "Wind", "No.")]
    assert feedback.summary.endswith("one statement is wrong.")
    assert build_feedback(tides, ALL, [WRONG, WRONG], None, 2.0).summary.endswith("some statements are wrong.")


@pytest.mark.parametrize("condition", list(CONDITIONS))
def test_every_condition_has_its_own_words(tides: Item, condition: ConditionCode) -> None:
    feedback = build_feedback(tides, [], [], condition, None)
    assert feedback.condition == CONDITIONS[condition]
    assert feedback.summary == "No mark yet: a person has to look at this answer."
    assert len(set(CONDITIONS.values())) == len(CONDITIONS)


@pytest.mark.parametrize(
    ("states", "asked", "expected"),
    [
        (("present", "present", "missing"), (), "no-moon"),
        (("present", "present", "missing"), ("no-moon",), None),
        (("present", "missing", "missing"), (), "who-pulls"),
        (("missing", "partial", "missing"), (), "who-pulls"),
    ],
)
def test_the_next_question(tides: Item, states: Sequence[Status], asked: tuple[str, ...], expected: str | None) -> None:
    components = [component(name, state) for name, state in zip(tides.components, states, strict=True)]
    found = next_follow_up(tides, components, frozenset(asked))
    assert (found.id if found else None) == expected


def test_an_added_component_is_named_by_its_words(tides: Item) -> None:
    item = Item.from_reference("Why?", "Because.")
    assert "missing: answer" in build_feedback(item, [component("answer", "missing")], [], None, 0.0).summary


def test_plain_text_says_what_the_structure_says(tides: Item) -> None:
    feedback = build_feedback(tides, ALL, [WRONG], None, 2.0)
    grader_score = _score(tides, feedback)
    text = render_text(grader_score, tides)
    for entry in (*feedback.present, *feedback.wrong, *feedback.missing):
        assert entry.text in text
        assert not entry.quote or f"\u201c{entry.quote}\u201d" in text
        assert not entry.hint or f"Hint: {entry.hint}" in text
    assert text.startswith(feedback.summary)
    assert tides.reference_answer not in text
    assert tides.reference_answer in render_text(grader_score, tides, show_answer=True)


def test_a_quote_cannot_steer_a_terminal(tides: Item) -> None:
    nasty = "up\x1b[31m and\u202e down\ud800\x07\nagain"
    feedback = build_feedback(tides, [component("definition", "present", nasty)], [], None, 1.0)
    text = render_text(_score(tides, feedback), tides)
    assert "\u201cup [31m and down again\u201d" in text
    text.encode()


def _score(item: Item, feedback: object) -> object:
    from grader.score import Score

    return Score.model_construct(feedback=feedback, item=item.id)


@pytest.mark.parametrize("language", ["en", "de", "hi", "xx"])
def test_feedback_exists_in_every_language(tides: Item, hash_grader: Grader, language: str) -> None:
    score = hash_grader.grade(tides, "I don't know.", language=language)
    assert score.feedback.language == language
    assert score.feedback.condition
    assert render_text(score, tides)


def test_feedback_of_any_answer_hides_the_key(make_item: Callable[..., Item], hash_grader: Grader) -> None:
    item = make_item()
    keys = [text for c in item.components.values() for e in c.elements for text in e.key_statements]
    keys += [item.reference_answer]
    answers = ["", "I don't know.", "The sea rises.", "It is the moon, the sun and the planet.", *item.find_out,
               *(text for m in item.misconceptions for text in m.statements), item.prompt]  # fmt: skip
    for answer in answers:
        score = hash_grader.grade(item, answer)
        shown = score.for_candidate(item.limits.show_key).model_dump_json() + render_text(score, item)
        for key in keys:
            assert key.rstrip(".") not in shown, (answer, key)
