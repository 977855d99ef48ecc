"""Keyword groups: the three ways of matching, how many groups are needed, and where the words stand."""

from __future__ import annotations

import pytest

from grader.evidence.keywords import Words, match_keywords
from grader.rubric import KeywordGroup, Keywords


def found(text: str, alternative: str, match: str = "stem", language: str = "en") -> list[str]:
    group = KeywordGroup.model_validate({"any": [alternative], "match": match})
    return [text[a:b] for a, b in Words(text, language).find(group)]


@pytest.mark.parametrize(
    ("text", "alternative", "expected"),
    [
        ("Gradients are accumulated.", "accumulate", ["accumulated"]),
        ("It ADDS UP twice, adding up again", "add up", ["ADDS UP", "adding up"]),
        ("It adds it up", "add up", []),
        ("call optimizer.zero_grad() now", "zero_grad", ["optimizer.zero_grad()"]),
        ("call optimizer.zero_grad() now", "optimizer.zero_grad()", ["optimizer.zero_grad()"]),
        ("it sets p.grad = None", "p.grad = none", ["p.grad = None"]),
        ("normalises", "normalize", ["normalises"]),
        ("summary", "sum", []),
        ("the value 0.45 and 4", "0.45", ["0.45"]),
        ("nothing", "%%%", []),
        ("", "add", []),
    ],
)
def test_by_stem(text: str, alternative: str, expected: list[str]) -> None:
    assert found(text, alternative) == expected


@pytest.mark.parametrize(
    ("text", "alternative", "expected"),
    [
        ("use None here", "None", ["None"]),
        ("use none here", "None", []),
        ("x.view(2) and view()", "view()", ["view()"]),
        ("self.optimizer.zero_grad()", "optimizer.zero_grad()", []),
        ("viewing", "view", []),
    ],
)
def test_exactly(text: str, alternative: str, expected: list[str]) -> None:
    assert found(text, alternative, "exact") == expected


@pytest.mark.parametrize(
    ("text", "alternative", "expected"),
    [
        ("A View of memory", "view of", ["View of"]),
        ("views of memory", "view of", []),
        ("a view, of memory", "view of", ["view, of"]),
    ],
)
def test_as_a_phrase(text: str, alternative: str, expected: list[str]) -> None:
    assert found(text, alternative, "phrase") == expected


def test_stems_follow_the_language() -> None:
    assert found("die Gradienten werden addiert", "Gradient", language="de") == ["Gradienten"]


@pytest.mark.parametrize(
    ("need", "credit", "met"), [("any", 1.0, (0, 2)), ("all", 2 / 3, (0, 2)), (2, 1.0, (0, 2)), (3, 2 / 3, (0, 2))]
)
def test_groups_needed(need: str | int, credit: float, met: tuple[int, ...]) -> None:
    keywords = Keywords.model_validate({"need": need, "groups": [["red", "pink"], ["green"], ["blue"]]})
    evidence = match_keywords(keywords, [Words("A red and a pink one"), Words("a blue one", offset=100)])
    assert evidence.credit == pytest.approx(credit)
    assert evidence.met == met
    assert evidence.spans == ((2, 5), (12, 16), (102, 106))


def test_a_phrase_never_spans_two_statements() -> None:
    keywords = Keywords.model_validate({"groups": [["add up"]]})
    assert match_keywords(keywords, [Words("they add"), Words("up to ten")]).met == ()
    assert match_keywords(keywords, []).credit == 0
