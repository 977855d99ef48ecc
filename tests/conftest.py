"""Fixtures shared by all tests: a small item about something else, graders without and with weights."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from grader import Bank, Grader, Item, load_bank
from grader.encoder import HashEncoder

os.environ["GRADER_CACHE"] = "off"  # tests never read or write the user's own cache

settings.register_profile(
    "project",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("project")

_TIDES: dict[str, Any] = {
    "id": "tides",
    "prompt": "What are tides, and why do they happen?",
    "reference_answer": (
        "The level of the sea rises and falls about twice a day. "
        "It is a movement of the whole ocean and hardly one of single waves. "
        "The gravity of the moon pulls the near side more strongly. "
        "In Saint-Malo the water climbs twelve metres and drowns parked cars."
    ),
    "components": {
        "definition": {
            "weight": 2.4,
            "elements": [
                {
                    "id": "twice-a-day",
                    "weight": 2,
                    "key_statements": [
                        "The level of the sea rises and falls about twice a day.",
                        "Twice daily the water climbs up the beach and goes back again.",
                    ],
                    "keywords": {"need": "any", "groups": [["twice", "rise", "fall"], ["daily", "day"]]},
                },
                {
                    "id": "whole-ocean",
                    "key_statements": ["It is a movement of the whole ocean and hardly one of single waves."],
                },
            ],
            "feedback": {
                "present": "You say what they are.",
                "partial": "You say half of what they are.",
                "missing": "Say what one sees on a beach.",
            },
            "hint": "Sit down at the shore with a watch.",
        },
        "reason": {
            "weight": 1.5,
            "rule": "at_least",
            "n": 1,
            "elements": [
                {"id": "moon", "key_statements": ["The gravity of the moon pulls the near side more strongly."]},
                {"id": "spin", "key_statements": ["The planet turns beneath two bulges that point outwards."]},
            ],
        },
        "example_or_pitfall": {
            "weight": 1.1,
            "elements": [
                {
                    "id": "saint-malo",
                    "key_statements": ["In Saint-Malo the water climbs twelve metres and drowns parked cars."],
                }
            ],
        },
    },
    "misconceptions": [
        {
            "id": "wind",
            "statements": ["A strong wind blowing over the surface heaps everything up at the coast."],
            "refutes": ["reason"],
            "feedback": "Wind makes waves and surges, and no rhythm.",
        },
        {
            "id": "evaporation",
            "statements": ["Half of the sea evaporates every evening and comes back as rain at dawn."],
            "cap": 1.0,
            "feedback": "The amount stays the same.",
        },
    ],
    "find_out": ["I would read a table of one harbour and compare it with the calendar of the moon."],
    "follow_ups": [
        {
            "id": "no-moon",
            "question": "What would remain without a moon?",
            "ask_when": {"met": ["definition", "reason"]},
            "reference_answer": "Smaller ones caused by the sun.",
            "elements": [{"id": "sun", "key_statements": ["Smaller ones caused by the sun."]}],
        },
        {
            "id": "who-pulls",
            "question": "Which body in the sky pulls hardest?",
            "ask_when": {"missed": ["reason"]},
            "reference_answer": "The moon.",
            "elements": [{"id": "moon", "key_statements": ["The moon."]}],
        },
    ],
    "quick_checks": [
        {
            "id": "how-often",
            "stem": "How often is the water high?",
            "options": [
                {"text": "Twice a day", "correct": True, "why": "There are two bulges."},
                {"text": "Once a month", "why": "That is the rhythm of the moon's phases."},
            ],
        }
    ],
}


@pytest.fixture
def content() -> dict[str, Any]:
    """The small item as JSON, to be changed freely."""
    return copy.deepcopy(_TIDES)


@pytest.fixture(scope="session")
def make_item() -> Callable[..., Item]:
    """Makes the small item with top-level fields replaced."""

    def make(**changes: Any) -> Item:
        return Item.model_validate(copy.deepcopy(_TIDES) | changes)

    return make


@pytest.fixture(scope="session")
def tides(make_item: Callable[..., Item]) -> Item:
    """The small item."""
    return make_item()


@pytest.fixture(scope="session")
def pytorch_bank() -> Bank:
    """The bank that ships."""
    return load_bank()


@pytest.fixture(scope="session")
def hash_grader() -> Grader:
    """A grader without weights: similarity is word overlap."""
    return Grader(HashEncoder())


@pytest.fixture(scope="session")
def real_grader() -> Grader:
    """The grader that users get, its encoder loaded once for all tests."""
    grader = Grader()
    assert grader.encoder
    return grader
