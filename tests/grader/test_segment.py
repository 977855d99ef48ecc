"""Statements cover every word of a text, whatever it is punctuated with."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from grader.segment import MAX_WORDS, Statement, statements
from grader.text import normalise, tokenise

PIECES = (
    "view shares memory", "reshape may copy", "it is fast", "optimizer.zero_grad()", "x = y.view(2)", "e.g. ", ". ",
    ".", "! ", "? ", "; ", ", because ", "\n", "\n\n", "\n- ", "\n1. ", "\na) ", "\n# ", "\u2022 ", ".The ", " ", ":",
    "```\n", "`", "!=", "3.5", "word " * 60, "...", "\t", "Dr. ", "print(x)\n", "if x == 1:\n", "\u3002", "\ud800",
)  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=20).map("".join)
_MARKER = regex.compile(r"^[ \t]*(?:\(?\d{1,2}[.)]|\(?[a-z]\))[ \t]+(?=\S)", regex.M)


def cut(text: str) -> list[str]:
    return [statement.text for statement in statements(normalise(text))]


def check_cover(text: str) -> list[Statement]:
    source = normalise(text)
    found = statements(source)
    end, covered = 0, set()
    for statement in found:
        assert end <= statement.start < statement.end <= len(source.text)
        assert source.text[statement.start : statement.end] == statement.text
        assert len(tokenise(statement.text)) <= MAX_WORDS
        end = statement.end
        covered.update(range(statement.start, statement.end))
    markers = {i for match in _MARKER.finditer(source.text) for i in range(*match.span())}
    words = {i for token in tokenise(source.text) for i in range(token.start, token.end) if source.text[i].isalnum()}
    assert not words - covered - markers
    return found


@given(TEXTS)
def test_every_word_is_in_exactly_one_statement(text: str) -> None:
    check_cover(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is shared. It is fast! Is it? Yes", ["It is shared.", "It is fast!", "Is it?", "Yes"]),
        ("It is shared.It is fast", ["It is shared.", "It is fast"]),
        ("- view shares\n- reshape copies", ["view shares", "reshape copies"]),
        ("\u2022 view shares\n\u2022 reshape copies", ["view shares", "reshape copies"]),
        ("1. view shares\n2) reshape copies\n(a) both", ["view shares", "reshape copies", "both"]),
        ("## Definition\nview shares", ["Definition\nview shares"]),
        ("# Answer\n\nview shares", ["Answer", "view shares"]),
        ("one line\nwraps here. Then more", ["one line\nwraps here.", "Then more"]),
        ("view shares the memory; reshape may well copy it", ["view shares the memory;", "reshape may well copy it"]),
        ("speed; memory; copies", ["speed; memory; copies"]),
        ("Call e.g. zero_grad() first, i.e. before it.", ["Call e.g. zero_grad() first, i.e. before it."]),
        ("torch 2.13 has optimizer.zero_grad() now.", ["torch 2.13 has optimizer.zero_grad() now."]),
        ("It holds that a != b here.", ["It holds that a != b here."]),
        ("<p>One.</p><p>Two.</p>", ["One.", "Two."]),
        ("4. ", ["4."]),
        ("   \n\t\n", []),
        ("?!...", []),
    ],
)
def test_where_statements_end(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x = y.view(2)\nprint(x)", [True]),
        ("Like this:\nx = y.view(2)\n# shares\nprint(x)", [False, True]),
        ("```\ny.view(2)\n```", [True]),
        ("`y.view(2)`", [True]),
        ("```\nall of it is prose in here\n```", [False]),
        ("`view shares the memory of its tensor`", [False]),
        ("```\nview, reshape, stride\n```", [False]),
        ("for i in range(3):\n    loss.backward()", [True]),
        ("import torch\nfrom torch import nn", [True]),
        (">>> x.shape\n... more", [True]),
        ("if x == 1:\n    y = f(x)", [True]),
        ("# shares memory with the original", [False]),
        ("import the model and then share it", [False]),
        ("for example:\nit is shared", [False]),
        ("with view:\nit is shared", [False]),
        ("if we skip the call:\nit is shared", [False]),
        ("... and so on", [False]),
        ("Gradients (see above) add up", [False]),
    ],
)
def test_lines_of_code_are_told_from_prose(text: str, code: list[bool]) -> None:
    found = statements(normalise(text))
    assert sorted({statement.is_code for statement in found}) == sorted(set(code)), found


def test_a_long_sentence_is_cut_at_a_clause() -> None:
    clause = "the memory of the tensor is shared with all of its views and nothing is copied anywhere at all"
    found = check_cover(", because ".join([clause] * 8))
    assert len(found) > 3
    assert all(statement.text.startswith(("the memory", "because")) for statement in found)


@pytest.mark.parametrize("joint", [" ", ", ", "\n", ". ", " because "])
def test_an_answer_of_1500_words_is_read_to_its_end(joint: str) -> None:
    words = [f"word{i}" for i in range(1500)]
    found = check_cover(joint.join(words))
    assert found[-1].text.endswith("word1499")


@pytest.mark.parametrize(
    "piece", ["; ", "e.g. ", "A. ", "x = y[0]\n", "`a`\n", "- a\n", "a,", "if a =", "for a in a in ", "f(", "else "]
)
def test_long_repetitions_are_cut(piece: str) -> None:
    check_cover(piece * (6_000 // len(piece)))
