"""What turns a statement against a key statement, and what only looks as if it did."""

from __future__ import annotations

import pytest

from grader.evidence.grammar import turned

MODES = "In training it uses the statistics of the batch, in evaluation it uses stored running averages."


@pytest.mark.parametrize(
    ("key", "statement", "kind", "said"),
    [
        ("A view shares its memory.", "A view does not share its memory.", "negation", ("does not share",)),
        ("A view does not copy the data.", "A view copies the data.", "negation", ()),
        ("A view shares its memory.", "It is a mistake to think that a view shares its memory.", "negation", ()),
        ("The valve opens early.", "The valve closes early.", "antonym", ("closes",)),
        ("A byte has 8 bits.", "A byte has 10 bits.", "number", ("10",)),
        ("The task takes 5 seconds.", "The task takes 5 minutes.", "number", ("5 minutes",)),
        (MODES, "In training it uses stored running averages, in evaluation the statistics of the batch.", "roles",
         ("training", "evaluation")),
        ("push() fills a stack while pop() empties a queue.", "pop() fills a stack while push() empties a queue.",
         "roles", ("pop()", "push()")),
        ("The host calls the guest twice.", "The guest calls the host twice.", "roles", ("guest", "host")),
        ("The lamp is dark because the circuit is broken.", "The circuit is broken because the lamp is dark.", "roles",
         ("broken", "dark")),
        ("The index is built before the query runs.", "The query runs before the index is built.", "roles",
         ("runs", "built")),
    ],
)  # fmt: skip
def test_what_turns_the_meaning_is_named(key: str, statement: str, kind: str, said: tuple[str, ...]) -> None:
    found = turned(statement, key)
    assert found is not None
    assert found.kind == kind
    if said:
        assert set(found.said) == set(said)


@pytest.mark.parametrize(
    ("key", "statement"),
    [
        ("A view shares its memory.", "A view shares its memory."),
        ("A view shares its memory.", "No, a view shares its memory."),
        ("A view shares its memory.", "A view shares its memory and not a copy of it."),
        ("A view shares its memory.", "A view shares its memory instead of copying it."),
        ("A view shares its memory.", "It is not wrong to say that a view shares its memory."),
        ("The valve is open.", "The valve is not closed."),
        ("A view does not copy the data.", "A view never copies the data."),
        ("The lamp is dark because the circuit is broken.", "The circuit is broken, so the lamp is dark."),
        ("The index is built before the query runs.", "The query runs after the index is built."),
        ("A proton is heavier than an electron.", "An electron is lighter than a proton."),
        ("The host calls the guest twice.", "The guest is called by the host twice."),
        ("Light and sound are equally fast here.", "Sound and light are equally fast here."),
        (MODES, "In evaluation it uses stored running averages, in training the statistics of the batch."),
        (
            "The plain leaves do not meet. The pairs come together in the middle.",
            "The pairs come together in the middle.",
        ),
        ("A byte has 8 bits.", "Eight bits make up a byte."),
    ],
)
def test_what_keeps_the_meaning_is_left_alone(key: str, statement: str) -> None:
    assert turned(statement, key) is None


def test_a_statement_about_something_else_is_not_compared_word_for_word() -> None:
    assert turned("Bread is not sold on Mondays.", "A view shares its memory with its base.") is None
