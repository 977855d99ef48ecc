"""Marks that users have seen: any change of them is deliberate, and noted under "Scores" in the change log.

``GRADER_UPDATE_GOLDEN=1 pytest tests/grader/test_golden.py`` writes the file anew.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from grader import Bank, Grader, Score

FILE = Path(__file__).parents[1] / "data" / "golden_marks.csv"
FIELDS = ["item", "response", "score", "condition_code", "errors"]


def read() -> list[dict[str, str]]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def shown(score: Score) -> dict[str, str]:
    return {
        "score": "" if score.score is None else f"{score.score:g}",
        "condition_code": score.condition_code or "",
        "errors": " ".join(sorted({f"{error.kind}:{error.id}" for error in score.errors})),
    }


@pytest.fixture(scope="module")
def marked(real_grader: Grader, pytorch_bank: Bank) -> list[dict[str, str]]:
    rows = read()
    found: dict[tuple[str, str], Score] = {}
    for name in dict.fromkeys(row["item"] for row in rows):
        responses = [row["response"] for row in rows if row["item"] == name]
        scores = real_grader.grade_many(pytorch_bank[name], responses)
        found.update({(name, text): score for text, score in zip(responses, scores, strict=True)})
    return [
        {"item": row["item"], "response": row["response"], **shown(found[row["item"], row["response"]])} for row in rows
    ]


def test_the_golden_marks(marked: list[dict[str, str]]) -> None:
    if os.environ.get("GRADER_UPDATE_GOLDEN"):
        with FILE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(marked)
    moved = [
        f"{new['item']}: {new['response'][:60]!r}: {key} {old[key] or '-'} -> {new[key] or '-'}"
        for old, new in zip(read(), marked, strict=True)
        for key in FIELDS[2:]
        if old[key] != new[key]
    ]
    assert not moved


@pytest.mark.parametrize(
    "name",
    [
        "zero-grad",
        "view-vs-reshape",
        "leaf-tensor",
    ],
)
def test_better_answers_get_better_marks(marked: list[dict[str, str]], name: str) -> None:
    """Within each item the answers are listed from the best to those that earn nothing."""
    scores = [float(row["score"] or 0) for row in marked if row["item"] == name]
    assert scores[0] == max(scores)
    assert scores[0] >= 2.5
    assert min(scores) == 0
