"""A pack about another field: nothing in the scoring is made for one subject.

The answers were written with the pack, so they show that it works and not how well it does on people's answers.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from grader import Grader, Score
from grader.bank import default_rubrics
from grader.packs import Pack, load_pack

FILE = Path(__file__).parents[1] / "data" / "statistics_answers.csv"
KINDS = ("full", "definition_only", "wrong")


@pytest.fixture(scope="module")
def pack() -> Pack:
    return load_pack(default_rubrics() / "statistics")


@pytest.fixture(scope="module")
def marked(pack: Pack, real_grader: Grader) -> dict[str, dict[str, Score]]:
    found: dict[str, dict[str, Score]] = defaultdict(dict)
    with FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["item"]][row["kind"]] = real_grader.grade(pack.items[row["item"]], row["response"])
    return found


def test_the_pack_is_as_complete_as_the_first(pack: Pack) -> None:
    assert len(pack.items) == 12
    for item in pack.items.values():
        assert list(item.components) == ["definition", "reason", "example_or_pitfall"], item.id
        assert [c.weight for c in item.components.values()] == [2.4, 1.5, 1.1], item.id
        elements = [e for c in item.components.values() for e in c.elements]
        elements += [e for f in item.follow_ups for e in f.elements]
        assert min(len(e.key_statements) for e in elements) >= 4, item.id
        assert len(item.misconceptions) >= 3, item.id
        assert len(item.find_out) >= 3, item.id
        assert len(item.follow_ups) >= 2, item.id
        assert item.quick_checks, item.id


def test_every_item_has_an_answer_of_every_kind(pack: Pack, marked: dict[str, dict[str, Score]]) -> None:
    assert set(marked) == set(pack.items)
    assert all(tuple(kinds) == KINDS for kinds in marked.values())


def test_reference_answers_earn_full_marks(pack: Pack, real_grader: Grader) -> None:
    for item in pack.items.values():
        score = real_grader.grade(item, item.reference_answer)
        assert (score.score, score.errors) == (item.scale.max, ()), item.id


def test_a_full_answer_beats_a_definition_and_a_definition_beats_a_false_claim(
    marked: dict[str, dict[str, Score]],
) -> None:
    """In ten of twelve items: the contradiction model takes some right statements for false ones."""
    rows = [[scores[kind].score or 0 for kind in KINDS] for scores in marked.values()]
    assert sum(full > definition for full, definition, _ in rows) >= 10
    assert sum(definition >= wrong for _, definition, wrong in rows) >= 10
    assert all(full > wrong for full, _, wrong in rows)


def test_full_answers_in_everyday_words_earn_most_of_the_marks(marked: dict[str, dict[str, Score]]) -> None:
    marks = {kind: [scores[kind].score or 0 for scores in marked.values()] for kind in KINDS}
    assert sum(marks["full"]) / 12 >= 4
    assert 1 <= sum(marks["definition_only"]) / 12 <= 2.5
    assert sum(marks["wrong"]) / 12 <= 1
